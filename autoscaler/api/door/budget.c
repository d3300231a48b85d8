/*
 * budget.c - the bytes that clients make us hold.
 *
 * What is small is not charged by those who call this: a few KiB for each seat
 * are part of what a seat costs.
 */
#include <stdlib.h>

#include "../../base/alloc.h"
#include "inside.h"

bool charge_add(struct charge *c, struct door *d, struct peer *p, size_t n)
{
    bool fits;

    pthread_mutex_lock(&d->lock);
    fits = n <= DOOR_BYTES_MAX - d->bytes &&
           (!p ||
            (p->bytes <= DOOR_BYTES_PEER && n <= DOOR_BYTES_PEER - p->bytes));
    if (fits) {
        if (!c->door && p)
            peer_ref(p);
        if (!c->door)
            *c = (struct charge){.door = d, .peer = p};
        c->n += n;
        d->bytes += n;
        if (p)
            p->bytes += n;
    }
    pthread_mutex_unlock(&d->lock);
    return fits;
}

void charge_drop(struct charge *c)
{
    struct door *d = c->door;

    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->bytes -= c->n;
    if (c->peer) {
        c->peer->bytes -= c->n;
        peer_drop(d, c->peer);
    }
    pthread_mutex_unlock(&d->lock);
    *c = (struct charge){0};
}

size_t door_bytes(struct door *d)
{
    size_t n;

    pthread_mutex_lock(&d->lock);
    n = d->bytes;
    pthread_mutex_unlock(&d->lock);
    return n;
}

struct held {
    struct charge charge;
    char *text;
};

static void held_free(void *arg)
{
    struct held *h = arg;

    charge_drop(&h->charge);
    free(h->text);
    free(h);
}

struct MHD_Response *charged_response(struct door *d, struct peer *p,
                                      char *text, size_t n)
{
    struct held *h = MEM_NEW(struct held);
    struct MHD_Response *r = NULL;

    h->text = text;
    if (charge_add(&h->charge, d, p, n))
        r = MHD_create_response_from_buffer_with_free_callback_cls(
            n, text, held_free, h);
    if (!r)
        held_free(h);
    return r;
}
