/*
 * displaced.c - whose place a request takes, and what that costs.
 *
 * A request may be served by nodes that are there, and another owner's be bought
 * for in its place: then its reply says so, and so does what `davit why` says of
 * both and of the new node.
 */
#include <string.h>

#include "../../model/displaced.h"
#include "../view.h"

static const char *owner_of(const struct view *v, uint32_t bundle)
{
    return view_owner(
        v, view_str(v, v->s->demands[v->s->bundles[bundle].demand].owner));
}

enum { LISTED_MAX = 100, NAMED_MAX = 8 };

/* Only what these took. */
static struct displaced taken_by(struct view *v, const struct mine *mine)
{
    struct displaced d = {NULL, 0};

    if (!v->displaced) {
        v->displaced = ARENA_NEW(&v->kept, struct displaced);
        *v->displaced = displaced_of(v->s, v->plan, &v->kept);
    }
    d.v = ARENA_ARRAY(&v->arena, struct displacement, v->displaced->n);
    for (uint32_t i = 0; i < v->displaced->n; i++)
        if (mine->is[v->s->bundles[v->displaced->v[i].by].demand])
            d.v[d.n++] = v->displaced->v[i];
    return d;
}

int64_t view_displaces_cost(struct view *v, const struct mine *mine)
{
    struct displaced d = taken_by(v, mine);
    int64_t sum = 0;

    for (uint32_t i = 0; i < d.n; i++)
        sum += d.v[i].micros_hour;
    return sum;
}

void view_displaces(struct out *o, struct view *v, const struct mine *mine)
{
    struct displaced d = taken_by(v, mine);

    out_array(o, "displaces");
    for (uint32_t i = 0; i < d.n && i < LISTED_MAX; i++) {
        const struct displacement *x = &d.v[i];

        out_object(o, NULL);
        out_str(o, "owner", owner_of(v, x->bundle));
        out_str(
            o, "source",
            source_name(v->s->demands[v->s->bundles[x->bundle].demand].source));
        out_str(o, "node", view_str(v, v->s->nodes[x->node].id));
        out_uint(o, "bundles", x->count);
        out_micros(o, "cost_per_hour", x->micros_hour);
        out_close(o);
    }
    out_close(o);
}

/* Has this owner an earlier entry? */
static bool named(const struct view *v, const struct displaced *d, uint32_t i)
{
    for (uint32_t k = 0; k < i && k < LISTED_MAX; k++)
        if (strcmp(owner_of(v, d->v[k].bundle), owner_of(v, d->v[i].bundle)) ==
            0)
            return true;
    return false;
}

/* " alice (1 x v100 for it), bob (which waits)" */
static void names_add(struct buf *b, struct view *v, const struct displaced *d)
{
    uint32_t listed = 0, more = 0;

    for (uint32_t i = 0; i < d->n; i++) {
        const char *bought;

        if (named(v, d, i))
            continue;
        if (listed == NAMED_MAX) {
            more++;
            continue;
        }
        bought = displaced_launches(v->s, v->plan, d->v[i].bundle, &v->arena);
        buf_printf(b, "%s %s (%s%s)", listed++ ? "," : "",
                   owner_of(v, d->v[i].bundle),
                   *bought ? bought : "which waits", *bought ? " for it" : "");
    }
    if (more)
        buf_str(b, " and others");
}

const char *view_displaces_text(struct view *v, const struct mine *mine)
{
    struct displaced d = taken_by(v, mine);
    int64_t sum = 0;
    struct buf b;

    if (!d.n)
        return "";
    for (uint32_t i = 0; i < d.n; i++)
        sum += d.v[i].micros_hour;
    buf_init(&b, 8192);
    buf_str(&b, "; it takes the place of");
    names_add(&b, v, &d);
    if (sum)
        buf_printf(&b, ": the bill rises by %s $/h for that",
                   view_money(v, sum));
    return view_take(v, &b);
}

void view_displaced_lines(struct out *o, struct view *v, const char *owner)
{
    for (uint32_t i = 0; v->page && i < v->page->n_displaced; i++) {
        const struct status_displaced *d = &v->page->displaced[i];

        if (strcmp(d->owner, owner) != 0 && strcmp(d->by, owner) != 0)
            continue;
        out_strf(o, NULL,
                 "At %s %s took the place of %s on %s (%u bundle%s): %s%s%s.",
                 view_time(v, d->at_ms), view_owner(v, d->by),
                 view_owner(v, d->owner), d->node, d->bundles,
                 d->bundles == 1 ? "" : "s",
                 *d->launches ? d->launches
                 : d->over    ? "they waited, and have their place now"
                              : "they wait",
                 *d->launches ? " for them, " : "",
                 *d->launches ? arena_printf(&v->arena, "%s $/h more",
                                             view_money(v, d->micros_hour))
                              : "");
    }
}
