/*
 * end.c - ends exactly the pods named: replicas lowered by as many and their
 * names in workersToDelete, of all groups in one patch.
 *
 * A name that is there already was asked for before and is not lowered a
 * second time; a pod that is going for another reason is replaced by the
 * operator, whatever we would write.  The hosts of a unit go together: the
 * first ones wait until all of them are named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "k8s.h"

struct end {
    struct op op;
    const char *const *ids;
    size_t n;
    int *status; /* per id */
    struct cluster c;
    struct pods ps;
    uint32_t *live; /* per group: units that stay */
    bool have_pods;
};

static int say(struct end *x, enum davit_status s, const char *code,
               const char *fmt, const char *a, const char *b)
{
    return kit_error(x->op.e, s, code, fmt, a, b);
}

/* One unit less; not below what is there, nor below the group's min. */
static void lower(struct end *x, struct group *g)
{
    uint32_t *live = &x->live[g - x->c.v], to = g->replicas;
    if (*live > g->replicas)
        to = *live - 1 < to ? *live - 1 : to;
    else if (to > 0)
        to--;
    if (*live > 0)
        (*live)--;
    group_set_replicas(g, to < g->min ? g->min : to);
}

static void less_of(struct end *x, const char *request)
{
    if (*request != '\0' && annotation_known(x->c.annotation, request)) {
        annotation_less(x->c.annotation, request);
        x->c.annotation_new = true;
    }
}

/* A replica without a pod is taken back, once. */
static int promise_end(struct end *x, const char *id)
{
    char whose[128];
    const char *number = strrchr(id, '.') + 1;
    promised_of(id, whose, sizeof whose);
    bool of_request = annotation_known(x->c.annotation, whose);
    struct group *g = group_find(
        &x->c, of_request ? annotation_group(x->c.annotation, whose) : whose);
    if (!g || annotation_cancelled(x->c.annotation, id))
        return DAVIT_NOT_FOUND;
    uint32_t there = units_stay(&x->c, &x->ps, g, of_request ? whose : NULL);
    int64_t promised = of_request ? annotation_left(x->c.annotation, whose)
                                  : g->replicas;
    if (promised <= there)
        return DAVIT_NOT_FOUND; /* its pod has come after all */
    annotation_cancel(x->c.annotation, id);
    x->c.annotation_new = true;
    /* Of a host group the first one counts for all. */
    if (strtoul(number, NULL, 10) % g->hosts == 0) {
        less_of(x, of_request ? whose : "");
        uint32_t to = g->replicas > 0 ? g->replicas - 1 : 0;
        group_set_replicas(g, to < g->min ? g->min : to);
    }
    return DAVIT_OK;
}

static bool told_to_end(struct k8s *k, const char *pod)
{
    pthread_mutex_lock(&k->lock);
    bool told = json_object_get(k->ending, pod);
    pthread_mutex_unlock(&k->lock);
    return told;
}

/* The hosts that were taken for one unit; n of them are named when `name`. */
static uint32_t unit_hosts(struct end *x, struct group *g, const struct pod *p,
                           bool told, uint32_t most, bool name)
{
    uint32_t n = 0;
    for (size_t i = 0; i < x->ps.n && n < most; i++) {
        const struct pod *o = &x->ps.v[i];
        if (strcmp(o->group, p->group) != 0 || strcmp(o->unit, p->unit) != 0 ||
            !pod_stays(&x->c, o) || (told && !told_to_end(x->op.k, o->name)))
            continue;
        n++;
        if (name)
            group_name(g, o->name);
    }
    return n;
}

static int unit_end(struct end *x, struct group *g, const struct pod *p)
{
    bool labelled = *p->unit != '\0';
    uint32_t all = labelled ? unit_hosts(x, g, p, false, UINT32_MAX, false)
                            : g->hosts;
    uint32_t told = unit_hosts(x, g, p, true, UINT32_MAX, false);
    /* One that does not run makes the others useless: all of them go. */
    bool broken = labelled && p->phase != DAVIT_RUNNING;
    if (told < all && !broken)
        return say(x, DAVIT_RETRY, "numOfHosts",
                   "pod %.80s is one host of unit %.60s and waits for the "
                   "others to be ended with it",
                   p->name, labelled ? p->unit : g->name);
    unit_hosts(x, g, p, !broken, all, true);
    less_of(x, p->request);
    lower(x, g);
    return DAVIT_OK;
}

static int id_end(struct end *x, const char *id)
{
    char whose[128];
    if (promised_of(id, whose, sizeof whose))
        return promise_end(x, id);
    const struct pod *p = pod_find(&x->ps, id);
    struct group *g = p ? group_find(&x->c, p->group) : NULL;
    if (!p) {
        for (size_t i = 0; i < x->c.n; i++)
            group_unname(&x->c.v[i], id);
        return DAVIT_NOT_FOUND;
    }
    if (p->going || group_names(g, id))
        return DAVIT_OK;
    if (!g)
        return say(x, DAVIT_INVALID, "group",
                   "pod %.80s is of worker group %.60s, which the RayCluster "
                   "has no more: delete it by hand",
                   id, p->group);
    if (x->c.suspended || g->suspended)
        return DAVIT_OK; /* the operator deletes it */
    if (*g->gate != '\0')
        return say(x, DAVIT_RETRY, "scaleGate", "worker group %.60s is %s",
                   g->name, g->gate);
    if (p->phase != DAVIT_FAILED &&
        group_at_min(x->op.k, g, x->live[g - x->c.v]))
        return kit_error(x->op.e, DAVIT_INVALID, "minReplicas",
                         "worker group %.63s is at its minReplicas of %u, so "
                         "pod %.80s cannot end: lower it",
                         g->name, g->min, id);
    if (g->hosts > 1)
        return unit_end(x, g, p);
    group_name(g, id);
    less_of(x, p->request);
    lower(x, g);
    return DAVIT_OK;
}

/* Decides on the copies; DAVIT_OK when there is something to patch. */
static int plan(struct end *x)
{
    free(x->live);
    x->live = kit_zeroed(x->c.n + 1, sizeof *x->live);
    for (size_t i = 0; i < x->c.n; i++)
        x->live[i] = units_stay(&x->c, &x->ps, &x->c.v[i], NULL);
    for (size_t i = 0; i < x->n; i++) {
        const struct pod *p = pod_find(&x->ps, x->ids[i]);
        const struct group *g = p ? group_find(&x->c, p->group) : NULL;
        if (!g || g->hosts < 2)
            continue;
        pthread_mutex_lock(&x->op.k->lock);
        json_object_set_new(x->op.k->ending, x->ids[i], json_true());
        pthread_mutex_unlock(&x->op.k->lock);
    }
    for (size_t i = 0; i < x->n; i++)
        x->status[i] = id_end(x, x->ids[i]);
    return DAVIT_OK;
}

/* Names of pods that are gone go out of the list along the way. */
static void names_sweep(struct end *x)
{
    for (size_t i = 0; i < x->c.n; i++) {
        struct group *g = &x->c.v[i];
        json_t *before = json_copy(g->names), *name;
        size_t k;
        json_array_foreach(before, k, name) {
            const char *s = json_string_value(name);
            if (s && !pod_find(&x->ps, s))
                group_unname(g, s);
        }
        json_decref(before);
    }
}

static int attempt(struct end *x, bool *conflict)
{
    char whose[128];
    bool late = false; /* a pod that just came must be seen */
    *conflict = false;
    for (size_t i = 0; i < x->n; i++)
        late = late || promised_of(x->ids[i], whose, sizeof whose);
    if (late) {
        pods_done(&x->ps);
        x->have_pods = false;
    }
    int s = late || x->have_pods ? DAVIT_OK : pods_read(&x->op, &x->ps);
    if (s == DAVIT_OK)
        s = cluster_read(&x->op, &x->c);
    if (s == DAVIT_OK && late)
        s = pods_read(&x->op, &x->ps);
    if (s != DAVIT_OK)
        return s;
    x->have_pods = true;
    pods_share(x->op.k, &x->c, &x->ps);
    plan(x);
    if (!cluster_changed(&x->c))
        return DAVIT_OK;
    names_sweep(x);
    return cluster_patch(&x->op, &x->c, conflict);
}

static void remember(struct end *x)
{
    struct k8s *k = x->op.k;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < x->c.n; i++) {
        size_t n;
        json_t *name;
        if (x->c.v[i].names_new)
            json_array_foreach(x->c.v[i].names, n, name)
                if (json_is_string(name))
                    json_object_set_new(k->named, json_string_value(name),
                                        json_true());
        json_object_set_new(k->live, x->c.v[i].name, json_integer(x->live[i]));
    }
    pthread_mutex_unlock(&k->lock);
}

int k8s_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e)
{
    struct end x = {
        .op = {.k = self, .call = call, .e = e}, .ids = ids, .n = n_ids};
    bool conflict = true;
    int s = DAVIT_OK, worst = DAVIT_OK;
    x.status = kit_zeroed(n_ids + 1, sizeof *x.status);
    for (int tries = 1; conflict; tries++) {
        cluster_done(&x.c);
        s = attempt(&x, &conflict);
        if (conflict && !cluster_again(&x.op, tries))
            break;
    }
    if (s == DAVIT_OK) {
        remember(&x);
        for (size_t i = 0; i < n_ids; i++) {
            done(sink, ids[i], x.status[i]);
            if (x.status[i] != DAVIT_OK && x.status[i] != DAVIT_NOT_FOUND)
                worst = x.status[i];
        }
    }
    free(x.status);
    free(x.live);
    pods_done(&x.ps);
    cluster_done(&x.c);
    return s != DAVIT_OK ? s : worst;
}
