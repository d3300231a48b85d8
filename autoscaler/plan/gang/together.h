/*
 * together.h - gangs bought for together, with other work of their priority.
 *
 * Bought for one after the other, each gang gets the cheapest machines for itself
 * alone, whose rest may be of no use to anybody.  Here those that do not fit on what
 * is there have one cover.  Those that it leaves out, or whose bundles do not come to lie as
 * they must, are placed alone, and the cover is made again for the rest.
 */
#ifndef PLAN_GANG_TOGETHER_H
#define PLAN_GANG_TOGETHER_H

#include "../candidate.h"

/* The gangs from `first` on, of one side and priority, and what is bought with them of the
 * loose groups. */
void together_place(struct candidate *d, uint32_t first, uint32_t n,
                    const uint32_t *loose, uint32_t n_loose);

/* Is anything bought for two gangs, or for a gang beside other work? */
bool together_of_use(const struct candidate *d);

#endif
