/*
 * meter.h - counts what a world comes to while it is played.
 *
 * Told by the played cloud of machines and by the played head of tasks.  Times
 * are milliseconds since the world's beginning.
 */
#ifndef SIMULATE_METER_H
#define SIMULATE_METER_H

#include "../base/hash.h"
#include "../played/cloud.h"
#include "world.h"

struct metered { /* a machine */
    const struct cloud_machine *machine;
    uint32_t offer;
    int64_t launched_ms, ended_ms;
    bool billed;
};

struct meter {
    struct arena *arena; /* of the outcome */
    const struct trace *trace;
    struct player *player;
    struct out_offer *offers;
    uint32_t n_offers;
    uint32_t *now; /* billed machines, per offer */
    uint32_t n_now, most;
    VEC(struct metered) machines;
    struct hash by_id;
    struct hash owner_ix; /* of names */
    VEC(struct out_owner) owners;
    uint32_t *job_owner;
    VEC(struct wait) waits;
    VEC(struct out_sample) samples;
    uint32_t waiting_most; /* since the last sample */
    uint64_t submitted, began, done, again;
    double used[2], billed[2]; /* CPU and GPU milliseconds */
    int64_t changed_ms;        /* when something began, came or went last */
};

struct wait {
    int64_t ms;
    uint32_t owner;
};

/* The offers of a configuration; prices that lack are estimated as the planner
 * does. */
void meter_init(struct meter *m, struct arena *arena, const struct trace *t,
                const struct config *conf, struct player *p);
void meter_launched(struct meter *m, const struct cloud_machine *x);
void meter_ended(struct meter *m, const struct cloud_machine *x);
void meter_submitted(struct meter *m, uint32_t job);
void meter_task(struct meter *m, enum head_moment what,
                const struct head_task *t);
void meter_waiting(struct meter *m, uint32_t tasks); /* after each change */
void meter_sample(struct meter *m);
/* What is still there is billed until now; all of it goes into the outcome. */
void meter_finish(struct meter *m, struct outcome *ret);
void meter_done(struct meter *m);

#endif
