/*
 * offers.c - what could be launched: node types in their zones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"
#include "kit/offer.h"

static int machine_read(struct op *op, const struct gce_type *t,
                        const char *zone, struct kit_offer *f, bool *there)
{
    json_t *m;
    char *path = kit_print("zones/%s/machineTypes/%.*s", zone,
                           (int)strcspn(t->machine, "+"), t->machine);
    int s = api_send(op, "GET", path, NULL, &m);
    free(path);
    *there = s == DAVIT_OK;
    if (s == DAVIT_OK) {
        const json_t *own = json_array_get(json_object_get(m, "accelerators"),
                                           0);
        int64_t gpus = kit_json_int(own, "guestAcceleratorCount", 0);
        kit_fact_number(f, &f->resources, "CPU",
                        kit_json_int(m, "guestCpus", 0));
        kit_fact_number(f, &f->resources, "memory",
                        kit_json_int(m, "memoryMb", 0) * 1048576);
        if (gpus > 0)
            kit_fact_number(f, &f->resources, "GPU", gpus);
    }
    json_decref(m);
    return s == DAVIT_NOT_FOUND ? DAVIT_OK : s;
}

static void put_market(const struct gce_type *t, const char *zone, bool spot,
                       bool there, const struct kit_offer *f,
                       struct davit_sink *sink, davit_put_offer *put)
{
    kit_offer_put(f,
                  &(struct davit_offer){
                      .name = t->name,
                      .zone = zone,
                      .spot = spot,
                      .available = there,
                      .note = there ? NULL
                                    : "the zone does not have this machine "
                                      "type",
                      .price_micros_hour = -1},
                  sink, put);
}

int gce_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e)
{
    struct op op = {self, call, e};
    int s = DAVIT_OK;
    for (size_t i = 0; i < op.g->n_types; i++) {
        const struct gce_type *t = &op.g->types[i];
        for (size_t k = 0; k < t->n_zones && s == DAVIT_OK; k++) {
            struct kit_offer f = {0};
            bool there;
            s = machine_read(&op, t, t->zones[k], &f, &there);
            if (s == DAVIT_OK)
                put_market(t, t->zones[k], false, there, &f, sink, put);
            if (s == DAVIT_OK && t->spot)
                put_market(t, t->zones[k], true, there, &f, sink, put);
            kit_keep_done(&f.keep);
        }
    }
    return s;
}
