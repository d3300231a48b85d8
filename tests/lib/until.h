/*
 * until.h - how a C test waits for what another thread, process or server does:
 * for as long as it takes.  The end is for what never happens, and far off for a
 * machine with other work.
 */
#ifndef LIB_UNTIL_H
#define LIB_UNTIL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../autoscaler/base/clock.h"

enum { PATIENCE_MS = 180000 };

/* A moment later; false when it was too many. */
static inline int until_again(int64_t begun_ms)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return clock_mono_ms() - begun_ms < PATIENCE_MS;
}

#define UNTIL(what) \
    do { \
        int64_t begun_ = clock_mono_ms(); \
        while (!(what)) \
            if (!until_again(begun_)) { \
                fprintf(stderr, "%s:%d: not within %d s: %s\n", __FILE__, \
                        __LINE__, PATIENCE_MS / 1000, #what); \
                abort(); \
            } \
    } while (0)

#endif
