/*
 * event.c - the ring of the newest events, for listeners.
 *
 * Owns one heap block per event (its four strings, one after the other).  Ids
 * have no holes, so an event's place is its id modulo the ring and a reader
 * who fell behind continues with the oldest that is left.
 */
#include "event.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"

static struct event *slot(struct event_ring *r, int64_t id)
{
    return &r->v[(uint64_t)id % EVENT_RING];
}

void event_ring_init(struct event_ring *r, int64_t next_id)
{
    assert(next_id >= 0);
    memset(r, 0, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->next_id = next_id > 0 ? next_id : 1; /* 0 means "before the first" */
}

void event_ring_done(struct event_ring *r)
{
    for (size_t i = 0; i < EVENT_RING; i++)
        free((void *)r->v[i].kind);
    pthread_mutex_destroy(&r->lock);
    memset(r->v, 0, sizeof r->v);
}

static const char *put(char **at, const char *s, size_t n)
{
    char *to = *at;

    memcpy(to, s, n);
    to[n] = '\0';
    *at = to + n + 1;
    return to;
}

int64_t event_add(struct event_ring *r, int64_t at_ms, const char *kind,
                  const char *subject, const char *reason, const char *text)
{
    const char *in[4] = {kind, subject, reason, text};
    size_t len[4], total = 0;
    struct event e = {.at_ms = at_ms}, *to;
    char *at;
    void *old;

    for (int i = 0; i < 4; i++) {
        if (!in[i])
            in[i] = "";
        len[i] = strlen(in[i]);
        total += len[i] + 1;
    }
    at = mem_alloc(total);
    e.kind = put(&at, in[0], len[0]); /* first: it is what gets freed */
    e.subject = put(&at, in[1], len[1]);
    e.reason = put(&at, in[2], len[2]);
    e.text = put(&at, in[3], len[3]);

    pthread_mutex_lock(&r->lock);
    e.id = r->next_id++;
    to = slot(r, e.id);
    old = (void *)to->kind;
    *to = e;
    pthread_mutex_unlock(&r->lock);
    free(old);
    if (r->on_add)
        r->on_add(r->arg);
    return e.id;
}

uint32_t event_read(struct event_ring *r, int64_t after, uint32_t max,
                    struct arena *arena, struct event **ret)
{
    struct event *out;
    int64_t id, end;
    uint32_t n = 0;

    if (max > EVENT_RING)
        max = EVENT_RING;
    pthread_mutex_lock(&r->lock);
    end = r->next_id;
    id = end > EVENT_RING ? end - EVENT_RING : 1;
    if (after >= end)
        id = end;
    else if (after >= id)
        id = after + 1;
    while (id < end && slot(r, id)->id != id)
        id++; /* the ring began with a later id */
    if (end - id < (int64_t)max)
        max = (uint32_t)(end - id);
    out = ARENA_ARRAY(arena, struct event, max);
    for (; n < max; n++, id++) {
        const struct event *e = slot(r, id);

        out[n] = *e;
        out[n].kind = arena_strdup(arena, e->kind);
        out[n].subject = arena_strdup(arena, e->subject);
        out[n].reason = arena_strdup(arena, e->reason);
        out[n].text = arena_strdup(arena, e->text);
    }
    pthread_mutex_unlock(&r->lock);
    *ret = out;
    return n;
}
