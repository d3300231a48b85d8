/*
 * history.c - see history.h.
 */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- launches */

static struct asked_for *sent_find(const struct world *w, const char *id)
{
    uint32_t i;

    for (uint32_t at = 0;
         (i = hash_next_index(&w->sent_by_id, hash_text(HASH_SEED, id), &at)) !=
         UINT32_MAX;)
        if (strcmp(w->sent.v[i].id, id) == 0)
            return &w->sent.v[i];
    return NULL;
}

/* When a thread was given what leaves now: it may take that long to begin, and the
 * computer may sleep meanwhile.  Nobody can call it back. */
enum { THREAD_MS = 20 };

static int64_t handed_over(const struct world *w)
{
    int64_t then = world_now(w) - THREAD_MS;

    return w->slept_ms && then <= w->slept_ms && w->asleep_ms < then
               ? w->asleep_ms - THREAD_MS
               : then;
}

void history_sent(struct world *w, const char *request_id)
{
    struct asked_for a = {.first_ms = handed_over(w)};

    if (sent_find(w, request_id))
        return;
    snprintf(a.id, sizeof a.id, "%s", request_id);
    VEC_PUSH(NULL, &w->sent, a);
    hash_add_index(&w->sent_by_id, hash_text(HASH_SEED, a.id), w->sent.n - 1);
}

int64_t history_first(const struct world *w, const char *request_id)
{
    const struct asked_for *a = sent_find(w, request_id);

    return a ? a->first_ms : world_now(w);
}

/* ---- files */

void history_saved(struct world *w, struct config *conf)
{
    VEC_PUSH(NULL, &w->settings, ((struct settings_then){.conf = conf}));
    w->saved_ms = world_now(w);
}

void history_taken(struct world *w)
{
    struct settings_then *s = &w->settings.v[w->settings.n - 1];

    if (w->settings.n && !s->taken_ms)
        s->taken_ms = world_now(w);
}

bool history_in_force(const struct world *w, uint32_t file, int64_t since_ms)
{
    for (uint32_t i = file + 1; i < w->settings.n; i++)
        if (w->settings.v[i].taken_ms && w->settings.v[i].taken_ms <= since_ms)
            return false;
    return true;
}

/* ---- what is asked for */

void history_needed(struct world *w, uint32_t n)
{
    if (w->needed.n && w->needed.v[w->needed.n - 1].n == n)
        return;
    VEC_PUSH(NULL, &w->needed, ((struct needed_then){world_now(w), n}));
}

uint32_t history_most_needed(const struct world *w, int64_t since_ms)
{
    uint32_t most = 0;

    for (uint32_t i = w->needed.n; i-- > 0;) {
        if (w->needed.v[i].n > most)
            most = w->needed.v[i].n;
        if (w->needed.v[i].at_ms <= since_ms)
            break; /* in force then */
    }
    return most;
}

void history_free(struct world *w)
{
    for (uint32_t i = 0; i < w->settings.n; i++)
        config_free(w->settings.v[i].conf);
    free(w->settings.v);
    free(w->needed.v);
    free(w->sent.v);
    hash_done(&w->sent_by_id);
}
