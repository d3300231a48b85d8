/*
 * pack.c - first fit over classes of equal nodes, the fullest first.
 *
 * Work that needs no accelerator looks at nodes without one first.
 */
#include "pack.h"

#include "clock.h"
#include "quota.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void pack_on(struct sketch *d, uint32_t i, uint32_t want, uint32_t alt,
             uint32_t per_node, uint32_t nodes)
{
    const struct tables *t = d->t;
    enum side side = t->wants[want].side;
    const struct node_class *c = &d->classes.v[i];
    uint32_t left = least(d->left[want], quota_room(d, want, alt));
    uint32_t n = least(least(c->n, nodes), quota_nodes_on(d, i, want, alt));
    uint32_t full, rest, q;

    q = room_fit(t->s, &c->room[side], &t->needs[sketch_shape(d, want, alt)],
                 least(left, per_node));
    if (q == 0 || n == 0)
        return;
    full = least(left / q, n);
    rest = full < n ? left - full * q : 0;
    if (full < c->n) {
        uint32_t j = sketch_split(d, i, full);

        if (rest > 0) {
            if (d->classes.v[j].n > 1)
                sketch_split(d, j, 1);
            sketch_hold(d, j, want, alt, rest);
        }
    }
    sketch_hold(d, i, want, alt, q);
}

/* What a want asks of a class, found once for a loop over all of them. */
struct asked {
    uint32_t want, alt, shape;
    enum side side;
    const struct needs *needs;
};

static struct asked asked_of(const struct sketch *d, uint32_t want,
                             uint32_t alt)
{
    uint32_t shape = sketch_shape(d, want, alt);

    return (struct asked){want, alt, shape, d->t->wants[want].side,
                          &d->t->needs[shape]};
}

/* Served apart: not where demand like it is still being thought over. */
static bool waits_there(const struct sketch *d, const struct node_class *c,
                        uint32_t want)
{
    const struct want *w = &d->t->wants[want];
    const struct sn_demand *x;

    if (!c->open || c->demand == NONE)
        return false;
    x = &d->t->s->demands[c->demand];
    return x->priority == w->priority &&
           (x->source == SOURCE_REQUEST) == (w->side == SIDE_TOTAL);
}

/* Cheapest tests first: most classes fail one of them. */
static inline bool may_lie(struct sketch *d, uint32_t i, const struct asked *a)
{
    const struct node_class *c = &d->classes.v[i];

    d->work++;
    return c->n > 0 && room_might(&c->room[a->side], a->needs) &&
           sketch_matches(d, i, a->shape) &&
           !clock_silent(d, i, a->want, a->alt) &&
           (d->only_unit == 0 || c->unit == d->only_unit) &&
           (!d->newer || clock_newer(d, i, a->want)) &&
           (!d->apart || !waits_there(d, c, a->want));
}

void pack_want(struct sketch *d, uint32_t want, uint32_t alt)
{
    const struct asked asked = asked_of(d, want, alt);
    bool plain = !d->t->s->shapes[asked.shape].accelerator;

    for (int pass = plain ? 0 : 1; pass < 2; pass++) {
        uint32_t next;

        for (uint32_t i = 0; i != NONE && d->left[want] > 0; i = next) {
            next = d->classes.v[i].next;
            if (plain && d->classes.v[i].accelerator != (pass == 1))
                continue;
            if (may_lie(d, i, &asked))
                pack_on(d, i, want, alt, UINT32_MAX, UINT32_MAX);
        }
    }
}

void pack_spread(struct sketch *d, uint32_t want, uint32_t alt, uint32_t gang)
{
    const struct asked asked = asked_of(d, want, alt);
    bool plain = !d->t->s->shapes[asked.shape].accelerator;

    for (int pass = plain ? 0 : 1; pass < 2; pass++) {
        uint32_t next;

        for (uint32_t i = 0; i != NONE && d->left[want] > 0; i = next) {
            const struct node_class *c = &d->classes.v[i];
            uint32_t before = d->left[want];

            next = c->next;
            if ((plain && c->accelerator != (pass == 1)) ||
                c->spread == gang || !may_lie(d, i, &asked))
                continue;
            pack_on(d, i, want, alt, 1, UINT32_MAX);
            if (d->left[want] < before)
                sketch_spread(d, i, gang);
        }
    }
}
