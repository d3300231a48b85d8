/*
 * amount.h - quantities of a resource: int64 in 1/10,000 of its unit.
 *
 * The precision is Ray's own (FixedPoint, kResourceUnitScaling = 10000).
 * CPU and devices count pieces, memory counts bytes.  No doubles in decisions.
 */
#ifndef MODEL_AMOUNT_H
#define MODEL_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AMOUNT_ONE INT64_C(10000)
#define AMOUNT_MAX (INT64_C(1) << 60) /* larger input is an error */

/* A quantity by Kubernetes' whole grammar, and as people write it: "4", "0.25",
 * "500m", "50Gi", "16384M", "12e6", "1Ei", "+2".  False when it is not a number,
 * negative, NaN or above AMOUNT_MAX. */
enum amount_round { AMOUNT_DOWN, AMOUNT_NEAR, AMOUNT_UP };
bool amount_quantity(const char *text, enum amount_round round, int64_t *ret);
bool amount_parse(const char *text, int64_t *ret); /* to the nearest */
/* Is the resource counted in bytes (memory, ephemeral-storage, hugepages-2Mi)? */
bool amount_is_bytes(const char *resource);

/* A number from JSON or protobuf, rounded to the nearest 1/10,000.  False when
 * NaN, infinite, negative or above AMOUNT_MAX. */
bool amount_from_double(double d, int64_t *ret);

double amount_to_double(int64_t a);

/* Shortest exact decimal: "4", "0.25"; buf of at least 24 bytes. */
char *amount_text(int64_t a, char *buf, size_t n);

/* For people: memory as "50Gi", the rest as amount_text(). */
char *amount_pretty(const char *resource, int64_t a, char *buf, size_t n);

int64_t amount_add(int64_t a, int64_t b);    /* saturates at AMOUNT_MAX */
int64_t amount_times(int64_t a, uint64_t n); /* saturates at AMOUNT_MAX */

#endif
