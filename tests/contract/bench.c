/*
 * bench.c - a provider on the test bench: opened as the daemon opens it, called
 * through the same call layer, with every answer watched.
 */
#include "contract.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static void nap(int64_t ms)
{
    /* wait: what a provider's own options say that its cloud takes */
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

void bench_wrong(struct bench *b, const char *fmt, ...)
{
    va_list ap;
    if (b->wrong[0] != '\0')
        return;
    va_start(ap, fmt);
    vsnprintf(b->wrong, sizeof b->wrong, fmt, ap);
    va_end(ap);
}

/* ---- faults on the wire, between the plug-in and its cloud */

/* A reply comes, and is not what the server said. */
static enum status reply_spoil(enum tap_how how, struct http_exchange *x,
                               struct arena *a, enum status s)
{
    if (s != ST_OK)
        return s;
    const char *text = how == TAP_CUT   ? x->reply
                       : how == TAP_503 ? "{\"spoilt\": \"" SPOILT "\"}"
                                        : "";
    x->reply_len = how == TAP_CUT ? x->reply_len / 2 : strlen(text);
    char *reply = arena_alloc(a, x->reply_len + 1); /* it may have zeros */
    memcpy(reply, text, x->reply_len);
    reply[x->reply_len] = '\0';
    x->reply = reply;
    if (how == TAP_503)
        x->status = 503;
    return ST_OK;
}

static enum status tap(void *arg, struct http_client *client,
                       struct http_exchange *x, struct arena *a,
                       struct err *err)
{
    struct bench *b = arg;
    int seen = atomic_fetch_add(&b->tap_seen, 1) + 1;
    if (seen != atomic_load(&b->tap_at)) {
        enum status s = http_do(client, x, a, err);
        if (s != ST_OK)
            atomic_fetch_add(&b->unanswered, 1);
        return s;
    }
    if (b->tap_how == TAP_HANG) {
        int64_t rest = x->deadline_mono_ms - clock_mono_ms();
        nap(rest > 0 ? rest : 0);
        return err_set(err, ST_RETRY, "no reply (" SPOILT ")");
    }
    if (b->tap_how != TAP_UNSENT) {
        enum status s = http_do(client, x, a, err);
        if (b->tap_how != TAP_LOST)
            return reply_spoil(b->tap_how, x, a, s);
    }
    return err_set(err, ST_RETRY, "connection reset (" SPOILT ")");
}

bool bench_open(struct bench *b)
{
    struct buf errors;
    buf_init(&errors, 65536);
    enum status s = provider_open(&b->config, &b->conf, &b->p, &errors);
    if (s != ST_OK)
        bench_wrong(b, "open() refuses: %s", errors.s);
    else
        provider_set_tap(b->p, tap, b);
    buf_done(&errors);
    return s == ST_OK;
}

void bench_begin(struct bench *b)
{
    mailbox_init(&b->box, NULL, NULL);
    b->workers = workers_new(4, 16, &b->box);
}

void bench_end(struct bench *b)
{
    workers_free(b->workers, 10000);
    provider_close(b->p);
    mailbox_done(&b->box);
    shared_unref(b->config.memory);
}

bool bench_shell(struct bench *b, const char *command)
{
    if (system(command) == 0)
        return true;
    bench_wrong(b, "the command failed: %s", command);
    return false;
}

/* ---- calls */

void bench_submit(struct bench *b, struct call *c, int64_t ms)
{
    call_submit(b->workers, c, ms);
}

struct call *bench_take(struct bench *b)
{
    int64_t give_up = clock_mono_ms() + b->call_ms + 30000;
    while (!b->mails) {
        b->mails = mailbox_take(&b->box);
        workers_check(b->workers, clock_mono_ms());
        if (b->mails)
            break;
        if (clock_mono_ms() > give_up) {
            fprintf(stderr, "check_provider: a call hangs for good: %s\n",
                    b->wrong);
            _exit(3); /* its thread cannot be ended */
        }
        nap(1);
    }
    struct call *c = (struct call *)b->mails;
    b->mails = b->mails->next;
    if (c->job.abandoned)
        bench_wrong(b, "a call did not return by its deadline (took %lld ms)",
                    (long long)c->took_ms);
    if (c->status == ST_BROKEN)
        bench_wrong(b, "the answer breaks the contract: %s", c->err.text);
    return c;
}

struct call *bench_run(struct bench *b, struct call *c)
{
    bench_submit(b, c, b->call_ms);
    return bench_take(b);
}

/* A cloud may say RETRY or THROTTLED now and then; it may not go on so. */
struct call *bench_list(struct bench *b)
{
    char said[300] = "";
    for (int i = 0; i < 10; i++) {
        struct call *c = bench_run(b, call_new(b->p, CALL_LIST, 1));
        if (c->status == ST_OK)
            return c;
        snprintf(said, sizeof said, "%s: %.250s", status_name(c->status),
                 c->err.text);
        nap(c->err.retry_after_ms > 0 ? c->err.retry_after_ms : 50);
        bool hung = c->job.abandoned;
        call_free(c);
        if (hung)
            return NULL;
    }
    bench_wrong(b, "list() fails ten times in a row: %s", said);
    return NULL;
}

struct call *bench_launch_new(struct bench *b, uint32_t count,
                              const char *request)
{
    const struct snap_type *t = &b->types[0].fact;
    struct call *c = call_new(b->p, CALL_LAUNCH, 1);
    c->type = arena_strdup(&c->arena, t->name);
    c->zone = arena_strdup(&c->arena, t->offers[0].zone);
    c->spot = t->offers[0].spot;
    c->count = count;
    c->request_id = arena_strdup(&c->arena, request);
    return c;
}

enum status bench_launch(struct bench *b, uint32_t count, const char *request)
{
    struct call *c = bench_run(b, bench_launch_new(b, count, request));
    enum status s = c->status;
    call_free(c);
    return s;
}

struct call *bench_end_once(struct bench *b, const char *const *ids, uint32_t n)
{
    struct call *c = call_new(b->p, CALL_TERMINATE, 1);
    const char **copy = ARENA_ARRAY(&c->arena, const char *, n);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = arena_strdup(&c->arena, ids[i]);
    c->ids = copy;
    c->n_ids = n;
    return bench_run(b, c);
}

struct call *bench_end_ids(struct bench *b, const char *const *ids, uint32_t n)
{
    for (int tries = 5;; tries--) {
        struct call *c = bench_end_once(b, ids, n);
        if (tries == 1 || (c->status != ST_RETRY && c->status != ST_THROTTLED))
            return c;
        nap(c->err.retry_after_ms > 0 ? c->err.retry_after_ms : 50);
        call_free(c);
    }
}

const char *bench_request(struct bench *b)
{
    /* Unlike any of an earlier run, as the daemon's are. */
    return arena_printf(&b->config.memory->arena, "check-%llx-%u",
                        (unsigned long long)clock_wall_ms() & 0xffffffffff,
                        ++b->requests);
}

/* ---- what there is */

static bool alive(const struct call_machine *m, const char *request)
{
    return m->phase != DAVIT_STOPPING && m->phase != DAVIT_FAILED &&
           (!request || strcmp(m->request_id, request) == 0);
}

uint32_t bench_count(struct bench *b, const char *request)
{
    struct call *c = bench_list(b);
    uint32_t n = 0;
    for (uint32_t i = 0; c && i < c->machines.n; i++)
        n += alive(&c->machines.v[i], request);
    call_free(c);
    return n;
}

bool bench_settles(struct bench *b, const char *request, uint32_t n)
{
    int64_t until = clock_mono_ms() + b->ready_ms;
    uint32_t is;
    while ((is = bench_count(b, request)) != n && clock_mono_ms() < until &&
           b->wrong[0] == '\0')
        nap(20);
    if (is == n) {
        nap(b->settle_ms);
        is = bench_count(b, request);
    }
    if (is != n)
        bench_wrong(b, "there are %u machines of request %s, not %u", is,
                    request ? request : "(any)", n);
    return is == n;
}

bool bench_insist(struct bench *b, uint32_t count, const char *request,
                  int tries)
{
    char said[300] = "";
    while (tries-- > 0) {
        struct call *c = bench_run(b, bench_launch_new(b, count, request));
        enum status s = c->status;
        uint32_t wait = c->err.retry_after_ms;
        snprintf(said, sizeof said, "%s: %.250s", status_name(s), c->err.text);
        call_free(c);
        if (s == ST_OK)
            return true;
        nap(wait > 0 ? wait : 50);
    }
    bench_wrong(b, "the launch does not come good: %s", said);
    return false;
}

bool bench_clear(struct bench *b)
{
    int64_t until = clock_mono_ms() + b->gone_ms;
    uint32_t left = 1;
    atomic_store(&b->tap_at, 0);
    while (left > 0 && clock_mono_ms() < until) {
        struct call *c = bench_list(b);
        if (!c)
            return false;
        const char **ids = ARENA_ARRAY(&c->arena, const char *, c->machines.n);
        uint32_t n = 0;
        left = c->machines.n;
        for (uint32_t i = 0; i < left; i++)
            if (c->machines.v[i].phase != DAVIT_STOPPING)
                ids[n++] = c->machines.v[i].id;
        if (n > 0)
            call_free(bench_end_ids(b, ids, n));
        call_free(c);
        if (left > 0)
            nap(50);
    }
    if (left > 0)
        bench_wrong(b, "%u machines are still there %lld s after their end",
                    left, (long long)b->gone_ms / 1000);
    return left == 0;
}
