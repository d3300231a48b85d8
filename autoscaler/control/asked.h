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

/* Bundles that sources show, with each count; no more are planned for. */
#define ASKED_OF_SOURCES_MAX UINT32_C(5000000)

struct asked_part {   /* of all, or of one who asks */
    uint64_t bundles; /* counts included */
    uint64_t lines;   /* alternatives of bundles that are written out */
    uint64_t values;  /* of their conditions, and tolerations */
    uint64_t bytes;   /* of bodies */
    uint32_t owners;
    struct hash shapes; /* alternatives that differ: how many have each */
    struct hash names;  /* names of resources that differ, likewise */
};

struct asked {
    struct asked_part all;
    struct hash shares; /* struct asked_share, by the name of who asks */
    /* Of the last plan, without the requests' lines: */
    uint64_t other_rows;
    uint64_t columns; /* with those of the requests */
};

void asked_done(struct asked *a);
/* share: who asks: a line of api.tokens, a namespace; all of his owners. */
void asked_add(struct asked *a, const char *share, const struct snap_demand *d,
               size_t bytes);
/* The same that was added. */
void asked_remove(struct asked *a, const char *share,
                  const struct snap_demand *d, size_t bytes);
/* What the last plan had beside requests. */
void asked_planned(struct asked *a, const struct problem *now);

struct asked_sums {
    uint64_t bundles, lines, values, bytes, owners, shapes, names, amounts;
};
struct asked_sums asked_sums(const struct asked *a);
/* For so many who ask, each may have a sixteenth of all at any time; with more than
 * eight, half of all by their number. */
uint32_t asked_shares(const struct asked *a);
/* What is over a ceiling is of those within their shares: shares of N who come one after
 * another sum up to half of it, and with N over eight ln(N / 8) / 2 of it more.
 *
 * QUOTA, or INVALID for owners and bundles, when all is more than may be, this one
 * has more than his share, and what he asks for is more than before: who asks for
 * less than he did, or keeps to his share, is never refused for others. */
enum status asked_check(const struct asked *a, const char *share,
                        const struct asked_sums *before, struct err *err);
/* A part of a ceiling that is one's at any time. */
uint64_t asked_share_of(uint64_t most, uint32_t shares);

#endif
