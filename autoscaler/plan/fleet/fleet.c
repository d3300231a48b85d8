/*
 * fleet.c - see fleet.h.
 *
 * Duals come from anywhere: from the covers that were bought, from prices of
 * resources, from a linear program of the fleet.  What they prove is the bound.
 */
#include "fleet.h"

#include "../limits.h"
#include "../memory.h"
#include "program.h"

/* The part of the plan's budget that is spent on the bound, */
#define PART 4
/* none with fewer steps for an item, and no more than so many, which grow with
 * the square. */
#define STEPS_LEAST UINT64_C(4000)
#define STEPS_SHAPE (COVER_STEPS_PER_MS / 4)
/* Worths are told in billionths. */
#define NANOS 1000
#define NANOS_ONE 1e9

static uint64_t steps_of(const struct fleet_program *f, uint64_t budget)
{
    uint64_t n = f->p.n_items, enough = STEPS_SHAPE * (n + 4) * (n + 4);

    budget /= PART;
    if (n == 0 || budget / n < STEPS_LEAST)
        return 0;
    return budget < enough ? budget : enough;
}

static double gang_worth(const struct candidate *d, const double *worth,
                         uint32_t gang)
{
    const struct gang *g = &d->t->gangs[gang];
    double sum = 0;

    for (uint32_t i = g->first_group; i < g->first_group + g->n_groups; i++)
        sum += worth[tables_shape(d->t, i, 0)] * d->t->groups[i].count;
    return sum;
}

/* What the covers of the candidate found the items to be worth; NULL: nothing. */
static const double *hint_of(const struct candidate *d,
                             const struct fleet_program *f)
{
    double *hint;

    if (!d->worth)
        return NULL;
    hint = ARENA_ARRAY(d->arena, double, f->p.n_items);
    for (uint32_t i = 0; i < f->p.n_items; i++) {
        const double *worth = d->worth + f->side[i] * d->t->s->n_shapes;

        hint[i] = f->stand[i].whole ? gang_worth(d, worth, f->stand[i].gang)
                                    : worth[f->shape[i]];
    }
    return hint;
}

static int64_t nanos(const struct cover_proof *proof, uint32_t item)
{
    return proof->worth ? (int64_t)(proof->worth[item] * NANOS) : 0;
}

static struct plan_least least_of(const struct candidate *d, uint32_t n_items,
                                  const struct cover_least *least)
{
    struct plan_share *v = ARENA_ARRAY(d->arena, struct plan_share, n_items);
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_items; i++) {
        int64_t share = (int64_t)(least->share[i] * NANOS_ONE);

        if (share > 0)
            v[n++] = (struct plan_share){i, share};
    }
    return (struct plan_least){least->bins, (int64_t)(least->worth * NANOS), v,
                               n};
}

static struct plan_proof rest_of(const struct candidate *d, uint32_t n_items,
                                 const struct cover_proof *proof)
{
    struct plan_least *least = ARENA_ARRAY(d->arena, struct plan_least,
                                           proof->n_least);
    uint32_t n = 0;

    for (uint32_t k = 0; k < proof->n_least; k++)
        if (proof->least[k].worth * NANOS >= 1)
            least[n++] = least_of(d, n_items, &proof->least[k]);
    return (struct plan_proof){proof->money, proof->unit > 0 ? proof->unit : 1,
                               least, n};
}

static void proofs_write(const struct candidate *d,
                         const struct fleet_program *f,
                         const struct cover_proof *fleet,
                         const struct cover_proof *launches, struct plan *plan)
{
    struct plan_worth *v = ARENA_ARRAY(d->arena, struct plan_worth,
                                       f->p.n_items);

    for (uint32_t i = 0; i < f->p.n_items; i++)
        v[i] = (struct plan_worth){
            .shape = f->shape[i],
            .request = f->side[i] == SIDE_TOTAL,
            .count = f->p.items[i].count,
            .together = f->stand[i].whole,
            .demands = f->stand[i].demands,
            .n_demands = f->stand[i].n,
            .nanos = nanos(fleet, i),
            .launch_nanos = nanos(launches, i),
        };
    plan->worths = v;
    plan->n_worths = f->p.n_items;
    plan->fleet_proof = rest_of(d, f->p.n_items, fleet);
    plan->launch_proof = rest_of(d, f->p.n_items, launches);
}

/* The fleet when all nodes that are there cost nothing; no mins are needed. */
static struct cover_problem launches_problem(const struct candidate *d,
                                             const struct fleet_program *f)
{
    struct cover_bin *bins = arena_copy(d->arena, f->p.bins,
                                        f->p.n_bins * sizeof *bins);
    struct cover_problem p = f->p;

    for (uint32_t b = 0; b < p.n_bins; b++)
        if (f->optional[b])
            bins[b].price = 0;
        else if (f->is_min[b])
            bins[b].max = 0;
    p.bins = bins;
    p.max_cost = -1;
    return p;
}

/* A bound that holds, and why. */
struct found {
    int64_t bound;
    struct cover_proof proof;
};

static void found_try(struct found *best, int64_t bound,
                      const struct cover_proof *proof)
{
    if (bound > best->bound)
        *best = (struct found){bound, *proof};
}

static struct found launches_bound(const struct candidate *best,
                                   const struct fleet_program *f,
                                   const struct found *fleet, uint64_t steps,
                                   struct plan *plan)
{
    const int64_t all = f->paid + fleet->bound;
    struct cover_proof proof = {0};
    /* Mins are bought in any case. */
    struct found launches = {best->min_cost, proof};

    found_try(&launches, all - f->there, &fleet->proof);
    if (launches.bound < best->bought_cost && f->any_optional) {
        struct cover_problem p = launches_problem(best, f);
        int64_t bound = memory_bound(best->t->memory, &p, 0, fleet->proof.worth,
                                     best->bought_cost, steps, best->arena,
                                     &plan->work, &proof);

        found_try(&launches, bound, &proof);
    }
    if (launches.bound > best->bought_cost)
        launches.bound = best->bought_cost;
    return launches;
}

/* Is the bound of the candidate's only cover one for the fleet?  It was all that
 * is bought, for all there is, and within no more limits than a fleet's. */
static bool same_problem(const struct candidate *best,
                         const struct fleet_program *f)
{
    const struct problem *s = best->t->s;

    return best->n_covers == 1 && best->n_single == 0 && best->min_cost == 0 &&
           best->bound >= 0 && f->empty && !f->strict && s->n_queues == 0 &&
           s->limits.policy != POLICY_PRIORITY &&
           s->limits.max_cost_micros_hour < 0; /* nor by what money buys */
}

/* The bound of the candidate's only cover. */
static struct found found_bought(const struct candidate *best,
                                 const struct fleet_program *f,
                                 const double *hint)
{
    uint32_t *from = ARENA_ARRAY(best->arena, uint32_t, f->p.n_items);
    struct found ret = {.bound = best->bound};

    for (uint32_t i = 0; i < f->p.n_items; i++)
        from[i] = f->side[i] * best->t->s->n_shapes + f->shape[i];
    ret.proof = cover_proof_map(&best->proof, from, f->p.n_items, best->arena);
    if (hint)
        ret.proof.worth = hint;
    return ret;
}

/* Of nodes that the plan keeps and has no use for. */
static int64_t idle_cost(const struct problem *s, const struct plan *plan)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct plan_node *x = &plan->nodes[i];
        const struct pb_node *n = &s->nodes[i];

        if (x->action == NODE_KEEP && n->price_micros_hour > 0 &&
            n->state != STATE_DRAINING && limits_counts(n) &&
            (x->why == REASON_KEEP_IDLE_WAIT || x->why == REASON_KEEP_STARTING))
            sum = amount_add(sum, n->price_micros_hour);
    }
    return sum;
}

void fleet_bound(const struct candidate *best, const struct candidate *base,
                 uint64_t budget, struct plan *plan)
{
    struct found fleet = {0}, launches;
    struct cover_proof proof = {0};
    struct fleet_program f;
    const double *hint;
    uint64_t steps;
    int64_t bound;

    fleet_program_make(best, base, plan, &f);
    hint = hint_of(best, &f);
    steps = steps_of(&f, budget);
    if (same_problem(best, &f))
        fleet = found_bought(best, &f, hint);
    if (f.cost > f.paid + fleet.bound) {
        bound = memory_bound(best->t->memory, &f.p, 0, hint, f.cost - f.paid,
                             steps, best->arena, &plan->work, &proof);
        found_try(&fleet, bound, &proof);
    }
    if (fleet.bound > f.cost - f.paid)
        fleet.bound = f.cost - f.paid;
    launches = launches_bound(best, &f, &fleet, steps / 2, plan);
    proofs_write(best, &f, &fleet.proof, &launches.proof, plan);
    plan->bound_micros_hour = launches.bound > 0 ? launches.bound : 0;
    plan->fleet_cost_micros_hour = f.cost;
    plan->fleet_bound_micros_hour = f.paid + fleet.bound;
    plan->fleet_paid_micros_hour = f.paid;
    plan->fleet_idle_micros_hour = idle_cost(best->t->s, plan);
    if (plan->fleet_idle_micros_hour > f.cost - f.paid - fleet.bound)
        plan->fleet_idle_micros_hour = f.cost - f.paid - fleet.bound;
}
