/*
 * watch.h - the live view while nodes come and go.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "client.h"

/* Shows nodes and demand until the owner's request is satisfied (owner NULL:
 * until interrupted) or seconds are over (0: no limit).  A terminal is repainted
 * in place; elsewhere each change is a line, with --json the whole status, or
 * nothing for an owner.  EXIT_OK: satisfied; EXIT_NO: time was over or it became
 * infeasible; else what client_call() returned. */
int watch(struct client *c, const char *owner, double seconds);

#endif
