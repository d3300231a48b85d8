/*
 * seen.c - who says which machines a pool has: AKS's list, remembered while the
 * pool is at rest, and the scale set behind it as a second witness.
 *
 * Reads are few (about one a second for all pools), and a list costs one for
 * each pool.  The eTag of a pool changes with whatever is done to it, so one at
 * rest is read again only now and then, the less often the more there are.
 *
 * To lower a target is to let Azure choose who ends.  So what it is lowered to
 * is never taken from one list alone: that may lack a machine that lives.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"

#define COMPUTE_API "2026-04-01"
#define REST_MS 15000 /* a pool at rest is read again, at the soonest */

/* ---- AKS's list */

/* All of them take half of the reads there are. */
static int64_t rest_ms(const struct aks *a) /* with the lock */
{
    int64_t ms = 2 * (int64_t)a->n_memories * a->gets.every_ms;
    return ms > REST_MS ? ms : REST_MS;
}

int64_t seen_rest_ms(struct aks *a)
{
    pthread_mutex_lock(&a->lock);
    int64_t ms = rest_ms(a);
    pthread_mutex_unlock(&a->lock);
    return ms;
}

static json_t *remembered(struct aks *a, const struct pool *p)
{
    json_t *list = NULL;
    pthread_mutex_lock(&a->lock);
    const struct memory *m = memory_of(a, p->name);
    int64_t age = a->host->wall_ms() - m->seen_ms;
    if (m->seen && !p->busy && !p->failed && p->etag[0] != '\0' &&
        strcmp(m->seen_etag, p->etag) == 0 && m->n_stopping == 0 && age >= 0 &&
        a->gets.every_ms > 0 && age < rest_ms(a))
        list = kit_must(json_deep_copy(m->seen));
    pthread_mutex_unlock(&a->lock);
    return list;
}

static void remember(struct aks *a, const struct pool *p, const json_t *list)
{
    pthread_mutex_lock(&a->lock);
    struct memory *m = memory_of(a, p->name);
    json_decref(m->seen);
    free(m->seen_etag);
    m->seen = kit_must(json_deep_copy(list));
    m->seen_etag = kit_copy(p->etag);
    m->seen_ms = a->host->wall_ms();
    pthread_mutex_unlock(&a->lock);
}

int machines_read(struct op *op, const struct pool *p, bool at_rest,
                  json_t **ret)
{
    *ret = at_rest ? remembered(op->aks, p) : NULL;
    op_keep(op, *ret);
    if (*ret)
        return DAVIT_OK;
    char *url = arm_cluster_url(op->aks, "/agentPools/%s/machines", p->name);
    int st = arm_pages(op, url, ret);
    free(url);
    if (st == DAVIT_OK)
        remember(op->aks, p, *ret);
    return st;
}

/* ---- the scale set */

void scale_set_note(struct op *op, const struct pool *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const char *at = p->v[i].resource;
        const char *cut = strcasestr(at, "/virtualMachines/");
        if (at[0] != '/' || !cut)
            continue;
        pthread_mutex_lock(&op->aks->lock);
        struct memory *m = memory_of(op->aks, p->name);
        free(m->scale_set);
        m->scale_set = kit_print("%.*s", (int)(cut - at), at);
        pthread_mutex_unlock(&op->aks->lock);
        return;
    }
}

bool scale_set_read(struct op *op, const struct pool *p, json_t **ret)
{
    struct davit_error ignored = {.size = sizeof ignored}, *e = op->error;
    pthread_mutex_lock(&op->aks->lock);
    const char *set = memory_of(op->aks, p->name)->scale_set;
    char *url = set ? arm_url(op->aks,
                              "%s/virtualMachines?api-version=" COMPUTE_API
                              "&$expand=instanceView",
                              set)
                    : NULL;
    pthread_mutex_unlock(&op->aks->lock);
    if (!url)
        return false;
    op->error = &ignored; /* no right to look is no reason to fail */
    int st = arm_pages(op, url, ret);
    op->error = e;
    free(url);
    return st == DAVIT_OK;
}

/* An instance on its way out is not counted: nothing is to replace it. */
static int64_t instances(const json_t *vms)
{
    int64_t n = 0;
    size_t i;
    const json_t *vm;
    json_array_foreach(vms, i, vm)
        n += strcasecmp(kit_json_text(vm, "properties.provisioningState"),
                        "Deleting") != 0;
    return n;
}

int pool_living(struct op *op, const struct pool *p, int64_t *ret)
{
    json_t *other;
    int64_t n;
    *ret = (int64_t)p->n;
    if (scale_set_read(op, p, &other)) {
        n = instances(other);
    } else {
        /* Without the right to see it, or with nothing listed yet that would
         * tell where it is: the same list once more. */
        int st = machines_read(op, p, false, &other);
        if (st != DAVIT_OK)
            return st;
        n = (int64_t)json_array_size(other);
    }
    if (n > *ret)
        *ret = n;
    return DAVIT_OK;
}

static bool has_instance(const json_t *vms, int64_t number)
{
    size_t i;
    const json_t *vm;
    json_array_foreach(vms, i, vm)
        if (strtoll(kit_json_text(vm, "instanceId"), NULL, 10) == number)
            return true;
    return false;
}

/* Of one pool.  A scale set that cannot be read says nothing. */
static void pool_find(struct op *op, const char *pool, const char *const *ids,
                      size_t n_ids, struct davit_sink *sink,
                      davit_put_done *done)
{
    json_t *vms = NULL;
    bool read = false, tried = false;
    for (size_t i = 0; i < n_ids; i++) {
        int64_t number = name_number(ids[i]);
        if (number < 0 || strchr(ids[i], '/') || !id_of_pool(ids[i], pool))
            continue;
        if (!tried)
            read = scale_set_read(op, &(struct pool){.name = pool}, &vms);
        tried = true;
        if (read)
            done(sink, ids[i],
                 has_instance(vms, number) ? DAVIT_OK : DAVIT_NOT_FOUND);
    }
}

int aks_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e)
{
    struct op op;
    const char *pool;
    op_begin(&op, self, call, e);
    for (size_t k = 0; (pool = memory_pool(op.aks, k)); k++)
        pool_find(&op, pool, ids, n_ids, sink, done);
    op_end(&op);
    return DAVIT_OK;
}
