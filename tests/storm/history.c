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

/* When a thread was given what leaves now; the computer may sleep meanwhile. */
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

/* The provider whose cloud that is; NULL: the file has none. */
static const struct conf_provider *provider_of(const struct config *c,
                                               const char *cloud)
{
    for (uint32_t i = 0; i < c->n_providers; i++)
        for (uint32_t k = 0; k < c->providers[i].n_options; k++)
            if (strcmp(c->providers[i].options[k].key, "cloud") == 0 &&
                strcmp(c->providers[i].options[k].value, cloud) == 0)
                return &c->providers[i];
    return NULL;
}

static bool has_type(const struct config *c, const struct conf_type *t)
{
    for (uint32_t i = 0; i < c->n_types; i++)
        if (strcmp(c->types[i].fact.name, t->fact.name) == 0 &&
            strcmp(c->types[i].hash, t->hash) == 0)
            return true;
    return false;
}

/* Does the other file have all types of that provider, made the same way? */
static bool has_types(const struct config *other, const struct config *c,
                      const char *provider)
{
    bool all = true;

    for (uint32_t i = 0; all && i < c->n_types; i++)
        all = strcmp(c->types[i].fact.provider, provider) != 0 ||
              has_type(other, &c->types[i]);
    return all;
}

bool history_same(const struct world *w, uint32_t file, uint32_t other,
                  const char *cloud)
{
    const struct config *a = w->settings.v[file].conf;
    const struct config *b = w->settings.v[other].conf;
    const struct conf_provider *x = provider_of(a, cloud);
    const struct conf_provider *y = provider_of(b, cloud);

    if (!x || !y)
        return x == y;
    return strcmp(x->name, y->name) == 0 && has_types(a, b, x->name) &&
           has_types(b, a, x->name);
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
