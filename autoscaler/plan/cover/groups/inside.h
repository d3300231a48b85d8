/*
 * inside.h - what the files of this folder share.
 *
 * Private to plan/cover/groups/.
 */
#ifndef PLAN_COVER_GROUPS_INSIDE_H
#define PLAN_COVER_GROUPS_INSIDE_H

#include "../column.h"
#include "../prove.h"
#include "groups.h"

/* Worths of the items, and of one of the bins of each set that counts. */
struct values {
    double *item, *set;
};

/* A column, by items: n amounts in some[] from first on. */
struct met {
    uint32_t bin, first, n;
    bool mixed; /* no fill: more than the bin holds, maybe */
};

struct amount {
    uint32_t item;
    float amount;
};

struct groups {
    const struct view *v;
    struct alike group;
    uint32_t level;      /* how fine they are: into make.c's */
    VEC(struct met) met; /* all columns */
    VEC(struct amount) some;
    double *part;     /* per item: its worth over the mean of its group's */
    struct view rows; /* the groups, then the sets, as items of a program */
    struct master master;
    const struct cover_least *least; /* the sets */
    uint32_t n_sets;
    uint64_t *counts; /* per bin: bits of the sets in which it counts */
    struct price *price, *joint; /* NULL: none yet */
    struct prove *prove;
    struct column_maker *maker;
    /* Of a search at most: in bins of one device, in others. */
    uint64_t nodes_one, nodes;
    uint32_t *failed; /* per bin: searches that came to no end */
    struct values best, own, asked, trial; /* own: the program's */
    double *earn;                /* per bin, seats included: at most */
    double *ratio;               /* that over its price */
    double *amount, *row_amount; /* scratch: of a column */
    double bound, money;         /* of the best worths */
    bool begun, exact; /* exact: pricing is asked with the own worths */
    bool deep;         /* with joint bounds */
    bool done, ended;  /* nothing more to find: with these groups, with any */
    uint64_t until, work; /* work: what counts none itself */
};

/* note.c: the bound of the worths that were asked with, by earn[]; it is the best so
 * far or not. */
void groups_note(struct groups *x);

/* make.c: finer groups, with the best worths' proportions, and their program with all
 * columns that were met.  False: there are none, or too many. */
bool groups_divide(struct groups *x);
/* The same groups, and of the columns the fills alone. */
void groups_deepen(struct groups *x);

/* column.c: a fill as a column of the program; all columns that were met, for a new program. */
void groups_add_parts(struct groups *x, uint32_t t,
                      const struct cover_part *part, uint32_t n);
void groups_add_met(struct groups *x);
/* An upper bound of what bin t can earn with the worths asked with, into earn[]; a
 * column if that is more than it costs, or if `always`.  True: there is one. */
bool groups_price_bin(struct groups *x, uint32_t t, bool always);

#endif
