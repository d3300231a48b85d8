/*
 * sizes.c - what machine sizes have, where this subscription may use them, and
 * what its quota still allows.
 *
 * Azure's compute API knows that; without the right to read it machines are
 * offered all the same.  It has no prices: those are in the catalogue.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../offer.h"
#include "azure.h"

#define SKUS_API "2021-07-01"
#define USAGE_API "2026-04-01"
#define SIZES_KEPT_MS 3600000

/* Errors that mean "you may not look", not "try later". */
static int optional(struct azure *a, int st, const char *what,
                    struct davit_error *e)
{
    char line[300];
    if (st != DAVIT_AUTH && st != DAVIT_INVALID)
        return st;
    snprintf(line, sizeof line, "offers are made without %s: %.40s: %.180s",
             what, e->code, e->text);
    a->host->log(2, line);
    e->code[0] = e->text[0] = '\0';
    return DAVIT_OK;
}

/* Thousands of sizes: those that were asked for are kept, for an hour. */
static json_t *sizes_named(const json_t *all, const json_t *names)
{
    json_t *mine = kit_must(json_object()), *sku, *unused;
    const char *name;
    size_t i;
    json_array_foreach(all, i, sku) {
        if (strcasecmp(kit_json_text(sku, "resourceType"), "virtualMachines") !=
            0)
            continue;
        json_object_foreach((json_t *)names, name, unused)
            if (strcasecmp(name, kit_json_text(sku, "name")) == 0)
                json_object_set(mine, name, sku);
    }
    return mine;
}

static bool knows_all(const json_t *sizes, const json_t *names)
{
    const char *name;
    json_t *unused;
    json_object_foreach((json_t *)names, name, unused)
        if (!json_object_get(sizes, name))
            return false;
    return true;
}

static json_t *kept(struct azure *a, const json_t *names)
{
    json_t *copy = NULL;
    pthread_mutex_lock(&a->lock);
    if (a->sizes && a->host->wall_ms() - a->sizes_ms < SIZES_KEPT_MS &&
        knows_all(a->sizes, names))
        copy = kit_must(json_deep_copy(a->sizes));
    pthread_mutex_unlock(&a->lock);
    return copy;
}

static int sizes_get(struct azure *a, struct davit_call *call,
                     const char *subscription, const json_t *names,
                     struct azure_market *m, struct davit_error *e)
{
    json_t *all;
    m->sizes = kept(a, names);
    if (m->sizes)
        return DAVIT_OK;
    char *filter = kit_print("location eq '%s'", m->location);
    char *coded = kit_encode(filter);
    char *url = kit_print("%s/subscriptions/%s/providers/Microsoft.Compute/skus"
                          "?api-version=" SKUS_API "&$filter=%s",
                          a->endpoint, subscription, coded);
    int st = azure_pages(a, call, url, &all, e);
    free(filter);
    free(coded);
    free(url);
    if (st != DAVIT_OK)
        return optional(a, st, "machine sizes", e);
    m->sizes = sizes_named(all, names);
    json_decref(all);
    pthread_mutex_lock(&a->lock);
    json_decref(a->sizes);
    a->sizes = kit_must(json_deep_copy(m->sizes));
    a->sizes_ms = a->host->wall_ms();
    pthread_mutex_unlock(&a->lock);
    return DAVIT_OK;
}

static int usages_get(struct azure *a, struct davit_call *call,
                      const char *subscription, struct azure_market *m,
                      struct davit_error *e)
{
    char *location = kit_encode(m->location);
    char *url = kit_print("%s/subscriptions/%s/providers/Microsoft.Compute"
                          "/locations/%s/usages?api-version=" USAGE_API,
                          a->endpoint, subscription, location);
    int st = azure_pages(a, call, url, &m->usages, e);
    free(location);
    free(url);
    return st == DAVIT_OK ? st : optional(a, st, "quotas", e);
}

int azure_market(struct azure *a, struct davit_call *call,
                 const char *subscription, const char *location,
                 const json_t *names, struct azure_market *ret,
                 struct davit_error *e)
{
    *ret = (struct azure_market){.location = location};
    int st = sizes_get(a, call, subscription, names, ret, e);
    if (st == DAVIT_OK)
        st = usages_get(a, call, subscription, ret, e);
    return st;
}

void azure_market_done(struct azure_market *m)
{
    json_decref(m->sizes);
    json_decref(m->usages);
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
static bool size_open(const json_t *sku, const char *location, const char *zone)
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
            (json_array_size(places) == 0 || has_text(places, location)))
            return false;
    }
    return true;
}

/* Its family's cores and those of the region; of a spot machine the low-priority
 * cores alone (learn.microsoft.com/azure/virtual-machines/quotas). */
static void quotas_add(const struct azure_market *m, const json_t *sku,
                       bool spot, struct kit_quotas *room, char *note, size_t n)
{
    const char *family = spot ? "lowPriorityCores"
                              : kit_json_text(sku, "family");
    long cores = strtol(capability(sku, "vCPUs"), NULL, 10);
    size_t i;
    const json_t *u;
    json_array_foreach(m->usages, i, u) {
        const char *name = kit_json_text(u, "name.value");
        int64_t limit = kit_json_int(u, "limit", -1);
        int64_t used = kit_json_int(u, "currentValue", 0);
        bool total = !spot && strcasecmp(name, "cores") == 0;
        bool before = room->most > 0;
        if (cores <= 0 || limit < 0 ||
            (!total && strcasecmp(name, family) != 0))
            continue;
        if (kit_quota_add(room, (double)(limit - used), cores, "%.50s %.60s",
                          m->location, name) == 0 &&
            before)
            snprintf(note, n,
                     "quota %.60s in %.50s: %lld of %lld cores used, a machine "
                     "takes %ld",
                     name, m->location, (long long)used, (long long)limit,
                     cores);
    }
}

void azure_size_facts(const struct azure_market *m, const char *size,
                      struct kit_offer *o)
{
    const json_t *sku = json_object_get(m->sizes, size);
    const char *cpu = capability(sku, "vCPUs"), *gpu = capability(sku, "GPUs");
    const char *gb = capability(sku, "MemoryGB");
    if (cpu[0] != '\0')
        kit_fact_set(o, &o->resources, "CPU", cpu);
    if (gpu[0] != '\0')
        kit_fact_set(o, &o->resources, "GPU", gpu);
    if (gb[0] != '\0')
        kit_fact_set(o, &o->resources, "memory",
                     kit_keep_print(&o->keep, "%.20sGi", gb));
}

void azure_size_note(const struct azure_market *m, const char *size,
                     const char *zone, bool spot, struct kit_quotas *room,
                     char *ret, size_t n)
{
    const json_t *sku = json_object_get(m->sizes, size);
    ret[0] = '\0';
    if (sku)
        quotas_add(m, sku, spot, room, ret, n);
    if (sku && !size_open(sku, m->location, zone))
        snprintf(ret, n,
                 "%.60s is not open to this subscription in %.60s%s%.60s", size,
                 m->location, zone[0] != '\0' ? ", zone " : "", zone);
}
