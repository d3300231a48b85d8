/*
 * logins.c - failed logins: counted, logged, slowed down.
 */
#include <openssl/crypto.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/log.h"
#include "inside.h"

#define EACH_MS 2000    /* a failure is forgotten after so long */
#define DEBT_MS 60000   /* thirty of them: no more are looked at */
#define TELL_MS 60000   /* a line in the log at most so often */
#define GOOD_MS 3600000 /* who was right is remembered so long */

static bool was_good(const struct peer *p, const unsigned char digest[32])
{
    bool found = false;

    for (uint32_t i = 0; i < LOGINS_GOOD && i < p->n_good; i++)
        found |= CRYPTO_memcmp(p->good[i], digest, 32) == 0;
    return found;
}

bool login_may(struct door *d, struct peer *p, const unsigned char digest[32])
{
    bool may;

    if (!p)
        return true;
    pthread_mutex_lock(&d->lock);
    may = p->debt_ms - clock_mono_ms() < DEBT_MS || was_good(p, digest);
    pthread_mutex_unlock(&d->lock);
    if (!may)
        atomic_fetch_add(&d->logins_throttled, 1);
    return may;
}

static void keep(struct peer *p, int64_t until_ms)
{
    if (p->keep_ms < until_ms)
        p->keep_ms = until_ms;
}

void login_good(struct door *d, struct peer *p, const unsigned char digest[32])
{
    if (!p)
        return;
    pthread_mutex_lock(&d->lock);
    if (!was_good(p, digest))
        memcpy(p->good[p->n_good++ % LOGINS_GOOD], digest, 32);
    keep(p, clock_mono_ms() + GOOD_MS);
    pthread_mutex_unlock(&d->lock);
}

void login_bad(struct door *d, struct peer *p)
{
    int64_t now = clock_mono_ms();
    uint32_t n = 0;

    atomic_fetch_add(&d->logins_failed, 1);
    if (!p)
        return;
    pthread_mutex_lock(&d->lock);
    p->debt_ms = (p->debt_ms > now ? p->debt_ms : now) + EACH_MS;
    keep(p, p->debt_ms + TELL_MS);
    p->untold++;
    if (!p->told_ms || now - p->told_ms >= TELL_MS) {
        n = p->untold;
        p->untold = 0;
        p->told_ms = now;
    }
    pthread_mutex_unlock(&d->lock);
    if (n)
        log_warn("api: %u failed login%s from %s", n, n > 1 ? "s" : "",
                 p->name);
}

uint64_t logins_failed(const struct door *d)
{
    return atomic_load(&d->logins_failed);
}

uint64_t logins_throttled(const struct door *d)
{
    return atomic_load(&d->logins_throttled);
}
