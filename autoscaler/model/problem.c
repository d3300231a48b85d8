/*
 * problem.c - a snapshot to arrays: types, offers, nodes; see problem_build.h for
 * how it goes in all.
 *
 * Labels of an offer: the type's, and where those say nothing, its zone under
 * three keys and its market; a node's own labels come before its type's.
 */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "amount.h"
#include "price.h"
#include "problem_build.h"

#define MAX_DEVICES 1024 /* of one column on one node; more are not seen */

/* ---- checking and sorting */

static int by_type_name(const void *a, const void *b)
{
    return strcmp((*(const struct snap_type *const *)a)->name,
                  (*(const struct snap_type *const *)b)->name);
}

static int by_node_id(const void *a, const void *b)
{
    return strcmp((*(const struct snap_node *const *)a)->id,
                  (*(const struct snap_node *const *)b)->id);
}

static const char *text(const char *s)
{
    return s ? s : "";
}

static enum status check_amounts(const struct qtys *q, const char *what,
                                 const char *name, struct err *err)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (q->v[i].amount < 0)
            return err_set(err, ST_INVALID,
                           "%s '%s' has less than 0 of %s: 0 or more", what,
                           name, q->v[i].name);
    return ST_OK;
}

static enum status sort_types(struct builder *m, struct err *err)
{
    const struct snapshot *f = m->snapshot;

    m->types = ARENA_ARRAY(m->arena, const struct snap_type *, f->n_types);
    for (uint32_t i = 0; i < f->n_types; i++) {
        const struct snap_type *t = m->types[i] = &f->types[i];

        if (!text(t->name)[0])
            return err_set(err, ST_INVALID, "node type %u has no name", i);
        if (t->n_offers == 0)
            return err_set(err, ST_INVALID,
                           "node type '%s' has no offers: at least one",
                           t->name);
        if (check_amounts(&t->resources, "node type", t->name, err) != ST_OK)
            return ST_INVALID;
    }
    if (f->n_types > 1)
        qsort(m->types, f->n_types, sizeof *m->types, by_type_name);
    for (uint32_t i = 1; i < f->n_types; i++)
        if (strcmp(m->types[i - 1]->name, m->types[i]->name) == 0)
            return err_set(err, ST_INVALID,
                           "node type '%s' is given twice: names must differ",
                           m->types[i]->name);
    return ST_OK;
}

static enum status sort_nodes(struct builder *m, struct err *err)
{
    const struct snapshot *f = m->snapshot;

    m->nodes = ARENA_ARRAY(m->arena, const struct snap_node *, f->n_nodes);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const struct snap_node *n = m->nodes[i] = &f->nodes[i];

        if (!text(n->id)[0])
            return err_set(err, ST_INVALID, "node %u has no id", i);
        if (check_amounts(&n->total, "node", n->id, err) != ST_OK ||
            check_amounts(&n->available, "node", n->id, err) != ST_OK)
            return ST_INVALID;
    }
    if (f->n_nodes > 1)
        qsort(m->nodes, f->n_nodes, sizeof *m->nodes, by_node_id);
    for (uint32_t i = 1; i < f->n_nodes; i++)
        if (strcmp(m->nodes[i - 1]->id, m->nodes[i]->id) == 0)
            return err_set(err, ST_INVALID,
                           "node '%s' is given twice: ids must differ",
                           m->nodes[i]->id);
    return ST_OK;
}

/* ---- labels */

/* What is said with a higher rank wins.  Queues and taints are said too, with
 * keys of their own: see struct pb_label. */
enum {
    SAYS_PLACE = 0,
    SAYS_TYPE = 4,
    SAYS_NODE = 8,
    BY_KEY = 2,
    BY_MARKER = 1,
    BY_ALIAS = 0
};

struct said {
    uint32_t key, value, rank;
};
struct sayings {
    VEC(struct said) said;
};

static void say(struct builder *m, struct sayings *s, uint32_t key,
                uint32_t value, uint32_t rank)
{
    struct said x = {key, value, rank};

    VEC_PUSH(m->arena, &s->said, x);
}

static void say_own(struct builder *m, struct sayings *s, const struct pairs *p,
                    const struct qtys *q, uint32_t rank)
{
    bool has = false;

    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t key = builder_id(m, p->v[i].key);
        const char *value = p->v[i].value;

        if (key == m->id.accelerator) {
            value = builder_canonical(m, value);
            has = true;
        }
        say(m, s, key, builder_id(m, value), rank + BY_KEY);
        if (strcmp(p->v[i].key, "accelerator_type") == 0)
            say(m, s, m->id.accelerator,
                builder_id(m, builder_canonical(m, value)), rank + BY_ALIAS);
    }
    for (uint32_t i = 0; i < q->n && !has; i++) {
        const char *type = accel_type_of_resource(q->v[i].name);

        if (type && q->v[i].amount > 0)
            say(m, s, m->id.accelerator,
                builder_id(m, builder_canonical(m, type)), rank + BY_MARKER);
    }
}

static void say_place(struct builder *m, struct sayings *s, const char *zone,
                      bool spot)
{
    say(m, s, m->id.market, spot ? m->id.spot : m->id.on_demand, SAYS_PLACE);
    if (text(zone)[0]) {
        uint32_t value = builder_id(m, zone);

        say(m, s, m->id.topology_zone, value, SAYS_PLACE);
        say(m, s, m->id.ray_zone, value, SAYS_PLACE);
        say(m, s, m->id.zone, value, SAYS_PLACE);
    }
}

static void say_taints(struct builder *m, struct sayings *s,
                       const struct taints *t, uint32_t rank)
{
    for (uint32_t i = 0; i < t->n; i++)
        say(m, s,
            PB_TAINT | (uint32_t)t->v[i].effect << PB_EFFECT |
                builder_id(m, t->v[i].key),
            builder_id(m, t->v[i].value), rank);
}

static void say_offer_taints(struct builder *m, struct sayings *s,
                             const struct snap_type *t, const char *zone,
                             bool spot)
{
    for (uint32_t i = 0; i < t->n_offers; i++)
        if (t->offers[i].spot == spot && strcmp(t->offers[i].zone, zone) == 0)
            say_taints(m, s, &t->offers[i].taints, SAYS_TYPE);
}

static const char *queue_said(const struct builder *m, const struct sayings *s)
{
    const struct said *best = NULL;

    for (uint32_t i = 0; i < s->said.n; i++)
        if (s->said.v[i].key == m->id.queue &&
            (!best || s->said.v[i].rank > best->rank))
            best = &s->said.v[i];
    return best ? m->strings.items[best->value].p : NULL;
}

/* After all labels were said. */
static void say_queues(struct builder *m, struct sayings *s, const char *type)
{
    const char *label = queue_said(m, s);

    for (uint32_t i = 0; i < m->snapshot->n_queues; i++)
        if (builder_queue_has(m, i, type, label))
            say(m, s, PB_QUEUE | i, 0, SAYS_TYPE);
}

/* By key, the strongest first; equally strong ones by value, so that the
 * order in which they were said does not matter. */
static int by_key(const void *pa, const void *pb)
{
    const struct said *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

struct label_vec {
    VEC(struct pb_label) all;
};

/* Adds the set to the snapshot's labels; s is empty afterwards. */
static uint32_t labels_end(struct builder *m, struct sayings *s,
                           struct label_vec *labels, uint32_t *ret_first)
{
    *ret_first = labels->all.n;
    if (s->said.n > 1)
        qsort(s->said.v, s->said.n, sizeof *s->said.v, by_key);
    for (uint32_t i = 0; i < s->said.n; i++)
        if (i == 0 || s->said.v[i].key != s->said.v[i - 1].key) {
            struct pb_label l = {s->said.v[i].key, s->said.v[i].value};

            VEC_PUSH(m->arena, &labels->all, l);
        }
    s->said.n = 0;
    return labels->all.n - *ret_first;
}

static const char *accelerator_of(const struct builder *m,
                                  const struct label_vec *labels,
                                  uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        if (labels->all.v[i].key == m->id.accelerator)
            return m->strings.items[labels->all.v[i].value].p;
    return "";
}

/* ---- types and offers */

static int by_zone(const void *pa, const void *pb)
{
    const struct pb_offer *a = pa, *b = pb;

    if (a->zone != b->zone)
        return a->zone < b->zone ? -1 : 1;
    return (int)a->spot - (int)b->spot;
}

static enum status make_offers(struct builder *m, uint32_t type,
                               struct pb_offer *v, struct label_vec *labels,
                               struct err *err)
{
    const struct snap_type *t = m->types[type];
    struct sayings say_now = {{0}};

    for (uint32_t i = 0; i < t->n_offers; i++) {
        const struct snap_offer *o = &t->offers[i];

        v[i] = (struct pb_offer){
            .type = type,
            .zone = builder_id(m, o->zone),
            .spot = o->spot,
            .price_estimated =
                o->price_micros_hour<
                    0, .price_micros_hour = o->price_micros_hour,
                    .backoff_until_ms = o->backoff_until_ms,
                    .backoff_for = o->backoff_for, .failed_ms = o->failed_ms,
                    .room = o->room, .idle_timeout_ms = o->idle_timeout_ms> 0
                    ? o->idle_timeout_ms
                : t->idle_timeout_ms >= 0
                    ? t->idle_timeout_ms
                    : m->snapshot->limits.idle_timeout_ms};
    }
    if (t->n_offers > 1)
        qsort(v, t->n_offers, sizeof *v, by_zone);
    for (uint32_t i = 0; i < t->n_offers; i++) {
        const char *zone = m->strings.items[v[i].zone].p;

        if (i > 0 && by_zone(&v[i - 1], &v[i]) == 0)
            return err_set(err, ST_INVALID,
                           "node type '%s' has two %s offers in zone '%s': "
                           "one for each zone and market",
                           t->name, v[i].spot ? "spot" : "on-demand", zone);
        say_own(m, &say_now, &t->labels, &t->resources, SAYS_TYPE);
        say_place(m, &say_now, zone, v[i].spot);
        say_taints(m, &say_now, &t->taints, SAYS_TYPE);
        say_offer_taints(m, &say_now, t, zone, v[i].spot);
        say_queues(m, &say_now, t->name);
        v[i].n_labels = labels_end(m, &say_now, labels, &v[i].first_label);
        if (v[i].price_estimated)
            v[i].price_micros_hour = price_estimate(
                &t->resources,
                accelerator_of(m, labels, v[i].first_label, v[i].n_labels),
                v[i].spot);
    }
    return ST_OK;
}

static enum status make_types(struct builder *m, struct label_vec *labels,
                              struct err *err)
{
    const struct snapshot *f = m->snapshot;
    struct problem *s = m->s;
    struct pb_type *types = ARENA_ARRAY(m->arena, struct pb_type, f->n_types);
    struct pb_offer *offers;
    uint32_t n_offers = 0;

    for (uint32_t i = 0; i < f->n_types; i++)
        n_offers += f->types[i].n_offers;
    offers = ARENA_ARRAY(m->arena, struct pb_offer, n_offers);
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
        if (make_offers(m, i, offers + n_offers, labels, err) != ST_OK)
            return ST_INVALID;
        n_offers += t->n_offers;
    }
    s->types = types;
    s->n_types = f->n_types;
    s->offers = offers;
    s->n_offers = n_offers;
    return ST_OK;
}

/* ---- nodes */

static uint32_t type_find(const struct builder *m, const char *name)
{
    uint32_t lo = 0, hi = m->snapshot->n_types;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = strcmp(m->types[mid]->name, text(name));

        if (c == 0)
            return mid;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NONE;
}

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

struct device_vec {
    VEC(struct pb_device) all;
};

/* Whole free devices stay whole, the rest lies on one, the others are busy. */
static void make_devices(struct builder *m, struct pb_node *n,
                         const int64_t *total, const int64_t *available,
                         struct device_vec *devices)
{
    n->first_device = devices->all.n;
    for (uint32_t c = 0; c < m->s->n_columns; c++) {
        int64_t has = total[c], left = available[c];

        if (!m->s->columns[c].device)
            continue;
        for (uint32_t i = 0; has > 0 && i < MAX_DEVICES; i++) {
            int64_t size = has < AMOUNT_ONE ? has : AMOUNT_ONE;
            struct pb_device d = {.column = c};

            d.free = (int32_t)(left < size ? left : size);
            VEC_PUSH(m->arena, &devices->all, d);
            has -= size;
            left -= d.free;
        }
    }
    n->n_devices = devices->all.n - n->first_device;
}

static int64_t node_price(const struct builder *m, const struct snap_node *f,
                          const struct pb_node *n, const struct qtys *total,
                          const struct label_vec *labels)
{
    if (f->price_micros_hour >= 0)
        return f->price_micros_hour;
    if (n->offer != NONE)
        return m->s->offers[n->offer].price_micros_hour;
    return price_estimate(
        total, accelerator_of(m, labels, n->first_label, n->n_labels), f->spot);
}

static void make_node(struct builder *m, const struct snap_node *f,
                      struct pb_node *n, struct label_vec *labels,
                      struct device_vec *devices, struct sayings *s)
{
    const struct qtys nothing = {0};
    const struct qtys *total = &f->total, *available = &f->available;
    uint32_t type = type_find(m, f->type), n_columns = m->s->n_columns;
    const int64_t *has, *free;

    *n = (struct pb_node){
        .id = builder_id(m, f->id),
        .type = type,
        .offer = NONE,
        .head = f->head,
        .unmanaged = f->unmanaged,
        .outdated = f->outdated,
        .spot = f->spot,
        .template_room = f->total.n == 0,
        .state = f->state,
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
        total = available = type == NONE ? &nothing
                                         : &m->types[type]->resources;
    n->total = builder_row(m, total, false);
    n->available = builder_row(m, available, false);
    has = m->rows.items[n->total].p;
    free = m->rows.items[n->available].p;
    for (uint32_t c = 0; c < n_columns; c++)
        if (free[c] > has[c])
            break;
        else if (c + 1 == n_columns)
            goto within;
    /* The head may say more is free than there is for a moment: never so. */
    for (uint32_t c = 0; c < n_columns; c++)
        m->row[c] = free[c] < has[c] ? free[c] : has[c];
    n->available = intern_add(&m->rows, m->row, n_columns * sizeof *m->row, 1);
    free = m->rows.items[n->available].p;
within:
    make_devices(m, n, has, free, devices);
    if (type != NONE) {
        n->offer = offer_find(m, type, f->zone, f->spot);
        n->idle_timeout_ms = n->offer != NONE
                                 ? m->s->offers[n->offer].idle_timeout_ms
                                 : m->s->types[type].idle_timeout_ms;
        say_own(m, s, &m->types[type]->labels, &m->types[type]->resources,
                SAYS_TYPE);
        say_taints(m, s, &m->types[type]->taints, SAYS_TYPE);
        say_offer_taints(m, s, m->types[type], f->zone, f->spot);
    }
    say_own(m, s, &f->labels, &f->total, SAYS_NODE);
    say_place(m, s, f->zone, f->spot);
    say_taints(m, s, &f->taints, SAYS_NODE);
    n->queue = builder_node_queue(m, type == NONE ? NULL : f->type,
                                  queue_said(m, s));
    say_queues(m, s, type == NONE ? NULL : f->type);
    n->n_labels = labels_end(m, s, labels, &n->first_label);
    n->price_micros_hour = node_price(m, f, n, total, labels);
}

static void make_nodes(struct builder *m, struct label_vec *labels)
{
    const uint32_t n = m->snapshot->n_nodes;
    struct pb_node *nodes = ARENA_ARRAY(m->arena, struct pb_node, n);
    struct device_vec devices = {{0}};
    struct sayings s = {{0}};

    for (uint32_t i = 0; i < n; i++)
        make_node(m, m->nodes[i], &nodes[i], labels, &devices, &s);
    m->s->nodes = nodes;
    m->s->n_nodes = n;
    m->s->devices = devices.all.v;
}

/* ---- rows, and all together */

static int by_amounts(const struct intern_item *a, const struct intern_item *b)
{
    const int64_t *x = a->p, *y = b->p;

    for (uint32_t i = 0; i < a->n / sizeof *x; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Amounts are never negative. */
static uint64_t amounts_first(const struct intern_item *it)
{
    return (uint64_t) * (const int64_t *)it->p;
}

static void rows_lay(struct builder *m)
{
    struct problem *s = m->s;
    struct pb_type *types = (struct pb_type *)s->types;
    struct pb_node *nodes = (struct pb_node *)s->nodes;
    int64_t *rows;

    intern_rank(&m->rows, amounts_first, by_amounts);
    rows = ARENA_ARRAY(m->arena, int64_t, (size_t)m->rows.n * s->n_columns);
    for (uint32_t i = 0; i < m->rows.n; i++)
        memcpy(rows + (size_t)i * s->n_columns, m->rows.items[i].p,
               m->rows.items[i].n);
    for (uint32_t i = 0; i < s->n_types; i++)
        types[i].row = m->rows.rank[types[i].row];
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        nodes[i].total = m->rows.rank[nodes[i].total];
        nodes[i].available = m->rows.rank[nodes[i].available];
    }
    s->rows = rows;
    s->n_rows = m->rows.n;
}

static void strings_lay(struct builder *m)
{
    const char **str = ARENA_ARRAY(m->arena, const char *, m->strings.n);

    for (uint32_t i = 0; i < m->strings.n; i++)
        str[i] = m->strings.items[i].p;
    m->s->str = str;
    m->s->n_str = m->strings.n;
    m->id.topology_zone = builder_id(m, "topology.kubernetes.io/zone");
    m->id.ray_zone = builder_id(m, "ray.io/availability-zone");
    m->id.zone = builder_id(m, "zone");
    m->id.market = builder_id(m, "ray.io/market-type");
    m->id.spot = builder_id(m, "spot");
    m->id.on_demand = builder_id(m, "on-demand");
    m->id.accelerator = builder_id(m, ACCEL_LABEL);
    m->id.queue = builder_id(m, QUEUE_LABEL);
}

enum status problem_make(const struct snapshot *snapshot, struct arena *arena,
                         struct problem **ret, struct err *err)
{
    struct problem *s = ARENA_NEW(arena, struct problem);
    struct builder m = {.snapshot = snapshot, .arena = arena, .s = s};
    struct label_vec labels = {{0}};

    s->now_ms = snapshot->now_ms;
    s->limits = snapshot->limits;
    s->sources_fresh = snapshot->sources_fresh;
    if (sort_types(&m, err) != ST_OK || sort_nodes(&m, err) != ST_OK ||
        builder_check_demands(&m, err) != ST_OK ||
        builder_check_queues(&m, err) != ST_OK)
        return ST_INVALID;
    builder_strings(&m);
    if (builder_columns(&m, err) != ST_OK)
        return ST_INVALID;
    strings_lay(&m);
    builder_queues_lay(&m);
    if (make_types(&m, &labels, err) != ST_OK)
        return ST_INVALID;
    make_nodes(&m, &labels);
    s->labels = labels.all.v;
    s->accelerator_key = m.id.accelerator;
    builder_demands_intern(&m);
    rows_lay(&m);
    builder_queues_count(&m);
    builder_demands_lay(&m);
    builder_digests(&m);
    builder_previous_lay(&m);
    *ret = s;
    return ST_OK;
}
