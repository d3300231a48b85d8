/*
 * traffic.c - see traffic.h.
 *
 * Clouds limit calls a minute, so calls a minute is what is kept: of the last
 * sixty seconds, and the most there has been.
 */
#include "traffic.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "inside.h"

enum { MINUTE = 60, COUNTS_MAX = 128, OTHER = 999 };

struct traffic_line {
    struct traffic_line *next;
    char *provider;
    struct recording *recording; /* NULL: live */
    pthread_mutex_t lock;        /* of the rest */
    struct {
        char method[17];
        int code;
        uint64_t n;
    } counts[COUNTS_MAX];
    uint32_t n_counts;
    uint32_t seconds[MINUTE]; /* exchanges in each of the last ones */
    int64_t second;           /* the newest of them */
    uint32_t minute, most;    /* sum of seconds; its most so far */
};

struct traffic {
    enum traffic_mode mode;
    char *dir;
    struct traffic_line *lines;
};

struct traffic *traffic_new(enum traffic_mode mode, const char *dir)
{
    struct traffic *t = MEM_NEW(struct traffic);

    t->dir = mem_strdup(dir);
    t->mode = mode;
    return t;
}

void traffic_free(struct traffic *t)
{
    if (!t)
        return;
    for (struct traffic_line *l = t->lines, *next; l; l = next) {
        next = l->next;
        recording_free(l->recording);
        pthread_mutex_destroy(&l->lock);
        free(l->provider);
        free(l);
    }
    free(t->dir);
    free(t);
}

static struct traffic_line *line_find(const struct traffic *t,
                                      const char *provider)
{
    struct traffic_line *l = t->lines;
    while (l && strcmp(l->provider, provider) != 0)
        l = l->next;
    return l;
}

enum status traffic_join(struct traffic *t, struct provider *p, struct err *err)
{
    struct traffic_line *l = line_find(t, p->name);
    struct recording *recording = NULL;
    enum status s = ST_OK;
    if (!l) {
        if (t->mode == TRAFFIC_RECORD)
            s = recording_open(t->dir, p->name, &recording, err);
        else if (t->mode == TRAFFIC_REPLAY)
            s = recording_replay(t->dir, p->name, &recording, err);
        if (s != ST_OK)
            return s;
        l = MEM_NEW(struct traffic_line);
        l->provider = mem_strdup(p->name);
        pthread_mutex_init(&l->lock, NULL);
        l->recording = recording;
        l->next = t->lines;
        t->lines = l;
    }
    p->line = l;
    return ST_OK;
}

/* The lock is held: seconds that have passed are forgotten. */
static void minute_move(struct traffic_line *l)
{
    int64_t now = clock_mono_ms() / 1000;
    int64_t passed = now - l->second;
    for (int64_t i = 1; i <= passed && i <= MINUTE; i++) {
        uint32_t *slot = &l->seconds[(l->second + i) % MINUTE];
        l->minute -= *slot;
        *slot = 0;
    }
    l->second = now;
}

void traffic_note(struct traffic_line *l, const char *method, int code)
{
    uint32_t i = 0;
    pthread_mutex_lock(&l->lock);
    minute_move(l);
    l->seconds[l->second % MINUTE]++;
    if (++l->minute > l->most)
        l->most = l->minute;
    while (i < l->n_counts && (l->counts[i].code != code ||
                               strcmp(l->counts[i].method, method) != 0))
        i++;
    if (i == COUNTS_MAX) { /* a cloud of many moods: its last place */
        i = COUNTS_MAX - 1;
        l->counts[i].code = OTHER;
    } else if (i == l->n_counts) {
        l->n_counts++;
        l->counts[i].code = code;
        strncpy(l->counts[i].method, method, sizeof l->counts[i].method - 1);
    }
    l->counts[i].n++;
    pthread_mutex_unlock(&l->lock);
}

void traffic_sum(struct traffic *t, const char *provider, struct arena *a,
                 struct traffic_sum *ret)
{
    struct traffic_line *l = line_find(t, provider);
    *ret = (struct traffic_sum){0};
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    minute_move(l);
    struct traffic_count *v = ARENA_ARRAY(a, struct traffic_count,
                                          l->n_counts + 1);
    for (uint32_t i = 0; i < l->n_counts; i++)
        v[i] = (struct traffic_count){arena_strdup(a, l->counts[i].method),
                                      l->counts[i].code, l->counts[i].n};
    *ret = (struct traffic_sum){v, l->n_counts, l->minute, l->most};
    pthread_mutex_unlock(&l->lock);
}

const char *traffic_request_id(struct traffic *t, struct offer_key offer)
{
    struct traffic_line *l = t->mode == TRAFFIC_REPLAY
                                 ? line_find(t, offer.provider)
                                 : NULL;
    return l ? recording_request_id(l->recording, offer) : NULL;
}

enum status traffic_do(struct traffic_line *l, struct recording_call *call,
                       struct http_client *c, struct http_exchange *x,
                       struct arena *arena, struct err *err)
{
    return l->recording ? recording_do(l->recording, call, c, x, arena, err)
                        : http_do(c, x, arena, err);
}

int64_t traffic_behind_ms(const struct traffic_line *l)
{
    return l->recording ? recording_behind_ms(l->recording) : 0;
}
