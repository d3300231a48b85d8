/*
 * offers.c - what can be had: the pools' machine types with their resources
 * (kit/azure/sizes.c), labels and taints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"
#include "kit/offer.h"

/* Who may not look has said where it is; its nodes' group is called so unless its
 * maker chose a name. */
static int cluster_get(struct op *op, struct cluster *ret)
{
    struct aks *a = op->aks;
    json_t *doc = NULL;
    char *url = arm_cluster_url(a, "%s", "");
    int st = arm_get(op, url, &doc);
    free(url);
    *ret = (struct cluster){
        .location = a->location[0] != '\0' ? a->location
                                           : kit_json_text(doc, "location"),
        .nodes = kit_json_text(doc, "properties.nodeResourceGroup")};
    if (a->location[0] != '\0' && (st == DAVIT_AUTH || st == DAVIT_INVALID))
        st = DAVIT_OK;
    if (ret->nodes[0] == '\0') {
        json_t *made = kit_must(
            json_sprintf("MC_%s_%s_%s", a->group, a->name, ret->location));
        op_keep(op, made);
        ret->nodes = json_string_value(made);
    }
    return st;
}

static int market_get(struct op *op, const json_t *pools, const char *location,
                      struct azure_market *ret)
{
    struct aks *a = op->aks;
    json_t *names = kit_must(json_object());
    const json_t *pool;
    size_t i;
    json_array_foreach(pools, i, pool) {
        const char *size = kit_json_text(pool, "properties.vmSize");
        if (size[0] != '\0')
            json_object_set_new(names, size, json_true());
    }
    int st = azure_market(&a->azure, op->call, a->subscription, location, names,
                          ret, op->error);
    json_decref(names);
    return st;
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

/* Pods that its kubelet takes, and the disk that it leaves them: it keeps a tenth
 * free (learn.microsoft.com/azure/aks/node-resource-reservations); the file system
 * has 96 % of the disk.  0 GB: Azure chooses by the size. */
static void kubelet_take(struct kit_offer *o, const struct pool *p)
{
    int64_t pods = kit_json_int(p->props, "maxPods", 0);
    int64_t gib = kit_json_int(p->props, "osDiskSizeGB", 0);
    if (pods > 0 && pods <= 10000)
        kit_fact_number(o, &o->resources, "pods", pods);
    if (gib > 0 && gib < 1 << 20)
        kit_fact_number(o, &o->resources, "ephemeral-storage",
                        (gib << 30) / 1000 * 864);
}

static void offer_put(const struct pool *p, const struct aks_type *t,
                      const struct aks_site *site, const struct cluster *c,
                      const struct azure_market *m, struct davit_sink *sink,
                      davit_put_offer *put)
{
    const char *size = kit_json_text(p->props, "vmSize");
    struct kit_offer o = {0};
    labels_take(&o, p, site->zone, c);
    taints_take(&o, p);
    azure_size_facts(m, size, &o);
    kubelet_take(&o, p);
    char note[300];
    struct kit_quotas room = KIT_QUOTAS_NONE;
    azure_size_note(m, size, site->zone, p->spot, &room, note, sizeof note);
    if (p->maintained)
        pool_work(p, note, sizeof note);
    struct davit_offer offer = {
        .name = t->name,
        .zone = site->zone,
        .price_micros_hour = azure_price(m, size, p->spot),
        .spot = p->spot,
        .note = note,
        .available = note[0] == '\0'};
    kit_quotas_set(&room, &offer);
    kit_offer_put(&o, &offer, sink, put);
    kit_keep_done(&o.keep);
}

int aks_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e)
{
    struct op op;
    struct azure_market m = {0};
    struct cluster c;
    json_t *pools;
    op_begin(&op, self, call, e);
    int st = pools_get(&op, &pools);
    if (st == DAVIT_OK)
        st = cluster_get(&op, &c);
    if (st == DAVIT_OK)
        st = market_get(&op, pools, c.location, &m);
    for (size_t i = 0; st == DAVIT_OK && i < op.aks->n_types; i++) {
        const struct aks_type *t = &op.aks->types[i];
        for (size_t k = 0; k < t->n_sites; k++) {
            const json_t *doc = pool_named(pools, t->sites[k].pool);
            struct pool p;
            if (!doc)
                continue;
            pool_take(doc, &p);
            offer_put(&p, t, &t->sites[k], &c, &m, sink, put);
            pool_done(&p);
        }
    }
    azure_market_done(&m);
    op_end(&op);
    return st;
}
