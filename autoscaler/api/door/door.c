/*
 * door.c - the door itself, and the thread that watches the deadlines.  While
 * nobody is connected it sleeps.
 */
#include <stdlib.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/thread.h"
#include "inside.h"

#define LOOK_MS 500

static void *watch_main(void *arg)
{
    struct door *d = arg;

    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        struct timespec until = clock_wait_until(LOOK_MS);

        if (d->seats)
            pthread_cond_timedwait(&d->wake, &d->lock, &until);
        else
            pthread_cond_wait(&d->wake, &d->lock); /* one waits */
        seats_sweep(d, clock_mono_ms());
        peers_sweep(d, clock_mono_ms());
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void port_init(struct door *d, enum door_port which, uint32_t max)
{
    d->ports[which] = (struct port){
        .door = d, .which = which, .max = max, .per_peer = max - max / 4};
}

struct door *door_new(uint32_t max)
{
    struct door *d = MEM_NEW(struct door);

    pthread_mutex_init(&d->lock, NULL);
    thread_cond_init(&d->wake);
    port_init(d, DOOR_API, max);
    port_init(d, DOOR_METRICS, DOOR_METRICS_SEATS);
    if (pthread_create(&d->watch, NULL, watch_main, d) != 0)
        abort();
    return d;
}

void door_free(struct door *d)
{
    if (!d)
        return;
    thread_stop(d->watch, &d->lock, &d->wake, &d->stop);
    peers_sweep(d, INT64_MAX);
    pthread_cond_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

void *door_arg(struct door *d, enum door_port port)
{
    return &d->ports[port];
}

uint64_t door_late(const struct door *d)
{
    return atomic_load(&d->late);
}

uint64_t door_evicted(const struct door *d)
{
    return atomic_load(&d->evicted);
}
