/*
 * requests.c - see requests.h.
 */
#include "requests.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../codec/codec.h"
#include "../store/kube_state.h"

/* Of a ConfigMap of 1 MiB: quotes count twice, and machines are in it too. */
#define COPY_BYTES_MAX ((size_t)384 << 10)

static void request_free(struct request *q)
{
    shared_unref(q->memory); /* q lies in it */
}

static uint32_t request_at(const struct requests *r, const char *owner,
                           bool *found)
{
    uint32_t lo = 0, hi = r->all.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int d = strcmp(r->all.v[mid]->owner, owner);
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

/* What stood in its place, now the caller's; NULL: nothing did. */
static struct request *request_put(struct requests *r, struct request *q)
{
    bool found;
    uint32_t at = request_at(r, q->owner, &found);
    struct request *before;

    if (found) {
        before = r->all.v[at];
        r->all.v[at] = q;
        return before;
    }
    VEC_PUSH(NULL, &r->all, q);
    memmove(&r->all.v[at + 1], &r->all.v[at],
            (r->all.n - 1 - at) * sizeof *r->all.v);
    r->all.v[at] = q;
    return NULL;
}

/* The caller's. */
static struct request *request_remove(struct requests *r, uint32_t at)
{
    struct request *q = r->all.v[at];

    r->all.n--;
    memmove(&r->all.v[at], &r->all.v[at + 1],
            (r->all.n - at) * sizeof *r->all.v);
    return q;
}

/* Takes over what the API has read, with the arena that it lies in; the
 * command keeps its owner. */
static struct request *request_take(int64_t now_ms, struct command *cmd)
{
    struct shared *memory = shared_new();
    struct request *q;

    memory->arena = cmd->arena;
    cmd->arena = (struct arena){0};
    q = ARENA_NEW(&memory->arena, struct request);
    *q = (struct request){.memory = memory,
                          .owner = cmd->owner,
                          .body = cmd->body,
                          .demand = cmd->demand,
                          .problem = "",
                          .share = cmd->share ? cmd->share : "",
                          .created_ms = cmd->asked_ms ? cmd->asked_ms : now_ms,
                          .expires_ms = cmd->expires_ms};
    q->demand.since_ms = now_ms;
    q->share = arena_strdup(&memory->arena, q->share);
    cmd->owner = arena_strdup(&cmd->arena, q->owner);
    cmd->body = "";
    cmd->demand = (struct snap_demand){0};
    return q;
}

/* Whose share it takes: a value of the journal, for later versions and for 0.1 the
 * rows of requests stay as they are. */
#define SHARE_KEY "request/share/"

static const char *share_key(const char *owner, char ret[160])
{
    snprintf(ret, 160, SHARE_KEY "%.128s", owner);
    return ret;
}

static void request_write(const struct requests *r, const struct request *q)
{
    struct journal_request row = {q->owner, q->body, q->created_ms,
                                  q->expires_ms};
    char key[160];

    journal_put_request(r->env->journal, &row, NULL);
    journal_put_value(r->env->journal, share_key(q->owner, key), q->share,
                      NULL);
}

static void request_unwrite(const struct requests *r, const char *owner)
{
    char key[160];

    journal_drop_request(r->env->journal, owner, NULL);
    journal_put_value(r->env->journal, share_key(owner, key), "", NULL);
}

static void count(struct requests *r, const struct request *q, bool in)
{
    if (!q)
        return;
    if (in)
        asked_add(&r->asked, q->share, &q->demand, strlen(q->body));
    else
        asked_remove(&r->asked, q->share, &q->demand, strlen(q->body));
}

/* The journal's text into a request; the readers are the API's own. */
static struct request *request_read(const struct requests *r,
                                    const struct journal_request *row)
{
    struct shared *memory = shared_new();
    struct arena *a = &memory->arena;
    struct request *q = ARENA_NEW(a, struct request);
    json_t *json = NULL;
    char key[160];
    struct err err;
    enum status s;

    q->memory = memory;
    q->owner = arena_strdup(a, row->owner);
    journal_value(r->env->journal, share_key(row->owner, key), a, &q->share,
                  NULL);
    q->body = arena_strdup(a, row->body);
    q->created_ms = row->created_ms;
    q->expires_ms = row->expires_ms;
    q->problem = "";
    s = codec_parse(q->body, strlen(q->body), &json, &err);
    if (s == ST_OK)
        s = codec_request_read(json, q->owner, q->created_ms, a, &q->demand,
                               &err);
    json_decref(json);
    if (s != ST_OK) {
        q->demand = (struct snap_demand){0};
        q->problem = arena_strdup(a, err.text);
    }
    return q;
}

/* The clock was set back since: it lives for as long as it was asked for, from
 * here on, and not until a day that is far. */
static void ttl_anew(const struct requests *r, struct request *q)
{
    int64_t ahead = q->created_ms - r->env->now_ms;

    if (!q->expires_ms || ahead <= 0)
        return;
    q->created_ms -= ahead;
    q->expires_ms -= ahead;
    request_write(r, q);
}

enum status requests_open(struct requests *r, struct env *env,
                          const struct ledger *l,
                          const struct configuration *conf, struct err *err)
{
    struct journal_request *rows;
    struct arena arena = {0};
    enum status s;
    uint32_t n;

    *r = (struct requests){.env = env, .ledger = l, .conf = conf};
    s = journal_load_requests(env->journal, &arena, &rows, &n, err);
    for (uint32_t i = 0; s == ST_OK && i < n; i++) {
        struct request *q = request_read(r, &rows[i]);

        ttl_anew(r, q);
        if (request_put(r, q))
            assert(!"the table has each owner once");
        count(r, q, true);
    }
    arena_done(&arena);
    if (s == ST_OK)
        s = journal_sweep_values(env->journal, SHARE_KEY, err);
    return s;
}

void requests_tell(const struct requests *r)
{
    for (uint32_t i = 0; i < r->all.n; i++)
        if (*r->all.v[i]->problem)
            emit(r->env, "request.unread", r->all.v[i]->owner, "",
                 "this version cannot read it: %s; it is kept as it is and "
                 "asks for nothing until its owner replaces or clears it",
                 r->all.v[i]->problem);
}

enum { ASIDE_MS = 600000, ASIDE_MAX = 64 };

/* The demand that it points to lies in pages and in its memory, and stays there. */
static void request_aside(struct requests *r, struct request *q,
                          const char *why)
{
    count(r, q, false);
    /* whose queue it is in stands: it says who may replace it */
    q->demand = (struct snap_demand){
        .queue = arena_strdup(&q->memory->arena, q->demand.queue)};
    q->problem = arena_strdup(&q->memory->arena, why);
    q->aside = true;
    count(r, q, true);
    emit(r->env, "request.set_aside", q->owner, "",
         "%s; it is kept as it is and asks for nothing until its owner "
         "replaces or clears it",
         why);
}

void requests_set_aside(struct requests *r, const struct snap_demand *d,
                        const char *why)
{
    struct set_aside x = {.source = d->source,
                          .until_ms = r->env->mono_ms + ASIDE_MS};
    bool found;
    uint32_t at = request_at(r, d->owner, &found);

    if (found && d->source == SOURCE_REQUEST &&
        d->bundles == r->all.v[at]->demand.bundles) {
        request_aside(r, r->all.v[at], why);
        return;
    }
    snprintf(x.owner, sizeof x.owner, "%s", d->owner ? d->owner : "");
    snprintf(x.id, sizeof x.id, "%s", d->id ? d->id : "");
    if (r->aside.n == ASIDE_MAX)
        memmove(r->aside.v, r->aside.v + 1, --r->aside.n * sizeof *r->aside.v);
    VEC_PUSH(NULL, &r->aside, x);
    emit(r->env, "demand.set_aside", *x.id ? x.id : x.owner, "",
         "%s; it is left out of the plan for %d minutes", why,
         ASIDE_MS / 60000);
}

bool requests_leave_out(const struct requests *r, const struct snap_demand *d)
{
    for (uint32_t i = 0; i < r->aside.n; i++) {
        const struct set_aside *x = &r->aside.v[i];

        if (x->until_ms > r->env->mono_ms && x->source == d->source &&
            strncmp(x->owner, d->owner ? d->owner : "", 255) == 0 &&
            strncmp(x->id, d->id ? d->id : "", 255) == 0)
            return true;
    }
    return false;
}

static enum status queue_unknown(const struct snap_queue *queues,
                                 uint32_t n_queues, const char *name,
                                 struct err *err)
{
    const char *names[64], *like;
    size_t n = 0;

    for (; n < n_queues && n < 64; n++)
        names[n] = queues[n].name;
    if (n == 0)
        return err_set(err, ST_INVALID,
                       "queue: there is no \"%s\": the configuration has no "
                       "queues",
                       name);
    like = suggest(name, names, n);
    return err_set(err, ST_INVALID,
                   "queue: there is no \"%s\"%s%s%s; there are %u, such as "
                   "\"%s\"",
                   name, like ? ", did you mean \"" : "", like ? like : "",
                   like ? "\"?" : "", n_queues, names[0]);
}

enum status request_queue_check(const struct snap_queue *queues, uint32_t n,
                                const struct snap_demand *d, struct err *err)
{
    const struct snap_queue *q;

    if (!*d->queue)
        return ST_OK;
    q = queue_find(queues, n, d->queue);
    if (!q)
        return queue_unknown(queues, n, d->queue, err);
    if (queue_allows(q, d->owner))
        return ST_OK;
    return err_set(err, ST_INVALID,
                   "queue: \"%s\" is not for the owner \"%s\": see "
                   "queues.%s.owners in the configuration",
                   d->queue, d->owner, d->queue);
}

/* What the requests of its ConfigMap come to with this one, and those of its
 * share: one that is full takes no row of anybody, and nothing would be launched or
 * ended any more. */
static void copy_bytes(const struct requests *r, const struct request *q,
                       size_t *ret_all, size_t *ret_his)
{
    unsigned shard = kube_state_shard("request", q->owner);

    *ret_all = *ret_his = strlen(q->body);
    for (uint32_t i = 0; i < r->all.n; i++) {
        const struct request *x = r->all.v[i];

        if (kube_state_shard("request", x->owner) != shard ||
            strcmp(x->owner, q->owner) == 0)
            continue;
        *ret_all += strlen(x->body);
        if (strcmp(x->share, q->share) == 0)
            *ret_his += strlen(x->body);
    }
}

/* Anybody can choose owners that lie where another's do: half is for those who have
 * little there, as their shares sum up to half. */
static enum status copy_check(const struct requests *r, const struct request *q,
                              struct err *err)
{
    size_t all = 0, his = 0, most;

    if (!r->ledger->ha)
        return ST_OK;
    copy_bytes(r, q, &all, &his);
    most = his <= asked_share_of(COPY_BYTES_MAX, asked_shares(&r->asked))
               ? COPY_BYTES_MAX
               : COPY_BYTES_MAX / 2;
    if (all <= most)
        return ST_OK;
    return err_set(err, ST_INVALID,
                   "bundles: too large: with state: kubernetes requests lie in "
                   "ConfigMaps, where this one would make %zu KiB of at most "
                   "%zu; write identical bundles once, with a count",
                   all >> 10, most >> 10);
}

/* Counts q in the place of its owner's last one, or refuses it. */
static enum status request_fits(struct requests *r, const struct request *q,
                                struct err *err)
{
    struct asked_sums before = asked_sums(&r->asked);
    bool found;
    uint32_t at = request_at(r, q->owner, &found);
    const struct request *old = found ? r->all.v[at] : NULL;
    enum status s;

    count(r, old, false);
    count(r, q, true);
    s = asked_check(&r->asked, q->share, &before, err);
    if (s == ST_OK)
        s = copy_check(r, q, err);
    if (s == ST_OK)
        return ST_OK;
    count(r, q, false);
    count(r, old, true);
    return s;
}

/* What its owner asks for now may be in a queue that is not for who asks; what this
 * version cannot read may be in any. */
static enum status replace_check(const struct requests *r, struct command *cmd)
{
    bool found;
    uint32_t at = request_at(r, cmd->owner, &found);
    const char *queue = found ? r->all.v[at]->demand.queue : NULL;

    if (!found || !cmd->may_queue || cmd->may_queue(cmd, queue ? queue : "?"))
        return ST_OK;
    if (!queue)
        return err_set(&cmd->err, ST_AUTH,
                       "queue: what \"%s\" asks for cannot be read, and may be "
                       "in a queue that is not for who asks this",
                       cmd->owner);
    return err_set(&cmd->err, ST_AUTH,
                   "queue: what \"%s\" asks for is %s%s%s, which is not for "
                   "who asks this",
                   cmd->owner, *queue ? "in the queue \"" : "in no queue",
                   queue, *queue ? "\"" : "");
}

static void request_drop(struct requests *r, struct command *cmd)
{
    bool found;
    uint32_t at = request_at(r, cmd->owner, &found);

    if (!found) {
        cmd->status = err_set(&cmd->err, ST_NOT_FOUND,
                              "no request of owner \"%s\"", cmd->owner);
        return;
    }
    cmd->status = replace_check(r, cmd);
    if (cmd->status != ST_OK)
        return;
    request_unwrite(r, cmd->owner);
    count(r, r->all.v[at], false);
    cmd->before = request_remove(r, at);
    cmd->changed = true;
    emit(r->env, "request.cleared", cmd->owner, "", "by %s",
         cmd->by && *cmd->by ? cmd->by : "its owner");
}

void requests_fold(struct requests *r, struct command *cmd)
{
    struct request *q;

    if (cmd->kind == COMMAND_REQUEST_DROP) {
        request_drop(r, cmd);
        return;
    }
    cmd->status = replace_check(r, cmd);
    if (cmd->status != ST_OK)
        return;
    q = request_take(r->env->now_ms, cmd);
    cmd->status = request_queue_check(
        r->conf->now->queues, r->conf->now->n_queues, &q->demand, &cmd->err);
    if (cmd->status == ST_OK)
        cmd->status = request_fits(r, q, &cmd->err);
    if (cmd->status != ST_OK) {
        request_free(q);
        return;
    }
    request_write(r, q);
    cmd->before = request_put(r, q);
    cmd->changed = true;
    atomic_fetch_add(&r->env->metrics.requests, 1);
    emit(r->env, "request.set", q->owner, "", "%.300s%s%s", q->body,
         cmd->by && *cmd->by ? " by " : "", cmd->by ? cmd->by : "");
}

void requests_expire(struct requests *r)
{
    for (uint32_t i = 0; i < r->all.n;) {
        struct request *q = r->all.v[i];

        if (!q->expires_ms || q->expires_ms > r->env->now_ms) {
            if (q->expires_ms)
                env_wake_wall(r->env, q->expires_ms + 1);
            i++;
            continue;
        }
        r->env->caller = q->share;
        emit(r->env, "request.expired", q->owner, "", "its ttl is over");
        r->env->caller = NULL;
        request_unwrite(r, q->owner);
        count(r, q, false);
        request_free(request_remove(r, i));
    }
}

/* All of memory is written again after a batch that failed, so nothing is written
 * here. */
void requests_undo(struct requests *r, struct command *cmd)
{
    bool found;
    uint32_t at = request_at(r, cmd->owner, &found);
    struct request *now = found ? r->all.v[at] : NULL;

    assert(r->ledger->stale);
    count(r, now, false);
    count(r, cmd->before, true);
    if (cmd->before)
        request_put(r, cmd->before);
    else if (now)
        request_remove(r, at);
    emit(r->env, "request.undone", cmd->owner, "",
         "it could not be written to the journal, and was refused: %s",
         cmd->before ? "what stood before stands again"
                     : "nothing is asked for");
    if (now)
        request_free(now);
    cmd->before = NULL;
}

void requests_done(struct command *cmd)
{
    if (cmd->before)
        request_free(cmd->before);
    cmd->before = NULL;
}

void requests_rewrite(const struct requests *r)
{
    for (uint32_t i = 0; i < r->all.n; i++)
        request_write(r, r->all.v[i]);
    journal_sweep_values(r->env->journal, SHARE_KEY, NULL);
}

void requests_close(struct requests *r)
{
    for (uint32_t i = 0; i < r->all.n; i++)
        request_free(r->all.v[i]);
    free(r->all.v);
    free(r->aside.v);
    asked_done(&r->asked);
}
