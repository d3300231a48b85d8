/*
 * view_nodes.c - /v1/nodes: what is there, what for, and what becomes of it.
 */
#include <string.h>

#include "../model/mark.h"
#include "view.h"

static const char *demand_text(struct view *v, uint32_t demand)
{
    const struct pb_demand *d;
    const char *id;
    bool request;

    if (demand >= v->s->n_demands)
        return "";
    d = &v->s->demands[demand];
    id = view_str(v, d->id);
    request = d->source == SOURCE_REQUEST;
    return arena_printf(&v->arena, " (%s%s%s%s)",
                        request ? "" : source_name(d->source),
                        request ? "" : " of ", view_str(v, d->owner),
                        id[0] ? arena_printf(&v->arena, ", %s", id) : "");
}

enum view_use view_use(const struct view *v, uint32_t row)
{
    const struct plan_node *p = view_verdict(v, row);

    if (v->snapshot->nodes[row].idle_ms < 0)
        return USE_BUSY;
    return p && (p->why == REASON_KEEP_REQUEST ||
                 p->why == REASON_KEEP_DEMAND ||
                 (p->why == REASON_KEEP_PRICE && p->demand != NONE) ||
                 p->n_placements > 0)
               ? USE_HELD
               : USE_IDLE;
}

enum { DAYS_KNOWN = 3650 }; /* later is never */

/* Of each node type: the machines that will be there, bought ones too, as the planner
 * counts them against its min. */
static const uint32_t *staying_of(struct view *v)
{
    uint32_t *n = v->staying;

    if (n)
        return n;
    n = v->staying = ARENA_ARRAY(&v->kept, uint32_t, v->s->n_types + 1);
    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct pb_node *x = &v->s->nodes[i];

        if (x->type < v->s->n_types && !x->unmanaged && !x->head)
            n[x->type] += x->state < STATE_DRAINING &&
                          v->plan->nodes[i].action != NODE_END &&
                          x->hold != REASON_KEEP_UNANSWERED;
    }
    for (uint32_t i = 0; i < v->plan->n_launches; i++) {
        const struct plan_launch *l = &v->plan->launches[i];

        n[v->s->offers[l->offer].type] += l->count;
    }
    return n;
}

/* How old what a Ray head told of the node is: it has been idle for so much longer. */
static int64_t told_ago(const struct view *v, const struct pb_node *n)
{
    const struct snap_node *x = &v->snapshot->nodes[n->from];
    int64_t told_ms = v->page ? v->page->ray_began_ms : 0;

    return x->ray_id && *x->ray_id && told_ms > 0 && told_ms < v->s->now_ms
               ? v->s->now_ms - told_ms
               : 0;
}

int64_t view_ready_ms(const struct view *v, uint32_t node)
{
    const struct pb_node *n = &v->s->nodes[node];
    int64_t boot = n->type < v->s->n_types ? v->s->types[n->type].boot_ms : -1;

    return boot < 0 || n->created_ms <= 0 ? 0 : n->created_ms + boot;
}

int64_t view_goes_ms(struct view *v, uint32_t node, enum reason *ret_why)
{
    const struct pb_node *n = &v->s->nodes[node];
    int64_t at_ms = v->plan->nodes[node].until_ms;

    *ret_why = REASON_NONE;
    if (!at_ms || at_ms - v->s->now_ms > INT64_C(86400000) * DAYS_KNOWN)
        return 0;
    if (n->type < v->s->n_types &&
        staying_of(v)[n->type] <= v->s->types[n->type].min) {
        *ret_why = REASON_KEEP_MIN;
        return 0;
    }
    /* One that is over already waits for the head's next answer. */
    at_ms -= told_ago(v, n);
    at_ms = at_ms < v->s->now_ms ? v->s->now_ms : at_ms;
    if (n->hold == REASON_NONE || n->hold == REASON_KEEP_STALE ||
        n->hold == REASON_KEEP_UNKNOWN)
        return at_ms;
    if (n->hold_until_ms)
        return n->hold_until_ms > at_ms ? n->hold_until_ms : at_ms;
    *ret_why = n->hold;
    return 0;
}

/* One that is on its way is in its cloud's queue: else it is not said to be idle. */
static const char *idle_for(struct view *v, uint32_t row)
{
    const struct snap_node *n = &v->snapshot->nodes[row];
    const char *span = view_span(v, n->idle_ms);

    return n->state == STATE_READY
               ? arena_printf(&v->arena, "idle for %s", span)
               : arena_printf(&v->arena,
                              "in its cloud's queue, and not needed for %s",
                              span);
}

static const char *idle_text(struct view *v, uint32_t row)
{
    const struct plan_node *p = view_verdict(v, row);
    enum reason keeps;
    int64_t at_ms = view_goes_ms(v, (uint32_t)(p - v->plan->nodes), &keeps);
    const char *idle = idle_for(v, row);

    if (at_ms)
        return arena_printf(&v->arena, "%s, may be ended at %s", idle,
                            view_time(v, at_ms));
    if (keeps == REASON_NONE)
        return arena_printf(&v->arena, "%s, and its idle_timeout never ends",
                            idle);
    return arena_printf(&v->arena, "%s, and not ended: %s", idle,
                        reason_text(keeps));
}

static const char *why_text(struct view *v, uint32_t row)
{
    const struct snap_node *n = &v->snapshot->nodes[row];
    const struct plan_node *p = view_verdict(v, row);
    const char *until;

    if (!p)
        return n->state == STATE_GONE ? "it is gone" : "not planned for yet";
    until = p->until_ms > 0 ? arena_printf(&v->arena, ", until %s",
                                           view_time(v, p->until_ms))
                            : "";
    switch (p->why) {
    case REASON_KEEP_IDLE_WAIT:
        return n->idle_ms >= 0 ? idle_text(v, row) : reason_text(p->why);
    case REASON_KEEP_BUSY:
        return n->activity && n->activity[0]
                   ? arena_printf(&v->arena, "it has work: %s", n->activity)
                   : reason_text(p->why);
    case REASON_KEEP_STARTING:
        return n->note && n->note[0]
                   ? arena_printf(&v->arena, "it is on its way: %s", n->note)
                   : arena_printf(&v->arena, "it is on its way%s",
                                  demand_text(v, p->demand));
    case REASON_END_IDLE:
        return n->idle_ms >= 0
                   ? arena_printf(&v->arena, "%s, longer than its timeout",
                                  idle_for(v, row))
                   : reason_text(p->why);
    case REASON_KEEP_BY_CLOUD:
    case REASON_KEEP_REFUSED:
    case REASON_KEEP_DRAINING:
        if (n->note && n->note[0])
            return arena_printf(&v->arena, "%s: %s%s", reason_text(p->why),
                                n->note, until);
        /* fall through */
    default:
        return arena_printf(&v->arena, "%s%s%s", reason_text(p->why),
                            demand_text(v, p->demand), until);
    }
}

/* ", cordoned by ann", or "". */
static const char *cordon_text(struct view *v, const struct snap_node *n)
{
    bool known = n->asked_by && *n->asked_by;

    if (!n->cordoned && !n->asked_to_end)
        return "";
    return arena_printf(&v->arena, "; %s%s%s",
                        n->asked_to_end ? "asked to end" : "cordoned",
                        known ? " by " : "", known ? n->asked_by : "");
}

/* A refused drain is named beside the reason that keeps the node now. */
const char *view_why_text(struct view *v, uint32_t row)
{
    const struct snap_node *n = &v->snapshot->nodes[row];
    const struct plan_node *p = view_verdict(v, row);
    const char *text = arena_printf(&v->arena, "%s%s", why_text(v, row),
                                    cordon_text(v, n));

    if (n->hold != REASON_KEEP_REFUSED || !n->note || !n->note[0] || !p ||
        p->why == REASON_KEEP_REFUSED)
        return text;
    return arena_printf(&v->arena, "%s; its drain was refused: %s", text,
                        n->note);
}

static int64_t why_until_ms(struct view *v, const struct plan_node *p)
{
    enum reason keeps;

    if (p && p->why == REASON_KEEP_IDLE_WAIT)
        return view_goes_ms(v, (uint32_t)(p - v->plan->nodes), &keeps);
    return p ? p->until_ms : 0;
}

/* The node's "why" object. */
static void view_why_node(struct out *o, const char *key, struct view *v,
                          uint32_t row)
{
    static const char *const actions[] = {
        [NODE_KEEP] = "keep", [NODE_END] = "end", [NODE_UNDRAIN] = "undrain"};
    const struct plan_node *p = view_verdict(v, row);

    out_object(o, key);
    out_str(o, "action", p ? actions[p->action] : "none");
    out_str(o, "reason", reason_code(p ? p->why : REASON_NONE));
    out_str(o, "text", view_why_text(v, row));
    out_time(o, "until", why_until_ms(v, p));
    out_close(o);
}

static void write_for(struct out *o, struct view *v, uint32_t row)
{
    const struct plan_node *p = view_verdict(v, row);

    out_array(o, "for");
    for (uint32_t i = 0; p && i < p->n_placements; i++) {
        const struct plan_placement *q =
            &v->plan->placements[p->first_placement + i];
        const struct pb_demand *d =
            &v->s->demands[v->s->bundles[q->bundle].demand];

        out_object(o, NULL);
        out_str(o, "owner", view_str(v, d->owner));
        out_str(o, "source", source_name(d->source));
        out_str(o, "id", view_str(v, d->id));
        view_need(o, "bundle", v, q->bundle, q->alt);
        out_uint(o, "count", q->count);
        out_close(o);
    }
    out_close(o);
}

/* By its mark, of a machine that may be somebody else's: what `adopt` makes ours. */
static const char *launched_by(struct view *v, const struct snap_node *n)
{
    struct request_mark mark;

    if (n->hold != REASON_KEEP_HELD && n->hold != REASON_KEEP_ANOTHERS &&
        n->hold != REASON_KEEP_UNJOINED)
        return "";
    return n->request_id && mark_read(n->request_id, &mark)
               ? arena_printf(&v->arena, MARK "%s", mark.owner)
               : "somebody";
}

void node_write(struct out *o, const char *key, struct view *v, uint32_t row)
{
    const struct snap_node *n = &v->snapshot->nodes[row];
    const struct snap_type *t = view_node_type(v, row);
    static const char *const uses[USES] = {
        [USE_BUSY] = "busy", [USE_HELD] = "held", [USE_IDLE] = "idle"};
    const struct qtys nothing = {0};
    int64_t price = view_node_price(v, row);

    out_object(o, key);
    out_str(o, "id", n->id);
    out_str(o, "type", n->type);
    out_str(o, "provider", n->provider);
    out_str(o, "zone", n->zone);
    out_bool(o, "spot", n->spot);
    out_str(o, "state", state_name(n->state));
    out_bool(o, "head", n->head);
    out_bool(o, "unmanaged", n->unmanaged);
    out_bool(o, "outdated", n->outdated);
    out_bool(o, "protected", n->hold == REASON_KEEP_PROTECTED);
    out_bool(o, "cordoned", n->cordoned);
    out_bool(o, "asked_to_end", n->asked_to_end);
    out_str(o, "asked_by", n->asked_by);
    out_str(o, "because", n->because);
    out_str(o, "launched_by", launched_by(v, n));
    view_why_node(o, "why", v, row);
    out_micros_or_null(o, "price_per_hour", price);
    out_time(o, "created_at", n->created_ms);
    if (n->created_ms > 0)
        out_seconds(o, "age_s", v->snapshot->now_ms - n->created_ms);
    else
        out_null(o, "age_s");
    out_time(o, "since_at", n->since_ms);
    out_str(o, "use",
            n->state == STATE_READY && !n->head ? uses[view_use(v, row)] : "");
    if (n->state == STATE_READY && view_use(v, row) == USE_IDLE)
        out_int(o, "idle_ms", n->idle_ms);
    else
        out_null(o, "idle_ms");
    out_str(o, "activity", n->activity);
    out_str(o, "ray_id", n->ray_id);
    out_str(o, "cloud_id", n->cloud_id);
    out_str(o, "address", n->address);
    out_str(o, "note", n->note);
    view_qtys(o, "total",
              n->total.n ? &n->total
              : t        ? &t->resources
                         : &nothing);
    view_qtys(o, "available", &n->available);
    view_pairs(o, "labels", n->labels.n || !t ? &n->labels : &t->labels);
    write_for(o, v, row);
    out_close(o);
}

uint32_t node_find(const struct view *v, const char *id)
{
    const struct snap_node *n = v->snapshot->nodes;

    for (uint32_t i = 0; i < v->snapshot->n_nodes; i++)
        if (strcmp(n[i].id, id) == 0)
            return i;
    for (uint32_t i = 0; i < v->snapshot->n_nodes && id[0]; i++)
        if ((n[i].ray_id && strcmp(n[i].ray_id, id) == 0) ||
            (n[i].cloud_id && strcmp(n[i].cloud_id, id) == 0))
            return i;
    return NONE;
}
