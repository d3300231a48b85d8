/*
 * whatif.c - POST /v1/whatif: what another price, max or request would change
 * in the plan, without any effect.
 *
 * The present snapshot is planned twice, as it is and changed, on the thread for
 * long work; the reply is the difference, which is small however large the
 * cluster is.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/suggest.h"
#include "../../codec/codec.h"
#include "../../plan/planner.h"
#include "../inside.h"

#define AMOUNTS_MAX (UINT64_C(3) << 20) /* as whatif.c of /v1/plan */
enum { NAMES_MAX = 256 };

struct whatif {
    struct task task;
    struct status_board *board;
    struct buf body;
    struct arena arena;
    struct status_page *page;
    struct snapshot changed;
    const char *owner; /* of the request that is tried, or NULL */
    enum status status;
    struct err err;
    struct buf reply;
};

static void whatif_free(struct task *task)
{
    struct whatif *w = (struct whatif *)task;

    buf_done(&w->body);
    buf_done(&w->reply);
    status_unref(w->page);
    arena_done(&w->arena);
    free(w);
}

/* ---- reading */

/* A number from 0 to most; what is null or not there leaves *ret alone. */
static enum status number_read(const json_t *in, const char *key, double most,
                               double *ret, struct err *err)
{
    const json_t *v = json_object_get(in, key);

    if (!v || json_is_null(v))
        return ST_OK;
    *ret = json_number_value(v);
    if (json_is_number(v) && *ret >= 0 && *ret <= most)
        return ST_OK;
    return err_set(err, ST_INVALID, "%s: must be a number from 0 to %g", key,
                   most);
}

static enum status keys_check(const json_t *in, const char *const *keys,
                              size_t n, struct err *err)
{
    const char *key, *near;
    json_t *v;

    json_object_foreach((json_t *)in, key, v) {
        bool known = false;

        for (size_t i = 0; i < n; i++)
            known = known || strcmp(keys[i], key) == 0;
        if (known)
            continue;
        near = suggest(key, keys, n);
        return err_set(err, ST_INVALID, "%.60s: there is no such key%s%s", key,
                       near ? "; did you mean " : "", near ? near : "");
    }
    return ST_OK;
}

static struct snap_type *type_named(struct whatif *w, const char *name,
                                    struct err *err)
{
    struct snap_type *types = (struct snap_type *)(uintptr_t)w->changed.types;
    const char *names[NAMES_MAX], *near;
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->changed.n_types; i++) {
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
        if (n < NAMES_MAX)
            names[n++] = types[i].name;
    }
    near = suggest(name, names, n);
    err_set(err, ST_INVALID, "there is no node type \"%.60s\"%s%s", name,
            near ? "; did you mean " : "", near ? near : "");
    return NULL;
}

/* Price and room are an offer's: all of the type get the new price. */
static void price_set(struct whatif *w, struct snap_type *t, double dollars)
{
    struct snap_offer *o = arena_copy(&w->arena, t->offers,
                                      sizeof *o * t->n_offers);

    for (uint32_t i = 0; i < t->n_offers; i++)
        o[i].price_micros_hour = (int64_t)(dollars * 1e6 + 0.5);
    t->offers = o;
}

static enum status type_read(struct whatif *w, const char *name,
                             const json_t *in, struct err *err)
{
    static const char *const keys[] = {"price", "max", "min"};
    struct snap_type *t = type_named(w, name, err);
    double price = -1, max = -1, min = -1;
    enum status s = t ? keys_check(in, keys, 3, err) : ST_INVALID;

    if (s == ST_OK)
        s = number_read(in, "price", 1e6, &price, err);
    if (s == ST_OK)
        s = number_read(in, "max", 1e6, &max, err);
    if (s == ST_OK)
        s = number_read(in, "min", 1e6, &min, err);
    if (s != ST_OK)
        return s;
    if (price >= 0)
        price_set(w, t, price);
    if (max >= 0)
        t->max = (uint32_t)max;
    if (min >= 0)
        t->min = (uint32_t)min;
    if (t->min > t->max)
        return err_set(err, ST_INVALID, "min: is above the max of %u", t->max);
    return ST_OK;
}

static enum status types_read(struct whatif *w, const json_t *in,
                              struct err *err)
{
    enum status s = ST_OK;
    const char *name;
    json_t *v;

    if (in && !json_is_object(in))
        return err_set(err, ST_INVALID,
                       "node_types: must be an object, by name");
    w->changed.types = arena_copy(
        &w->arena, w->changed.types,
        sizeof(struct snap_type) * w->changed.n_types);
    json_object_foreach((json_t *)in, name, v) {
        s = json_is_object(v) ? type_read(w, name, v, err)
                              : err_set(err, ST_INVALID, "must be an object");
        if (s != ST_OK) {
            char place[100];

            snprintf(place, sizeof place, "node_types.%.60s", name);
            err_prefix(err, place);
            return s;
        }
    }
    return ST_OK;
}

static enum status limits_read(struct whatif *w, const json_t *body,
                               struct err *err)
{
    double cost = -1, nodes = -1;
    enum status s = number_read(body, "max_cost_per_hour", 1e9, &cost, err);

    if (s == ST_OK)
        s = number_read(body, "max_nodes", 1e6, &nodes, err);
    if (cost >= 0)
        w->changed.limits.max_cost_micros_hour = (int64_t)(cost * 1e6 + 0.5);
    if (nodes >= 0)
        w->changed.limits.max_nodes = (uint32_t)nodes;
    return s;
}

/* One request more, or another one of the same owner. */
static enum status request_add(struct whatif *w, const json_t *in,
                               struct err *err)
{
    const struct snapshot *f = w->page->snapshot;
    struct request_in r;
    struct snap_demand *d;
    uint32_t n = 0;
    enum status s;

    if (!in || json_is_null(in))
        return ST_OK;
    s = request_read(in, "what-if", f->now_ms, &w->arena, &r, err);
    if (s != ST_OK)
        return err_prefix(err, "request"), s;
    d = ARENA_ARRAY(&w->arena, struct snap_demand, (size_t)f->n_demands + 1);
    for (uint32_t i = 0; i < f->n_demands; i++)
        if (f->demands[i].source != SOURCE_REQUEST ||
            strcmp(f->demands[i].owner, r.owner) != 0)
            d[n++] = f->demands[i];
    if (!r.clear)
        d[n++] = r.demand;
    w->changed.demands = d;
    w->changed.n_demands = n;
    w->owner = r.owner;
    return ST_OK;
}

static enum status body_read(struct whatif *w, const json_t *body,
                             struct err *err)
{
    static const char *const keys[] = {"node_types", "max_cost_per_hour",
                                       "max_nodes", "request"};
    enum status s;

    if (!json_is_object(body))
        return err_set(err, ST_INVALID, "body: must be an object");
    if (!(w->page = status_get(w->board)))
        return err_set(
            err, ST_RETRY,
            "the daemon is starting: there is no snapshot to plan on yet");
    w->changed = *w->page->snapshot;
    s = keys_check(body, keys, sizeof keys / sizeof *keys, err);
    if (s == ST_OK)
        s = types_read(w, json_object_get(body, "node_types"), err);
    if (s == ST_OK)
        s = limits_read(w, body, err);
    if (s == ST_OK)
        s = request_add(w, json_object_get(body, "request"), err);
    return s;
}

/* ---- the two plans */

struct side {
    struct problem *s;
    struct plan plan;
    struct view view;
};

static enum status side_plan(struct whatif *w, const struct snapshot *f,
                             struct side *ret)
{
    enum status s = problem_make_within(f, AMOUNTS_MAX, &w->arena, &ret->s,
                                        &w->err);

    if (s != ST_OK)
        return s;
    planner_run(ret->s, 0, &w->arena, &ret->plan);
    view_open_plan(&ret->view, f, ret->s, &ret->plan);
    return ST_OK;
}

static void sums_write(struct out *o, const char *key, struct view *v)
{
    const struct plan *p = v->plan;
    struct tally all = {0};

    for (uint32_t d = 0; d < v->s->n_demands; d++)
        tally_demand(&all, v, d);
    out_object(o, key);
    out_uint(o, "machines_launched", p->n_launched);
    out_uint(o, "machines_ended", p->n_ended);
    tally_write(o, &all);
    out_micros(o, "cost_per_hour", p->fleet_cost_micros_hour);
    out_micros(o, "bound_per_hour", p->fleet_bound_micros_hour);
    out_close(o);
}

/* Machines by type: launched, or ended, in each plan. */
struct by_type {
    uint32_t launched[2], ended[2];
};

static void type_counts(const struct view *v, struct by_type *by, int side)
{
    for (uint32_t i = 0; i < v->plan->n_launches; i++)
        by[view_offer_type(v, v->plan->launches[i].offer)->from]
            .launched[side] += v->plan->launches[i].count;
    for (uint32_t i = 0; i < v->s->n_nodes; i++)
        if (v->plan->nodes[i].action == NODE_END && v->s->nodes[i].type != NONE)
            by[v->s->types[v->s->nodes[i].type].from].ended[side]++;
}

static void types_diff(struct out *o, struct whatif *w, const struct view *a,
                       const struct view *b)
{
    struct by_type *by = ARENA_ARRAY(&w->arena, struct by_type,
                                     w->changed.n_types);

    type_counts(a, by, 0);
    type_counts(b, by, 1);
    out_array(o, "types");
    for (uint32_t i = 0; i < w->changed.n_types; i++) {
        const struct by_type *x = &by[i];

        if (x->launched[0] == x->launched[1] && x->ended[0] == x->ended[1])
            continue;
        out_object(o, NULL);
        out_str(o, "type", w->changed.types[i].name);
        out_uint(o, "launched_before", x->launched[0]);
        out_uint(o, "launched_after", x->launched[1]);
        out_uint(o, "ended_before", x->ended[0]);
        out_uint(o, "ended_after", x->ended[1]);
        out_close(o);
    }
    out_close(o);
}

static void reply_write(struct whatif *w, struct side *a, struct side *b)
{
    struct out o;

    out_init(&o, &w->reply);
    out_object(&o, NULL);
    sums_write(&o, "before", &a->view);
    sums_write(&o, "after", &b->view);
    types_diff(&o, w, &a->view, &b->view);
    if (w->owner)
        outcome_write(&o, "request", &b->view, w->owner, REQUEST_STANDS, 0);
    else
        out_null(&o, "request");
    out_close(&o);
}

static bool run(struct task *task)
{
    struct whatif *w = (struct whatif *)task;
    struct side a = {0}, b = {0};
    json_t *body = NULL;

    w->status = codec_parse(w->body.s, w->body.n, &body, &w->err);
    buf_done(&w->body);
    if (w->status != ST_OK)
        err_prefix(&w->err, "body");
    else
        w->status = body_read(w, body, &w->err);
    json_decref(body);
    if (w->status == ST_OK)
        w->status = side_plan(w, w->page->snapshot, &a);
    if (w->status == ST_OK)
        w->status = side_plan(w, &w->changed, &b);
    if (w->status == ST_OK)
        reply_write(w, &a, &b);
    view_done(&a.view);
    view_done(&b.view);
    return true;
}

static void whatif_answer(struct exchange *ex)
{
    struct whatif *w = (struct whatif *)ex->pending->task;

    if (w->status == ST_QUOTA)
        exchange_error(ex, 413, "INVALID", "body",
                       "%s; plan it with `davit plan`", w->err.text);
    else if (w->status != ST_OK)
        exchange_err(ex, &w->err);
    else
        exchange_reply(ex, 200, &w->reply, "application/json");
}

void post_whatif(struct exchange *ex)
{
    struct whatif *w;

    if (!exchange_charge_tree(ex))
        return;
    w = MEM_NEW(struct whatif);
    w->task.run = run;
    w->task.free = whatif_free;
    w->board = ex->server->board;
    w->body = ex->body;
    buf_init(&ex->body, BODY_MAX);
    buf_init(&w->reply, REPLY_MAX);
    tasks_send(ex->server->plans, ex, &w->task, COMMAND_REQUEST_PUT,
               whatif_answer);
}
