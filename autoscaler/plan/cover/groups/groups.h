/*
 * groups.h - a better bound of a problem with many shapes, from worths that are
 * known to prove one.
 *
 * Items that may lie in the same bins and need about the same are a group.  Within
 * one, worths keep their proportions; what all of a group are worth is found by a
 * linear program with a row a group.  Its columns hold the items themselves, each no
 * more often than it is asked for: mixes of the relaxation's answers, or fills (mix.h
 * does the same with a row an item).  So no worth that it tries is rounded, and
 * whatever it ends with is a bound.  Groups are few at first, and finer step by step.
 * Private to plan/cover/.
 */
#ifndef PLAN_COVER_GROUPS_GROUPS_H
#define PLAN_COVER_GROUPS_GROUPS_H

#include "../master.h"

/* So many steps an item are for prices of resources, before groups are worth
 * theirs. */
#define GROUPS_FROM UINT64_C(60000)

struct groups;

/* From a bound (micros an hour) for plans that leave nothing out, and its proof, in
 * the problem's numbers.  NULL: the shapes are too different to be few groups. */
struct groups *groups_make(const struct view *v, double bound,
                           const struct cover_proof *proof);

/* The plan's fills become columns; those that a program of the items buys. */
void groups_feed(struct groups *x, const struct partial *plan);
void groups_feed_program(struct groups *x, const struct master *m);

/* Goes on, soon after `steps` counted steps it stops. */
void groups_run(struct groups *x, uint64_t steps);

uint64_t groups_work(const struct groups *x);
/* The worths that prove the best, per item. */
const double *groups_worths(const struct groups *x);
/* The best so far (micros an hour) and its proof. */
double groups_best(const struct groups *x, struct cover_proof *ret);

#endif
