/*
 * numbers.c - whole numbers of dear bins.
 *
 * The program buys 3.3 of a machine that costs a fiftieth of the whole plan.  Which way
 * that is rounded decides more than all the rest of a dive, and what is bought
 * beside it is another then.  So before a dive the program is solved with four of
 * them, and with three at most; the cheaper way is gone on with.
 */
#include "inside.h"

#define WHOLE 0.01 /* so near to a whole number */
#define MATTERS \
    2e-4 /* a part of the cost: less either way, and it stays open */

/* How many of the bin the program buys. */
static double number_now(const struct dive *x, uint32_t bin)
{
    const struct master *m = &x->g->master;
    double sum = 0, amount;

    for (uint32_t k = 0; k < lp_rows(m->lp); k++) {
        uint32_t column = lp_basic(m->lp, k, &amount);

        if (column < m->column.n && m->column.v[column].n &&
            m->column.v[column].bin == bin)
            sum += amount;
    }
    return sum;
}

static bool is_whole(double number)
{
    double part = number - (double)(uint32_t)(number + WHOLE);

    return part <= WHOLE;
}

/* The dearest bin of which a part is bought; NULL: none that was not looked at. */
static struct master_number *choose(struct dive *x, double *ret_number)
{
    struct master *m = &x->g->master;
    struct master_number *best = NULL;

    for (uint32_t k = 0; k < m->n_numbers; k++) {
        struct master_number *n = &m->number[k];
        double number;

        if (x->looked_at >> k & 1 ||
            (best && x->v->price[n->bin] <= x->v->price[best->bin]))
            continue;
        number = number_now(x, n->bin);
        x->g->extra += lp_rows(m->lp);
        if (is_whole(number))
            continue;
        best = n;
        *ret_number = number;
    }
    return best;
}

/* What the program costs with that; less than 0: not known, the work is used up. */
static double cost_with(struct dive *x, struct master_number *n,
                        struct master_number as, uint64_t until)
{
    *n = as;
    dive_follow(x, UINT64_MAX);
    return generate_solve(x->g, until) ? lp_value(x->g->master.lp) : -1;
}

static bool any(const struct master *m)
{
    for (uint32_t k = 0; k < m->n_numbers; k++)
        if (m->number[k].least > 0 || m->number[k].most != UNLIMITED)
            return true;
    return false;
}

/* The first keeps the basis without any, for dive_free(). */
bool numbers_fix(struct dive *x, uint64_t until)
{
    double number = 0, before = lp_value(x->g->master.lp), more, fewer;
    struct master_number *n = choose(x, &number), had, up, down;

    if (!n)
        return false;
    if (!any(&x->g->master))
        lp_keep(x->g->master.lp, LP_KEPT_FREE);
    x->looked_at |= 1u << (n - x->g->master.number);
    had = up = down = *n;
    up.least = up.most = (uint32_t)number + 1;
    down.most = (uint32_t)number;
    more = cost_with(x, n, up, until);
    fewer = more < 0 ? -1 : cost_with(x, n, down, until);
    if (fewer < 0) { /* so that its basis is good for what is asked for */
        cost_with(x, n, had, until);
        return false;
    }
    if (more <= before * (1 + MATTERS) && fewer <= before * (1 + MATTERS))
        return cost_with(x, n, had, until) >= 0;
    return fewer < more || cost_with(x, n, up, until) >= 0;
}

bool numbers_clear(struct dive *x)
{
    struct master *m = &x->g->master;
    bool had = any(m);

    for (uint32_t k = 0; k < m->n_numbers; k++)
        m->number[k] = (struct master_number){m->number[k].bin, 0, UNLIMITED};
    x->looked_at = 0;
    return had;
}
