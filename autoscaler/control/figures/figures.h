/*
 * figures.h - counters and histograms that have labels, of the whole life.
 *
 * A family (enum figure) has series, one for each set of label values that was
 * seen.  A family has FIGURE_SERIES of them at most: what comes later is added
 * up under the label value "other", so that nobody's names fill a Prometheus.
 * Numbers without labels are struct metrics (status.h).
 *
 * Thread: any adds and reads; a lock is inside.
 */
#ifndef CONTROL_FIGURES_H
#define CONTROL_FIGURES_H

#include <pthread.h>
#include <stdbool.h>

#include "../../base/arena.h"

enum { FIGURE_LABELS = 4, FIGURE_BUCKETS = 20, FIGURE_SERIES = 256 };
#define FIGURE_OTHER "other"

enum figure {
    /* histograms, of seconds */
    FIGURE_STEP,
    FIGURE_TICK,
    FIGURE_PLAN,
    FIGURE_CALL,
    FIGURE_READY,
    FIGURE_DRAIN,
    /* counters */
    FIGURE_LAUNCHED,
    FIGURE_ENDED,
    FIGURE_LAUNCH_FAILED,
    FIGURE_MACHINE_FAILED,
    FIGURE_LOST,
    FIGURE_CALL_FAILED,
    /* counters of dollars */
    FIGURE_SPENT,
    FIGURE_OWNER_SPENT,
    FIGURE_IDLE_SPENT,
    FIGURE_COUNT
};

/* What a family is. */
struct figure_about {
    const char *name, *help;
    const char *label[FIGURE_LABELS]; /* the first NULL ends them */
    const int64_t *bounds;            /* of buckets, microseconds, growing;
                                       * NULL: a counter */
    uint32_t n_bounds;
    bool dollars;  /* its sum is the number: billionths of a dollar */
    uint32_t most; /* series; 0: FIGURE_SERIES */
};
const struct figure_about *figure_about(enum figure f);

struct figure_series {
    const char *label[FIGURE_LABELS]; /* as many as the family has */
    uint64_t n;                       /* a counter's number */
    int64_t sum;                      /* microseconds, or as dollars says */
    uint64_t bucket[FIGURE_BUCKETS];  /* each by itself, not added up */
};

struct figures { /* zero-initialised is valid and empty */
    pthread_mutex_t lock;
    struct arena arena;
    VEC(struct figure_series) family[FIGURE_COUNT];
};

/* The label values in the family's order, as many as it has. */
void figure_count(struct figures *t, enum figure f, uint64_t n,
                  const char *const *labels);
void figure_time(struct figures *t, enum figure f, int64_t micros,
                 const char *const *labels);
void figure_spend(struct figures *t, enum figure f, int64_t nanos,
                  const char *const *labels);
#define FIGURE_LABELS_(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A copy of a family's series, in the arena; returns how many. */
uint32_t figures_take(struct figures *t, enum figure f, struct arena *a,
                      const struct figure_series **ret);
void figures_done(struct figures *t);

#endif
