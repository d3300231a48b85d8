/*
 * world.h - a trace played against a configuration: the real loop, planner and
 * journal, a played cloud and a played head, in played time.
 *
 * The same trace, settings and seed give the same outcome.  One world at a time
 * (the played clock is the process's).
 */
#ifndef SIMULATE_WORLD_H
#define SIMULATE_WORLD_H

#include "../config/config.h"
#include "trace.h"

struct world_opts {
    const char *config_path;
    const struct conf_set *sets;
    uint32_t n_sets;
    const struct trace *trace;
    uint64_t seed;
    uint64_t storm;  /* of bad_days.h, as long as the trace lasts; 0: none */
    int64_t boot_ms; /* of types that say nothing of it */
};

/* What may be bought, as it was bought. */
struct out_offer {
    const char *type, *zone;
    bool spot, estimated;      /* estimated: its price */
    int64_t price_micros_hour; /* one machine's */
    int64_t boot_ms;           /* on the average */
    uint32_t launched, ended;
    int64_t machine_ms; /* billed: from its launch until its end is asked */
    int64_t cost_micros;
};

struct out_machine {
    uint32_t offer;
    int64_t launched_ms, ended_ms; /* ended: -1: it is still there */
};

struct out_owner {
    const char *name;
    uint64_t tasks, began, done;
    int64_t cost_micros; /* its share of the machines it ran on */
    int64_t wait_p50_ms, wait_p95_ms, wait_worst_ms;
};

/* The state at a moment: every so often. */
struct out_sample {
    int64_t at_ms;             /* since the beginning */
    const uint32_t *machines;  /* billed ones, per offer */
    uint32_t waiting, running; /* waiting: the most since the one before */
    int64_t cost_micros;       /* so far */
};

struct outcome {
    struct arena arena;
    const struct out_offer *offers;
    uint32_t n_offers;
    const struct out_machine *machines; /* in the order of their launch */
    const struct out_owner *owners;
    uint32_t n_owners;
    const struct out_sample *samples;
    uint32_t n_samples;
    int64_t lasted_ms;
    uint64_t tasks, began, done;
    uint64_t again; /* begun anew: their node was ended */
    int64_t wait_p50_ms, wait_p95_ms, wait_worst_ms;
    int64_t cost_micros, shared_micros; /* shared: that owners have to bear */
    uint32_t launched, ended, most;     /* machines; most: at once */
    double cpu_use, gpu_use; /* of what was billed; -1: there was none */
    uint64_t steps, plans;
    uint64_t faults; /* calls, answers and machines that were spoilt */
};

/* Errors: lines for people. */
enum status world_play(const struct world_opts *o, struct outcome *ret,
                       struct buf *errors);
void outcome_free(struct outcome *o);

#endif
