/*
 * offers.c - what can be had: the pools' machine types with their resources,
 * where this subscription may use them, and what its quota still allows.
 *
 * Azure's compute API knows that; without the right to read it the pools are
 * offered all the same.  It has no prices: those are in the catalogue.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"
#include "kit/offer.h"

#define SKUS_API "2021-07-01"
#define USAGE_API "2026-04-01"
#define SKUS_KEPT_MS 3600000

struct market {
    const char *location;
    json_t *skus, *usages;
};

/* Errors that mean "you may not look", not "try later". */
static int optional(struct op *op, int st, const char *what)
{
    char line[300];
    if (st != DAVIT_AUTH && st != DAVIT_INVALID)
        return st;
    snprintf(line, sizeof line, "offers are made without %s: %.40s: %.180s",
             what, op->error->code, op->error->text);
    op->aks->host->log(2, line);
    op->error->code[0] = op->error->text[0] = '\0';
    return DAVIT_OK;
}

static int location_get(struct op *op, struct market *m)
{
    struct aks *a = op->aks;
    json_t *doc;
    m->location = a->location;
    if (m->location[0] != '\0')
        return DAVIT_OK;
    char *url = arm_cluster_url(a, "%s", "");
    int st = arm_get(op, url, &doc);
    free(url);
    m->location = kit_json_text(doc, "location");
    return st;
}

/* Thousands of sizes: those of our pools are kept, for an hour. */
static json_t *skus_of_pools(const json_t *all, const json_t *pools)
{
    json_t *mine = kit_must(json_object()), *sku;
    const json_t *pool;
    size_t i, k;
    json_array_foreach(all, i, sku) {
        const char *name = kit_json_text(sku, "name");
        if (strcasecmp(kit_json_text(sku, "resourceType"), "virtualMachines") !=
            0)
            continue;
        json_array_foreach(pools, k, pool)
            if (strcasecmp(kit_json_text(pool, "properties.vmSize"), name) == 0)
                json_object_set(mine, kit_json_text(pool, "properties.vmSize"),
                                sku);
    }
    return mine;
}

static bool knows_all(const json_t *skus, const json_t *pools)
{
    size_t i;
    const json_t *pool;
    json_array_foreach(pools, i, pool)
        if (!json_object_get(skus, kit_json_text(pool, "properties.vmSize")))
            return false;
    return true;
}

static int skus_get(struct op *op, struct market *m, const json_t *pools)
{
    struct aks *a = op->aks;
    pthread_mutex_lock(&a->lock);
    if (a->skus && op->from_ms - a->skus_ms < SKUS_KEPT_MS &&
        knows_all(a->skus, pools))
        m->skus = kit_must(json_deep_copy(a->skus));
    pthread_mutex_unlock(&a->lock);
    op_keep(op, m->skus);
    if (m->skus)
        return DAVIT_OK;
    json_t *all;
    char *filter = kit_print("location eq '%s'", m->location);
    char *coded = kit_encode(filter);
    char *url = arm_url(a,
                        "/subscriptions/%s/providers/Microsoft.Compute/skus"
                        "?api-version=" SKUS_API "&$filter=%s",
                        a->subscription, coded);
    int st = arm_pages(op, url, &all);
    free(filter);
    free(coded);
    free(url);
    if (st != DAVIT_OK)
        return optional(op, st, "machine sizes");
    m->skus = skus_of_pools(all, pools);
    op_keep(op, m->skus);
    pthread_mutex_lock(&a->lock);
    json_decref(a->skus);
    a->skus = kit_must(json_deep_copy(m->skus));
    a->skus_ms = op->from_ms;
    pthread_mutex_unlock(&a->lock);
    return DAVIT_OK;
}

static int usages_get(struct op *op, struct market *m)
{
    char *location = kit_encode(m->location);
    char *url = arm_url(op->aks,
                        "/subscriptions/%s/providers/Microsoft.Compute"
                        "/locations/%s/usages?api-version=" USAGE_API,
                        op->aks->subscription, location);
    int st = arm_pages(op, url, &m->usages);
    free(location);
    free(url);
    return st == DAVIT_OK ? st : optional(op, st, "quotas");
}

static const char *capability(const json_t *sku, const char *name)
{
    size_t i;
    const json_t *c;
    json_array_foreach(json_object_get(sku, "capabilities"), i, c)
        if (strcasecmp(kit_json_text(c, "name"), name) == 0)
            return kit_json_text(c, "value");
    return "";
}

static bool has_text(const json_t *list, const char *text)
{
    size_t i;
    const json_t *v;
    json_array_foreach(list, i, v)
        if (json_is_string(v) && strcasecmp(json_string_value(v), text) == 0)
            return true;
    return false;
}

/* May this subscription have it here? */
static bool sku_open(const json_t *sku, const struct market *m,
                     const char *zone)
{
    const char *dash = strrchr(zone, '-');
    size_t i;
    const json_t *r;
    json_array_foreach(json_object_get(sku, "restrictions"), i, r) {
        bool zonal = strcasecmp(kit_json_text(r, "type"), "Zone") == 0;
        const json_t *zones = kit_json_at(r, "restrictionInfo.zones");
        const json_t *places = json_object_get(r, "values");
        if (zonal && zone[0] != '\0' && has_text(zones, dash ? dash + 1 : zone))
            return false;
        if (!zonal &&
            (json_array_size(places) == 0 || has_text(places, m->location)))
            return false;
    }
    return true;
}

/* Room for one more in the family, or among the spot cores. */
static bool quota_open(const json_t *sku, const struct market *m, bool spot)
{
    const char *family = spot ? "lowPriorityCores"
                              : kit_json_text(sku, "family");
    long cores = strtol(capability(sku, "vCPUs"), NULL, 10);
    size_t i;
    const json_t *u;
    json_array_foreach(m->usages, i, u) {
        const char *name = kit_json_text(u, "name.value");
        bool total = !spot && strcasecmp(name, "cores") == 0;
        if ((total || strcasecmp(name, family) == 0) &&
            kit_json_int(u, "currentValue", 0) + cores >
                kit_json_int(u, "limit", INT64_MAX))
            return false;
    }
    return true;
}

static void fact(struct kit_offer *o, struct kit_facts *of, const char *key,
                 const char *value)
{
    if (value && value[0] != '\0')
        kit_fact_set(o, of, key, value);
}

static void labels_take(struct kit_offer *o, const struct pool *p,
                        const char *zone, const struct market *m)
{
    const char *key;
    json_t *v;
    bool bare = zone[0] != '\0' && !strchr(zone, '-');
    fact(o, &o->labels, "node.kubernetes.io/instance-type",
         kit_json_text(p->props, "vmSize"));
    fact(o, &o->labels, "topology.kubernetes.io/zone",
         kit_keep_print(&o->keep, "%s%s%s", bare ? m->location : "",
                        bare ? "-" : "", zone));
    fact(o, &o->labels, "kubernetes.azure.com/agentpool", p->name);
    if (p->spot)
        fact(o, &o->labels, "kubernetes.azure.com/scalesetpriority", "spot");
    json_object_foreach((json_t *)json_object_get(p->props, "nodeLabels"), key,
                        v)
        fact(o, &o->labels, key, json_string_value(v));
}

/* "key=value:Effect", the value may lack. */
static void taints_take(struct kit_offer *o, const struct pool *p)
{
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(p->props, "nodeTaints"), i, v) {
        const char *text = kit_json_string(v);
        const char *colon = strrchr(text, ':');
        size_t key = strcspn(text, "=:");
        size_t value = text[key] == '=' ? key + 1 : 0;
        if (colon)
            kit_fact_taint(o, kit_keep_print(&o->keep, "%.*s", (int)key, text),
                           text + value,
                           value ? (size_t)(colon - text) - value : 0,
                           colon + 1);
    }
}

static void offer_put(const struct pool *p, const struct aks_type *t,
                      const struct aks_site *site, const struct market *m,
                      struct davit_sink *sink, davit_put_offer *put)
{
    const json_t *sku = json_object_get(m->skus,
                                        kit_json_text(p->props, "vmSize"));
    const char *gb = capability(sku, "MemoryGB");
    struct kit_offer o = {0};
    labels_take(&o, p, site->zone, m);
    taints_take(&o, p);
    fact(&o, &o.resources, "CPU", capability(sku, "vCPUs"));
    fact(&o, &o.resources, "GPU", capability(sku, "GPUs"));
    if (gb[0] != '\0')
        fact(&o, &o.resources, "memory",
             kit_keep_print(&o.keep, "%.20sGi", gb));
    char note[300] = "";
    if (p->maintained)
        pool_work(p, note, sizeof note);
    else if (sku && !sku_open(sku, m, site->zone))
        snprintf(note, sizeof note,
                 "%.60s is not open to this subscription in %.60s%s%.60s",
                 kit_json_text(p->props, "vmSize"), m->location,
                 site->zone[0] != '\0' ? ", zone " : "", site->zone);
    else if (sku && !quota_open(sku, m, p->spot))
        snprintf(note, sizeof note, "the quota has no room for one more %.60s",
                 kit_json_text(p->props, "vmSize"));
    kit_offer_put(&o,
                  &(struct davit_offer){.name = t->name,
                                        .zone = site->zone,
                                        .price_micros_hour = -1,
                                        .spot = p->spot,
                                        .note = note,
                                        .available = note[0] == '\0'},
                  sink, put);
    kit_keep_done(&o.keep);
}

int aks_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e)
{
    struct op op;
    struct market m = {.location = ""};
    json_t *pools;
    op_begin(&op, self, call, e);
    int st = pools_get(&op, &pools);
    if (st == DAVIT_OK)
        st = location_get(&op, &m);
    if (st == DAVIT_OK)
        st = skus_get(&op, &m, pools);
    if (st == DAVIT_OK)
        st = usages_get(&op, &m);
    for (size_t i = 0; st == DAVIT_OK && i < op.aks->n_types; i++) {
        const struct aks_type *t = &op.aks->types[i];
        for (size_t k = 0; k < t->n_sites; k++) {
            const json_t *doc = pool_named(pools, t->sites[k].pool);
            struct pool p;
            if (!doc)
                continue;
            pool_take(doc, &p);
            offer_put(&p, t, &t->sites[k], &m, sink, put);
            pool_done(&p);
        }
    }
    op_end(&op);
    return st;
}
