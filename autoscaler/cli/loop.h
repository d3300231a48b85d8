/*
 * loop.h - runs the loop in real time.  Main thread.
 */
#ifndef CLI_LOOP_H
#define CLI_LOOP_H

#include "../control/control.h"

/* Until SIGTERM or SIGINT; never touches a machine on the way out.  A change of
 * the file `watched` (NULL: none) is a reload, as SIGHUP is. */
void loop_run(struct control *c, const char *watched);

#endif
