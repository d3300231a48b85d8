/*
 * offers.c - what could be launched: node types in their zones, and how many the
 * quotas still allow (kit/gcp/quota.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"
#include "kit/offer.h"

struct offering { /* a node type in a zone */
    const struct gce_type *type;
    const char *zone;
    const char *lacks; /* what of it the zone does not have; NULL: nothing */
    int64_t cpus, gpus;
    char machine[64], accelerator[64];
    struct kit_offer facts;
};

int machine_ask(struct op *op, const struct gce_type *t, const char *zone,
                json_t **ret)
{
    char *path = kit_print("zones/%s/machineTypes/%.*s", zone,
                           (int)strcspn(t->machine, "+"), t->machine);
    int s = api_send(op, "GET", path, NULL, ret);
    free(path);
    if (s == DAVIT_OK)
        ((struct gce_type *)t)->own_gpus = json_array_size(json_object_get(
                                               *ret, "accelerators")) > 0
                                               ? OWN_SOME
                                               : OWN_NONE;
    return s;
}

/* A zone that has the machine type may lack what is attached to it.  Who may not
 * ask learns it from the launch. */
static int accelerator_ask(struct op *op, struct offering *o)
{
    json_t *reply;
    char *path = kit_print("zones/%s/acceleratorTypes/%s", o->zone,
                           o->accelerator);
    int s = api_send(op, "GET", path, NULL, &reply);
    free(path);
    json_decref(reply);
    if (s == DAVIT_NOT_FOUND)
        o->lacks = "the zone does not have this accelerator type";
    return s == DAVIT_NOT_FOUND || s == DAVIT_AUTH ? DAVIT_OK : s;
}

static int machine_read(struct op *op, struct offering *o)
{
    json_t *m;
    int s = machine_ask(op, o->type, o->zone, &m);
    if (s == DAVIT_NOT_FOUND)
        o->lacks = "the zone does not have this machine type";
    if (s == DAVIT_OK) {
        const json_t *own = json_array_get(json_object_get(m, "accelerators"),
                                           0);
        int64_t gpus = kit_json_int(own, "guestAcceleratorCount", 0);
        o->cpus = kit_json_int(m, "guestCpus", 0);
        kit_fact_number(&o->facts, &o->facts.resources, "CPU", o->cpus);
        kit_fact_number(&o->facts, &o->facts.resources, "memory",
                        kit_json_int(m, "memoryMb", 0) * 1048576);
        if (gpus > 0)
            kit_fact_number(&o->facts, &o->facts.resources, "GPU", gpus);
        if (gpus > 0 && o->gpus == 0) {
            o->gpus = gpus;
            snprintf(o->accelerator, sizeof o->accelerator, "%s",
                     kit_json_text(own, "guestAcceleratorType"));
        }
    }
    json_decref(m);
    return s == DAVIT_NOT_FOUND ? DAVIT_OK : s;
}

static void put_market(const struct offering *o, bool spot,
                       const json_t *quotas, struct davit_sink *sink,
                       davit_put_offer *put)
{
    char note[200];
    struct kit_quotas room = KIT_QUOTAS_NONE;
    gcp_room(quotas, o->zone,
             &(struct gcp_machine){o->machine, o->accelerator, o->cpus, o->gpus,
                                   spot},
             &room, note, sizeof note);
    struct davit_offer offer = {.name = o->type->name,
                                .zone = o->zone,
                                .spot = spot,
                                .available = !o->lacks,
                                .note = o->lacks ? o->lacks : note,
                                .price_micros_hour = -1};
    kit_quotas_set(&room, &offer);
    kit_offer_put(&o->facts, &offer, sink, put);
}

static int zone_offer(struct op *op, const struct gce_type *t, const char *zone,
                      json_t *quotas, struct davit_sink *sink,
                      davit_put_offer *put)
{
    struct gce *g = op->g;
    struct offering o = {.type = t, .zone = zone};
    snprintf(o.machine, sizeof o.machine, "%.*s", (int)strcspn(t->machine, "+"),
             t->machine);
    body_accelerator(t, o.accelerator, &o.gpus);
    bool attached = o.accelerator[0] != '\0';
    int s = machine_read(op, &o);
    if (s == DAVIT_OK && !o.lacks && attached)
        s = accelerator_ask(op, &o);
    if (s == DAVIT_OK && !o.lacks)
        s = gcp_quotas(&g->gcp, op->call,
                       &(struct gcp_place){g->url, g->project, zone}, quotas,
                       op->e);
    if (s == DAVIT_OK)
        put_market(&o, false, quotas, sink, put);
    if (s == DAVIT_OK && t->spot)
        put_market(&o, true, quotas, sink, put);
    kit_keep_done(&o.facts.keep);
    return s;
}

int gce_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e)
{
    struct op op = {self, call, e};
    json_t *quotas = kit_must(json_object());
    int s = DAVIT_OK;
    for (size_t i = 0; i < op.g->n_types; i++) {
        const struct gce_type *t = &op.g->types[i];
        for (size_t k = 0; k < t->n_zones && s == DAVIT_OK; k++)
            s = zone_offer(&op, t, t->zones[k], quotas, sink, put);
    }
    json_decref(quotas);
    return s;
}
