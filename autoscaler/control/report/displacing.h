/*
 * displacing.h - who lost a place on a node to whom, and what that costs, for as
 * long as both ask.
 *
 * A plan shows it once, in the step in which it happens (model/displaced.h); a
 * purchase for it may come later, and a person asks later still.  There is a
 * ceiling on notes: the oldest goes.  Not kept over a restart: the events are,
 * and what a machine was bought because of.  Reads the plan of this step, changes
 * nothing but its notes.  Control thread only.
 */
#ifndef CONTROL_DISPLACING_H
#define CONTROL_DISPLACING_H

#include "../env.h"

enum { DISPLACING_NOTES = 64 };

struct displacing_note {
    char owner[132], by[132]; /* of an owner: 128 at most */
    char node[64];
    char launches[96]; /* "1 x v100"; "": it waits */
    uint64_t shape;    /* problem_digest() of the bundle */
    uint32_t count;    /* bundles */
    int64_t at_ms;     /* wall */
    int64_t micros_hour;
    bool open; /* what is bought for it now is because of this */
    bool told;
};

struct displacing {
    struct env *env;
    struct displacing_note notes[DISPLACING_NOTES];
    uint32_t n;
};

/* After each plan, before it is carried out. */
void displacing_take(struct displacing *d, const struct problem *s,
                     const struct plan *p);
/* Whose fault this launch is, as a sentence on the heap; NULL: nobody's. */
char *displacing_because(const struct displacing *d, const struct problem *s,
                         const struct plan *p, const struct plan_launch *l);
/* Into the page, for `davit why`. */
void displacing_show(const struct displacing *d, struct status_page *page);

#endif
