/*
 * unplaced.c - see unplaced.h.
 */
#include "unplaced.h"

#include <stdio.h>
#include <string.h>

#include "../../model/amount.h"

enum {
    GRACE_MS = 2000,
    OVER_MS = 5000, /* longer than work may be in doubt (sources/lately.h) */
    AGAIN_MS = 60000,
    EARLY_MS = 30000
};

/* Something of the node type itself: it does not explain a wait when another
 * offer has something else in the way. */
static bool unfit(enum reason why)
{
    return why == REASON_LACKS || why == REASON_LABEL || why == REASON_TAINT ||
           why == REASON_QUEUE_TYPE || why == REASON_FRACTION ||
           why == REASON_NONE;
}

/* Why it waits: what stands in the way and may pass, or else what no node type
 * has. */
static enum reason unplaced_reason(const struct plan *p, uint32_t bundle)
{
    const struct plan_bundle *b = &p->bundles[bundle];
    const struct plan_refusal *r = p->refusals + b->first_refusal;

    for (uint32_t i = 0; i < b->n_refusals; i++)
        if (!unfit(r[i].why))
            return r[i].why;
    return b->n_refusals > 0 ? r[0].why : REASON_LACKS;
}

static void lacks_write(struct buf *b, const char *type, const char *resource,
                        const struct plan_refusal *r)
{
    char needs[64], has[64];

    buf_printf(b, "%s lacks %s: %s needed, %s there", type, resource,
               amount_pretty(resource, r->needs, needs, sizeof needs),
               amount_pretty(resource, r->has, has, sizeof has));
}

void unplaced_obstacles(const struct status_page *page, uint32_t bundle,
                        struct buf *b)
{
    const struct problem *s = page->now;
    const struct plan_bundle *p = &page->plan->bundles[bundle];
    const struct pb_demand *d = &s->demands[s->bundles[bundle].demand];
    const char *said = page->snapshot->demands[d->from].said;
    uint32_t n_written = 0, last = NONE;

    for (uint32_t i = 0; i < p->n_refusals && n_written < 6; i++) {
        const struct plan_refusal *r =
            &page->plan->refusals[p->first_refusal + i];
        const struct pb_type *t;
        const char *type;

        if (r->offer >= s->n_offers || s->offers[r->offer].type == last)
            continue;
        last = s->offers[r->offer].type;
        t = &s->types[last];
        type = s->str[t->name];
        buf_printf(b, "%s", n_written++ ? "; " : "");
        if (r->why == REASON_LACKS && r->column < s->n_columns)
            lacks_write(b, type, s->str[s->columns[r->column].name], r);
        else if (r->why == REASON_LABEL)
            buf_printf(b, "%s does not match %s", type, s->str[r->column]);
        else if (r->why == REASON_TAINT)
            buf_printf(b, "%s has the taint %s, which is not tolerated", type,
                       s->str[r->column]);
        else if (r->why == REASON_MAX_TYPE)
            buf_printf(b, "%s is at its max of %u", type, t->max);
        else
            buf_printf(b, "%s: %s", type, reason_text(r->why));
    }
    if (!n_written)
        buf_printf(b, "no node type could hold it");
    if (said && *said)
        buf_printf(b, "; the scheduler says: %s", said);
}

bool unplaced_is_early(const struct env *env, enum reason why)
{
    return (why == REASON_PROVIDER_DOWN || why == REASON_OFFERS_AWAITED) &&
           env->now_ms - env->started_ms < EARLY_MS;
}

static bool of_owner(const struct unplaced_note *n, const char *owner)
{
    return strncmp(n->owner, owner, sizeof n->owner - 1) == 0;
}

static uint32_t notes_of(const struct unplaced *u, const char *share)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < u->n; i++)
        n += strncmp(u->notes[i].share, share, sizeof u->notes[i].share - 1) ==
             0;
    return n;
}

/* One of whoever has the most of them, and more than this one would have; NULL.  The
 * most is known, as this is asked for each bundle that waits. */
static struct unplaced_note *note_of_most(struct unplaced *u, const char *share)
{
    if (notes_of(u, share) + 1 >= u->most)
        return NULL;
    for (uint32_t i = u->n; i-- > 0;)
        if (notes_of(u, u->notes[i].share) == u->most)
            return &u->notes[i];
    return NULL;
}

static void most_count(struct unplaced *u)
{
    u->most = 0;
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t n = notes_of(u, u->notes[i].share);

        u->most = n > u->most ? n : u->most;
    }
}

/* NULL: there is no room for it. */
static struct unplaced_note *note_get(struct unplaced *u, const char *owner,
                                      const char *share, bool infeasible,
                                      enum reason why)
{
    struct unplaced_note *n;

    for (uint32_t i = 0; i < u->n; i++) {
        n = &u->notes[i];
        if (n->infeasible == infeasible && n->why == why && of_owner(n, owner))
            return n;
    }
    n = u->n < UNPLACED_NOTES ? &u->notes[u->n++] : note_of_most(u, share);
    if (!n)
        return NULL;
    *n = (struct unplaced_note){.infeasible = infeasible, .why = why};
    snprintf(n->owner, sizeof n->owner, "%s", owner);
    snprintf(n->share, sizeof n->share, "%s", share);
    most_count(u);
    return n;
}

/* Who asked for it; of a demand source's that is its owner. */
static const char *share_of_demand(const struct status_page *page,
                                   const struct pb_demand *d)
{
    const char *by = page->snapshot->demands[d->from].asked_by;

    return by && *by ? by : page->now->str[d->owner];
}

static void notes_take(struct unplaced *u, const struct status_page *page)
{
    const struct problem *s = page->now;

    for (uint32_t i = 0; i < u->n; i++)
        u->notes[i].count = 0;
    for (uint32_t i = 0; i < s->n_bundles; i++) {
        const struct plan_bundle *p = &page->plan->bundles[i];
        const struct pb_demand *d = &s->demands[s->bundles[i].demand];
        struct unplaced_note *n;
        enum reason why;

        if (p->waiting + p->infeasible == 0)
            continue;
        why = unplaced_reason(page->plan, i);
        if (unplaced_is_early(u->env, why))
            continue;
        n = note_get(u, s->str[d->owner], share_of_demand(page, d),
                     p->infeasible > 0, why);
        if (!n)
            continue;
        if (n->count == 0)
            n->bundle = i;
        n->count += p->waiting + p->infeasible;
    }
}

static void note_emit(struct unplaced *u, const struct status_page *page,
                      struct unplaced_note *n)
{
    int64_t now = u->env->mono_ms;
    struct buf b;

    n->over_ms = 0;
    if (n->since_ms == 0)
        n->since_ms = now;
    if (n->emitted || n->why == REASON_UNCONFIRMED)
        return;
    if (n->emitted_ms && now - n->emitted_ms < AGAIN_MS) {
        env_wake_mono(u->env, n->emitted_ms + AGAIN_MS);
        return;
    }
    if (now - n->since_ms < GRACE_MS) {
        env_wake_mono(u->env, n->since_ms + GRACE_MS);
        return;
    }
    n->emitted = true;
    n->emitted_ms = now;
    buf_init(&b, 1024);
    unplaced_obstacles(page, n->bundle, &b);
    u->env->caller = n->share;
    emit(u->env, n->infeasible ? "demand.infeasible" : "demand.waits", n->owner,
         reason_code(n->why), "%u bundle%s: %s", n->count,
         n->count == 1 ? "" : "s", b.s);
    u->env->caller = NULL;
    buf_done(&b);
}

/* Has it been over for long enough to say so?  One that nobody was told of is over at
 * once. */
static bool is_over(struct unplaced *u, struct unplaced_note *n)
{
    int64_t now = u->env->mono_ms;

    if (!n->over_ms)
        n->over_ms = now;
    if (!n->emitted || now - n->over_ms >= OVER_MS)
        return true;
    env_wake_mono(u->env, n->over_ms + OVER_MS);
    return false;
}

static bool owner_waits(const struct unplaced *u, const char *owner)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (u->notes[i].count > 0 && of_owner(&u->notes[i], owner))
            return true;
    return false;
}

void unplaced_emit(struct unplaced *u, const struct status_page *page)
{
    uint32_t kept = 0;

    notes_take(u, page);
    for (uint32_t i = 0; i < u->n; i++) {
        struct unplaced_note *n = &u->notes[i];

        if (n->count > 0) {
            note_emit(u, page, n);
            continue;
        }
        if (!is_over(u, n))
            continue;
        n->since_ms = 0;
        u->env->caller = n->share;
        if (n->emitted && !owner_waits(u, n->owner))
            emit(u->env, "demand.placed", n->owner, "",
                 "nothing of it waits now");
        u->env->caller = NULL;
        n->emitted = false;
    }
    for (uint32_t i = 0; i < u->n; i++)
        if (u->notes[i].count > 0 || u->notes[i].emitted ||
            (u->notes[i].emitted_ms &&
             u->env->mono_ms - u->notes[i].emitted_ms < AGAIN_MS))
            u->notes[kept++] = u->notes[i];
    u->n = kept;
}
