/*
 * terminate.c - exactly the machines that were named.
 *
 * With the target lowered in the same call, or the group would replace them.
 * An instance that is on its way out already is left alone: to ask again would
 * lower the target again, and cost somebody else's machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"

#define BATCH 100

struct ending {
    struct op op;
    const char *const *ids;
    int *status; /* -1: not known yet */
    size_t n;
};

static struct instance *find(struct group *g, const char *id)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->v[i].id, id) == 0)
            return &g->v[i];
    return NULL;
}

static bool slot_parse(const struct eks *e, const char *id, char hash[17],
                       size_t *ret_pool)
{
    unsigned k;
    return sscanf(id, SLOT_PREFIX "%16[0-9a-f]:%zu:%u", hash, ret_pool, &k) ==
               3 &&
           *ret_pool < e->n_pools;
}

static void form_end(struct kit_str *f, const struct group *g,
                     const char *const *ids, size_t n)
{
    aws_form_begin(f, AWS_AUTOSCALING, "TerminateInstanceInAutoScalingGroup");
    if (n == 1) {
        kit_str_param(f, "InstanceId", ids[0]);
    } else {
        kit_str_param(f, "AutoScalingGroupName", g->name);
        for (size_t i = 0; i < n; i++)
            aws_form_nth(f, "InstanceIds.member.", i + 1, ids[i]);
    }
    kit_str_param(f, "ShouldDecrementDesiredCapacity", "true");
}

static int end_some(struct op *op, struct group *g, const char *const *ids,
                    size_t n)
{
    struct kit_str f = {0};
    form_end(&f, g, ids, n);
    int st = aws_do(&op->a, AWS_AUTOSCALING, &f);
    kit_str_done(&f);
    return st;
}

/* Several in one call; where that is refused, and nothing has ended by it, one
 * by one. */
static int end_batch(struct ending *en, struct group *g, const size_t *at,
                     size_t n)
{
    const char *ids[BATCH];
    for (size_t i = 0; i < n; i++)
        ids[i] = en->ids[at[i]];
    int st = end_some(&en->op, g, ids, n);
    if (n == 1 || (st != DAVIT_INVALID && st != DAVIT_NOT_FOUND)) {
        for (size_t i = 0; i < n; i++)
            en->status[at[i]] = st;
        return st;
    }
    int worst = DAVIT_OK;
    for (size_t i = 0; i < n; i++) {
        st = en->status[at[i]] = end_some(&en->op, g, &ids[i], 1);
        if (st != DAVIT_OK && st != DAVIT_NOT_FOUND)
            worst = st;
        if (st == DAVIT_THROTTLED || st == DAVIT_AUTH || st == DAVIT_CANCELLED)
            break; /* the rest takes what is returned */
    }
    return worst;
}

/* A lifecycle hook failed and the group keeps the instance: it has a replacement
 * by now, and "charges apply until you manually terminate" it
 * (docs.aws.amazon.com/autoscaling/ec2/userguide/manage-retained-instances.html). */
static int retained_end(struct op *op, const char *id)
{
    struct kit_str f = {0};
    aws_form_begin(&f, AWS_EC2, "TerminateInstances");
    aws_form_nth(&f, "InstanceId.", 1, id);
    int st = aws_do(&op->a, AWS_EC2, &f);
    kit_str_done(&f);
    return st;
}

static int below_min(struct ending *en, const struct group *g, size_t i)
{
    en->status[i] = DAVIT_INVALID;
    return kit_error(en->op.a.error, DAVIT_INVALID, "MinSize",
                     "node group %.60s has a MinSize of %u, so %.40s cannot "
                     "end: lower its minimum",
                     en->op.e->pools[g->pool].name, g->min, en->ids[i]);
}

static int instances_end(struct ending *en, struct group *g)
{
    size_t at[BATCH], n = 0;
    uint32_t target = g->desired;
    int worst = DAVIT_OK, st;
    for (size_t i = 0; i <= en->n; i++) {
        if (n == BATCH || (i == en->n && n > 0)) {
            st = end_batch(en, g, at, n);
            n = 0;
            if (st != DAVIT_OK)
                worst = st;
            if (st == DAVIT_THROTTLED || st == DAVIT_AUTH ||
                st == DAVIT_CANCELLED || st == DAVIT_RETRY)
                return st;
        }
        if (i == en->n || en->status[i] >= 0)
            continue;
        const struct instance *m = find(g, en->ids[i]);
        if (!m || !m->in_group)
            continue;
        if (m->life == LIFE_RETAINED) {
            st = en->status[i] = retained_end(&en->op, m->id);
            worst = st == DAVIT_OK || st == DAVIT_NOT_FOUND ? worst : st;
        } else if (m->life == LIFE_STOPPING ||
                   strncmp(m->stage, "Terminating", 11) == 0) {
            en->status[i] = DAVIT_OK;
        } else if (target <= g->min) {
            worst = below_min(en, g, i);
        } else {
            bool twice = false;
            for (size_t k = 0; k < n; k++)
                twice = twice || strcmp(en->ids[at[k]], en->ids[i]) == 0;
            if (!twice) {
                at[n++] = i;
                target--;
            }
        }
    }
    return worst;
}

/* A slot that failed is ended: the request is settled, and the target is what
 * the rest needs. */
static int slots_end(struct ending *en, struct group *g)
{
    struct eks *e = en->op.e;
    bool any = false;
    for (size_t i = 0; i < en->n; i++) {
        char hash[17];
        size_t pool;
        if (!slot_parse(e, en->ids[i], hash, &pool) || pool != g->pool)
            continue;
        struct record *r = ledger_find(g, hash);
        if (!r || r->status == DAVIT_OK) {
            en->status[i] = DAVIT_NOT_FOUND;
            continue;
        }
        r->changed = r->changed || !r->settled;
        r->settled = true;
        any = true;
    }
    if (!any)
        return DAVIT_OK;
    int st = DAVIT_OK;
    if (g->desired > ledger_needed(g))
        st = group_target(&en->op, g, ledger_needed(g));
    if (st == DAVIT_OK)
        st = ledger_save(&en->op, g);
    for (size_t i = 0; i < en->n; i++) {
        char hash[17];
        size_t pool;
        if (en->status[i] < 0 && slot_parse(e, en->ids[i], hash, &pool) &&
            pool == g->pool)
            en->status[i] = st;
    }
    return st;
}

/* A minimum is judged for each machine. */
static bool may_end(const struct group *g)
{
    return g->held[0] == '\0' || strcmp(g->held_code, "MinSize") == 0;
}

static int held(struct ending *en, struct group *g)
{
    int st = kit_error(en->op.a.error, DAVIT_RETRY, g->held_code, "%s",
                       g->held);
    for (size_t i = 0; i < en->n; i++) {
        const struct instance *m = find(g, en->ids[i]);
        if (en->status[i] < 0 && m && m->in_group)
            en->status[i] = m->life == LIFE_STOPPING ? DAVIT_OK : st;
    }
    return st;
}

/* What the instances were for is in the ledger before they are gone, or their
 * request would seem to wait again. */
static int group_end(struct ending *en, size_t pool, const char *name)
{
    struct view v = {0};
    char group[sizeof((struct group *)0)->name];
    if (!pool_lock(&en->op, name))
        return out_of_time(&en->op);
    /* An update may have begun since it was looked at. */
    int st = pool_resolve(&en->op, pool, true, group, sizeof group);
    if (st == DAVIT_OK)
        st = view_read(&en->op, &pool, 1, true, &v);
    struct group *g = v.groups;
    if (st == DAVIT_OK && g->found && !may_end(g)) {
        st = held(en, g);
    } else if (st == DAVIT_OK && g->found) {
        /* A group that no type has may be somebody else's by now. */
        if (pool < en->op.e->n_typed)
            st = ledger_assign(&en->op, g);
        if (st == DAVIT_OK)
            st = slots_end(en, g);
        if (st == DAVIT_OK)
            st = instances_end(en, g);
    }
    view_free(&v);
    pool_unlock(name);
    return st;
}

static bool group_has(const struct ending *en, struct group *g)
{
    for (size_t i = 0; i < en->n; i++) {
        char hash[17];
        size_t pool;
        if (en->status[i] >= 0)
            continue;
        const struct instance *m = find(g, en->ids[i]);
        if ((m && m->in_group) ||
            (slot_parse(en->op.e, en->ids[i], hash, &pool) && pool == g->pool))
            return true;
    }
    return false;
}

int eks_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *error)
{
    struct eks *e = self;
    struct ending en = {.op = op_begin(e, call, error), .ids = ids, .n = n_ids};
    size_t *pools = kit_zeroed(e->n_pools + 1, sizeof *pools);
    struct view v;
    en.status = kit_zeroed(n_ids + 1, sizeof *en.status);
    for (size_t i = 0; i < e->n_pools; i++)
        pools[i] = i;
    for (size_t i = 0; i < n_ids; i++)
        en.status[i] = -1;
    int worst = DAVIT_OK, st = view_read(&en.op, pools, e->n_pools, false, &v);
    bool looked = st == DAVIT_OK;
    for (size_t i = 0; looked && i < v.n_groups; i++) {
        if (!v.groups[i].found || !group_has(&en, &v.groups[i]))
            continue;
        st = group_end(&en, v.groups[i].pool, v.groups[i].name);
        if (st != DAVIT_OK)
            worst = st;
    }
    if (!looked)
        worst = st;
    for (size_t i = 0; i < n_ids; i++) {
        if (en.status[i] < 0 && worst == DAVIT_OK)
            en.status[i] = DAVIT_NOT_FOUND; /* in none of our groups */
        if (en.status[i] >= 0)
            done(sink, ids[i], en.status[i]);
    }
    view_free(&v);
    free(pools);
    free(en.status);
    return worst;
}
