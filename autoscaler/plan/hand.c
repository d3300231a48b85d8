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

/* What the node that is looked at has of a group; with another stamp it is another
 * node's. */
struct of_node {
    uint32_t stamp;
    uint32_t head; /* its first previous placement with something kept */
    uint64_t room; /* places that are not kept yet */
};

struct hands {
    const struct candidate *d;
    struct shares shares;
    struct hand *v; /* per share */
    uint32_t
        *keep; /* per previous placement of the problem: so many are kept; NULL:
                      * nothing is */
    uint32_t *first; /* per group: the first share that may have some left */
    struct of_node *of_node; /* per group */
    uint32_t stamp, node;    /* node: that is handed to; NONE */
    /* per previous placement: the node's next of its group; NONE */
    uint32_t *next;
};

/* ---- what is kept */

static struct of_node *of_node(struct hands *x, uint32_t group)
{
    struct of_node *o = &x->of_node[group];

    if (o->stamp != x->stamp)
        *o = (struct of_node){.stamp = x->stamp, .head = NONE};
    return o;
}

static void keep_node(struct hands *x, const struct node_class *c,
                      const struct pb_node *n)
{
    const struct problem *s = x->d->t->s;

    x->stamp++;
    for (uint32_t k = c->placed; k != NONE; k = x->d->placements.v[k].next)
        of_node(x, x->d->placements.v[k].group)->room +=
            x->d->placements.v[k].count;
    for (uint32_t k = 0; k < n->n_previous; k++) {
        const struct pb_placement *h = &s->previous[n->first_previous + k];
        struct hand *hand = &x->v[x->shares.of[h->bundle]];
        struct of_node *o = of_node(x, x->d->t->group_of[h->bundle]);
        uint64_t room = o->room;

        if (room > h->count)
            room = h->count;
        if (room > hand->left - hand->kept)
            room = hand->left - hand->kept;
        x->keep[n->first_previous + k] = (uint32_t)room;
        o->room -= room;
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
    x->next = ARENA_ARRAY(d->arena, uint32_t, all);
    x->of_node = ARENA_ARRAY(d->arena, struct of_node, d->t->n_groups);
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
    x->node = NONE;
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

/* The first share of the group that has some for anybody: who has none now has none
 * later. */
static uint32_t open_share(struct hands *x, uint32_t group)
{
    uint32_t *i = &x->first[group];

    while (x->v[*i].left == x->v[*i].kept &&
           *i + 1 < x->shares.first[group + 1])
        ++*i;
    return *i;
}

static uint32_t bundle_now(const struct hands *x, uint32_t share,
                           uint32_t *ret_left)
{
    const struct tables *t = x->d->t;
    uint32_t b = t->bundles[x->shares.v[share].first + x->v[share].at];

    *ret_left = t->s->bundles[b].count - x->v[share].given;
    return b;
}

uint32_t hands_alike(struct hands *x, uint32_t group, uint32_t count,
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

/* Its previous placements, by group. */
static void node_look(struct hands *x, uint32_t node)
{
    const struct problem *s = x->d->t->s;
    const struct pb_node *n = &s->nodes[node];

    x->node = node;
    x->stamp++;
    for (uint32_t k = n->n_previous; k-- > 0;) {
        uint32_t at = n->first_previous + k;
        struct of_node *o = of_node(x,
                                    x->d->t->group_of[s->previous[at].bundle]);

        x->next[at] = o->head;
        o->head = at;
    }
}

/* What is kept for the node of the group, NULL: nothing. */
static uint32_t *kept_for(struct hands *x, uint32_t group, uint32_t node,
                          uint32_t *ret_share)
{
    struct of_node *o;

    if (!x->keep || node == NONE)
        return NULL;
    if (x->node != node)
        node_look(x, node);
    o = of_node(x, group);
    while (o->head != NONE && x->keep[o->head] == 0)
        o->head = x->next[o->head];
    if (o->head == NONE)
        return NULL;
    *ret_share = x->shares.of[x->d->t->s->previous[o->head].bundle];
    return &x->keep[o->head];
}

uint32_t hand_out(struct hands *x, uint32_t group, uint32_t node,
                  uint32_t nodes, uint32_t count, uint32_t *ret_bundle)
{
    uint32_t share, left, *keep = kept_for(x, group, node, &share);
    struct hand *hand;
    uint64_t most;

    if (!keep)
        share = open_share(x, group);
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
