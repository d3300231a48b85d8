/*
 * past.h - what an offer cost before: one mean, of a day at most.
 *
 * A price that is told for the first time is taken to have been so for an hour.
 * Times are of the monotonic clock, in milliseconds.
 */
#ifndef CONTROL_PRICES_PAST_H
#define CONTROL_PRICES_PAST_H

#include <stdint.h>

struct price_past {
    int64_t since_ms, last_ms; /* last_ms 0: nothing was told yet */
    int64_t price_micros_hour; /* since last_ms */
    int64_t mean_micros_hour;  /* of since_ms to last_ms */
};

/* What it costs was told; -1: that nobody knows it, and the past is over. */
void price_past_note(struct price_past *p, int64_t micros_hour, int64_t now_ms);
/* How long the mean is over, in whole seconds, at least one. */
int64_t price_past_ms(const struct price_past *p);

#endif
