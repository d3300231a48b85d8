/*
 * thread.c - see thread.h.
 */
#include "thread.h"

#include <time.h>

void thread_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

void thread_stop(pthread_t thread, pthread_mutex_t *lock, pthread_cond_t *wake,
                 bool *stop)
{
    pthread_mutex_lock(lock);
    *stop = true;
    pthread_cond_signal(wake);
    pthread_mutex_unlock(lock);
    pthread_join(thread, NULL);
}
