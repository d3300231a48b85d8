/*
 * agreed.h - how much of what machines cost a person has agreed to.
 *
 * A provider may raise the price of what runs (spot).  Where no demand source
 * tells of work, that alone must not end a machine that a request counts on: so
 * the ledger keeps, for each machine, the least that it has cost since somebody
 * agreed to its price.  A price in the file is agreed to, as a person wrote it.
 * So is the first that is known of a machine: at its launch, or when it was
 * found; and the price of the moment when a file lowers max_cost_per_hour, when
 * `davit release` says go on, or when a person adopts it.
 * Micros of a dollar a machine and hour, -1: not known.  Control thread only.
 */
#ifndef CONTROL_PRICES_AGREED_H
#define CONTROL_PRICES_AGREED_H

#include "../configuration.h"
#include "../ledger.h"

/* What of the machine's bill is agreed to, were conf the file in force; t: its type
 * there, NULL: none. */
int64_t agreed_of(const struct ledger *l, const struct machine *m,
                  const struct conf_type *t, const struct config *conf);
/* It may cost something else now. */
void agreed_settle(struct ledger *l, struct machine *m,
                   const struct config *conf);
/* A person agrees to what it costs now. */
void agreed_now(struct ledger *l, struct machine *m, const struct config *conf);
/* conf is in force from now on: at a start, or after a reload. */
void agreed_file(struct ledger *l, const struct config *conf);

/* Reads the limit that was in force last. */
void agreed_open(struct ledger *l);
/* Puts it into the batch again. */
void agreed_rewrite(struct ledger *l);

#endif
