/*
 * thread.h - threads that wait for a while, or until they are to end.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* For pthread_cond_timedwait() until clock_wait_until(). */
void thread_cond_init(pthread_cond_t *c);
/* Tells it to end and waits until it has: it looks at *stop, which the lock keeps,
 * whenever it is woken. */
void thread_stop(pthread_t thread, pthread_mutex_t *lock, pthread_cond_t *wake,
                 bool *stop);

#endif
