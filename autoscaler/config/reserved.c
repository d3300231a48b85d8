/*
 * reserved.c - capacity that is paid for anyway: how many machines, from when,
 * until when, and how long before that they are left.
 */
#include <stddef.h>

#include "../base/clock.h"
#include "extras.h"

enum { DRAIN_BEFORE_MS = 45 * 60000 };

static void time_read(struct reader *r, const struct ynode *v,
                      const char *where, int64_t *ret)
{
    *ret = v->kind == YNODE_TEXT ? clock_from_iso(v->text) : 0;
    if (*ret == 0)
        diag_add(r->diag, v,
                 "%s must be a time such as 2026-12-01T11:30:00Z, got %s",
                 where, ynode_shown(r->arena, v));
}

static void from_read(struct reader *r, const struct ynode *v,
                      const char *where, void *target)
{
    time_read(r, v, where, &((struct conf_reserved *)target)->from_ms);
}

static void until_read(struct reader *r, const struct ynode *v,
                       const char *where, void *target)
{
    time_read(r, v, where, &((struct conf_reserved *)target)->until_ms);
}

#define AT(member) .offset = offsetof(struct conf_reserved, member)

const struct key reserved_keys[] = {
    {"id", KEY_TEXT, AT(id), .help = "the cloud's id of the reservation"},
    {"count", KEY_COUNT, AT(count), .min = 1, .max = 100000,
     .help = "machines that are reserved"},
    {"from", KEY_CUSTOM, .read = from_read,
     .help = "when it begins, such as 2026-12-01T11:30:00Z"},
    {"until", KEY_CUSTOM, .read = until_read, .help = "when it ends"},
    {"drain_before", KEY_TIME, AT(drain_before_ms), .max = 86400000,
     .help = "its machines are left so long before its end"},
    KEYS_END,
};

void reserved_read(struct reader *r, const struct ynode *v, const char *where,
                   void *target)
{
    struct raw_type *t = target;

    t->reserved = (struct conf_reserved){
        .given = true, .id = "", .drain_before_ms = DRAIN_BEFORE_MS};
    grammar_read(r, reserved_keys, v, where, &t->reserved);
}

/* The id is the plug-in's to know, as an option of the type. */
static void id_hand_on(struct raw *d, struct raw_type *t)
{
    const struct ynode *at = raw_at(t, "reserved");
    struct conf_pair *v = ARENA_ARRAY(d->r.arena, struct conf_pair,
                                      t->n_options + 1);

    for (uint32_t i = 0; i < t->n_options; i++)
        v[i] = t->options[i];
    v[t->n_options] = (struct conf_pair){"reservation", t->reserved.id,
                                         at->line, at->column};
    t->options = v;
    t->n_options++;
}

void reserved_settle(struct raw *d, struct raw_type *t)
{
    struct conf_reserved *x = &t->reserved;
    const struct ynode *at = raw_at(t, "reserved");

    if (t->market_reserved != x->given)
        diag_add(d->r.diag, raw_at(t, x->given ? "reserved" : "market"),
                 "%s: market: reserved and reserved: go together", t->where);
    if (!x->given)
        return;
    if (t->n_markets)
        diag_add(d->r.diag, raw_at(t, "market"),
                 "%s: reserved is a market of its own: make another node type "
                 "for the machines on demand or spot",
                 t->where);
    if (!x->count)
        diag_add(d->r.diag, at, "%s.reserved needs count", t->where);
    if (x->until_ms > 0 && x->until_ms <= x->from_ms)
        diag_add(d->r.diag, at, "%s.reserved: until is not after from",
                 t->where);
    if (t->price > 0)
        diag_add(d->r.diag, raw_at(t, "price"),
                 "%s: a reserved machine is paid for already, and costs "
                 "nothing to use: leave price out",
                 t->where);
    t->price = 0;
    if (x->count < t->max)
        t->max = x->count;
    if (*x->id)
        id_hand_on(d, t);
}
