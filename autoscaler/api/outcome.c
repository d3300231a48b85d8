/*
 * outcome.c - the state of an owner's request, in numbers and in one sentence.
 *
 * The reply of POST /v1/request_resources, the entries of its GET, and the
 * answer of a what-if are all made from the same struct outcome.
 */
#include <string.h>

#include "../base/suggest.h"
#include "view.h"

struct at {          /* among an owner's bundles */
    uint32_t demand; /* which of the demands */
    uint32_t bundle; /* which of that demand's bundles */
};

/* Milliseconds until a node on its way is usually ready; -1 not known, also of one
 * that takes longer than usual. */
static int64_t time_left(const struct view *v, uint32_t node, bool *ret_late)
{
    int64_t at_ms = view_ready_ms(v, node);

    *ret_late = *ret_late || (at_ms && at_ms <= v->s->now_ms);
    return at_ms > v->s->now_ms ? at_ms - v->s->now_ms : -1;
}

static void wait_for(struct outcome *x, bool *known, int64_t ms)
{
    if (ms < 0)
        *known = false;
    else if (ms > x->eta_ms)
        x->eta_ms = ms;
}

void outcome_of(struct view *v, const char *owner, struct outcome *ret)
{
    const struct plan *p = v->plan;
    struct outcome x = {0};
    const struct mine m = view_mine(v, owner);
    bool known = true, ready = true;

    x.found = m.n_demands > 0;
    for (uint32_t i = 0; i < m.n_demands; i++)
        tally_demand(&x.sum, v, m.demands[i]);
    for (uint32_t i = 0; i < m.n_nodes; i++) {
        enum machine_state state = v->s->nodes[m.nodes[i]].state;

        if (state == STATE_READY || state == STATE_DRAINING)
            continue;
        ready = false;
        wait_for(&x, &known, time_left(v, m.nodes[i], &x.late));
    }
    for (uint32_t i = 0; i < m.n_launches; i++) {
        const struct plan_launch *l = &p->launches[m.launches[i]];
        const struct pb_type *t = view_offer_type(v, l->offer);

        x.n_launches += l->count;
        x.cost_micros_hour += pb_offer_bill(&v->s->offers[l->offer]) *
                              (int64_t)l->count;
        wait_for(&x, &known, t ? t->boot_ms : -1);
    }
    x.feasible = x.sum.infeasible == 0;
    x.satisfied = ready && x.sum.placed == x.sum.bundles;
    if (!known || x.sum.waiting || x.sum.infeasible)
        x.eta_ms = -1;
    *ret = x;
}

/* Of how many launches to show, and which the k-th of them is; m NULL: of all. */
static uint32_t launches_of(const struct view *v, const struct mine *m)
{
    return m ? m->n_launches : v->plan->n_launches;
}

static uint32_t launch_at(const struct mine *m, uint32_t k)
{
    return m ? m->launches[k] : k;
}

/* Nodes of one offer, for one demand, for one reason: the planner may list them
 * apart because they hold different bundles, people need not see that. */
static uint32_t same_launches(const struct view *v, uint32_t launch,
                              const struct mine *m)
{
    const struct plan_launch *l = &v->plan->launches[launch];
    uint32_t n = 0;

    for (uint32_t k = 0; k < launches_of(v, m); k++) {
        uint32_t i = launch_at(m, k);
        const struct plan_launch *x = &v->plan->launches[i];

        if (x->offer != l->offer || x->why != l->why ||
            x->demand != l->demand ||
            view_improving(v, i) != view_improving(v, launch))
            continue;
        if (i < launch)
            return 0; /* counted with an earlier one */
        n += x->count;
    }
    return n;
}

/* "2 x t4, 1 x cpu" */
static const char *launches_text(struct view *v, const struct mine *m)
{
    struct buf b;

    buf_init(&b, 2048);
    for (uint32_t k = 0; k < m->n_launches; k++) {
        uint32_t i = m->launches[k], n = same_launches(v, i, m);
        const struct pb_type *t = view_offer_type(v,
                                                  v->plan->launches[i].offer);

        if (n)
            buf_printf(&b, "%s%u x %s", b.n ? ", " : "", n,
                       t ? view_str(v, t->name) : "?");
    }
    return view_take(v, &b);
}

enum {
    SINCE_MS = 60000,   /* sooner it is just now */
    LIST_OLD_MS = 90000 /* longer than usual: how old it is is said */
};

/* " since 14:20:01 UTC": the bundle that waits longest; "". */
static const char *since_text(struct view *v, const struct mine *m,
                              bool infeasible)
{
    int64_t first = INT64_MAX;

    for (uint32_t k = 0; k < m->n_demands && !infeasible; k++) {
        const struct pb_demand *d = &v->s->demands[m->demands[k]];
        uint32_t end = d->first_bundle + d->n_bundles;

        for (uint32_t i = d->first_bundle; i < end; i++)
            if (v->plan->bundles[i].waiting && d->since_ms > 0 &&
                d->since_ms < first)
                first = d->since_ms;
    }
    return first < v->s->now_ms - SINCE_MS
               ? arena_printf(&v->arena, " since %s", view_time(v, first))
               : "";
}

/* The next row from *at on of a bundle that is not placed: of these demands, in the
 * order of rows; NONE: no more. */
static uint32_t unplaced_next(const struct view *v, const struct mine *m,
                              bool infeasible, struct at *at)
{
    for (; at->demand < m->n_demands; at->demand++, at->bundle = 0) {
        const struct pb_demand *d = &v->s->demands[m->demands[at->demand]];

        while (at->bundle < d->n_bundles) {
            uint32_t i = d->first_bundle + at->bundle++;
            const struct plan_bundle *p = &v->plan->bundles[i];

            if (infeasible ? p->infeasible : p->waiting)
                return i;
        }
    }
    return NONE;
}

/* ", 3 of 9 waiting (1 GPU): t4 is at its max of 2" */
static void unplaced_text(struct buf *b, struct view *v, const struct mine *m,
                          uint64_t n, uint64_t all, bool infeasible)
{
    struct at at = {0, 0};
    uint32_t first;
    bool more;

    if (n == 0)
        return;
    first = unplaced_next(v, m, infeasible, &at);
    more = first != NONE && unplaced_next(v, m, infeasible, &at) != NONE;
    buf_printf(b, "%s%llu of %llu %s%s", b->n ? ", " : "",
               (unsigned long long)n, (unsigned long long)all,
               infeasible ? "can never be placed" : "waiting",
               since_text(v, m, infeasible));
    if (first != NONE)
        buf_printf(b, "%s (%s)%s%s", more ? ", the first" : "",
                   view_need_text(v, first, NONE),
                   infeasible ? ": nearest " : "",
                   infeasible ? view_nearest_text(v, first)
                              : view_wait_text(v, first));
}

static bool any_improving(const struct view *v, const struct mine *m)
{
    for (uint32_t k = 0; k < m->n_launches; k++)
        if (view_improving(v, m->launches[k]))
            return true;
    return false;
}

/* Does a list of theirs, or the head, tell of nodes that hold this one's bundles?  If it
 * cannot be read, what is said is of its last answer. */
static const char *known_text(struct view *v, const struct mine *m)
{
    const struct status_page *p = v->page;

    for (uint32_t i = 0; p && i < m->n_nodes; i++) {
        const struct snap_node *n =
            &v->snapshot->nodes[v->s->nodes[m->nodes[i]].from];

        if (n->ray_id && *n->ray_id && !p->ray_ok)
            return arena_printf(&v->arena,
                                ", by what the Ray head told at %s: it cannot "
                                "be read now",
                                view_time(v, p->ray_began_ms));
        for (uint32_t k = 0; n->ray_id && *n->ray_id && k < p->n_stops; k++)
            if (strcmp(p->stops[k].kind, "source_unread") == 0)
                return arena_printf(&v->arena,
                                    ", by what %s told last: it cannot be "
                                    "read now",
                                    p->stops[k].subject);
        for (uint32_t k = 0; k < p->n_providers; k++)
            if (strcmp(p->providers[k].name, n->provider) == 0 &&
                (!p->providers[k].ready ||
                 v->s->now_ms - p->providers[k].listed_ms > LIST_OLD_MS))
                return arena_printf(
                    &v->arena, ", by the last list of provider %s at %s%s",
                    n->provider, view_time(v, p->providers[k].listed_ms),
                    p->providers[k].ready ? "" : ": it is not ready");
        for (uint32_t k = 0; k < p->n_stops; k++)
            if (strcmp(p->stops[k].kind, "list_short") == 0 &&
                strcmp(p->stops[k].subject, n->provider) == 0)
                return arena_printf(&v->arena,
                                    ", if the newest list of provider %s, "
                                    "which lacks many machines, is wrong",
                                    n->provider);
    }
    return "";
}

const char *outcome_text(struct view *v, const char *owner,
                         const struct outcome *x)
{
    const struct mine m = view_mine(v, owner);
    unsigned long long all = x->sum.bundles;
    struct buf b;

    if (!x->found || all == 0)
        return arena_printf(&v->arena, "%s asks for nothing", owner);
    if (x->satisfied)
        return arena_printf(
            &v->arena, "satisfied: %s place on nodes that are ready%s%s",
            all == 1
                ? "the bundle has its"
                : arena_printf(&v->arena, "all %llu bundles have their", all),
            known_text(v, &m), view_displaces_text(v, &m));
    buf_init(&b, 8192);
    if (x->sum.placed)
        buf_printf(
            &b, "%llu of %llu bundles placed%s",
            (unsigned long long)x->sum.placed, all,
            x->sum.placed == all ? " on nodes that are on their way" : "");
    if (x->n_launches)
        buf_printf(&b,
                   "%s%llu of %llu bundles on %u new node%s (%s) for %s $/h",
                   b.n ? ", " : "", (unsigned long long)x->sum.launched, all,
                   x->n_launches, x->n_launches == 1 ? "" : "s",
                   launches_text(v, &m), view_money(v, x->cost_micros_hour));
    if (any_improving(v, &m))
        buf_printf(&b, ", %s until %s at most", reason_text(REASON_IMPROVING),
                   view_time(v, v->page->thinking_until_ms));
    if (x->eta_ms >= 0)
        buf_printf(&b, ", usually ready in about %s", view_span(v, x->eta_ms));
    else if (x->late)
        buf_str(&b, ", some of them later than usual");
    unplaced_text(&b, v, &m, x->sum.waiting, all, false);
    unplaced_text(&b, v, &m, x->sum.infeasible, all, true);
    buf_str(&b, view_displaces_text(v, &m));
    return view_take(v, &b);
}

static void write_launch(struct out *o, struct view *v, uint32_t launch,
                         uint32_t count)
{
    const struct plan_launch *l = &v->plan->launches[launch];
    const struct pb_offer *of = &v->s->offers[l->offer];
    const struct pb_type *t = &v->s->types[of->type];
    const char *owner = "";

    if (l->demand < v->s->n_demands)
        owner = view_owner(v, view_str(v, v->s->demands[l->demand].owner));
    out_object(o, NULL);
    out_str(o, "type", view_str(v, t->name));
    out_str(o, "provider", view_str(v, t->provider));
    out_str(o, "zone", view_str(v, of->zone));
    out_bool(o, "spot", of->spot);
    out_uint(o, "count", count);
    out_micros(o, "price_per_hour", pb_offer_bill(of));
    out_bool(o, "price_estimated", of->price_estimated);
    out_seconds_or_null(o, "boot_s", t->boot_ms);
    out_str(o, "reason", reason_code(l->why));
    if (l->why == REASON_FOR_REQUEST && owner[0])
        out_strf(o, "why", "for a request of %s", owner);
    else if (l->why == REASON_FOR_MIN)
        out_strf(o, "why", "to reach the min of %u of %s", t->min,
                 view_str(v, t->name));
    else
        out_str(o, "why", reason_text(l->why));
    out_str(o, "owner", owner);
    out_str_or_null(
        o, "waits",
        view_improving(v, launch) ? reason_code(REASON_IMPROVING) : NULL);
    out_close(o);
}

/* m NULL: all. */
static void write_launches(struct out *o, struct view *v, const struct mine *m)
{
    out_array(o, "launches");
    for (uint32_t k = 0; k < launches_of(v, m); k++) {
        uint32_t i = launch_at(m, k), n = same_launches(v, i, m);

        if (n)
            write_launch(o, v, i, n);
    }
    out_close(o);
}

void view_launches(struct out *o, struct view *v)
{
    write_launches(o, v, NULL);
}

#define LISTED_MAX 100 /* unplaced bundles of a reply */

static void write_unplaced(struct out *o, struct view *v, const struct mine *m,
                           const char *key, bool infeasible)
{
    struct at at = {0, 0};
    uint32_t listed = 0, i;

    out_array(o, key);
    while (listed < LISTED_MAX &&
           (i = unplaced_next(v, m, infeasible, &at)) != NONE) {
        if (!infeasible && v->plan->bundles[i].infeasible)
            continue;
        view_unplaced(o, v, i, 16);
        listed++;
    }
    out_close(o);
}

/* The nearest owner that has a request; only one that the reader may see. */
static const char *owner_near(struct view *v, const char *owner)
{
    const char **names = ARENA_ARRAY(&v->arena, const char *,
                                     v->s->n_demands + 1);
    size_t n = 0;

    for (uint32_t i = 0; i < v->s->n_demands; i++)
        if (v->s->demands[i].source == SOURCE_REQUEST && !v->reader)
            names[n++] = view_str(v, v->s->demands[i].owner);
    return suggest(owner, names, n);
}

static const char *cleared_text(struct view *v, const char *owner,
                                enum request_fate fate)
{
    const char *near = fate == REQUEST_WAS_NOT ? owner_near(v, owner) : NULL;

    if (fate == REQUEST_CLEARED)
        return arena_printf(&v->arena, "the request of %s is cleared", owner);
    return arena_printf(
        &v->arena, "nothing was cleared: %s has no request%s%s%s", owner,
        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

void outcome_write(struct out *o, const char *key, struct view *v,
                   const char *owner, enum request_fate fate,
                   int64_t expires_ms)
{
    bool cleared = fate != REQUEST_STANDS;
    const struct mine m = view_mine(v, owner);
    struct outcome x;

    outcome_of(v, owner, &x);
    out_object(o, key);
    out_str(o, "owner", owner);
    out_bool(o, "cleared", cleared);
    if (cleared)
        out_bool(o, "existed", fate == REQUEST_CLEARED);
    out_bool(o, "feasible", x.feasible);
    out_bool(o, "satisfied", x.satisfied);
    out_uint(o, "bundles", x.sum.bundles);
    out_uint(o, "placed", x.sum.placed);
    out_uint(o, "launched", x.sum.launched);
    out_uint(o, "waiting", x.sum.waiting);
    write_unplaced(o, v, &m, "infeasible", true);
    write_unplaced(o, v, &m, "waiting_for", false);
    write_launches(o, v, &m);
    out_micros(o, "cost_per_hour", x.cost_micros_hour);
    out_micros(o, "adds_per_hour",
               x.cost_micros_hour + view_displaces_cost(v, &m));
    view_displaces(o, v, &m);
    out_seconds_or_null(o, "eta_s", x.eta_ms);
    out_time(o, "expires_at", expires_ms);
    if (cleared)
        out_str(o, "text", cleared_text(v, owner, fate));
    else
        out_str(o, "text", outcome_text(v, owner, &x));
    out_close(o);
}

static void write_one(struct out *o, const char *key, struct view *v,
                      const char *owner, const struct status_request *r)
{
    bool unread = r && r->problem && *r->problem;
    struct outcome x;

    outcome_of(v, owner, &x);
    out_object(o, key);
    out_str(o, "owner", owner);
    out_str(o, "source", r ? "rest" : "head");
    if (r && r->body && r->body[0])
        out_raw(o, "request", r->body);
    else
        out_null(o, "request");
    out_time(o, "created_at", r ? r->created_ms : 0);
    out_time(o, "expires_at", r ? r->expires_ms : 0);
    out_bool(o, "feasible", x.feasible && !unread);
    out_bool(o, "satisfied", x.satisfied && !unread);
    tally_write(o, &x.sum);
    if (unread)
        out_strf(
            o, "text",
            "this version cannot read the request: %s; it is kept as it is "
            "until it is replaced or cleared",
            r->problem);
    else
        out_str(o, "text", outcome_text(v, owner, &x));
    out_close(o);
}

/* Ray's own request, made through its SDK, is known from the snapshot alone. */
static bool ray_requests(struct view *v)
{
    struct outcome x;

    outcome_of(v, "ray", &x);
    return x.found;
}

bool request_write(struct out *o, const char *key, struct view *v,
                   const char *owner)
{
    for (uint32_t i = 0; v->page && i < v->page->n_requests; i++)
        if (strcmp(v->page->requests[i].owner, owner) == 0) {
            write_one(o, key, v, owner, &v->page->requests[i]);
            return true;
        }
    if (strcmp(owner, "ray") != 0 || !ray_requests(v))
        return false;
    write_one(o, key, v, owner, NULL);
    return true;
}

void requests_write(struct out *o, const char *key, struct view *v)
{
    out_array(o, key);
    for (uint32_t i = 0; v->page && i < v->page->n_requests; i++) {
        const struct status_request *r = &v->page->requests[i];
        struct arena_mark mark = arena_mark(&v->arena);

        if (!view_hides(v, r->owner))
            write_one(o, NULL, v, r->owner, r);
        arena_rewind(&v->arena, mark);
    }
    if (!view_hides(v, "ray") && ray_requests(v))
        write_one(o, NULL, v, "ray", NULL);
    out_close(o);
}

void request_list_write(struct out *o, struct view *v)
{
    out_object(o, NULL);
    out_uint(o, "tick", v->page ? v->page->tick : 0);
    requests_write(o, "requests", v);
    out_close(o);
}
