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

/* A quota may be of nodes. */
static const char *resource_name(struct view *v, const struct plan_refusal *r)
{
    if (r->column < v->s->n_columns)
        return view_str(v, v->s->columns[r->column].name);
    return r->why == REASON_LACKS ? "a resource" : "nodes";
}

static const char *owner_of(struct view *v, const struct plan_refusal *r)
{
    return view_str(v, v->s->demands[v->s->bundles[r->bundle].demand].owner);
}

/* Why nobody knows the label of a new node of the type; NULL: it has none.
 * name: the key, or a condition that begins with it. */
static const char *label_unknown(struct view *v, const struct pb_type *t,
                                 const char *name)
{
    const struct snap_type *s = &v->snapshot->types[t->from];
    size_t n = strcspn(name, " ");

    for (uint32_t i = 0; i < s->origins.n; i++) {
        const char *what = s->origins.v[i].key;
        if (strncmp(what, "label ", 6) == 0 && strlen(what) == 6 + n &&
            strncmp(what + 6, name, n) == 0 &&
            !pairs_value(&s->labels, what + 6))
            return s->origins.v[i].value;
    }
    return NULL;
}

static const char *label_text(struct view *v, const struct plan_refusal *r)
{
    const struct pb_offer *o = &v->s->offers[r->offer];
    const char *type = view_str(v, view_offer_type(v, r->offer)->name);
    const char *name = view_label_name(view_str(v, r->column));
    const char *has = view_label(v, o->first_label, o->n_labels, r->column);
    const char *unknown = label_unknown(v, view_offer_type(v, r->offer), name);

    if (!has && unknown)
        return arena_printf(&v->arena, "%s of %s is %s",
                            arena_strndup(&v->arena, name, strcspn(name, " ")),
                            type, unknown);
    return has ? arena_printf(&v->arena, "%s has %s=%s, which is not asked for",
                              type, name, has)
               : arena_printf(&v->arena, "%s has no %s", type, name);
}

/* Those that leave it no more than its room: " (east: g4 vCPUs)", "". */
static const char *quota_names(struct view *v, const struct pb_offer *o)
{
    const char *all = "";

    for (uint32_t i = 0; i < o->n_takes; i++) {
        const struct pb_takes *x = &v->s->takes[o->first_takes + i];
        const struct pb_share *q = &v->s->shares[x->share];

        if (q->left / x->each <= o->room)
            all = arena_printf(&v->arena,
                               "%s%s%s, %u left, of which one takes "
                               "%u",
                               all, *all ? "; " : "", view_str(v, q->name),
                               q->left, x->each);
    }
    return *all ? arena_printf(&v->arena, " (%s)", all) : "";
}

static bool is_or_all(const char *name, const char *word)
{
    return !*name || strcmp(name, word) == 0;
}

/* What the cloud itself said as it refused: of the offer, its type or its provider,
 * whichever lasts longest.  "": nothing, or not for who may read his own alone. */
static const char *refusal_said(struct view *v, uint32_t offer)
{
    const struct pb_offer *o = &v->s->offers[offer];
    const struct pb_type *t = &v->s->types[o->type];
    const struct status_backoff *last = NULL;

    for (uint32_t i = 0; v->page && !v->reader && i < v->page->n_backoffs;
         i++) {
        const struct status_backoff *b = &v->page->backoffs[i];

        if (strcmp(b->provider, view_str(v, t->provider)) == 0 &&
            is_or_all(b->type, view_str(v, t->name)) &&
            is_or_all(b->zone, view_str(v, o->zone)) &&
            (!*b->zone || b->spot == o->spot) && b->why == o->backoff_for &&
            (!last || b->until_ms > last->until_ms))
            last = b;
    }
    return last ? last->text : "";
}

const char *view_refusal(struct view *v, uint32_t offer)
{
    static const char *const words[ST_COUNT] = {
        [ST_STOCKOUT] = "its cloud has no such machine left",
        [ST_QUOTA] = "the quota is used up",
        [ST_AUTH] = "its cloud refuses our credentials",
        [ST_THROTTLED] = "its cloud wants fewer calls",
        [ST_INVALID] = "its cloud refuses the node type",
    };
    enum status why = v->s->offers[offer].backoff_for;
    const char *said = refusal_said(v, offer);

    return arena_printf(&v->arena, "%s (%s)",
                        *said                          ? said
                        : why < ST_COUNT && words[why] ? words[why]
                                                       : "the last try failed",
                        status_name(why));
}

/* In back-off, or the provider lets no more be launched: its words, then ours. */
static const char *backoff_text(struct view *v, uint32_t offer)
{
    const struct pb_offer *o = &v->s->offers[offer];

    if (o->backoff_until_ms > v->s->now_ms)
        return arena_printf(&v->arena, "%s: %s; the next try is at %s",
                            offer_text(v, offer), view_refusal(v, offer),
                            view_time(v, o->backoff_until_ms));
    if (o->backoff_for != ST_OK)
        return arena_printf(
            &v->arena, "%s: %s; only %u more may be launched now",
            offer_text(v, offer), view_refusal(v, offer), o->room);
    return arena_printf(
        &v->arena,
        "%s: only %u more may be launched now, by its cloud's quota%s",
        offer_text(v, offer), o->room, quota_names(v, o));
}

/* What its provider says of it. */
const char *view_closed_text(struct view *v, uint32_t offer)
{
    const struct pb_offer *o = &v->s->offers[offer];
    const struct snap_type *t = &v->snapshot->types[v->s->types[o->type].from];
    const char *note = "";

    for (uint32_t i = 0; i < t->n_offers; i++)
        if (t->offers[i].note && t->offers[i].spot == o->spot &&
            strcmp(t->offers[i].zone, view_str(v, o->zone)) == 0)
            note = t->offers[i].note;
    return arena_printf(
        &v->arena, "%s is not offered by %s now%s%s", offer_text(v, offer),
        view_str(v, v->s->types[o->type].provider), *note ? ": " : "", note);
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

/* Sentences for most reasons; sentence_part() knows what a letter stands for. */
static const char *const sentences[REASON_COUNT] = {
    [REASON_LACKS] = "%t lacks %r: %n needed, %h there",
    [REASON_TAINT] = "%t has the taint %s, which is not tolerated",
    [REASON_FRACTION] = "%t has whole %r only: %n cannot be had",
    [REASON_CONSERVE] =
        "%t has accelerators, which are not bought for work without one "
        "(limits.conserve_accelerators)",
    [REASON_TYPE_DISABLED] =
        "%t was refused as invalid by %p; a reload of the configuration tries "
        "it again",
    [REASON_UNCONFIRMED] =
        "it is new, or may just have been placed; nothing is bought before another look",
    [REASON_IMPROVING] =
        "a better plan than %t is being looked for (limits.think)",
    [REASON_UNHELPED] =
        "a %t was bought for it, joined, and did not help: no other is bought "
        "for it for a while",
    [REASON_ALTERNATIVE] = "%t is for an alternative that is tried at %a",
    [REASON_QUEUE_DENIED] = "there is no such queue, or it is not for %w",
    [REASON_QUEUE_FULL] = "the queue %q is full: uses %h of %n %r",
    [REASON_QUEUE_TYPE] = "%t is not in the queue %s",
    [REASON_MAX_TYPE] = "%t is at its max of %m",
    [REASON_MAX_NODES] = "the cluster is at limits.max_nodes (%N)",
    [REASON_BUDGET] = "%t would exceed limits.max_cost_per_hour (%c $/h)",
    [REASON_PROVIDER_DOWN] = "%t: provider %p is not ready",
    [REASON_OFFERS_AWAITED] =
        "a provider has not said yet what it offers: it is waited for 10 s",
};

static const char *sentence_part(struct view *v, const struct plan_refusal *r,
                                 char what)
{
    const struct pb_type *t = view_offer_type(v, r->offer);

    switch (what) {
    case 't': return view_str(v, t->name);
    case 'p': return view_str(v, t->provider);
    case 'r': return resource_name(v, r);
    case 'n': return view_amount(v, r->column, r->needs);
    case 'h': return view_amount(v, r->column, r->has);
    case 'q': return queue_of(v, r);
    case 'w': return owner_of(v, r);
    case 's': return view_str(v, r->column); /* a taint, or a queue */
    case 'a': return view_time(v, turn_of(v, r));
    case 'm': return arena_printf(&v->arena, "%u", t->max);
    case 'N': return arena_printf(&v->arena, "%u", v->s->limits.max_nodes);
    default: return view_money(v, v->s->limits.max_cost_micros_hour); /* c */
    }
}

static const char *sentence(struct view *v, const struct plan_refusal *r)
{
    struct buf b;

    buf_init(&b, 4096);
    for (const char *p = sentences[r->why]; *p; p++)
        if (*p == '%')
            buf_str(&b, sentence_part(v, r, *++p));
        else
            buf_add(&b, p, 1);
    return view_take(v, &b);
}

const char *view_obstacle_text(struct view *v, uint32_t refusal)
{
    const struct plan_refusal *r = &v->plan->refusals[refusal];
    const struct pb_type *t = view_offer_type(v, r->offer);

    if (!t)
        return reason_text(r->why);
    if (sentences[r->why])
        return sentence(v, r);
    switch (r->why) {
    case REASON_LABEL: return label_text(v, r);
    case REASON_GANG:
    case REASON_SPREAD: return gang_text(v, r, view_str(v, t->name));
    case REASON_THROTTLE: return throttle_text(v, view_str(v, t->name));
    case REASON_BACKOFF: return backoff_text(v, r->offer);
    case REASON_CLOSED: return view_closed_text(v, r->offer);
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
        out_str(o, "resource", resource_name(v, r));
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
    return view_take(v, &b);
}

const char *view_said(const struct view *v, const struct pb_demand *d)
{
    const char *said = v->snapshot->demands[d->from].said;

    return said && *said ? said : NULL;
}

/* "; the scheduler says: ..." of a bundle, or "". */
static const char *said_text(struct view *v, uint32_t bundle)
{
    const char *said = view_said(v,
                                 &v->s->demands[v->s->bundles[bundle].demand]);

    return said ? arena_printf(&v->arena, "; the scheduler says: %s", said)
                : "";
}

const char *view_unplaced_text(struct view *v, uint32_t bundle)
{
    const struct plan_bundle *p = &v->plan->bundles[bundle];
    const char *need = view_need_text(v, bundle, NONE);

    if (p->infeasible)
        return arena_printf(&v->arena,
                            "%u x (%s) can never be placed; nearest: %s%s",
                            p->infeasible, need, view_nearest_text(v, bundle),
                            said_text(v, bundle));
    if (!p->waiting)
        return arena_printf(&v->arena, "(%s) has its place", need);
    return arena_printf(&v->arena, "%u x (%s) wait%s%s%s", p->waiting, need,
                        p->waiting == 1 ? "s" : "", view_wait_text(v, bundle),
                        said_text(v, bundle));
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
