/*
 * obstacle.c - why a bundle has no place.
 *
 * The planner names the first obstacle of each offer.  Here each becomes a
 * sentence and an object, and the same obstacle of ten zones is given once.
 */
#include <string.h>

#include "view.h"

static const char *offer_text(struct view *v, uint32_t offer)
{
    const struct pb_type *t = view_offer_type(v, offer);
    const struct pb_offer *o = &v->s->offers[offer];
    const char *zone = view_str(v, o->zone);

    return arena_printf(&v->arena, "%s%s%s%s", view_str(v, t->name),
                        zone[0] ? " in " : "", zone, o->spot ? " (spot)" : "");
}

static const char *queue_of(struct view *v, const struct plan_refusal *r)
{
    const struct pb_selector *sel =
        &v->s->selectors[view_shape(v, r->bundle, r->alt)->selector];

    return sel->queue < v->s->n_queues
               ? view_str(v, v->s->queues[sel->queue].name)
               : "";
}

/* What of a quota is used up: a resource, or nodes. */
static const char *quota_name(struct view *v, const struct plan_refusal *r)
{
    return r->column < v->s->n_columns
               ? view_str(v, v->s->columns[r->column].name)
               : "nodes";
}

static const char *queue_text(struct view *v, const struct plan_refusal *r)
{
    const char *owner = view_str(
        v, v->s->demands[v->s->bundles[r->bundle].demand].owner);

    if (r->why == REASON_QUEUE_DENIED)
        return arena_printf(
            &v->arena, "there is no such queue, or it is not for %s", owner);
    return arena_printf(&v->arena, "the queue %s is full: uses %s of %s %s",
                        queue_of(v, r), view_amount(v, r->column, r->has),
                        view_amount(v, r->column, r->needs), quota_name(v, r));
}

/* In back-off, or the provider lets no more be launched. */
static const char *backoff_text(struct view *v, uint32_t offer)
{
    const struct pb_offer *o = &v->s->offers[offer];

    if (o->backoff_until_ms > v->s->now_ms)
        return arena_printf(&v->arena, "%s is in back-off until %s after %s",
                            offer_text(v, offer),
                            view_time(v, o->backoff_until_ms),
                            status_name(o->backoff_for));
    return arena_printf(
        &v->arena, "%s: only %u more may be launched now%s%s",
        offer_text(v, offer), o->room,
        o->backoff_for != ST_OK ? ", after " : "",
        o->backoff_for != ST_OK ? status_name(o->backoff_for) : "");
}

static const char *throttle_text(struct view *v, const char *type)
{
    const struct snap_limits *l = &v->s->limits;
    const char *launching = "", *speed = "";

    if (l->max_launching != UNLIMITED)
        launching = arena_printf(&v->arena,
                                 "limits.max_launching (%u) is reached",
                                 l->max_launching);
    if (l->upscaling_speed > 0)
        speed = arena_printf(
            &v->arena,
            "limits.upscaling_speed (%s) lets no more of it start at once",
            view_amount(v, NONE, l->upscaling_speed));
    return arena_printf(&v->arena, "%s has to wait: %s%s%s", type, launching,
                        *launching && *speed ? ", or " : "", speed);
}

static const char *gang_text(struct view *v, const struct plan_refusal *r,
                             const char *type)
{
    const struct pb_demand *d = &v->s->demands[v->s->bundles[r->bundle].demand];
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->n_bundles; i++)
        n += v->s->bundles[d->first_bundle + i].count;
    if (r->why == REASON_SPREAD)
        return arena_printf(
            &v->arena,
            "%s could hold one, but there cannot be %u nodes, one for each",
            type, n);
    return arena_printf(
        &v->arena, "%s could hold one, but not all %u of the gang have a place",
        type, n);
}

/* When an alternative is tried at the latest. */
static int64_t turn_of(struct view *v, const struct plan_refusal *r)
{
    const struct pb_bundle *b = &v->s->bundles[r->bundle];
    int64_t at = v->s->demands[b->demand].since_ms;

    for (uint32_t i = 1; i <= r->alt && i < b->n_alts; i++)
        at += v->s->alts[b->first_alt + i].after_ms;
    return at;
}

const char *view_obstacle_text(struct view *v, uint32_t refusal)
{
    const struct plan_refusal *r = &v->plan->refusals[refusal];
    const struct pb_type *t = view_offer_type(v, r->offer);
    const char *type = t ? view_str(v, t->name) : "", *has;
    const struct pb_offer *o;

    if (!t)
        return reason_text(r->why);
    o = &v->s->offers[r->offer];
    switch (r->why) {
    case REASON_LACKS:
        return arena_printf(&v->arena, "%s lacks %s: %s needed, %s there", type,
                            r->column < v->s->n_columns
                                ? view_str(v, v->s->columns[r->column].name)
                                : "a resource",
                            view_amount(v, r->column, r->needs),
                            view_amount(v, r->column, r->has));
    case REASON_LABEL:
        has = view_label(v, o->first_label, o->n_labels, r->column);
        return has ? arena_printf(&v->arena,
                                  "%s has %s=%s, which is not asked for", type,
                                  view_label_name(view_str(v, r->column)), has)
                   : arena_printf(&v->arena, "%s has no %s", type,
                                  view_label_name(view_str(v, r->column)));
    case REASON_TAINT:
        return arena_printf(&v->arena,
                            "%s has the taint %s, which is not tolerated", type,
                            view_str(v, r->column));
    case REASON_FRACTION:
        return arena_printf(&v->arena, "%s has whole %s only: %s cannot be had",
                            type, quota_name(v, r),
                            view_amount(v, r->column, r->needs));
    case REASON_QUEUE_FULL:
    case REASON_QUEUE_DENIED: return queue_text(v, r);
    case REASON_GANG:
    case REASON_SPREAD: return gang_text(v, r, type);
    case REASON_THROTTLE: return throttle_text(v, type);
    case REASON_CONSERVE:
        return arena_printf(
            &v->arena,
            "%s has accelerators, which are not bought for work without one "
            "(limits.conserve_accelerators)",
            type);
    case REASON_TYPE_DISABLED:
        return arena_printf(
            &v->arena,
            "%s was refused as invalid by %s; a reload of the configuration "
            "tries it again",
            type, view_str(v, t->provider));
    case REASON_UNCONFIRMED:
        return "it was seen only once so far; nothing is bought before a "
               "second look";
    case REASON_IMPROVING:
        return arena_printf(
            &v->arena,
            "a better plan than %s is being looked for (limits.think)", type);
    case REASON_ALTERNATIVE:
        return arena_printf(&v->arena,
                            "%s is for an alternative that is tried at %s",
                            type, view_time(v, turn_of(v, r)));
    case REASON_QUEUE_TYPE:
        return arena_printf(&v->arena, "%s is not in the queue %s", type,
                            view_str(v, r->column));
    case REASON_MAX_TYPE:
        return arena_printf(&v->arena, "%s is at its max of %u", type, t->max);
    case REASON_MAX_NODES:
        return arena_printf(&v->arena,
                            "the cluster is at limits.max_nodes (%u)",
                            v->s->limits.max_nodes);
    case REASON_BUDGET:
        return arena_printf(
            &v->arena, "%s would exceed limits.max_cost_per_hour (%s $/h)",
            type, view_money(v, v->s->limits.max_cost_micros_hour));
    case REASON_BACKOFF: return backoff_text(v, r->offer);
    case REASON_PROVIDER_DOWN:
        return arena_printf(&v->arena, "%s: provider %s is not ready", type,
                            view_str(v, t->provider));
    default:
        return arena_printf(&v->arena, "%s: %s", offer_text(v, r->offer),
                            reason_text(r->why));
    }
}

void view_obstacle(struct out *o, struct view *v, uint32_t refusal)
{
    const struct plan_refusal *r = &v->plan->refusals[refusal];
    const struct pb_type *t = view_offer_type(v, r->offer);
    const struct pb_offer *of = t ? &v->s->offers[r->offer] : NULL;

    out_object(o, NULL);
    out_str(o, "type", t ? view_str(v, t->name) : "");
    out_str(o, "provider", t ? view_str(v, t->provider) : "");
    out_str(o, "zone", of ? view_str(v, of->zone) : "");
    out_bool(o, "spot", of && of->spot);
    out_str(o, "reason", reason_code(r->why));
    out_str(o, "text", view_obstacle_text(v, refusal));
    if (r->why == REASON_LACKS && r->column < v->s->n_columns) {
        out_str(o, "resource", view_str(v, v->s->columns[r->column].name));
        out_amount(o, "has", r->has);
        out_amount(o, "needs", r->needs);
    }
    if (r->why == REASON_LABEL)
        out_str(o, "label", view_str(v, r->column));
    if (r->why == REASON_TAINT)
        out_str(o, "taint", view_str(v, r->column));
    if (r->why == REASON_QUEUE_TYPE)
        out_str(o, "queue", view_str(v, r->column));
    if (r->why == REASON_QUEUE_FULL) {
        out_str(o, "queue", queue_of(v, r));
        out_str(o, "resource", quota_name(v, r));
        out_amount(o, "has", r->has);
        out_amount(o, "needs", r->needs);
    }
    if (r->why == REASON_BACKOFF && of)
        out_time(o, "until", of->backoff_until_ms);
    out_close(o);
}

uint32_t view_obstacles(struct view *v, uint32_t bundle, uint32_t max,
                        uint32_t *ret_refusals)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_refusals && n < max; i++) {
        const struct plan_refusal *r = &v->plan->refusals[p->first_refusal + i];
        const struct pb_type *t = view_offer_type(v, r->offer);
        bool listed = false;

        for (uint32_t k = 0; k < n && !listed; k++) {
            const struct plan_refusal *q = &v->plan->refusals[ret_refusals[k]];

            listed = q->why == r->why && view_offer_type(v, q->offer) == t &&
                     r->why != REASON_BACKOFF;
        }
        if (!listed)
            ret_refusals[n++] = p->first_refusal + i;
    }
    return n;
}

const char *view_wait_text(struct view *v, uint32_t bundle)
{
    uint32_t first[8], n = view_obstacles(v, bundle, 8, first);
    const char *text;
    struct buf b;

    buf_init(&b, 4096);
    for (uint32_t i = 0, listed = 0, queues = 0; i < n && listed < 3; i++) {
        enum reason why = v->plan->refusals[first[i]].why;

        /* a type that is too small does not explain a wait */
        if (why == REASON_LACKS || why == REASON_LABEL || why == REASON_TAINT ||
            why == REASON_QUEUE_TYPE)
            continue;
        if (why == REASON_QUEUE_FULL && queues++)
            continue; /* the same for every type */
        buf_printf(&b, "%s%s", listed++ ? "; " : ": ",
                   view_obstacle_text(v, first[i]));
    }
    text = arena_strdup(&v->arena, b.s);
    buf_done(&b);
    return text;
}

const char *view_unplaced_text(struct view *v, uint32_t bundle)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    const char *need = view_need_text(v, bundle, NONE);

    if (p->infeasible)
        return arena_printf(&v->arena,
                            "%u x (%s) can never be placed; nearest: %s",
                            p->infeasible, need, view_nearest_text(v, bundle));
    if (!p->waiting)
        return arena_printf(&v->arena, "(%s) has its place", need);
    return arena_printf(&v->arena, "%u x (%s) wait%s%s", p->waiting, need,
                        p->waiting == 1 ? "s" : "", view_wait_text(v, bundle));
}

void view_unplaced(struct out *o, struct view *v, uint32_t bundle,
                   uint32_t max_reasons)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    const struct pb_demand *d = &v->s->demands[v->s->bundles[bundle].demand];
    uint32_t *why = ARENA_ARRAY(&v->arena, uint32_t, max_reasons), n;

    out_object(o, NULL);
    out_str(o, "owner", view_str(v, d->owner));
    out_str(o, "source", source_name(d->source));
    out_str(o, "id", view_str(v, d->id));
    view_need(o, "bundle", v, bundle, NONE);
    out_uint(o, "waiting", p->waiting);
    out_uint(o, "infeasible", p->infeasible);
    if (p->infeasible)
        view_nearest(o, "nearest", v, bundle);
    else
        out_null(o, "nearest");
    out_array(o, "reasons");
    n = view_obstacles(v, bundle, max_reasons, why);
    for (uint32_t i = 0; i < n; i++)
        view_obstacle(o, v, why[i]);
    out_close(o);
    out_str(o, "text", view_unplaced_text(v, bundle));
    out_close(o);
}
