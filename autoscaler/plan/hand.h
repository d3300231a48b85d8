/*
 * hand.h - whose bundles lie in the places that a candidate gives to a group.
 *
 * They are handed out in order.  Where nothing tells which nodes have work, each demand
 * first gets the places that it had by the last plan.
 */
#ifndef PLAN_HAND_H
#define PLAN_HAND_H

#include "candidate.h"

struct hands;

struct hands *hands_make(const struct candidate *d);

/* Is a class's every node handed to for itself? */
bool hands_by_node(const struct hands *x, const struct node_class *c);
/* How many of n new nodes, with so many of the group each, get the very same bundle, at
 * least 1. */
uint32_t hands_alike(struct hands *x, uint32_t group, uint32_t count,
                     uint32_t n);
/* Gives up to `count` of a bundle of the group to each of `nodes` nodes, and fewer only
 * when there is one node; how many.  node: which it is; NONE: no one, or a new one. */
uint32_t hand_out(struct hands *x, uint32_t group, uint32_t node,
                  uint32_t nodes, uint32_t count, uint32_t *ret_bundle);

#endif
