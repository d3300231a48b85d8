/*
 * lp_solve.c - programs from stdin through plan/lp/lp.h, for test_lp_oracle.py.
 *
 * Each: n_cover n_limit n_columns n_changes; rhs; per column cost scale n and
 * n times row value; per change a new rhs, solved by the dual from the optimum
 * before.  A line per solve: how it ended, the value, the duals.
 */
#include "../../autoscaler/plan/lp/lp.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, ENOUGH = 100000 };

static double number(void)
{
    double x;

    if (scanf("%lf", &x) != 1) {
        fprintf(stderr, "lp_solve: the input ends in a program\n");
        exit(2);
    }
    return x;
}

static void row(double *ret, uint32_t m)
{
    for (uint32_t r = 0; r < m; r++)
        ret[r] = number();
}

static void add(struct lp *lp)
{
    struct lp_entry entry[MOST];
    double cost = number(), scale = number();
    uint32_t n = (uint32_t)number();

    for (uint32_t k = 0; k < n; k++) {
        uint32_t r = (uint32_t)number();

        entry[k] = (struct lp_entry){r, (float)number()};
    }
    lp_add(lp, cost, scale, entry, n);
}

static void tell(const struct lp *lp, enum lp_end end)
{
    static const char *const ends[] = {"optimal", "stopped", "broken"};

    printf("%s %.17g", ends[end], lp_value(lp));
    for (uint32_t r = 0; r < lp_rows(lp); r++)
        printf(" %.17g", lp_duals(lp)[r]);
    printf("\n");
}

static void solve(uint32_t n_cover)
{
    static double rhs[MOST];
    struct arena arena = {0};
    uint32_t n_limit = (uint32_t)number(), columns = (uint32_t)number();
    uint32_t changes = (uint32_t)number();
    struct lp *lp;

    row(rhs, n_cover + n_limit);
    lp = lp_make(&arena, n_cover, n_limit, rhs);
    while (columns--)
        add(lp);
    tell(lp, lp_primal(lp, ENOUGH));
    while (changes--) {
        row(rhs, n_cover + n_limit);
        lp_set_rhs(lp, rhs);
        if (lp_dual(lp, ENOUGH) != LP_OPTIMAL) {
            fprintf(stderr, "lp_solve: not by the dual\n");
            lp_restart(lp);
        }
        tell(lp, lp_primal(lp, ENOUGH));
    }
    arena_done(&arena);
}

int main(void)
{
    double n;

    while (scanf("%lf", &n) == 1)
        solve((uint32_t)n);
    return 0;
}
