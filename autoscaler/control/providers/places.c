/*
 * places.c - where providers are, and where the journal has their machines.
 */
#include <string.h>

#include "../settle.h"
#include "providers.h"

static void machines_forget(struct providers *p, const char *provider)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        struct machine *m = p->ledger->fleet.v[i];

        if (m->state == STATE_GONE || strcmp(m->provider, provider) != 0)
            continue;
        machine_to(p->ledger, m, STATE_GONE);
        n++;
    }
    emit(p->env, "provider.moved", provider, "",
         "%u machines in its earlier place are forgotten, not ended", n);
}

uint32_t launches_unanswered(const struct fleet *f, const char *provider)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        enum standing s = standing_of(f->v[i]);

        n += strcmp(f->v[i]->provider, provider) == 0 &&
             (s == STANDING_ASKED ||
              (s == STANDING_ACCEPTED && !*f->v[i]->cloud_id));
    }
    return n;
}

/* The provider whose place that is now; NULL: none, or more than one. */
static struct provider_state *provider_at(const struct providers *p,
                                          const char *place)
{
    struct provider_state *found = NULL;

    for (uint32_t i = 0; *place && i < p->all.n; i++) {
        if (strcmp(provider_place(p->all.v[i]->provider), place) != 0)
            continue;
        if (found)
            return NULL;
        found = p->all.v[i];
    }
    return found;
}

/* Where the provider's machines are, if its name stands for another place now
 * and another name for that one; else NULL. */
static struct provider_state *follows(const struct providers *p,
                                      const char *provider)
{
    const struct provider_state *s = provider_find(p, provider);
    const char *was = ours_place(p->ledger, provider);

    if (!s || strcmp(was, provider_place(s->provider)) == 0)
        return NULL;
    return provider_at(p, was);
}

/* Names that were exchanged: what each has goes with its place, and counts all
 * the while.  What has no name any more is forgotten first, so that it is not
 * taken for what comes in its stead. */
static void machines_follow(struct providers *p)
{
    struct fleet *f = &p->ledger->fleet;

    for (uint32_t i = 0; i < p->all.n; i++)
        if (launches_unanswered(f, p->all.v[i]->conf->name))
            return;
    for (uint32_t i = 0; i < p->all.n; i++) {
        const char *name = p->all.v[i]->conf->name;
        const char *place = provider_place(p->all.v[i]->provider);

        if (!follows(p, name) && ours_moved(p->ledger, name, place))
            machines_forget(p, name);
    }
    for (uint32_t i = 0; i < f->n; i++) {
        struct provider_state *to = f->v[i]->state == STATE_GONE
                                        ? NULL
                                        : follows(p, f->v[i]->provider);

        if (to)
            machine_moves(p, f->v[i], to->conf->name);
    }
    for (uint32_t i = 0; i < p->all.n; i++) {
        const char *name = p->all.v[i]->conf->name;
        const char *place = provider_place(p->all.v[i]->provider);

        if (ours_moved(p->ledger, name, place))
            ours_move(p->ledger, name, place);
    }
}

void providers_check_places(struct providers *p, bool approved)
{
    if (approved)
        machines_follow(p);
    for (uint32_t i = 0; i < p->all.n; i++) {
        struct provider_state *s = p->all.v[i];
        const char *place = provider_place(s->provider);
        const char *was = ours_moved(p->ledger, s->conf->name, place);
        struct err e;

        uint32_t open =
            was ? launches_unanswered(&p->ledger->fleet, s->conf->name) : 0;

        s->elsewhere = was && (!approved || open);
        if (s->elsewhere && approved) {
            err_set(&e, ST_INVALID,
                    "%u launches in %.60s are not answered: `davit forget` "
                    "them, or the old settings tell what came of them",
                    open, was);
            provider_problem(p, s, &e);
        } else if (s->elsewhere) {
            err_set(&e, ST_INVALID,
                    "its machines in the journal are in %.60s, it is in %.60s: "
                    "`davit apply` forgets them, the old settings bring them "
                    "back",
                    was, place);
            provider_problem(p, s, &e);
        } else if (was) {
            machines_forget(p, s->conf->name);
            ours_move(p->ledger, s->conf->name, place);
        }
    }
}
