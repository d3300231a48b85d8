/*
 * ours.h - what is ours: which daemon a machine belongs to, and which place
 * the journal speaks of.
 *
 * A journal has an owner, six hexadecimal digits made by chance when it begins
 * (high availability: made of the lease's name, so that each leader has the
 * same).  Every request id carries it, with the incarnation that launches and the
 * time (model/mark.h), and so does what comes of it.  For each provider the journal knows the place it is of
 * (plug-in, cluster, and the options that say where).
 *
 * What may be another's is held: it counts, and is not ended before a person
 * says so (`davit adopt`):
 * - a machine with another owner's mark;
 * - a machine with ours that another process launched while this one ran: it has a
 *   copy of this journal (a cloned disk).  The one that began later stands: it
 *   launches, drains and ends nothing before a person says `davit adopt`;
 * - a machine without a mark that was there before this journal: it is in the
 *   first good list of its provider.
 * Control thread only.
 */
#ifndef CONTROL_OURS_H
#define CONTROL_OURS_H

#include "configuration.h"
#include "ledger.h"

/* Reads the journal's owner, or gives it one, and begins an incarnation. */
enum status ours_open(struct ledger *l, struct err *err);
void ours_close(struct ledger *l);
/* It is that cluster's from now on.  INVALID: it has machines or requests of another
 * one. */
enum status ours_cluster(struct ledger *l, const char *cluster, bool in_use,
                         struct err *err);
/* Puts all of it into the batch again. */
void ours_rewrite(struct ledger *l);

/* A request id of ours, that no other launch has. */
void ours_request_id(struct ledger *l, char ret[MARK_MAX]);

/* ---- the join token
 *
 * A secret of the launch, made of a key of the journal and the request id, which the
 * start script of a machine has.  Its node shows no more than a mark made of the
 * token and the machine's own id, so nobody who reads marks can make another. */
enum { JOIN_TOKEN_MAX = 33 };
/* Makes the key in the batch, when there is none: before the launch is written. */
void ours_join_key(struct ledger *l);
/* "" without a key: the launch left before there was one. */
void ours_join_token(const struct ledger *l, const char *request_id,
                     char ret[JOIN_TOKEN_MAX]);
/* Is it what the machine's start script makes?  Any mark may be asked about; "" and
 * NULL are none. */
bool ours_join_mark_is(const struct ledger *l, const struct machine *m,
                       const char *mark);

/* Of a machine that the ledger does not know. */
enum adoption ours_of(const struct ledger *l, const char *provider,
                      const char *request_id);
/* A machine was found, and is another's: is it of a copy of our journal? */
void ours_found(struct ledger *l, const struct machine *m);
/* A daemon with a copy of our journal began earlier: nothing is done before a
 * person says that we are alone. */
bool ours_stands(const struct ledger *l);
/* He does.  True: nobody had thought otherwise. */
bool ours_alone(struct ledger *l);
/* Adopted by itself, though no launch of ours made it? */
bool machine_stranger(const struct machine *m);
/* For people: ", ..."; "" for ours. */
const char *ours_text(enum adoption a);
/* The provider's machines of before this journal are known now. */
void ours_listed(struct ledger *l, const char *provider);

/* Where its machines are; "" when that is not known. */
const char *ours_place(const struct ledger *l, const char *provider);
/* The provider is in this place now.  NULL: that is where its machines are (it
 * is remembered from now on), else the place where they are. */
const char *ours_moved(struct ledger *l, const char *provider,
                       const char *place);
/* Are both names of one place, as the journal knows them? */
bool ours_same_place(struct ledger *l, const char *provider, const char *other);
/* It moved, and its machines there are forgotten. */
void ours_move(struct ledger *l, const char *provider, const char *place);

#endif
