/*
 * hand.c - see hand.h.
 *
 * What a node held by the last plan, and a place of that group is on it still, is kept
 * for its demand before anything is handed out.
 */
#include "hand.h"

#include "share.h"

struct hand {       /* of one share: the next bundle to hand out */
    uint32_t at;    /* into the share's bundles */
    uint32_t given; /* of that bundle */
    uint64_t left;  /* of all of them */
    uint64_t kept;  /* of these: for nodes that had them */
};

struct hands {
    const struct candidate *d;
    struct shares shares;
    struct hand *v; /* per share */
    uint32_t
        *keep; /* per previous placement of the problem: so many are kept; NULL:
                      * nothing is */
    uint32_t *first; /* per group: the first share that may have some left */
};

/* ---- what is kept */

static uint32_t placed(const struct candidate *d, const struct node_class *c,
                       uint32_t group)
{
    uint32_t n = 0;

    for (uint32_t k = c->placed; k != NONE; k = d->placements.v[k].next)
        n += d->placements.v[k].group == group ? d->placements.v[k].count : 0;
    return n;
}

static void keep_node(struct hands *x, const struct node_class *c,
                      const struct pb_node *n)
{
    const struct problem *s = x->d->t->s;
    const uint32_t *group_of = x->d->t->group_of;

    for (uint32_t k = 0; k < n->n_previous; k++) {
        const struct pb_placement *h = &s->previous[n->first_previous + k];
        struct hand *hand = &x->v[x->shares.of[h->bundle]];
        uint64_t room = placed(x->d, c, group_of[h->bundle]);

        for (uint32_t j = 0; j < k; j++)
            if (group_of[s->previous[n->first_previous + j].bundle] ==
                group_of[h->bundle])
                room -= x->keep[n->first_previous + j];
        if (room > h->count)
            room = h->count;
        if (room > hand->left - hand->kept)
            room = hand->left - hand->kept;
        x->keep[n->first_previous + k] = (uint32_t)room;
        hand->kept += room;
    }
}

static void keep_all(struct hands *x)
{
    const struct candidate *d = x->d;
    const struct problem *s = d->t->s;
    uint32_t all = 0;

    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].first_previous + s->nodes[i].n_previous > all)
            all = s->nodes[i].first_previous + s->nodes[i].n_previous;
    x->keep = ARENA_ARRAY(d->arena, uint32_t, all);
    for (uint32_t i = 0; i != NONE; i = d->classes.v[i].next) {
        const struct node_class *c = &d->classes.v[i];

        for (uint32_t k = 0; hands_by_node(x, c) && k < c->n; k++)
            keep_node(x, c, &s->nodes[d->members[c->first + k]]);
    }
}

struct hands *hands_make(const struct candidate *d)
{
    struct hands *x = ARENA_NEW(d->arena, struct hands);

    x->d = d;
    shares_make(d->t, d->arena, &x->shares);
    x->v = ARENA_ARRAY(d->arena, struct hand, x->shares.n);
    for (uint32_t i = 0; i < x->shares.n; i++)
        x->v[i].left = x->shares.v[i].count;
    x->first = arena_copy(d->arena, x->shares.first,
                          (d->t->n_groups + 1) * sizeof *x->first);
    if (d->t->s->work_unknown)
        keep_all(x);
    return x;
}

bool hands_by_node(const struct hands *x, const struct node_class *c)
{
    return x->d->t->s->work_unknown && c->kind != CLASS_NEW && c->n > 0 &&
           c->placed != NONE;
}

/* ---- handing out */

/* The first share of the group that has some for anybody. */
static uint32_t open_share(const struct hands *x, uint32_t group)
{
    uint32_t i = x->first[group];

    while (x->v[i].left == x->v[i].kept && i + 1 < x->shares.first[group + 1])
        i++;
    return i;
}

static uint32_t bundle_now(const struct hands *x, uint32_t share,
                           uint32_t *ret_left)
{
    const struct tables *t = x->d->t;
    uint32_t b = t->bundles[x->shares.v[share].first + x->v[share].at];

    *ret_left = t->s->bundles[b].count - x->v[share].given;
    return b;
}

uint32_t hands_alike(const struct hands *x, uint32_t group, uint32_t count,
                     uint32_t n)
{
    uint32_t share = open_share(x, group), left;
    uint64_t open = x->v[share].left - x->v[share].kept;

    bundle_now(x, share, &left);
    if (open < left)
        left = (uint32_t)open;
    n = left / count < n ? left / count : n;
    return n > 0 ? n : 1;
}

/* What is kept for the node of the group, NULL: nothing. */
static uint32_t *kept_for(const struct hands *x, uint32_t group, uint32_t node,
                          uint32_t *ret_share)
{
    const struct problem *s = x->d->t->s;
    const struct pb_node *n = node == NONE ? NULL : &s->nodes[node];

    for (uint32_t k = 0; x->keep && n && k < n->n_previous; k++) {
        uint32_t at = n->first_previous + k, b = s->previous[at].bundle;

        if (x->keep[at] == 0 || x->d->t->group_of[b] != group)
            continue;
        *ret_share = x->shares.of[b];
        return &x->keep[at];
    }
    return NULL;
}

uint32_t hand_out(struct hands *x, uint32_t group, uint32_t node,
                  uint32_t nodes, uint32_t count, uint32_t *ret_bundle)
{
    uint32_t share, left, *keep = kept_for(x, group, node, &share);
    struct hand *hand;
    uint64_t most;

    if (!keep)
        share = x->first[group] = open_share(x, group);
    hand = &x->v[share];
    most = keep ? *keep : hand->left - hand->kept;
    *ret_bundle = bundle_now(x, share, &left);
    left = left < most ? left : (uint32_t)most;
    count = left / nodes < count ? left / nodes : count;
    hand->given += count * nodes;
    hand->left -= (uint64_t)count * nodes;
    if (keep) {
        *keep -= count;
        hand->kept -= count;
    }
    if (hand->given == x->d->t->s->bundles[*ret_bundle].count) {
        hand->at++;
        hand->given = 0;
    }
    return count;
}
