/*
 * clock.h - the times there are, in milliseconds.  Thread: any.
 *
 * wall: since 1970, for people and for other machines; may jump.
 * mono: for every interval (back-off, deadlines); never jumps.
 * steady: the wall time at the start of this process plus what mono counted
 * since.  It never jumps, so that records which are kept and shown as times
 * (idle since, ready at, expires at) may be subtracted from one another.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_steady_ms(void);
int64_t clock_mono_us(void);

/* "2026-11-21T10:11:12.345Z"; buf of at least 25 bytes; returns buf. */
char *clock_iso(int64_t wall_ms, char *buf, size_t n);

#endif
