/*
 * err.h - how a function says it failed, and why.
 *
 * A class of error is a reaction: the list is the plug-in contract's own, so
 * that a cloud's answer needs no second translation.  The caller owns the
 * struct err; filling it never allocates.  Thread: any.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdint.h>

#include "../provider.h"

#define ERR_ENUM_(name, value, text) ST_##name = value,
enum status { DAVIT_STATUS_MAP(ERR_ENUM_) ST_COUNT };
#undef ERR_ENUM_

struct err {
    enum status status;
    uint32_t retry_after_ms; /* 0: unknown */
    char code[48];           /* the outside's own code, "" for ours */
    char text[432];          /* one sentence that teaches */
};

/* Fills *e (may be NULL) and returns the status, so that callers can write
 * `return err_set(e, ST_INVALID, "max must be ...")`. */
enum status err_set(struct err *e, enum status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "<prefix>: " before the text that is already there; returns e->status. */
enum status err_prefix(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

const char *status_name(enum status s); /* "STOCKOUT" */

#endif
