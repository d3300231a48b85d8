/*
 * last_look.c - see last_look.h.
 */
#include "last_look.h"

#include <assert.h>

#include "providers/launches.h"

/* Its cloud may give an id again while an earlier machine's record waits for a list. */
static bool id_is_its_own(const struct last_look *l, const struct machine *m)
{
    return !fleet_shares_id(&l->ledger->fleet, m);
}

static bool is_still_that(const struct last_look *l, const struct machine *m)
{
    const struct provider_state *p = provider_find(l->providers, m->provider);

    if (!p)
        return true; /* no call for its end can leave */
    if (launch_under_way(l->providers, p))
        return false;
    if (find_has(l->providers, m) && m->maybe.found_ms >= p->over_ms)
        return true;
    return p->list_begun_ms >= p->over_ms && m->seen_ms >= p->listed_ms;
}

static bool work_is_known(const struct last_look *l, const struct machine *m)
{
    (void)m;
    return sources_know_work(l->sources);
}

static bool no_work_came(const struct last_look *l, const struct machine *m)
{
    if (l->sources->n == 0 || m->maybe.taken)
        return true;
    return sources_seen_since(l->sources, m->since_ms) &&
           source_drains_still(l->sources, m);
}

/* ---- the table */

static const struct {
    const char *else_waits;
    bool (*so)(const struct last_look *l, const struct machine *m);
} rules[] = {
    {"its id is another machine's, too: a list tells which is there",
     id_is_its_own},
    {"a list has to say that its id was not given to another machine since",
     is_still_that},
    {"its demand source gives no recent answer: work that came back would not "
     "be seen",
     work_is_known},
    {"its demand source's view is from before, or has a living node of it that "
     "it does not drain",
     no_work_came},
};

struct last_look last_look_begin(const struct ledger *ledger,
                                 const struct providers *providers,
                                 const struct sources *sources)
{
    launches_over_note(providers);
    return (struct last_look){ledger, providers, sources, true};
}

const char *last_look(const struct last_look *l, const struct machine *m)
{
    assert(l->begun);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!rules[i].so(l, m))
            return rules[i].else_waits;
    return NULL;
}

bool last_look_waits_for_launches(const struct last_look *l,
                                  const struct machine *m)
{
    const struct provider_state *p = provider_find(l->providers, m->provider);

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].so != is_still_that && !rules[i].so(l, m))
            return false;
    return p && m->seen_ms >= p->listed_ms && !is_still_that(l, m);
}
