/*
 * event.h - what happened, emitted once: to the log, the journal and listeners.
 *
 * The ring keeps 1,024 for listeners; any thread may read it.  When there are more, the
 * oldest of whose there are the most goes: what one caller does again and again leaves
 * what happened to others where it is.
 */
#ifndef CONTROL_EVENT_H
#define CONTROL_EVENT_H

#include <pthread.h>
#include <stdbool.h>

#include "../base/arena.h"

/* Kinds: docs/events.md has them all. */
struct event {
    int64_t id, at_ms;
    const char *kind, *subject, *reason, *text;
};

#define EVENT_RING 1024
enum { EVENT_CAUSES = 64 };
struct event_ring {
    pthread_mutex_t lock;
    struct event v[EVENT_RING]; /* by id; strings on the heap */
    uint8_t causes[EVENT_RING]; /* whose they are: 0 nobody's, or a caller's */
    uint32_t n, of[EVENT_CAUSES];
    int64_t next_id; /* of the next event */
    int64_t gone_id; /* the last that is not kept any more, or was before it */
    /* called after an event was added, from the adding thread; may be NULL */
    void (*on_add)(void *arg);
    void *arg;
};

void event_ring_init(struct event_ring *r, int64_t next_id);
void event_ring_done(struct event_ring *r);
/* Copies; returns the id given to it.  cause: event_cause() of a caller. */
int64_t event_add_of(struct event_ring *r, uint8_t cause,
                     const struct event *what);
uint8_t event_cause(const char *caller); /* "" or NULL: nobody */
/* Are events after this id not kept any more? */
bool event_missed(struct event_ring *r, int64_t after);
/* Up to max events with id > after, copied into the arena; returns how many. */
uint32_t event_read(struct event_ring *r, int64_t after, uint32_t max,
                    struct arena *arena, struct event **ret);

#endif
