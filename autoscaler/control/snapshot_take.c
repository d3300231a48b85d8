/*
 * snapshot_take.c - see snapshot_take.h.
 */
#include "snapshot_take.h"

#include "report/interrupted.h"
#include "report/unhelped.h"
#include "snapshot_parts.h"

static void view_release(void *v)
{
    source_view_unref(v);
}

static void views_hold(struct taking *t)
{
    const struct sources *s = t->k->sources;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->all[i].view)
            status_hold(t->page, source_view_ref(s->all[i].view), view_release);
}

static void texts_release(void *age)
{
    texts_read_end(age);
}

/* Those of the machines that there are now. */
static void texts_hold(struct taking *t)
{
    status_hold(t->page, texts_read(t->k->ledger->fleet.texts), texts_release);
}

struct taken snapshot_take(const struct known *k, struct status_page *page)
{
    const struct config *conf = k->conf->now;
    struct snapshot *s = ARENA_NEW(&page->arena, struct snapshot);
    struct taking t = {.k = k,
                       .conf = conf,
                       .page = page,
                       .arena = &page->arena,
                       .snapshot = s,
                       .confirmed_ms = INT64_MAX};

    status_hold_shared(page, conf->memory);
    views_hold(&t);
    texts_hold(&t);
    s->cluster = conf->cluster;
    s->now_ms = k->env->now_ms;
    s->sources_fresh = sources_fresh(k->sources);
    s->work_unknown = !k->sources->n || k->env->shadow;
    for (uint32_t i = 0; i < k->sources->n; i++)
        if (k->sources->all[i].view && k->sources->all[i].view->spreads)
            s->work_spreads = true;
    s->limits = conf->limits;
    s->queues = conf->queues;
    s->n_queues = conf->n_queues;
    types_take(&t);
    nodes_take(&t);
    demands_take(&t);
    unhelped_take(k->ledger, k->env->now_ms, t.arena, s);
    improvement_take(k->improvement, &page->arena, s);
    return (struct taken){
        s, t.machines, t.requests, t.n_requests, t.unconfirmed, t.confirmed_ms};
}

int64_t snapshot_changes_ms(const struct known *k)
{
    int64_t now = k->env->now_ms;
    int64_t first = backoffs_change_ms(k->ledger->backoffs, now);

    if (interrupted_change_ms(k->ledger) < first)
        first = interrupted_change_ms(k->ledger);
    for (uint32_t i = 0; i < k->ledger->unhelped.n; i++) {
        int64_t until = k->ledger->unhelped.v[i].until_ms;

        if (until > now && until < first)
            first = until;
    }
    for (uint32_t i = 0; i < k->ledger->fleet.n; i++) {
        const struct machine *m = k->ledger->fleet.v[i];
        int64_t devices = devices_until_ms(k, m);

        if (devices && devices < first)
            first = devices;
        if (m->hold_until_ms > now && m->hold_until_ms < first)
            first = m->hold_until_ms;
    }
    return first == INT64_MAX ? first : first + 1;
}
