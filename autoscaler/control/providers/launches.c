/*
 * launches.c - see launches.h.
 */
#include "launches.h"

#include <assert.h>
#include <string.h>

#include "../settle.h"

static struct launch_sum *sum_find(const struct launches *l,
                                   const char *request_id)
{
    uint64_t h = hash_name(request_id);
    struct launch_sum *s;

    for (uint32_t at = 0; (s = hash_next(&l->by_request, h, &at));)
        if (strcmp(s->request_id, request_id) == 0)
            return s;
    return NULL;
}

/* Since when this one machine keeps its request from being sent again. */
static int64_t unneeded_since(const struct machine *m)
{
    if (m->state >= STATE_STOPPING)
        return m->since_ms;
    return m->state == STATE_INTENDED && !m->needed ? m->needed_ms : INT64_MAX;
}

static void all_count(struct launches *l, const struct ledger *ledger)
{
    const struct fleet *f = &ledger->fleet;

    hash_init(&l->by_request, &l->arena, 0);
    for (uint32_t i = 0; i < f->n; i++) {
        const char *id = f->v[i]->request_id;
        struct launch_sum *s;

        if (f->v[i]->state != STATE_INTENDED || sum_find(l, id))
            continue;
        s = ARENA_NEW(&l->arena, struct launch_sum);
        *s = (struct launch_sum){.request_id = arena_strdup(&l->arena, id),
                                 .unneeded = INT64_MAX};
        hash_add(&l->by_request, hash_name(id), s);
    }
    for (uint32_t i = 0; i < f->n; i++) {
        const struct machine *m = f->v[i];
        struct launch_sum *s = sum_find(l, m->request_id);

        if (!s)
            continue;
        s->n++;
        s->waits = s->waits || machine_waits(ledger, m);
        if (unneeded_since(m) < s->unneeded)
            s->unneeded = unneeded_since(m);
    }
    l->known = true;
}

const struct launch_sum *launch_sum(struct launches *l,
                                    const struct ledger *ledger,
                                    const struct machine *m)
{
    const struct launch_sum *s;

    if (!l->known)
        all_count(l, ledger);
    s = sum_find(l, m->request_id);
    assert(s && s->n > 0);
    return s;
}

int64_t launch_unneeded_since(struct launches *l, const struct ledger *ledger,
                              const struct machine *m)
{
    const struct launch_sum *s = launch_sum(l, ledger, m);

    return s->n == m->launch_count ? s->unneeded : 0;
}

void launches_done(struct launches *l)
{
    arena_done(&l->arena);
}

void launches_over_note(const struct providers *p)
{
    for (uint32_t i = 0; i < p->all.n; i++)
        p->all.v[i]->over_ms = p->all.v[i]->launched_ms;
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        const struct machine *m = p->ledger->fleet.v[i];
        int64_t at = settle_comes_ms(m, p->env->started_ms);
        struct provider_state *s = at ? provider_find(p, m->provider) : NULL;

        if (s && at > s->over_ms)
            s->over_ms = at;
    }
}
