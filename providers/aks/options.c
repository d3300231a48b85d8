/*
 * options.c - the AKS plug-in's configuration, read once by open().
 *
 * What is not given is taken from the environment that azure-identity and the
 * workload identity webhook use.  Every mistake names its option, so that the
 * daemon can point at the line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aks.h"

#define POOL_NAME_MAX 12

#define AT(field) KIT_AT(struct aks, field)
const struct kit_option aks_options[] = {
    {"subscription", "the subscription's id", KIT_NAME, AT(subscription),
     .allowed = "a-z A-Z 0-9 -", .needed = true},
    {"resource_group", "the resource group of the AKS cluster", KIT_NAME,
     AT(group), .allowed = "a-z A-Z 0-9 - _ . ( )", .needed = true},
    {"cluster", "the name of the AKS cluster", KIT_NAME, AT(name),
     .allowed = "a-z A-Z 0-9 - _", .needed = true},
    {"location", "the region, to ask for machine sizes; else the cluster's",
     KIT_TEXT, AT(location), .fallback = ""},
    AZURE_OPTIONS(struct aks, azure),
    {"poll", "between two looks at a pool that is busy", KIT_DURATION,
     AT(poll_ms), .fallback = "2s"},
    {"wait", "how long a call waits for such a pool", KIT_DURATION, AT(wait_ms),
     .fallback = "6s"},
    {"abort_after",
     "break off a raise that takes longer when something else is to be done on "
     "the pool; else never",
     KIT_DURATION, AT(abort_ms)},
    {"reads.burst", "reads that may go at once; AKS's limit", KIT_NUMBER,
     AT(gets.burst), .fallback = "60", .min = 1, .max = 100000},
    {"reads.every", "one more after so long; 0: no limit", KIT_DURATION,
     AT(gets.every_ms), .fallback = "1s"},
    {"writes.burst", "changes of a pool that may go at once", KIT_NUMBER,
     AT(puts.burst), .fallback = "20", .min = 1, .max = 100000},
    {"writes.every", "one more after so long; 0: no limit", KIT_DURATION,
     AT(puts.every_ms), .fallback = "1m"},
    {"types.pools.*", "pools.ZONE: NAME - the pool for each zone of the type",
     KIT_READ, .read = NULL},
    {0}};

/* ---- node types and their pools */

static int site_add(struct aks *a, struct aks_type *t,
                    const struct davit_node_type *n, const char *key,
                    const char *zone, const char *pool, struct davit_error *e)
{
    size_t len = strlen(pool);
    if (len == 0 || len > POOL_NAME_MAX ||
        strspn(pool, "abcdefghijklmnopqrstuvwxyz0123456789") != len)
        return kit_type_error(e, n, key,
                              "an agent pool's name has 1 to %d lower-case "
                              "letters and digits, got \"%.40s\"",
                              POOL_NAME_MAX, pool);
    for (size_t i = 0; i < a->n_memories; i++)
        if (strcmp(a->memories[i]->pool, pool) == 0)
            return kit_type_error(e, n, key,
                                  "pool %s is used twice: its machines would "
                                  "belong to both",
                                  pool);
    t->sites[t->n_sites++] = (struct aks_site){kit_keep_text(&a->keep, zone),
                                               kit_keep_text(&a->keep, pool)};
    memory_of(a, pool);
    return DAVIT_OK;
}

static int type_read(struct aks *a, const struct davit_node_type *n,
                     struct davit_error *e)
{
    int st = DAVIT_OK;
    struct aks_type *t = &a->types[a->n_types++];
    const char *own = n->pool[0] != '\0' ? n->pool : n->name;
    size_t real = 0;
    *t = (struct aks_type){
        .name = kit_keep_text(&a->keep, n->name),
        .spot = n->spot,
        .machine = kit_keep_text(&a->keep, n->machine),
        .sites = kit_keep(&a->keep, (n->n_zones + 1) * sizeof *t->sites)};
    for (size_t i = 0; i < n->n_zones; i++)
        real += n->zones[i][0] != '\0';
    if (real == 0)
        return site_add(a, t, n, "", "", own, e);
    for (size_t i = 0; st == DAVIT_OK && i < n->n_zones; i++) {
        char key[80];
        snprintf(key, sizeof key, "pools.%.60s", n->zones[i]);
        const char *pool = kit_find(n->options, n->n_options, key);
        if (!pool && real > 1)
            return kit_type_error(
                e, n, "",
                "it has %zu zones: AKS chooses the zone inside a pool, so name "
                "a pool for each: options: {pools: {%.40s: POOL, ...}}",
                real, n->zones[i]);
        st = site_add(a, t, n, key, n->zones[i], pool ? pool : own, e);
    }
    return st;
}

int aks_open(const struct davit_host *host, const struct davit_setup *setup,
             void **ret_self, struct davit_error *e)
{
    struct aks *a = kit_zeroed(1, sizeof *a);
    a->host = host;
    azure_init(&a->azure, host);
    a->azure.pace = arm_pace;
    a->azure.paced = a;
    a->cluster = kit_keep_text(&a->keep, setup->cluster);
    a->types = kit_keep(&a->keep, (setup->n_types + 1) * sizeof *a->types);
    pthread_mutex_init(&a->lock, NULL);
    int st = kit_options_read(aks_options, setup->options, setup->n_options,
                              NULL, a, &a->keep, e);
    if (st == DAVIT_OK)
        st = azure_settle(&a->azure, &a->keep, e);
    for (size_t i = 0; st == DAVIT_OK && i < setup->n_types; i++)
        st = type_read(a, setup->types[i], e);
    if (st == DAVIT_OK)
        *ret_self = a;
    else
        aks_close(a);
    return st;
}

static void memory_done(struct memory *m)
{
    for (size_t i = 0; i < m->n_stopping; i++)
        free(m->stopping[i]);
    free(m->stopping);
    free(m->stopping_ms);
    free(m->operation);
    free(m->ledger);
    free(m->scale_set);
    json_decref(m->seen);
    free(m->seen_etag);
    free(m->pool);
    free(m);
}

void aks_close(void *self)
{
    struct aks *a = self;
    azure_done(&a->azure);
    for (size_t i = 0; i < a->n_memories; i++)
        memory_done(a->memories[i]);
    free(a->memories);
    pthread_mutex_destroy(&a->lock);
    kit_keep_done(&a->keep);
    free(a);
}
