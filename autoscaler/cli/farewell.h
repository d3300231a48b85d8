/*
 * farewell.h - SIGTERM and SIGINT end the process in a bounded time, whatever
 * hangs.
 */
#ifndef CLI_FAREWELL_H
#define CLI_FAREWELL_H

/* Within the grace that our manifests and our unit give (15 and 20 s). */
enum { FAREWELL_MOST_MS = 12000 };

/* Starts a thread that takes both signals beside the loop.  Until the loop runs
 * it ends the process at once, also as process 1 of a container.  Later it says
 * what the process waits for, and ends it after FAREWELL_MOST_MS, or when it is
 * asked again. */
void farewell_begin(void);
/* The loop takes the signals too: from here on the process ends in order. */
void farewell_loop_runs(void);

#endif
