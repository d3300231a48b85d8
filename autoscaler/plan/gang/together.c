/*
 * together.c - see together.h.
 */
#include "together.h"

#include "../buy/buy.h"
#include "../host_group.h"
#include "../pack.h"
#include "../quota.h"
#include "gang.h"

#include <string.h>

enum { ROUNDS = 6 };   /* until all have a place; then each alone */
enum { APART = 3 };    /* of these, with more columns each time */
enum { COLUMNS = 32 }; /* for gangs that lie apart */

struct set { /* of gangs, or of groups */
    uint32_t *v, n;
};

static enum strategy strategy_of(const struct candidate *d, uint32_t gang)
{
    return d->t->s->demands[d->t->gangs[gang].demand].strategy;
}

/* Is there an offer that may be bought for it? */
static bool buyable(const struct candidate *d, uint32_t group, uint32_t alt)
{
    const uint32_t shape = tables_shape(d->t, group, alt);

    for (uint32_t offer = 0; offer < d->t->s->n_offers; offer++)
        if (tables_may_buy(d->t, shape, offer))
            return true;
    return false;
}

/* One alternative, which some offer could hold, on machines that come alone. */
static bool may_join(const struct candidate *d, uint32_t gang)
{
    const struct gang *g = &d->t->gangs[gang];
    uint32_t *groups = ARENA_ARRAY(d->arena, uint32_t, g->n_groups);
    uint32_t *alts = ARENA_ARRAY(d->arena, uint32_t, g->n_groups);

    for (uint32_t i = 0; i < g->n_groups; i++) {
        groups[i] = g->first_group + i;
        if (d->t->groups[groups[i]].n_alts != 1 || !buyable(d, groups[i], 0))
            return false;
    }
    return !host_group_gang(d, groups, alts, g->n_groups);
}

/* Of the gangs from `first` on, those of this priority: what fits on nodes that are there
 * is placed, and alone what cannot join; the others are added to *left. */
static uint32_t gangs_there(struct candidate *d, uint32_t first, uint32_t end,
                            int64_t priority, struct set *left)
{
    uint32_t failed = NONE, no_room = NONE, g;

    for (g = first; g < end && d->t->gangs[g].priority == priority; g++) {
        const bool like_failed = failed != NONE && gang_same(d->t, failed, g);

        if (gang_settled(d, g) || like_failed)
            continue;
        if (!may_join(d, g)) {
            failed = gang_place(d, g) ? failed : g;
        } else if ((no_room != NONE && gang_same(d->t, no_room, g)) ||
                   !gang_place_there(d, g)) {
            no_room = g;
            left->v[left->n++] = g;
        }
    }
    return g;
}

/* Likewise of the loose groups whose first alternative may be bought (others are served
 * afterwards): what has no room. */
static uint32_t loose_there(struct candidate *d, uint32_t first, uint32_t end,
                            int64_t priority, struct set *left)
{
    const struct tables *t = d->t;
    uint32_t *groups = ARENA_ARRAY(d->arena, uint32_t, end - first), n = 0, k;
    const uint32_t *alts = ARENA_ARRAY(d->arena, uint32_t, end - first);

    for (k = first; k < end && t->groups[t->loose[k]].priority == priority;
         k++) {
        const uint32_t group = t->loose[k];

        if (d->left[group] > 0 &&
            (t->groups[group].n_alts == 1 || buyable(d, group, 0)))
            groups[n++] = group;
    }
    pack_later(d, groups, n);
    if (n > 0)
        pack_groups(d, groups, alts, n, (struct pack_rule){0});
    for (uint32_t i = 0; i < n; i++)
        if (d->left[groups[i]] > 0)
            left->v[left->n++] = groups[i];
    return k;
}

/* The priorities of what has this rank, from *g and *k on, in turn, as they are always
 * served; gangs are the side's. */
static void rank_there(struct candidate *d, enum rank rank, enum side side,
                       uint32_t *g, uint32_t *k, struct set *gangs,
                       struct set *loose)
{
    const struct tables *t = d->t;
    uint32_t g_end = *g, k_end = *k;

    while (g_end < t->n_gangs && t->gangs[g_end].side == side &&
           !t->gangs[g_end].unconfirmed)
        g_end++;
    while (k_end < t->n_loose && t->groups[t->loose[k_end]].rank == rank)
        k_end++;
    while (*g < g_end || *k < k_end) {
        int64_t priority = INT64_MIN;

        if (*g < g_end)
            priority = t->gangs[*g].priority;
        if (*k < k_end && t->groups[t->loose[*k]].priority > priority)
            priority = t->groups[t->loose[*k]].priority;
        *g = gangs_there(d, *g, g_end, priority, gangs);
        *k = loose_there(d, *k, k_end, priority, loose);
    }
}

static void side_there(struct candidate *d, enum side side, struct set *gangs,
                       struct set *loose)
{
    const struct tables *t = d->t;
    uint32_t g = 0, k = 0;

    while (g < t->n_gangs && t->gangs[g].side != side)
        g++;
    while (k < t->n_loose && t->groups[t->loose[k]].side != side)
        k++;
    if (side == SIDE_TOTAL) {
        rank_there(d, RANK_REQUEST, side, &g, &k, gangs, loose);
    } else {
        rank_there(d, RANK_WORK, side, &g, &k, gangs, loose);
        rank_there(d, RANK_SPARE, side, &g, &k, gangs, loose);
    }
}

/* The groups of the gangs; of those on one side only that may lie anywhere. */
static uint32_t groups_of(const struct candidate *d, const struct set *gangs,
                          enum side side, bool strict, uint32_t *ret)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < gangs->n; k++) {
        const struct gang *g = &d->t->gangs[gangs->v[k]];
        enum strategy how = strategy_of(d, gangs->v[k]);

        if (!strict && (how == STRATEGY_STRICT_PACK ||
                        how == STRATEGY_STRICT_SPREAD || g->side != side))
            continue;
        for (uint32_t i = 0; i < g->n_groups; i++)
            ret[n++] = g->first_group + i;
    }
    return n;
}

struct together {
    struct candidate *d;
    struct set loose; /* groups */
    bool *apart;      /* per gang: it has a column in the cover */
    uint32_t columns; /* for so many kinds more */
    bool last;        /* no more of them */
};

/* Best effort goes where there is room, then all is bought for. */
static void buy_all(const struct together *g, const struct set *gangs)
{
    struct candidate *d = g->d;
    uint32_t *groups = ARENA_ARRAY(d->arena, uint32_t, d->t->n_groups);
    uint32_t *alts = ARENA_ARRAY(d->arena, uint32_t, d->t->n_groups), n;

    for (int side = 0; side < SIDES; side++) {
        n = groups_of(d, gangs, (enum side)side, false, groups);
        if (n > 0)
            pack_groups(d, groups, alts, n, (struct pack_rule){0});
    }
    n = groups_of(d, gangs, SIDE_FREE, true, groups);
    for (uint32_t k = 0; k < g->loose.n; k++)
        groups[n++] = g->loose.v[k];
    if (n > 0)
        buy_groups(d, groups, alts, n, (struct buy_for){.apart = g->apart});
}

/* Those without a place. */
static struct set unsettled(const struct candidate *d, const struct set *gangs)
{
    struct set ret = {ARENA_ARRAY(d->arena, uint32_t, gangs->n), 0};

    for (uint32_t k = 0; k < gangs->n; k++)
        if (!gang_settled(d, gangs->v[k]))
            ret.v[ret.n++] = gangs->v[k];
    return ret;
}

/* What a try changes. */
struct before {
    struct mark mark;
    uint32_t *left, n_covers;
    uint64_t cover_shapes;
    bool improvable;
    double *worth;
};

static struct before before_of(struct candidate *d)
{
    const uint32_t worths = SIDES * d->t->s->n_shapes;

    return (struct before){
        .mark = candidate_mark(d),
        .left = arena_copy(d->arena, d->left, d->t->n_groups * sizeof *d->left),
        .n_covers = d->n_covers,
        .cover_shapes = d->cover_shapes,
        .improvable = d->improvable,
        .worth = d->worth
                     ? arena_copy(d->arena, d->worth, worths * sizeof *d->worth)
                     : NULL,
    };
}

static void go_back(struct candidate *d, const struct before *b)
{
    candidate_undo(d, b->mark);
    memcpy(d->left, b->left, d->t->n_groups * sizeof *d->left);
    d->n_covers = b->n_covers;
    d->cover_shapes = b->cover_shapes;
    d->improvable = b->improvable;
    d->worth = b->worth;
    d->bound = -1; /* of a cover that is not bought */
}

/* What has no place apart gets one alone. */
static void complete(struct candidate *d, const struct set *gangs)
{
    for (uint32_t k = 0; k < gangs->n; k++)
        if (strategy_of(d, gangs->v[k]) == STRATEGY_STRICT_SPREAD)
            gang_complete(d, gangs->v[k]);
}

/* False: the candidate is as before, and *out are those that it left out. */
static bool cover_try(const struct together *g, const struct set *gangs,
                      uint64_t budget, struct set *out)
{
    struct candidate *d = g->d;
    const struct before before = before_of(d);
    const uint64_t all = d->budget;

    d->budget = budget;
    buy_all(g, gangs);
    d->budget = all;
    *out = unsettled(d, gangs);
    if (out->n > 0 && g->last) {
        complete(d, out);
        *out = unsettled(d, gangs);
    }
    if (out->n == 0 && quota_kept(d))
        return true;
    go_back(d, &before);
    return false;
}

/* With first answers, then with one that is bettered, if all have a place in it too. */
static bool cover_all(const struct together *g, const struct set *gangs,
                      struct set *out)
{
    const struct before before = before_of(g->d);

    if (!cover_try(g, gangs, 0, out))
        return false;
    if (g->d->budget > 0) {
        go_back(g->d, &before);
        return cover_try(g, gangs, g->d->budget, out) ||
               cover_try(g, gangs, 0, out);
    }
    return true;
}

static bool wants_column(const struct together *g, uint32_t gang)
{
    return strategy_of(g->d, gang) == STRATEGY_STRICT_SPREAD &&
           !g->apart[gang] && g->d->t->gangs[gang].size > 1;
}

/* The largest that had no place apart get columns.  False: all have one. */
static bool columns_add(struct together *g, const struct set *gangs,
                        const struct set *out)
{
    const struct tables *t = g->d->t;
    bool any = false;

    while (g->columns > 0) {
        uint32_t best = NONE;

        for (uint32_t k = 0; k < out->n; k++)
            if (wants_column(g, out->v[k]) &&
                (best == NONE ||
                 t->gangs[out->v[k]].size > t->gangs[best].size))
                best = out->v[k];
        if (best == NONE)
            return any;
        for (uint32_t i = 0; i < gangs->n; i++)
            if (gang_same(t, best, gangs->v[i]))
                g->apart[gangs->v[i]] = true;
        g->columns--;
        any = true;
    }
    return any;
}

static void place_alone(struct candidate *d, const struct set *gangs)
{
    uint32_t failed = NONE;

    for (uint32_t k = 0; k < gangs->n; k++)
        if (!gang_settled(d, gangs->v[k]) &&
            !(failed != NONE && gang_same(d->t, failed, gangs->v[k])) &&
            !gang_place(d, gangs->v[k]))
            failed = gangs->v[k];
}

/* Those of `all` that are not in `out`, which is in the same order. */
static struct set without(const struct candidate *d, const struct set *all,
                          const struct set *out)
{
    struct set ret = {ARENA_ARRAY(d->arena, uint32_t, all->n), 0};

    for (uint32_t k = 0, m = 0; k < all->n; k++)
        if (m < out->n && out->v[m] == all->v[k])
            m++;
        else
            ret.v[ret.n++] = all->v[k];
    return ret;
}

void together_serve(struct candidate *d)
{
    const struct tables *t = d->t;
    struct set gangs = {ARENA_ARRAY(d->arena, uint32_t, t->n_gangs), 0}, out;
    struct together g = {.d = d,
                         .loose.v = ARENA_ARRAY(d->arena, uint32_t, t->n_loose),
                         .apart = ARENA_ARRAY(d->arena, bool, t->n_gangs),
                         .columns = COLUMNS};

    for (int side = 0; side < SIDES; side++)
        side_there(d, (enum side)side, &gangs, &g.loose);
    for (int round = 0; round < ROUNDS && gangs.n + g.loose.n > 0; round++) {
        g.last = round >= APART || g.columns == 0;
        if (cover_all(&g, &gangs, &out))
            return;
        if (out.n == 0)
            break; /* a quota */
        if (!g.last && columns_add(&g, &gangs, &out))
            continue;
        place_alone(d, &out);
        gangs = without(d, &gangs, &out);
    }
    place_alone(d, &gangs);
}

/* Who gets a machine: each gang, and what else has a rank and priority. */
struct buyer {
    uint32_t gang;
    uint8_t rank;
    int32_t priority;
};

static struct buyer buyer_of(const struct tables *t, uint32_t group)
{
    const struct group *g = &t->groups[group];

    return (struct buyer){t->gang_of[group], g->rank, g->priority};
}

static bool differ(struct buyer a, struct buyer b)
{
    return a.gang != b.gang || a.rank != b.rank || a.priority != b.priority;
}

bool together_of_use(const struct candidate *d)
{
    bool any = false;
    struct buyer first = {0};

    for (uint32_t i = 0; i < d->classes.n; i++) {
        if (d->classes.v[i].kind != CLASS_NEW)
            continue;
        for (uint32_t k = d->classes.v[i].placed; k != NONE;
             k = d->placements.v[k].next) {
            uint32_t group = d->placements.v[k].group;
            struct buyer one = buyer_of(d->t, group);

            if (d->t->groups[group].rank > RANK_SPARE)
                continue; /* served afterwards in any case */
            if (any && differ(one, first))
                return true;
            first = one;
            any = true;
        }
    }
    return false;
}

bool together_large(const struct tables *t)
{
    struct buyer first = {0};
    uint64_t n = 0;
    bool several = false;

    for (uint32_t i = 0; i < t->n_groups; i++) {
        struct buyer one = buyer_of(t, i);

        if (t->groups[i].rank > RANK_SPARE)
            continue;
        several |= n > 0 && differ(one, first);
        first = one;
        n += t->groups[i].count;
    }
    return several && n >= TOGETHER_LARGE;
}
