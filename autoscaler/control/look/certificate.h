/*
 * certificate.h - a longer look at what the fleet must cost at least, on a
 * worker, when nothing has happened for a while.
 *
 * A plan of the loop has a millisecond for its bound, and of many shapes that
 * proves little.  Once the fleet is at rest (nothing is launched or ended), a
 * worker proves more of the same plan, and pages tell that as long as the
 * problem is the same.  What is done, and what a record keeps, is the loop's own
 * plan.  It takes a fiftieth of a core at most, when nobody else in the process
 * wants it.  Reads pages; changes nothing but itself and what a new page tells.
 * Control thread only.
 */
#ifndef CONTROL_LOOK_CERTIFICATE_H
#define CONTROL_LOOK_CERTIFICATE_H

#include "../env.h"

struct certificate {
    struct env *env;
    struct workers
        *workers;        /* one thread, of low priority; NULL: not needed yet */
    bool wanted;         /* more is to be proved of the last page */
    bool busy;           /* a look is under way */
    uint64_t hash;       /* of the last page's problem: problem_hash() */
    int64_t since_ms;    /* mono: it is that; 0: there is nothing to prove */
    unsigned looked;     /* looks that it had */
    int64_t next_ms;     /* mono: no look before */
    uint64_t look_hash;  /* of the problem that the look under way is about */
    uint64_t found_hash; /* of the problem that found is about */
    struct arena arena;  /* owns found */
    struct plan found;   /* {0}: nothing */
};

/* Before the page is published: it tells what is known by now. */
void certificate_show(struct certificate *k, struct status_page *page);
/* In every step: begins a look at the page that stands, when it is time. */
void certificate_poll(struct certificate *k, struct status_board *board);
void certificate_fold(struct certificate *k, struct mail *mail);
/* Nobody waits for a look: false: one is under way still, and its answer will lie in
 * the inbox.  After that it may be closed, either way. */
bool certificate_stop(struct certificate *k);
void certificate_close(struct certificate *k);

#endif
