/*
 * store.c - somebody deletes, restores or prunes what the daemon has written down,
 * while it runs and while it does not.
 *
 * While it runs the daemon has it written again: nothing is lost that was promised.
 * What is taken away between two processes is lost: nobody holds what was promised
 * before against the next one, nor what it buys before it has seen all machines.
 * Nothing with work is ended all the same, and all machines are known.
 */
#include <string.h>

#include "observer.h"

#define JOURNAL "/a/davit.db"
#define COPY "/c/davit.db"

enum {
    HEALS_MS = MINUTE, /* a copy in the cluster, since that was told */
    SEEN_MS = 10 * MINUTE,
};

static void unlink_all(struct world *w)
{
    if (w->lease)
        lease_prune(w->lease, true);
    else
        disk_unlink(w->disk, JOURNAL);
    w->store.lost = true;
    w->store.healed_ms = 0;
}

/* In between two processes. */
static void between(struct world *w, bool restored)
{
    daemon_stop(&w->daemons[0]);
    unlink_all(w);
    if (restored && !w->lease)
        disk_copy(w->disk, COPY, JOURNAL); /* if there is one */
}

void store_happens(struct world *w, enum store_fault what)
{
    switch (what) {
    case STORE_COPIED:
        if (!w->lease)
            disk_copy(w->disk, JOURNAL, COPY);
        break;
    case STORE_DELETED:
        if (w->daemons[0].control)
            unlink_all(w);
        break;
    case STORE_PRUNED:
        if (w->lease && w->daemons[0].control) {
            lease_prune(w->lease, false);
            w->store.lost = true;
            w->store.healed_ms = 0;
        }
        break;
    case STORE_RESTORED: between(w, true); break;
    case STORE_DELETED_BETWEEN: between(w, false); break;
    case STORE_FAULTS: break;
    }
}

void store_event(struct world *w, const struct event *e)
{
    if (strcmp(e->kind, "journal.rewritten") == 0)
        w->store.healed_ms = world_now(w);
}

/* What was promised stands, or does not, until its owner is promised something. */
void store_starts(struct world *w)
{
    int64_t since = w->store.healed_ms;

    if (!w->store.lost)
        return;
    w->store.lost = false;
    if (since && (!w->lease || world_now(w) - since > HEALS_MS))
        return;
    for (int i = 0; i < OWNERS; i++)
        w->owners[i].refused_more = true;
    w->store.forgot = true;
    w->store.forgot_ms = world_now(w);
    w->store.calm_ms = 0;
}

void store_calm(struct world *w)
{
    if (w->store.forgot && !w->store.calm_ms)
        w->store.calm_ms = world_now(w);
}

bool store_forgives(struct world *w)
{
    if (w->store.calm_ms && world_now(w) - w->store.calm_ms > SEEN_MS)
        w->store.forgot = false;
    return w->store.forgot;
}
