/*
 * finds.c - a second witness for machines that a list lacks: their cloud is asked
 * for each by its id.
 *
 * A list goes by a tag, an index, a page, and each of these can be wrong for
 * half of a fleet; what is asked for by its id is there or is not.  So a spot
 * wave is believed within seconds, and a machine that is there is neither
 * forgotten nor bought again, whatever lists say.
 */
#include <string.h>

#include "../settle.h"
#include "providers.h"

enum {
    FIND_MOST = 50, /* of one call: a request each, with some clouds */
    FIND_TIMEOUT_MS = 20000,
    FIND_AGAIN_MS = 60000, /* while lists lack it */
    FIND_HOLDS_MS = 180000,
};

bool find_has(const struct providers *p, const struct machine *m)
{
    return m->maybe.found_ms &&
           p->env->now_ms - m->maybe.found_ms < FIND_HOLDS_MS;
}

/* What was asked to end goes by lists alone: that it is missing is no surprise.  One so
 * new that a list may not have it yet may be unknown by its id, too. */
static bool is_to_be_there(const struct machine *m)
{
    return standing_of(m) == STANDING_THERE ||
           (standing_of(m) == STANDING_ENDING && !m->maybe.end_sent);
}

static bool is_sought(const struct providers *p, const struct provider_state *s,
                      const struct machine *m)
{
    return p->env->now_ms - m->created_ms >= provider_settle_ms(s->provider) &&
           is_to_be_there(m) && m->seen_ms && m->seen_ms != s->told_ms &&
           *m->cloud_id && !m->maybe.lost &&
           strcmp(m->provider, s->conf->name) == 0 &&
           (!m->maybe.sought_ms ||
            p->env->now_ms - m->maybe.sought_ms >= FIND_AGAIN_MS);
}

static void find_send(struct providers *p, struct provider_state *s,
                      struct machine *const *v, uint32_t n)
{
    struct call *call = call_new(s->provider, CALL_FIND, MAIL_CALL);
    const char **ids = ARENA_ARRAY(&call->arena, const char *, n);
    const char **names = ARENA_ARRAY(&call->arena, const char *, n);

    for (uint32_t i = 0; i < n; i++) {
        ids[i] = arena_strdup(&call->arena, v[i]->cloud_id);
        names[i] = arena_strdup(&call->arena, v[i]->id);
        v[i]->maybe.sought_ms = p->env->now_ms;
    }
    call->ids = ids;
    call->names = names;
    call->n_ids = n;
    call_send(p, s, call, FIND_TIMEOUT_MS);
}

void finds_ask(struct providers *p, struct provider_state *s)
{
    struct machine *batch[FIND_MOST];
    uint32_t n = 0;

    if (p->env->stopping || !provider_finds(s->provider))
        return; /* the last list of all may lack some, too */
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        struct machine *m = p->ledger->fleet.v[i];

        if (!is_sought(p, s, m))
            continue;
        if (n == 0 && !calls_room(p, s, CALL_FIND))
            return; /* the next list asks for the others */
        batch[n++] = m;
        if (n == FIND_MOST) {
            find_send(p, s, batch, n);
            n = 0;
        }
    }
    if (n > 0)
        find_send(p, s, batch, n);
}

/* It may be another one's id by now, or in a list again. */
static struct machine *machine_sought(const struct providers *p,
                                      const struct call *call, uint32_t i)
{
    struct machine *m = fleet_by_id(&p->ledger->fleet, call->names[i]);

    return m && m->maybe.sought_ms && strcmp(m->cloud_id, call->ids[i]) == 0
               ? m
               : NULL;
}

/* Does this cloud know any machine of ours, now?  One of another account knows none,
 * by a list or by an id. */
static bool knows_ours(const struct providers *p,
                       const struct provider_state *s, const struct call *call)
{
    for (uint32_t i = 0; i < call->n_ids; i++)
        if (call->done[i] == ST_OK)
            return true;
    for (uint32_t i = 0; i < p->ledger->fleet.n; i++) {
        const struct machine *m = p->ledger->fleet.v[i];

        if (m->seen_ms && m->seen_ms == s->told_ms &&
            strcmp(m->provider, s->conf->name) == 0)
            return true;
    }
    return false;
}

void finds_answered(struct providers *p, struct provider_state *s,
                    const struct call *call)
{
    int64_t ago = p->env->mono_ms - call->started_mono_ms;
    int64_t begun_ms = p->env->now_ms - (ago > 0 ? ago : 0);
    uint32_t lost = 0, there = 0, news = 0;
    bool knows = s && !call->job.abandoned && knows_ours(p, s, call);

    fleet_index(&p->ledger->fleet);
    for (uint32_t i = 0; s && !call->job.abandoned && i < call->n_ids; i++) {
        struct machine *m = machine_sought(p, call, i);

        if (m && fleet_shares_id(&p->ledger->fleet, m)) {
            m->maybe.found_ms =
                0; /* of which launch the answer is nobody knows */
        } else if (m && call->done[i] == ST_OK) {
            there++;
            news += !m->maybe.found_ms;
            m->maybe.found_ms = begun_ms;
            m->maybe.missing_ms = 0;
        } else if (m && knows && call->done[i] == ST_NOT_FOUND) {
            lost++;
            news++;
            m->maybe.found_ms = 0;
            m->maybe.lost = true;
        }
    }
    if (news)
        emit(p->env, "list.checked", s->conf->name, "",
             "of %u machines that its list lacks %u are gone, by their ids",
             lost + there, lost);
    if (lost && !s->short_since_ms)
        s->list_due_ms = p->env->mono_ms; /* another list, and it is settled */
}
