/*
 * another.c - is it the head that our machines joined?
 *
 * A head is its session and its nodes.  One of another session that has no node of
 * ours is another head, at the same address by somebody's mistake, or ours that
 * began anew and that no raylet has joined yet.  What it says of our machines (that
 * it does not know them) is no word of theirs, so it counts as a read that failed:
 * nothing is bought or ended by it.  It is ours as soon as one of our machines has
 * a living node there, when no machine is at stake, or when a person says so.
 */
#include <stdio.h>
#include <string.h>

#include "inside.h"

/* Might it have joined the head of before? */
static bool at_stake(const struct machine *m)
{
    return m->state >= STATE_STARTING && m->state <= STATE_DRAINING &&
           !machine_held(m);
}

static bool any_at_stake(const struct sources *s)
{
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++)
        if (at_stake(s->ledger->fleet.v[i]))
            return true;
    return false;
}

static void refuse(struct source *h, struct source_view *view)
{
    struct source_view *was = h->refused;

    h->refused = view ? source_view_ref(view) : NULL;
    source_view_unref(was);
    snprintf(h->other, sizeof h->other, "%s", view ? view->session : "");
}

bool source_is_another(struct sources *s, struct source *h,
                       struct source_view *view)
{
    const char *was = s->ledger->head_session;

    if (h != source_of_machines(s) || !view || !*view->session)
        return false;
    if (*was && source_session_is_other(was, view->session) &&
        any_at_stake(s) && !source_has_any(s, h, view)) {
        refuse(h, view);
        return true;
    }
    refuse(h, NULL);
    if (strcmp(view->session, SOURCE_NAMELESS) != 0)
        ledger_head_is(s->ledger, view->session);
    return false;
}

const char *sources_another(const struct sources *s)
{
    const struct source *h = source_of_machines(s);

    return h && *h->other ? h->other : NULL;
}

void sources_approve(struct sources *s, const char *by)
{
    struct source *h = source_for_machines(s);

    emit(s->env, "head.approved", h->address, "",
         "session %s is ours: machines that do not join it within "
         "limits.start_timeout may go, by %s",
         h->other, by);
    ledger_head_is(s->ledger, h->other);
    h->read_due_ms = 0;
    for (uint32_t i = 0; i < s->ledger->fleet.n; i++)
        if (at_stake(s->ledger->fleet.v[i]))
            s->ledger->fleet.v[i]->maybe.let_go = true;
}
