/*
 * quota.h - what an account may have of EC2's machines, for offers.
 */
#ifndef KIT_AWS_QUOTA_H
#define KIT_AWS_QUOTA_H

#include "../offer.h"
#include "aws.h"

/* machines: types -> true when spot is wanted too.  Fills ret, an object of the
 * caller's, with the quotas that count them.  Those that cannot be read, for
 * want of a right or else, are not in it, and a line in the log says so once;
 * CANCELLED and THROTTLED are the call's. */
int aws_quotas(struct aws_op *op, const json_t *machines, json_t *ret);
/* How many more of a type may be had, which has the CPUs that the facts say;
 * UINT32_MAX: no limit is known.  0: the note names the quota that is used up.
 */
uint32_t aws_room(const json_t *quotas, const char *machine,
                  const struct kit_offer *facts, bool spot, char *note,
                  size_t size);

#endif
