/*
 * pace.h - how much CPU the replies to one caller may take.
 *
 * A dear reply (a long list, a search for a name that is not there) keeps a thread of
 * the port from everybody, probes too.  What it costs over PACE_FREE_US is a debt of its
 * caller, which is paid off in time: all together one of the two threads' time, in equal
 * parts.  Who owes nothing is never refused.  Thread: any.
 */
#ifndef API_DOOR_PACE_H
#define API_DOOR_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PACE_FREE_US = 500,    /* of each reply */
    PACE_MOST_US = 300000, /* of debt, of all who owe: then each is refused */
};

struct pace;

struct pace *pace_new(void);
void pace_free(struct pace *p); /* NULL is fine */
/* caller: as caller_share() calls him.  now_us: any clock that does not go back. */
bool pace_lets(struct pace *p, const char *caller, int64_t now_us);
void pace_spent(struct pace *p, const char *caller, int64_t cpu_us,
                int64_t now_us);

#endif
