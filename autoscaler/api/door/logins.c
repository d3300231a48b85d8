/*
 * logins.c - failed logins: counted, logged, slowed down.
 */
#include "../../base/clock.h"
#include "../../base/log.h"
#include "inside.h"

#define EACH_MS 2000  /* a failure is forgotten after so long */
#define DEBT_MS 60000 /* thirty of them: no more are looked at */
#define TELL_MS 60000 /* a line in the log at most so often */

bool login_may(struct door *d, struct peer *p)
{
    bool may;

    if (!p)
        return true;
    pthread_mutex_lock(&d->lock);
    may = p->debt_ms - clock_mono_ms() < DEBT_MS;
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
