/*
 * mix.h - a linear program whose value is proved.
 *
 * To the program's columns come mixes: for a bin, the mix of the relaxation's
 * answers that is worth what the relaxation says the bin can hold.  With all
 * of them no bin can hold more, by the relaxation, than it costs: the duals are
 * feasible as they are, and nothing is lost by scaling them.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_MIX_H
#define PLAN_COVER_MIX_H

#include "generate.h"

/* Rounds of it until nothing is found or the work is `until`; bins whose
 * relaxation is too weak are searched with up to `nodes` steps, then with more as long
 * as there is work left, and fills that are met become columns of the program itself.
 * Notes the bounds. */
void mix_run(struct generate *g, uint64_t nodes, uint64_t until);

#endif
