/*
 * note.c - what worths prove when bins earn no more than earn[] with them.
 *
 * As in bound.c: worths are divided by the worst ratio of earnings to price of the
 * bins that they count in; a bin's limit of its own is paid for by the program's dual,
 * or by what the bin earns over its price.
 */
#include "inside.h"

#include "../generate.h"

#include <string.h>

/* Does this limit's price follow from the worths?  Else it is the program's. */
static bool pays(const struct groups *x, uint32_t t, bool own)
{
    return own && x->master.bin_row[t] != UINT32_MAX;
}

static double scaled(double worth, double ratio)
{
    return ratio > 0 && ratio < GENERATE_FREE ? worth / ratio : 0;
}

/* The worths asked with, scaled, into trial. */
static void scale(struct groups *x, bool own)
{
    const struct view *v = x->v;
    double *item = x->trial.item, *set = x->trial.set;

    memset(item, 0, v->n_items * sizeof *item);
    memset(set, 0, x->n_sets * sizeof *set);
    for (uint32_t t = 0; t < v->n_bins; t++) {
        double ratio = pays(x, t, own) ? 1 : x->ratio[t];

        for (uint32_t k = 0; k < x->n_sets; k++)
            if ((x->counts[t] >> k & 1) && ratio > set[k])
                set[k] = ratio;
        for (uint32_t w = 0; w < v->words; w++)
            for (uint64_t bits = v->can[(size_t)t * v->words + w]; bits;
                 bits &= bits - 1) {
                uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);

                if (ratio > item[i])
                    item[i] = ratio;
            }
    }
    for (uint32_t i = 0; i < v->n_items; i++)
        item[i] = scaled(x->asked.item[i], item[i]);
    for (uint32_t k = 0; k < x->n_sets; k++)
        set[k] = scaled(x->asked.set[k], set[k]);
    x->work += (uint64_t)v->n_bins * v->n_items / 4;
}

/* What the limits take off. */
static double limits_of(const struct groups *x, bool own)
{
    const struct master *m = &x->master;
    const double *y = lp_duals(m->lp);
    double sum = 0;

    for (uint32_t k = 0; k < m->n_limits; k++)
        if (y[m->first_limit + k] < 0)
            sum -= y[m->first_limit + k] * m->limit[k];
    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        double dual, more;

        if (!pays(x, t, own))
            continue;
        dual = y[m->bin_row[t]] < 0 ? -y[m->bin_row[t]] : 0;
        more = x->earn[t] - (master_limited_price(m, t) - dual);
        sum += m->limit[m->bin_row[t] - m->first_limit] *
               ((more > 0 ? more : 0) - dual);
    }
    return sum;
}

static void note(struct groups *x, bool own)
{
    const struct view *v = x->v;
    double sum = 0;

    scale(x, own);
    for (uint32_t i = 0; i < v->n_items; i++)
        sum += x->trial.item[i] * v->count[i];
    for (uint32_t k = 0; k < x->n_sets; k++)
        sum += x->trial.set[k] * x->least[k].bins;
    sum = sum * (1 - VIEW_SAFE) - limits_of(x, own) * (1 + VIEW_SAFE);
    if (sum <= x->bound)
        return;
    x->bound = sum;
    x->money = master_money(&x->master);
    memcpy(x->best.item, x->trial.item, v->n_items * sizeof(double));
    memcpy(x->best.set, x->trial.set, x->n_sets * sizeof(double));
}

void groups_note(struct groups *x)
{
    for (uint32_t t = 0; t < x->v->n_bins; t++) {
        double price = master_limited_price(&x->master, t);

        x->ratio[t] = x->earn[t] <= 0 ? 0
                      : price > 0     ? x->earn[t] / price
                                      : GENERATE_FREE;
    }
    note(x, false);
    if (x->master.own_limits)
        note(x, true);
}
