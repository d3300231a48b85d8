/*
 * offers.c - what could be launched: node types, zones, prices of spot, and
 * how many the quotas still allow.
 */
#include <string.h>

#include "ec2.h"
#include "kit/aws/machine.h"
#include "kit/aws/quota.h"

struct offering {
    struct op *op;
    const struct ec2_type *type;
    const json_t *quotas;
    struct kit_offer facts;
    struct xml_doc *doc;
    const struct xml *there; /* DescribeInstanceTypeOfferings */
    struct davit_sink *sink;
    davit_put_offer *put;
};

static int there_read(struct offering *o)
{
    struct kit_str form = {0};
    aws_form_begin(&form, AWS_EC2, "DescribeInstanceTypeOfferings");
    kit_str_param(&form, "LocationType", "availability-zone");
    kit_str_param(&form, "Filter.1.Name", "instance-type");
    kit_str_param(&form, "Filter.1.Value.1", o->type->machine);
    int st = aws_query(&o->op->a, AWS_EC2, &form, &o->doc, &o->there);
    kit_str_done(&form);
    return st;
}

static bool sold_in(const struct offering *o, const char *zone)
{
    for (const struct xml *i = xml_at(o->there, "instanceTypeOfferingSet/item");
         i; i = xml_again(i))
        if (zone[0] == '\0' || strcmp(xml_text(i, "location"), zone) == 0)
            return true;
    return false;
}

static bool has_subnet(const struct offering *o, const char *zone)
{
    bool found = o->type->n_subnets == 0 || zone[0] == '\0';
    pthread_mutex_lock(&o->op->e->lock);
    for (size_t i = 0; i < o->type->n_subnets && !found; i++)
        found = strcmp(o->type->subnets[i].zone, zone) == 0;
    pthread_mutex_unlock(&o->op->e->lock);
    return found;
}

static void market_put(const struct offering *o, const char *zone,
                       const char *note, bool spot)
{
    char used_up[250];
    int64_t price = spot ? aws_spot_price(&o->op->a, o->type->machine, zone)
                         : -1;
    struct kit_quotas room = KIT_QUOTAS_NONE;
    aws_room(o->quotas, o->type->machine, &o->facts, spot, &room, used_up,
             sizeof used_up);
    struct davit_offer offer = {.name = o->type->name,
                                .zone = zone,
                                .spot = spot,
                                .available = !note,
                                .note = note ? note : used_up,
                                .price_micros_hour = price};
    kit_quotas_set(&room, &offer);
    kit_offer_put(&o->facts, &offer, o->sink, o->put);
}

static void zone_put(const struct offering *o, const char *zone)
{
    const char *note = !sold_in(o, zone)
                           ? "EC2 does not sell this machine type there"
                       : !has_subnet(o, zone)
                           ? "none of the node type's subnets is there"
                           : NULL;
    market_put(o, zone, note, false);
    if (o->type->spot)
        market_put(o, zone, note, true);
}

/* Without zones those of the subnets, so that one that is sold out is not all;
 * without either EC2 chooses. */
static void subnets_put(const struct offering *o)
{
    char zone[32];
    size_t n = 0;
    for (;; n++) {
        zone_nth(o->type, n, zone, sizeof zone);
        if (zone[0] == '\0')
            break;
        zone_put(o, zone);
    }
    if (n == 0)
        zone_put(o, "");
}

static int type_offer(struct offering *o)
{
    int st = aws_machine_facts(&o->op->a, o->type->machine, false, &o->facts);
    if (st == DAVIT_INVALID)
        st = DAVIT_OK; /* a machine type EC2 does not know: not sold */
    if (st == DAVIT_OK)
        st = there_read(o);
    for (size_t i = 0; st == DAVIT_OK && i < o->type->n_zones; i++)
        zone_put(o, o->type->zones[i]);
    if (st == DAVIT_OK && o->type->n_zones == 0)
        subnets_put(o);
    xml_free(o->doc);
    kit_keep_done(&o->facts.keep);
    return st;
}

static int quotas_read(struct op *op, json_t *ret)
{
    json_t *machines = kit_must(json_object());
    for (size_t i = 0; i < op->e->n_types; i++) {
        const struct ec2_type *t = &op->e->types[i];
        if (t->spot || !json_object_get(machines, t->machine))
            json_object_set_new(machines, t->machine, json_boolean(t->spot));
    }
    int st = aws_quotas(&op->a, machines, ret);
    json_decref(machines);
    return st;
}

int ec2_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *error)
{
    struct ec2 *e = self;
    struct op op = op_begin(e, call, error);
    json_t *quotas = kit_must(json_object());
    int st = zones_learn(&op);
    if (st == DAVIT_OK)
        st = quotas_read(&op, quotas);
    for (size_t i = 0; i < e->n_types && st == DAVIT_OK; i++)
        st = type_offer(&(struct offering){.op = &op,
                                           .type = &e->types[i],
                                           .quotas = quotas,
                                           .sink = sink,
                                           .put = put});
    json_decref(quotas);
    return st;
}
