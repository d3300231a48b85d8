/*
 * price.h - what a machine of unknown price probably costs.
 *
 * Only to compare offers among which some have no price: the result is marked
 * as estimated wherever it is shown.
 */
#ifndef MODEL_PRICE_H
#define MODEL_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot.h"

/* Micro-dollars an hour: 0.0316 a vCPU + 0.0042 a GiB + the list value of each
 * accelerator (by type, 1.00 when the type is unknown; "" is unknown); spot
 * capacity counts 40 % of that.  Never negative, never overflows. */
int64_t price_estimate(const struct qtys *resources, const char *accelerator,
                       bool spot);

#endif
