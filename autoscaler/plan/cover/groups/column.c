/*
 * column.c - columns of the program, and the pricing of a bin.
 *
 * A quick fill that pays is taken as it is.  Then the bin is searched: its relaxation
 * is weak where one device lies beside much of the rest (5 to 10 % in bins of one
 * device).  Where a search comes to no end the mix of the relaxation's answers is the
 * column.
 */
#include "inside.h"

#include <string.h>

#define TOO_MUCH 1.0002 /* over its price: worth a column */
#define FIRST 0.9       /* of it: at first */
#define STEPS 60        /* of tuning the multipliers */
/* After so many searches that come to no end none is tried. */
enum { FAILURES = 3, FAILURES_ONE = 20 };

/* What the sets are worth in which bin t counts. */
static double seats_of(const struct groups *x, const struct values *w,
                       uint32_t t)
{
    double sum = 0;

    for (uint32_t k = 0; k < x->n_sets; k++)
        if (x->counts[t] >> k & 1)
            sum += w->set[k];
    return sum;
}

/* amount[] as a column. */
static void add(struct groups *x, uint32_t t)
{
    const struct view *v = x->v;
    double price = (double)v->price[t];
    const struct lp_entry *entry;
    uint32_t n;

    memset(x->row_amount, 0, x->rows.n_items * sizeof *x->row_amount);
    for (uint32_t i = 0; i < v->n_items; i++)
        if (x->amount[i] > 0)
            x->row_amount[x->group.class_of[i]] +=
                x->part[i] *
                (x->amount[i] < v->count[i] ? x->amount[i] : v->count[i]);
    for (uint32_t k = 0; k < x->n_sets; k++)
        x->row_amount[x->group.n + k] = (x->counts[t] >> k & 1) ? 1 : 0;
    entry = master_entries(&x->master, t, x->row_amount, &n);
    lp_add(x->master.lp, price, price, entry, n);
    x->work += v->n_items + 4 * (uint64_t)n;
}

static double own_worth(const struct groups *x, const struct cover_part *part,
                        uint32_t n)
{
    double sum = 0;

    for (uint32_t k = 0; k < n; k++)
        sum += x->own.item[part[k].item] * part[k].count;
    return sum;
}

void groups_add_parts(struct groups *x, uint32_t t,
                      const struct cover_part *part, uint32_t n)
{
    memset(x->amount, 0, x->v->n_items * sizeof *x->amount);
    for (uint32_t k = 0; k < n; k++)
        x->amount[part[k].item] += part[k].count;
    add(x, t);
}

/* A quick fill, if it is worth more than `price`, and more than own_price by the
 * program's worths. */
static bool quick(struct groups *x, uint32_t t, double price, double own_price)
{
    struct column_maker *m = x->maker;
    bool any = false;

    column_search(m, t, x->asked.item, x->v->count, price, 0);
    for (uint32_t k = 0; k < m->n_best; k++) {
        const struct fill *f = &m->best[k];

        if (own_worth(x, f->part.v, f->part.n) <= own_price * TOO_MUCH)
            continue;
        groups_add_parts(x, t, f->part.v, f->part.n);
        any = true;
    }
    return any;
}

static uint32_t devices(const struct view *v, uint32_t t)
{
    uint32_t sum = 0;

    for (uint32_t d = 0; d < v->n_dev; d++)
        sum += v->devices[(size_t)t * v->n_dev + d];
    return sum;
}

/* Does a search settle the bin, with a fill or a proof?  *ret_added: a column. */
static bool settled(struct groups *x, uint32_t t, double price,
                    double own_price, bool *ret_added)
{
    bool one = devices(x->v, t) == 1, all;
    const struct cover_part *part;
    double best;
    uint32_t n;

    *ret_added = false;
    if (x->failed[t] >= (one ? FAILURES_ONE : FAILURES))
        return false;
    all = prove_search(x->prove, t, x->asked.item, price * TOO_MUCH,
                       one ? x->nodes_one : x->nodes, &best, &part, &n);
    x->failed[t] += !all;
    if (all && best < x->earn[t])
        x->earn[t] = best;
    if (!n || !partial_holds(x->v, t, part, n, &x->maker->space))
        return all;
    if (own_worth(x, part, n) <= own_price * (1 + 1e-6))
        return all;
    groups_add_parts(x, t, part, n);
    *ret_added = true;
    return true;
}

/* The mix of the relaxation's answers as amount[]; its own worth. */
static double mix(struct groups *x, uint32_t t)
{
    const struct price_bin *b = &x->price->bin[t];
    double *some = x->trial.item, worth = 0;

    price_mix(x->price, t, some);
    memset(x->amount, 0, x->v->n_items * sizeof *x->amount);
    for (uint32_t k = 0; k < b->n; k++) {
        uint32_t i = b->item[k];

        x->amount[i] = some[k] < x->v->count[i] ? some[k] : x->v->count[i];
        worth += x->amount[i] * x->own.item[i];
    }
    x->work += 3 * (uint64_t)b->n;
    return worth;
}

/* Of the bin's resources, when its seats are paid; earn[] is without seats. */
static bool price_rest(struct groups *x, uint32_t t, double price, bool always)
{
    double limited = master_limited_price(&x->master, t);
    double own_price = limited - seats_of(x, &x->own, t);
    bool added;

    x->earn[t] = price_tune(x->price, t, x->asked.item, NULL,
                            price * (1 - 1e-6), STEPS);
    if (always) {
        quick(x, t, price * FIRST, 0);
        if (devices(x->v, t) == 1)
            return true;
        mix(x, t);
        add(x, t);
        return true;
    }
    if (limited <= 0 || x->earn[t] <= price * TOO_MUCH)
        return false;
    if (!x->exact && quick(x, t, price, own_price))
        return true;
    if (settled(x, t, price, own_price, &added))
        return added;
    if (mix(x, t) <= own_price * TOO_MUCH)
        return false;
    add(x, t);
    return true;
}

bool groups_price_bin(struct groups *x, uint32_t t, bool always)
{
    double seats = seats_of(x, &x->asked, t);
    double price = master_limited_price(&x->master, t) - seats;
    bool added = price_rest(x, t, price > 0 ? price : 0, always);

    x->earn[t] = (x->earn[t] + seats) * (1 + VIEW_SAFE);
    return added;
}
