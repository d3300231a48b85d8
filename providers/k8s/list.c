/*
 * list.c - the pods of our groups, and the replicas that have none yet.
 *
 * A replica that was promised to a request of ours and whose pod is still to
 * come is not listed for a moment: the daemon counts it as asked for.  When no
 * pod has come by then, it is listed as on its way, so that nobody forgets it
 * while the operator is down: it may make the pod at any time, until terminate()
 * takes the replica back.  When the operator says that it cannot make the pod (a
 * quota), it is listed as FAILED, and goes the same way.  A replica that nobody here asked for is
 * listed as on its way, so that it is not raised a second time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "k8s.h"

/* An older failure says nothing of a launch that was made so shortly ago */
#define SETTLE_MS 2000
/* Operators make a pod sooner; less than k8s_settle_ms(), after which what no
 * list has is forgotten. */
#define PROMISE_MS 5000

struct listing {
    struct op op;
    struct cluster c;
    struct pods ps;
    uint32_t *live; /* per group: units that stay */
    struct davit_sink *sink;
    davit_put_machine *put;
    char trouble[200]; /* why the operator makes no pods, "" */
    int trouble_status;
};

bool promised_of(const char *id, char *ret, size_t size)
{
    size_t n = sizeof PROMISED - 1;
    const char *dot = strrchr(id, '.');
    if (strncmp(id, PROMISED, n) != 0 || dot < id + n)
        return false;
    snprintf(ret, size, "%.*s", (int)(dot - id - (long)n), id + n);
    return true;
}

bool group_at_min(struct k8s *k, const struct group *g, uint32_t live)
{
    const struct k8s_type *t = type_of_group(k, g->name);
    return t && live <= g->min && t->min < (uint64_t)g->min * g->hosts;
}

static void pod_put(struct listing *x, const struct pod *p)
{
    const struct k8s_type *t = type_of_group(x->op.k, p->group);
    const struct group *g = group_find(&x->c, p->group);
    bool ends = x->c.suspended || (g && g->suspended) ||
                group_names(g, p->name);
    char held[160] = "";
    if (g && !ends && p->phase != DAVIT_FAILED &&
        group_at_min(x->op.k, g, x->live[g - x->c.v]))
        snprintf(
            held, sizeof held,
            "worker group %.63s is at its minReplicas of %u: KubeRay would "
            "make the pod anew",
            g->name, g->min);
    x->put(x->sink,
           &(struct davit_machine){
               .size = sizeof(struct davit_machine),
               .id = p->name,
               .request_id = p->request,
               .offer = t ? t->name : p->group,
               .zone = "",
               .address = p->ip,
               .phase = ends ? DAVIT_STOPPING : p->phase,
               .failure = p->failure,
               .unit = p->unit,
               .held = held,
               .detail = ends && !p->going ? "is to be deleted" : p->detail});
}

/* n machines that are promised to `whose` (a request or the group). */
static void promised_put(struct listing *x, const struct k8s_type *t,
                         const char *whose, const char *request, uint32_t n,
                         bool failed)
{
    char id[128];
    for (uint32_t i = 0; n > 0 && i < 100000; i++) {
        snprintf(id, sizeof id, PROMISED "%.63s.%u", whose, i);
        if (annotation_cancelled(x->c.annotation, id))
            continue;
        n--;
        x->put(
            x->sink,
            &(struct davit_machine){
                .size = sizeof(struct davit_machine),
                .id = id,
                .request_id = request,
                .offer = t->name,
                .zone = "",
                .address = "",
                .phase = failed ? DAVIT_FAILED : DAVIT_STARTING,
                .failure = failed ? (uint32_t)x->trouble_status : DAVIT_OK,
                .detail = failed
                              ? x->trouble
                              : "promised; the operator has not made its pod"});
    }
}

static void group_promises(struct listing *x, const struct group *g)
{
    const struct k8s_type *t = type_of_group(x->op.k, g->name);
    uint32_t there = units_stay(&x->c, &x->ps, g, NULL);
    uint32_t missing = g->replicas > there ? g->replicas - there : 0;
    int64_t now = x->op.k->host->wall_ms();
    const char *request;
    json_t *r;
    if (!t || missing == 0 || g->suspended || x->c.suspended)
        return;
    json_object_foreach(json_object_get(x->c.annotation, "requests"), request,
                        r) {
        if (strcmp(annotation_group(x->c.annotation, request), g->name) != 0)
            continue;
        int64_t lacks = annotation_left(x->c.annotation, request) -
                        units_stay(&x->c, &x->ps, g, request);
        uint32_t n = lacks <= 0        ? 0
                     : lacks > missing ? missing
                                       : (uint32_t)lacks;
        missing -= n;
        bool failed = x->trouble_status != DAVIT_OK;
        if (n > 0 && now - annotation_at(x->c.annotation, request) >
                         (failed ? SETTLE_MS : PROMISE_MS))
            promised_put(x, t, request, request, n * g->hosts, failed);
    }
    promised_put(x, t, g->name, "", missing * g->hosts,
                 x->trouble_status != DAVIT_OK);
}

/* What later calls want to know of now. */
static void keep(struct listing *x)
{
    struct k8s *k = x->op.k;
    const char *name;
    json_t *v;
    void *next;
    pthread_mutex_lock(&k->lock);
    json_object_clear(k->live);
    for (size_t i = 0; i < x->c.n; i++)
        json_object_set_new(
            k->live, x->c.v[i].name,
            json_integer(units_stay(&x->c, &x->ps, &x->c.v[i], NULL)));
    json_object_foreach_safe(k->ending, next, name,
                             v) if (!pod_find(&x->ps, name))
        json_object_del(k->ending, name);
    json_object_foreach_safe(k->troubled, next, name,
                             v) if (!pod_find(&x->ps, name))
        json_object_del(k->troubled, name);
    pthread_mutex_unlock(&k->lock);
}

/* Names that this handle wrote and whose pods are gone: the operator leaves
 * them there for ever.  *done: the names, for later. */
static void names_clean(struct listing *x, json_t *done)
{
    struct k8s *k = x->op.k;
    const char *key;
    json_t *v;
    pthread_mutex_lock(&k->lock);
    json_object_foreach(k->named, key, v)
        if (!pod_find(&x->ps, key))
            json_object_set_new(done, key, json_true());
    pthread_mutex_unlock(&k->lock);
    json_object_foreach(done, key, v)
        for (size_t n = 0; n < x->c.n; n++)
            group_unname(&x->c.v[n], key);
}

/* Somebody lowered replicas of a group that we scale: no pod goes by that, but
 * one that dies would not be made again.  They are what there is. */
static void replicas_mend(struct listing *x, uint64_t writes)
{
    struct k8s *k = x->op.k;
    pthread_mutex_lock(&k->lock);
    bool calm = k->writing == 0 && k->writes == writes;
    for (size_t i = 0; i < x->c.n && calm; i++) {
        struct group *g = &x->c.v[i];
        uint32_t there = (uint32_t)json_integer_value(
            json_object_get(k->live, g->name));
        if (json_object_get(k->wrote, g->name) && !g->suspended &&
            !x->c.suspended && *g->gate == '\0' && there > g->replicas &&
            there <= g->max)
            group_set_replicas(g, there);
    }
    pthread_mutex_unlock(&k->lock);
}

/* What has to be put in order, in one patch; a refusal waits for the next
 * list, which reports it if it is more than this. */
static void tidy(struct listing *x, uint64_t writes)
{
    struct k8s *k = x->op.k;
    struct davit_error e = {.size = sizeof e};
    struct op quiet = {.k = k, .call = x->op.call, .e = &e};
    json_t *done = json_object(), *v;
    bool conflict = false, good = true;
    const char *key;
    for (int tries = 1; good; tries++) {
        names_clean(x, done);
        replicas_mend(x, writes);
        if (!cluster_changed(&x->c))
            break;
        good = cluster_patch(&quiet, &x->c, &conflict) == DAVIT_OK;
        if (good || !conflict || tries > 3 || !cluster_again(&quiet, tries))
            break;
        cluster_done(&x->c);
        good = cluster_read(&quiet, &x->c) == DAVIT_OK;
        /* Our own try is no reason to mistrust what was read. */
        pthread_mutex_lock(&k->lock);
        writes = writes + 1 == k->writes ? k->writes : writes;
        pthread_mutex_unlock(&k->lock);
    }
    pthread_mutex_lock(&k->lock);
    if (good)
        json_object_foreach(done, key, v)
            json_object_del(k->named, key);
    pthread_mutex_unlock(&k->lock);
    json_decref(done);
}

int k8s_list(void *self, struct davit_call *call, struct davit_sink *sink,
             davit_put_machine *put, struct davit_error *e)
{
    struct listing x = {
        .op = {.k = self, .call = call, .e = e}, .sink = sink, .put = put};
    pthread_mutex_lock(&x.op.k->lock);
    uint64_t writes = x.op.k->writes;
    pthread_mutex_unlock(&x.op.k->lock);
    /* In this order: what made a pod is in the RayCluster that is read after
     * it. */
    int s = pods_read(&x.op, &x.ps);
    if (s == DAVIT_OK)
        s = cluster_read(&x.op, &x.c);
    if (s == DAVIT_OK) {
        pods_share(x.op.k, &x.c, &x.ps);
        cluster_judge(x.c.json, x.trouble, sizeof x.trouble, &x.trouble_status);
        x.live = kit_zeroed(x.c.n + 1, sizeof *x.live);
        for (size_t i = 0; i < x.c.n; i++)
            x.live[i] = units_stay(&x.c, &x.ps, &x.c.v[i], NULL);
        for (size_t i = 0; i < x.ps.n; i++)
            pod_put(&x, &x.ps.v[i]);
        for (size_t i = 0; i < x.c.n; i++)
            group_promises(&x, &x.c.v[i]);
        writer_watch(&x.op, &x.c);
        keep(&x);
        tidy(&x, writes);
    }
    free(x.live);
    pods_done(&x.ps);
    cluster_done(&x.c);
    return s;
}
