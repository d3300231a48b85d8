/*
 * spending.h - dollars spent: what each page's fleet costs an hour (bill.h), for
 * as long as that page stood.
 *
 * The counters (FIGURE_SPENT and the like) go on over restarts: the journal has
 * them as one value, written once a minute while something is paid.  Time in
 * which no daemon runs is not counted.  Reads the page of this step.  Control
 * thread only.
 */
#ifndef CONTROL_SPENDING_H
#define CONTROL_SPENDING_H

#include "../../model/bill.h"
#include "../env.h"

struct spending_owner {
    char *owner;
    char *share; /* who asks for it; "": not seen since the start */
};

struct spending {
    struct env *env;
    struct arena arena; /* of the bill that is being paid */
    struct bill bill;   /* its strings are copies */
    int64_t since_ms;   /* mono: paid until then; 0: nothing was seen yet */
    int64_t saved_ms;   /* mono */
    bool more;          /* than what the journal has */
    /* those with a series of their own; heap */
    VEC(struct spending_owner) named;
};

/* Takes over what the journal has. */
void spending_open(struct spending *p, struct env *env);
/* The counters as the journal has them; `full`: more than fits. */
struct buf;
void spending_text(struct figures *t, struct buf *b);
/* After each plan. */
void spending_page(struct spending *p, const struct status_page *page);
/* The rest, into the journal's batch. */
void spending_close(struct spending *p);

#endif
