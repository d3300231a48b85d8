/*
 * gang_facts.c - see gang_facts.h.
 */
#include "gang_facts.h"

bool gang_fits(const struct candidate *d, uint32_t gang, struct room room)
{
    const struct tables *t = d->t;
    const struct gang *g = &t->gangs[gang];

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++) {
        const struct needs *needs = &t->needs[tables_shape(d->t, i, 0)];
        uint32_t count = t->groups[i].count;

        if (room_fit(t->s, &room, needs, count) < count)
            return false;
        room = room_take(t->s, &room, needs, count, d->arena);
    }
    return true;
}

bool gang_settled(const struct candidate *d, uint32_t gang)
{
    const struct gang *g = &d->t->gangs[gang];

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++)
        if (d->left[i] > 0)
            return false;
    return true;
}

bool gang_same(const struct tables *t, uint32_t a, uint32_t b)
{
    const struct gang *x = &t->gangs[a], *y = &t->gangs[b];
    const struct problem *s = t->s;

    if (x->side != y->side || x->n_groups != y->n_groups ||
        s->demands[x->demand].strategy != s->demands[y->demand].strategy)
        return false;
    for (uint32_t i = 0; i < x->n_groups; i++) {
        const struct group *p = &t->groups[x->first_group + i];
        const struct group *q = &t->groups[y->first_group + i];

        if (p->count != q->count || p->n_alts != 1 || q->n_alts != 1 ||
            s->alts[p->first_alt].shape != s->alts[q->first_alt].shape)
            return false;
    }
    return true;
}
