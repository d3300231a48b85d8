/*
 * inside.h - what the files of this folder share: the prices of bins' resources, and
 * what they are prices of.
 *
 * Private to plan/cover/exact/.
 */
#ifndef PLAN_COVER_EXACT_INSIDE_H
#define PLAN_COVER_EXACT_INSIDE_H

#include "exact.h"
#include "interior.h"
#include "seats.h"

enum { EXACT_SETS = 24 }; /* of bins that count */
#define EXACT_LITTLE 1e-3 /* of a bin's price: that of a limit, to start with */
#define EXACT_NEVER 1e300
#define EXACT_NONE UINT32_MAX

/* Of more than some: items of the same devices and bins, whose plain needs differ by a
 * half at most. */
#define EXACT_GROUPS \
    (struct view_rough) \
    { \
        VIEW_LEAVE_NONE, VIEW_LEAVE_HALF \
    }

/* The price of a limit, or of a bin that counts: so many there may, or must, be. */
struct extra {
    double gain;  /* what a price of one gives: -limit, or the number needed */
    double price; /* micros; of max_cost: a factor */
};

/* A bin's part in it. */
struct tie {
    uint32_t extra;
    double coef; /* < 0: it adds to what the bin may cost */
};

struct bin {
    VEC(struct tie) tie;
    double cap;     /* what its resources may cost */
    double used;    /* by the program's answer */
    uint32_t first; /* of its prices in the program; EXACT_NONE: not in it */
};

struct exact {
    const struct view *v;
    struct arena *arena;
    uint32_t n;         /* columns that differ */
    uint32_t *column;   /* of sums.h */
    double *need;       /* items x n */
    struct alike group; /* items that are nearly the same: one in the program */
    uint32_t *some;     /* per group: an item of it */
    double *count;      /* per group */
    double *group_need; /* groups x n: the mean */
    double *has;        /* bins x n */
    double *price;      /* bins x n: of all that a bin has, micros */
    double *best_price;
    uint64_t *pair; /* groups x words: bins in the program */
    uint32_t words;
    struct bin *bin;
    VEC(struct extra) extra;
    double *best_extra; /* 0: it came later */
    uint32_t money;     /* an extra, or EXACT_NONE */
    struct seats_set set[EXACT_SETS];
    uint32_t n_sets, first_set; /* the extra of the first */
    double *worth;              /* per item: by the last prices */
    double *dear, *best;        /* per group: by the last, by the best */
    double *box; /* per group: the most that the program let it be */
    double *of;  /* per bin: scratch */
    /* Solved so far: how near the program's value, which it is, how often, sets
     * looked for. */
    double close, value;
    uint32_t solved, cuts;
    bool done;
    double last, bound; /* of the last prices, the best */
    struct cover_proof proof;
    uint64_t until, work;
};

/* make.c: columns, groups, limits.  a: the prices to start from. */
void exact_lay_out(struct exact *x, const struct assign *a);
uint32_t exact_extra(struct exact *x, double gain, double price);
void exact_tie(struct exact *x, uint32_t bin, uint32_t extra, double coef);

/* value.c: what a bin has of each column costs, in proportion, what it may in all.
 * False: that is less than nothing. */
bool exact_price_bin(struct exact *x, uint32_t t);
/* The bound of the present prices, which is noted if it is the best; bins where a
 * group costs at most `near` times the least come into the program. */
double exact_value(struct exact *x, double near);

/* program.c: the best prices for the bins in the program, and how much of each bin
 * it buys.  Not done (TOO_LONG) when the work would be more than x->until. */
enum exact_end { EXACT_SOLVED, EXACT_TOO_LARGE, EXACT_TOO_LONG };
enum exact_end exact_solve(struct exact *x);
/* The steps of that, UINT32_MAX when it is too large. */
uint64_t exact_solve_cost(struct exact *x);

#endif
