/*
 * requests.c - what owners asked for, one request each, kept until overridden.
 *
 * A request is in force once it is on disk; requests of different owners add
 * up.  What comes through Ray's SDK is owner "ray" and lives in the head.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/suggest.h"
#include "../codec/codec.h"
#include "../store/kube_state.h"
#include "state.h"

/* Together they must leave the planner room for what the head asks: it plans
 * for ten million bundles at most, and past that for nobody at all. */
enum { OWNERS_MAX = 20000 };
#define BUNDLES_MAX UINT64_C(5000000)
/* Of a ConfigMap of 1 MiB: quotes count twice, and machines are in it too. */
#define COPY_BYTES_MAX ((size_t)384 << 10)

static void request_free(struct request *r)
{
    struct arena arena;

    if (!r)
        return;
    arena = r->arena;  /* r itself lives in it */
    arena_done(&arena);
}

static uint32_t request_at(const struct control *c, const char *owner,
                           bool *found)
{
    uint32_t lo = 0, hi = c->n_requests;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int d = strcmp(c->requests[mid]->owner, owner);
        if (d == 0) {
            *found = true;
            return mid;
        }
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *found = false;
    return lo;
}

struct request *request_find(const struct control *c, const char *owner)
{
    bool found;
    uint32_t at = request_at(c, owner, &found);

    return found ? c->requests[at] : NULL;
}

static void request_put(struct control *c, struct request *r)
{
    bool found;
    uint32_t at = request_at(c, r->owner, &found);

    if (found) {
        request_free(c->requests[at]);
        c->requests[at] = r;
        return;
    }
    if (c->n_requests == c->cap_requests) {
        c->cap_requests = c->cap_requests ? c->cap_requests * 2 : 16;
        c->requests = realloc(c->requests,
                              c->cap_requests * sizeof *c->requests);
        if (!c->requests)
            abort();
    }
    memmove(&c->requests[at + 1], &c->requests[at],
            (c->n_requests - at) * sizeof *c->requests);
    c->requests[at] = r;
    c->n_requests++;
}

static void request_remove(struct control *c, uint32_t at)
{
    request_free(c->requests[at]);
    c->n_requests--;
    memmove(&c->requests[at], &c->requests[at + 1],
            (c->n_requests - at) * sizeof *c->requests);
}

/* The journal's text into a request; the readers are the API's own. */
static enum status request_read(const struct journal_request *row,
                                struct request **ret, struct err *err)
{
    struct arena arena = {0};
    struct request *r = ARENA_NEW(&arena, struct request);
    json_t *json = NULL;
    enum status s;

    r->owner = arena_strdup(&arena, row->owner);
    r->body = arena_strdup(&arena, row->body);
    r->created_ms = row->created_ms;
    r->expires_ms = row->expires_ms;
    s = codec_parse(r->body, strlen(r->body), &json, err);
    if (s == ST_OK)
        s = codec_request_read(json, r->owner, r->created_ms, &arena,
                               &r->demand, err);
    json_decref(json);
    if (s != ST_OK) {
        arena_done(&arena);
        return s;
    }
    r->arena = arena;
    *ret = r;
    return ST_OK;
}

enum status requests_load(struct control *c, struct err *err)
{
    struct journal_request *rows;
    struct arena arena = {0};
    enum status s;
    uint32_t n;

    s = journal_load_requests(c->journal, &arena, &rows, &n, err);
    for (uint32_t i = 0; s == ST_OK && i < n; i++) {
        struct request *r;
        s = request_read(&rows[i], &r, err);
        if (s == ST_OK)
            request_put(c, r);
        else
            err_prefix(err, "the request of \"%s\"", rows[i].owner);
    }
    arena_done(&arena);
    return s;
}

/* A request that names a queue must be able to use it.  Later, when a reload
 * takes the queue away, the plan says why it waits. */
static enum status queue_check(const struct control *c,
                               const struct snap_demand *d, struct err *err)
{
    const struct config *conf = c->config;
    const struct snap_queue *q;
    const char *names[64];
    size_t n = 0;

    if (!*d->queue)
        return ST_OK;
    q = queue_find(conf->queues, conf->n_queues, d->queue);
    if (q && queue_allows(q, d->owner))
        return ST_OK;
    if (q)
        return err_set(err, ST_INVALID, "queue: \"%s\" is not for the owner "
                       "\"%s\": see queues.%s.owners in the configuration",
                       d->queue, d->owner, d->queue);
    for (; n < conf->n_queues && n < 64; n++)
        names[n] = conf->queues[n].name;
    if (n == 0)
        return err_set(err, ST_INVALID, "queue: there is no \"%s\": the "
                       "configuration has no queues", d->queue);
    return err_set(err, ST_INVALID, "queue: there is no \"%s\"%s%s%s; there "
                   "are %u, such as \"%s\"", d->queue,
                   suggest(d->queue, names, n) ? ", did you mean \"" : "",
                   suggest(d->queue, names, n) ? suggest(d->queue, names, n)
                                               : "",
                   suggest(d->queue, names, n) ? "\"?" : "", conf->n_queues,
                   names[0]);
}

static uint64_t bundles_of(const struct request *r)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < r->demand.n_bundles; i++)
        n += r->demand.bundles[i].count;
    return n;
}

/* What the requests of its ConfigMap come to: one that is full takes no row of
 * anybody, and nothing would be launched or ended any more. */
static size_t copy_bytes(const struct control *c, const struct request *r)
{
    unsigned shard = kube_state_shard("request", r->owner);
    size_t n = strlen(r->body);

    for (uint32_t i = 0; i < c->n_requests; i++)
        if (kube_state_shard("request", c->requests[i]->owner) == shard &&
            strcmp(c->requests[i]->owner, r->owner) != 0)
            n += strlen(c->requests[i]->body);
    return n;
}

static enum status request_fits(const struct control *c,
                                const struct request *r, struct err *err)
{
    uint64_t all = bundles_of(r);
    bool found;

    request_at(c, r->owner, &found);
    if (!found && c->n_requests >= OWNERS_MAX)
        return err_set(err, ST_INVALID, "owner: %u owners have requests, which "
                       "is the most there may be; clear some", c->n_requests);
    for (uint32_t i = 0; i < c->n_requests; i++)
        if (strcmp(c->requests[i]->owner, r->owner) != 0)
            all += bundles_of(c->requests[i]);
    if (c->opts.ha && copy_bytes(c, r) > COPY_BYTES_MAX)
        return err_set(err, ST_INVALID, "bundles: too large: with state: "
                       "kubernetes requests lie in ConfigMaps, where this one "
                       "would make %zu KiB of at most %zu; write identical "
                       "bundles once, with a count",
                       copy_bytes(c, r) >> 10, COPY_BYTES_MAX >> 10);
    if (all > BUNDLES_MAX)
        return err_set(err, ST_INVALID, "bundles: with those of all owners they "
                       "would be %llu; at most %llu may be asked for",
                       (unsigned long long)all,
                       (unsigned long long)BUNDLES_MAX);
    return ST_OK;
}

void requests_fold(struct control *c, struct command *cmd)
{
    bool found;
    uint32_t at = request_at(c, cmd->owner, &found);
    struct journal_request row = {.owner = cmd->owner, .body = cmd->body,
                                  .created_ms = c->now_ms,
                                  .expires_ms = cmd->expires_ms};
    struct request *r;

    if (cmd->kind == COMMAND_REQUEST_DROP) {
        if (!found) {
            cmd->status = err_set(&cmd->err, ST_NOT_FOUND,
                                  "no request of owner \"%s\"", cmd->owner);
            return;
        }
        journal_drop_request(c->journal, cmd->owner, NULL);
        request_remove(c, at);
        tell(c, "request.cleared", cmd->owner, "", "by its owner");
        return;
    }
    cmd->status = request_read(&row, &r, &cmd->err);
    if (cmd->status != ST_OK)
        return;
    cmd->status = request_fits(c, r, &cmd->err);
    if (cmd->status != ST_OK) {
        request_free(r);
        return;
    }
    cmd->status = queue_check(c, &r->demand, &cmd->err);
    if (cmd->status != ST_OK) {
        request_free(r);
        return;
    }
    journal_put_request(c->journal, &row, NULL);
    request_put(c, r);
    atomic_fetch_add(&c->metrics.requests, 1);
    tell(c, "request.set", cmd->owner, "", "%.400s", cmd->body);
}

void requests_expire(struct control *c)
{
    for (uint32_t i = 0; i < c->n_requests;) {
        struct request *r = c->requests[i];

        if (!r->expires_ms || r->expires_ms > c->now_ms) {
            if (r->expires_ms)
                control_wake_at(c, clock_mono_ms() + r->expires_ms -
                                       c->now_ms + 1);
            i++;
            continue;
        }
        tell(c, "request.expired", r->owner, "", "its ttl is over");
        journal_drop_request(c->journal, r->owner, NULL);
        request_remove(c, i);
    }
}

void requests_write_all(struct control *c)
{
    for (uint32_t i = 0; i < c->n_requests; i++) {
        const struct request *r = c->requests[i];
        struct journal_request row = {r->owner, r->body, r->created_ms,
                                      r->expires_ms};
        journal_put_request(c->journal, &row, NULL);
    }
}

void requests_done(struct control *c)
{
    for (uint32_t i = 0; i < c->n_requests; i++)
        request_free(c->requests[i]);
    free(c->requests);
}
