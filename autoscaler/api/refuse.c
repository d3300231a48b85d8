/*
 * refuse.c - why a bundle has no place: obstacles, and the nearest type.
 *
 * The planner names the first obstacle of each offer.  People want two things
 * more: the same obstacle of ten zones said once, and for what can never be
 * placed, which node type comes closest and all that it lacks.
 */
#include <string.h>

#include "../model/accel.h"
#include "../model/amount.h"
#include "view.h"

static const char *amount_of(struct view *v, uint32_t column, int64_t a)
{
    const char *name = column < v->s->n_columns
                           ? view_str(v, v->s->columns[column].name)
                           : "";
    char text[40];

    return arena_strdup(&v->arena, amount_pretty(name, a, text, sizeof text));
}

static const char *label_of(struct view *v, uint32_t first, uint32_t n,
                            uint32_t key)
{
    for (uint32_t i = 0; i < n; i++)
        if (v->s->labels[first + i].key == key)
            return view_str(v, v->s->labels[first + i].value);
    return NULL;
}

static const char *short_label(const char *key)
{
    return strcmp(key, ACCEL_LABEL) == 0 ? "accelerator_type" : key;
}

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
        return arena_printf(&v->arena, "there is no such queue, or it is not "
                            "for %s", owner);
    return arena_printf(&v->arena, "the queue %s is full: uses %s of %s %s",
                        queue_of(v, r), amount_of(v, r->column, r->has),
                        amount_of(v, r->column, r->needs), quota_name(v, r));
}

/* Set aside for a time, or the provider lets no more be launched. */
static const char *aside_text(struct view *v, uint32_t offer)
{
    const struct pb_offer *o = &v->s->offers[offer];

    if (o->backoff_until_ms > v->s->now_ms)
        return arena_printf(&v->arena, "%s is in back-off until %s after %s",
                            offer_text(v, offer),
                            view_time(v, o->backoff_until_ms),
                            status_name(o->backoff_for));
    return arena_printf(&v->arena, "%s: only %u more may be launched now%s%s",
                        offer_text(v, offer), o->room,
                        o->backoff_for != ST_OK ? ", after " : "",
                        o->backoff_for != ST_OK
                            ? status_name(o->backoff_for)
                            : "");
}

static const char *throttle_text(struct view *v, const char *type)
{
    const struct snap_limits *l = &v->s->limits;
    const char *launching = "", *speed = "";

    if (l->max_launching != UNLIMITED)
        launching = arena_printf(&v->arena, "limits.max_launching (%u) is "
                                 "reached", l->max_launching);
    if (l->upscaling_speed > 0)
        speed = arena_printf(&v->arena, "limits.upscaling_speed (%s) lets no "
                             "more of it start at once",
                             amount_of(v, NONE, l->upscaling_speed));
    return arena_printf(&v->arena, "%s has to wait: %s%s%s", type, launching,
                        *launching && *speed ? ", or " : "", speed);
}

static const char *gang_text(struct view *v, const struct plan_refusal *r,
                             const char *type)
{
    const struct pb_demand *d =
        &v->s->demands[v->s->bundles[r->bundle].demand];
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->n_bundles; i++)
        n += v->s->bundles[d->first_bundle + i].count;
    if (r->why == REASON_SPREAD)
        return arena_printf(&v->arena, "%s could hold one, but there cannot be "
                            "%u nodes, one for each", type, n);
    return arena_printf(&v->arena, "%s could hold one, but not all %u of the "
                        "gang have a place", type, n);
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
                            amount_of(v, r->column, r->needs),
                            amount_of(v, r->column, r->has));
    case REASON_LABEL:
        has = label_of(v, o->first_label, o->n_labels, r->column);
        return has ? arena_printf(&v->arena, "%s has %s=%s, which is not asked "
                                  "for", type,
                                  short_label(view_str(v, r->column)), has)
                   : arena_printf(&v->arena, "%s has no %s", type,
                                  short_label(view_str(v, r->column)));
    case REASON_TAINT:
        return arena_printf(&v->arena, "%s has the taint %s, which is not "
                            "tolerated", type, view_str(v, r->column));
    case REASON_FRACTION:
        return arena_printf(&v->arena, "%s has whole %s only: %s cannot be "
                            "had", type, quota_name(v, r),
                            amount_of(v, r->column, r->needs));
    case REASON_QUEUE_FULL:
    case REASON_QUEUE_DENIED:
        return queue_text(v, r);
    case REASON_GANG:
    case REASON_SPREAD:
        return gang_text(v, r, type);
    case REASON_THROTTLE:
        return throttle_text(v, type);
    case REASON_CONSERVE:
        return arena_printf(&v->arena, "%s has accelerators, which are not "
                            "bought for work without one "
                            "(limits.conserve_accelerators)", type);
    case REASON_TYPE_DISABLED:
        return arena_printf(&v->arena, "%s was refused as invalid by %s; a "
                            "reload of the configuration tries it again", type,
                            view_str(v, t->provider));
    case REASON_IMPROVING:
        return arena_printf(&v->arena, "a better plan than %s is being looked "
                            "for (limits.think)", type);
    case REASON_UNCONFIRMED:
        return "it was seen only once so far; nothing is bought before a "
               "second look";
    case REASON_ALTERNATIVE:
        return arena_printf(&v->arena, "%s is for an alternative that is tried "
                            "at %s", type, view_time(v, turn_of(v, r)));
    case REASON_QUEUE_TYPE:
        return arena_printf(&v->arena, "%s is not in the queue %s", type,
                            view_str(v, r->column));
    case REASON_MAX_TYPE:
        return arena_printf(&v->arena, "%s is at its max of %u", type, t->max);
    case REASON_MAX_NODES:
        return arena_printf(&v->arena, "the cluster is at limits.max_nodes "
                            "(%u)", v->s->limits.max_nodes);
    case REASON_BUDGET:
        return arena_printf(&v->arena, "%s would exceed "
                            "limits.max_cost_per_hour (%s $/h)", type,
                            view_money(v, v->s->limits.max_cost_micros_hour));
    case REASON_BACKOFF:
        return aside_text(v, r->offer);
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
        const struct plan_refusal *r =
            &v->plan->refusals[p->first_refusal + i];
        const struct pb_type *t = view_offer_type(v, r->offer);
        bool told = false;

        for (uint32_t k = 0; k < n && !told; k++) {
            const struct plan_refusal *q = &v->plan->refusals[ret_refusals[k]];

            told = q->why == r->why && view_offer_type(v, q->offer) == t &&
                   r->why != REASON_BACKOFF;
        }
        if (!told)
            ret_refusals[n++] = p->first_refusal + i;
    }
    return n;
}

/* ---- the nearest type: the least sum of missing shares and wrong labels */

static bool term_holds(struct view *v, const struct pb_term *t,
                       uint32_t first, uint32_t n)
{
    const char *has = label_of(v, first, n, t->key);

    for (uint32_t i = 0; has && i < t->n_values; i++)
        if (strcmp(view_str(v, v->s->term_values[t->first_value + i]), has) ==
            0)
            return t->op == TERM_IN;
    return t->op == TERM_NOT_IN;
}

/* In millionths: 1,000,000 for each wholly missing resource or wrong label. */
static uint64_t distance(struct view *v, const struct pb_shape *shape,
                         const struct pb_type *t)
{
    const struct pb_selector *sel = &v->s->selectors[shape->selector];
    const int64_t *needs = pb_row(v->s, shape->row);
    const int64_t *has = pb_row(v->s, t->row);
    const struct pb_offer *o = &v->s->offers[t->first_offer];
    uint64_t sum = 0;

    for (uint32_t c = 0; c < v->s->n_columns; c++)
        if (needs[c] > has[c])
            sum += 1 + (uint64_t)(999999.0 * (double)(needs[c] - has[c]) /
                                  (double)needs[c]);
    for (uint32_t i = 0; i < sel->n_terms; i++)
        if (!term_holds(v, &v->s->terms[sel->first_term + i], o->first_label,
                        o->n_labels))
            sum += 1000000;
    return sum;
}

static const struct pb_type *nearest(struct view *v, uint32_t bundle,
                                     const struct pb_shape **ret_shape)
{
    const struct pb_bundle *b = &v->s->bundles[bundle];
    const struct pb_type *best = NULL;
    uint64_t best_sum = UINT64_MAX;

    for (uint32_t a = 0; a < b->n_alts; a++)
        for (uint32_t i = 0; i < v->s->n_types; i++) {
            const struct pb_type *t = &v->s->types[i];
            const struct pb_shape *shape = view_shape(v, bundle, a);
            uint64_t sum;

            if (t->n_offers == 0)
                continue;
            sum = distance(v, shape, t);
            if (sum < best_sum) {
                best = t;
                best_sum = sum;
                *ret_shape = shape;
            }
        }
    return best;
}

/* Each bundle of a gang has room there, all of them as asked for do not. */
static const char *fits_alone(const struct view *v, uint32_t bundle)
{
    switch (v->s->demands[v->s->bundles[bundle].demand].strategy) {
    case STRATEGY_STRICT_PACK:
        return " could hold one of them, not all together (STRICT_PACK)";
    case STRATEGY_STRICT_SPREAD:
        return " could hold one of them, but there cannot be a node for each "
               "(STRICT_SPREAD)";
    case STRATEGY_PACK:
    case STRATEGY_SPREAD:
        return " could hold one of them, not all at once";
    default:
        return " could hold it";
    }
}

static const char *nearest_text(struct view *v, uint32_t bundle,
                                const struct pb_type *t,
                                const struct pb_shape *shape)
{
    const struct pb_selector *sel = &v->s->selectors[shape->selector];
    const int64_t *needs = pb_row(v->s, shape->row);
    const int64_t *has = pb_row(v->s, t->row);
    const struct pb_offer *o = &v->s->offers[t->first_offer];
    const char *text;
    struct buf b;

    buf_init(&b, 4096);
    for (uint32_t c = 0; c < v->s->n_columns; c++)
        if (needs[c] > has[c])
            buf_printf(&b, "%s%s (%s needed, %s there)",
                       b.n ? " and " : " lacks ",
                       view_str(v, v->s->columns[c].name),
                       amount_of(v, c, needs[c]), amount_of(v, c, has[c]));
    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *term = &v->s->terms[sel->first_term + i];
        const char *value = label_of(v, o->first_label, o->n_labels, term->key);

        if (term_holds(v, term, o->first_label, o->n_labels))
            continue;
        buf_printf(&b, "%s %s %s", b.n ? " and" : "", value ? "has" : "has no",
                   short_label(view_str(v, term->key)));
        if (value)
            buf_printf(&b, "=%s", value);
    }
    if (b.n == 0)
        buf_str(&b, fits_alone(v, bundle));
    text = arena_printf(&v->arena, "%s%s", view_str(v, t->name), b.s);
    buf_done(&b);
    return text;
}

const char *view_nearest_text(struct view *v, uint32_t bundle)
{
    const struct pb_shape *shape;
    const struct pb_type *t = nearest(v, bundle, &shape);

    return t ? nearest_text(v, bundle, t, shape) : "there are no node types";
}

static const char *wanted(struct view *v, const struct pb_term *t)
{
    struct buf b;
    const char *text;

    buf_init(&b, 4096);
    buf_str(&b, t->op == TERM_NOT_IN ? "!" : "");
    for (uint32_t i = 0; i < t->n_values; i++)
        buf_printf(&b, "%s%s", i ? "," : "",
                   view_str(v, v->s->term_values[t->first_value + i]));
    text = arena_strdup(&v->arena, b.s);
    buf_done(&b);
    return text;
}

void view_nearest(struct out *o, const char *key, struct view *v,
                  uint32_t bundle)
{
    const struct pb_shape *shape;
    const struct pb_type *t = nearest(v, bundle, &shape);
    const struct pb_selector *sel;
    const int64_t *needs, *has;

    if (!t) {
        out_null(o, key);
        return;
    }
    needs = pb_row(v->s, shape->row);
    has = pb_row(v->s, t->row);
    sel = &v->s->selectors[shape->selector];
    out_object(o, key);
    out_str(o, "type", view_str(v, t->name));
    out_str(o, "provider", view_str(v, t->provider));
    out_array(o, "lacks");
    for (uint32_t c = 0; c < v->s->n_columns; c++) {
        if (needs[c] <= has[c])
            continue;
        out_object(o, NULL);
        out_str(o, "resource", view_str(v, v->s->columns[c].name));
        out_amount(o, "needs", needs[c]);
        out_amount(o, "has", has[c]);
        out_close(o);
    }
    out_close(o);
    out_array(o, "mismatches");
    for (uint32_t i = 0; i < sel->n_terms; i++) {
        const struct pb_term *term = &v->s->terms[sel->first_term + i];
        const struct pb_offer *of = &v->s->offers[t->first_offer];
        const char *value = label_of(v, of->first_label, of->n_labels,
                                     term->key);

        if (term_holds(v, term, of->first_label, of->n_labels))
            continue;
        out_object(o, NULL);
        out_str(o, "label", view_str(v, term->key));
        out_str(o, "wanted", wanted(v, term));
        if (value)
            out_str(o, "has", value);
        else
            out_null(o, "has");
        out_close(o);
    }
    out_close(o);
    out_str(o, "text", nearest_text(v, bundle, t, shape));
    out_close(o);
}

const char *view_wait_text(struct view *v, uint32_t bundle)
{
    uint32_t first[8], n = view_obstacles(v, bundle, 8, first);
    const char *text;
    struct buf b;

    buf_init(&b, 4096);
    for (uint32_t i = 0, told = 0, queue_told = 0; i < n && told < 3; i++) {
        enum reason why = v->plan->refusals[first[i]].why;

        /* a type that is too small does not explain a wait */
        if (why == REASON_LACKS || why == REASON_LABEL ||
            why == REASON_TAINT || why == REASON_QUEUE_TYPE)
            continue;
        if (why == REASON_QUEUE_FULL && queue_told++)
            continue;      /* the same for every type */
        buf_printf(&b, "%s%s", told++ ? "; " : ": ",
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
        return arena_printf(&v->arena, "%u x (%s) can never be placed; "
                            "nearest: %s", p->infeasible, need,
                            view_nearest_text(v, bundle));
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
