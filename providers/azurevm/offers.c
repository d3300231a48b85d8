/*
 * offers.c - node types in their zones and markets: may this subscription have
 * the size there, and is there quota for one more (kit/azure/sizes.c)?
 */
#include "azurevm.h"
#include "kit/offer.h"

static void offer_put(const struct vm_type *t, const char *zone, bool spot,
                      const struct azure_market *m, struct davit_sink *sink,
                      davit_put_offer *put)
{
    struct kit_offer o = {0};
    char note[300];
    azure_size_facts(m, t->machine, &o);
    struct kit_quotas room = KIT_QUOTAS_NONE;
    azure_size_note(m, t->machine, zone, spot, &room, note, sizeof note);
    struct davit_offer offer = {.name = t->name,
                                .zone = zone,
                                .spot = spot,
                                .available = note[0] == '\0',
                                .note = note,
                                .price_micros_hour = -1};
    kit_quotas_set(&room, &offer);
    kit_offer_put(&o, &offer, sink, put);
    kit_keep_done(&o.keep);
}

static void type_put(const struct vm_type *t, const struct azure_market *m,
                     struct davit_sink *sink, davit_put_offer *put)
{
    size_t n = t->n_zones > 0 ? t->n_zones : 1;
    for (size_t i = 0; i < n; i++) {
        const char *zone = t->n_zones > 0 ? t->zones[i] : "";
        offer_put(t, zone, false, m, sink, put);
        if (t->spot)
            offer_put(t, zone, true, m, sink, put);
    }
}

int azurevm_offers(void *self, struct davit_call *call, struct davit_sink *sink,
                   davit_put_offer *put, struct davit_error *e)
{
    struct op op;
    struct azure_market m = {0};
    json_t *names = kit_must(json_object());
    int st = op_begin(&op, self, call, e);
    for (size_t i = 0; i < ((struct azurevm *)self)->n_types; i++)
        json_object_set_new(names, op.v->types[i].machine, json_true());
    if (st == DAVIT_OK)
        st = azure_market(&op.v->azure, call, op.subscription, op.v->location,
                          names, &m, e);
    for (size_t i = 0; st == DAVIT_OK && i < op.v->n_types; i++)
        type_put(&op.v->types[i], &m, sink, put);
    azure_market_done(&m);
    json_decref(names);
    return st;
}
