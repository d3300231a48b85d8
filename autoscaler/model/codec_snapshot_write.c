/*
 * codec_snapshot_write.c - facts to snapshot.json.
 *
 * What is at its default is left out, so that a file shows what matters;
 * reading it again gives the same snapshot, bit for bit.
 */
#include <string.h>

#include "codec.h"
#include "codec_bundle.h"

static void put_text(json_t *o, const char *key, const char *s)
{
    if (s && s[0])
        json_object_set_new(o, key, jin_word(s));
}

static void put_true(json_t *o, const char *key, bool b)
{
    if (b)
        json_object_set_new(o, key, json_true());
}

static void put_int(json_t *o, const char *key, int64_t i, int64_t usual)
{
    if (i != usual)
        json_object_set_new(o, key, json_integer(i));
}

/* UNLIMITED is null. */
static void put_count(json_t *o, const char *key, uint32_t n, uint32_t usual)
{
    if (n != usual)
        json_object_set_new(o, key,
                            n == UNLIMITED ? json_null() : json_integer(n));
}

static void put_labels(json_t *o, const struct pairs *p)
{
    json_t *labels;

    if (p->n == 0)
        return;
    labels = json_object();
    for (uint32_t i = 0; i < p->n; i++)
        json_object_set_new(labels, p->v[i].key, jin_word(p->v[i].value));
    json_object_set_new(o, "labels", labels);
}

static json_t *offer_write(const struct snap_offer *f)
{
    json_t *o = json_object();

    put_text(o, "zone", f->zone);
    put_true(o, "spot", f->spot);
    json_object_set_new(o, "price", jin_dollars(f->price_micros_hour));
    put_int(o, "set_aside_until_ms", f->backoff_until_ms, 0);
    if (f->backoff_for != ST_OK)
        put_text(o, "set_aside_for", status_name(f->backoff_for));
    put_int(o, "failed_ms", f->failed_ms, 0);
    put_count(o, "room", f->room, UNLIMITED);
    if (f->idle_timeout_ms > 0)
        json_object_set_new(o, "idle_timeout_s",
                            jin_seconds(f->idle_timeout_ms));
    taints_write(o, &f->taints);
    return o;
}

static json_t *type_write(const struct snap_type *t)
{
    json_t *o = json_object(), *offers = json_array();

    put_text(o, "name", t->name);
    put_text(o, "provider", t->provider);
    put_text(o, "machine", t->machine);
    put_text(o, "pool", t->pool);
    json_object_set_new(o, "resources", resources_write(&t->resources));
    put_labels(o, &t->labels);
    taints_write(o, &t->taints);
    put_count(o, "min", t->min, 0);
    put_count(o, "max", t->max, UNLIMITED);
    if (t->idle_timeout_ms >= 0)
        json_object_set_new(o, "idle_timeout_s",
                            jin_seconds(t->idle_timeout_ms));
    if (t->boot_ms >= 0)
        json_object_set_new(o, "boot_s", jin_seconds(t->boot_ms));
    put_int(o, "priority", t->priority, 0);
    put_int(o, "hosts", t->hosts ? t->hosts : 1, 1);
    if (t->unavailable != REASON_NONE)
        put_text(o, "unavailable", reason_code(t->unavailable));
    for (uint32_t i = 0; i < t->n_offers; i++)
        json_array_append_new(offers, offer_write(&t->offers[i]));
    json_object_set_new(o, "offers", offers);
    return o;
}

static json_t *node_write(const struct snap_node *n)
{
    json_t *o = json_object();

    put_text(o, "id", n->id);
    put_text(o, "type", n->type);
    put_text(o, "state", state_name(n->state));
    put_text(o, "zone", n->zone);
    put_true(o, "spot", n->spot);
    put_true(o, "head", n->head);
    put_true(o, "foreign", n->unmanaged);
    put_true(o, "outdated", n->outdated);
    if (n->total.n > 0) {
        json_object_set_new(o, "total", resources_write(&n->total));
        json_object_set_new(o, "available", resources_write(&n->available));
    }
    put_labels(o, &n->labels);
    taints_write(o, &n->taints);
    put_text(o, "unit", n->host_group);
    put_int(o, "progress_ms", n->progress_ms, 0);
    put_int(o, "idle_ms", n->idle_ms, -1);
    put_int(o, "since_ms", n->since_ms, 0);
    put_int(o, "created_ms", n->created_ms, 0);
    if (n->price_micros_hour >= 0)
        json_object_set_new(o, "price", jin_dollars(n->price_micros_hour));
    if (n->hold != REASON_NONE)
        put_text(o, "hold", reason_code(n->hold));
    put_int(o, "hold_until_ms", n->hold_until_ms, 0);
    if (n->previous.n > 0)
        json_object_set_new(o, "holds", codec_previous_write(&n->previous));
    put_text(o, "activity", n->activity);
    put_text(o, "cloud_id", n->cloud_id);
    put_text(o, "address", n->address);
    put_text(o, "ray_id", n->ray_id);
    put_text(o, "provider", n->provider);
    put_text(o, "request_id", n->request_id);
    put_text(o, "note", n->note);
    return o;
}

static json_t *demand_write(const struct snap_demand *d)
{
    json_t *o = json_object(), *bundles;

    json_object_set_new(o, "owner", jin_word(d->owner));
    put_text(o, "id", d->id);
    put_text(o, "queue", d->queue);
    if (d->source == SOURCE_POD || d->source == SOURCE_SPARE)
        put_text(o, "source", source_name(d->source));
    if (d->strategy != STRATEGY_NONE || d->source == SOURCE_GANG)
        json_object_set_new(o, "strategy",
                            json_string(strategy_name(d->strategy)));
    put_int(o, "priority", d->priority, 0);
    put_int(o, "since_ms", d->since_ms, 0);
    if (d->n_bundles == 1 && d->source != SOURCE_GANG &&
        d->source != SOURCE_REQUEST) {
        bundle_write_into(o, &d->bundles[0]);
        return o;
    }
    bundles = json_array();
    for (uint32_t i = 0; i < d->n_bundles; i++)
        json_array_append_new(bundles, codec_bundle_write(&d->bundles[i]));
    json_object_set_new(o, "bundles", bundles);
    return o;
}

json_t *codec_snapshot_write(const struct snapshot *f)
{
    json_t *o = json_object(), *types = json_array(), *nodes = json_array();
    json_t *demands = json_array(), *gangs = json_array();
    json_t *requests = json_array();

    put_text(o, "cluster", f->cluster);
    put_int(o, "now_ms", f->now_ms, 0);
    if (!f->sources_fresh)
        json_object_set_new(o, "head_fresh", json_false());
    json_object_set_new(o, "limits", limits_write(&f->limits));
    for (uint32_t i = 0; i < f->n_types; i++)
        json_array_append_new(types, type_write(&f->types[i]));
    for (uint32_t i = 0; i < f->n_nodes; i++)
        json_array_append_new(nodes, node_write(&f->nodes[i]));
    for (uint32_t i = 0; i < f->n_demands; i++) {
        const struct snap_demand *d = &f->demands[i];
        json_t *to = d->source == SOURCE_GANG      ? gangs
                     : d->source == SOURCE_REQUEST ? requests
                                                   : demands;

        json_array_append_new(to, demand_write(d));
    }
    json_object_set_new(o, "node_types", types);
    json_object_set_new(o, "nodes", nodes);
    json_object_set_new(o, "demands", demands);
    json_object_set_new(o, "gangs", gangs);
    json_object_set_new(o, "requests", requests);
    if (f->n_queues > 0)
        json_object_set_new(o, "queues",
                            queues_write(f->queues, f->n_queues));
    if (f->n_proposed > 0)
        json_object_set_new(o, "proposed",
                            proposed_write(f->proposed, f->n_proposed));
    return o;
}
