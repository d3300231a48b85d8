/*
 * lease.h - a played Lease with its ConfigMaps: who leads, and the copy of the
 * leader's journal (control/ha/ha.h), in played time.
 *
 * The rules are those of wire/kube/lease.h and store/kube_state.h: a leader
 * renews every fifth of the lease; one that could not for four fifths ends; the
 * next one waits until it is over, or was given up; who reads the copy fences
 * off all that led before.  One thread.
 */
#ifndef STORM_LEASE_H
#define STORM_LEASE_H

#include "control/ha/ha.h"
#include "played/player.h"

enum { LEASE_MS = 15000 };

/* What befalls its server, as long as it lasts. */
enum lease_trouble {
    LEASE_WELL,
    LEASE_SILENT, /* nothing is answered: nobody can lead for long */
    LEASE_LOSSY, /* writes are lost, or their answers are; some come in in part,
                  * some take long */
    LEASE_FULL   /* it is renewed, but no row comes in: the ConfigMaps are full,
                  * or must not be written */
};

struct lease;
struct lease *lease_new(struct player *p);
void lease_free(struct lease *l);
void lease_trouble(struct lease *l, enum lease_trouble t);
/* Somebody takes most rows out of the ConfigMaps, or all. */
void lease_prune(struct lease *l, bool all);
bool lease_is_well(const struct lease *l);
bool lease_is_silent(const struct lease *l);
uint64_t lease_faults(const struct lease *l);

/* A process leads from now on; NULL: another one does, or nobody can tell. */
struct ha *lease_take(struct lease *l);
/* Its process is killed: nothing that it still does reaches the server. */
void lease_killed(struct ha *h);
/* Its process has ended; released: it gave the lease up, as on SIGTERM. */
void lease_leave(struct ha *h, bool released);
/* Its process stands still; goes on (within two seconds its keeper knows whose
 * the lease is). */
void lease_freeze(struct ha *h);
void lease_thaw(struct ha *h);
bool lease_was_last(const struct ha *h); /* no other has led since */
/* Its process must end: another one leads, or it could not renew in time. */
bool lease_lost(struct ha *h);

#endif
