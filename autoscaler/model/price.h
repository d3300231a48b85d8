/*
 * price.h - what a machine costs, and what one of unknown price probably does.
 *
 * The estimate is only to compare offers among which some have no price: it is
 * marked as such wherever it is shown.
 */
#ifndef MODEL_PRICE_H
#define MODEL_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "problem.h"

/* Micro-dollars an hour: 0.0316 a vCPU + 0.0042 a GiB + the list value of each
 * accelerator (by type, 1.00 when the type is unknown; "" is unknown); spot
 * capacity counts 40 % of that.  Never negative, never overflows. */
int64_t price_estimate(const struct qtys *resources, const char *accelerator,
                       bool spot);

/* Micro-dollars an hour of a node that is there: its own price, else its
 * offer's.  x: the problem's node that was made from n, or NULL.  -1: unknown. */
int64_t price_of_node(const struct problem *s, const struct snap_node *n,
                      const struct pb_node *x);

#endif
