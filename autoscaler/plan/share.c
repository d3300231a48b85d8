/*
 * share.c - see share.h.
 */
#include "share.h"

void shares_make(const struct tables *t, struct arena *arena,
                 struct shares *ret)
{
    const struct problem *s = t->s;
    struct share *v = ARENA_ARRAY(arena, struct share, s->n_bundles);
    uint32_t *of = ARENA_ARRAY(arena, uint32_t, s->n_bundles);
    uint32_t *first = ARENA_ARRAY(arena, uint32_t, t->n_groups + 1);
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n_groups; i++) {
        const struct group *w = &t->groups[i];

        first[i] = n;
        for (uint32_t k = w->first; k < w->first + w->n; k++) {
            const struct pb_bundle *b = &s->bundles[t->bundles[k]];

            /* A demand's bundles lie side by side: tables_demand.c. */
            if (k == w->first ||
                (s->work_unknown &&
                 b->demand != s->bundles[t->bundles[k - 1]].demand))
                v[n++] = (struct share){.first = k};
            v[n - 1].n++;
            v[n - 1].count += b->count;
            of[t->bundles[k]] = n - 1;
        }
    }
    first[t->n_groups] = n;
    *ret = (struct shares){v, n, of, first};
}
