/*
 * event.c - the ring of the newest events, for listeners.
 *
 * Owns one heap block per event (its four strings, one after the other).  A reader
 * who fell behind continues with the oldest that is left.
 */
#include "event.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/hash.h"

void event_ring_init(struct event_ring *r, int64_t next_id)
{
    assert(next_id >= 0);
    memset(r, 0, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->next_id = next_id > 0 ? next_id : 1; /* 0 means "before the first" */
    r->gone_id = r->next_id - 1;
}

void event_ring_done(struct event_ring *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        free((void *)r->v[i].kind);
    pthread_mutex_destroy(&r->lock);
    memset(r->v, 0, sizeof r->v);
    r->n = 0;
}

/* The hash is keyed: nobody chooses whose events share a place with his. */
uint8_t event_cause(const char *caller)
{
    return caller && *caller
               ? (uint8_t)(1 + hash_name(caller) % (EVENT_CAUSES - 1))
               : 0;
}

static const char *put(char **at, const char *s)
{
    char *to = *at;
    size_t n = s ? strlen(s) : 0;

    memcpy(to, n ? s : "", n);
    to[n] = '\0';
    *at = to + n + 1;
    return to;
}

static size_t size_of(const char *s)
{
    return (s ? strlen(s) : 0) + 1;
}

/* The oldest of whose there are the most; its strings are returned.  Under the
 * lock. */
static void *make_room(struct event_ring *r)
{
    uint8_t most = 0;
    uint32_t i = 0;
    void *ret;

    for (uint8_t c = 1; c < EVENT_CAUSES; c++)
        if (r->of[c] > r->of[most])
            most = c;
    while (r->causes[i] != most)
        i++;
    ret = (void *)r->v[i].kind;
    r->gone_id = r->v[i].id > r->gone_id ? r->v[i].id : r->gone_id;
    r->of[most]--;
    r->n--;
    memmove(&r->v[i], &r->v[i + 1], (r->n - i) * sizeof r->v[0]);
    memmove(&r->causes[i], &r->causes[i + 1], r->n - i);
    return ret;
}

int64_t event_add_of(struct event_ring *r, uint8_t cause,
                     const struct event *what)
{
    struct event e = {.at_ms = what->at_ms};
    void *old = NULL;
    char *at = mem_alloc(size_of(what->kind) + size_of(what->subject) +
                         size_of(what->reason) + size_of(what->text));

    assert(cause < EVENT_CAUSES);
    e.kind = put(&at, what->kind); /* first: it is what gets freed */
    e.subject = put(&at, what->subject);
    e.reason = put(&at, what->reason);
    e.text = put(&at, what->text);

    pthread_mutex_lock(&r->lock);
    e.id = r->next_id++;
    if (r->n == EVENT_RING)
        old = make_room(r);
    r->v[r->n] = e;
    r->causes[r->n++] = cause;
    r->of[cause]++;
    pthread_mutex_unlock(&r->lock);
    free(old);
    if (r->on_add)
        r->on_add(r->arg);
    return e.id;
}

bool event_missed(struct event_ring *r, int64_t after)
{
    bool missed;

    pthread_mutex_lock(&r->lock);
    missed = after >= 0 && after < r->gone_id;
    pthread_mutex_unlock(&r->lock);
    return missed;
}

uint32_t event_read(struct event_ring *r, int64_t after, uint32_t max,
                    struct arena *arena, struct event **ret)
{
    struct event *out;
    uint32_t from = 0, n = 0;

    pthread_mutex_lock(&r->lock);
    while (from < r->n && r->v[from].id <= after)
        from++;
    max = max < r->n - from ? max : r->n - from;
    out = ARENA_ARRAY(arena, struct event, max);
    for (; n < max; n++) {
        const struct event *e = &r->v[from + n];

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
