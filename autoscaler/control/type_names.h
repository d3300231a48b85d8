/*
 * type_names.h - what node types were called: a file may rename a type, or
 * drop it, while its machines run.
 *
 * A machine goes by its type's name, in the cloud's lists too.  So the journal
 * keeps, for each name under which a machine was bought or found, what the
 * machine was made of (conf_type.hash) and what it cost: one that a list has
 * under a name that no file has any more is of the type that is made the same
 * way, and else still costs what it did.  No limit is passed for want of a
 * name.
 * Control thread only.
 */
#ifndef CONTROL_TYPE_NAMES_H
#define CONTROL_TYPE_NAMES_H

#include "configuration.h"
#include "ledger.h"

/* The machine is of that type of the file (NULL: of none, and nothing is kept);
 * micros a machine and hour, -1: not known.  Nothing is written when that was
 * known. */
void type_name_keep(struct ledger *l, const struct machine *m,
                    const struct conf_type *t, int64_t micros);
/* Its provider is called so from now on: a type of that provider that is else
 * made the same way is its own, and what is known of its type goes with it. */
void type_name_moves(struct ledger *l, struct machine *m, const char *provider,
                     const struct config *conf);
/* What the file says now that the machine costs; what was known before, for one
 * that is not made as the file has its type, or that the file has no price for; or
 * what its type's name costs now, if that is more and its provider's name is in the
 * file no longer: that one may be called otherwise, which its next list tells. */
int64_t type_name_bill(const struct machine *m, const struct conf_type *t,
                       const struct config *conf);
/* Is that a price of the file?  t: its type there, or NULL. */
bool type_name_filed(const struct machine *m, const struct conf_type *t);
/* Its provider says that its offer costs so much an hour now, -1: it does not know.
 * Clouds bill what runs at the price of the hour, spot above all ("you pay the Spot
 * price that's in effect", AWS's whitepaper on Spot Instances); of no effect where
 * the file has a price, or has the type made another way. */
void type_name_told(struct ledger *l, struct machine *m,
                    const struct config *conf, int64_t micros);
/* One that a list showed first.  Was it launched here, and has its type been
 * made another way since, it is what it was, at the old price. */
void type_name_found(struct ledger *l, struct machine *m,
                     const struct config *conf, bool launched);
/* One whose type is in the file costs what that says.  Else it is of the one
 * type made the same way, of its provider, if there is such; else has its old
 * price, or, when its provider is not in the file either, that of what is made the
 * same way there, if it is more. */
void type_name_settle(struct ledger *l, struct machine *m,
                      const struct config *conf);
/* All of them, for a file that has just been taken. */
void type_names_settle(struct ledger *l, const struct config *conf);

/* Puts what is known into the batch again. */
void type_names_rewrite(struct ledger *l);
void type_names_close(struct ledger *l);

#endif
