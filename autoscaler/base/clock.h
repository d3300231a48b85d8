/*
 * clock.h - the two times there are, in milliseconds.  Thread: any.
 *
 * wall: since 1970, for records and for people; may jump.
 * mono: for every interval (idle, back-off, deadlines); never jumps.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);

/* "2026-11-21T10:11:12.345Z"; buf of at least 25 bytes; returns buf. */
char *clock_iso(int64_t wall_ms, char *buf, size_t n);

#endif
