/*
 * asked.h - what all requests ask for together, and how much that may be.
 *
 * A request is small, and there may be many owners: what they come to is
 * counted as they come and go, so that the memory and the time of a plan have
 * a ceiling whoever asks for what.  docs/api.md has the limits and what they
 * come to.  Control thread only.
 */
#ifndef CONTROL_ASKED_H
#define CONTROL_ASKED_H

#include "../base/hash.h"
#include "../model/problem.h"

struct asked {
    uint64_t bundles; /* counts included */
    uint64_t lines;   /* alternatives of bundles that are written out */
    uint64_t bytes;   /* of bodies */
    uint32_t owners;
    struct hash shapes; /* alternatives that differ: how many have each */
    struct hash names;  /* names of resources that differ, likewise */
    /* Of the last plan, without the requests' lines: */
    uint64_t other_rows;
    uint64_t columns; /* with those of the requests */
};

void asked_done(struct asked *a);
void asked_add(struct asked *a, const struct snap_demand *d, size_t bytes);
/* The same that was added. */
void asked_remove(struct asked *a, const struct snap_demand *d, size_t bytes);
/* What the last plan had beside requests. */
void asked_planned(struct asked *a, const struct problem *now);

/* QUOTA, or INVALID for owners and bundles, when now is more than may be, in something that is more than before:
 * who asks for less than he did is never refused. */
struct asked_sums {
    uint64_t bundles, lines, bytes, owners, shapes, names, amounts;
};
struct asked_sums asked_sums(const struct asked *a);
enum status asked_check(const struct asked_sums *before,
                        const struct asked_sums *now, struct err *err);

#endif
