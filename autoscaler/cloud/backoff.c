/*
 * rests.c - who is left alone after a failure, and for how long.
 *
 *   STOCKOUT   the offer      60 s, doubling to 30 min
 *   QUOTA      the offer      room: half of what was asked, down to none;
 *                             then 120 s, doubling to 1 h
 *   INVALID    the node type  until reload
 *   RETRY      the offer      1 s, doubling to 60 s (the provider without one)
 *   BROKEN     the provider   1 s, doubling to 60 s
 *   THROTTLED  the provider   what it tells, else 2 s, doubling to 2 min
 *   AUTH       the provider   until reload
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/snapshot.h"
#include "inside.h"

#define RETRY_AFTER_MAX_MS (3600 * INT64_C(1000))
#define ROOM_HOLDS_MS (600 * INT64_C(1000))
#define FAILURE_TOLD_MS (3600 * INT64_C(1000))  /* the longest rest */

enum scope { SCOPE_NONE, SCOPE_OFFER, SCOPE_TYPE, SCOPE_PROVIDER };

struct rule {
    enum scope scope;
    int64_t first_ms, max_ms;   /* 0: until reload */
};

static const struct rule rules[ST_COUNT] = {
    [ST_RETRY] = {SCOPE_OFFER, 1000, 60 * 1000},
    [ST_THROTTLED] = {SCOPE_PROVIDER, 2000, 120 * 1000},
    [ST_STOCKOUT] = {SCOPE_OFFER, 60 * 1000, 1800 * 1000},
    [ST_QUOTA] = {SCOPE_OFFER, 120 * 1000, 3600 * 1000},
    [ST_AUTH] = {SCOPE_PROVIDER, 0, 0},
    [ST_INVALID] = {SCOPE_TYPE, 0, 0},
    [ST_BROKEN] = {SCOPE_PROVIDER, 1000, 60 * 1000},
    /* OK, NOT_FOUND, CANCELLED, UNSUPPORTED say nothing about it. */
};

struct record {
    struct rest rest;           /* first: handed out */
    enum scope scope;
    uint64_t key;
    int64_t room_until_ms;      /* of a QUOTA that only lowered the room */
    bool in_use;
};

struct backoffs {
    struct record *v[1024];     /* stable addresses; more offers than this have
                                 * never failed at once */
    uint32_t n;
};

/* FNV-1a; only to tell records apart quickly, names are compared too. */
static uint64_t hashed(uint64_t h, const char *s)
{
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return (h ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t key_of(enum scope scope, const char *provider,
                       const char *type, const char *zone, bool spot)
{
    uint64_t h = hashed(UINT64_C(0xcbf29ce484222325) + scope, provider);
    if (scope == SCOPE_PROVIDER)
        return h;
    h = hashed(h, type);
    return scope == SCOPE_TYPE ? h : hashed(h, zone) + spot;
}

static bool fits_name(const char *kept, const char *name, size_t size)
{
    return strncmp(kept, name, size - 1) == 0;
}

static bool same(const struct record *r, enum scope scope, uint64_t key,
                 const char *provider, const char *type, const char *zone,
                 bool spot)
{
    if (!r->in_use || r->key != key || r->scope != scope ||
        !fits_name(r->rest.provider, provider, sizeof r->rest.provider))
        return false;
    if (scope == SCOPE_PROVIDER)
        return true;
    if (!fits_name(r->rest.type, type, sizeof r->rest.type))
        return false;
    return scope == SCOPE_TYPE ||
           (fits_name(r->rest.zone, zone, sizeof r->rest.zone) &&
            r->rest.spot == spot);
}

static struct record *record_find(const struct backoffs *r, enum scope scope,
                                  const char *provider, const char *type,
                                  const char *zone, bool spot)
{
    uint64_t key = key_of(scope, provider, type, zone, spot);
    for (uint32_t i = 0; i < r->n; i++)
        if (same(r->v[i], scope, key, provider, type, zone, spot))
            return r->v[i];
    return NULL;
}

struct backoffs *backoffs_new(void)
{
    struct backoffs *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    return r;
}

void backoffs_forget_all(struct backoffs *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        r->v[i]->in_use = false;
}

void backoffs_free(struct backoffs *r)
{
    for (uint32_t i = 0; r && i < r->n; i++)
        free(r->v[i]);
    free(r);
}

/* A free record, or the one whose rest ends first: forgetting that is the
 * least harm. */
static struct record *record_free(struct backoffs *r)
{
    struct record *oldest = NULL;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!r->v[i]->in_use)
            return r->v[i];
        if (!oldest || r->v[i]->rest.until_ms < oldest->rest.until_ms)
            oldest = r->v[i];
    }
    if (r->n == sizeof r->v / sizeof *r->v)
        return oldest;
    struct record *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        abort();
    r->v[r->n++] = fresh;
    return fresh;
}

static struct record *record_get(struct backoffs *r, enum scope scope,
                                 const char *provider, const char *type,
                                 const char *zone, bool spot)
{
    struct record *f = record_find(r, scope, provider, type, zone, spot);
    if (f)
        return f;
    f = record_free(r);
    *f = (struct record){.scope = scope, .in_use = true,
                         .key = key_of(scope, provider, type, zone, spot)};
    f->rest.room = UNLIMITED;
    snprintf(f->rest.provider, sizeof f->rest.provider, "%s", provider);
    if (scope != SCOPE_PROVIDER)
        snprintf(f->rest.type, sizeof f->rest.type, "%s", type);
    if (scope == SCOPE_OFFER) {
        snprintf(f->rest.zone, sizeof f->rest.zone, "%s", zone);
        f->rest.spot = spot;
    }
    return f;
}

/* The n-th rest in a row: doubled each time, never past the most. */
static int64_t delay_of(const struct rule *rule, uint32_t n)
{
    int64_t d = rule->first_ms;
    while (--n > 0 && d < rule->max_ms)
        d *= 2;
    return d < rule->max_ms ? d : rule->max_ms;
}

/* Up to an eighth more, so that daemons throttled together part; the same each
 * time, so that tests and replays agree. */
static int64_t jittered(const struct record *f, int64_t ms)
{
    uint64_t h = f->key + f->rest.failures * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return ms + (int64_t)((h >> 40) % (uint64_t)(ms / 8 + 1));
}

static void rest_begin(struct record *f, const struct err *e, int64_t now_ms)
{
    const struct rule *rule = &rules[e->status];
    struct rest *t = &f->rest;
    bool resting = now_ms < t->until_ms;
    bool again = resting && t->why == e->status;
    if (t->until_ms == INT64_MAX)
        return;
    t->why = e->status;
    snprintf(t->text, sizeof t->text, "%.*s", (int)sizeof t->text - 1,
             e->text);
    /* Calls that were under way together fail together: that is one failure,
     * not five, and the rest neither grows nor starts anew. */
    if (!resting)
        t->failures++;
    t->failed_ms = now_ms;
    if (rule->first_ms == 0) {
        t->delay_ms = t->until_ms = INT64_MAX;
        return;
    }
    int64_t delay = delay_of(rule, t->failures);
    if (e->status == ST_THROTTLED) {
        int64_t told = e->retry_after_ms;
        if (told > delay)
            delay = told < RETRY_AFTER_MAX_MS ? told : RETRY_AFTER_MAX_MS;
        delay = jittered(f, delay);
    }
    if (again && e->retry_after_ms == 0)
        return;
    if (now_ms + delay > t->until_ms) {
        t->delay_ms = delay;
        t->until_ms = now_ms + delay;
    }
}

static struct record *offer_find(const struct backoffs *r, const char *provider,
                                 const char *type, const char *zone, bool spot)
{
    return type[0] == '\0'
               ? NULL
               : record_find(r, SCOPE_OFFER, provider, type, zone, spot);
}

/* A good answer forgives a provider that has been quiet for as long as it
 * rested: its lists go well between two throttled launches, and must not keep
 * the rest from growing.  An offer's rest runs out: whoever launched before it
 * began may still be told yes, and many clouds say yes to any launch. */
static void forgive(struct backoffs *r, const char *provider, int64_t now_ms)
{
    struct record *f = record_find(r, SCOPE_PROVIDER, provider, "", "", false);

    if (f && f->rest.until_ms != INT64_MAX &&
        now_ms >= f->rest.until_ms + f->rest.delay_ms)
        f->in_use = false;
}

/* A quota with room for one refuses eight: halve before resting. */
static bool room_lowered(struct record *f, const struct err *e, uint32_t asked,
                         uint32_t got, int64_t now_ms)
{
    struct rest *t = &f->rest;
    bool lowered = now_ms < f->room_until_ms;
    if (asked < 2 || got > 0 || now_ms < t->until_ms) {
        t->room = 0;
        f->room_until_ms = 0;  /* from now on the rest holds, then no limit */
        return false;
    }
    uint32_t half = asked / 2;
    t->room = lowered && t->room < half ? t->room : half;
    t->why = ST_QUOTA;
    snprintf(t->text, sizeof t->text, "%.*s", (int)sizeof t->text - 1,
             e->text);
    f->room_until_ms = now_ms + ROOM_HOLDS_MS;
    return true;
}

const struct rest *backoffs_note_launch(struct backoffs *r, const char *provider,
                                     const char *type, const char *zone,
                                     bool spot, uint32_t asked, uint32_t got,
                                     const struct err *e, int64_t now_ms)
{
    assert(e->status < ST_COUNT);
    enum scope scope = rules[e->status].scope;
    if (e->status == ST_OK)
        forgive(r, provider, now_ms);
    if (scope == SCOPE_NONE)
        return NULL;
    if (type[0] == '\0')
        scope = SCOPE_PROVIDER;
    struct record *f = record_get(r, scope, provider, type, zone, spot);
    if (e->status == ST_QUOTA && scope == SCOPE_OFFER) {
        if (room_lowered(f, e, asked, got, now_ms))
            return &f->rest;
    } else if (f->rest.until_ms <= now_ms) {
        f->rest.room = UNLIMITED;
    }
    rest_begin(f, e, now_ms);
    return &f->rest;
}

void backoffs_joined(struct backoffs *r, const char *provider, const char *type,
                  const char *zone, bool spot, int64_t launched_ms,
                  int64_t now_ms)
{
    struct record *f = offer_find(r, provider, type, zone, spot);

    /* What was launched before the failure says nothing about it. */
    if (!f || launched_ms <= f->rest.failed_ms)
        return;
    f->rest.failures = 0;
    f->rest.failed_ms = 0;
    f->in_use = now_ms < f->room_until_ms;
}

int64_t backoffs_failed_ms(const struct backoffs *r, const char *provider,
                        const char *type, const char *zone, bool spot,
                        int64_t now_ms)
{
    const struct record *f = offer_find(r, provider, type, zone, spot);

    return f && now_ms - f->rest.failed_ms < FAILURE_TOLD_MS
               ? f->rest.failed_ms
               : 0;
}

const struct rest *backoffs_note(struct backoffs *r, const char *provider,
                              const char *type, const char *zone, bool spot,
                              const struct err *e, int64_t now_ms)
{
    return backoffs_note_launch(r, provider, type, zone, spot, 0, 0, e, now_ms);
}

static bool in_force(const struct record *f, int64_t now_ms)
{
    return f->in_use &&
           (now_ms < f->rest.until_ms ||
            (f->rest.room != UNLIMITED && now_ms < f->room_until_ms));
}

const struct rest *backoffs_find(const struct backoffs *r, const char *provider,
                              const char *type, const char *zone, bool spot,
                              int64_t now_ms)
{
    const struct record *best = NULL;
    for (enum scope s = SCOPE_PROVIDER; s > SCOPE_NONE; s--) {
        if (s != SCOPE_PROVIDER && type[0] == '\0')
            break;
        const struct record *f =
            record_find(r, s, provider, type, zone, spot);
        if (f && in_force(f, now_ms) &&
            (!best || f->rest.until_ms > best->rest.until_ms))
            best = f;
    }
    return best ? &best->rest : NULL;
}

void backoffs_each(const struct backoffs *r, int64_t now_ms,
                void (*each)(void *arg, const struct rest *rest), void *arg)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (in_force(r->v[i], now_ms))
            each(arg, &r->v[i]->rest);
}
