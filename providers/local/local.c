/*
 * local.c - a provider whose machines are raylets on this very machine: for
 * laptops, and for tests with a real Ray.
 *
 * The table and its operations.  Launch is idempotent by construction: a
 * machine's id follows from the request id, so a repeated launch meets the
 * records of the first one and starts only what never started.
 */
#include "local.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { TERM_MS = 10000, KILL_MS = 5000, STEP_MS = 50, MARK_DIGITS = 6 };

static void local_close(void *self)
{
    struct local *l = self;

    if (!l)
        return;
    kit_keep_done(&l->keep);
    free(l);
}

static int local_open(const struct davit_host *host,
                      const struct davit_setup *setup, void **ret_self,
                      struct davit_error *e)
{
    struct local *l = kit_zeroed(1, sizeof *l);
    int status;

    l->host = host;
    status = options_read(l, setup, e);
    if (status != DAVIT_OK) {
        local_close(l);
        l = NULL;
    }
    *ret_self = l;
    return status;
}

/* ---- telling ---- */

static void tell(const struct local *l, const struct record *r,
                 struct davit_sink *sink, davit_put_machine *put)
{
    char words[160] = "", detail[208] = "";
    struct davit_machine m = {
        .size = sizeof m,
        .id = r->id,
        .request_id = r->request_id,
        .offer = r->type,
        .zone = r->zone,
        .address = r->address,
        .spot = r->spot,
    };

    if (r->stopping) {
        m.phase = DAVIT_STOPPING;
    } else if (process_alive(r)) {
        m.phase = process_joined(r) ? DAVIT_RUNNING : DAVIT_STARTING;
        if (m.phase == DAVIT_STARTING)
            snprintf(detail, sizeof detail, "ray start runs (process %ld)",
                     (long)r->pid);
    } else {
        m.phase = DAVIT_FAILED;
        m.failure = DAVIT_RETRY;
        record_last_words(l, r, words, sizeof words);
        if (r->pid == 0)
            snprintf(detail, sizeof detail, "it was never started%s%s",
                     words[0] != '\0' ? ": " : "", words);
        else
            snprintf(detail, sizeof detail, "ray start ended: %s",
                     words[0] != '\0' ? words : "it said nothing");
    }
    m.detail = detail[0] != '\0' ? detail : NULL;
    put(sink, &m);
}

static int local_list(void *self, struct davit_call *call,
                      struct davit_sink *sink, davit_put_machine *put,
                      struct davit_error *e)
{
    struct local *l = self;
    struct record *v;
    size_t n;
    int lock, status = records_lock(l, call, &lock, e);

    if (status != DAVIT_OK)
        return status;
    status = records_read(l, &v, &n, e);
    close(lock);
    if (status != DAVIT_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        tell(l, &v[i], sink, put);
    free(v);
    return DAVIT_OK;
}

/* ---- launching ---- */

static void add_safe(char *buf, size_t n, const char *s, size_t max)
{
    size_t at = strlen(buf);

    for (; *s != '\0' && max > 0 && at + 1 < n; s++, max--) {
        bool safe = (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') ||
                    (*s >= 'A' && *s <= 'Z');

        buf[at++] = safe ? *s : '-';
    }
    buf[at] = '\0';
}

/* What of a request id is chance: "davit-", then six digits that mark the journal
 * and are the same in each (docs/ledger.md), then this. */
static const char *chance_of(const char *request_id)
{
    static const char mark[] = "davit-";
    const size_t n = sizeof mark - 1 + MARK_DIGITS;
    const char *dash = strchr(request_id, '-');

    if (strncmp(request_id, mark, sizeof mark - 1) == 0 &&
        strlen(request_id) > n)
        return request_id + n;
    return dash && dash[1] != '\0' ? dash + 1 : request_id;
}

/* "<type>-<8 of the request id>-<place in it>", as the daemon names it, so
 * that `ray status` and `davit nodes` speak of the same thing. */
static void make_id(const struct davit_launch *q, uint32_t i, unsigned salt,
                    char *buf, size_t n)
{
    size_t at;

    buf[0] = '\0';
    add_safe(buf, n, q->offer, 26);
    add_safe(buf, n, "-", 1);
    add_safe(buf, n, chance_of(q->request_id), 8);
    at = strlen(buf);
    if (salt == 0)
        snprintf(buf + at, n - at, "-%u", i);
    else
        snprintf(buf + at, n - at, "-%u-%u", i, salt);
}

static struct record *find(struct record *v, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].id, id) == 0)
            return &v[i];
    return NULL;
}

/* The lowest loopback address that no record holds. */
static void make_address(const struct local *l, const struct record *v,
                         size_t n, char *buf, size_t size)
{
    for (uint32_t a = l->base_address;; a++) {
        struct in_addr in = {.s_addr = htonl(a)};
        bool used = (a & 0xff) == 0 || (a & 0xff) == 0xff;

        inet_ntop(AF_INET, &in, buf, (socklen_t)size);
        for (size_t i = 0; i < n && !used; i++)
            used = strcmp(v[i].address, buf) == 0;
        if (!used)
            return;
    }
}

static int make_record(const struct local *l, const struct davit_launch *q,
                       const char *id, const struct record *v, size_t n,
                       struct record *r, struct davit_error *e)
{
    unsigned char noise[16];

    memset(r, 0, sizeof *r);
    if (strlen(q->request_id) >= sizeof r->request_id ||
        strlen(q->zone) >= sizeof r->zone)
        return kit_error(e, DAVIT_INVALID, "TOO_LONG",
                         "a request id or zone has at most 63 bytes");
    if (n >= l->max)
        return kit_error(e, DAVIT_QUOTA, "MAX",
                         "%zu machines exist and the provider's max is %u", n,
                         l->max);
    if (getrandom(noise, sizeof noise, 0) != (ssize_t)sizeof noise)
        return kit_error(e, DAVIT_RETRY, "IO", "no random numbers to be had");
    for (size_t i = 0; i < sizeof noise; i++)
        snprintf(r->mark + 2 * i, 3, "%02x", noise[i]);
    snprintf(r->id, sizeof r->id, "%s", id);
    snprintf(r->request_id, sizeof r->request_id, "%s", q->request_id);
    snprintf(r->type, sizeof r->type, "%s", q->offer);
    snprintf(r->zone, sizeof r->zone, "%s", q->zone);
    snprintf(r->temp, sizeof r->temp, "%.32s/%.8s", l->temp, r->mark);
    make_address(l, v, n, r->address, sizeof r->address);
    boot_id_read(r->boot_id, sizeof r->boot_id);
    r->spot = q->spot;
    r->created_ms = l->host->wall_ms();
    return DAVIT_OK;
}

static void join_make(const struct davit_launch *q, struct record *r)
{
    const char *token = kit_join_token(q);

    if (token[0] != '\0')
        kit_join_mark(token, r->id, r->join);
}

static const struct type *find_type(const struct local *l, const char *name)
{
    for (size_t i = 0; i < l->n_types; i++)
        if (strcmp(l->types[i].name, name) == 0)
            return &l->types[i];
    return NULL;
}

/* The lock is held.  One machine: found, started or made. */
static int launch_one(const struct local *l, const struct type *t,
                      const char *program, const struct davit_launch *q,
                      uint32_t i, int lock, struct record *ret,
                      struct davit_error *e)
{
    struct record *v, *old;
    size_t n;
    char id[64];
    int status = records_read(l, &v, &n, e);

    if (status != DAVIT_OK)
        return status;
    for (unsigned salt = 0;; salt++) { /* another request's */
        make_id(q, i, salt, id, sizeof id);
        old = find(v, n, id);
        if (!old || strcmp(old->request_id, q->request_id) == 0)
            break;
    }
    if (old) {
        *ret = *old;
        join_make(q, ret);
        /* Intended, then killed before the start: this is the start. */
        if (old->pid == 0 && !old->stopping)
            status = process_start(l, t, ret, program, lock, e);
    } else {
        status = make_record(l, q, id, v, n, ret, e);
        join_make(q, ret);
        if (status == DAVIT_OK) {
            record_clean(l, ret);
            status = record_write(l, ret, e);
        }
        if (status == DAVIT_OK) {
            status = process_start(l, t, ret, program, lock, e);
            if (status != DAVIT_OK)
                record_remove(l, ret);
        }
    }
    free(v);
    return status;
}

static int local_launch(void *self, struct davit_call *call,
                        const struct davit_launch *q, struct davit_sink *sink,
                        davit_put_machine *put, struct davit_error *e)
{
    struct local *l = self;
    const struct type *t = find_type(l, q->offer);
    char program[4096];
    int lock, status;

    if (!t)
        return kit_error(e, DAVIT_INVALID, "NO_TYPE", "no node type \"%.60s\"",
                         q->offer);
    status = process_find_program(l, program, sizeof program, e);
    for (uint32_t i = 0; i < q->count && status == DAVIT_OK; i++) {
        struct record r;
        struct davit_machine m = {.size = sizeof m};

        status = records_lock(l, call, &lock, e);
        if (status != DAVIT_OK)
            break;
        status = launch_one(l, t, program, q, i, lock, &r, e);
        close(lock); /* really free once the child has become ray */
        if (status != DAVIT_OK)
            break;
        if (r.pid != 0) { /* a repeated call: as it is */
            tell(l, &r, sink, put);
            continue;
        }
        m.id = r.id;
        m.request_id = r.request_id;
        m.offer = r.type;
        m.zone = r.zone;
        m.address = r.address;
        m.spot = r.spot;
        m.phase = r.stopping ? DAVIT_STOPPING : DAVIT_STARTING;
        put(sink, &m);
    }
    return status;
}

/* ---- ending ---- */

struct ending {
    struct record r;
    bool pending;
};

/* Marks those that exist as stopping, on disk, before any is touched. */
static int begin_ending(const struct local *l, struct davit_call *call,
                        const char *const *ids, size_t n, struct ending *v,
                        struct davit_error *e)
{
    struct record *all, *r;
    size_t n_all;
    int lock, status = records_lock(l, call, &lock, e);

    if (status != DAVIT_OK)
        return status;
    status = records_read(l, &all, &n_all, e);
    for (size_t i = 0; i < n && status == DAVIT_OK; i++) {
        r = find(all, n_all, ids[i]);
        if (!r)
            continue;
        if (!r->stopping) {
            r->stopping = true;
            status = record_write(l, r, e);
        }
        v[i] = (struct ending){.r = *r, .pending = status == DAVIT_OK};
    }
    close(lock);
    free(all);
    return status;
}

/* True when nothing of it runs any more. */
static bool end_step(const struct ending *v, uint32_t waited_ms)
{
    if (process_alive(&v->r) && waited_ms < TERM_MS)
        return false; /* it ends its raylet in order, which takes some 3 s */
    /* The parent is gone, or does not listen: whatever is left of the
     * machine (workers, agents) is ended by force. */
    if (process_family(&v->r, 0) == 0)
        return true;
    process_family(&v->r, SIGKILL);
    return false;
}

static int local_terminate(void *self, struct davit_call *call,
                           const char *const *ids, size_t n_ids,
                           struct davit_sink *sink, davit_put_done *done,
                           struct davit_error *e)
{
    struct local *l = self;
    struct ending *v = kit_zeroed(n_ids + 1, sizeof *v);
    size_t left = 0;
    uint32_t waited = 0;
    int lock, status;

    status = begin_ending(l, call, ids, n_ids, v, e);
    for (size_t i = 0; i < n_ids && status == DAVIT_OK; i++) {
        if (v[i].pending)
            process_term(&v[i].r);
        else
            done(sink, ids[i], DAVIT_NOT_FOUND);
        left += v[i].pending;
    }
    while (status == DAVIT_OK && left > 0) {
        for (size_t i = 0; i < n_ids; i++) {
            if (!v[i].pending || !end_step(&v[i], waited))
                continue;
            /* Under the lock: a list must not meet half a machine. */
            status = records_lock(l, call, &lock, e);
            if (status != DAVIT_OK)
                break;
            record_remove(l, &v[i].r);
            close(lock);
            v[i].pending = false;
            left--;
            done(sink, ids[i], DAVIT_OK);
        }
        if (left == 0 || status != DAVIT_OK)
            break;
        if (waited > TERM_MS + KILL_MS || l->host->remaining_ms(call) == 0 ||
            !l->host->sleep(call, STEP_MS))
            status = kit_error(e, DAVIT_RETRY, "STILL_ENDING",
                               "%zu of %zu machines have not ended yet", left,
                               n_ids);
        waited += STEP_MS;
    }
    free(v);
    return status;
}

/* Its records are written before a raylet starts. */
static uint32_t local_settle_ms(void *self)
{
    (void)self;
    return 1000;
}

static const char *const places[] = {"dir", NULL};

static struct davit_provider provider = {
    .size = sizeof provider,
    .name = "local",
    .version = "1.0",
    /* a machine is remembered as the spot machine that it was */
    .caps = DAVIT_CAP_SPOT | DAVIT_CAP_JOIN,
    .open = local_open,
    .close = local_close,
    .list = local_list,
    .launch = local_launch,
    .terminate = local_terminate,
    .settle_ms = local_settle_ms,
    .places = places,
};

DAVIT_EXPORT const struct davit_provider *davit_provider_v1(void)
{
    provider.options = kit_options_help(local_options);
    return &provider;
}
