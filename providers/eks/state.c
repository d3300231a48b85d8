/*
 * state.c - may we launch in a group now, and may we end there?
 *
 * While EKS updates a node group it moves its machines itself and sets the
 * group's target and maximum: a target changed meanwhile breaks the update, or
 * ends machines past their disruption budgets (kubernetes/autoscaler issue
 * 4244, aws/containers-roadmap issues 916 and 2609).  Somebody may have
 * suspended what we need, a minimum of the group's own keeps its last machines,
 * and a group that counts in other units than instances is not ours to count.
 */
#include <stdio.h>
#include <string.h>

#include "eks.h"

static void close_as(struct group *g, int status, const char *code,
                     const char *pool, const char *why)
{
    g->closed_as = status;
    snprintf(g->closed_code, sizeof g->closed_code, "%s", code);
    snprintf(g->closed, sizeof g->closed, "node group %.60s %s", pool, why);
}

static void hold(struct group *g, const char *code, const char *pool,
                 const char *why)
{
    snprintf(g->held_code, sizeof g->held_code, "%s", code);
    snprintf(g->held, sizeof g->held, "node group %.60s %s", pool, why);
}

void group_state(struct op *op, struct group *g)
{
    struct eks *e = op->e;
    struct eks_pool *p = &e->pools[g->pool];
    char why[80];
    pthread_mutex_lock(&e->lock);
    bool updating = strcmp(p->status, "UPDATING") == 0;
    pthread_mutex_unlock(&e->lock);
    g->closed_as = DAVIT_OK;
    g->closed[0] = g->held[0] = g->held_code[0] = '\0';
    if (!g->units) {
        static const char units[] = "counts in weights, vCPUs or memory, not "
                                    "in instances";
        close_as(g, DAVIT_INVALID, "Weighted", p->name, units);
        hold(g, "Weighted", p->name, units);
    } else if (updating) {
        close_as(g, DAVIT_STOCKOUT, "Maintenance", p->name,
                 "is being updated by EKS (UPDATING)");
        hold(g, "Maintenance", p->name, "is being updated by EKS (UPDATING)");
    } else if (g->no_launch) {
        close_as(g, DAVIT_STOCKOUT, "Suspended", p->name,
                 "has its process Launch suspended");
    }
    if (g->held[0] != '\0')
        return;
    snprintf(why, sizeof why, "is at its MinSize of %u", g->min);
    if (g->no_end)
        hold(g, "Suspended", p->name, "has its process Terminate suspended");
    else if (g->min > 0 && g->desired <= g->min)
        hold(g, "MinSize", p->name, why);
}

int group_closed(struct op *op, const struct group *g)
{
    return g->closed_as == DAVIT_OK
               ? DAVIT_OK
               : kit_error(op->a.error, (enum davit_status)g->closed_as,
                           g->closed_code, "%s", g->closed);
}
