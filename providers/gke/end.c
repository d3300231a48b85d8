/*
 * end.c - ends exactly the machines named, by deleteInstances, which lowers
 * the group's target by as many; resize would let Google choose which.
 *
 * What a list lacks is asked for by instances.get, in the zones of the groups that
 * its name points to.
 *
 * An id is looked for in the groups its name points to first, then in the
 * others; one that no group has is gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

#define BATCH 500 /* Google takes 1000 */

struct end {
    struct op op;
    const char *const *ids;
    size_t n;
    struct groups groups;
    struct members members;
    json_t *by_name; /* name -> its place in members, -1: two */
    bool *reported;
    struct davit_sink *sink;
    davit_put_done *done;
};

static bool points_to(const struct end *x, const struct group *g)
{
    for (size_t i = 0; i < x->n; i++)
        if (name_likely(x->ids[i], g->name))
            return true;
    return false;
}

static bool all_found(const struct end *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (!json_object_get(x->by_name, x->ids[i]))
            return false;
    return true;
}

static int look_in(struct end *x, const struct group *g)
{
    size_t from = x->members.n;
    int s = members_read(&x->op, g, &x->members);
    for (size_t i = from; i < x->members.n && s == DAVIT_OK; i++) {
        const char *name = x->members.v[i].name;
        if (!member_ours(x->op.g, &x->members.v[i]))
            continue;
        bool twice = json_object_get(x->by_name, name);
        json_object_set_new(x->by_name, name,
                            json_integer(twice ? -1 : (json_int_t)i));
    }
    return s;
}

static int look(struct end *x)
{
    int s = DAVIT_OK;
    json_decref(x->by_name);
    members_done(&x->members);
    x->members = (struct members){.n = 0};
    x->by_name = json_object();
    for (int likely = 1; likely >= 0; likely--)
        for (size_t k = 0; k < x->groups.n && s == DAVIT_OK; k++)
            if (points_to(x, &x->groups.v[k]) == (likely != 0) &&
                (likely != 0 || (x->groups.v[k].type && !all_found(x))))
                s = look_in(x, &x->groups.v[k]);
    return s;
}

/* "Gone" ends what we know of a machine, so nobody is called gone by what we
 * remember of the pools: they are read again, and if they changed, looked
 * through again. */
static int look_sure(struct end *x)
{
    struct groups fresh = {.n = 0};
    int s = pools_get(&x->op, POOLS_DEED_MS, &x->groups);
    if (s == DAVIT_OK)
        s = look(x);
    if (s != DAVIT_NOT_FOUND && (s != DAVIT_OK || all_found(x)))
        return s;
    bool same = s == DAVIT_OK;
    s = pools_get(&x->op, 0, &fresh);
    same = same && s == DAVIT_OK && json_equal(fresh.pools, x->groups.pools);
    if (same) {
        pools_done(&fresh);
        return DAVIT_OK;
    }
    pools_done(&x->groups);
    x->groups = fresh;
    if (s == DAVIT_OK)
        s = look(x);
    return s == DAVIT_NOT_FOUND ? DAVIT_RETRY : s;
}

static void report(struct end *x, size_t i, int status)
{
    x->done(x->sink, x->ids[i], status);
    x->reported[i] = true;
}

/* What needs no request: gone, going, held, or one of two of that name. */
static int report_known(struct end *x)
{
    int worst = DAVIT_OK;
    for (size_t i = 0; i < x->n; i++) {
        const json_t *at = json_object_get(x->by_name, x->ids[i]);
        if (!at)
            report(x, i, DAVIT_NOT_FOUND);
        else if (json_integer_value(at) < 0)
            report(x, i, DAVIT_INVALID);
        else if (strcmp(x->members.v[json_integer_value(at)].action,
                        "DELETING") == 0)
            report(x, i, DAVIT_OK);
        else if (*x->members.v[json_integer_value(at)].held != '\0') {
            worst = kit_error(x->op.e, DAVIT_RETRY, "Maintenance", "%s",
                              x->members.v[json_integer_value(at)].held);
            report(x, i, worst);
        }
    }
    return worst;
}

static int delete (struct end *x, const struct group *g, json_t *urls)
{
    struct op *op = &x->op;
    json_t *reply,
        *body = kit_must(json_pack("{s:O, s:b}", "instances", urls,
                                   "skipInstancesOnValidationError", 1));
    /* Ending twice is harmless, so each call is a request of its own. */
    bool told;
    int s = api_post_group(op, g, "deleteInstances", body,
                           op->g->host->wall_ms(), &reply);
    if (s == DAVIT_OK)
        s = api_wait_zone(op, g, reply, &told);
    json_decref(reply);
    return s;
}

/* One batch of one group: the ids from *at on.  True: there was one. */
static bool batch(struct end *x, const struct group *g, size_t *at,
                  json_t *urls, size_t *ids)
{
    size_t n = 0;
    for (; *at < x->n && n < BATCH; ++*at) {
        char url[400];
        const json_t *m = json_object_get(x->by_name, x->ids[*at]);
        if (x->reported[*at] || !m ||
            x->members.v[json_integer_value(m)].group != g)
            continue;
        snprintf(url, sizeof url,
                 "https://www.%s/compute/v1/projects/%s/zones/%s/instances/%s",
                 x->op.g->gcp.universe, g->project, g->zone, x->ids[*at]);
        json_array_append_new(urls, json_string(url));
        ids[n++] = *at;
    }
    return n > 0;
}

static const struct member *member_of(const struct end *x, size_t i)
{
    const json_t *at = json_object_get(x->by_name, x->ids[i]);
    return at && json_integer_value(at) >= 0
               ? &x->members.v[json_integer_value(at)]
               : NULL;
}

/* Is a machine of this request not to end?  What waits goes as one. */
static bool others_wait(const struct end *x, const struct member *of)
{
    size_t in = 0, ends = 0;
    for (size_t i = 0; i < x->members.n; i++)
        in += x->members.v[i].group == of->group &&
              strcmp(x->members.v[i].resize, of->resize) == 0;
    for (size_t i = 0; i < x->n; i++) {
        const struct member *m = member_of(x, i);
        ends += m && m->group == of->group &&
                strcmp(m->resize, of->resize) == 0;
    }
    return ends < in;
}

/* Machines that wait in the group's queue, or failed there. */
static int end_queued(struct end *x, const struct group *g)
{
    int worst = DAVIT_OK;
    for (size_t i = 0; i < x->n && worst != DAVIT_THROTTLED; i++) {
        const struct member *m = x->reported[i] ? NULL : member_of(x, i);
        int s = DAVIT_OK;
        if (!m || m->group != g || *m->resize == '\0')
            continue;
        if (!m->over && others_wait(x, m))
            s = kit_error(x->op.e, DAVIT_RETRY, "Queued",
                          "%.63s waits with others that are wanted, and can "
                          "only be cancelled with them",
                          m->name);
        else
            s = queue_end(&x->op, m);
        for (size_t k = i; k < x->n; k++) {
            const struct member *o = x->reported[k] ? NULL : member_of(x, k);
            if (o && o->group == g && strcmp(o->resize, m->resize) == 0)
                report(x, k, s);
        }
        worst = s == DAVIT_OK ? worst : s;
    }
    return worst;
}

static int end_in(struct end *x, const struct group *g)
{
    size_t ids[BATCH], at = 0;
    int worst = end_queued(x, g);
    while (worst != DAVIT_THROTTLED && worst != DAVIT_CANCELLED) {
        json_t *urls = json_array();
        bool some = batch(x, g, &at, urls, ids);
        int s = some ? delete (x, g, urls) : DAVIT_OK;
        for (size_t i = 0; some && i < json_array_size(urls); i++)
            report(x, ids[i], s);
        json_decref(urls);
        if (s != DAVIT_OK)
            worst = s;
        if (!some || s == DAVIT_THROTTLED || s == DAVIT_CANCELLED)
            return worst;
    }
    return worst;
}

int gke_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e)
{
    struct end x = {.op = {self, call, e},
                    .ids = ids,
                    .n = n_ids,
                    .sink = sink,
                    .done = done};
    int later = DAVIT_OK;
    x.reported = kit_zeroed(n_ids + 1, sizeof *x.reported);
    int s = look_sure(&x), worst = s;
    if (s == DAVIT_OK)
        later = report_known(&x);
    for (size_t k = 0; k < x.groups.n && worst == DAVIT_OK; k++) {
        s = end_in(&x, &x.groups.v[k]);
        if (s == DAVIT_THROTTLED || s == DAVIT_AUTH || s == DAVIT_CANCELLED)
            worst = s; /* the rest takes this status too */
        else if (s != DAVIT_OK)
            later = s;
    }
    worst = worst == DAVIT_OK ? later : worst;
    free(x.reported);
    json_decref(x.by_name);
    members_done(&x.members);
    pools_done(&x.groups);
    return worst;
}

/* What waits in a queue is no instance yet. */
static bool waits(const struct members *queued, const char *id)
{
    for (size_t i = 0; i < queued->n; i++)
        if (strcmp(queued->v[i].name, id) == 0)
            return true;
    return false;
}

static int queues_read(struct op *op, const struct groups *gs,
                       struct members *ret)
{
    int s = DAVIT_OK;
    for (size_t k = 0; k < gs->n && s == DAVIT_OK; k++)
        if (gs->v[k].type && gs->v[k].together > 0)
            s = queue_read(op, &gs->v[k], ret, ret->n);
    return s;
}

/* In each zone where it could be; *ret_asked: there is one. */
static int find_one(struct op *op, const struct groups *gs,
                    const struct members *queued, const char *id,
                    bool *ret_asked)
{
    int s = DAVIT_NOT_FOUND;
    *ret_asked = waits(queued, id);
    if (*ret_asked)
        return DAVIT_OK;
    for (size_t k = 0; k < gs->n && s == DAVIT_NOT_FOUND; k++) {
        if (!name_likely(id, gs->v[k].name))
            continue;
        *ret_asked = true;
        s = gcp_instance_find(&op->g->gcp, op->call, op->g->compute_url,
                              gs->v[k].project, gs->v[k].zone, id, op->e);
    }
    return s;
}

int gke_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e)
{
    struct op op = {self, call, e};
    struct groups gs = {.n = 0};
    struct members queued = {.n = 0};
    int s = pools_get(&op, POOLS_DEED_MS, &gs);
    if (s == DAVIT_OK)
        s = queues_read(&op, &gs, &queued);
    for (size_t i = 0; s == DAVIT_OK && i < n_ids; i++) {
        bool asked;
        int one = find_one(&op, &gs, &queued, ids[i], &asked);
        if (asked && (one == DAVIT_OK || one == DAVIT_NOT_FOUND))
            done(sink, ids[i], one);
        else if (asked)
            s = one;
    }
    members_done(&queued);
    pools_done(&gs);
    return s;
}
