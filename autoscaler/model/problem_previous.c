/*
 * problem_previous.c - what nodes hold by the last plan, found again.
 *
 * Demand has no numbers that last from one snapshot to the next, so a placement
 * names it by source, owner, id and a digest of the bundle's shape.  One whose
 * bundle is gone is dropped; of equal bundles in one demand (a gang's) the first
 * that is not taken yet is used.
 */
#include <string.h>

#include "../base/digest.h"
#include "../base/hash.h"
#include "problem_build.h"

/* Without the NUL, as digests in records and journals have it. */
static uint64_t text_digest(const char *s)
{
    uint64_t h = DIGEST_SEED;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return digest_number(h, 1);
}

/* ---- digests */

/* Labels and the queue. */
static uint64_t terms_digest(const struct problem *s, uint32_t selector)
{
    const struct pb_selector *sel = &s->selectors[selector];
    uint64_t sum = 0;

    if (sel->queue < s->n_queues)
        sum += digest_number(text_digest(s->str[s->queues[sel->queue].name]),
                             5);
    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *t = &s->terms[sel->first_term + i];
        uint64_t h = digest_number(text_digest(s->str[t->key]),
                                   (uint64_t)t->op);

        for (uint32_t k = 0; k < t->n_values; k++)
            h = digest_number(
                h, text_digest(s->str[s->term_values[t->first_value + k]]));
        sum += h;
    }
    return sum;
}

/* Tolerations.  (In a snapshot without taints nobody tolerates any: with the
 * first taint what was for tolerant bundles is no longer known as such, once.) */
static uint64_t tolerations_digest(const struct problem *s, uint32_t selector)
{
    const struct pb_selector *sel = &s->selectors[selector];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < sel->n_tolerations; i++) {
        const struct pb_toleration *t =
            &s->tolerations[sel->first_toleration + i];
        uint64_t h = digest_number(text_digest(s->str[t->key]),
                                   (uint64_t)t->op);

        h = digest_number(h, text_digest(s->str[t->value]));
        sum += digest_number(h, (uint64_t)t->effect);
    }
    return sum;
}

void builder_digests(struct builder *m)
{
    struct problem *s = m->s;
    struct pb_shape *shapes = (struct pb_shape *)s->shapes;
    uint64_t *column = ARENA_ARRAY(&m->scratch, uint64_t, s->n_columns);
    uint64_t *terms = ARENA_ARRAY(&m->scratch, uint64_t, s->n_selectors);
    uint64_t *tolerations = ARENA_ARRAY(&m->scratch, uint64_t, s->n_selectors);

    for (uint32_t c = 0; c < s->n_columns; c++) {
        const char *name = s->str[s->columns[c].name];

        /* the same bundle, whatever its scheduler says of it meanwhile */
        column[c] = strcmp(name, UNTRIED_RESOURCE) == 0 ? 0 : text_digest(name);
    }
    for (uint32_t i = 0; i < s->n_selectors; i++) {
        terms[i] = terms_digest(s, i);
        tolerations[i] = tolerations_digest(s, i);
    }
    for (uint32_t i = 0; i < s->n_shapes; i++) {
        const int64_t *row = pb_row(s, shapes[i].row);
        uint64_t sum = terms[shapes[i].selector];

        for (uint32_t c = 0; c < s->n_columns; c++)
            if (row[c] != 0 && column[c])
                sum += digest_number(column[c], (uint64_t)row[c]);
        shapes[i].plain = digest_number(sum, 4);
        sum += tolerations[shapes[i].selector];
        shapes[i].digest = digest_number(sum, 3);
    }
}

uint64_t problem_digest(const struct problem *s, uint32_t bundle)
{
    const struct pb_bundle *b = &s->bundles[bundle];
    uint64_t h = s->shapes[s->alts[b->first_alt].shape].digest;

    for (uint32_t i = 1; i < b->n_alts; i++)
        h = digest_number(h, s->shapes[s->alts[b->first_alt + i].shape].digest);
    return h;
}

/* ---- finding */

/* Bundles by key.  Those of one key form a list in the order of the snapshot,
 * of which the front is used up first. */
struct finder {
    const struct problem *s;
    struct hash lists;    /* of their first bundles */
    uint32_t *now, *last; /* per first one: where the list is, and ends */
    uint32_t *next;       /* per bundle, NONE */
    uint32_t *used;       /* per bundle: by the holds so far */
};

static uint64_t key_hash(enum demand_source source, const char *owner,
                         const char *id, uint64_t shape)
{
    uint64_t h = hash_text(hash_text(HASH_SEED, owner), id);

    return hash_number(hash_number(h, shape), (uint64_t)source);
}

/* The first bundle of this key's list; HASH_NONE: there is none. */
static uint32_t list_find(const struct finder *f, uint64_t h,
                          enum demand_source source, const char *owner,
                          const char *id)
{
    const struct problem *s = f->s;
    uint32_t at = 0, b;

    while ((b = hash_next_index(&f->lists, h, &at)) != HASH_NONE) {
        const struct pb_demand *d = &s->demands[s->bundles[b].demand];

        if (d->source == source && strcmp(s->str[d->owner], owner) == 0 &&
            strcmp(s->str[d->id], id) == 0)
            break;
    }
    return b;
}

static void bundle_add(struct finder *f, uint32_t b)
{
    const struct problem *s = f->s;
    const struct pb_demand *d = &s->demands[s->bundles[b].demand];
    const char *owner = s->str[d->owner], *id = s->str[d->id];
    uint64_t h = key_hash(d->source, owner, id, problem_digest(s, b));
    uint32_t first = list_find(f, h, d->source, owner, id);

    f->next[b] = NONE;
    if (first != HASH_NONE) {
        f->next[f->last[first]] = b;
        f->last[first] = b;
        return;
    }
    hash_add_index(&f->lists, h, b);
    f->now[b] = f->last[b] = b;
}

static void finder_make(struct builder *m, struct finder *f)
{
    const struct problem *s = m->s;

    *f = (struct finder){
        .s = s,
        .now = ARENA_ARRAY(&m->scratch, uint32_t, s->n_bundles),
        .last = ARENA_ARRAY(&m->scratch, uint32_t, s->n_bundles),
        .next = ARENA_ARRAY(&m->scratch, uint32_t, s->n_bundles),
        .used = ARENA_ARRAY(&m->scratch, uint32_t, s->n_bundles)};
    hash_init(&f->lists, &m->scratch, s->n_bundles);
    for (uint32_t b = 0; b < s->n_bundles; b++)
        bundle_add(f, b);
}

/* The next bundle with the key of this placement; NONE: nobody asks for it any
 * more.  With more held than asked for it begins again: what fits is for the
 * planner to decide. */
static uint32_t bundle_find(struct finder *f, const struct snap_placement *hold)
{
    const struct pb_bundle *v = f->s->bundles;
    uint64_t h = key_hash(hold->source, hold->owner, hold->id, hold->shape);
    uint32_t first = list_find(f, h, hold->source, hold->owner, hold->id);

    if (first == HASH_NONE)
        return NONE;
    if (f->used[f->now[first]] < v[f->now[first]].count)
        return f->now[first];
    f->now[first] = f->next[f->now[first]];
    if (f->now[first] == NONE)
        f->now[first] = first;
    f->used[f->now[first]] = 0;
    return f->now[first];
}

struct hold_vec {
    VEC(struct pb_placement) all;
};

/* Appends those that are found, each for so many nodes; how many. */
static uint32_t holds_add(struct builder *m, struct finder *f,
                          const struct snap_placements *from, uint32_t nodes,
                          struct hold_vec *to)
{
    const struct pb_bundle *v = m->s->bundles;
    uint32_t before = to->all.n;

    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t left = from->v[i].count, first = NONE, b;

        while (left > 0 && (b = bundle_find(f, &from->v[i])) != NONE &&
               b != first && from->v[i].alt < v[b].n_alts) {
            bool only = f->next[b] == NONE && f->now[b] == b;
            uint32_t open = v[b].count - f->used[b];
            uint32_t n = only || nodes > 1 ? v[b].count : open;

            if (first == NONE)
                first = b;
            n = n < left ? n : left;
            left -= n;
            f->used[b] = (uint64_t)n * nodes < open ? f->used[b] + n * nodes
                                                    : v[b].count;
            VEC_PUSH(m->arena, &to->all,
                     ((struct pb_placement){b, from->v[i].alt, n}));
        }
    }
    return to->all.n - before;
}

/* ---- laying down */

static uint32_t offer_of(const struct builder *m, const struct snap_proposal *a)
{
    const struct problem *s = m->s;

    for (uint32_t i = 0; i < s->n_offers; i++) {
        const struct pb_offer *o = &s->offers[i];

        if (o->spot == a->spot && strcmp(s->str[o->zone], a->zone) == 0 &&
            strcmp(s->str[s->types[o->type].name], a->type) == 0)
            return i;
    }
    return NONE;
}

static void proposed_lay(struct builder *m, struct finder *f,
                         struct hold_vec *all)
{
    const struct snapshot *snapshot = m->snapshot;
    struct pb_proposal *v = ARENA_ARRAY(m->arena, struct pb_proposal,
                                        snapshot->n_proposed);
    uint32_t n = 0;

    for (uint32_t i = 0; i < snapshot->n_proposed; i++) {
        const struct snap_proposal *a = &snapshot->proposed[i];
        struct pb_proposal x = {offer_of(m, a), a->count, all->all.n, 0};

        if (x.offer == NONE || x.count == 0)
            continue;
        x.n_previous = holds_add(m, f, &a->previous, a->count, all);
        if (x.n_previous > 0)
            v[n++] = x;
    }
    m->s->proposed = v;
    m->s->n_proposed = n;
}

void builder_unhelped_lay(struct builder *m)
{
    const struct snapshot *f = m->snapshot;
    struct pb_unhelped *v = ARENA_ARRAY(m->arena, struct pb_unhelped,
                                        f->n_unhelped);
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_unhelped; i++) {
        uint32_t type = builder_type(m, f->unhelped[i].type);

        if (type != NONE && f->unhelped[i].until_ms > f->now_ms)
            v[n++] = (struct pb_unhelped){type, f->unhelped[i].shape};
    }
    m->s->unhelped = v;
    m->s->n_unhelped = n;
}

void builder_previous_lay(struct builder *m)
{
    struct pb_node *nodes = (struct pb_node *)m->s->nodes;
    struct hold_vec all = {{0}};
    struct finder f = {0};
    bool any = m->snapshot->n_proposed > 0;

    for (uint32_t i = 0; i < m->s->n_nodes && !any; i++)
        any = m->nodes[i]->previous.n > 0;
    if (!any)
        return;
    finder_make(m, &f);
    for (uint32_t i = 0; i < m->s->n_nodes; i++) {
        nodes[i].first_previous = all.all.n;
        nodes[i].n_previous = holds_add(m, &f, &m->nodes[i]->previous, 1, &all);
    }
    proposed_lay(m, &f, &all);
    m->s->previous = all.all.v;
}
