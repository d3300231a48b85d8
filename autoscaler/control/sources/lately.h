/*
 * lately.h - what work took of a Ray head's nodes a moment ago, so that it is not
 * bought for once more.
 *
 * The head asks each raylet once a second what waits there and what is free
 * there, and shows the last answers side by side.  Work that one raylet hands to
 * another one is, between their answers, both: pending at the first, and at the
 * second in room that it has no more, or in the line there, pending once more
 * (docs/ray.md, "How old a view is").  In line it may stand beside free room: a
 * raylet that has just joined takes no work of a job that it has not heard of.
 * Looking again sooner shows the same answers again.  So, for LATELY_DOUBT_MS
 * after room went, as many pending tasks are in doubt as it may have been taken
 * by; and, where room went or is left, as many as there are more of since, up to
 * what waited before.
 *
 * What comes free counts against what went, type by type, and what waits no more
 * against what waits anew: on a busy cluster, where one task follows another,
 * nothing is in doubt for long.  Owner: the source; control thread only.
 */
#ifndef CONTROL_LATELY_H
#define CONTROL_LATELY_H

#include "../../wire/source.h"

/* Three of Ray's gcs_pull_resource_loads_period_milliseconds (1 s): one until
 * the raylet that handed the work over is asked again, the others for its answer
 * and for our next look. */
enum { LATELY_DOUBT_MS = 3000 };
/* More types and resources of which some went from one view to the next, and more
 * shapes, are left out: a head may name many, and all this ends in a plan. */
enum { LATELY_MOST = 1024 };

/* From one view to the next: of one resource, on the nodes of one type; or of
 * one shape of tasks that wait. */
struct lately_change {
    uint64_t type, what; /* hashes: of the names; of a shape, type is 0 */
    int64_t mono_ms;
    int64_t by;   /* what went, less what came: below 0 when more came.  Of a
                   * shape: what waits more than before */
    int64_t most; /* what went on one node.  What waited before */
};

struct lately_changes {
    struct lately_change *v; /* heap, oldest first */
    uint32_t n, cap;
};

struct lately {
    struct lately_changes room, waits;
};

/* A view came; a node's resources are in the order of their names, or always in
 * the same one.  before: the one before it, NULL when it tells nothing (there is
 * none, or the head began anew): then all that is in use may be new. */
void lately_look(struct lately *r, const struct source_view *before,
                 const struct source_view *now, int64_t mono_ms);
void lately_done(struct lately *r);

/* What changed in LATELY_DOUBT_MS until mono_ms, in all: one for each type and
 * resource, or shape, of which something did; by type and hash. */
struct lately_sum {
    uint64_t type, what;
    int64_t by;   /* the most that it ever was, from some moment until now; at
                   * least 0 */
    int64_t most; /* of one change */
    int64_t sum;  /* while it is added up */
};
struct lately_sums {
    const struct lately_sum *room, *waits; /* arena */
    /* Free now: by is all of it, most what is free on one node.  Empty when
     * nothing waits anew: nobody asks then. */
    const struct lately_sum *left;
    uint32_t n_room, n_waits, n_left;
};
/* now: the last view. */
struct lately_sums lately_sums(const struct lately *r,
                               const struct source_view *now, int64_t mono_ms,
                               struct arena *arena);
/* How many of the bundle may lie there, or be in line there for a second time: no
 * more than its count. */
uint32_t lately_holds(const struct lately_sums *s, const struct snap_bundle *b);
/* When some of it is in doubt no longer, mono; INT64_MAX: nothing is. */
int64_t lately_until_ms(const struct lately *r, int64_t mono_ms);

#endif
