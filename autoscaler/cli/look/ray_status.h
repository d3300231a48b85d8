/*
 * ray_status.h - what is, in the words of `ray status` of Ray 2.60
 * (ray/autoscaler/v2/utils.py: ClusterStatusFormatter), byte for byte.
 */
#ifndef CLI_LOOK_RAY_STATUS_H
#define CLI_LOOK_RAY_STATUS_H

#include <jansson.h>
#include <stdio.h>

#include "../../model/snapshot.h"

/* status: the reply of /v1/status, for failures and launches. */
void ray_status_print(const struct snapshot *s, const json_t *status,
                      FILE *out);

#endif
