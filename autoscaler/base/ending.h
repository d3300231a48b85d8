/*
 * ending.h - what the process waits for as it ends, for who wonders why it is
 * still there.  Thread: any.
 */
#ifndef BASE_ENDING_H
#define BASE_ENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* It has begun to end: what is waited for is told from here on. */
void ending_begin(void);
/* From here on for this.  Before ending_begin() it says nothing. */
void ending_waits(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The last of them, and for how long; false: none was told yet. */
bool ending_waited(char *ret, size_t n, int64_t *ret_ms);

#endif
