/*
 * backoff.c - see backoff.h.
 *
 *   STOCKOUT   the offer      60 s, doubling to 30 min
 *   NOT_FOUND  the offer      the same: what it is made of is not there
 *   QUOTA      the offer      room: half of what was asked, down to none;
 *                             then 120 s, doubling to 1 h
 *   INVALID    the node type  5 min, doubling to 1 h
 *   RETRY      the offer      1 s, doubling to 60 s (the provider without one)
 *   BROKEN     the provider   1 s, doubling to 60 s
 *   THROTTLED  the provider   what it asks for, else 2 s, doubling to 2 min
 *   AUTH       the provider   30 s, doubling to 10 min
 *   a machine of no use: the offer, 10 s, four times as long each, to 4 h
 */
#include "backoff.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/digest.h"
#include "../base/hash.h"
#include "../model/snapshot.h"

#define RETRY_AFTER_MAX_MS (3600 * INT64_C(1000))
#define ROOM_HOLDS_MS (600 * INT64_C(1000))
#define FAILURE_KEPT_MS (3600 * INT64_C(1000)) /* the longest delay */
#define LIFE_FIRST_MS (10 * INT64_C(1000))
#define LIFE_MOST_MS (4 * 3600 * INT64_C(1000))

enum { RECORDS_MAX = 1024 }; /* more have never failed at once */
enum scope { SCOPE_NONE, SCOPE_OFFER, SCOPE_TYPE, SCOPE_PROVIDER };

struct rule {
    enum scope scope;
    int64_t first_ms, max_ms;
};

static const struct rule rules[ST_COUNT] = {
    [ST_RETRY] = {SCOPE_OFFER, 1000, 60 * 1000},
    [ST_THROTTLED] = {SCOPE_PROVIDER, 2000, 120 * 1000},
    [ST_STOCKOUT] = {SCOPE_OFFER, 60 * 1000, 1800 * 1000},
    [ST_QUOTA] = {SCOPE_OFFER, 120 * 1000, 3600 * 1000},
    [ST_AUTH] = {SCOPE_PROVIDER, 30 * 1000, 600 * 1000},
    [ST_INVALID] = {SCOPE_TYPE, 300 * 1000, 3600 * 1000},
    [ST_BROKEN] = {SCOPE_PROVIDER, 1000, 60 * 1000},
    [ST_NOT_FOUND] = {SCOPE_OFFER, 60 * 1000, 1800 * 1000},
    [ST_UNSUPPORTED] = {SCOPE_OFFER, 60 * 1000, 1800 * 1000},
    /* OK and CANCELLED, which is our own doing, say nothing about it.  Every
     * other answer is a refusal: without a rule it would be asked again at
     * once, for ever. */
};

struct record {
    struct backoff backoff; /* first: handed out; its strings are ours */
    enum scope scope;
    uint64_t hash;
    int64_t room_until_ms; /* of a QUOTA that only lowered the room */
    int64_t life_until_ms; /* how long one that was of no use makes it wait */
};

struct backoffs {
    struct hash by_key;
    VEC(struct record *) all; /* on the heap, oldest first */
};

/* ---- records */

/* What of an offer a back-off of this scope is about. */
static struct offer_key scope_key(enum scope scope, struct offer_key k)
{
    switch (scope) {
    case SCOPE_PROVIDER: return (struct offer_key){k.provider, "", "", false};
    case SCOPE_TYPE: return (struct offer_key){k.provider, k.type, "", false};
    default: return k;
    }
}

static uint64_t scope_hash(enum scope scope, struct offer_key k)
{
    return hash_number(offer_key_hash(k), scope);
}

static struct record *record_find(const struct backoffs *b, enum scope scope,
                                  struct offer_key of)
{
    struct offer_key k = scope_key(scope, of);
    uint64_t h = scope_hash(scope, k);
    struct record *r;

    for (uint32_t at = 0; (r = hash_next(&b->by_key, h, &at));)
        if (r->scope == scope && offer_key_equal(r->backoff.of, k))
            return r;
    return NULL;
}

static void record_free(struct record *r)
{
    free((char *)r->backoff.of.provider);
    free((char *)r->backoff.of.type);
    free((char *)r->backoff.of.zone);
    free(r);
}

static void record_forget(struct backoffs *b, struct record *r)
{
    uint32_t i = 0;

    while (b->all.v[i] != r)
        i++;
    b->all.n--;
    memmove(b->all.v + i, b->all.v + i + 1,
            (b->all.n - i) * sizeof(struct record *));
    hash_remove(&b->by_key, r->hash, r);
    record_free(r);
}

/* The one that ends first: forgetting that is the least harm. */
static struct record *record_soonest(const struct backoffs *b)
{
    struct record *soonest = b->all.v[0];

    for (uint32_t i = 1; i < b->all.n; i++)
        if (b->all.v[i]->backoff.until_ms < soonest->backoff.until_ms)
            soonest = b->all.v[i];
    return soonest;
}

static struct record *record_get(struct backoffs *b, enum scope scope,
                                 struct offer_key of)
{
    struct offer_key k = scope_key(scope, of);
    struct record *r = record_find(b, scope, of);

    if (r)
        return r;
    if (b->all.n == RECORDS_MAX)
        record_forget(b, record_soonest(b));
    r = MEM_NEW(struct record);
    r->scope = scope;
    r->hash = scope_hash(scope, k);
    r->backoff.room = UNLIMITED;
    r->backoff.of = (struct offer_key){
        mem_strdup(k.provider), mem_strdup(k.type), mem_strdup(k.zone), k.spot};
    VEC_PUSH(NULL, &b->all, r);
    hash_add(&b->by_key, r->hash, r);
    return r;
}

struct backoffs *backoffs_new(void)
{
    return MEM_NEW(struct backoffs);
}

void backoffs_forget_all(struct backoffs *b)
{
    for (uint32_t i = 0; i < b->all.n; i++)
        record_free(b->all.v[i]);
    b->all.n = 0;
    hash_clear(&b->by_key);
}

void backoffs_free(struct backoffs *b)
{
    if (!b)
        return;
    backoffs_forget_all(b);
    hash_done(&b->by_key);
    free(b->all.v);
    free(b);
}

/* ---- noting */

/* The n-th delay in a row: doubled each time, never past the limit. */
static int64_t delay_of(const struct rule *rule, uint32_t n)
{
    int64_t d = rule->first_ms;

    while (--n > 0 && d < rule->max_ms)
        d *= 2;
    return d < rule->max_ms ? d : rule->max_ms;
}

/* Up to an eighth more, so that daemons throttled together part; the same each
 * time, so that tests and replays agree. */
static int64_t jittered(const struct record *r, int64_t ms)
{
    const struct offer_key *of = &r->backoff.of;
    uint64_t h = digest_text(DIGEST_SEED, of->provider);

    h = digest_text(digest_text(h, of->type), of->zone);
    h = digest_number(digest_number(h, of->spot), r->scope);
    h = digest_number(h, r->backoff.failures);

    return ms + (int64_t)((h >> 24) % (uint64_t)(ms / 8 + 1));
}

static void backoff_begin(struct record *r, const struct err *e, int64_t now_ms)
{
    const struct rule *rule = &rules[e->status];
    struct backoff *x = &r->backoff;
    bool in_force = now_ms < x->until_ms;
    bool again = in_force && x->why == e->status;
    int64_t delay;

    /* Calls that were under way together fail together: that is one failure,
     * not five, and the delay neither grows nor starts anew. */
    if (!in_force)
        x->failures++;
    x->failed_ms = now_ms;
    delay = delay_of(rule, x->failures);
    if (e->status == ST_THROTTLED) {
        if (e->retry_after_ms > delay)
            delay = e->retry_after_ms < RETRY_AFTER_MAX_MS ? e->retry_after_ms
                                                           : RETRY_AFTER_MAX_MS;
        delay = jittered(r, delay);
    }
    if (in_force &&
        (now_ms + delay <= x->until_ms || (again && e->retry_after_ms == 0)))
        return; /* the worse one stands */
    x->why = e->status;
    snprintf(x->text, sizeof x->text, "%.*s", (int)sizeof x->text - 1, e->text);
    x->delay_ms = delay;
    x->until_ms = now_ms + delay;
}

/* A provider's lists go well between two throttled launches, and must not keep
 * its delay from growing: only a longer quiet counts.  An offer's back-off just
 * runs out: a launch sent before it began may still succeed, and many
 * clouds say yes to any launch. */
static void provider_answered(struct backoffs *b, struct offer_key of,
                              int64_t now_ms)
{
    struct record *r = record_find(b, SCOPE_PROVIDER, of);

    if (r && now_ms >= r->backoff.until_ms + r->backoff.delay_ms)
        record_forget(b, r);
}

/* A quota with room for one refuses eight: halve before backing off. */
static bool room_lowered(struct record *r, const struct err *e, uint32_t asked,
                         uint32_t got, int64_t now_ms)
{
    struct backoff *x = &r->backoff;
    bool lowered = now_ms < r->room_until_ms;
    uint32_t half = asked / 2;

    if (asked < 2 || got > 0 || now_ms < x->until_ms) {
        x->room = 0;
        r->room_until_ms = 0; /* first the delay holds, then no limit */
        return false;
    }
    x->room = lowered && x->room < half ? x->room : half;
    x->why = ST_QUOTA;
    snprintf(x->text, sizeof x->text, "%.*s", (int)sizeof x->text - 1, e->text);
    r->room_until_ms = now_ms + ROOM_HOLDS_MS;
    return true;
}

const struct backoff *backoffs_note_launch(struct backoffs *b,
                                           struct offer_key of, uint32_t asked,
                                           uint32_t got, const struct err *e,
                                           int64_t now_ms)
{
    assert(e->status < ST_COUNT);
    enum scope scope = rules[e->status].scope;
    struct record *r;

    if (e->status == ST_OK)
        provider_answered(b, of, now_ms);
    assert(scope != SCOPE_NONE || e->status == ST_OK ||
           e->status == ST_CANCELLED);
    if (scope == SCOPE_NONE)
        return NULL;
    r = record_get(b, *of.type ? scope : SCOPE_PROVIDER, of);
    if (e->status == ST_QUOTA && r->scope == SCOPE_OFFER) {
        if (room_lowered(r, e, asked, got, now_ms))
            return &r->backoff;
    } else if (r->backoff.until_ms <= now_ms) {
        r->backoff.room = UNLIMITED;
    }
    backoff_begin(r, e, now_ms);
    return &r->backoff;
}

const struct backoff *backoffs_note_life(struct backoffs *b,
                                         struct offer_key of,
                                         const struct err *e, int64_t now_ms)
{
    struct record *r = record_get(b, SCOPE_OFFER, of);
    struct backoff *x = &r->backoff;
    int64_t delay = LIFE_FIRST_MS;

    /* Those that were bought together fail together: that is one. */
    if (now_ms >= r->life_until_ms)
        x->lives++;
    for (uint32_t i = 1; i < x->lives && delay < LIFE_MOST_MS; i++)
        delay *= 4;
    if (delay > LIFE_MOST_MS)
        delay = LIFE_MOST_MS;
    x->life_ms = now_ms;
    x->failures++;
    x->failed_ms = now_ms;
    x->why = e->status;
    snprintf(x->text, sizeof x->text, "%.*s", (int)sizeof x->text - 1, e->text);
    if (now_ms + delay > x->until_ms) {
        x->delay_ms = delay;
        x->until_ms = now_ms + delay;
    }
    if (now_ms + delay > r->life_until_ms)
        r->life_until_ms = now_ms + delay;
    return x;
}

void backoffs_joined(struct backoffs *b, struct offer_key of,
                     int64_t launched_ms, int64_t now_ms)
{
    struct record *r = record_find(b, SCOPE_OFFER, of);

    /* What was launched before the failure says nothing about it. */
    if (!r || launched_ms <= r->backoff.failed_ms)
        return;
    r->backoff.failures = 0;
    r->backoff.failed_ms = 0;
    if (now_ms >= r->room_until_ms && !r->backoff.lives)
        record_forget(b, r);
}

/* Its launch was after the last of those that were of no use ended. */
void backoffs_lived(struct backoffs *b, struct offer_key of,
                    int64_t launched_ms)
{
    struct record *r = record_find(b, SCOPE_OFFER, of);

    if (r && launched_ms > r->backoff.life_ms)
        r->backoff.lives = 0;
}

/* What is left of a record when all but its useless machines is forgotten. */
static bool lives_left(struct record *r)
{
    if (!r->backoff.lives)
        return false;
    if (r->backoff.until_ms > r->life_until_ms)
        r->backoff.until_ms = r->life_until_ms;
    r->backoff.room = UNLIMITED;
    r->room_until_ms = 0;
    return true;
}

void backoffs_forget(struct backoffs *b, const struct backoffs_forgotten *f)
{
    for (uint32_t i = b->all.n; i-- > 0;) {
        struct record *r = b->all.v[i];

        if (f->provider && strcmp(r->backoff.of.provider, f->provider) != 0)
            continue;
        if (f->auth && r->backoff.why != ST_AUTH)
            continue;
        if (f->lives || !lives_left(r))
            record_forget(b, r);
    }
}

/* ---- asking */

int64_t backoffs_failed_ms(const struct backoffs *b, struct offer_key of,
                           int64_t now_ms)
{
    const struct record *r = record_find(b, SCOPE_OFFER, of);

    return r && (now_ms < r->backoff.until_ms ||
                 now_ms - r->backoff.failed_ms < FAILURE_KEPT_MS)
               ? r->backoff.failed_ms
               : 0;
}

static bool in_force(const struct record *r, int64_t now_ms)
{
    return now_ms < r->backoff.until_ms ||
           (r->backoff.room != UNLIMITED && now_ms < r->room_until_ms);
}

const struct backoff *backoffs_find(const struct backoffs *b,
                                    struct offer_key of, int64_t now_ms)
{
    const struct backoff *best = NULL;

    for (enum scope s = SCOPE_PROVIDER; s > SCOPE_NONE; s--) {
        const struct record *r = record_find(b, s, of);

        if (r && in_force(r, now_ms) &&
            (!best || r->backoff.until_ms > best->until_ms))
            best = &r->backoff;
    }
    return best;
}

int64_t backoffs_change_ms(const struct backoffs *b, int64_t now_ms)
{
    int64_t first = INT64_MAX;

    for (uint32_t i = 0; i < b->all.n; i++) {
        const struct record *r = b->all.v[i];
        const int64_t at[] = {r->backoff.until_ms, r->room_until_ms,
                              r->backoff.failed_ms + FAILURE_KEPT_MS};

        for (size_t k = 0; k < sizeof at / sizeof *at; k++)
            if (at[k] > now_ms && at[k] < first)
                first = at[k];
    }
    return first;
}

void backoffs_rows(const struct backoffs *b,
                   void (*each)(void *arg, const struct backoff *x), void *arg)
{
    for (uint32_t i = 0; i < b->all.n; i++)
        if (b->all.v[i]->backoff.lives)
            each(arg, &b->all.v[i]->backoff);
}

void backoffs_each(const struct backoffs *b, int64_t now_ms,
                   void (*each)(void *arg, const struct backoff *x), void *arg)
{
    for (uint32_t i = 0; i < b->all.n; i++)
        if (in_force(b->all.v[i], now_ms))
            each(arg, &b->all.v[i]->backoff);
}
