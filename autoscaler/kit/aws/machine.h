/*
 * machine.h - what EC2 says of its machine types, for offers.
 */
#ifndef KIT_AWS_MACHINE_H
#define KIT_AWS_MACHINE_H

#include "../offer.h"
#include "aws.h"

/* Resources and the accelerator's label of the first of these types (blanks
 * between them), which is what counts on; the others are as large.  INVALID:
 * EC2 does not know one of them.  eks: with the pods that EKS' kubelet takes. */
int aws_machine_facts(struct aws_op *op, const char *machines, bool eks,
                      struct kit_offer *f);
/* The newest spot price of a type in a zone ("": the worst of all zones), in
 * micros an hour; -1 without one. */
int64_t aws_spot_price(struct aws_op *op, const char *machine,
                       const char *zone);

#endif
