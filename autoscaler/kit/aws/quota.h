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
/* Adds the quota that a type takes of, which has the CPUs that the facts say, to
 * ret.  The note names it when it is used up; else "". */
void aws_room(const json_t *quotas, const char *machine,
              const struct kit_offer *facts, bool spot, struct kit_quotas *ret,
              char *note, size_t size);

#endif
