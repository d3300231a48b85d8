/*
 * trial.c - where the scheduler would put equal pods with rules by domains, if
 * what is bought for them costs the least.  See topology.h.
 *
 * By the filters of InterPodAffinity and PodTopologySpread: pods go one after
 * the other to a cell (places alike to the rules) that the rules allow, on room
 * that is there before room that is bought.  A domain without a node is none
 * until something is bought there; one that can take no more bounds the others.
 * When some are left over, it is tried to buy nothing in a domain that has been
 * opened: it may have been too small.  So it is when few machines are bought, since
 * the others might hold all for less.  Nodes that are bought join together: what was
 * placed before a domain was opened must be even with it in the end.
 *
 * What it costs is counted in steps.  When a group's share of them is used up, the
 * best that was found stands, and pods that were not looked at are put off.
 */
#include "topology.h"

#include <stdlib.h>
#include <string.h>

enum {
    CELLS_MAX = 256,
    HOLDS_STEPS = 32, /* of place_holds() */
    FEW = 10,         /* machines in a domain */
};

struct buy { /* an offer of a cell */
    const struct place *place;
    uint32_t cell, type, each;
    uint32_t order; /* in which they came */
    int64_t share;  /* of its price for a pod */
};

/* Of a spread: how full its emptiest domain is. */
struct least {
    uint32_t count, domains, n; /* n: so many domains are that empty */
};

struct work {
    struct topo_fit *f;
    const struct topo_group *g;
    uint32_t n; /* pods */
    struct cell *cells;
    uint32_t n_cells;
    struct buy *buys; /* by cell, the cheapest first */
    uint32_t n_buys;
    uint32_t *most; /* by cell: pods on one node */
    int64_t *most_price;
    bool *barred; /* by cell: not of this run */
    /* of a run */
    uint32_t **counts;   /* by rule and value */
    bool **domain;       /* of spreads, likewise */
    struct least *least; /* of spreads, by rule */
    uint32_t *left;      /* nodes that may be bought, by type */
    bool ahead;          /* where something may be bought is a domain */
    uint64_t steps;      /* that are left */
};

/* False: there are not so many left. */
static bool spend(struct work *w, uint64_t steps)
{
    bool enough = w->steps >= steps;

    w->steps -= enough ? steps : w->steps;
    return enough;
}

static bool is_by_cell(const struct topo_rule *r)
{
    return r->key != ON_HOST && r->kind >= TOPO_ONE_EACH;
}

/* ---- cells */

/* Do the rules that hold everywhere let a pod lie there at all? */
static bool may_be(const struct topo_group *g, const struct topology *w,
                   const struct place *p)
{
    for (uint32_t i = 0; i < g->n_rules; i++) {
        const struct topo_rule *r = &g->rules[i];
        uint32_t v;

        if (r->key == ON_HOST)
            continue;
        v = p->values[r->key];
        if (r->kind == TOPO_OUT || r->kind == TOPO_IN) {
            bool is = v != NO_VALUE && v < w->keys[r->key].n && r->values[v];

            if (is != (r->kind == TOPO_IN))
                return false;
        } else if (v == NO_VALUE && r->kind != TOPO_ONE_EACH) {
            return false;
        }
    }
    return true;
}

static bool alike(const struct topo_group *g, const uint32_t *a,
                  const uint32_t *b, bool together_only)
{
    for (uint32_t i = 0; i < g->n_rules; i++) {
        const struct topo_rule *r = &g->rules[i];

        if (is_by_cell(r) && (!together_only || r->kind == TOPO_TOGETHER) &&
            a[r->key] != b[r->key])
            return false;
    }
    return true;
}

static uint32_t cell_of(struct work *w, const struct place *p)
{
    uint32_t i = 0;

    while (i < w->n_cells && !alike(w->g, w->cells[i].values, p->values, false))
        i++;
    if (i == w->n_cells && i < CELLS_MAX)
        w->cells[w->n_cells++] = (struct cell){.values = p->values};
    return i;
}

static void most_note(struct work *w, uint32_t cell, uint32_t each,
                      int64_t price)
{
    uint32_t now = w->most[cell] < w->n ? w->most[cell] : w->n;
    uint32_t then = each < w->n ? each : w->n;

    if (then > now || (then == now && price < w->most_price[cell])) {
        w->most[cell] = each;
        w->most_price[cell] = price;
    }
}

static void buy_add(struct work *w, uint32_t cell, const struct place *p,
                    uint32_t each)
{
    uint32_t shared = each < w->n ? each : w->n;

    w->buys[w->n_buys] = (struct buy){.place = p,
                                      .cell = cell,
                                      .type = (uint32_t)(p->type - w->f->types),
                                      .each = each,
                                      .order = w->n_buys,
                                      .share = p->price / shared};
    w->n_buys++;
}

static int by_cell_and_share(const void *pa, const void *pb)
{
    const struct buy *a = pa, *b = pb;

    if (a->cell != b->cell)
        return a->cell < b->cell ? -1 : 1;
    if (a->share != b->share)
        return a->share < b->share ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static void buys_sort(struct work *w)
{
    if (w->n_buys > 1)
        qsort(w->buys, w->n_buys, sizeof *w->buys, by_cell_and_share);
    for (uint32_t k = w->n_buys; k-- > 0;) {
        struct cell *c = &w->cells[w->buys[k].cell];

        c->first_buy = k;
        c->n_buys++;
    }
}

/* False: there are too many places to look at. */
static bool places_sort(struct work *w, const struct snap_bundle *b)
{
    const struct topo_fit *f = w->f;
    bool untried = bundle_is_untried(b);

    for (uint32_t i = 0; i < f->places.n; i++) {
        const struct place *p = &f->places.v[i];
        uint32_t each, cell;

        if (!spend(w, 1))
            return false;
        if ((untried && p->tried) || !may_be(w->g, f->topology, p))
            continue;
        if (!spend(w, HOLDS_STEPS + w->n_cells))
            return false;
        each = place_holds(p, b->alts, b->n_alts);
        if (!each || (cell = cell_of(w, p)) == CELLS_MAX)
            continue;
        most_note(w, cell, each, p->offer ? p->price : 0);
        if (p->offer)
            buy_add(w, cell, p, each);
        else
            w->cells[cell].room += each;
    }
    buys_sort(w);
    return true;
}

/* ---- one run */

static uint32_t values_of(const struct work *w, const struct topo_rule *r)
{
    return w->f->keys[r->key].values.n;
}

static void least_find(struct work *w, uint32_t rule)
{
    const struct topo_rule *r = &w->g->rules[rule];
    const uint32_t *has = w->counts[rule];
    struct least *l = &w->least[rule];

    *l = (struct least){.count = UINT32_MAX};
    for (uint32_t v = 0; v < values_of(w, r); v++) {
        if (!w->domain[rule][v])
            continue;
        l->domains++;
        if (has[v] < l->count)
            *l = (struct least){has[v], l->domains, 0};
        l->n += has[v] == l->count;
    }
}

/* What it has of the rule before the run. */
static void rule_begin(struct work *w, uint32_t rule)
{
    const struct topo_rule *r = &w->g->rules[rule];
    struct arena *a = w->f->arena;
    uint32_t n = values_of(w, r), there = w->f->topology->keys[r->key].n;

    if (!w->counts[rule])
        w->counts[rule] = ARENA_ARRAY(a, uint32_t, n);
    memcpy(w->counts[rule], w->f->counts[r->term], n * sizeof **w->counts);
    if (r->kind != TOPO_SPREAD)
        return;
    if (!w->domain[rule])
        w->domain[rule] = ARENA_ARRAY(a, bool, n);
    for (uint32_t v = 0; v < n; v++) {
        w->domain[rule][v] = v < there && r->values[v];
        if (!w->domain[rule][v])
            w->counts[rule][v] = 0; /* its nodes do not count */
    }
    for (uint32_t i = 0; i < w->n_cells && w->ahead; i++)
        if (w->cells[i].n_buys && !w->cells[i].closed && !w->barred[i])
            w->domain[rule][w->cells[i].values[r->key]] = true;
    least_find(w, rule);
}

/* False: no steps are left for it. */
static bool run_begin(struct work *w)
{
    for (uint32_t i = 0; i < w->g->n_rules; i++) {
        const struct topo_rule *r = &w->g->rules[i];

        if (r->kind != TOPO_ONE_EACH && r->kind != TOPO_SPREAD)
            continue;
        if (!spend(w, values_of(w, r)))
            return false;
        rule_begin(w, i);
    }
    for (uint32_t i = 0; i < w->f->n_types; i++) {
        const struct snap_type *t = &w->f->types[i];

        w->left[i] = t->max > w->f->there[i] ? t->max - w->f->there[i] : 0;
    }
    return true;
}

static bool spread_allows(const struct work *w, uint32_t rule, uint32_t v)
{
    const struct topo_rule *r = &w->g->rules[rule];
    const struct least *l = &w->least[rule];
    uint32_t has = w->counts[rule][v], n = l->domains, least = l->count;

    if (!w->domain[rule][v]) { /* it becomes one */
        n++;
        least = has < least ? has : least;
    }
    if (n < r->domains)
        least = 0;
    return has + r->self <= (uint64_t)least + r->skew;
}

/* One more lies there. */
static void spread_count(struct work *w, uint32_t rule, uint32_t v,
                         uint32_t before)
{
    struct least *l = &w->least[rule];

    if (!w->domain[rule][v]) {
        w->domain[rule][v] = true;
        l->domains++;
        if (w->counts[rule][v] > l->count)
            return;
        if (w->counts[rule][v] < l->count)
            *l = (struct least){w->counts[rule][v], l->domains, 0};
        l->n++;
    } else if (before == l->count && w->counts[rule][v] != before &&
               --l->n == 0) {
        spend(w, values_of(w, &w->g->rules[rule]));
        least_find(w, rule);
    }
}

static bool allowed(const struct work *w, const struct cell *c)
{
    for (uint32_t i = 0; i < w->g->n_rules; i++) {
        const struct topo_rule *r = &w->g->rules[i];
        uint32_t v = r->key == ON_HOST ? NO_VALUE : c->values[r->key];

        if (r->kind == TOPO_ONE_EACH && v != NO_VALUE && w->counts[i][v])
            return false;
        if (r->kind == TOPO_SPREAD && !spread_allows(w, i, v))
            return false;
    }
    return true;
}

/* What is next to be bought there; NULL: nothing. */
static const struct buy *buy_next(const struct work *w, const struct cell *c)
{
    for (uint32_t i = 0; i < c->n_buys && !c->closed; i++)
        if (w->left[w->buys[c->first_buy + i].type])
            return &w->buys[c->first_buy + i];
    return NULL;
}

/* How full it is by the first rule that counts. */
static uint32_t level(const struct work *w, const struct cell *c)
{
    for (uint32_t i = 0; i < w->g->n_rules; i++)
        if (w->counts[i] && c->values[w->g->rules[i].key] != NO_VALUE)
            return w->counts[i][c->values[w->g->rules[i].key]];
    return c->placed;
}

/* The next pod's; NULL: no cell will have it. */
static struct cell *cell_next(struct work *w)
{
    struct cell *best = NULL;
    int64_t best_cost = 0;

    for (uint32_t i = 0; i < w->n_cells; i++) {
        struct cell *c = &w->cells[i];
        const struct buy *b = c->room ? NULL : buy_next(w, c);
        int64_t cost = b ? b->share : 0;

        if (w->barred[i] || (!c->room && !b) || (best && cost > best_cost) ||
            !allowed(w, c))
            continue;
        if (best && cost == best_cost && level(w, c) >= level(w, best))
            continue;
        best = c;
        best_cost = cost;
    }
    return best;
}

static void place_one(struct work *w, struct cell *c, struct trial *t)
{
    if (!c->room) {
        const struct buy *b = buy_next(w, c);

        c->room = b->each;
        c->opened = true;
        if (w->f->types[b->type].max != UNLIMITED)
            w->left[b->type]--;
        t->cost += b->place->price;
        t->bought++;
    }
    c->room--;
    c->placed++;
    t->placed++;
    for (uint32_t i = 0; i < w->g->n_rules; i++) {
        const struct topo_rule *r = &w->g->rules[i];
        uint32_t v = r->key == ON_HOST ? NO_VALUE : c->values[r->key];
        uint32_t before;

        if (v == NO_VALUE || !w->counts[i])
            continue;
        before = w->counts[i][v];
        w->counts[i][v] += r->kind == TOPO_ONE_EACH || r->self;
        if (r->kind == TOPO_SPREAD)
            spread_count(w, i, v, before);
    }
}

/* On one node: as many as it takes. */
static void run_on_host(struct work *w, struct trial *t)
{
    uint32_t best = CELLS_MAX;

    for (uint32_t i = 0; i < w->n_cells; i++) {
        uint32_t k = w->most[i] < w->n ? w->most[i] : w->n;

        if (w->barred[i] || !allowed(w, &w->cells[i]))
            continue;
        if (best == CELLS_MAX || k > t->placed ||
            (k == t->placed && w->most_price[i] < t->cost)) {
            best = i;
            t->placed = k;
            t->cost = w->most_price[i];
        }
    }
    if (best < CELLS_MAX)
        t->cells[best].placed = t->placed;
}

/* Who would be beyond the skew once all nodes are there. */
static void uneven_drop(struct work *w, struct trial *t)
{
    for (uint32_t i = 0; i < w->g->n_rules; i++) {
        const struct topo_rule *r = &w->g->rules[i];
        uint64_t most = r->skew;

        if (r->kind != TOPO_SPREAD || !r->self)
            continue;
        most += w->least[i].domains < r->domains ? 0 : w->least[i].count;
        for (uint32_t k = 0; k < t->n_cells; k++) {
            struct cell *c = &t->cells[k];
            uint32_t *has = &w->counts[i][c->values[r->key]];

            for (; c->placed && *has > most; --*has, c->placed--)
                t->placed--;
        }
    }
}

static struct trial run(struct work *w, const struct cell *from, bool host)
{
    struct trial t = {.n_cells = w->n_cells};

    w->cells = t.cells = arena_copy(w->f->arena, from,
                                    w->n_cells * sizeof *t.cells);
    t.put_off = !run_begin(w);
    if (host && !t.put_off)
        run_on_host(w, &t);
    while (!host && !t.put_off && t.placed < w->n) {
        struct cell *c;

        t.put_off = !spend(w, (uint64_t)w->n_cells * (1 + w->g->n_rules));
        c = t.put_off ? NULL : cell_next(w);
        if (!c)
            break;
        place_one(w, c, &t);
    }
    if (!host && !t.put_off)
        uneven_drop(w, &t);
    return t;
}

/* ---- all runs */

static bool is_open(const struct work *w, const struct cell *c)
{
    for (uint32_t i = 0; i < w->g->n_rules; i++) {
        const struct topo_rule *r = &w->g->rules[i];
        uint32_t v;

        v = r->kind == TOPO_SPREAD ? c->values[r->key] : 0;
        if (r->kind == TOPO_SPREAD &&
            (v >= w->f->topology->keys[r->key].n || !r->values[v]))
            return false;
    }
    return true;
}

/* Could one machine less in a domain be a tenth of the price? */
static bool is_small(const struct trial *t)
{
    uint32_t opened = 0;

    for (uint32_t i = 0; i < t->n_cells; i++)
        opened += t->cells[i].opened;
    return opened > 1 && t->bought <= FEW * opened;
}

/* Again without what was opened in vain: some found no place for it, or all would
 * for less. */
static struct trial run_less(struct work *w, const struct cell *from, bool host)
{
    struct trial best = run(w, from, host);
    struct cell *cells = arena_copy(w->f->arena, from,
                                    w->n_cells * sizeof *cells);

    for (bool any = !host; any && (best.placed < w->n || is_small(&best));) {
        uint32_t which = CELLS_MAX;

        any = false;
        for (uint32_t i = 0; i < w->n_cells; i++) {
            struct trial t;

            if (!best.cells[i].opened || is_open(w, &cells[i]))
                continue;
            if (w->steps == 0)
                return best;
            cells[i].closed = true;
            t = run(w, cells, host);
            cells[i].closed = false;
            if (better(&t, &best)) {
                best = t;
                which = i;
                break;
            }
        }
        if (which < CELLS_MAX) {
            cells[which].closed = true;
            any = true;
        }
    }
    return best;
}

static struct trial run_well(struct work *w, const struct cell *from, bool host)
{
    struct trial best = run_less(w, from, host), t;

    if (host || best.placed == w->n || !w->n_buys || best.put_off)
        return best;
    w->ahead = true;
    t = run_less(w, from, host);
    w->ahead = false;
    return better(&t, &best) ? t : best;
}

static bool has_together(const struct topo_group *g)
{
    for (uint32_t i = 0; i < g->n_rules; i++)
        if (g->rules[i].kind == TOPO_TOGETHER && g->rules[i].key != ON_HOST)
            return true;
    return false;
}

/* Each domain in turn, when they must lie in one. */
static struct trial run_all(struct work *w, bool host)
{
    struct cell *from = w->cells;
    struct trial best = {0};
    bool any = false;

    if (!has_together(w->g))
        return run_well(w, from, host);
    for (uint32_t i = 0; i < w->n_cells; i++) {
        struct trial t;

        if (any && !spend(w, w->n_cells))
            break;
        for (uint32_t k = 0; k < w->n_cells; k++)
            w->barred[k] = !alike(w->g, from[i].values, from[k].values, true);
        t = run_well(w, from, host);
        if (!any || better(&t, &best))
            best = t;
        any = true;
    }
    return best;
}

/* Later groups find them there. */
static void counts_keep(struct work *w, const struct trial *t)
{
    for (uint32_t i = 0; i < w->f->topology->n_terms; i++) {
        uint32_t key = w->f->topology->terms[i].key;
        bool known = false;

        for (uint32_t r = 0; r < w->g->n_rules && key != ON_HOST; r++)
            known = known ||
                    (is_by_cell(&w->g->rules[r]) && w->g->rules[r].key == key);
        for (uint32_t c = 0; c < t->n_cells && known; c++)
            if (w->g->meant >> i & 1 && t->cells[c].values[key] != NO_VALUE)
                w->f->counts[i][t->cells[c].values[key]] += t->cells[c].placed;
    }
}

struct trial trial_run(struct topo_fit *f, const struct topo_group *g,
                       const struct snap_bundle *b, bool host)
{
    struct arena *a = f->arena;
    uint64_t share = f->steps / (f->n_groups ? f->n_groups : 1);
    struct work w = {.f = f, .g = g, .n = b->count, .steps = share};
    struct trial t = {.put_off = true};

    w.cells = ARENA_ARRAY(a, struct cell, CELLS_MAX);
    w.buys = ARENA_ARRAY(a, struct buy, f->places.n);
    w.most = ARENA_ARRAY(a, uint32_t, CELLS_MAX);
    w.most_price = ARENA_ARRAY(a, int64_t, CELLS_MAX);
    w.barred = ARENA_ARRAY(a, bool, CELLS_MAX);
    w.counts = ARENA_ARRAY(a, uint32_t *, g->n_rules);
    w.domain = ARENA_ARRAY(a, bool *, g->n_rules);
    w.least = ARENA_ARRAY(a, struct least, g->n_rules);
    w.left = ARENA_ARRAY(a, uint32_t, f->n_types);
    if (places_sort(&w, b)) {
        t = run_all(&w, host);
        counts_keep(&w, &t);
    }
    f->steps -= share - w.steps;
    f->n_groups -= f->n_groups > 0;
    return t;
}
