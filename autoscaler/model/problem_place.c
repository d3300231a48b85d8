/*
 * problem_place.c - where work can lie: node types, their offers, and nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "accel.h"
#include "amount.h"
#include "price.h"
#include "problem_build.h"

enum { INTERRUPTIONS_MOST = 10 };
#define MAX_DEVICES 1024 /* of one column on one node; more are not seen */

/* ---- types and offers */

static int by_zone(const void *pa, const void *pb)
{
    const struct pb_offer *a = pa, *b = pb;

    if (a->zone != b->zone)
        return a->zone < b->zone ? -1 : 1;
    return (int)a->spot - (int)b->spot;
}

/* Labels and an estimated price come once the offers are in order. */
static struct pb_offer offer_make(struct builder *m, uint32_t type,
                                  const struct snap_offer *o)
{
    struct pb_offer v = {.type = type,
                         .zone = builder_id(m, o->zone),
                         .spot = o->spot,
                         .price_estimated = o->price_micros_hour < 0,
                         .price_micros_hour = o->price_micros_hour,
                         .backoff_until_ms = o->backoff_until_ms,
                         .backoff_for = o->backoff_for,
                         .failed_ms = o->failed_ms,
                         .interruptions = o->interruptions,
                         .mean_micros_hour = o->mean_micros_hour,
                         .mean_ms = o->mean_ms,
                         .room = o->closed ? 0 : o->room,
                         .closed = o->closed,
                         .idle_timeout_ms = o->idle_timeout_ms};

    builder_offer_takes(m, o, &v);
    if (v.idle_timeout_ms <= 0)
        v.idle_timeout_ms = m->s->types[type].idle_timeout_ms;
    return v;
}

/* Each machine that was taken back makes it half as dear again. */
static void surcharge_add(struct pb_offer *o)
{
    uint32_t n = o->interruptions < INTERRUPTIONS_MOST ? o->interruptions
                                                       : INTERRUPTIONS_MOST;

    o->surcharge_micros_hour = amount_times(o->price_micros_hour, n) / 2;
    o->price_micros_hour = amount_add(o->price_micros_hour,
                                      o->surcharge_micros_hour);
}

/* What has never changed cost the same for longer than anybody looks back. */
static void mean_add(struct pb_offer *o)
{
    if (o->mean_ms > 0 && !o->price_estimated)
        return;
    o->mean_micros_hour = o->price_micros_hour;
    o->mean_ms = PRICE_PAST_MS;
}

static enum status make_offers(struct builder *m, uint32_t type,
                               struct pb_offer *v, struct err *err)
{
    const struct snap_type *t = m->types[type];

    for (uint32_t i = 0; i < t->n_offers; i++)
        v[i] = offer_make(m, type, &t->offers[i]);
    if (t->n_offers > 1)
        qsort(v, t->n_offers, sizeof *v, by_zone);
    for (uint32_t i = 0; i < t->n_offers; i++) {
        if (i > 0 && by_zone(&v[i - 1], &v[i]) == 0)
            return err_set(err, ST_INVALID,
                           "node type '%s' has two %s offers in zone '%s': one "
                           "for each zone and market",
                           t->name, v[i].spot ? "spot" : "on-demand",
                           (const char *)m->strings.items[v[i].zone].p);
        builder_offer_labels(m, t, &v[i]);
        if (v[i].price_estimated)
            v[i].price_micros_hour = price_estimate(
                &t->resources,
                builder_accelerator(m, v[i].first_label, v[i].n_labels),
                v[i].spot);
        mean_add(&v[i]);
        surcharge_add(&v[i]);
    }
    return ST_OK;
}

enum status builder_types(struct builder *m, struct err *err)
{
    const struct snapshot *f = m->snapshot;
    struct problem *s = m->s;
    struct pb_type *types = ARENA_ARRAY(m->arena, struct pb_type, f->n_types);
    struct pb_offer *offers;
    uint32_t n_offers = 0;

    for (uint32_t i = 0; i < f->n_types; i++)
        n_offers += f->types[i].n_offers;
    builder_shares(m);
    offers = ARENA_ARRAY(m->arena, struct pb_offer, n_offers);
    s->types = types;
    s->n_types = f->n_types;
    s->offers = offers;
    s->n_offers = n_offers;
    n_offers = 0;
    for (uint32_t i = 0; i < f->n_types; i++) {
        const struct snap_type *t = m->types[i];

        types[i] = (struct pb_type){
            .name = builder_id(m, t->name),
            .provider = builder_id(m, t->provider),
            .row = builder_row(m, &t->resources, false),
            .min = t->min < t->max ? t->min : t->max,
            .max = t->max,
            .hosts = t->hosts ? t->hosts : 1,
            .idle_timeout_ms = t->idle_timeout_ms >= 0
                                   ? t->idle_timeout_ms
                                   : f->limits.idle_timeout_ms,
            .boot_ms = t->boot_ms,
            .priority = t->priority,
            .unavailable = t->unavailable,
            .accelerator = builder_has_accelerator(&t->resources),
            .first_offer = n_offers,
            .n_offers = t->n_offers,
            .from = (uint32_t)(t - f->types)};
        if (make_offers(m, i, offers + n_offers, err) != ST_OK)
            return ST_INVALID;
        n_offers += t->n_offers;
    }
    return ST_OK;
}

/* ---- nodes */

/* The offer it was bought as: same market; its zone, or the one where the
 * provider chooses the zone; a node of unknown zone is of the first. */
static uint32_t offer_find(const struct builder *m, uint32_t type,
                           const char *zone, bool spot)
{
    const struct pb_type *t = &m->s->types[type];
    uint32_t id = builder_id(m, zone), any = NONE, first = NONE;
    uint32_t empty = builder_id(m, "");

    for (uint32_t i = t->first_offer; i < t->first_offer + t->n_offers; i++) {
        const struct pb_offer *o = &m->s->offers[i];

        if (o->spot != spot)
            continue;
        if (o->zone == id)
            return i;
        if (o->zone == empty)
            any = i;
        if (first == NONE)
            first = i;
    }
    return any == NONE && id == empty ? first : any;
}
/* As many devices as possible are wholly free, one has the rest, the others are
 * busy. */
static void make_devices(struct builder *m, struct pb_node *n,
                         const int64_t *total, const int64_t *available)
{
    n->first_device = m->devices.n;
    for (uint32_t c = 0; c < m->s->n_columns; c++) {
        int64_t has = total[c], left = available[c];

        if (!m->s->columns[c].device)
            continue;
        for (uint32_t i = 0; has > 0 && i < MAX_DEVICES; i++) {
            int64_t size = has < AMOUNT_ONE ? has : AMOUNT_ONE;
            struct pb_device d = {.column = c};

            d.free = (int32_t)(left < size ? left : size);
            VEC_PUSH(m->arena, &m->devices, d);
            has -= size;
            left -= d.free;
        }
    }
    n->n_devices = m->devices.n - n->first_device;
}

/* The dearest offer of some types: of one, of one provider's, of all. */
static int64_t price_dearest(const struct builder *m, uint32_t type,
                             const char *provider)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < m->s->n_offers; i++) {
        const struct pb_offer *o = &m->s->offers[i];
        uint32_t of = m->s->types[o->type].provider;

        if ((type == NONE || o->type == type) &&
            (!provider || strcmp(m->strings.items[of].p, provider) == 0) &&
            pb_offer_bill(o) > most)
            most = pb_offer_bill(o);
    }
    return most;
}

/* One of a zone or a market that its type has no longer counts as its type's
 * dearest offer, one of which nothing is known as its provider's, or as the
 * dearest of all: limits.max_cost_per_hour holds whatever it is. */
static int64_t price_unknown(const struct builder *m, const struct snap_node *f,
                             uint32_t type)
{
    int64_t price = price_dearest(m, type, type == NONE ? f->provider : NULL);

    return price ? price : price_dearest(m, NONE, NULL);
}

static int64_t node_price(const struct builder *m, const struct snap_node *f,
                          const struct pb_node *n, const struct qtys *total)
{
    if (f->price_micros_hour >= 0)
        return f->price_micros_hour;
    if (n->offer != NONE)
        return pb_offer_bill(&m->s->offers[n->offer]);
    if (n->type != NONE || (!total->n && !f->unmanaged && !f->head))
        return price_unknown(m, f, n->type);
    return price_estimate(
        total, builder_accelerator(m, n->first_label, n->n_labels), f->spot);
}

/* A head may report for a moment that more is free than there is. */
static uint32_t row_within(struct builder *m, uint32_t available,
                           uint32_t total)
{
    const uint32_t n = m->s->n_columns;
    const int64_t *free = m->rows.items[available].p;
    const int64_t *has = m->rows.items[total].p;

    for (uint32_t c = 0; c < n; c++)
        m->row[c] = free[c] < has[c] ? free[c] : has[c];
    return intern_add(&m->rows, m->row, n * sizeof *m->row, 1);
}

/* On a cordoned node there is what is in use, and nothing is free. */
static void cordon(struct builder *m, struct pb_node *n)
{
    const uint32_t columns = m->s->n_columns;
    const int64_t *total = m->rows.items[n->total].p;
    const int64_t *free = m->rows.items[n->available].p;
    uint32_t used;

    for (uint32_t c = 0; c < columns; c++)
        m->row[c] = n->template_room ? 0 : total[c] - free[c];
    used = intern_add(&m->rows, m->row, columns * sizeof *m->row, 1);
    memset(m->row, 0, columns * sizeof *m->row);
    n->available = intern_add(&m->rows, m->row, columns * sizeof *m->row, 1);
    n->total = used;
    n->template_room = false;
}

/* ---- the first host of a slice */

struct slice {
    const char *name;
    bool has_head; /* one of its hosts shows it, or is to have it */
};

static bool has_head(const struct qtys *q)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (q->v[i].amount > 0 && accel_is_slice_head(q->v[i].name))
            return true;
    return false;
}

static struct slice *slice_of(struct builder *m, const struct snap_node *f)
{
    uint64_t h = hash_text(HASH_SEED, f->host_group);
    struct slice *x;

    for (uint32_t at = 0; (x = hash_next(&m->slices, h, &at));)
        if (strcmp(x->name, f->host_group) == 0)
            return x;
    x = ARENA_NEW(&m->scratch, struct slice);
    x->name = f->host_group;
    hash_add(&m->slices, h, x);
    return x;
}

static bool is_of_slice(const struct builder *m, const struct snap_node *f)
{
    uint32_t type = builder_type(m, f->type);

    return type != NONE && f->host_group && *f->host_group && !f->unmanaged &&
           m->types[type]->hosts > 1 && has_head(&m->types[type]->resources);
}

/* What joined shows whether it is the first. */
static void slices_begin(struct builder *m)
{
    hash_init(&m->slices, &m->scratch, 16);
    for (uint32_t i = 0; i < m->snapshot->n_nodes; i++)
        if (has_head(&m->nodes[i]->total) && is_of_slice(m, m->nodes[i]))
            slice_of(m, m->nodes[i])->has_head = true;
}

/* What a host that has not joined will have: of a slice one has the head. */
static const struct qtys *template_of(struct builder *m,
                                      const struct snap_node *f, uint32_t type)
{
    const struct qtys *all = &m->types[type]->resources;
    struct slice *x = is_of_slice(m, f) ? slice_of(m, f) : NULL;
    struct qtys *q;
    struct qty *v;

    if (!x || !x->has_head) {
        if (x)
            x->has_head = true;
        return all;
    }
    q = ARENA_NEW(&m->scratch, struct qtys);
    v = ARENA_ARRAY(&m->scratch, struct qty, all->n);
    q->v = v;
    for (uint32_t i = 0; i < all->n; i++)
        if (!accel_is_slice_head(all->v[i].name))
            v[q->n++] = all->v[i];
    return q;
}

static void make_node(struct builder *m, const struct snap_node *f,
                      struct pb_node *n)
{
    const struct qtys nothing = {0};
    const struct qtys *total = &f->total, *available = &f->available;
    const uint32_t type = builder_type(m, f->type);

    *n = (struct pb_node){
        .id = builder_id(m, f->id),
        .type = type,
        .offer = NONE,
        .head = f->head,
        .unmanaged = f->unmanaged,
        .outdated = f->outdated,
        .asked_to_end = f->asked_to_end,
        .moves = f->moves,
        .counted_on = f->counted_on,
        .spot = f->spot,
        .template_room = f->total.n == 0,
        .state = f->end_void ? STATE_DRAINING : f->state,
        .idle_ms = f->idle_ms,
        .since_ms = f->since_ms,
        .created_ms = f->created_ms,
        .hold = f->hold,
        .hold_until_ms = f->hold_until_ms,
        .host_group = builder_id(m, f->host_group),
        .from = (uint32_t)(f - m->snapshot->nodes),
        .progress_ms = f->progress_ms > f->since_ms ? f->progress_ms
                                                    : f->since_ms,
        .idle_timeout_ms = m->snapshot->limits.idle_timeout_ms};
    if (n->template_room)
        total = available = type == NONE ? &nothing : template_of(m, f, type);
    n->total = builder_row(m, total, false);
    n->available = row_within(m, builder_row(m, available, false), n->total);
    if (f->cordoned)
        cordon(m, n);
    make_devices(m, n, m->rows.items[n->total].p,
                 m->rows.items[n->available].p);
    if (type != NONE) {
        n->offer = offer_find(m, type, f->zone, f->spot);
        n->idle_timeout_ms = n->offer != NONE
                                 ? m->s->offers[n->offer].idle_timeout_ms
                                 : m->s->types[type].idle_timeout_ms;
    }
    builder_node_labels(m, f, n);
    n->price_micros_hour = node_price(m, f, n, total);
    n->agreed_micros_hour = n->price_micros_hour;
    if (f->agreed_micros_hour >= 0 &&
        f->agreed_micros_hour < n->price_micros_hour)
        n->agreed_micros_hour = f->agreed_micros_hour;
    n->price_estimated = f->price_micros_hour < 0 &&
                         (n->offer == NONE ||
                          m->s->offers[n->offer].price_estimated);
}

void builder_nodes(struct builder *m)
{
    const uint32_t n = m->snapshot->n_nodes;
    struct pb_node *nodes = ARENA_ARRAY(m->arena, struct pb_node, n);

    slices_begin(m);
    for (uint32_t i = 0; i < n; i++)
        make_node(m, m->nodes[i], &nodes[i]);
    m->s->nodes = nodes;
    m->s->n_nodes = n;
    m->s->devices = m->devices.v;
}
