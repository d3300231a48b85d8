/*
 * plan_text.h - a plan for people: what is launched and ended, what it costs,
 * and why each bundle that has no place has none.
 */
#ifndef CLI_LOOK_PLAN_TEXT_H
#define CLI_LOOK_PLAN_TEXT_H

#include <stdio.h>

#include "../../model/plan.h"

void plan_text_print(const struct snapshot *snapshot, const struct problem *s,
                     const struct plan *p, FILE *out);

#endif
