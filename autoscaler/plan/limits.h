/*
 * limits.h - how many more nodes may be there, and what forbids another one.
 *
 * The max of a type, max_nodes, max_cost_per_hour, and what an offer has left.  How many
 * may start at once, by max_launching and upscaling_speed, is another matter: pace.h.  What may be on the bill counts: a node counts
 * from the moment its launch leaves until it is known to have gone, also while
 * it is being ended, and while nobody knows what became of its launch; towards a
 * type's min only if it stays.  Ray's head node counts towards the max of its
 * type only, an unmanaged node towards nothing.
 */
#ifndef PLAN_LIMITS_H
#define PLAN_LIMITS_H

#include "candidate.h"

/* Launched, or about to be, and not ready yet? */
static inline bool limits_starting(const struct pb_node *n)
{
    return n->state == STATE_INTENDED || n->state == STATE_REQUESTED ||
           n->state == STATE_STARTING;
}

/* Is it ours, and there, and not being ended? */
bool limits_counts(const struct pb_node *n);
bool limits_counts_for_type(const struct pb_node *n);
/* May something be placed on it, or is it going? */
bool limits_gives_room(const struct problem *s, const struct pb_node *n);
/* Must it not be ended now (refused, protected)? */
bool limits_must_keep(const struct problem *s, const struct pb_node *n);
/* Outdated, or a user asked for its end: it goes though there is work on it. */
bool limits_must_go(const struct problem *s, const struct pb_node *n);

void limits_count(struct candidate *d, const struct pb_node *n,
                  enum leaving ended);
void limits_bought(struct candidate *d, uint32_t offer, uint32_t count,
                   int sign);

/* How many more of the offer may be bought, and what forbids more. */
uint32_t limits_room(const struct candidate *d, uint32_t offer,
                     enum reason *ret_why);
/* The same by the limits of all offers together, or of one type. */
uint32_t limits_room_all(const struct candidate *d, enum reason *ret_why);
uint32_t limits_room_type(const struct candidate *d, uint32_t type,
                          enum reason *ret_why);
/* How many may start now, when so many are on their way; UINT64_MAX: any number. */
uint64_t limits_may_start(const struct candidate *d, uint64_t starting);
uint64_t limits_may_start_type(const struct candidate *d, uint32_t type,
                               uint64_t starting);
/* Micros an hour, -1: no limit. */
int64_t limits_money(const struct candidate *d);

#endif
