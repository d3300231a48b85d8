/*
 * hold.c - restoring what nodes hold, and taking advice.
 *
 * Holds are placed in the order in which they were placed before, node by
 * node: device by device they fit in that order.  A gang that does not come
 * out whole is left out, and the rest is placed again without it.
 */
#include "previous.h"

#include "buy.h"
#include "fallback.h"
#include "failover.h"
#include "gang.h"
#include "limits.h"
#include "order.h"
#include "pack.h"
#include "host_group.h"

enum { TRIES = 3 };      /* with fewer gangs each time; then without any */

struct restore {
    struct candidate *d;
    bool *whole;         /* per gang: all of it is held, and as it must be */
};

/* ---- classes whose nodes hold the same */

static const struct pb_node *node_of(const struct candidate *d, uint32_t member)
{
    return &d->t->s->nodes[d->members[member]];
}

/* Those that hold something first. */
static int holds_compare(const struct problem *s, const struct pb_node *x,
                         const struct pb_node *y)
{
    int r = ORDER(y->n_previous, x->n_previous);

    for (uint32_t k = 0; r == 0 && k < x->n_previous; k++) {
        const struct pb_placement *p = &s->previous[x->first_previous + k];
        const struct pb_placement *q = &s->previous[y->first_previous + k];

        r = ORDER(p->bundle, q->bundle);
        if (r == 0)
            r = ORDER(p->alt, q->alt);
        if (r == 0)
            r = ORDER(q->count, p->count);
    }
    return r;
}

static int holds_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct problem *s = ctx;

    return holds_compare(s, &s->nodes[a], &s->nodes[b]);
}

static void class_divide(struct candidate *d, uint32_t i)
{
    const struct problem *s = d->t->s;
    const struct node_class c = d->classes.v[i];
    uint32_t start = 0;

    order_sort(d->members + c.first, c.n, holds_before, s, d->arena);
    for (uint32_t k = 1; k < c.n; k++) {
        if (holds_compare(s, node_of(d, c.first + k - 1),
                          node_of(d, c.first + k)) == 0)
            continue;
        i = candidate_split(d, i, k - start);
        start = k;
    }
}

static void classes_divide(struct candidate *d)
{
    d->members = arena_copy(d->arena, d->members,
                            d->t->s->n_nodes * sizeof *d->members);
    for (uint32_t i = 0, next; i != NONE; i = next) {
        next = d->classes.v[i].next;
        if (d->classes.v[i].kind == CLASS_THERE && d->classes.v[i].n > 1)
            class_divide(d, i);
    }
}

/* What each node of the class holds; NULL: nothing, or it drains. */
static const struct pb_placement *class_holds(const struct candidate *d, uint32_t i,
                                         uint32_t *ret_n)
{
    const struct node_class *c = &d->classes.v[i];
    const struct pb_node *n;

    *ret_n = 0;
    if (c->kind != CLASS_THERE || c->n == 0)
        return NULL;
    n = node_of(d, c->first);
    *ret_n = n->n_previous;
    return n->n_previous > 0 ? &d->t->s->previous[n->first_previous] : NULL;
}

/* ---- placing */

/* On the nodes of the classes from i up to `end`, which were one class. */
static void hold_place(struct candidate *d, uint32_t i, uint32_t end,
                       const struct pb_placement *h)
{
    uint32_t group = d->t->group_of[h->bundle], next;
    uint32_t shape = candidate_shape(d, group, h->alt);

    for (; i != end && d->left[group] > 0; i = next) {
        next = d->classes.v[i].next;
        d->work++;
        if (candidate_matches(d, i, shape) && !fallback_silent(d, i, group, h->alt))
            pack_on(d, i, group, h->alt, h->count, UINT32_MAX);
    }
}

static void all_place(const struct restore *r)
{
    struct candidate *d = r->d;

    for (uint32_t i = 0, end; i != NONE; i = end) {
        uint32_t n;
        const struct pb_placement *v = class_holds(d, i, &n);

        end = d->classes.v[i].next;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t gang = d->t->gang_of[d->t->group_of[v[k].bundle]];

            if (gang == NONE || r->whole[gang])
                hold_place(d, i, end, &v[k]);
        }
    }
}

/* ---- gangs */

struct census {                 /* of one gang, over all nodes */
    uint64_t nodes, most;       /* that hold of it; bundles on one of them */
};

/* How much of it is held, and are its bundles spread as they must be? */
static void gangs_judge(struct restore *r)
{
    const struct candidate *d = r->d;
    const struct tables *t = d->t;
    struct census *v = ARENA_ARRAY(d->arena, struct census, t->n_gangs);
    uint64_t *have = ARENA_ARRAY(d->arena, uint64_t, t->n_groups);
    uint32_t *here = ARENA_ARRAY(d->arena, uint32_t, t->n_gangs);

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        uint32_t n;
        const struct pb_placement *h = class_holds(d, i, &n);

        for (uint32_t k = 0; k < n; k++) {
            uint32_t group = t->group_of[h[k].bundle], g = t->gang_of[group];

            if (g == NONE)
                continue;
            v[g].nodes += here[g] == 0 ? d->classes.v[i].n : 0;
            here[g] += h[k].count;
            have[group] += (uint64_t)h[k].count * d->classes.v[i].n;
            v[g].most = here[g] > v[g].most ? here[g] : v[g].most;
        }
        for (uint32_t k = 0; k < n; k++)
            if (t->gang_of[t->group_of[h[k].bundle]] != NONE)
                here[t->gang_of[t->group_of[h[k].bundle]]] = 0;
    }
    for (uint32_t g = 0; g < t->n_gangs; g++) {
        const struct gang *gang = &t->gangs[g];
        enum strategy how = t->s->demands[gang->demand].strategy;

        r->whole[g] = !(how == STRATEGY_STRICT_PACK && v[g].nodes != 1) &&
                      !(how == STRATEGY_STRICT_SPREAD && v[g].most != 1);
        for (uint32_t k = 0; k < gang->n_groups; k++)
            if (have[gang->first_group + k] <
                t->groups[gang->first_group + k].count)
                r->whole[g] = false;
    }
}

/* False when a gang did not come out whole: it is struck off. */
static bool gangs_came(struct restore *r, bool last)
{
    bool all = true;

    for (uint32_t g = 0; g < r->d->t->n_gangs; g++)
        if (r->whole[g] && !gang_settled(r->d, g))
            all = r->whole[g] = false;
    for (uint32_t g = 0; !all && last && g < r->d->t->n_gangs; g++)
        r->whole[g] = false;
    return all;
}

void previous_restore(struct candidate *d)
{
    struct restore r = {d, ARENA_ARRAY(d->arena, bool, d->t->n_gangs)};
    struct mark mark = {0};        /* without gangs it comes out at once */

    classes_divide(d);
    gangs_judge(&r);
    if (d->t->n_gangs > 0)
        mark = candidate_mark(d);
    for (int k = 1;; k++) {
        all_place(&r);
        if (gangs_came(&r, k >= TRIES))
            return;
        candidate_undo(d, mark);
        for (uint32_t i = 0; i < d->t->n_groups; i++)
            d->left[i] = d->t->groups[i].count;
    }
}

bool previous_gang(struct candidate *d, uint32_t gang)
{
    const struct tables *t = d->t;
    enum strategy how = t->s->demands[t->gangs[gang].demand].strategy;
    bool any = false;

    if (!d->how.previous || how == STRATEGY_STRICT_PACK)
        return false;
    for (uint32_t i = 0, next; i != NONE; i = next) {
        uint32_t n, taken = 0;
        const struct pb_placement *h = class_holds(d, i, &n);

        next = d->classes.v[i].next;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t group = t->group_of[h[k].bundle], left = d->left[group];

            if (t->gang_of[group] != gang ||
                (how == STRATEGY_STRICT_SPREAD && taken > 0))
                continue;
            hold_place(d, i, next, &h[k]);
            taken += left - d->left[group];
        }
        for (uint32_t x = i; taken > 0 && x != next; x = d->classes.v[x].next)
            candidate_spread(d, x, gang);
        any = any || taken > 0;
    }
    return any;
}

/* ---- advice */

/* How many of these nodes would each be of use now; *ret_group: the first want
 * that an offer of its kind may be bought for. */
static uint32_t useful(const struct candidate *d, const struct pb_hint *a,
                       uint32_t *ret_group)
{
    uint32_t most = 0;

    *ret_group = NONE;
    for (uint32_t k = 0; k < a->n_previous; k++) {
        const struct pb_placement *h = &d->t->s->previous[a->first_previous + k];
        uint32_t group = d->t->group_of[h->bundle], n;

        if (d->t->gang_of[group] != NONE || d->left[group] == 0 ||
            !buy_allowed(d, candidate_shape(d, group, h->alt), a->offer) ||
            failover_waits_want(d, group, h->alt,
                             d->t->groups[group].side == SIDE_TOTAL
                                 ? CLAIM_REQUEST : CLAIM_WORK, a->offer))
            continue;
        n = (d->left[group] - 1) / h->count + 1;
        most = n > most ? n : most;
        if (*ret_group == NONE)
            *ret_group = group;
    }
    return most < a->count ? most : a->count;
}

/* What each of the nodes of a class is for. */
static void advice_place(struct candidate *d, uint32_t i,
                         const struct pb_hint *a)
{
    uint32_t end = d->classes.v[i].next;

    for (uint32_t k = 0; k < a->n_previous; k++) {
        const struct pb_placement *h = &d->t->s->previous[a->first_previous + k];

        if (d->t->gang_of[d->t->group_of[h->bundle]] == NONE)
            hold_place(d, i, end, h);
    }
}

/* Those that were bought in advance of the advice come first.  How many. */
static uint32_t advice_undecided(struct candidate *d, const struct pb_hint *a,
                                 uint32_t n)
{
    uint32_t taken = 0;

    for (uint32_t i = 0, next; i != NONE && taken < n; i = next) {
        const struct node_class *c = &d->classes.v[i];

        next = c->next;
        if (!c->undecided || c->n == 0 || c->offer != a->offer ||
            c->held != NONE)
            continue;
        if (c->n > n - taken)
            candidate_split(d, i, n - taken);
        taken += d->classes.v[i].n;
        advice_place(d, i, a);
    }
    return taken;
}

static void advice_take(struct candidate *d, const struct pb_hint *a)
{
    const struct tables *t = d->t;
    uint32_t group, n = useful(d, a, &group);

    n -= advice_undecided(d, a, n);
    while (n > 0) {
        enum claim claim = t->groups[group].side == SIDE_TOTAL ? CLAIM_REQUEST
                                                             : CLAIM_WORK;
        uint32_t i = candidate_obtain(d, a->offer, n, claim,
                                   buy_reason(d, group), t->groups[group].demand);

        if (i == NONE)
            return;
        n -= d->classes.v[i].n;
        if (host_group_hosts(t->s, a->offer) == 1) {
            d->classes.v[i].open = d->open = true;
            d->classes.v[i].sure = false;
        }
        advice_place(d, i, a);
    }
}

void hints_obtain(struct candidate *d)
{
    for (uint32_t i = 0; i < d->t->s->n_hints; i++)
        advice_take(d, &d->t->s->hints[i]);
}
