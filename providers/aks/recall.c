/*
 * recall.c - the ledger of a pool, should its tags be taken away.
 *
 * Terraform takes away tags that it does not know, and with them the memory of
 * what was bought: the same launch again would buy once more.  What this
 * process still knows counts for an hour, and is written with the next change
 * of the pool.
 */
#include <stdio.h>
#include <stdlib.h>

#include "aks.h"

#define KNOWN_MS (3600 * INT64_C(1000))

void ledger_note(struct op *op, const struct pool *p)
{
    struct aks *a = op->aks;
    pthread_mutex_lock(&a->lock);
    struct memory *m = memory_of(a, p->name);
    if (!m->ledger)
        m->ledger = kit_zeroed(1, sizeof *m->ledger);
    *m->ledger = p->ledger;
    m->ledger_ms = a->host->wall_ms();
    pthread_mutex_unlock(&a->lock);
}

void ledger_recall(struct op *op, struct pool *p)
{
    struct aks *a = op->aks;
    bool lost = false;
    if (p->ledger.n > 0) {
        ledger_note(op, p);
        return;
    }
    pthread_mutex_lock(&a->lock);
    struct memory *m = memory_of(a, p->name);
    if (m->ledger && m->ledger->n > 0 &&
        a->host->wall_ms() - m->ledger_ms < KNOWN_MS) {
        p->ledger = *m->ledger;
        lost = !m->told_tags;
        m->told_tags = true;
    }
    pthread_mutex_unlock(&a->lock);
    if (!lost)
        return;
    char line[200];
    snprintf(line, sizeof line,
             "pool %.20s: our tags were removed, what they said is remembered "
             "for an hour: tell Terraform to ignore_changes of its tags",
             p->name);
    a->host->log(1, line);
}
