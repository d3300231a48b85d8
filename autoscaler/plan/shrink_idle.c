/*
 * shrink_idle.c - nodes that nothing needs any more, and why the others stay.
 *
 * After shrink_forced(): idle nodes go in the same order, a host group whole or
 * not at all.
 */
#include "shrink.h"

#include "limits.h"

static enum reason kept_for(const struct candidate *d, const struct group *w)
{
    enum demand_source source = d->t->s->demands[w->demand].source;

    return source == SOURCE_REQUEST ? REASON_KEEP_REQUEST : REASON_KEEP_DEMAND;
}

/* What there is to say about a node that is ready, or waits in its cloud's queue,
 * without looking at its type's min; END_IDLE when it could go. */
static enum reason idle_why(const struct problem *s, const struct pb_node *n,
                            int64_t *ret_until)
{
    int64_t timeout = n->idle_timeout_ms;

    *ret_until = 0;
    if (n->idle_ms < 0)
        return REASON_KEEP_BUSY;
    if (timeout < 0)
        return REASON_KEEP_IDLE_WAIT;
    if (n->idle_ms <= timeout) {
        *ret_until = s->now_ms + timeout - n->idle_ms + 1;
        return REASON_KEEP_IDLE_WAIT;
    }
    if (!s->sources_fresh)
        return REASON_KEEP_STALE;
    if (limits_must_keep(s, n)) {
        *ret_until = n->hold_until_ms;
        return n->hold;
    }
    return REASON_END_IDLE;
}

/* True: nothing needs it, so it could go. */
static bool judge(const struct candidate *d, uint32_t i,
                  const struct group *need, struct plan_node *ret)
{
    const struct problem *s = d->t->s;
    const struct pb_node *n = &s->nodes[i];

    ret->demand = need ? need->demand : NONE;
    if (n->head) {
        ret->why = REASON_KEEP_HEAD;
    } else if (n->unmanaged) {
        ret->why = REASON_KEEP_UNMANAGED;
    } else if (n->state == STATE_READY && n->idle_ms < 0) {
        ret->why = REASON_KEEP_BUSY;
    } else if (need) {
        ret->why = kept_for(d, need);
    } else if (n->state != STATE_READY && n->idle_ms < 0) {
        ret->why = REASON_KEEP_STARTING;
    } else {
        ret->why = idle_why(s, n, &ret->until_ms);
        return ret->why == REASON_END_IDLE;
    }
    return false;
}

/* Ends these in order, as long as more of their type are left than its min. */
static void end_idle(const struct problem *s, const uint32_t *order, uint32_t n,
                     uint32_t *count, struct plan_node *nodes)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t type = s->nodes[order[k]].type;

        if (type != NONE && count[type] <= s->types[type].min) {
            nodes[order[k]].why = REASON_KEEP_MIN;
            continue;
        }
        nodes[order[k]].action = NODE_END;
        if (type != NONE)
            count[type]--;
    }
}

static enum reason going_why(const struct pb_node *n)
{
    if (n->hold == REASON_KEEP_UNANSWERED || n->hold == REASON_KEEP_ORPHAN ||
        n->hold == REASON_KEEP_UNJOINED || n->hold == REASON_KEEP_UNMATCHED ||
        n->hold == REASON_KEEP_ANOTHERS || n->hold == REASON_KEEP_CONTESTED ||
        n->hold == REASON_KEEP_MISSING)
        return n->hold;
    if (n->state == STATE_READY) /* left of a host group */
        return n->idle_ms < 0 ? REASON_KEEP_BUSY : REASON_KEEP_HOST_GROUP;
    if (n->state != STATE_DRAINING && n->state != STATE_STOPPING &&
        n->state != STATE_GONE)
        return REASON_KEEP_HOST_GROUP;
    if (n->head)
        return REASON_KEEP_HEAD;
    return n->state == STATE_DRAINING ? REASON_KEEP_DRAINING
                                      : REASON_KEEP_STOPPING;
}

/* A drain is taken back for a whole host group. */
static void undrain_host_groups(const struct problem *s,
                                const struct host_groups *u,
                                struct plan_node *nodes)
{
    for (uint32_t k = 0; k < s->n_nodes; k++)
        for (uint32_t i = u->next[k]; i != k && nodes[k].action == NODE_UNDRAIN;
             i = u->next[i])
            if (s->nodes[i].state == STATE_DRAINING)
                nodes[i].action = NODE_UNDRAIN;
}

/* A host group goes as a whole: where one machine stays, all do. */
static void keep_host_groups(const struct problem *s,
                             const struct host_groups *u,
                             const struct verdict *verdicts,
                             struct plan_node *nodes)
{
    for (uint32_t k = 0; k < s->n_nodes; k++) {
        bool all = true;

        if (u->next[k] == k || nodes[k].action != NODE_END || verdicts[k].ended)
            continue;
        for (uint32_t i = k; i != NONE; i = host_group_next(u, k, i))
            all = all && nodes[i].action == NODE_END;
        for (uint32_t i = all ? NONE : k; i != NONE;
             i = host_group_next(u, k, i))
            if (nodes[i].action == NODE_END && !verdicts[i].ended) {
                nodes[i].action = NODE_KEEP;
                nodes[i].why = REASON_KEEP_HOST_GROUP;
            }
    }
}

/* What the budget would have ended says so.  Where no demand is named any more the
 * next plan ends it, or a min holds it. */
static void keep_spared(const struct problem *s, const struct verdict *verdicts,
                        struct plan_node *nodes)
{
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct plan_node *p = &nodes[i];

        if (!verdicts[i].spared || p->action != NODE_KEEP)
            continue;
        if (p->demand == NONE && p->why != REASON_KEEP_MIN &&
            p->why != REASON_KEEP_IDLE_WAIT)
            continue;
        p->why = REASON_KEEP_PRICE;
        p->until_ms = 0;
    }
}

void shrink_idle(const struct candidate *d, const struct verdict *verdicts,
                 const struct group *const *needed_by, struct plan_node *nodes)
{
    const struct problem *s = d->t->s;
    uint32_t *idle = ARENA_ARRAY(d->arena, uint32_t, s->n_nodes), n_idle = 0;
    uint32_t *count = ARENA_ARRAY(d->arena, uint32_t, s->n_types);
    struct host_groups u;

    host_groups_make(s, d->arena, &u);
    undrain_host_groups(s, &u, nodes);
    /* Nodes of a type that will be there, bought ones too. */
    for (uint32_t t = 0; t < s->n_types; t++)
        count[t] = d->type_count[t];
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];

        if (n->type != NONE && !n->unmanaged && n->state != STATE_GONE &&
            (verdicts[i].ended || n->state == STATE_STOPPING ||
             n->hold == REASON_KEEP_UNANSWERED ||
             (n->state == STATE_DRAINING && nodes[i].action != NODE_UNDRAIN)))
            count[n->type]--;
    }
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct pb_node *n = &s->nodes[i];
        struct plan_node *p = &nodes[i];

        if (verdicts[i].ended) {
            p->action = NODE_END;
            p->why = verdicts[i].why;
            p->demand = NONE;
        } else if (verdicts[i].going ||
                   (n->state == STATE_DRAINING && p->action != NODE_UNDRAIN)) {
            p->why = going_why(n);
            p->demand = NONE;
        } else if (p->action == NODE_UNDRAIN) {
            p->why = needed_by[i] ? kept_for(d, needed_by[i]) : REASON_KEEP_MIN;
            p->demand = needed_by[i] ? needed_by[i]->demand : NONE;
        } else if (verdicts[i].taking && n->state == STATE_READY &&
                   n->idle_ms >= 0 && !needed_by[i]) {
            p->why = REASON_KEEP_DEMAND;
            p->demand = NONE;
        } else if (judge(d, i, needed_by[i], p)) {
            idle[n_idle++] = i;
        }
    }
    shrink_sort(s, idle, n_idle, d->arena);
    end_idle(s, idle, n_idle, count, nodes);
    keep_host_groups(s, &u, verdicts, nodes);
    keep_spared(s, verdicts, nodes);
}
