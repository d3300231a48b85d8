/*
 * column.c - columns of the program, and the pricing of a bin.
 *
 * A quick fill that pays is taken as it is.  Then the bin is searched: its relaxation
 * is weak where one device lies beside much of the rest (5 to 10 % in bins of one
 * device).  Where a search comes to no end the mix of the relaxation's answers is the
 * column, later that of the joint bound.
 */
#include "inside.h"

#include <string.h>

#define TOO_MUCH 1.0002 /* over its price: worth a column */
#define FAR 1.01        /* over it: worth the work of the joint bound */
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

/* row_amount[] as a column. */
static void add_rows(struct groups *x, uint32_t t)
{
    const double price = (double)x->v->price[t];
    const struct lp_entry *entry;
    uint32_t n;

    for (uint32_t k = 0; k < x->n_sets; k++)
        x->row_amount[x->group.n + k] = (x->counts[t] >> k & 1) ? 1 : 0;
    entry = master_entries(&x->master, t, x->row_amount, &n);
    lp_add(x->master.lp, price, price, entry, n);
    x->work += 4 * (uint64_t)n;
}

static void add_met(struct groups *x, const struct met *m)
{
    memset(x->row_amount, 0, x->rows.n_items * sizeof *x->row_amount);
    for (uint32_t k = 0; k < m->n; k++) {
        struct amount a = x->some.v[m->first + k];

        x->row_amount[x->group.class_of[a.item]] += x->part[a.item] *
                                                    (double)a.amount;
    }
    add_rows(x, m->bin);
    x->work += 2 * (uint64_t)m->n + x->rows.n_items / 4;
}

void groups_add_met(struct groups *x)
{
    for (uint32_t k = 0; k < x->met.n; k++)
        add_met(x, &x->met.v[k]);
}

/* amount[] as a column. */
static void add(struct groups *x, uint32_t t, bool mixed)
{
    const struct view *v = x->v;
    struct met m = {t, x->some.n, 0, mixed};

    for (uint32_t i = 0; i < v->n_items; i++)
        if (x->amount[i] > 0)
            VEC_PUSH(v->arena, &x->some,
                     ((struct amount){i, (float)(x->amount[i] < v->count[i]
                                                     ? x->amount[i]
                                                     : v->count[i])}));
    m.n = x->some.n - m.first;
    VEC_PUSH(v->arena, &x->met, m);
    add_met(x, &m);
    x->work += v->n_items;
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
    add(x, t, false);
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

/* The bin's joint bound, where that is less than the plain one: its prices.  NULL: it
 * is not, or there is no work left. */
static const struct price *jointly(struct groups *x, uint32_t t, double enough)
{
    uint64_t work = groups_work(x);
    double most;

    if (work >= x->until)
        return NULL;
    if (!x->joint)
        x->joint = price_make_joint(x->v);
    most = price_tune_joint(x->joint, x->price, t, x->asked.item, enough,
                            x->until - work);
    if (most >= x->earn[t])
        return NULL;
    x->earn[t] = most;
    return x->joint;
}

/* The mix of the relaxation's answers as amount[]; its own worth. */
static double mix(struct groups *x, const struct price *price, uint32_t t)
{
    const struct price_bin *b = &price->bin[t];
    double *some = x->trial.item, worth = 0;

    price_mix(price, t, some);
    memset(x->amount, 0, x->v->n_items * sizeof *x->amount);
    for (uint32_t k = 0; k < b->n; k++) {
        uint32_t i = b->item[k];

        x->amount[i] = some[k] < x->v->count[i] ? some[k] : x->v->count[i];
        worth += x->amount[i] * x->own.item[i];
    }
    x->work += 3 * (uint64_t)b->n;
    return worth;
}

/* A mix as a column, if it pays: of the joint bound where that is less. */
static bool mixed(struct groups *x, uint32_t t, double price, double own_price)
{
    const struct price *by = NULL;

    if (x->deep && x->earn[t] > price * FAR)
        by = jointly(x, t, price * (1 - 1e-6));
    if (x->earn[t] <= price * TOO_MUCH ||
        mix(x, by ? by : x->price, t) <= own_price * TOO_MUCH)
        return false;
    add(x, t, true);
    return true;
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
        mix(x, x->price, t);
        add(x, t, true);
        return true;
    }
    if (limited <= 0 || x->earn[t] <= price * TOO_MUCH)
        return false;
    if (!x->exact && quick(x, t, price, own_price))
        return true;
    if (settled(x, t, price, own_price, &added))
        return added;
    return mixed(x, t, price, own_price);
}

bool groups_price_bin(struct groups *x, uint32_t t, bool always)
{
    double seats = seats_of(x, &x->asked, t);
    double price = master_limited_price(&x->master, t) - seats;
    bool added = price_rest(x, t, price > 0 ? price : 0, always);

    x->earn[t] = (x->earn[t] + seats) * (1 + VIEW_SAFE);
    return added;
}
