/*
 * gang.c - a gang's attempts: with its previous placements, then with one set
 * of alternatives after the other, at last on nodes that were silent.
 */
#include "gang.h"

#include "../fallback.h"
#include "../previous.h"
#include "../quota.h"
#include "attempt.h"

/* Is there any node or offer that could hold it in principle? */
static bool conceivable(const struct candidate *d, uint32_t group, uint32_t alt)
{
    uint32_t shape = tables_shape(d->t, group, alt);

    for (uint32_t i = 0; i < d->t->s->n_offers; i++)
        if (tables_could(d->t, shape, i))
            return true;
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        if (d->classes.v[i].n > 0 && candidate_matches(d, i, shape) &&
            room_fit(d->t->s, &d->classes.v[i].room[SIDE_TOTAL],
                     &d->t->needs[shape], 1) > 0)
            return true;
    return false;
}

/* The k-th alternative that is conceivable, or the last of them; NONE. */
static uint32_t alternative(const struct candidate *d, uint32_t group,
                            uint32_t k, bool patient)
{
    uint32_t best = NONE;

    if (d->t->groups[group].n_alts == 1)
        return 0;
    for (uint32_t i = 0; i < d->t->groups[group].n_alts; i++) {
        if (!fallback_may_try(d, group, i))
            break;
        if (!conceivable(d, group, i) ||
            (!patient && fallback_given_up(d, group, i)))
            continue;
        best = i;
        if (k-- == 0)
            break;
    }
    return best;
}

static bool attempt_run(const struct attempt *a)
{
    struct candidate *d = a->d;
    struct mark mark = candidate_mark(d);

    for (uint32_t i = 0; i < a->g->n_groups; i++)
        a->left[i] = d->left[a->groups[i]];
    attempt_place(a);
    if (gang_settled(a->d, a->ix) && quota_kept(d))
        return true;
    attempt_undo(a, mark);
    return false;
}

/* With one set of alternatives after the other. */
static bool gang_try(struct attempt *a, uint32_t *alts, uint32_t levels)
{
    for (uint32_t k = 0; k < levels; k++) {
        bool all = true;

        for (uint32_t i = 0; i < a->g->n_groups; i++) {
            alts[i] = alternative(a->d, a->groups[i], k, a->what.patient);
            all = all && alts[i] != NONE;
        }
        if (all && attempt_run(a))
            return true;
    }
    return false;
}

/* When no alternative works, silent nodes will do after all, and so will an
 * alternative that was given up because of them. */
static bool gang_try_patiently(struct attempt *a, uint32_t *alts,
                               uint32_t levels)
{
    bool waits = false, placed;

    for (uint32_t i = 0; i < a->g->n_groups; i++)
        waits = waits || fallback_has(a->d, a->groups[i]);
    if (!waits)
        return false;
    a->what.patient = true;
    placed = gang_try(a, alts, levels);
    a->what.patient = false;
    return placed;
}

/* The most alternatives that one of its groups has. */
static uint32_t attempt_make(struct candidate *d, uint32_t gang, uint32_t *alts,
                             struct attempt *ret)
{
    const struct gang *g = &d->t->gangs[gang];
    uint32_t *groups = ARENA_ARRAY(d->arena, uint32_t, g->n_groups);
    uint32_t levels = 1;

    for (uint32_t i = 0; i < g->n_groups; i++) {
        groups[i] = g->first_group + i;
        if (d->t->groups[groups[i]].n_alts > levels)
            levels = d->t->groups[groups[i]].n_alts;
    }
    *ret = (struct attempt){
        .d = d,
        .g = g,
        .ix = gang,
        .groups = groups,
        .alts = alts,
        .left = ARENA_ARRAY(d->arena, uint32_t, g->n_groups),
        .what.why = g->side == SIDE_TOTAL ? REASON_FOR_REQUEST
                                          : REASON_FOR_GANG,
    };
    return levels;
}

static bool place(struct candidate *d, uint32_t gang, bool there)
{
    const struct gang *g = &d->t->gangs[gang];
    uint32_t *alts = ARENA_ARRAY(d->arena, uint32_t, g->n_groups), levels;
    struct mark mark = candidate_mark(d);
    struct attempt a;

    levels = attempt_make(d, gang, alts, &a);
    /* After a partial loss only what is missing is bought again. */
    if (previous_gang(d, gang)) {
        if (gang_settled(d, gang) || gang_try(&a, alts, levels))
            return true;
        candidate_undo(d, mark);
        for (uint32_t i = 0; i < g->n_groups; i++)
            d->left[a.groups[i]] = d->t->groups[a.groups[i]].count;
    }
    a.there = there;
    return gang_try(&a, alts, levels) || gang_try_patiently(&a, alts, levels);
}

bool gang_place(struct candidate *d, uint32_t gang)
{
    return place(d, gang, false);
}

bool gang_place_there(struct candidate *d, uint32_t gang)
{
    return place(d, gang, true);
}

/* Does the class hold any of it? */
static bool holds(const struct candidate *d, uint32_t i, uint32_t gang)
{
    uint32_t k = d->classes.v[i].placed;

    while (k != NONE && d->t->gang_of[d->placements.v[k].group] != gang)
        k = d->placements.v[k].next;
    return k != NONE;
}

bool gang_complete(struct candidate *d, uint32_t gang)
{
    uint32_t *alts = ARENA_ARRAY(d->arena, uint32_t,
                                 d->t->gangs[gang].n_groups);
    struct attempt a;
    uint32_t levels = attempt_make(d, gang, alts, &a);

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next)
        if (d->classes.v[i].n > 0 && holds(d, i, gang))
            candidate_spread(d, i, gang);
    return gang_try(&a, alts, levels);
}
