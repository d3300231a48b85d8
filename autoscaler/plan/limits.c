/*
 * limits.c - counting towards the limits.
 */
#include "limits.h"

enum { FIRST_STEP = 5 }; /* upscaling_speed lets at least so many start */

bool limits_counts_for_type(const struct pb_node *n)
{
    return !n->unmanaged && n->state != STATE_STOPPING &&
           n->state != STATE_GONE;
}

bool limits_counts(const struct pb_node *n)
{
    return limits_counts_for_type(n) && !n->head;
}

bool limits_must_keep(const struct problem *s, const struct pb_node *n)
{
    return n->hold != REASON_NONE &&
           (n->hold_until_ms == 0 || n->hold_until_ms > s->now_ms);
}

static bool outdated(const struct problem *s, const struct pb_node *n)
{
    return s->limits.end_outdated && !n->head && !n->unmanaged &&
           (n->outdated || n->type == NONE);
}

bool limits_must_go(const struct problem *s, const struct pb_node *n)
{
    return outdated(s, n) || (n->asked_to_end && !n->head && !n->unmanaged);
}

/* From the moment its launch leaves until it is known to have gone. */
static bool billed(const struct pb_node *n)
{
    return !n->unmanaged && n->state != STATE_GONE;
}

bool limits_gives_room(const struct problem *s, const struct pb_node *n)
{
    if (n->state == STATE_STOPPING || n->state == STATE_GONE ||
        n->hold == REASON_KEEP_UNANSWERED || n->hold == REASON_KEEP_ANOTHERS ||
        (n->hold == REASON_KEEP_ORPHAN && n->template_room))
        return false; /* nobody sees what is there */
    if (n->state != STATE_DRAINING)
        return true;
    /* node.hold marks a drain that cannot be taken back. */
    return !limits_must_go(s, n) && !n->unmanaged &&
           !(limits_must_keep(s, n) && (n->hold == REASON_KEEP_DRAINING ||
                                        n->hold == REASON_KEEP_STOPPING));
}

void limits_count(struct candidate *d, const struct pb_node *n,
                  enum leaving ended)
{
    if (!billed(n))
        return;
    if (n->type != NONE) {
        d->type_count[n->type]++;
        d->type_ended[n->type] += ended != LEAVES_NOT;
        if (limits_starting(n))
            d->type_starting[n->type]++;
        else if (n->state != STATE_STOPPING)
            d->type_ready[n->type]++;
    }
    if (n->head)
        return;
    d->nodes++;
    d->starting += limits_starting(n);
    if (n->price_micros_hour > 0)
        d->cost = amount_add(d->cost, n->price_micros_hour);
}

void limits_bought(struct candidate *d, uint32_t offer, uint32_t count,
                   int sign)
{
    const struct pb_offer *o = &d->t->s->offers[offer];
    int64_t n = sign * (int64_t)count;

    d->offer_bought[offer] += (uint32_t)n;
    d->type_count[o->type] += (uint32_t)n;
    d->type_starting[o->type] += (uint32_t)n;
    d->nodes += (uint64_t)n;
    d->starting += (uint64_t)n;
    d->bought_cost += sign * amount_times(o->price_micros_hour, count);
    d->bought_bill += sign * amount_times(pb_offer_bill(o), count);
    for (uint32_t i = 0; i < o->n_takes; i++) {
        const struct pb_takes *x = &d->t->s->takes[o->first_takes + i];

        d->share_taken[x->share] += (uint64_t)n * x->each;
    }
}

/* What keeps the offer from being bought at all. */
static enum reason offer_closed(const struct problem *s, uint32_t offer)
{
    const struct pb_offer *o = &s->offers[offer];
    const struct pb_type *t = &s->types[o->type];

    if (t->unavailable != REASON_NONE)
        return t->unavailable;
    if (t->max == 0)
        return REASON_MAX_TYPE;
    if (o->closed)
        return REASON_CLOSED;
    if (o->backoff_until_ms > s->now_ms || o->room == 0)
        return REASON_BACKOFF;
    return REASON_NONE;
}

static void tighten(uint64_t *room, uint64_t most, uint64_t used,
                    enum reason why, enum reason *ret_why)
{
    uint64_t left = most > used ? most - used : 0;

    if (left >= *room)
        return;
    *room = left;
    *ret_why = why;
}

static uint32_t clip(uint64_t n)
{
    return n < UNLIMITED ? (uint32_t)n : UNLIMITED;
}

uint32_t limits_room_all(const struct candidate *d, enum reason *ret_why)
{
    const struct snap_limits *l = &d->t->s->limits;
    uint64_t room = UNLIMITED;

    *ret_why = REASON_NONE;
    if (l->max_nodes != UNLIMITED)
        tighten(&room, l->max_nodes, d->nodes, REASON_MAX_NODES, ret_why);
    return clip(room);
}

uint32_t limits_room_type(const struct candidate *d, uint32_t type,
                          enum reason *ret_why)
{
    const struct pb_type *t = &d->t->s->types[type];
    uint64_t room = UNLIMITED;

    *ret_why = REASON_NONE;
    if (t->max != UNLIMITED)
        tighten(&room, t->max, d->type_count[type], REASON_MAX_TYPE, ret_why);
    return clip(room);
}

uint64_t limits_may_start(const struct candidate *d, uint64_t starting)
{
    uint64_t most = d->t->s->limits.max_launching;

    if (most == UNLIMITED)
        return UINT64_MAX;
    return most > starting ? most - starting : 0;
}

uint64_t limits_may_start_type(const struct candidate *d, uint32_t type,
                               uint64_t starting)
{
    int64_t speed = d->t->s->limits.upscaling_speed;
    uint64_t ready = d->type_ready[type] > 0 ? d->type_ready[type] : 1, most;

    if (speed == 0)
        return UINT64_MAX;
    /* reconciler.py (pace.h) rounds up. */
    most = ((uint64_t)amount_times(speed, ready) + AMOUNT_ONE - 1) / AMOUNT_ONE;
    most = most > FIRST_STEP ? most : FIRST_STEP;
    return most > starting ? most - starting : 0;
}

int64_t limits_money(const struct candidate *d)
{
    int64_t most = d->t->s->limits.max_cost_micros_hour;
    int64_t spent = amount_add(d->cost, d->bought_bill);

    if (most < 0)
        return -1;
    return most > spent ? most - spent : 0;
}

/* What the clouds' quotas that it shares with others leave for it. */
static void shares_tighten(const struct candidate *d, const struct pb_offer *o,
                           uint64_t *room, enum reason *ret_why)
{
    const struct problem *s = d->t->s;

    for (uint32_t i = 0; i < o->n_takes; i++) {
        const struct pb_takes *x = &s->takes[o->first_takes + i];
        uint64_t left = s->shares[x->share].left;
        uint64_t taken = d->share_taken[x->share];

        left = left > taken ? left - taken : 0;
        tighten(room, left / x->each, 0, REASON_BACKOFF, ret_why);
    }
}

uint32_t limits_room(const struct candidate *d, uint32_t offer,
                     enum reason *ret_why)
{
    const struct problem *s = d->t->s;
    const struct pb_offer *o = &s->offers[offer];
    int64_t left = limits_money(d);
    uint64_t room, all;
    enum reason why;

    room = limits_room_type(d, o->type, ret_why);
    all = limits_room_all(d, &why);
    if (all < room) {
        room = all;
        *ret_why = why;
    }
    if (left >= 0 && pb_offer_bill(o) > 0)
        tighten(&room, (uint64_t)(left / pb_offer_bill(o)), 0, REASON_BUDGET,
                ret_why);
    if (o->room != UNLIMITED)
        tighten(&room, o->room, d->offer_bought[offer], REASON_BACKOFF,
                ret_why);
    shares_tighten(d, o, &room, ret_why);
    why = offer_closed(s, offer);
    if (why != REASON_NONE) {
        room = 0;
        *ret_why = why;
    }
    if (room < UNLIMITED)
        room -= room % tables_hosts(s, offer);
    return clip(room);
}
