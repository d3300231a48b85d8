/*
 * launch.c - machines by name, so that no request makes more than it asked for.
 *
 * The i-th machine of a request has one name and one zone, for ever: what a
 * lost or doubled call made is found by its name, and only what is missing is
 * asked for.  createInstances raises the zone's target by as many as it names;
 * resize and setSize, which know numbers only, are never used to grow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

#define BATCH 500 /* names in one createInstances */

struct launch {
    struct op op;
    const struct davit_launch *l;
    struct groups groups; /* those it may use */
    struct members there; /* all instances of these groups */
    uint32_t *in;         /* per machine: the group it belongs in */
    bool *made;
    struct davit_sink *sink;
    davit_put_machine *put;
};

static int check(struct launch *x, const struct gke_type *t)
{
    const struct davit_launch *l = x->l;
    if (!t)
        return kit_error(x->op.e, DAVIT_INVALID, "UnknownType",
                         "there is no node type \"%.60s\" here", l->offer);
    if (l->count == 0 || l->count > LAUNCH_MAX)
        return kit_error(x->op.e, DAVIT_INVALID, "BadCount",
                         "a launch is of 1 to %d machines, not %u", LAUNCH_MAX,
                         l->count);
    if (!name_possible(l->request_id))
        return kit_error(x->op.e, DAVIT_INVALID, "BadRequestId",
                         "request id \"%.60s\" cannot be part of an instance's "
                         "name: 1 to 40 of a-z, 0-9 and -",
                         l->request_id);
    return DAVIT_OK;
}

/* Two autoscalers on one pool end each other's machines. */
static int autoscaling_off(struct launch *x)
{
    struct op *op = &x->op;
    const json_t *pool = x->groups.v[0].pool;
    const char *name = kit_json_text(pool, "name");
    char path[400];
    json_t *reply;
    if (!kit_json_true(pool, "autoscaling.enabled"))
        return DAVIT_OK;
    if (!op->g->take_over)
        return kit_error(op->e, DAVIT_INVALID, "autoscaling",
                         "GKE's own autoscaling of node pool %.40s is on and "
                         "would end our machines: switch it off, or say "
                         "take_over: true",
                         name);
    snprintf(path, sizeof path,
             "projects/%s/locations/%s/clusters/%s/nodePools/%s:setAutoscaling",
             op->g->project, op->g->location, op->g->cluster, name);
    json_t *body = json_pack("{s:{s:b}}", "autoscaling", "enabled", 0);
    int s = api_send(op, &(struct request){"POST", false, path, "", body},
                     &reply);
    json_decref(body);
    if (s == DAVIT_OK)
        s = api_wait_container(op, reply);
    json_decref(reply);
    pools_forget(op->g);
    return s;
}

/* Leaves only the groups this launch may use. */
static int zones_choose(struct launch *x)
{
    const struct davit_launch *l = x->l;
    struct groups *gs = &x->groups;
    const struct gke_type *t = gs->v[0].type;
    char have[120] = "";
    size_t kept = 0, n = 0;
    if (gs->v[0].spot != l->spot)
        return kit_error(x->op.e, DAVIT_INVALID, "market",
                         "node pool %.40s is of %s machines, the launch is of "
                         "%s ones",
                         kit_json_text(gs->v[0].pool, "name"),
                         gs->v[0].spot ? "spot" : "on-demand",
                         l->spot ? "spot" : "on-demand");
    for (size_t i = 0; i < gs->n; i++) {
        bool use = *l->zone != '\0' ? strcmp(l->zone, gs->v[i].zone) == 0
                                    : t->n_zones == 0;
        for (size_t k = 0; k < t->n_zones && *l->zone == '\0'; k++)
            use = use || strcmp(t->zones[k], gs->v[i].zone) == 0;
        if (n < sizeof have)
            n += (size_t)snprintf(have + n, sizeof have - n, "%s%s",
                                  i > 0 ? ", " : "", gs->v[i].zone);
        if (use)
            gs->v[kept++] = gs->v[i];
    }
    if (kept == 0)
        return kit_error(x->op.e, DAVIT_INVALID, "zone",
                         "node pool %.40s is not in zone %.40s; it is in %s",
                         kit_json_text(gs->v[0].pool, "name"),
                         *l->zone != '\0' ? l->zone : t->zones[0], have);
    gs->n = kept;
    return DAVIT_OK;
}

/* Machines go round the zones, from a start that the request's id decides:
 * small launches do not all go to the first zone, and a repetition, also of
 * another process, gives each machine the same one.  Groups that are leaving
 * get none, but are looked into: what was made there is made. */
static int zones_deal(struct launch *x)
{
    char id[37];
    unsigned start = 0;
    bool whole = x->groups.v[0].together > 1; /* all in one zone */
    uint32_t *stay = kit_zeroed(x->groups.n, sizeof *stay), n = 0;
    for (uint32_t k = 0; k < x->groups.n; k++)
        if (!x->groups.v[k].leaving)
            stay[n++] = k;
    x->in = kit_zeroed(x->l->count, sizeof *x->in);
    x->made = kit_zeroed(x->l->count, sizeof *x->made);
    gcp_request_id(id, x->l->request_id, strlen(x->l->request_id));
    sscanf(id, "%6x", &start);
    for (uint32_t i = 0; i < x->l->count; i++)
        x->in[i] = n > 0 ? stay[(start + (whole ? 0 : i)) % n] : 0;
    free(stay);
    if (n > 0)
        return DAVIT_OK;
    char work[160];
    group_work(&x->groups.v[0], work, sizeof work);
    return kit_error(x->op.e, DAVIT_STOCKOUT, "Maintenance",
                     "%s: nothing is launched there meanwhile", work);
}

static int look(struct launch *x)
{
    int s = DAVIT_OK;
    members_done(&x->there);
    x->there = (struct members){.n = 0};
    for (size_t i = 0; i < x->groups.n && s == DAVIT_OK; i++)
        s = members_read(&x->op, &x->groups.v[i], &x->there);
    if (s == DAVIT_NOT_FOUND) {
        pools_forget(x->op.g);
        s = DAVIT_RETRY;
    }
    if (s != DAVIT_OK)
        return s;
    /* By name, since a pool that lost a zone deals them out anew. */
    json_t *names = json_object();
    for (size_t i = 0; i < x->there.n; i++)
        json_object_set_new(names, x->there.v[i].name, json_true());
    for (uint32_t i = 0; i < x->l->count; i++) {
        x->made[i] = false;
        for (size_t k = 0; k < x->groups.n && !x->made[i]; k++) {
            char name[NAME_MAX_ + 1];
            name_make(name, x->groups.v[k].name, x->op.g->tag, x->l->request_id,
                      i);
            x->made[i] = json_object_get(names, name);
        }
    }
    json_decref(names);
    return DAVIT_OK;
}

/* ---- what is missing */

static uint32_t salt_of(struct gke *g, uint32_t more)
{
    pthread_mutex_lock(&g->lock);
    uint32_t salt = g->salt += more;
    pthread_mutex_unlock(&g->lock);
    return salt;
}

/* All at once or none: the request's name is that of no instance, and for ever
 * that of its first one. */
static int queue_up(struct launch *x, const struct group *in, json_t *instances,
                    uint32_t first)
{
    char name[NAME_MAX_ + 1];
    name_make(name, "davit", x->op.g->tag, x->l->request_id, first);
    int s = queue_ask(&x->op, in, name, instances, salt_of(x->op.g, 0));
    if (s != DAVIT_OK)
        salt_of(x->op.g, 1);
    return s;
}

static int create(struct launch *x, const struct group *in, json_t *instances)
{
    struct op *op = &x->op;
    json_t *reply, *body = kit_must(json_pack("{s:O}", "instances", instances));
    bool told;
    /* The same names at the same time are the same request to Google too; but
     * one that failed there must not be answered with its failure for ever. */
    int s = api_post_group(op, in, "createInstances", body, salt_of(op->g, 0),
                           &reply);
    if (s == DAVIT_OK) {
        s = api_wait_zone(op, in, reply, &told);
        if (s != DAVIT_OK && told)
            salt_of(op->g, 1);
    }
    json_decref(reply);
    return s;
}

static void created(struct launch *x, const struct group *in,
                    const json_t *instances)
{
    size_t i;
    json_t *o;
    json_array_foreach(instances, i, o) {
        struct member m = {.group = in,
                           .name = kit_json_text(o, "name"),
                           .phase = DAVIT_STARTING,
                           .resize = "",
                           .detail = "asked for"};
        member_put(&x->op, &m, "", x->sink, x->put);
    }
}

/* All that is missing in one group, in batches. */
static int fill(struct launch *x, uint32_t k)
{
    const struct group *in = &x->groups.v[k];
    uint32_t i = 0, first = 0;
    uint32_t most = in->together > 0 && in->together < BATCH ? in->together
                                                             : BATCH;
    int s = DAVIT_OK;
    while (i < x->l->count && s == DAVIT_OK) {
        json_t *instances = json_array();
        for (; i < x->l->count && json_array_size(instances) < most; i++) {
            char name[NAME_MAX_ + 1];
            if (x->in[i] != k || x->made[i])
                continue;
            name_make(name, in->name, x->op.g->tag, x->l->request_id, i);
            if (json_array_size(instances) == 0)
                first = i;
            json_array_append_new(instances, json_pack("{s:s}", "name", name));
        }
        if (json_array_size(instances) > 0)
            s = in->together > 0 ? queue_up(x, in, instances, first)
                                 : create(x, in, instances);
        if (s == DAVIT_OK)
            created(x, in, instances);
        json_decref(instances);
    }
    return s;
}

static void put_there(struct launch *x)
{
    for (size_t i = 0; i < x->there.n; i++) {
        char request[64];
        name_request(x->there.v[i].name, request);
        if (strcmp(request, x->l->request_id) == 0)
            member_put(&x->op, &x->there.v[i], "", x->sink, x->put);
    }
}

static bool all_made(const struct launch *x)
{
    for (uint32_t i = 0; i < x->l->count; i++)
        if (!x->made[i])
            return false;
    return true;
}

/* A refusal may only mean that another call was faster ("exists already"), and
 * of two zones one may have done its part: what is there decides. */
static int look_again(struct launch *x, int why)
{
    struct davit_error e = {.size = sizeof e};
    struct davit_error *theirs = x->op.e;
    if (why == DAVIT_THROTTLED || why == DAVIT_AUTH || why == DAVIT_CANCELLED)
        return why;
    x->op.e = &e;
    int s = look(x);
    x->op.e = theirs;
    if (s != DAVIT_OK)
        return why;
    put_there(x);
    return all_made(x) ? DAVIT_OK : why;
}

/* A pool of several TPU hosts is one slice: whole, and once. */
static int slice_check(struct launch *x)
{
    const struct group *g = &x->groups.v[0];
    const char *pool = kit_json_text(g->pool, "name");
    if (g->hosts < 2 || x->l->count == g->hosts)
        return DAVIT_OK;
    return kit_error(x->op.e, DAVIT_INVALID, "BadCount",
                     "node pool %.40s is one slice of %u machines, a launch of "
                     "%u is none",
                     pool, g->hosts, x->l->count);
}

static int slice_free(struct launch *x)
{
    char request[64];
    for (size_t i = 0; x->groups.v[0].hosts > 1 && i < x->there.n; i++) {
        const struct member *m = &x->there.v[i];
        name_request(m->name, request);
        if (strcmp(request, x->l->request_id) != 0)
            return kit_error(
                x->op.e,
                m->phase == DAVIT_STOPPING ? DAVIT_RETRY : DAVIT_STOCKOUT,
                "SliceTaken",
                "node pool %.40s is one slice, and has %.63s already",
                kit_json_text(m->group->pool, "name"), m->name);
    }
    return DAVIT_OK;
}

static int launch_all(struct launch *x)
{
    int worst = DAVIT_OK;
    int s = zones_choose(x);
    if (s == DAVIT_OK)
        s = slice_check(x);
    if (s == DAVIT_OK)
        s = autoscaling_off(x);
    if (s != DAVIT_OK)
        return s;
    int dealt = zones_deal(x);
    s = look(x);
    if (s != DAVIT_OK)
        return s;
    put_there(x);
    if (dealt != DAVIT_OK)
        return all_made(x) ? DAVIT_OK : dealt;
    s = slice_free(x);
    if (s != DAVIT_OK)
        return s;
    for (uint32_t k = 0; k < x->groups.n; k++) {
        s = fill(x, k);
        if (s != DAVIT_OK)
            worst = s;
        if (s != DAVIT_OK && s != DAVIT_STOCKOUT && s != DAVIT_QUOTA)
            break;
    }
    for (uint32_t k = 0; k < x->groups.n && worst == DAVIT_OK; k++)
        if (x->groups.v[k].together > 0)
            queue_sweep(&x->op, &x->groups.v[k]);
    return worst == DAVIT_OK ? worst : look_again(x, worst);
}

int gke_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e)
{
    struct launch x = {.op = {self, call, e}, .l = l, .sink = sink, .put = put};
    const struct gke_type *t = type_find(self, l->offer);
    int s = check(&x, t);
    if (s != DAVIT_OK)
        return s;
    /* INVALID disables the type: not on what we remember of the pool. */
    for (int tries = 0; tries < 2; tries++) {
        s = pools_of_type(&x.op, t, l->spot, &x.groups);
        if (s == DAVIT_OK)
            s = launch_all(&x);
        pools_done(&x.groups);
        if (s != DAVIT_INVALID || x.in)
            break;
        pools_forget(self);
    }
    free(x.in);
    free(x.made);
    members_done(&x.there);
    return s;
}
