/*
 * view.c - opening a page, and the pieces that several views share.
 */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../model/accel.h"
#include "../model/amount.h"
#include "../model/bill.h"
#include "door/access.h"

static const char *const no_strings[1] = {""};
static const struct problem no_problem = {.str = no_strings, .n_str = 1};
static const struct plan no_plan;
static const struct snapshot no_snapshot = {.cluster = ""};

void view_open_plan(struct view *v, const struct snapshot *snapshot,
                    const struct problem *s, const struct plan *plan)
{
    *v = (struct view){.snapshot = snapshot ? snapshot : &no_snapshot,
                       .s = s && plan ? s : &no_problem,
                       .plan = s && plan ? plan : &no_plan};
    v->node_of_snap = ARENA_ARRAY(&v->arena, uint32_t, v->snapshot->n_nodes);
    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++)
        v->node_of_snap[i] = NONE;
    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        v->node_of_snap[v->s->nodes[i].from] = i;
}

void view_open(struct view *v, const struct status_page *page)
{
    view_open_plan(v, page->snapshot, page->now,
                   page->proved ? page->proved : page->plan);
    v->page = page;
}

bool view_improving(const struct view *v, uint32_t launch)
{
    const struct plan_launch *l = &v->plan->launches[launch];

    return v->page && v->page->thinking_until_ms && !l->final;
}

void view_done(struct view *v)
{
    arena_done(&v->kept);
    arena_done(&v->arena);
}

const char *view_take(struct view *v, struct buf *b)
{
    const char *text = arena_strdup(&v->arena, b->s);

    buf_done(b);
    return text;
}

const char *view_str(const struct view *v, uint32_t id)
{
    return id < v->s->n_str ? v->s->str[id] : "";
}

bool view_hides(const struct view *v, const char *owner)
{
    return v->reader && !principal_asks(v->reader, owner);
}

const char *view_owner(const struct view *v, const char *owner)
{
    return *owner && view_hides(v, owner) ? "another owner" : owner;
}

const struct pb_type *view_offer_type(const struct view *v, uint32_t offer)
{
    return offer < v->s->n_offers ? &v->s->types[v->s->offers[offer].type]
                                  : NULL;
}

const struct snap_type *view_type(const struct view *v, const char *name)
{
    for (uint32_t i = 0; i < v->snapshot->n_types; i++)
        if (strcmp(v->snapshot->types[i].name, name) == 0)
            return &v->snapshot->types[i];
    return NULL;
}

const struct snap_type *view_node_type(const struct view *v, uint32_t row)
{
    uint32_t node = v->node_of_snap[row];
    uint32_t type = node == NONE ? NONE : v->s->nodes[node].type;

    if (type == NONE)
        return view_type(v, v->snapshot->nodes[row].type);
    return &v->snapshot->types[v->s->types[type].from];
}

const struct plan_node *view_verdict(const struct view *v, uint32_t row)
{
    uint32_t i = v->node_of_snap[row];

    return i != NONE && v->plan->nodes ? &v->plan->nodes[i] : NULL;
}

int64_t view_node_price(const struct view *v, uint32_t row)
{
    return bill_node_price(&v->snapshot->nodes[row], v->s,
                           v->node_of_snap[row]);
}

bool view_counts(enum machine_state s)
{
    return s != STATE_STOPPING && s != STATE_GONE;
}

const struct pb_shape *view_shape(const struct view *v, uint32_t bundle,
                                  uint32_t alt)
{
    const struct pb_bundle *b = &v->s->bundles[bundle];

    if (alt >= b->n_alts)
        alt = 0;
    return &v->s->shapes[v->s->alts[b->first_alt + alt].shape];
}

static void tally_bundle(struct tally *t, const struct view *v, uint32_t bundle)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];

    t->bundles += v->s->bundles[bundle].count;
    t->placed += p->placed;
    t->launched += p->launched;
    t->waiting += p->waiting;
    t->infeasible += p->infeasible;
}

void tally_demand(struct tally *t, const struct view *v, uint32_t demand)
{
    const struct pb_demand *d = &v->s->demands[demand];

    for (uint32_t b = 0; b < d->n_bundles; b++)
        tally_bundle(t, v, d->first_bundle + b);
}

void tally_write(struct out *o, const struct tally *t)
{
    out_uint(o, "bundles", t->bundles);
    out_uint(o, "placed", t->placed);
    out_uint(o, "launched", t->launched);
    out_uint(o, "waiting", t->waiting);
    out_uint(o, "infeasible", t->infeasible);
}

void view_qtys(struct out *o, const char *key, const struct qtys *q)
{
    out_object(o, key);
    for (uint32_t i = 0; i < q->n; i++)
        out_amount(o, q->v[i].name, q->v[i].amount);
    out_close(o);
}

void view_pairs(struct out *o, const char *key, const struct pairs *p)
{
    out_object(o, key);
    for (uint32_t i = 0; i < p->n; i++)
        out_str(o, p->v[i].key, p->v[i].value);
    out_close(o);
}

/* "a", "!a", "in(a,b)", "!in(a,b)" */
static const char *term_text(struct view *v, const struct pb_term *t)
{
    struct buf b;

    buf_init(&b, 4096);
    if (t->op == TERM_NOT_IN)
        buf_str(&b, "!");
    if (t->n_values != 1)
        buf_str(&b, "in(");
    for (uint32_t i = 0; i < t->n_values; i++)
        buf_printf(&b, "%s%s", i ? "," : "",
                   view_str(v, v->s->term_values[t->first_value + i]));
    if (t->n_values != 1)
        buf_str(&b, ")");
    return view_take(v, &b);
}

static bool is_accel_type(const struct view *v, const struct pb_term *t)
{
    return t->op == TERM_IN && t->n_values == 1 &&
           strcmp(view_str(v, t->key), ACCEL_LABEL) == 0;
}

/* It stands for what the scheduler says, not for something a pod asks for. */
static bool is_untried(const struct view *v, uint32_t column)
{
    return strcmp(view_str(v, v->s->columns[column].name), UNTRIED_RESOURCE) ==
           0;
}

void view_need(struct out *o, const char *key, struct view *v, uint32_t bundle,
               uint32_t alt)
{
    const struct pb_shape *shape = view_shape(v, bundle, alt);
    const struct pb_selector *sel = &v->s->selectors[shape->selector];
    const struct pb_term *terms = v->s->terms + sel->first_term;
    const int64_t *row = pb_row(v->s, shape->row);
    uint32_t others = 0;

    out_object(o, key);
    out_object(o, "resources");
    for (uint32_t c = 0; c < v->s->n_columns; c++)
        if (row[c] > 0 && !is_untried(v, c))
            out_amount(o, view_str(v, v->s->columns[c].name), row[c]);
    out_close(o);
    for (uint32_t i = 0; i < sel->n_terms; i++)
        if (is_accel_type(v, &terms[i]))
            out_str(o, "accelerator_type",
                    view_str(v, v->s->term_values[terms[i].first_value]));
        else
            others++;
    if (others) {
        out_object(o, "labels");
        for (uint32_t i = 0; i < sel->n_terms; i++)
            if (!is_accel_type(v, &terms[i]))
                out_str(o, view_str(v, terms[i].key), term_text(v, &terms[i]));
        out_close(o);
    }
    out_close(o);
}

const char *view_need_text(struct view *v, uint32_t bundle, uint32_t alt)
{
    const struct pb_shape *shape = view_shape(v, bundle, alt);
    const struct pb_selector *sel = &v->s->selectors[shape->selector];
    const int64_t *row = pb_row(v->s, shape->row);
    char number[40];
    struct buf b;

    buf_init(&b, 4096);
    for (uint32_t c = 0; c < v->s->n_columns; c++) {
        const char *name = view_str(v, v->s->columns[c].name);

        if (row[c] > 0 && !is_untried(v, c))
            buf_printf(&b, "%s%s %s", b.n ? ", " : "",
                       amount_pretty(name, row[c], number, sizeof number),
                       name);
    }
    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *t = &v->s->terms[sel->first_term + i];

        buf_printf(
            &b, "%s%s=%s", b.n ? ", " : "",
            is_accel_type(v, t) ? "accelerator_type" : view_str(v, t->key),
            term_text(v, t));
    }
    if (b.n == 0)
        buf_str(&b, "nothing");
    return view_take(v, &b);
}

const char *view_time(struct view *v, int64_t wall_ms)
{
    time_t t = (time_t)(wall_ms / 1000);
    int64_t away = wall_ms - v->snapshot->now_ms;
    struct tm tm;
    char text[48];

    gmtime_r(&t, &tm);
    /* the date only where it is not today's */
    strftime(text, sizeof text,
             away > -43200000 && away < 43200000 ? "%H:%M:%S UTC"
                                                 : "%Y-%m-%d %H:%M:%S UTC",
             &tm);
    return arena_strdup(&v->arena, text);
}

const char *view_span(struct view *v, int64_t ms)
{
    long long s = (long long)((ms < 0 ? 0 : ms) + 999) / 1000;

    if (s < 120)
        return arena_printf(&v->arena, "%lld s", s);
    if (s < 7200)
        return s % 60
                   ? arena_printf(&v->arena, "%lld min %lld s", s / 60, s % 60)
                   : arena_printf(&v->arena, "%lld min", s / 60);
    return arena_printf(&v->arena, "%lld h %lld min", s / 3600, s / 60 % 60);
}

/* To the cent; small prices to a hundredth of it. */
const char *view_money(struct view *v, int64_t micros)
{
    int64_t host_group = micros >= 1000000 || micros <= -1000000 ? 10000 : 100;
    char text[32];

    micros = (micros + (micros < 0 ? -host_group : host_group) / 2) /
             host_group * host_group;
    return arena_strdup(&v->arena, out_decimal(micros, 1000000, text));
}
