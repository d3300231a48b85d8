/*
 * random.h - random bytes, for names that must not repeat.  Thread: any.
 *
 * The kernel gives them, or a simulation, which wants the same ones for the
 * same seed.  Aborts when there are none: a reused id would be dangerous.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

void random_bytes(void *buf, size_t n); /* at most 256 */

/* From now on fill gives them, NULL: the kernel.  Only while there is no other
 * thread. */
void random_install(void (*fill)(void *arg, void *buf, size_t n), void *arg);

#endif
