/*
 * wait.h - the nodes that an owner's request waits for: how far each is, how long
 * it took or has taken, and how long its type usually takes.
 */
#ifndef CLI_LOOK_WAIT_H
#define CLI_LOOK_WAIT_H

#include <jansson.h>
#include <stdint.h>

#include "../../base/arena.h"

/* For a terminal: a head line and a line a node, none wider than it.  Returns
 * the number of lines. */
uint32_t wait_print(const json_t *status, const json_t *nodes,
                    const char *owner, struct arena *a);
/* Elsewhere: a line for each node whose state is not the one in `seen`, which is
 * brought up to date. */
void wait_changes(const json_t *status, const json_t *nodes, const char *owner,
                  json_t *seen, struct arena *a);

#endif
