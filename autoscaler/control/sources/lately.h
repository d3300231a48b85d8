/*
 * lately.h - what work took of a Ray head's nodes a moment ago, so that it is not
 * bought for once more.
 *
 * The head asks each raylet once a second what waits there and what is free
 * there, and shows the last answers side by side.  Work that one raylet hands to
 * another one is, between their answers, both: pending at the first, and in the
 * room that the second has no more (docs/ray.md, "How old a view is").  Looking
 * again sooner shows the same answers again.  So, for LATELY_DOUBT_MS after room
 * went, as many pending tasks as it may have been taken by are in doubt.
 *
 * What comes free counts against what went, type by type: on a busy cluster,
 * where one task follows another, nothing is in doubt for long.  Owner: the
 * source; control thread only.
 */
#ifndef CONTROL_LATELY_H
#define CONTROL_LATELY_H

#include "../../wire/source.h"

/* Three of Ray's gcs_pull_resource_loads_period_milliseconds (1 s): one until
 * the raylet that handed the work over is asked again, the others for its answer
 * and for our next look. */
enum { LATELY_DOUBT_MS = 3000 };
/* More types and resources of which some went from one view to the next are left
 * out: a head may name many, and all this ends in a plan. */
enum { LATELY_MOST = 1024 };

/* Of one resource, on the nodes of one type, from one view to the next. */
struct lately_change {
    uint64_t type, resource; /* hashes of their names */
    int64_t mono_ms;
    int64_t less; /* what went, less what came: below 0 when more came */
    int64_t most; /* what went on one node */
};

struct lately {
    VEC(struct lately_change) all; /* heap, oldest first */
};

/* A view came; a node's resources are in the order of their names, or always in
 * the same one.  before: the one before it, NULL when it tells nothing (there is
 * none, or the head began anew): then all that is in use may be new. */
void lately_look(struct lately *r, const struct source_view *before,
                 const struct source_view *now, int64_t mono_ms);
void lately_done(struct lately *r);

/* What went in LATELY_DOUBT_MS until mono_ms, in all: one for each type and
 * resource of which something did, by type. */
struct lately_lost {
    uint64_t type, resource;
    int64_t lost; /* the most that was ever less, from some moment until now */
    int64_t most; /* by one node, at once */
    int64_t sum;  /* while it is added up */
};
const struct lately_lost *lately_lost(const struct lately *r, int64_t mono_ms,
                                      struct arena *arena, uint32_t *ret_n);
/* How many of the bundle may lie there: no more than its count. */
uint32_t lately_holds(const struct lately_lost *v, uint32_t n,
                      const struct snap_bundle *b);
/* When some of it is in doubt no longer, mono; INT64_MAX: nothing is. */
int64_t lately_until_ms(const struct lately *r, int64_t mono_ms);

#endif
