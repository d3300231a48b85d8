/*
 * event.h - what happened, emitted once: to the log, the journal and listeners.
 *
 * The ring keeps the newest 1,024 for listeners; any thread may read it.
 */
#ifndef CONTROL_EVENT_H
#define CONTROL_EVENT_H

#include <pthread.h>

#include "../base/arena.h"

/* Kinds: docs/events.md has them all. */
struct event {
    int64_t id, at_ms;
    const char *kind, *subject, *reason, *text;
};

#define EVENT_RING 1024
struct event_ring {
    pthread_mutex_t lock;
    struct event v[EVENT_RING]; /* strings on the heap */
    int64_t next_id;            /* of the next event */
    /* called after an event was added, from the adding thread; may be NULL */
    void (*on_add)(void *arg);
    void *arg;
};

void event_ring_init(struct event_ring *r, int64_t next_id);
void event_ring_done(struct event_ring *r);
/* Copies; returns the id given to it. */
int64_t event_add(struct event_ring *r, int64_t at_ms, const char *kind,
                  const char *subject, const char *reason, const char *text);
/* Up to max events with id > after, copied into the arena; returns how many. */
uint32_t event_read(struct event_ring *r, int64_t after, uint32_t max,
                    struct arena *arena, struct event **ret);

#endif
