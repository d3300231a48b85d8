/*
 * pace.c - see pace.h.
 *
 * With n who owe, each pays 1 / (n + 1) of the time that goes by, and may owe
 * PACE_MOST_US / n before the next reply.
 */
#include "pace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/hash.h"

struct owing {
    uint64_t hash;
    int64_t us;
    char caller[];
};

struct pace {
    pthread_mutex_t lock;
    struct hash all; /* who owes: nobody else is kept */
    int64_t paid_us; /* until then all have paid */
};

struct pace *pace_new(void)
{
    struct pace *p = MEM_NEW(struct pace);

    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void pace_free(struct pace *p)
{
    struct owing *x;

    if (!p)
        return;
    for (uint32_t at = 0; (x = hash_each(&p->all, &at));)
        free(x);
    hash_done(&p->all);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static struct owing *find(const struct pace *p, const char *caller)
{
    struct owing *x;

    for (uint32_t at = 0; (x = hash_next(&p->all, hash_name(caller), &at));)
        if (strcmp(x->caller, caller) == 0)
            return x;
    return NULL;
}

static void pay(struct pace *p, int64_t now_us)
{
    int64_t each = (now_us - p->paid_us) / ((int64_t)p->all.n + 1);
    struct owing *x;

    if (p->all.n > 0 && each <= 0)
        return;
    p->paid_us = now_us;
    for (uint32_t at = 0; (x = hash_each(&p->all, &at));) {
        x->us -= each;
        if (x->us > 0)
            continue;
        hash_remove(&p->all, x->hash, x);
        free(x);
    }
}

bool pace_lets(struct pace *p, const char *caller, int64_t now_us)
{
    const struct owing *x;
    bool lets;

    pthread_mutex_lock(&p->lock);
    pay(p, now_us);
    x = find(p, caller);
    lets = !x || x->us <= PACE_MOST_US / p->all.n;
    pthread_mutex_unlock(&p->lock);
    return lets;
}

void pace_spent(struct pace *p, const char *caller, int64_t cpu_us,
                int64_t now_us)
{
    size_t n = strlen(caller) + 1;
    struct owing *x;

    if (cpu_us <= PACE_FREE_US)
        return;
    pthread_mutex_lock(&p->lock);
    pay(p, now_us);
    x = find(p, caller);
    if (!x) {
        x = mem_alloc(sizeof *x + n);
        *x = (struct owing){.hash = hash_name(caller)};
        memcpy(x->caller, caller, n);
        hash_add(&p->all, x->hash, x);
    }
    x->us += cpu_us - PACE_FREE_US;
    pthread_mutex_unlock(&p->lock);
}
