/*
 * failover.c - see failover.h.
 */
#include "failover.h"

#include "limits.h"

bool failover_waits(const struct failover *c, uint32_t offer)
{
    const struct tables *t = c->d->t;
    int64_t failed = t->s->offers[offer].failed_ms;
    enum reason why;

    if (failed == 0 || failed < c->since_ms)
        return false;
    for (uint32_t i = 0; i < t->s->n_offers; i++)
        if (t->tried[i] < failed && c->could(c->ctx, i) &&
            limits_room(c->d, i, &why) > 0)
            return true;
    return false;
}

struct one {
    const struct candidate *d;
    uint32_t shape;
};

static bool could_one(const void *ctx, uint32_t offer)
{
    const struct one *one = ctx;

    return tables_may_buy(one->d->t, one->shape, offer);
}

bool failover_waits_group(const struct candidate *d, uint32_t group,
                          uint32_t alt, uint32_t offer)
{
    const struct one one = {d, tables_shape(d->t, group, alt)};
    const struct failover c = {d, d->t->groups[group].since_ms, could_one,
                               &one};

    return d->t->failed && failover_waits(&c, offer);
}
