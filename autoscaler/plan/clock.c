/*
 * clock.c - see clock.h.
 */
#include "clock.h"

#include "quota.h"

static const struct sn_alt *alt_of(const struct sketch *d, uint32_t want,
                                   uint32_t alt)
{
    return &d->t->s->alts[d->t->wants[want].first_alt + alt];
}

static int64_t since_of(const struct sketch *d, uint32_t want)
{
    return d->t->s->demands[d->t->wants[want].demand].since_ms;
}

static bool offered(const struct sketch *d, uint32_t want, uint32_t alt)
{
    if (quota_never(d->t, want, alt))
        return false;
    for (uint32_t i = 0; i < d->t->s->n_offers; i++)
        if (tables_could(d->t, sketch_shape(d, want, alt), i))
            return true;
    return false;
}

bool clock_may_try(const struct sketch *d, uint32_t want, uint32_t alt)
{
    const struct snapshot *s = d->t->s;
    int64_t since = since_of(d, want), wait = 0;

    if (since == 0 || s->now_ms == 0)
        return true;
    for (uint32_t i = 1; i <= alt; i++)
        if (offered(d, want, i - 1))
            wait = amount_add(wait, alt_of(d, want, i)->after_ms);
    return s->now_ms - since >= wait;
}

bool clock_has(const struct sketch *d, uint32_t want)
{
    for (uint32_t i = 1; i < d->t->wants[want].n_alts; i++)
        if (alt_of(d, want, i)->after_ms > 0)
            return since_of(d, want) > 0 && d->t->s->now_ms > 0;
    return false;
}

/* For the time of the alternative after `alt`? */
static bool silent(const struct sketch *d, const struct node_class *c,
                   uint32_t want, uint32_t alt)
{
    int64_t start = since_of(d, want), after, progress;

    if (alt + 1 >= d->t->wants[want].n_alts || !c->starting || c->n == 0 ||
        start == 0)
        return false;
    after = alt_of(d, want, alt + 1)->after_ms;
    progress = d->t->s->nodes[d->members[c->first]].progress_ms;
    if (progress > start)
        start = progress;
    return after > 0 && d->t->s->now_ms - start >= after;
}

bool clock_silent(const struct sketch *d, uint32_t class_ix, uint32_t want,
                  uint32_t alt)
{
    if (d->t->wants[want].n_alts < 2 || d->patient)
        return false;
    for (uint32_t i = 0; i <= alt; i++)
        if (silent(d, &d->classes.v[class_ix], want, i))
            return true;
    return false;
}

bool clock_given_up(const struct sketch *d, uint32_t want, uint32_t alt)
{
    uint32_t shape = sketch_shape(d, want, alt);

    if (!clock_has(d, want) || d->patient)
        return false;
    for (uint32_t i = 0; i < d->classes.n; i++)
        if (silent(d, &d->classes.v[i], want, alt) &&
            sketch_matches(d, i, shape) &&
            room_fit(d->t->s, &d->classes.v[i].room[SIDE_TOTAL],
                     &d->t->needs[shape], 1) > 0)
            return true;
    return false;
}

bool clock_newer(const struct sketch *d, uint32_t class_ix, uint32_t want)
{
    const struct node_class *c = &d->classes.v[class_ix];

    return c->kind == CLASS_THERE && c->n > 0 &&
           d->t->s->nodes[d->members[c->first]].created_ms >=
               since_of(d, want);
}
