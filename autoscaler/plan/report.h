/*
 * report.h - from the chosen candidate to the plan.
 */
#ifndef PLAN_REPORT_H
#define PLAN_REPORT_H

#include "candidate.h"
#include "shrink.h"

void report_make(const struct candidate *d, const struct verdict *verdicts,
                 struct plan *ret);

/* What proves its bounds, into another plan and another arena. */
void report_copy_proof(const struct plan *plan, struct arena *arena,
                       struct plan *ret);
/* The plan, of this problem, in another arena. */
struct plan report_copy(const struct plan *plan, const struct problem *now,
                        struct arena *arena);

#endif
