/*
 * pools.c - from node types to the instance groups that make their machines.
 *
 * A node pool is one instance group in each of its zones; its size is per zone
 * and is a field of the groups, not of the pool.  The pools are read again every
 * half minute, the groups each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

const struct gke_type *type_find(const struct gke *g, const char *name)
{
    for (size_t i = 0; i < g->n_types; i++)
        if (strcmp(g->types[i].name, name) == 0)
            return &g->types[i];
    return NULL;
}

json_t *shared_take(struct gke *g, json_t *const *which)
{
    pthread_mutex_lock(&g->lock);
    json_t *j = json_incref(*which);
    pthread_mutex_unlock(&g->lock);
    return j;
}

void shared_drop(struct gke *g, json_t *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&g->lock);
    json_decref(j);
    pthread_mutex_unlock(&g->lock);
}

void shared_set(struct gke *g, json_t **which, json_t *j)
{
    pthread_mutex_lock(&g->lock);
    json_decref(*which);
    *which = json_incref(j);
    pthread_mutex_unlock(&g->lock);
}

void pools_forget(struct gke *g)
{
    shared_set(g, &g->pools, NULL);
}

static int pools_read(struct op *op, int64_t hold_ms, json_t **ret)
{
    struct gke *g = op->g;
    char path[300];
    pthread_mutex_lock(&g->lock);
    int64_t age = g->host->wall_ms() - g->pools_ms;
    *ret = g->pools && age >= 0 && age < hold_ms ? json_incref(g->pools) : NULL;
    pthread_mutex_unlock(&g->lock);
    if (*ret)
        return DAVIT_OK;
    snprintf(path, sizeof path,
             "projects/%s/locations/%s/clusters/%s/nodePools", g->project,
             g->location, g->cluster);
    int s = api_send(op, &(struct request){"GET", false, path, "", NULL}, ret);
    if (s == DAVIT_NOT_FOUND)
        return kit_error(op->e, DAVIT_INVALID, "cluster",
                         "there is no cluster %.60s in %.40s of project %.60s",
                         g->cluster, g->location, g->project);
    if (s != DAVIT_OK)
        return s;
    pthread_mutex_lock(&g->lock);
    g->pools_ms = g->host->wall_ms();
    pthread_mutex_unlock(&g->lock);
    shared_set(g, &g->pools, *ret);
    return DAVIT_OK;
}

/* One path segment after "/KEY/" of a URL; it goes into URLs of ours. */
static bool segment(const char *url, const char *key, char *ret, size_t size)
{
    const char *at = strstr(url, key);
    if (!at)
        return false;
    at += strlen(key);
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-.:");
    if (n == 0 || n >= size || (at[n] != '\0' && at[n] != '/'))
        return false;
    snprintf(ret, size, "%.*s", (int)n, at);
    return true;
}

static bool pool_spot(const json_t *pool)
{
    return kit_json_true(pool, "config.spot") ||
           kit_json_true(pool, "config.preemptible");
}

static const struct gke_type *type_of_pool(const struct gke *g,
                                           const char *pool)
{
    for (size_t i = 0; i < g->n_types; i++) {
        const struct gke_type *t = &g->types[i];
        if ((t->pool && strcmp(t->pool, pool) == 0) ||
            (t->spot_pool && strcmp(t->spot_pool, pool) == 0))
            return t;
    }
    return NULL;
}

/* GKE works on a pool: it upgrades it by surge, repairs or changes it.  What
 * it adds for that is its own, and it ends machines itself.  In a blue-green
 * upgrade a pool has the groups of both halves, and the blue ones will be
 * drained and deleted; after a rollback began the green ones.  Google:
 * NodePool.Status, NodePool.UpdateInfo.BlueGreenInfo. */
static void work_mark(const json_t *pool, struct group *v, size_t n)
{
    const json_t *info = kit_json_at(pool, "updateInfo.blueGreenInfo");
    const json_t *blue = json_object_get(info, "blueInstanceGroupUrls");
    bool back = strcmp(kit_json_text(info, "phase"), "ROLLBACK_STARTED") == 0;
    bool two = json_array_size(blue) > 0;
    bool busy = strcmp(kit_json_text(pool, "status"), "RECONCILING") == 0;
    size_t i, k;
    json_t *u;
    for (i = 0; i < n; i++) {
        bool is_blue = false;
        json_array_foreach(blue, k, u) {
            char name[64] = "", zone[48] = "";
            const char *url = kit_json_string(u);
            segment(url, "/instanceGroupManagers/", name, sizeof name);
            segment(url, "/zones/", zone, sizeof zone);
            is_blue = is_blue || (strcmp(v[i].name, name) == 0 &&
                                  strcmp(v[i].zone, zone) == 0);
        }
        v[i].held = two || busy;
        v[i].leaving = two ? is_blue != back : busy;
    }
}

void group_work(const struct group *g, char *ret, size_t size)
{
    const json_t *info = kit_json_at(g->pool, "updateInfo.blueGreenInfo");
    const char *name = kit_json_text(g->pool, "name");
    if (info)
        snprintf(ret, size,
                 "node pool %.40s is in a blue-green upgrade (%.40s)", name,
                 kit_json_text(info, "phase"));
    else
        snprintf(ret, size, "node pool %.40s is being changed by GKE (%.20s)",
                 name, kit_json_text(g->pool, "status"));
}

static int groups_add(struct op *op, struct groups *gs, const json_t *pool,
                      const struct gke_type *type)
{
    size_t i;
    json_t *u;
    const json_t *urls = json_object_get(pool, "instanceGroupUrls");
    size_t first = gs->n;
    gs->v = kit_resize(gs->v, gs->n + json_array_size(urls) + 1, sizeof *gs->v);
    json_array_foreach(urls, i, u) {
        struct group *g = &gs->v[gs->n];
        const char *url = kit_json_string(u);
        *g = (struct group){
            .type = type, .pool = pool, .spot = pool_spot(pool)};
        g->together = pool_together(pool, &g->hosts);
        if (!segment(url, "/projects/", g->project, sizeof g->project) ||
            !segment(url, "/zones/", g->zone, sizeof g->zone) ||
            !segment(url, "/instanceGroupManagers/", g->name, sizeof g->name))
            return !type
                       ? DAVIT_OK
                       : kit_error(
                             op->e, DAVIT_RETRY, "BadReply",
                             "node pool %.40s has an instance group we cannot "
                             "read: \"%.80s\"",
                             kit_json_text(pool, "name"), url);
        gs->n++;
    }
    work_mark(pool, gs->v + first, gs->n - first);
    return DAVIT_OK;
}

static int by_zone(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    int d = strcmp(x->zone, y->zone);
    return d != 0 ? d : strcmp(x->name, y->name);
}

int pools_get(struct op *op, int64_t hold_ms, struct groups *ret)
{
    *ret = (struct groups){.g = op->g};
    int s = pools_read(op, hold_ms, &ret->pools);
    size_t i;
    json_t *p;
    json_array_foreach(json_object_get(ret->pools, "nodePools"), i, p) {
        if (s == DAVIT_OK)
            s = groups_add(op, ret, p,
                           type_of_pool(op->g, kit_json_text(p, "name")));
    }
    if (ret->n > 1)
        qsort(ret->v, ret->n, sizeof *ret->v, by_zone);
    return s;
}

void pools_done(struct groups *gs)
{
    free(gs->v);
    if (gs->g)
        shared_drop(gs->g, gs->pools);
}

static void pool_names(const json_t *pools, char *ret, size_t size)
{
    size_t i, n = 0;
    json_t *p;
    ret[0] = '\0';
    json_array_foreach(json_object_get(pools, "nodePools"), i, p) {
        int k = snprintf(ret + n, size - n, "%s%s", i > 0 ? ", " : "",
                         kit_json_text(p, "name"));
        if (k < 0 || (n += (size_t)k) >= size)
            return;
    }
}

static int no_pool(struct op *op, const struct groups *gs, const char *pool)
{
    char have[100];
    size_t i;
    json_t *p;
    json_array_foreach(json_object_get(gs->pools, "nodePools"), i, p)
        if (strcmp(kit_json_text(p, "name"), pool) == 0)
            return kit_error(op->e, DAVIT_RETRY, "pool",
                             "node pool %.40s has no instance group yet (it is "
                             "%.30s)",
                             pool, kit_json_text(p, "status"));
    pool_names(gs->pools, have, sizeof have);
    return kit_error(op->e, DAVIT_INVALID, "pool",
                     "cluster %.40s has no node pool %.40s; it has: %s",
                     op->g->cluster, pool, *have != '\0' ? have : "none");
}

int pools_of_type(struct op *op, const struct gke_type *t, bool spot,
                  struct groups *ret)
{
    const char *pool = spot && t->spot_pool ? t->spot_pool : t->pool;
    if (!pool)
        pool = t->spot_pool;
    int s = pools_get(op, POOLS_DEED_MS, ret);
    size_t kept = 0;
    for (size_t i = 0; i < ret->n && s == DAVIT_OK; i++)
        if (strcmp(kit_json_text(ret->v[i].pool, "name"), pool) == 0)
            ret->v[kept++] = ret->v[i];
    ret->n = kept;
    return s == DAVIT_OK && kept == 0 ? no_pool(op, ret, pool) : s;
}
