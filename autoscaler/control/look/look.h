/*
 * look.h - a plan of what a page is about, with a larger budget, on a worker.
 *
 * Whoever wants one keeps no more than one under way.  It touches its page, of
 * which it has a reference, and itself; its answer comes as mail.
 */
#ifndef CONTROL_LOOK_LOOK_H
#define CONTROL_LOOK_LOOK_H

#include "../env.h"

struct look {
    struct job job; /* first; abandoned: there is no plan */
    struct status_page *page;
    uint64_t budget; /* counted steps */
    bool settled;    /* there is nothing to consolidate */
    bool yields; /* the worker's thread has the lowest priority from now on */
    struct arena arena; /* owns plan */
    struct plan plan;   /* the answer */
};

/* For workers_submit(); the caller ends it when its mail has come. */
struct look *look_new(struct status_page *page, uint64_t budget,
                      enum mail_kind kind);
void look_free(struct look *t);

#endif
