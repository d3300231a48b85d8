/*
 * there.c - see there.h.
 *
 * A node stays when the plan keeps it and it does work, or must not be ended
 * now.  Others that give room are had at their price.  Parts of devices that are
 * free count as whole devices.
 */
#include "there.h"

#include <string.h>

#include "../../base/hash.h"
#include "../limits.h"
#include "../shrink.h"

/* More bins than this are put together. */
enum { MOST_BINS = 128 };

static bool kept(const struct problem *s, const struct plan *plan, uint32_t i)
{
    enum node_action action = plan->nodes[i].action;

    return action == NODE_UNDRAIN ||
           (action == NODE_KEEP && s->nodes[i].state != STATE_DRAINING);
}

/* Would any fleet have it? */
static bool must_stay(const struct problem *s, const struct plan *plan,
                      uint32_t i)
{
    const struct pb_node *n = &s->nodes[i];

    if (!kept(s, plan, i))
        return false;
    return !shrink_may_end(s, n) || (n->idle_ms < 0 && !limits_starting(n));
}

/* What is free, parts of devices as whole ones. */
static const int64_t *row_of(const struct candidate *d, const struct room *room)
{
    int64_t *row;

    if (!room->n_parts)
        return room->row;
    row = arena_copy(d->arena, room->row,
                     d->t->s->n_columns * sizeof *room->row);
    for (uint32_t i = 0; i < room->n_parts; i++)
        row[room->parts[i].column] += AMOUNT_ONE;
    return row;
}

/* Selectors that match a node; found once for equal labels. */
struct matching {
    const uint32_t *selectors;
    uint32_t n;
    const uint64_t **sets; /* per place; NULL: not known yet */
};

static const uint64_t *selectors_of(const struct candidate *d,
                                    const struct matching *m, uint32_t node)
{
    const struct tables *t = d->t;
    const uint64_t **known = &m->sets[t->place_as[t->s->n_offers + node]];
    uint64_t *set;

    if (*known)
        return *known;
    set = ARENA_ARRAY(d->arena, uint64_t, m->n / 64 + 1);
    for (uint32_t k = 0; k < m->n; k++)
        if (m->selectors[k] == 0 || tables_match_node(t, m->selectors[k], node))
            set[k / 64] |= UINT64_C(1) << (k % 64);
    *known = set;
    return set;
}

/* Counts one node; what it costs. */
static int64_t count_node(struct there_all *a, const struct problem *s,
                          const struct plan *plan, uint32_t i, bool stay)
{
    const struct pb_node *n = &s->nodes[i];
    const bool keep = kept(s, plan, i);
    int64_t price = limits_counts(n) && n->price_micros_hour > 0
                        ? n->price_micros_hour
                        : 0;

    a->there += price;
    a->cost += keep ? price : 0;
    a->paid += stay ? price : 0;
    if (limits_counts(n)) {
        a->n_stay += stay;
        a->n_kept += keep && !stay;
    }
    if (limits_counts_for_type(n) && n->type != NONE) {
        a->stays[n->type] += stay;
        a->kept[n->type] += keep && !stay;
    }
    return price;
}

/* Those that give no room but are there, such as the rest of a host group. */
static void count_others(struct there_all *a, const struct candidate *d,
                         const struct plan *plan)
{
    const struct problem *s = d->t->s;
    bool *in = ARENA_ARRAY(d->arena, bool, s->n_nodes);

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        for (uint32_t k = 0; k < d->classes.v[i].n; k++)
            in[d->members[d->classes.v[i].first + k]] = true;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!in[i] && limits_counts_for_type(&s->nodes[i]) && kept(s, plan, i))
            count_node(a, s, plan, i, true);
}

/* The nodes of one class: those that stay, and those that are to be had. */
static void add_class(struct there_all *a, const struct candidate *d,
                      const struct plan *plan, const struct node_class *c,
                      const struct matching *m)
{
    const struct problem *s = d->t->s;
    const uint32_t first = d->members[c->first];
    struct there one = {
        .type = limits_counts_for_type(&s->nodes[first]) ? s->nodes[first].type
                                                         : NONE,
        .stays = true,
        .selectors = selectors_of(d, m, first),
    };
    struct there other;
    uint32_t n = 0;

    for (int side = 0; side < SIDES; side++)
        one.has[side] = one.most[side] = row_of(d, &c->room[side]);
    other = one;
    other.stays = false;
    for (uint32_t k = 0; k < c->n; k++) {
        const uint32_t node = d->members[c->first + k];
        const bool stay = must_stay(s, plan, node);
        int64_t price = count_node(a, s, plan, node, stay);

        if (stay)
            continue;
        other.type = s->nodes[node].type;
        other.price = n == 0 || price < other.price ? price : other.price;
        n++;
    }
    other.max = other.nodes = n;
    one.max = one.nodes = c->n - n;
    if (one.max > 0)
        VEC_PUSH(d->arena, &a->v, one);
    if (other.max > 0)
        VEC_PUSH(d->arena, &a->v, other);
}

/* ---- fewer bins */

static uint64_t log2_of(int64_t amount)
{
    return amount > 0 ? 63 - (uint64_t)__builtin_clzll((uint64_t)amount) : 0;
}

/* Bins of one key are put together; more are with each level. */
static uint64_t key_of(const struct there *x, uint32_t level)
{
    const int64_t *has = x->most[SIDE_FREE];
    uint64_t key = x->stays;

    if (level < 3)
        key |= ((uint64_t)x->type + 1) << 32;
    if (level < 2)
        key |= (uint64_t)(has[COL_GPU] / AMOUNT_ONE & 0xffff) << 16;
    if (level < 1)
        key |= log2_of(has[COL_CPU]) / 2 << 11 | log2_of(has[COL_MEMORY]) / 2
                                                     << 5;
    return key;
}

/* Puts b's nodes to a's; those that are to be had become as large as the
 * largest and as cheap as the cheapest. */
static void put_together(const struct candidate *d, struct there *a,
                         const struct there *b, uint32_t words)
{
    const uint32_t n = d->t->s->n_columns;
    uint64_t *set = arena_copy(d->arena, a->selectors, words * sizeof *set);

    for (int side = 0; side < SIDES; side++) {
        int64_t *most = arena_copy(d->arena, a->most[side], n * sizeof *most);
        int64_t *has = arena_copy(d->arena, a->has[side], n * sizeof *has);

        for (uint32_t c = 0; c < n; c++) {
            if (b->most[side][c] > most[c])
                most[c] = b->most[side][c];
            has[c] = has[c] * (a->stays ? a->max : 1) +
                     (a->stays ? b->has[side][c] * b->max : 0);
        }
        a->most[side] = most;
        a->has[side] = a->stays ? has : most;
    }
    for (uint32_t w = 0; w < words; w++)
        set[w] |= b->selectors[w];
    a->selectors = set;
    a->nodes += b->nodes;
    a->max = a->stays ? 1 : a->max + b->max;
    a->price = b->price < a->price ? b->price : a->price;
    if (a->type != b->type)
        a->type = NONE;
}

static void reduce(const struct candidate *d, struct there_all *a,
                   uint32_t words)
{
    uint64_t *keys = ARENA_ARRAY(d->arena, uint64_t, a->v.n);

    for (uint32_t level = 0; level < 4 && a->v.n > MOST_BINS; level++) {
        struct hash met = {0};
        uint32_t n = 0;

        hash_init(&met, d->arena, a->v.n);
        for (uint32_t i = 0; i < a->v.n; i++) {
            uint64_t key = key_of(&a->v.v[i], level);
            uint64_t h = hash_number(HASH_SEED, key);
            uint32_t at = 0, k = hash_next_index(&met, h, &at);

            while (k != HASH_NONE && keys[k] != key)
                k = hash_next_index(&met, h, &at);
            if (k != HASH_NONE) {
                put_together(d, &a->v.v[k], &a->v.v[i], words);
                continue;
            }
            hash_add_index(&met, h, n);
            keys[n] = key;
            a->v.v[n++] = a->v.v[i];
        }
        a->v.n = n;
    }
}

void there_make(const struct candidate *base, const struct plan *plan,
                const uint32_t *selectors, uint32_t n_selectors,
                struct there_all *ret)
{
    const struct problem *s = base->t->s;
    const struct matching m = {
        selectors, n_selectors,
        ARENA_ARRAY(base->arena, const uint64_t *, base->t->n_places)};

    *ret = (struct there_all){
        .stays = ARENA_ARRAY(base->arena, uint32_t, s->n_types),
        .kept = ARENA_ARRAY(base->arena, uint32_t, s->n_types),
    };
    for (uint32_t i = 0; i != NONE; i = base->classes.v[i].next)
        if (base->classes.v[i].n > 0)
            add_class(ret, base, plan, &base->classes.v[i], &m);
    count_others(ret, base, plan);
    reduce(base, ret, n_selectors / 64 + 1);
}
