/*
 * watch.h - the live view while nodes come and go.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "client.h"

/* Shows nodes and demand, repainted in place on a terminal, a line a change
 * elsewhere (with --json the whole status, or nothing for an owner), until the owner's request is satisfied (owner NULL: until
 * interrupted) or seconds are over (0: no limit).  EXIT_OK when satisfied,
 * EXIT_NO when time was over or it became infeasible, else client_call()'s. */
int watch(struct client *c, const char *owner, double seconds);

#endif
