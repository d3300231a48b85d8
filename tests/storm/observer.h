/*
 * observer.h - the laws of docs/never.md, held against the played world.
 *
 * It knows what the clouds bill, what runs on the head, which requests were
 * acknowledged and what the settings said; of the daemon it reads only what it
 * shows to everybody, its status page.
 */
#ifndef STORM_OBSERVER_H
#define STORM_OBSERVER_H

#include "world.h"

/* So long an answer may take that a cloud gave in time, on a busy computer, and the
 * daemon to act on it. */
enum { READ_MS = 80 * SECOND };

enum law {
    LAW_WORK = 1, /* nothing with work is ended */
    LAW_REQUEST,  /* an acknowledged request is never lost */
    LAW_BILL,     /* billed counts */
    LAW_OWNER,    /* every machine with our mark is known */
    LAW_ONCE,     /* bought once per request id */
    LAW_SETTLES,  /* it settles and rests */
    LAW_WEDGE,    /* nothing wedges */
    LAW_BUYS,     /* nothing is bought again and again for nothing */
    LAW_MOVES,    /* a move costs no more than staying */
    LAW_STARTS,   /* a daemon starts on what a daemon left */
    LAW_TRUTH,    /* what a screen says of the future comes so */
};

/* The first one stays. */
void law_broken(struct world *w, enum law law, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* In a plain world: how many machines it is for. */
uint32_t promise_count(const struct promise *p);

/* When all has settled: are there more machines than the last file allows?  Says
 * which limit is passed, or NULL.  Not of money: what is in use stays when a price
 * rises. */
const char *observer_over(const struct world *w);

/* What a machine of its type costs by the file, estimated where that says nothing;
 * -1: it has no such type.  Micros an hour. */
int64_t observer_price(const struct config *c, const struct cloud_machine *m);

/* budget.c: what is asked for, at a step; what a daemon told, and its page then. */
void budget_asks(struct world *w);
void budget_event(struct daemon *d, const struct status_page *page,
                  const struct event *e);

/* vain.c: what is waited for, and bought, in vain. */
void vain_look(struct daemon *d, const struct status_page *page);
void vain_bought(struct world *w, const struct cloud *c,
                 const struct cloud_machine *new, int64_t left_ms);

/* truth.c: at each new page of the first daemon. */
void truth_look(struct daemon *d, const struct status_page *page);
/* Of an enum sentence, as a screen has it. */
const char *truth_word(int sentence);

/* store.c: what somebody does to the journal, or to its copy in the cluster. */
enum store_fault {
    STORE_COPIED,   /* a backup is made */
    STORE_DELETED,  /* while the daemon runs */
    STORE_PRUNED,   /* likewise: some of the ConfigMaps */
    STORE_RESTORED, /* the daemon is stopped, and the backup is put back */
    STORE_DELETED_BETWEEN, /* likewise, and all is deleted */
    STORE_FAULTS
};
void store_happens(struct world *w, enum store_fault what);
void store_event(struct world *w, const struct event *e);
void store_starts(struct world *w); /* the first daemon does */
void store_calm(struct world *w);
/* Was it lost, and has the daemon had no time yet to see all that there is? */
bool store_forgives(struct world *w);

void observer_joins(struct world *w); /* the clouds are there */
void observer_step(struct daemon *d); /* after each step of it */

#endif
