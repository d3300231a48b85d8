/*
 * past.c - see past.h.
 */
#include "past.h"

#include "../../model/problem.h"

enum { FIRST_MS = 3600000 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void price_past_note(struct price_past *p, int64_t micros_hour, int64_t now_ms)
{
    int64_t over, held;

    if (micros_hour < 0) {
        *p = (struct price_past){0};
        return;
    }
    if (!p->last_ms) {
        *p = (struct price_past){.since_ms = now_ms - FIRST_MS,
                                 .mean_micros_hour = micros_hour};
    } else if (now_ms > p->last_ms) {
        over = least(now_ms - p->since_ms, PRICE_PAST_MS);
        held = least(now_ms - p->last_ms, over);
        p->mean_micros_hour +=
            (int64_t)((double)(p->price_micros_hour - p->mean_micros_hour) *
                      (double)held / (double)over);
    }
    p->last_ms = now_ms;
    p->price_micros_hour = micros_hour;
}

int64_t price_past_ms(const struct price_past *p)
{
    int64_t over = p->last_ms - p->since_ms;

    return over < 1000 ? 1000 : least(over, PRICE_PAST_MS) / 1000 * 1000;
}
