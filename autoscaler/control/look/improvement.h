/*
 * improvement.h - a longer look at large purchases, on a worker.
 *
 * What a plan would buy and a longer look may better is not final: it waits,
 * at most limits.think, while a worker plans the same snapshot with a larger
 * budget, and is then launched as a whole.  The answer comes back in the next
 * step's snapshot as proposed nodes and what they hold: the planner judges them
 * like any other way, so demand that changed meanwhile does no harm, and a
 * record replays.  One look at a time; a step never waits for it.
 * Reads pages; changes nothing but itself.  Control thread only.
 */
#ifndef CONTROL_LOOK_IMPROVEMENT_H
#define CONTROL_LOOK_IMPROVEMENT_H

#include "../configuration.h"

struct improvement {
    struct env *env;
    const struct configuration *conf;
    bool busy;                /* a look is under way */
    unsigned asked, answered; /* looks since something waits */
    int64_t since_ms;         /* mono: something waits; 0: nothing does */
    struct arena arena;       /* owns proposed */
    const struct snap_proposal *proposed;
    uint32_t n_proposed;
};

/* Are the launches that are not final to wait?  Changes nothing. */
bool improvement_waits(const struct improvement *k, const struct plan *plan);
/* Once for each plan: begins a look when launches wait, ends the waiting when
 * none do or they have been sent. */
void improvement_step(struct improvement *k, struct status_page *page,
                      bool waits, bool launched);
void improvement_fold(struct improvement *k, struct mail *mail);
/* Until when something waits at most, wall; 0: nothing does. */
int64_t improvement_until_ms(const struct improvement *k);
/* What is proposed, into a snapshot. */
void improvement_take(const struct improvement *k, struct arena *arena,
                      struct snapshot *snapshot);
void improvement_close(struct improvement *k);

#endif
