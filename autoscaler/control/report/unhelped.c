/*
 * unhelped.c - see unhelped.h.
 */
#include "unhelped.h"

#include <stdio.h>
#include <string.h>

enum {
    FIRST_MS = 600000,
    LONGEST_MS = 4 * 3600000,
    SETTLE_MS = 2000, /* a node's last facts come with the next view */
    NOTES_MAX = 256,
};

/* ---- the witness */

/* What passes by itself: a node that is not ready, or cordoned. */
static bool for_now(const struct snap_node *n)
{
    for (uint32_t i = 0; i < n->taints.n; i++)
        if (strncmp(n->taints.v[i].key, "node.kubernetes.io/", 19) == 0)
            return true;
    return false;
}

static bool bought_for(const struct machine *m, uint64_t shape)
{
    for (size_t i = 0; i < sizeof m->bought_for / sizeof *m->bought_for; i++)
        if (m->bought_for[i] == shape)
            return true;
    return false;
}

/* A node of the type that is ready, has nothing to do, holds nothing by this
 * plan, and was bought for bundles of this shape.  NONE: there is none. */
static uint32_t witness(const struct sources *sources,
                        const struct taken *taken, const struct problem *now,
                        const struct plan *plan, uint32_t type, uint64_t shape)
{
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        const struct pb_node *n = &now->nodes[i];
        const struct plan_node *p = &plan->nodes[i];
        const struct machine *m = taken->machines[n->from];
        const struct source_node *seen;

        if (!m || n->type != type || m->state != STATE_READY ||
            n->idle_ms < 0 || p->n_placements > 0 ||
            (p->action == NODE_END && p->why != REASON_END_IDLE))
            continue;
        seen = source_node_of(sources, m);
        if (seen && seen->status != SOURCE_UNREADY &&
            !for_now(&taken->snapshot->nodes[n->from]) && bought_for(m, shape))
            return i;
    }
    return NONE;
}

/* What the node has or lacks, as the planner sees it; said: by its scheduler,
 * or NULL. */
static void obstacle(const struct problem *now, uint32_t node, uint32_t shape,
                     const char *said, char *ret, size_t size)
{
    const struct pb_node *n = &now->nodes[node];
    const struct pb_shape *x = &now->shapes[shape];
    const int64_t *needs = pb_row(now, x->row), *has = pb_row(now, n->total);
    uint32_t key = NONE;
    enum reason why = problem_refuses(now, x->selector, n->first_label,
                                      n->n_labels, &key);

    snprintf(ret, size, "it is not clear why");
    if (why != REASON_NONE)
        snprintf(ret, size, "%s%s%s", reason_text(why), key != NONE ? ": " : "",
                 key != NONE ? now->str[key] : "");
    for (uint32_t c = 0; why == REASON_NONE && c < now->n_columns; c++)
        if (needs[c] > has[c] &&
            strcmp(now->str[now->columns[c].name], UNTRIED_RESOURCE) != 0) {
            snprintf(ret, size, "the node has too little %s",
                     now->str[now->columns[c].name]);
            return;
        }
    if (why == REASON_NONE && said && *said)
        snprintf(ret, size, "the scheduler says: %s", said);
}

/* ---- notes */

static struct unhelped_note *note_of(struct ledger *l, const char *type,
                                     uint64_t shape, const char *key)
{
    struct unhelped_note *x;

    for (uint32_t i = 0; i < l->unhelped.n; i++) {
        x = &l->unhelped.v[i];
        if (x->shape == shape && strcmp(x->type, type) == 0 &&
            strcmp(x->key, key) == 0)
            return x;
    }
    if (l->unhelped.n == NOTES_MAX) /* the oldest goes */
        memmove(l->unhelped.v, l->unhelped.v + 1,
                --l->unhelped.n * sizeof *l->unhelped.v);
    VEC_PUSH(NULL, &l->unhelped, (struct unhelped_note){.shape = shape});
    x = &l->unhelped.v[l->unhelped.n - 1];
    snprintf(x->type, sizeof x->type, "%s", type);
    snprintf(x->key, sizeof x->key, "%s", key);
    return x;
}

/* For how many seconds; 0: it is in force already. */
static int64_t note_again(struct unhelped_note *x, int64_t now_ms)
{
    if (x->until_ms > now_ms)
        return 0;
    x->delay_ms = x->delay_ms ? 2 * x->delay_ms : FIRST_MS;
    if (x->delay_ms > LONGEST_MS)
        x->delay_ms = LONGEST_MS;
    x->until_ms = now_ms + x->delay_ms;
    return x->delay_ms / 1000;
}

/* The node's hard taints are what all nodes of its type are taken to have. */
static bool taints_note(struct ledger *l, const char *type,
                        const struct taints *t, int64_t now_ms,
                        int64_t *ret_seconds)
{
    bool any = false;

    for (uint32_t i = 0; i < t->n; i++) {
        struct unhelped_note *x;

        if (t->v[i].effect == EFFECT_PREFER_NO_SCHEDULE)
            continue;
        x = note_of(l, type, 0, t->v[i].key);
        snprintf(x->value, sizeof x->value, "%s", t->v[i].value);
        x->effect = t->v[i].effect;
        any = true;
        *ret_seconds += note_again(x, now_ms);
    }
    return any;
}

static void note(struct env *env, struct ledger *l, const struct taken *taken,
                 const struct problem *now, uint32_t node, uint32_t shape,
                 const struct pb_demand *demand)
{
    const char *for_whom = now->str[demand->owner];
    const struct pb_node *n = &now->nodes[node];
    const struct pb_shape *x = &now->shapes[shape];
    const char *type = now->str[now->types[n->type].name];
    int64_t seconds = 0;
    char why[600];

    enum reason refused = problem_refuses(now, x->selector, n->first_label,
                                          n->n_labels, NULL);

    if (refused != REASON_TAINT ||
        !taints_note(l, type, &taken->snapshot->nodes[n->from].taints,
                     env->now_ms, &seconds))
        seconds = note_again(note_of(l, type, x->plain, ""), env->now_ms);
    if (seconds == 0)
        return;
    env->news = true;
    env_wake_mono(env, env->mono_ms);
    obstacle(now, node, shape, taken->snapshot->demands[demand->from].said, why,
             sizeof why);
    emit(env, "demand.unhelped", for_whom, "did_not_help",
         "%s was bought for it and joined, and it still waits: %s; no other %s "
         "is bought for it for %lld s",
         now->str[n->id], why, type, (long long)seconds);
}

bool unhelped_judge(struct env *env, struct ledger *l,
                    const struct sources *sources, const struct taken *taken,
                    const struct problem *now, const struct plan *plan,
                    const struct plan_launch *launch)
{
    uint32_t type = now->offers[launch->offer].type;

    if (sources->n == 0 || now->types[type].hosts > 1)
        return false;
    for (uint32_t i = 0; i < launch->n_placements; i++) {
        const struct plan_placement *q =
            &plan->placements[launch->first_placement + i];
        const struct pb_bundle *b = &now->bundles[q->bundle];
        uint32_t shape = now->alts[b->first_alt + q->alt].shape;
        uint32_t node = witness(sources, taken, now, plan, type,
                                now->shapes[shape].plain);

        int64_t sure;

        if (node == NONE)
            continue;
        sure = taken->machines[now->nodes[node].from]->ready_ms + SETTLE_MS;
        if (sure > env->now_ms)
            env_wake_wall(env, sure); /* until then none is bought either */
        else
            note(env, l, taken, now, node, shape, &now->demands[b->demand]);
        return true;
    }
    return false;
}

void unhelped_ending(struct env *env, struct ledger *l,
                     const struct taken *taken, const struct problem *now,
                     const struct plan *plan, uint32_t node)
{
    const struct pb_node *n = &now->nodes[node];
    const struct machine *m = taken->machines[n->from];

    if (n->type == NONE || now->types[n->type].hosts > 1 ||
        for_now(&taken->snapshot->nodes[n->from]))
        return;
    for (uint32_t i = 0; i < now->n_bundles; i++) {
        const struct pb_bundle *b = &now->bundles[i];
        uint32_t shape = now->alts[b->first_alt].shape;

        if (plan->bundles[i].waiting + plan->bundles[i].infeasible == 0 ||
            !bought_for(m, now->shapes[shape].plain))
            continue;
        note(env, l, taken, now, node, shape, &now->demands[b->demand]);
        return;
    }
}

void unhelped_take(const struct ledger *l, int64_t now_ms, struct arena *arena,
                   struct snapshot *ret)
{
    struct snap_unhelped *v = ARENA_ARRAY(arena, struct snap_unhelped,
                                          l->unhelped.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->unhelped.n; i++)
        if (l->unhelped.v[i].until_ms > now_ms && l->unhelped.v[i].shape)
            v[n++] = (struct snap_unhelped){
                arena_strdup(arena, l->unhelped.v[i].type),
                l->unhelped.v[i].shape, l->unhelped.v[i].until_ms};
    ret->unhelped = v;
    ret->n_unhelped = n;
}

struct taints unhelped_taints(const struct ledger *l, int64_t now_ms,
                              const char *type, struct taints own,
                              struct arena *arena)
{
    struct taint *v = ARENA_ARRAY(arena, struct taint, own.n + l->unhelped.n);
    uint32_t n = own.n;

    if (own.n > 0)
        memcpy(v, own.v, own.n * sizeof *v);
    for (uint32_t i = 0; i < l->unhelped.n; i++) {
        const struct unhelped_note *x = &l->unhelped.v[i];
        bool known = x->shape != 0 || x->until_ms <= now_ms ||
                     strcmp(x->type, type) != 0;

        for (uint32_t k = 0; k < own.n && !known; k++)
            known = own.v[k].effect == x->effect &&
                    strcmp(own.v[k].key, x->key) == 0;
        if (!known)
            v[n++] = (struct taint){arena_strdup(arena, x->key),
                                    arena_strdup(arena, x->value), x->effect};
    }
    return n > own.n ? (struct taints){v, n} : own;
}
