/*
 * wakes.c - under clocks.c: a wake-up that comes while a wait's slice ends is
 * not lost.  Prints how many milliseconds the waiter slept on after it.
 *
 * The lock is held until the slice is over: the waiter's own wait has ended by
 * then, so that the signal reaches nobody, and what it waits for is there when
 * it has the lock again.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { WAIT_S = 20, HELD_MS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static bool waits, over;

static struct timespec now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

static void *waiter(void *arg)
{
    struct timespec until = now();

    until.tv_sec += WAIT_S;
    pthread_mutex_lock(&lock);
    waits = true;
    while (!over && pthread_cond_timedwait(&wake, &lock, &until) == 0)
        ;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    struct timespec from, to;
    pthread_condattr_t attr;
    pthread_t thread;
    bool begun = false;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &attr);
    pthread_create(&thread, NULL, waiter, NULL);
    while (!begun) {
        pthread_mutex_lock(&lock);
        begun = waits;
        if (!begun)
            pthread_mutex_unlock(&lock);
    }
    /* wait: a slice of clocks.c ends in it, which is what is tested */
    nanosleep(&(struct timespec){.tv_sec = HELD_MS / 1000}, NULL);
    over = true;
    pthread_cond_broadcast(&wake);
    from = now();
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    to = now();
    printf("%ld\n", (long)(to.tv_sec - from.tv_sec) * 1000 +
                        (to.tv_nsec - from.tv_nsec) / 1000000);
    return 0;
}
