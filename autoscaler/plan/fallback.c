/*
 * fallback.c - see fallback.h.
 */
#include "fallback.h"

#include "quota.h"

static const struct pb_alt *alt_of(const struct candidate *d, uint32_t group,
                                   uint32_t alt)
{
    return &d->t->s->alts[d->t->groups[group].first_alt + alt];
}

static int64_t since_of(const struct candidate *d, uint32_t group)
{
    return d->t->s->demands[d->t->groups[group].demand].since_ms;
}

static bool offered(const struct candidate *d, uint32_t group, uint32_t alt)
{
    if (quota_never(d->t, group, alt))
        return false;
    for (uint32_t i = 0; i < d->t->s->n_offers; i++)
        if (tables_could(d->t, tables_shape(d->t, group, alt), i))
            return true;
    return false;
}

bool fallback_may_try(const struct candidate *d, uint32_t group, uint32_t alt)
{
    const struct problem *s = d->t->s;
    int64_t since = since_of(d, group), wait = 0;

    if (since == 0 || s->now_ms == 0)
        return true;
    for (uint32_t i = 1; i <= alt; i++)
        if (offered(d, group, i - 1))
            wait = amount_add(wait, alt_of(d, group, i)->after_ms);
    return s->now_ms - since >= wait;
}

bool fallback_has(const struct candidate *d, uint32_t group)
{
    for (uint32_t i = 1; i < d->t->groups[group].n_alts; i++)
        if (alt_of(d, group, i)->after_ms > 0)
            return since_of(d, group) > 0 && d->t->s->now_ms > 0;
    return false;
}

/* For the time of the alternative after `alt`? */
static bool silent(const struct candidate *d, const struct node_class *c,
                   uint32_t group, uint32_t alt)
{
    int64_t start = since_of(d, group), after, progress;

    if (alt + 1 >= d->t->groups[group].n_alts || !c->starting || c->n == 0 ||
        start == 0)
        return false;
    after = alt_of(d, group, alt + 1)->after_ms;
    progress = d->t->s->nodes[d->members[c->first]].progress_ms;
    if (progress > start)
        start = progress;
    return after > 0 && d->t->s->now_ms - start >= after;
}

bool fallback_silent(const struct candidate *d, uint32_t class_ix,
                     uint32_t group, uint32_t alt)
{
    if (d->t->groups[group].n_alts < 2)
        return false;
    for (uint32_t i = 0; i <= alt; i++)
        if (silent(d, &d->classes.v[class_ix], group, i))
            return true;
    return false;
}

bool fallback_given_up(const struct candidate *d, uint32_t group, uint32_t alt)
{
    uint32_t shape = tables_shape(d->t, group, alt);

    if (!fallback_has(d, group))
        return false;
    for (uint32_t i = 0; i < d->classes.n; i++)
        if (silent(d, &d->classes.v[i], group, alt) &&
            candidate_matches(d, i, shape) &&
            room_fit(d->t->s, &d->classes.v[i].room[SIDE_TOTAL],
                     &d->t->needs[shape], 1) > 0)
            return true;
    return false;
}

bool fallback_newer(const struct candidate *d, uint32_t class_ix,
                    uint32_t group)
{
    const struct node_class *c = &d->classes.v[class_ix];

    return c->kind == CLASS_THERE && c->n > 0 &&
           d->t->s->nodes[d->members[c->first]].created_ms >=
               since_of(d, group);
}
