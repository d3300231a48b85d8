/*
 * decisions.h - what was launched and ended lately, what for, what it changes
 * in the bill, and what else could have been bought.
 *
 * The newest 512, in memory: a restart begins anew, the events (event.h) stay.
 * act() adds while it carries a plan out; any thread reads.
 */
#ifndef CONTROL_REPORT_DECISIONS_H
#define CONTROL_REPORT_DECISIONS_H

#include <pthread.h>

#include "../snapshot_take.h"

enum { DECISIONS_KEPT = 512, DECISION_OTHERS = 4 };

/* Another offer on which one such machine's work would fit. */
struct decision_other {
    char type[64], zone[64];
    bool spot;
    int64_t more_micros_hour; /* than what was bought, for all of them */
    enum reason why;          /* what kept it from being bought; NONE: nothing
                               * but the plan, which is cheaper so */
};
struct decision {
    int64_t id, at_ms;
    bool launch; /* else an end */
    char type[64], zone[64];
    bool spot;
    uint32_t count;
    enum reason why;
    char node[48];                /* the first of them */
    char owner[136], demand[136]; /* the first it is for, and its id; "" */
    enum demand_source source;
    int64_t micros_hour;      /* of all of them, positive */
    int64_t bill_micros_hour; /* of the whole fleet before it */
    struct decision_other others[DECISION_OTHERS]; /* the cheapest */
    uint32_t n_others;
};

struct decisions {
    pthread_mutex_t lock;
    struct decision *v[DECISIONS_KEPT]; /* heap: id % DECISIONS_KEPT */
    int64_t next_id;
};

void decisions_init(struct decisions *d);
void decisions_done(struct decisions *d);

/* `count` machines of the plan's launch, which is the first of its offer. */
void decision_launch(struct decisions *d, const struct problem *now,
                     const struct plan *plan, uint32_t launch, uint32_t count,
                     const char *node);
/* Machines that this step has put on their way out. */
void decisions_ends(struct decisions *d, const struct taken *taken,
                    const struct problem *now, int64_t now_ms);

/* Those with id > after, oldest first, in the arena. */
uint32_t decisions_read(struct decisions *d, int64_t after, struct arena *arena,
                        struct decision **ret);

#endif
