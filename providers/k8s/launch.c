/*
 * launch.c - replicas are raised: for all launches that wait, in one patch.
 *
 * The daemon makes one call for each group at about the same moment.  The first
 * waits a moment, takes what else has come and sends it all; the others wait
 * for its answer within their own time.  One whose leader gave up leads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "k8s.h"

#define SLICE_MS 10

struct ask {
    struct ask *next;
    const char *request; /* these three live behind it */
    const char *type;
    uint32_t count;
    bool taken, done, left; /* left: its caller is gone */
    bool changed;           /* it has a part in the patch */
    int status;
    struct davit_error e;
    char request_text[REQUEST_MAX + 1], type_text[256];
};

/* ---- one ask on the copy of the RayCluster */

static int refuse(struct ask *a, enum davit_status s, const char *code,
                  const char *fmt, const char *group, const char *why)
{
    return kit_error(&a->e, s, code, fmt, group, why);
}

static void names_of(const struct cluster *c, char *ret, size_t size)
{
    size_t n = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < c->n && n < size; i++)
        n += (size_t)snprintf(ret + n, size - n, "%s%s", i > 0 ? ", " : "",
                              c->v[i].name);
}

/* Pods may be more than replicas: somebody lowered them, and that alone
 * deletes nobody.  Then they are counted, or the raise would have no effect. */
static int units_now(struct op *op, const struct cluster *c,
                     const struct group *g, struct pods *ps, bool *have,
                     uint32_t *ret)
{
    struct k8s *k = op->k;
    int s = DAVIT_OK;
    *ret = g->replicas;
    pthread_mutex_lock(&k->lock);
    json_int_t live = json_integer_value(json_object_get(k->live, g->name));
    pthread_mutex_unlock(&k->lock);
    if (live <= (json_int_t)g->replicas)
        return DAVIT_OK;
    if (!*have && (s = pods_read(op, ps)) != DAVIT_OK)
        return s;
    *have = true;
    uint32_t there = units_stay(c, ps, g, NULL);
    if (there > *ret)
        *ret = there;
    return DAVIT_OK;
}

static int ask_apply(struct op *op, struct cluster *c, struct ask *a,
                     struct pods *ps, bool *have)
{
    const struct k8s_type *t = type_find(op->k, a->type);
    struct group *g = group_find(c, t->group);
    char have_names[100];
    uint32_t now;
    a->changed = false;
    if (annotation_known(c->annotation, a->request))
        return DAVIT_OK;
    if (!g) {
        names_of(c, have_names, sizeof have_names);
        return refuse(a, DAVIT_INVALID, "group",
                      "the RayCluster has no worker group %.60s; it has: %s",
                      t->group, *have_names != '\0' ? have_names : "none");
    }
    if (c->suspended || g->suspended)
        return refuse(a, DAVIT_STOCKOUT, "suspend",
                      "worker group %.60s is suspended%s", g->name,
                      c->suspended ? " with its RayCluster" : "");
    if (*g->gate != '\0')
        return refuse(a, DAVIT_STOCKOUT, "scaleGate",
                      "worker group %.60s is %s", g->name, g->gate);
    int s = units_now(op, c, g, ps, have, &now);
    if (s != DAVIT_OK) {
        a->e = *op->e;
        return s;
    }
    /* Units are whole: what is over is listed, and the daemon's to use. */
    uint32_t units = (a->count + g->hosts - 1) / g->hosts;
    if (now > g->max || units > g->max - now)
        return kit_error(&a->e, DAVIT_QUOTA, "maxReplicas",
                         "worker group %.60s has %u replicas, %u more would be "
                         "over its maxReplicas of %u",
                         g->name, now, units, g->max);
    group_set_replicas(g, now + units);
    annotation_add(c->annotation, a->request, g->name, units,
                   op->k->host->wall_ms());
    c->annotation_new = a->changed = true;
    return DAVIT_OK;
}

/* All of them; whatever goes wrong with the patch is the answer of all in it. */
static void batch_send(struct op *op, struct ask *first)
{
    struct davit_error e = {.size = sizeof e};
    struct op own = {.k = op->k, .call = op->call, .e = &e};
    struct cluster c;
    int s = DAVIT_RETRY;
    bool conflict = true;
    for (int tries = 1; conflict; tries++) {
        struct pods ps = {.n = 0};
        bool have = false;
        conflict = false;
        s = cluster_read(&own, &c);
        for (struct ask *a = first; a; a = a->next) {
            a->changed = true;
            if (s == DAVIT_OK)
                a->status = ask_apply(&own, &c, a, &ps, &have);
        }
        if (s == DAVIT_OK && cluster_changed(&c))
            s = cluster_patch(&own, &c, &conflict);
        pods_done(&ps);
        cluster_done(&c);
        if (conflict && !cluster_again(op, tries))
            break;
    }
    for (struct ask *a = first; a && s != DAVIT_OK; a = a->next)
        if (a->changed) {
            a->status = s;
            a->e = e;
        }
}

/* ---- who sends */

static void ask_unlink(struct k8s *k, struct ask *a)
{
    for (struct ask **at = &k->asks; *at; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            return;
        }
}

static void lead(struct op *op, struct ask *mine)
{
    struct k8s *k = op->k;
    struct ask *batch = NULL, *next;
    k->leading = true;
    pthread_mutex_unlock(&k->lock);
    bool go = k->coalesce_ms == 0 ||
              k->host->sleep(op->call, (uint32_t)k->coalesce_ms);
    pthread_mutex_lock(&k->lock);
    if (go) {
        batch = k->asks;
        k->asks = NULL;
        for (struct ask *a = batch; a; a = a->next)
            a->taken = true;
        pthread_mutex_unlock(&k->lock);
        batch_send(op, batch);
        pthread_mutex_lock(&k->lock);
    } else {
        mine->status = kit_error(&mine->e, DAVIT_CANCELLED, "",
                                 "there was no time to send it");
        mine->done = true;
        ask_unlink(k, mine);
    }
    for (struct ask *a = batch; a; a = next) {
        next = a->next;
        a->done = true;
        if (a->left)
            free(a);
    }
    k->leading = false;
    pthread_cond_broadcast(&k->woken);
}

static void nap(struct k8s *k)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += SLICE_MS * 1000000L;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000L;
    }
    pthread_cond_timedwait(&k->woken, &k->lock, &t);
}

/* Until it is sent by us or another. */
static int ask_settle(struct op *op, struct ask *a)
{
    struct k8s *k = op->k;
    int s;
    pthread_mutex_lock(&k->lock);
    struct ask **at = &k->asks;
    while (*at)
        at = &(*at)->next;
    *at = a;
    while (!a->done) {
        if (!k->leading && !a->taken) {
            lead(op, a);
        } else if (k->host->remaining_ms(op->call) == 0) {
            s = kit_error(op->e, DAVIT_CANCELLED, "",
                          "there was no time to wait for its answer");
            a->left = true;
            if (!a->taken) {
                ask_unlink(k, a);
                free(a);
            }
            pthread_mutex_unlock(&k->lock);
            return s;
        } else {
            nap(k);
        }
    }
    pthread_mutex_unlock(&k->lock);
    s = a->status;
    if (s != DAVIT_OK && op->e) {
        snprintf(op->e->code, sizeof op->e->code, "%s", a->e.code);
        snprintf(op->e->text, sizeof op->e->text, "%s", a->e.text);
        op->e->retry_after_ms = a->e.retry_after_ms;
    }
    free(a);
    return s;
}

static int check(struct op *op, const struct davit_launch *l)
{
    size_t n = strlen(l->request_id);
    if (!type_find(op->k, l->offer))
        return kit_error(op->e, DAVIT_INVALID, "UnknownType",
                         "there is no node type \"%.60s\" here", l->offer);
    if (l->count == 0 || l->count > LAUNCH_MAX)
        return kit_error(op->e, DAVIT_INVALID, "BadCount",
                         "a launch is of 1 to %d machines, not %u", LAUNCH_MAX,
                         l->count);
    if (n == 0 || n > REQUEST_MAX)
        return kit_error(op->e, DAVIT_INVALID, "BadRequestId",
                         "a request id has 1 to %d bytes", REQUEST_MAX);
    if (l->spot || *l->zone != '\0')
        return kit_error(op->e, DAVIT_INVALID, "zone",
                         "a worker group has neither zones nor a market: both "
                         "are for the nodeSelector of its pods");
    return DAVIT_OK;
}

int k8s_launch(void *self, struct davit_call *call,
               const struct davit_launch *l, struct davit_sink *sink,
               davit_put_machine *put, struct davit_error *e)
{
    struct op op = {.k = self, .call = call, .e = e};
    int s = check(&op, l);
    (void)sink;
    (void)put; /* pods are the operator's to make: list() */
    if (s != DAVIT_OK)
        return s;
    struct ask *a = kit_zeroed(1, sizeof *a);
    a->e.size = sizeof a->e;
    a->count = l->count;
    snprintf(a->request_text, sizeof a->request_text, "%s", l->request_id);
    snprintf(a->type_text, sizeof a->type_text, "%s", l->offer);
    a->request = a->request_text;
    a->type = a->type_text;
    return ask_settle(&op, a);
}
