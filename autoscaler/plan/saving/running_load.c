/*
 * running_load.c - moving the running work of a node that is to be ended.
 *
 * What the work asks for is not known, only what it uses.  So it moves as a
 * whole, to a node with all labels and queues of its offer and no other taints.
 */
#include "running_load.h"

#include <string.h>

#include "../limits.h"

static struct needs load_of(const struct problem *s, const struct pb_node *n,
                            struct arena *arena)
{
    const int64_t *total = pb_row(s, n->total);
    const int64_t *free = pb_row(s, n->available);
    int64_t *row = ARENA_ARRAY(arena, int64_t, s->n_columns);

    for (uint32_t c = 0; c < s->n_columns; c++) {
        row[c] = total[c] > free[c] ? total[c] - free[c] : 0;
        /* parts of several devices: as many whole ones */
        if (s->columns[c].device && row[c] > AMOUNT_ONE &&
            row[c] % AMOUNT_ONE != 0)
            row[c] += AMOUNT_ONE - row[c] % AMOUNT_ONE;
    }
    return needs_make(s, row, arena);
}

/* Labels that say where a place is rather than what. */
static bool of_place(const struct problem *s, const struct pb_label *l)
{
    static const char keys[][36] = {"topology.kubernetes.io/zone",
                                    "ray.io/availability-zone",
                                    "zone",
                                    "topology.kubernetes.io/region",
                                    "ray.io/availability-region",
                                    "node.kubernetes.io/instance-type",
                                    "ray.io/market-type"};
    const char *key;

    if (l->key & (PB_TAINT | PB_QUEUE))
        return false;
    key = s->str[l->key];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Is this label, with its value, among these n? */
static bool label_among(const struct problem *s, const struct pb_label *l,
                        uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        if (s->labels[i].key == l->key)
            return s->labels[i].value == l->value;
    return false;
}

/* May work of unknown conditions run there?  The place has all labels and queues
 * of the offer it runs on, and no taint that this has not. */
static bool like(const struct problem *s, const struct pb_offer *from,
                 uint32_t first, uint32_t n)
{
    const uint32_t from_first = from->first_label, from_n = from->n_labels;

    for (uint32_t i = from_first; i < from_first + from_n; i++) {
        const struct pb_label *l = &s->labels[i];

        if (!(l->key & PB_TAINT) && !of_place(s, l) &&
            !label_among(s, l, first, n))
            return false;
    }
    for (uint32_t i = first; i < first + n; i++)
        if ((s->labels[i].key & PB_TAINT) &&
            !label_among(s, &s->labels[i], from_first, from_n))
            return false;
    return true;
}

static bool takes(const struct candidate *d, const struct node_class *c,
                  const struct pb_offer *from)
{
    const struct problem *s = d->t->s;
    const struct pb_node *n;

    if (c->n == 0 || c->kind == CLASS_DRAINING || c->kind == CLASS_SENTINEL)
        return false;
    if (c->kind == CLASS_NEW) {
        const struct pb_offer *o = &s->offers[c->offer];

        return (!o->spot || from->spot) &&
               like(s, from, o->first_label, o->n_labels);
    }
    n = &s->nodes[d->members[c->first]];
    return !c->starting && !n->head && !n->unmanaged &&
           (!n->spot || from->spot) &&
           like(s, from, n->first_label, n->n_labels);
}

/* The busiest and fullest come first; where work spreads, the last of those that
 * are there. */
static uint32_t class_for(const struct candidate *d, const struct needs *load,
                          const struct pb_offer *from)
{
    const struct problem *s = d->t->s;
    uint32_t found = NONE;

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];

        if (!takes(d, c, from) ||
            room_fit(s, &c->room[SIDE_FREE], load, 1) == 0)
            continue;
        if (!s->work_spreads)
            return i;
        if (found == NONE || c->kind == CLASS_THERE)
            found = i;
    }
    return found;
}

/* On a node that is there, or one that is bought for another load. */
static bool load_there(struct candidate *d, const struct needs *load,
                       const struct pb_offer *from, bool *taking)
{
    const struct problem *s = d->t->s;
    uint32_t at = class_for(d, load, from);
    struct node_class *to;

    if (at == NONE)
        return false;
    if (d->classes.v[at].n > 1)
        candidate_split(d, at, 1);
    to = candidate_touch(d, at);
    to->room[SIDE_FREE] = room_take(s, &to->room[SIDE_FREE], load, 1, d->arena);
    if (to->kind == CLASS_THERE)
        taking[d->members[to->first]] = true;
    return true;
}

/* limits.conserve: no accelerator is bought for work without one. */
static bool plain(const struct problem *s, const struct needs *load)
{
    for (uint32_t i = 0; i < load->n; i++)
        if (s->columns[load->v[i].column].device)
            return false;
    return s->limits.conserve;
}

/* The first offer for each of these, one after the other on one node; NONE. */
static uint32_t offer_for(const struct candidate *d, const struct needs *loads,
                          const struct pb_offer *const *from, uint32_t n)
{
    const struct problem *s = d->t->s;
    enum reason why;

    for (uint32_t k = 0; k < s->n_offers; k++) {
        uint32_t offer = d->t->offers[k], i = 0;
        const struct pb_offer *o = &s->offers[offer];
        struct room room = d->t->room[o->type];

        if (s->types[o->type].hosts > 1 || limits_room(d, offer, &why) == 0)
            continue;
        for (; i < n; i++) {
            if ((o->spot && !from[i]->spot) ||
                (s->types[o->type].accelerator && plain(s, &loads[i])) ||
                !like(s, from[i], o->first_label, o->n_labels) ||
                room_fit(s, &room, &loads[i], 1) == 0)
                break;
            room = room_take(s, &room, &loads[i], 1, d->arena);
        }
        if (i == n)
            return offer;
    }
    return NONE;
}

/* One node for all if that is cheaper than one for each. */
static bool loads_buy(struct candidate *d, const struct needs *loads,
                      const struct pb_offer *const *from, uint32_t n,
                      bool *taking)
{
    const struct problem *s = d->t->s;
    uint32_t all = offer_for(d, loads, from, n), each;
    int64_t sum = 0;

    for (uint32_t i = 0; i < n && all != NONE; i++) {
        each = offer_for(d, &loads[i], &from[i], 1);
        sum = amount_add(sum, s->offers[each].price_micros_hour);
    }
    if (all != NONE && sum <= s->offers[all].price_micros_hour)
        all = NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (load_there(d, &loads[i], from[i], taking))
            continue;
        each = all != NONE ? all : offer_for(d, &loads[i], &from[i], 1);
        if (each == NONE ||
            candidate_obtain(d, each, 1, REASON_FOR_CONSOLIDATE, NONE) ==
                NONE ||
            !load_there(d, &loads[i], from[i], taking))
            return false;
    }
    return true;
}

bool running_loads_move(struct candidate *d, const bool *moved, bool *taking)
{
    const struct problem *s = d->t->s;
    struct needs *loads = ARENA_ARRAY(d->arena, struct needs, s->n_nodes);
    const struct pb_offer **from = ARENA_ARRAY(
        d->arena, const struct pb_offer *, s->n_nodes);
    uint32_t n = 0;

    memset(taking, 0, sizeof *taking * s->n_nodes);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        if (!moved[i] || !running_load_busy(&s->nodes[i]))
            continue;
        loads[n] = load_of(s, &s->nodes[i], d->arena);
        from[n] = &s->offers[s->nodes[i].offer];
        if (loads[n].never)
            return false;
        n += !load_there(d, &loads[n], from[n], taking);
    }
    return n == 0 || loads_buy(d, loads, from, n, taking);
}

void running_loads_come(struct candidate *d, bool *taking)
{
    const struct problem *s = d->t->s;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];
        struct needs load;

        if (!n->moves || n->offer == NONE)
            continue;
        load = load_of(s, n, d->arena);
        if (load.n > 0 && !load.never)
            load_there(d, &load, &s->offers[n->offer], taking);
    }
}

void running_loads_keep(const struct candidate *best, struct verdict *verdicts)
{
    const struct problem *s = best->t->s;
    bool *taking = ARENA_ARRAY(best->arena, bool, s->n_nodes);
    uint32_t moving = 0;
    struct candidate d;

    for (uint32_t i = 0; i < s->n_nodes; i++)
        moving += s->nodes[i].moves;
    if (moving == 0)
        return;
    candidate_copy(best, &d);
    running_loads_come(&d, taking);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        verdicts[i].taking = verdicts[i].taking || taking[i];
}
