/*
 * spent.h - what was spent by owner, node type and market, over the past.
 *
 * The counters of dollars (figures.h) as they were at the first plan of each of the
 * last 24 hours and 32 days: what was spent between two of them is their difference.
 * Kept in the journal.  Where no plan was made nothing was seen to be spent, so the
 * one before stands for that time.  The control thread writes, any thread reads.
 */
#ifndef CONTROL_REPORT_SPENT_H
#define CONTROL_REPORT_SPENT_H

#include <pthread.h>

#include "../env.h"

enum { SPENT_HOURS = 24, SPENT_DAYS = 32 };

struct spent_mark {
    int64_t at_s; /* wall */
    char *text;   /* heap: the counters as the journal has them; NULL: none */
};
struct spent {
    struct env *env;
    pthread_mutex_t lock; /* of the marks, for readers */
    struct spent_mark hours[SPENT_HOURS], days[SPENT_DAYS];
    int64_t last_s; /* of the newest one; 0: none */
};

void spent_init(struct spent *s, struct env *env);
void spent_load(struct spent *s); /* the journal is open */
void spent_see(struct spent *s);  /* a plan was made */
void spent_done(struct spent *s);

/* Dollars of one series between two moments. */
struct spent_line {
    uint32_t family; /* SPENT_OF... */
    const char *label[3];
    int64_t nanos;
};
enum { SPENT_OF_TYPE, SPENT_OF_OWNER, SPENT_OF_IDLE, SPENT_FAMILIES };
/* From the last mark at or before from_s, or the first that there is, to the last one
 * before until_s, or now if that is not over; the moments themselves in *ret_from and
 * *ret_until.  All in the arena. */
uint32_t spent_read(struct spent *s, int64_t from_s, int64_t until_s,
                    struct arena *a, const struct spent_line **ret,
                    int64_t *ret_from, int64_t *ret_until);

#endif
