/*
 * share.h - what each demand has of a group.
 *
 * Equal bundles are one group, whoever asks for them, and stand for one another.
 * Where nothing tells which nodes have work they do not: a place is its owner's.  So
 * there a group has a share for each demand; else it is one share.
 */
#ifndef PLAN_SHARE_H
#define PLAN_SHARE_H

#include "tables.h"

struct share {
    uint32_t first, n; /* into tables.bundles */
    uint64_t count;    /* of all these bundles */
};

struct shares {
    const struct share *v; /* group by group */
    uint32_t n;
    const uint32_t *of;    /* per bundle; of none that is in no group */
    const uint32_t *first; /* per group, and the end: into v */
};

void shares_make(const struct tables *t, struct arena *arena,
                 struct shares *ret);

#endif
