/*
 * cycle.c - see cycle.h.
 */
#include "cycle.h"

#include "buy.h"
#include "limits.h"

bool cycle_waits(const struct cycle *c, uint32_t offer)
{
    const struct tables *t = c->d->t;
    int64_t failed = t->s->offers[offer].failed_ms;
    enum reason why;

    if (failed == 0 || failed < c->since_ms)
        return false;
    for (uint32_t i = 0; i < t->s->n_offers; i++)
        if (t->tried[i] < failed && c->could(c->ctx, i) &&
            limits_room(c->d, i, c->claim, &why) > 0)
            return true;
    return false;
}

struct one { const struct sketch *d; uint32_t shape; };

static bool could_one(const void *ctx, uint32_t offer)
{
    const struct one *one = ctx;

    return buy_allowed(one->d, one->shape, offer);
}

bool cycle_waits_want(const struct sketch *d, uint32_t want, uint32_t alt,
                      enum claim claim, uint32_t offer)
{
    const struct one one = {d, sketch_shape(d, want, alt)};
    const struct cycle c = {d, d->t->wants[want].since_ms, claim, could_one,
                            &one};

    return d->t->failed && cycle_waits(&c, offer);
}
