/*
 * interrupted.h - spot machines that their cloud took back, remembered by offer.
 *
 * A market that takes back today's machines takes back the next ones too.  For
 * an hour each one makes its offer (node type, zone, spot) count in the plan as
 * half as dear again, at most ten of them: first another zone or type is
 * bought, then on-demand; when the hour is over it is tried again.  What they
 * cost in truth stays as it is.  The hour is ours: clouds publish averages of a
 * month (aws.amazon.com/ec2/spot/instance-advisor), not how long a shortage
 * lasts.  In the journal, so that a restart forgets nothing.
 * Owned by the control thread.
 */
#ifndef CONTROL_INTERRUPTED_H
#define CONTROL_INTERRUPTED_H

#include "../ledger.h"

/* Reads what the journal has. */
void interrupted_open(struct ledger *l);
/* Its cloud took it back, or says that it will: noted once.  Not of machines
 * that are not spot, or that were asked to end. */
void interrupted_note(struct ledger *l, struct machine *m);
/* How many of the offer are remembered. */
uint32_t interrupted_count(const struct ledger *l, struct offer_key of);
/* When that changes by itself, wall; INT64_MAX: never. */
int64_t interrupted_change_ms(const struct ledger *l);

#endif
