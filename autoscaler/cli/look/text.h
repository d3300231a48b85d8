/*
 * text.h - amounts of money and of resources, and times, for people.
 *
 * Texts lie in the arena.  Thread: any.
 */
#ifndef CLI_LOOK_TEXT_H
#define CLI_LOOK_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/arena.h"

enum { HOURS_A_MONTH = 730 }; /* as clouds' price pages count */

/* "$13,190", "$12.90", "$0.73", "$0.0042": never an exponent. */
char *dollars(struct arena *a, double v);
/* "16Gi", "1.5": as people write it in a request. */
char *quantity(struct arena *a, const char *resource, double v);

/* "2026-11-21T10:11:12.345Z" as milliseconds; 0: it is no time. */
int64_t time_ms_of(const char *iso);

/* From when on: "2h", "7d" (ago), "today", "yesterday", "monday" and "14:30" (the last
 * one), a date, a date and time; days and times are UTC. */
#define SINCE_ALLOWED \
    "2h, 7d, today, yesterday, monday, 14:30, 2026-11-21 or " \
    "2026-11-21T14:30:00Z (UTC)"
bool since_parse(const char *text, int64_t now_ms, int64_t *ret_ms);

#endif
