/*
 * host.c - what a plug-in may ask of the daemon while an operation runs.
 *
 * Every service honours the operation's deadline and cancel flag, and has a
 * ceiling, so that an author can write straight-line code and still be a good
 * guest.  Services take the call they are for; log() has none and goes by the
 * thread.  Thread: the worker that runs the operation.
 */
#include <stdio.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "inside.h"

#define REPLY_MAX ((size_t)64 << 20)    /* one HTTP body */
#define REPLIES_MAX ((size_t)512 << 20) /* all of one operation */
#define LINES_MAX 200                   /* logged by one operation */
#define SLICE_MS 20                     /* how late a cancel is seen */

static _Thread_local struct davit_call *here;
static _Thread_local char here_name[64];

void host_enter(struct davit_call *dc)
{
    snprintf(here_name, sizeof here_name, "%s: %s", dc->provider->name, dc->op);
    here = dc;
}

static void client_give_back(struct provider *p, struct http_client *c)
{
    pthread_mutex_lock(&p->lock);
    if (p->n_idle < IDLE_CLIENTS) {
        p->idle[p->n_idle++] = c;
        c = NULL;
    }
    pthread_mutex_unlock(&p->lock);
    http_client_free(c);
}

void host_leave(struct davit_call *dc)
{
    here = NULL;
    here_name[0] = '\0';
    if (dc->lines > LINES_MAX)
        log_line(LOG_WARN, "provider %s: %u more lines dropped",
                 dc->provider->name, dc->lines - LINES_MAX);
    if (dc->client)
        client_give_back(dc->provider, dc->client);
    dc->client = NULL;
    arena_done(&dc->replies);
    arena_done(&dc->brief);
}

const char *provider_running_here(void)
{
    return here_name[0] != '\0' ? here_name : NULL;
}

static int64_t left_ms(const struct davit_call *dc)
{
    if (dc->cancel && atomic_load(dc->cancel))
        return 0;
    int64_t left = dc->deadline_mono_ms - clock_mono_ms();
    return left < 0 ? 0 : left > UINT32_MAX ? UINT32_MAX : left;
}

static uint32_t host_remaining_ms(const struct davit_call *dc)
{
    return (uint32_t)left_ms(dc);
}

/* Says no at once when the deadline would pass meanwhile: the time that is
 * left is the plug-in's to wind up in. */
static bool host_sleep(struct davit_call *dc, uint32_t ms)
{
    int64_t until = clock_mono_ms() + ms;
    if (left_ms(dc) <= ms)
        return false;
    for (;;) {
        int64_t rest = until - clock_mono_ms();
        if (rest <= 0)
            return left_ms(dc) > 0;
        if (left_ms(dc) == 0)
            return false;
        if (rest > SLICE_MS)
            rest = SLICE_MS;
        clock_sleep_ms(rest);
    }
}

/* A replayed cloud lives at the time when it was recorded. */
static int64_t host_wall_ms(void)
{
    const struct provider *p = here ? here->provider : NULL;
    return clock_wall_ms() - (p && p->line ? traffic_behind_ms(p->line) : 0);
}

static void host_log(int level, const char *line)
{
    struct davit_call *dc = here;
    if (!line)
        return;
    if (dc && dc->lines++ >= LINES_MAX)
        return;
    char clean[1000];
    plugin_text_clean(line, strnlen(line, sizeof clean), clean, sizeof clean);
    level = level < 0 ? 0 : level > LOG_DEBUG ? LOG_DEBUG : level;
    log_line((enum log_level)level, "provider %s: %s",
             dc ? dc->provider->name : "(own thread)", clean);
}

static void error_from(struct davit_error *out, const struct err *e)
{
    if (!out || !DAVIT_HAS(out, struct davit_error, text))
        return;
    out->retry_after_ms = e->retry_after_ms;
    snprintf(out->code, sizeof out->code, "%s", e->code);
    snprintf(out->text, sizeof out->text, "%.*s", (int)sizeof out->text - 1,
             e->text);
}

/* A line break in a URL or header would let one value forge another. */
static enum status request_check(const struct davit_http *h, struct err *e)
{
    if (!h->method || !h->url || !plugin_text_ok(h->method, 16) ||
        !plugin_text_ok(h->url, 16384))
        return err_set(e, ST_INVALID,
                       "a request needs a method and a URL of up to 16 KiB "
                       "without control characters");
    if (h->n_headers > 200 || (h->n_headers > 0 && !h->headers) ||
        (h->body_len > 0 && !h->body))
        return err_set(e, ST_INVALID,
                       "a request has up to 200 headers, and a body when "
                       "body_len is not 0");
    for (size_t i = 0; i < h->n_headers; i++) {
        const struct davit_kv *kv = &h->headers[i];
        if (!kv->key || !kv->value || kv->key[0] == '\0' ||
            !plugin_text_ok(kv->key, 256) || !plugin_text_ok(kv->value, 65536))
            return err_set(e, ST_INVALID,
                           "header %zu has no name, or control characters", i);
    }
    return ST_OK;
}

static struct http_client *client_take(struct davit_call *dc)
{
    if (dc->client)
        return dc->client;
    struct provider *p = dc->provider;
    pthread_mutex_lock(&p->lock);
    if (p->n_idle > 0)
        dc->client = p->idle[--p->n_idle];
    pthread_mutex_unlock(&p->lock);
    if (!dc->client)
        dc->client = http_client_new();
    return dc->client;
}

static enum status exchange(struct davit_call *dc, struct davit_http *h,
                            struct err *e)
{
    enum status s = request_check(h, e);
    if (s != ST_OK)
        return s;
    if (dc->cancel && atomic_load(dc->cancel))
        return err_set(e, ST_CANCELLED, "the operation was cancelled");
    if (left_ms(dc) == 0)
        return err_set(e, ST_RETRY, "the operation is out of time");
    size_t room = REPLIES_MAX - dc->reply_bytes;
    if (room == 0)
        return err_set(e, ST_BROKEN,
                       "more than %zu MiB of replies in one operation",
                       REPLIES_MAX >> 20);
    struct http_exchange x = {.method = h->method,
                              .url = h->url,
                              .headers = h->headers,
                              .n_headers = h->n_headers,
                              .body = h->body,
                              .body_len = h->body_len,
                              .ca_file = dc->provider->ca_file,
                              .deadline_mono_ms = dc->deadline_mono_ms,
                              .cancel = dc->cancel,
                              .max_reply = room < REPLY_MAX ? room : REPLY_MAX};
    if (DAVIT_HAS(h, struct davit_http, key_file)) {
        if (h->ca_file)
            x.ca_file = h->ca_file;
        x.cert_file = h->cert_file;
        x.key_file = h->key_file;
    }
    if (DAVIT_HAS(h, struct davit_http, timeout_ms) && h->timeout_ms > 0 &&
        left_ms(dc) > h->timeout_ms)
        x.deadline_mono_ms = clock_mono_ms() + h->timeout_ms;
    struct provider *p = dc->provider;
    struct http_client *c = client_take(dc);
    struct arena *to = &dc->replies;
    arena_done(&dc->brief);
    if (DAVIT_HAS(h, struct davit_http, brief) && h->brief)
        to = &dc->brief;
    if (p->tap)
        s = p->tap(p->tap_arg, c, &x, to, e);
    else if (p->line)
        s = traffic_do(p->line, &dc->recorded, c, &x, to, e);
    else
        s = http_do(c, &x, to, e);
    if (p->line)
        traffic_note(p->line, h->method, s == ST_OK ? x.status : 0);
    /* The way to the cloud is at fault (a certificate, say), not the node type:
     * that would rest until a reload, though the fault may be mended there.
     * What a recording lacks it lacks for good. */
    if (s == ST_INVALID && strcmp(e->code, "NotRecorded") != 0)
        s = e->status = ST_BROKEN;
    if (s != ST_OK)
        return s;
    dc->reply_bytes += x.reply_len;
    h->reply_status = x.status;
    h->reply_body = x.reply ? x.reply : "";
    h->reply_len = x.reply_len;
    h->reply_headers = x.reply_headers;
    h->n_reply_headers = x.n_reply_headers;
    return ST_OK;
}

static int host_http(struct davit_call *dc, struct davit_http *h,
                     struct davit_error *error)
{
    struct err e = {0};
    enum status s;
    if (!h || !DAVIT_HAS(h, struct davit_http, n_reply_headers))
        s = err_set(&e, ST_INVALID,
                    "set .size = sizeof(struct davit_http) in the request");
    else
        s = exchange(dc, h, &e);
    if (s != ST_OK)
        error_from(error, &e);
    return (int)s;
}

static const char *host_who(const struct davit_call *dc)
{
    return dc->call->who;
}

/* What is no name is left out: a list is worth more. */
static void host_neighbour(struct davit_call *dc, const char *who,
                           int64_t stamp)
{
    struct call *c = dc->call;

    if (here == dc && who && *who && plugin_text_ok(who, WHO_MAX) &&
        c->neighbours.n < NEIGHBOURS_MOST)
        VEC_PUSH(
            &c->arena, &c->neighbours,
            ((struct call_neighbour){arena_strdup(&c->arena, who), stamp}));
}

const struct davit_host host_services = {
    .size = sizeof(struct davit_host),
    .http = host_http,
    .sleep = host_sleep,
    .remaining_ms = host_remaining_ms,
    .wall_ms = host_wall_ms,
    .log = host_log,
    .who = host_who,
    .neighbour = host_neighbour,
};
