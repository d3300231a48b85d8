/*
 * history.h - what each minute, five minutes and hour came to, for charts: a
 * small history with a ceiling; a long one is Prometheus's.
 *
 * Reads the status page of each plan.  Cost, nodes and waiting hold from one
 * plan to the next, so what was spent is their sum over time; while no daemon
 * ran nothing is known, and `seen_ms` says so.  Kept in the journal: written
 * every five minutes and at the end, so that a crash loses five minutes at most.
 * The control thread writes, any thread reads.
 */
#ifndef CONTROL_REPORT_HISTORY_H
#define CONTROL_REPORT_HISTORY_H

#include <pthread.h>

#include "spent.h"

enum { HISTORY_RINGS = 3 };
#define HISTORY_MINUTES 180 /* three hours */
#define HISTORY_FIVES 288   /* a day */
#define HISTORY_HOURS 768   /* a month, and a day */

struct history_ring {
    uint32_t step_s, n;
    struct history_slot *v; /* heap, n of them: at_s / step_s % n */
};
struct history {
    struct env *env;
    pthread_mutex_t lock; /* of the rings, for readers */
    struct history_ring rings[HISTORY_RINGS];
    int64_t last_ms;    /* wall: so far everything is counted; 0: nothing is */
    int64_t written_ms; /* wall: what began before is in the journal */
    int64_t cost_micros_hour; /* since then */
    uint32_t nodes, waiting;
    unsigned long long launches, ends; /* of the metrics, at that time */
    struct spent spent;                /* by owner, node type and market */
};

void history_init(struct history *h, struct env *env);
void history_load(struct history *h); /* the journal is open */
/* A plan was made: page. */
void history_see(struct history *h, const struct status_page *page);
/* Counts and writes the rest; the journal is open still. */
void history_end(struct history *h);
void history_done(struct history *h);

/* What is known since after_s, oldest first, in the arena; 0 when no ring has
 * this step. */
uint32_t history_read(struct history *h, uint32_t step_s, int64_t after_s,
                      struct arena *arena, struct history_slot **ret);
/* The sum of the hours from this wall time on; at_s of the first known one. */
struct history_slot history_sum(struct history *h, int64_t from_s);

#endif
