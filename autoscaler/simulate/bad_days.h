/*
 * bad_days.h - what goes wrong in a simulation: the played cloud and head have
 * outages, refusals, losses and deaths of machines, drawn from a seed.
 *
 * A trouble lasts a minute to an hour, a calm ten minutes to six hours.
 */
#ifndef SIMULATE_BAD_DAYS_H
#define SIMULATE_BAD_DAYS_H

#include "../played/cloud.h"

struct bad_days;

/* gone: a machine dies or is taken back, without a call; all is borrowed. */
struct bad_days *bad_days_begin(
    struct player *p, struct cloud *c, struct head *h, uint64_t seed,
    void (*gone)(void *arg, const struct cloud_machine *m), void *arg);
/* From now on all is well.  Returns how many calls, answers and machines were
 * spoilt. */
uint64_t bad_days_end(struct bad_days *d);

#endif
