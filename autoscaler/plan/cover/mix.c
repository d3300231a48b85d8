/*
 * mix.c - see mix.h.
 *
 * Mixes are not kept: the next time a search has more steps, and settles bins that had
 * to be mixed before.
 */
#include "mix.h"

#include "bound.h"

#include <string.h>

#define TOO_MUCH 1.0002 /* over its price: worth a column */
#define SMOOTH 0.8      /* weight of the best bound's duals */
/* While there is work left, so many times the nodes for the next time; with more shapes
 * the work is of more use to the plan. */
#define MORE_NODES 4
#define DEEPER 250
#define STEPS 60  /* of tuning the multipliers */
#define NEAR 1e-4 /* of the value: a bound so near to it is all there is */

struct mixes {
    struct lp *lp; /* the copy */
    uint32_t n;    /* columns that were added to it */
    bool open;     /* a search came to no end */
    /* Fills that were met, for the program itself. */
    VEC(struct partial_pattern) met;
    VEC(struct cover_part) part;
    double *amount, *own; /* per item; the copy's duals */
};

static struct mixes *mixes_make(const struct generate *g)
{
    struct arena *a = g->v->arena;
    struct mixes *x = ARENA_NEW(a, struct mixes);

    x->lp = master_rows(&g->master);
    x->amount = ARENA_ARRAY(a, double, g->v->n_items);
    x->own = ARENA_ARRAY(a, double, g->v->n_items);
    return x;
}

/* The amounts as a column of the copy. */
static void add(struct mixes *x, struct generate *g, uint32_t bin)
{
    double price = (double)g->v->price[bin];
    uint32_t n;
    const struct lp_entry *entry = master_entries(&g->master, bin, x->amount,
                                                  &n);

    lp_add(x->lp, price, price, entry, n);
    x->n++;
}

/* The fill as a column of the copy, and later of the program. */
static void meet(struct mixes *x, struct generate *g, uint32_t bin,
                 const struct cover_part *part, uint32_t n)
{
    struct partial_pattern met = {bin, 1, x->part.n, n};

    memset(x->amount, 0, g->v->n_items * sizeof *x->amount);
    for (uint32_t k = 0; k < n; k++) {
        VEC_PUSH(g->v->arena, &x->part, part[k]);
        x->amount[part[k].item] += part[k].count;
    }
    VEC_PUSH(g->v->arena, &x->met, met);
    add(x, g, bin);
}

/* Does a search settle the bin: with a fill, or a proof? */
static bool settled(struct mixes *x, struct generate *g, uint32_t t,
                    double price, uint64_t nodes)
{
    const struct cover_part *part;
    double best;
    uint32_t n;
    bool all = prove_search(generate_prover(g), t, g->asked, price * TOO_MUCH,
                            nodes, &best, &part, &n);

    x->open = x->open || !all;
    if (all && best * (1 + GENERATE_SAFE) < g->earn[t])
        generate_earns(g, t, best);
    if (!n || !partial_holds(g->v, t, part, n, &g->maker->space))
        return all;
    meet(x, g, t, part, n);
    return true;
}

/* The mix of the relaxation's last answers into amount[]; what it is worth. */
static double mixed(struct mixes *x, struct generate *g, uint32_t t)
{
    const struct price_bin *b = &g->price->bin[t];
    double *mix = g->trial, worth = 0;

    price_mix(g->price, t, mix);
    memset(x->amount, 0, g->v->n_items * sizeof *x->amount);
    for (uint32_t k = 0; k < b->n; k++) {
        x->amount[b->item[k]] = mix[k];
        worth += mix[k] * x->own[b->item[k]];
    }
    g->extra += 3 * (uint64_t)b->n;
    return worth;
}

/* The bin's bound at the duals asked with; a column if that is too much. */
static void price_bin(struct mixes *x, struct generate *g, uint32_t t,
                      uint64_t nodes)
{
    double price = master_limited_price(&g->master, t);

    generate_earns(
        g, t,
        price_tune(g->price, t, g->asked, NULL, price * (1 - 1e-6), STEPS));
    if (price <= 0 || g->earn[t] <= price * TOO_MUCH)
        return;
    if (settled(x, g, t, price, nodes))
        return;
    if (mixed(x, g, t) > price * TOO_MUCH)
        add(x, g, t);
}

/* The copy's duals, and what is asked with: between them and the best bound's. */
static void duals_read(struct mixes *x, struct generate *g, double smooth)
{
    const double *y = lp_duals(x->lp);

    for (uint32_t i = 0; i < g->v->n_items; i++) {
        x->own[i] = y[i] > 0 ? y[i] : 0;
        g->asked[i] = smooth * g->tried_dual[i] + (1 - smooth) * x->own[i];
    }
}

static void rounds(struct mixes *x, struct generate *g, uint64_t nodes,
                   uint64_t until)
{
    bool exact = false, more = true;

    while (more) {
        uint32_t had = x->n;
        double bound = g->tried;

        if (!generate_solve(g, until) ||
            g->tried >= lp_value(x->lp) * (1 - NEAR))
            return;
        exact = exact || g->tried < lp_value(x->lp) / 2;
        duals_read(x, g, exact ? 0 : SMOOTH);
        for (uint32_t t = 0; t < g->v->n_bins && !generate_over(g, until); t++)
            price_bin(x, g, t, nodes);
        if (generate_over(g, until))
            return;
        bound_note(g, g->asked);
        more = !exact || x->n > had;
        exact = x->n == had && g->tried <= bound;
    }
}

/* On a copy of the program, which stays as it was. */
static void rounds_on_copy(struct mixes *x, struct generate *g, uint64_t nodes,
                           uint64_t until)
{
    struct lp *own = g->master.lp;
    const bool cheap = g->master.is_cheap;

    x->open = false;
    lp_copy(x->lp, own);
    g->extra += (uint64_t)lp_rows(own) * lp_rows(own) / 8;
    g->master.lp = x->lp;
    rounds(x, g, nodes, until);
    g->master.lp = own;
    g->master.is_cheap = cheap;
    g->extra += lp_work(x->lp) - lp_work(own);
}

void mix_run(struct generate *g, uint64_t nodes, uint64_t until)
{
    struct mixes *x;

    if (!g->mixes)
        g->mixes = mixes_make(g);
    x = g->mixes;
    x->met.n = x->part.n = 0;
    do {
        rounds_on_copy(x, g, nodes, until);
        nodes *= MORE_NODES;
    } while (x->open && g->v->n_items <= DEEPER && !generate_over(g, until));
    for (uint32_t k = 0; k < x->met.n; k++)
        master_add(&g->master, x->met.v[k].bin, x->part.v + x->met.v[k].first,
                   x->met.v[k].n);
}
