/*
 * branch.c - see branch.h.
 *
 * A leaf begins with the proof of the one that it was divided from; so the least
 * bound of all never falls.
 */
#include "branch.h"

enum { LEAVES = 24 };
/* Of the work, for one leaf at a time. */
#define LEAF_PART 4

struct branch {
    struct leaves all;
    struct leaf leaf[LEAVES];
    uint32_t n;
    bool ended;
};

struct branch *branch_make(struct generate *g, const struct seats *seats,
                           const struct seated *seated)
{
    struct branch *b = ARENA_NEW(g->v->arena, struct branch);

    leaves_make(g, seats, &b->all);
    leaf_whole(&b->all, seated, &b->leaf[0]);
    b->n = 1;
    return b;
}

void branch_done(struct branch *b)
{
    leaves_done(&b->all);
}

/* The one with the least bound. */
static struct leaf *least(struct branch *b)
{
    struct leaf *ret = &b->leaf[0];

    for (uint32_t k = 1; k < b->n; k++)
        if (b->leaf[k].bound < ret->bound)
            ret = &b->leaf[k];
    return ret;
}

static void divide(struct branch *b, struct leaf *leaf)
{
    const struct leaf whole = *leaf;

    b->ended = whole.family == UINT32_MAX || b->n == LEAVES;
    if (b->ended)
        return;
    leaf_divide(&b->all, &whole, leaf, &b->leaf[b->n++]);
    if (b->all.leaf == leaf)
        b->all.leaf = NULL;
}

/* With more nodes a search may prove more. */
static void begin_again(struct branch *b)
{
    b->ended = false;
    for (uint32_t k = 0; k < b->n && b->n > 1; k++)
        if (!leaf_proved(&b->leaf[k], b->leaf[k].value))
            b->leaf[k].settled = false;
}

void branch_run(struct branch *b, double enough, uint64_t nodes, uint64_t until)
{
    const struct generate *g = b->all.g;
    uint64_t now = generate_work(g);
    uint64_t part = now < until ? (until - now) / LEAF_PART : 0;

    begin_again(b);
    while (!b->ended && !generate_over(g, until)) {
        struct leaf *leaf = least(b);

        if (leaf->bound >= enough)
            return;
        if (leaf->settled)
            divide(b, leaf);
        else
            leaf_run(&b->all, leaf, nodes, generate_work(g) + part);
    }
}

bool branch_ended(const struct branch *b)
{
    return b->ended;
}

double branch_bound(const struct branch *b)
{
    double bound = b->leaf[0].bound;

    for (uint32_t k = 1; k < b->n; k++)
        bound = b->leaf[k].bound < bound ? b->leaf[k].bound : bound;
    return bound;
}

void branch_proof(const struct branch *b, struct cover_proof *ret)
{
    const struct view *v = b->all.g->v;
    struct cover_leaf *leaf = ARENA_ARRAY(v->arena, struct cover_leaf, b->n);

    for (uint32_t k = 0; k < b->n; k++)
        leaf[k] = (struct cover_leaf){
            .range = b->leaf[k].range,
            .n_ranges = b->leaf[k].n_ranges,
            .worth = b->leaf[k].worth,
            .money = b->leaf[k].money,
            .least_worth = b->leaf[k].worth + v->p->n_items,
        };
    ret->leaf = leaf;
    ret->n_leaves = b->n;
}
