/*
 * plan_text.c - see plan_text.h.
 */
#include "plan_text.h"

#include "../../api/view.h"
#include "text.h"

enum { LISTED_MAX = 100 };
#define GAP_TELLS 0.25 /* a weaker bound says nothing about the plan */

static void launches_print(struct view *v, FILE *out)
{
    const struct problem *s = v->s;

    for (uint32_t i = 0; i < v->plan->n_launches; i++) {
        const struct plan_launch *l = &v->plan->launches[i];
        const struct pb_offer *o = &s->offers[l->offer];
        double price = (double)o->price_micros_hour * l->count / 1e6;

        fprintf(out, "launch  %5u  %-24s %-12s %-10s %10s/h  %s%s%s\n",
                l->count, s->str[s->types[o->type].name], s->str[o->zone],
                o->spot ? "spot" : "on-demand", dollars(&v->arena, price),
                reason_code(l->why), l->demand < s->n_demands ? " of " : "",
                l->demand < s->n_demands ? s->str[s->demands[l->demand].owner]
                                         : "");
    }
}

static void nodes_print(struct view *v, FILE *out)
{
    for (uint32_t i = 0; i < v->s->n_nodes; i++) {
        const struct plan_node *n = &v->plan->nodes[i];

        if (n->action != NODE_KEEP)
            fprintf(out, "%-7s        %-36s %s: %s\n",
                    n->action == NODE_END ? "end" : "undrain",
                    v->s->str[v->s->nodes[i].id], reason_code(n->why),
                    view_why_text(v, v->s->nodes[i].from));
    }
}

/* Each kind of bundle that has no place, and what is in its way. */
static void refusals_print(struct view *v, FILE *out)
{
    uint32_t listed = 0, more = 0;

    for (uint32_t i = 0; i < v->s->n_bundles; i++) {
        const struct plan_bundle *p = &v->plan->bundles[i];
        const struct pb_demand *d = &v->s->demands[v->s->bundles[i].demand];

        if (!p->waiting && !p->infeasible)
            continue;
        if (listed++ < LISTED_MAX)
            fprintf(out, "%s  %s: %s\n",
                    p->infeasible ? "infeasible" : "waiting",
                    v->s->str[d->owner], view_unplaced_text(v, i));
        else
            more++;
    }
    if (more)
        fprintf(out, "and %u kinds of bundles more: --json has all\n", more);
}

static void sums_print(struct view *v, FILE *out)
{
    uint64_t waiting = 0, infeasible = 0;

    for (uint32_t i = 0; i < v->s->n_bundles; i++) {
        waiting += v->plan->bundles[i].waiting;
        infeasible += v->plan->bundles[i].infeasible;
    }
    fprintf(out,
            "%u to launch for %s/h, %u to end, %llu bundles waiting, %llu "
            "infeasible\n",
            v->plan->n_launched,
            dollars(&v->arena, (double)v->plan->cost_micros_hour / 1e6),
            v->plan->n_ended, (unsigned long long)waiting,
            (unsigned long long)infeasible);
}

/* The bound is a proof, not a wish: far below the cost it shows nothing. */
static void fleet_print(struct view *v, FILE *out)
{
    double cost = (double)v->plan->fleet_cost_micros_hour / 1e6;
    double bound = (double)v->plan->fleet_bound_micros_hour / 1e6;
    double idle = (double)v->plan->fleet_idle_micros_hour / 1e6;
    double gap = bound > 0 ? (cost - idle - bound) / bound : 1;

    fprintf(out, "this fleet costs %s/h", dollars(&v->arena, cost));
    if (idle > 0)
        fprintf(out, ", %s of it idle nodes", dollars(&v->arena, idle));
    if (cost > 0 && gap < 0.00005)
        fputs(idle > 0 ? "; without them no fleet could do it for less"
                       : "; no fleet could do it for less",
              out);
    else if (cost > 0 && gap <= GAP_TELLS)
        fprintf(out, "; no fleet could do it under %s/h: gap %.2f %%",
                dollars(&v->arena, bound), gap * 100);
    fputc('\n', out);
}

void plan_text_print(const struct snapshot *snapshot, const struct problem *s,
                     const struct plan *p, FILE *out)
{
    struct view v;

    view_open_plan(&v, snapshot, s, p);
    launches_print(&v, out);
    nodes_print(&v, out);
    refusals_print(&v, out);
    sums_print(&v, out);
    fleet_print(&v, out);
    view_done(&v);
}
