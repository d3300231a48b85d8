/*
 * hold.c - restoring what nodes hold, and taking advice.
 *
 * Holds are placed in the order in which they were placed before, node by
 * node: device by device they fit in that order.  A gang that does not come
 * out whole is left out, and the rest is placed again without it.
 */
#include "hold.h"

#include "buy.h"
#include "clock.h"
#include "cycle.h"
#include "gang.h"
#include "limits.h"
#include "order.h"
#include "pack.h"
#include "unit.h"

enum { TRIES = 3 };      /* with fewer gangs each time; then without any */

struct restore {
    struct sketch *d;
    bool *whole;         /* per gang: all of it is held, and as it must be */
};

/* ---- classes whose nodes hold the same */

static const struct sn_node *node_of(const struct sketch *d, uint32_t member)
{
    return &d->t->s->nodes[d->members[member]];
}

/* Those that hold something first. */
static int holds_compare(const struct snapshot *s, const struct sn_node *x,
                         const struct sn_node *y)
{
    int r = ORDER(y->n_holds, x->n_holds);

    for (uint32_t k = 0; r == 0 && k < x->n_holds; k++) {
        const struct sn_hold *p = &s->holds[x->first_hold + k];
        const struct sn_hold *q = &s->holds[y->first_hold + k];

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
    const struct snapshot *s = ctx;

    return holds_compare(s, &s->nodes[a], &s->nodes[b]);
}

static void class_divide(struct sketch *d, uint32_t i)
{
    const struct snapshot *s = d->t->s;
    const struct node_class c = d->classes.v[i];
    uint32_t start = 0;

    order_sort(d->members + c.first, c.n, holds_before, s, d->arena);
    for (uint32_t k = 1; k < c.n; k++) {
        if (holds_compare(s, node_of(d, c.first + k - 1),
                          node_of(d, c.first + k)) == 0)
            continue;
        i = sketch_split(d, i, k - start);
        start = k;
    }
}

static void classes_divide(struct sketch *d)
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
static const struct sn_hold *class_holds(const struct sketch *d, uint32_t i,
                                         uint32_t *ret_n)
{
    const struct node_class *c = &d->classes.v[i];
    const struct sn_node *n;

    *ret_n = 0;
    if (c->kind != CLASS_THERE || c->n == 0)
        return NULL;
    n = node_of(d, c->first);
    *ret_n = n->n_holds;
    return n->n_holds > 0 ? &d->t->s->holds[n->first_hold] : NULL;
}

/* ---- placing */

/* On the nodes of the classes from i up to `end`, which were one class. */
static void hold_place(struct sketch *d, uint32_t i, uint32_t end,
                       const struct sn_hold *h)
{
    uint32_t want = d->t->want_of[h->bundle], next;
    uint32_t shape = sketch_shape(d, want, h->alt);

    for (; i != end && d->left[want] > 0; i = next) {
        next = d->classes.v[i].next;
        d->work++;
        if (sketch_matches(d, i, shape) && !clock_silent(d, i, want, h->alt))
            pack_on(d, i, want, h->alt, h->count, UINT32_MAX);
    }
}

static void all_place(const struct restore *r)
{
    struct sketch *d = r->d;

    for (uint32_t i = 0, end; i != NONE; i = end) {
        uint32_t n;
        const struct sn_hold *v = class_holds(d, i, &n);

        end = d->classes.v[i].next;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t gang = d->t->gang_of[d->t->want_of[v[k].bundle]];

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
    const struct sketch *d = r->d;
    const struct tables *t = d->t;
    struct census *v = ARENA_ARRAY(d->arena, struct census, t->n_gangs);
    uint64_t *have = ARENA_ARRAY(d->arena, uint64_t, t->n_wants);
    uint32_t *here = ARENA_ARRAY(d->arena, uint32_t, t->n_gangs);

    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        uint32_t n;
        const struct sn_hold *h = class_holds(d, i, &n);

        for (uint32_t k = 0; k < n; k++) {
            uint32_t want = t->want_of[h[k].bundle], g = t->gang_of[want];

            if (g == NONE)
                continue;
            v[g].nodes += here[g] == 0 ? d->classes.v[i].n : 0;
            here[g] += h[k].count;
            have[want] += (uint64_t)h[k].count * d->classes.v[i].n;
            v[g].most = here[g] > v[g].most ? here[g] : v[g].most;
        }
        for (uint32_t k = 0; k < n; k++)
            if (t->gang_of[t->want_of[h[k].bundle]] != NONE)
                here[t->gang_of[t->want_of[h[k].bundle]]] = 0;
    }
    for (uint32_t g = 0; g < t->n_gangs; g++) {
        const struct gang *gang = &t->gangs[g];
        enum strategy how = t->s->demands[gang->demand].strategy;

        r->whole[g] = !(how == STRATEGY_STRICT_PACK && v[g].nodes != 1) &&
                      !(how == STRATEGY_STRICT_SPREAD && v[g].most != 1);
        for (uint32_t k = 0; k < gang->n_wants; k++)
            if (have[gang->first_want + k] <
                t->wants[gang->first_want + k].count)
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

void hold_restore(struct sketch *d)
{
    struct restore r = {d, ARENA_ARRAY(d->arena, bool, d->t->n_gangs)};
    struct mark mark = {0};        /* without gangs it comes out at once */

    classes_divide(d);
    gangs_judge(&r);
    if (d->t->n_gangs > 0)
        mark = sketch_mark(d);
    for (int k = 1;; k++) {
        all_place(&r);
        if (gangs_came(&r, k >= TRIES))
            return;
        sketch_undo(d, mark);
        for (uint32_t i = 0; i < d->t->n_wants; i++)
            d->left[i] = d->t->wants[i].count;
    }
}

bool hold_gang(struct sketch *d, uint32_t gang)
{
    const struct tables *t = d->t;
    enum strategy how = t->s->demands[t->gangs[gang].demand].strategy;
    bool any = false;

    if (!d->how.holds || how == STRATEGY_STRICT_PACK)
        return false;
    for (uint32_t i = 0, next; i != NONE; i = next) {
        uint32_t n, taken = 0;
        const struct sn_hold *h = class_holds(d, i, &n);

        next = d->classes.v[i].next;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t want = t->want_of[h[k].bundle], left = d->left[want];

            if (t->gang_of[want] != gang ||
                (how == STRATEGY_STRICT_SPREAD && taken > 0))
                continue;
            hold_place(d, i, next, &h[k]);
            taken += left - d->left[want];
        }
        for (uint32_t x = i; taken > 0 && x != next; x = d->classes.v[x].next)
            sketch_spread(d, x, gang);
        any = any || taken > 0;
    }
    return any;
}

/* ---- advice */

/* How many of these nodes would each be of use now; *ret_want: the first want
 * that an offer of its kind may be bought for. */
static uint32_t useful(const struct sketch *d, const struct sn_advice *a,
                       uint32_t *ret_want)
{
    uint32_t most = 0;

    *ret_want = NONE;
    for (uint32_t k = 0; k < a->n_holds; k++) {
        const struct sn_hold *h = &d->t->s->holds[a->first_hold + k];
        uint32_t want = d->t->want_of[h->bundle], n;

        if (d->t->gang_of[want] != NONE || d->left[want] == 0 ||
            !buy_allowed(d, sketch_shape(d, want, h->alt), a->offer) ||
            cycle_waits_want(d, want, h->alt,
                             d->t->wants[want].side == SIDE_TOTAL
                                 ? CLAIM_REQUEST : CLAIM_WORK, a->offer))
            continue;
        n = (d->left[want] - 1) / h->count + 1;
        most = n > most ? n : most;
        if (*ret_want == NONE)
            *ret_want = want;
    }
    return most < a->count ? most : a->count;
}

/* What each of the nodes of a class is for. */
static void advice_place(struct sketch *d, uint32_t i,
                         const struct sn_advice *a)
{
    uint32_t end = d->classes.v[i].next;

    for (uint32_t k = 0; k < a->n_holds; k++) {
        const struct sn_hold *h = &d->t->s->holds[a->first_hold + k];

        if (d->t->gang_of[d->t->want_of[h->bundle]] == NONE)
            hold_place(d, i, end, h);
    }
}

/* Those that were bought in advance of the advice come first.  How many. */
static uint32_t advice_undecided(struct sketch *d, const struct sn_advice *a,
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
            sketch_split(d, i, n - taken);
        taken += d->classes.v[i].n;
        advice_place(d, i, a);
    }
    return taken;
}

static void advice_take(struct sketch *d, const struct sn_advice *a)
{
    const struct tables *t = d->t;
    uint32_t want, n = useful(d, a, &want);

    n -= advice_undecided(d, a, n);
    while (n > 0) {
        enum claim claim = t->wants[want].side == SIDE_TOTAL ? CLAIM_REQUEST
                                                             : CLAIM_WORK;
        uint32_t i = sketch_obtain(d, a->offer, n, claim,
                                   buy_reason(d, want), t->wants[want].demand);

        if (i == NONE)
            return;
        n -= d->classes.v[i].n;
        if (unit_hosts(t->s, a->offer) == 1) {
            d->classes.v[i].open = d->open = true;
            d->classes.v[i].sure = false;
        }
        advice_place(d, i, a);
    }
}

void hold_advice(struct sketch *d)
{
    for (uint32_t i = 0; i < d->t->s->n_advice; i++)
        advice_take(d, &d->t->s->advice[i]);
}
