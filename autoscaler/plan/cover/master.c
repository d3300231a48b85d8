/*
 * master.c - see master.h.
 */
#include "master.h"

#include <string.h>

enum { EXCHANGES = 2 }; /* per item */
#define NO_ROW UINT32_MAX
#define LEAST_AMOUNT 1e-6 /* of an item in a column */

static void make_limits(struct master *m)
{
    const struct view *v = m->v;
    const struct cover_problem *p = v->p;
    uint32_t row = v->n_items + m->n_numbers;

    m->first_limit = row;
    m->bin_row = ARENA_ARRAY(v->arena, uint32_t, v->n_bins);
    m->family_row = ARENA_ARRAY(v->arena, uint32_t, p->n_families + 1);
    m->limit = ARENA_ARRAY(v->arena, double, v->n_bins + p->n_families + 2);
    for (uint32_t t = 0; t < v->n_bins; t++) {
        const struct cover_bin *bin = &p->bins[v->bin_of[t]];

        m->bin_row[t] = NO_ROW;
        if (bin->max != UNLIMITED) {
            m->limit[m->n_limits++] = bin->max;
            m->bin_row[t] = row++;
            m->own_limits = true;
        }
    }
    for (uint32_t g = 0; g < p->n_families; g++) {
        m->family_row[g] = NO_ROW;
        if (p->family_max[g] != UNLIMITED) {
            m->limit[m->n_limits++] = p->family_max[g];
            m->family_row[g] = row++;
        }
    }
    m->bins_row = m->cost_row = NO_ROW;
    if (p->max_bins != UNLIMITED) {
        m->limit[m->n_limits++] = p->max_bins;
        m->bins_row = row++;
    }
    if (p->max_cost >= 0) {
        m->limit[m->n_limits++] = (double)p->max_cost / 1e6;
        m->cost_row = row++;
    }
}

/* May b lie wherever a may? */
static bool covers_here(const struct view *v, uint32_t a, uint32_t b)
{
    if (!view_covers(v, a, b))
        return false;
    for (uint32_t t = 0; t < v->n_bins; t++)
        if (view_can(v, t, a) && !view_can(v, t, b))
            return false;
    return true;
}

/* Exchange columns: free, they let item b use a place that is paid for item a.
 * They keep the duals in order (b is worth no more than a) and so the LP
 * short. */
void master_add_exchanges(struct master *m, const double *worth)
{
    const struct view *v = m->v;

    m->first_exchange = lp_columns(m->lp);
    m->exchange = ARENA_ARRAY(v->arena, struct cover_part,
                              (size_t)EXCHANGES * v->n_items);
    for (uint32_t b = 0; b < v->n_items; b++) {
        uint32_t best[EXCHANGES] = {0}, n = 0;

        for (uint32_t a = 0; a < v->n_items; a++) {
            uint32_t at;

            if (a == b || !covers_here(v, a, b) ||
                (covers_here(v, b, a) && a > b))
                continue;
            for (at = n; at && worth[a] < worth[best[at - 1]]; at--)
                if (at < EXCHANGES)
                    best[at] = best[at - 1];
            if (at < EXCHANGES)
                best[at] = a;
            n += n < EXCHANGES;
        }
        for (uint32_t k = 0; k < n; k++) {
            struct lp_entry e[2] = {{best[k], -1}, {b, 1}};
            struct partial_pattern none = {0, 0, 0, 0};

            lp_add(m->lp, 0, worth[best[k]], e, 2);
            m->exchange[m->n_exchanges++] = (struct cover_part){best[k], b};
            VEC_PUSH(v->arena, &m->column, none);
        }
    }
}

/* Where any number will do, the limit is one that no plan has use for. */
static void set_numbers(struct master *m, const struct partial *d)
{
    for (uint32_t k = 0; k < m->n_numbers; k++) {
        const struct master_number *n = &m->number[k];
        uint32_t had = d->bought[n->bin];
        double *most = &m->rhs[m->first_limit + m->n_limits + k];

        m->rhs[m->v->n_items + k] = n->least > had ? n->least - had : 0;
        *most = n->most == UNLIMITED ? (double)m->v->total
                : n->most > had      ? n->most - had
                                     : 0;
    }
}

static void set_rhs(struct master *m, const struct partial *d)
{
    const struct view *v = m->v;
    const struct cover_problem *p = v->p;

    for (uint32_t i = 0; i < v->n_items; i++)
        m->rhs[i] = d->left[i];
    memcpy(m->rhs + m->first_limit, m->limit, m->n_limits * sizeof *m->limit);
    for (uint32_t t = 0; t < v->n_bins; t++)
        if (m->bin_row[t] != NO_ROW)
            m->rhs[m->bin_row[t]] -= d->bought[t];
    for (uint32_t g = 0; g < p->n_families; g++)
        if (m->family_row[g] != NO_ROW)
            m->rhs[m->family_row[g]] -= d->family_bought[g];
    if (m->bins_row != NO_ROW)
        m->rhs[m->bins_row] -= (double)d->n_bought;
    if (m->cost_row != NO_ROW)
        m->rhs[m->cost_row] -= (double)d->cost / 1e6;
    set_numbers(m, d);
}

/* The dear column that stands for what no pattern covers of the row. */
static void add_artificial(struct master *m, uint32_t row, double dear)
{
    struct lp_entry e = {row, 1};
    struct partial_pattern none = {0, 0, 0, 0};

    m->dear[row] = 10 * dear;
    lp_add(m->lp, m->dear[row], m->dear[row], &e, 1);
    VEC_PUSH(m->v->arena, &m->column, none);
}

/* Where limits may leave items out, each counts the same. */
static void add_artificials(struct master *m)
{
    const struct view *v = m->v;

    for (uint32_t i = 0; i < v->n_items; i++) {
        double dear = 1;

        for (uint32_t t = 0; t < v->n_bins; t++)
            if ((m->n_limits || view_can(v, t, i)) &&
                (double)v->price[t] > dear)
                dear = (double)v->price[t];
        add_artificial(m, i, dear);
    }
    for (uint32_t k = 0; k < m->n_numbers; k++)
        add_artificial(m, v->n_items + k,
                       (double)v->price[m->number[k].bin] + 1);
}

static void make_numbers(struct master *m, const uint32_t *number, uint32_t n)
{
    m->n_numbers = n;
    m->number = ARENA_ARRAY(m->v->arena, struct master_number, n);
    for (uint32_t k = 0; k < n; k++)
        m->number[k] = (struct master_number){number[k], 0, UNLIMITED};
}

void master_make(const struct view *v, const uint32_t *number,
                 uint32_t n_numbers, struct master *ret)
{
    struct master *m = ret;
    struct partial none = {0};

    memset(m, 0, sizeof *m);
    m->v = v;
    make_numbers(m, number, n_numbers);
    make_limits(m);
    m->rhs = ARENA_ARRAY(v->arena, double,
                         m->first_limit + m->n_limits + n_numbers);
    m->dear = ARENA_ARRAY(v->arena, double, v->n_items + n_numbers);
    m->cheap = ARENA_ARRAY(v->arena, double, v->n_items);
    m->place = ARENA_ARRAY(v->arena, uint32_t, v->n_items);
    partial_make(v, &none);
    set_rhs(m, &none);
    m->lp = master_rows(m);
    add_artificials(m);
}

void master_cheapen(struct master *m, const double *worth, double times)
{
    for (uint32_t i = 0; i < m->v->n_items; i++)
        m->cheap[i] = times * worth[i] < m->dear[i] ? times * worth[i]
                                                    : m->dear[i];
    lp_set_costs(m->lp, m->cheap, m->v->n_items);
    m->is_cheap = true;
}

bool master_dearer(struct master *m, double times)
{
    bool any = false;

    for (uint32_t k = 0; k < lp_rows(m->lp); k++) {
        double amount;
        uint32_t i = lp_basic(m->lp, k, &amount);

        if (i >= m->v->n_items || amount < LEAST_AMOUNT ||
            m->cheap[i] >= m->dear[i])
            continue;
        m->cheap[i] = times * m->cheap[i] < m->dear[i] ? times * m->cheap[i]
                                                       : m->dear[i];
        any = true;
    }
    if (any)
        lp_set_costs(m->lp, m->cheap, m->v->n_items);
    return any;
}

void master_dear(struct master *m)
{
    if (m->is_cheap)
        lp_set_costs(m->lp, m->dear, m->v->n_items);
    m->is_cheap = false;
}

struct lp *master_rows(const struct master *m)
{
    return lp_make(m->v->arena, m->first_limit, m->n_limits + m->n_numbers,
                   m->rhs);
}

/* The bin's entries in the rows of its number and of limits. */
static void add_limits(struct master *m, uint32_t bin)
{
    const struct view *v = m->v;

    for (uint32_t k = 0; k < m->n_numbers; k++)
        if (m->number[k].bin == bin) {
            VEC_PUSH(v->arena, &m->entry,
                     ((struct lp_entry){v->n_items + k, 1}));
            VEC_PUSH(v->arena, &m->entry,
                     ((struct lp_entry){m->first_limit + m->n_limits + k, 1}));
        }

    if (m->bin_row[bin] != NO_ROW)
        VEC_PUSH(v->arena, &m->entry, ((struct lp_entry){m->bin_row[bin], 1}));
    if (m->family_row[v->family[bin]] != NO_ROW && v->p->n_families)
        VEC_PUSH(v->arena, &m->entry,
                 ((struct lp_entry){m->family_row[v->family[bin]], 1}));
    if (m->bins_row != NO_ROW)
        VEC_PUSH(v->arena, &m->entry, ((struct lp_entry){m->bins_row, 1}));
    if (m->cost_row != NO_ROW)
        VEC_PUSH(v->arena, &m->entry,
                 ((struct lp_entry){m->cost_row,
                                    (float)((double)v->price[bin] / 1e6)}));
}

const struct lp_entry *master_entries(struct master *m, uint32_t bin,
                                      const double *amount, uint32_t *ret_n)
{
    const struct view *v = m->v;

    m->entry.n = 0;
    for (uint32_t i = 0; i < v->n_items; i++)
        if (amount[i] > LEAST_AMOUNT)
            VEC_PUSH(v->arena, &m->entry,
                     ((struct lp_entry){
                         i, (float)(amount[i] < v->count[i] ? amount[i]
                                                            : v->count[i])}));
    add_limits(m, bin);
    *ret_n = m->entry.n;
    return m->entry.v;
}

uint32_t master_add(struct master *m, uint32_t bin,
                    const struct cover_part *part, uint32_t n)
{
    const struct view *v = m->v;
    struct partial_pattern x = {bin, 1, m->part.n, n};

    m->entry.n = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t q = m->place[part[k].item];

        VEC_PUSH(v->arena, &m->part, part[k]);
        if (q < m->entry.n && m->entry.v[q].row == part[k].item) {
            m->entry.v[q].value += (float)part[k].count;
            continue;
        }
        m->place[part[k].item] = m->entry.n;
        VEC_PUSH(v->arena, &m->entry,
                 ((struct lp_entry){part[k].item, (float)part[k].count}));
    }
    /* More than are wanted cover no more: such a column, bought by parts, would
     * be cheaper than any plan. */
    for (uint32_t k = 0; k < m->entry.n; k++)
        if (m->entry.v[k].value > (float)v->count[m->entry.v[k].row])
            m->entry.v[k].value = (float)v->count[m->entry.v[k].row];
    add_limits(m, bin);
    VEC_PUSH(v->arena, &m->column, x);
    return lp_add(m->lp, (double)v->price[bin], (double)v->price[bin],
                  m->entry.v, m->entry.n);
}

void master_add_partial(struct master *m, const struct partial *d)
{
    for (uint32_t k = 0; k < d->pattern.n; k++) {
        const struct partial_pattern *x = &d->pattern.v[k];

        if (x->count)
            master_add(m, x->bin, d->part.v + x->first, x->n);
    }
}

void master_residual(struct master *m, const struct partial *d)
{
    set_rhs(m, d);
    lp_set_rhs(m->lp, m->rhs);
}

double master_limited_price(const struct master *m, uint32_t bin)
{
    const struct view *v = m->v;
    const double *y = lp_duals(m->lp);
    double price = (double)v->price[bin];

    if (m->bin_row[bin] != NO_ROW)
        price -= y[m->bin_row[bin]];
    if (v->p->n_families && m->family_row[v->family[bin]] != NO_ROW)
        price -= y[m->family_row[v->family[bin]]];
    if (m->bins_row != NO_ROW)
        price -= y[m->bins_row];
    if (m->cost_row != NO_ROW)
        price -= y[m->cost_row] * (double)v->price[bin] / 1e6;
    return price > (double)v->price[bin] ? price : (double)v->price[bin];
}

static const struct master_number *number_of(const struct master *m,
                                             uint32_t bin)
{
    for (uint32_t k = 0; k < m->n_numbers; k++)
        if (m->number[k].bin == bin)
            return &m->number[k];
    return NULL;
}

double master_number_worth(const struct master *m, uint32_t bin)
{
    const struct master_number *n = number_of(m, bin);
    const double *y = lp_duals(m->lp);
    uint32_t k;

    if (!n)
        return 0;
    k = (uint32_t)(n - m->number);
    return y[m->v->n_items + k] + y[m->first_limit + m->n_limits + k];
}

uint32_t master_number_most(const struct master *m, uint32_t bin)
{
    const struct master_number *n = number_of(m, bin);

    if (!n)
        return UNLIMITED;
    return n->most == UNLIMITED && n->least ? n->least : n->most;
}

double master_money(const struct master *m)
{
    double y = m->cost_row == NO_ROW ? 0 : lp_duals(m->lp)[m->cost_row];

    return y < 0 ? -y / 1e6 : 0;
}
