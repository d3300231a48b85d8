/*
 * budget.c - the bytes that callers make us hold.
 *
 * What is small is not charged by those who call this: a few KiB for each seat
 * are part of what a seat costs.  Who holds something has a purse, by his name: a
 * caller, and the account of it that asks.  What one may come to hold shrinks with what
 * others hold ("dynamic thresholds", Choudhury and Hahne 1998), and a part of all is for
 * who holds little.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "inside.h"

struct purse {
    struct purse *next;
    char *name;
    int kind;      /* a caller's, or that of his account */
    uint32_t refs; /* charges */
    size_t bytes;
};

/* What is for all has a purse too: who reads slowly would hold it without end. */
static const char *const everybody[CHARGE_PURSES] = {"", ""};

static size_t most(int kind, const char *name)
{
    return kind    ? DOOR_BYTES_ACCOUNT
           : *name ? DOOR_BYTES_CALLER
                   : DOOR_BYTES_SHARED;
}

/* All under the lock. */
static struct purse *purse_find(const struct door *d, int kind,
                                const char *name)
{
    struct purse *p = d->purses;

    while (p && (p->kind != kind || strcmp(p->name, name) != 0))
        p = p->next;
    return p;
}

static struct purse *purse_get(struct door *d, int kind, const char *name)
{
    struct purse *p = purse_find(d, kind, name);

    if (!p) {
        p = MEM_NEW(struct purse);
        p->kind = kind;
        p->name = mem_strdup(name);
        p->next = d->purses;
        d->purses = p;
    }
    p->refs++;
    return p;
}

static void purse_drop(struct door *d, struct purse *p)
{
    struct purse **at = &d->purses;

    if (--p->refs > 0)
        return;
    assert(p->bytes == 0);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p->name);
    free(p);
}

static bool fits(const struct door *d, const char *const who[CHARGE_PURSES],
                 size_t n)
{
    size_t all = d->bytes + n, his[CHARGE_PURSES];
    bool few = true;

    for (int i = 0; i < CHARGE_PURSES; i++) {
        const struct purse *p = purse_find(d, i, who[i]);

        his[i] = n + (p ? p->bytes : 0);
        /* one thing alone may be larger */
        if (his[i] > n && his[i] > most(i, who[i]))
            return false;
        few = few && his[i] <= DOOR_BYTES_FEW;
    }
    return few ? all <= DOOR_BYTES_MAX + DOOR_BYTES_REST
               : all <= DOOR_BYTES_MAX && his[0] <= 2 * (DOOR_BYTES_MAX - all);
}

bool charge_add(struct charge *c, struct door *d,
                const char *const who[CHARGE_PURSES], size_t n)
{
    bool good;

    if (n > DOOR_BYTES_MAX)
        return false;
    who = who ? who : everybody;
    pthread_mutex_lock(&d->lock);
    good = fits(d, who, n);
    for (int i = 0; good && !c->door && i < CHARGE_PURSES; i++)
        c->purses[i] = purse_get(d, i, who[i]);
    if (good) {
        c->door = d;
        c->n += n;
        d->bytes += n;
        for (int i = 0; i < CHARGE_PURSES && c->purses[i]; i++)
            c->purses[i]->bytes += n;
    }
    pthread_mutex_unlock(&d->lock);
    return good;
}

void charge_drop(struct charge *c)
{
    struct door *d = c->door;

    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->bytes -= c->n;
    for (int i = 0; i < CHARGE_PURSES && c->purses[i]; i++) {
        c->purses[i]->bytes -= c->n;
        purse_drop(d, c->purses[i]);
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

struct MHD_Response *charged_response(struct door *d,
                                      const char *const who[CHARGE_PURSES],
                                      bool shared, char *text, size_t n)
{
    struct held *h = MEM_NEW(struct held);
    struct MHD_Response *r = NULL;

    h->text = text;
    if ((shared && charge_add(&h->charge, d, NULL, n)) ||
        charge_add(&h->charge, d, who, n))
        r = MHD_create_response_from_buffer_with_free_callback_cls(
            n, text, held_free, h);
    if (!r)
        held_free(h);
    return r;
}
