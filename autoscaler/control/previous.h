/*
 * previous.h - what the last plan put on each machine.
 *
 * The page of the last plan that was made on fresh views is kept; a machine
 * remembers which of its nodes it was.  One that is not in it yet, since it was
 * launched by that very plan or before a restart, has the text that was written
 * into the journal with its intent; without a demand source, the last that was placed
 * on it.  Control thread only.
 */
#ifndef CONTROL_PREVIOUS_H
#define CONTROL_PREVIOUS_H

#include "../model/fleet.h"
#include "status.h"

struct previous {
    struct status_page *page;
}; /* a reference, or NULL */

/* Takes a reference; machines: of the page's nodes, see struct taken. */
void previous_remember(struct previous *p, struct status_page *page,
                       struct machine *const *machines);
void previous_close(struct previous *p);

/* Reads them, each text once, into an arena. */
struct previous_reader {
    const struct previous *from;
    struct arena *arena;
    const char **texts;                /* of the page's demands: owner, id */
    const struct plan_placement *last; /* read last, */
    struct snap_placements last_as;    /* as that: equal ones are the same */
};
struct previous_reader previous_reader(const struct previous *p,
                                       struct arena *arena);
struct snap_placements previous_of(struct previous_reader *r,
                                   const struct machine *m);
/* Those of a launch's nodes or a node, by name; they point into s. */
struct snap_placements previous_placed(const struct problem *s,
                                       const struct plan *p, uint32_t first,
                                       uint32_t n, struct arena *arena);
bool previous_same(const struct plan_placement *x, uint32_t n_x,
                   const struct plan_placement *y, uint32_t n_y);
/* Not 0 for what is nothing; the same is the same for any plan. */
uint64_t previous_hash(const struct problem *s, const struct plan *p,
                       uint32_t first, uint32_t n);
char *previous_text(const struct snap_placements *h); /* heap; NULL: none */

#endif
