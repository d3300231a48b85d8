/*
 * clock.h - the times there are, in milliseconds.  Thread: any.
 *
 * wall: since 1970, for people and for other machines; may jump.
 * mono: for every interval (back-off, deadlines); never jumps.
 * boot: as mono, and goes on while the computer sleeps (CLOCK_BOOTTIME); for
 * what others count on meanwhile, such as a lease.
 * steady: the wall time at the start of this process plus what mono counted
 * since.  It never jumps, so that records which are kept and shown as times
 * (idle since, ready at, expires at) may be subtracted from one another.
 *
 * The computer's clock tells them, or one that a simulation has installed.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_boot_ms(void);
int64_t clock_steady_ms(void);
int64_t clock_mono_us(void);
void clock_sleep_ms(int64_t ms);

struct clock {
    int64_t (*wall_us)(void *arg);
    int64_t (*mono_us)(void *arg);
    int64_t (*boot_us)(void *arg);
    void (*sleep_ms)(void *arg, int64_t ms);
    void *arg;
};
/* From now on c tells the time, NULL: the computer; steady begins anew, as in a
 * new process.  Borrowed.  Only while there is no other thread. */
void clock_install(const struct clock *c);

/* For pthread_cond_timedwait() with CLOCK_MONOTONIC: ms from now.  Always the
 * computer's time: who waits so is a thread, and a simulation has one only. */
struct timespec clock_wait_until(int64_t ms);

/* RFC 3339, "2026-11-21T10:11:12.345Z"; buf of at least 25 bytes; returns
 * buf. */
char *clock_iso(int64_t wall_ms, char *buf, size_t n);
/* Any fraction of a second (what is less than a millisecond is cut off), "Z" or
 * an offset; what follows is not looked at.  0: it is no time after 1970. */
int64_t clock_from_iso(const char *text);

#endif
