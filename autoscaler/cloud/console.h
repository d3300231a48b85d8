/*
 * console.h - the end of what a machine printed, fit to be shown: whoever runs
 * on the machine writes there, and so do programs that print passwords.
 *
 * Thread: any.
 */
#ifndef CLOUD_CONSOLE_H
#define CLOUD_CONSOLE_H

#include <stddef.h>

#include "../base/arena.h"

#define CONSOLE_LINES " | " /* between two lines of it */

/* The last lines that fit `max` bytes, each without control characters, escape
 * sequences and what has the name or the looks of a secret (secrets.h), joined
 * by CONSOLE_LINES; "" when nothing is left.  In the arena. */
const char *console_tail(struct arena *a, const char *text, size_t n,
                         size_t max);

#endif
