/*
 * eks.c - the table of the EKS plug-in, and list.
 *
 * list() is where things come to rest: what came is tagged with the request it
 * came for, what will not come is listed as failed and the target lowered.  It
 * takes a group's lock only when there is something of that to do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eks.h"

struct op op_begin(struct eks *e, struct davit_call *call,
                   struct davit_error *error)
{
    return (struct op){.a = aws_op_begin(&e->aws, call, error), .e = e};
}

static bool needs_work(const struct op *op, const struct group *g)
{
    struct count c = ledger_count(g);
    if (!g->found || !g->units)
        return false;
    if (g->pool >= op->e->n_typed)
        return c.open > 0; /* what else it holds may be another's */
    if (c.loose > 0)
        return true;
    for (size_t i = 0; i < g->n_records; i++)
        if (g->records[i].changed)
            return true; /* somebody took it from the tags */
    if (g->closed_as != DAVIT_OK)
        return false; /* its target is not ours now */
    if (c.open > 0 || g->desired > ledger_needed(g))
        return true;
    for (size_t i = 0; op->e->protect && i < g->n; i++)
        if (g->v[i].ours && g->v[i].in_group && !g->v[i].protected &&
            strcmp(g->v[i].stage, "InService") == 0)
            return true;
    return false;
}

/* Protection is a help, not a need: without the right to it all goes on. */
static void protect(struct op *op, struct group *g)
{
    struct davit_error why = {.size = sizeof why};
    struct davit_error *said = op->a.error;
    op->a.error = &why;
    if (op->e->protect && group_protect(op, g) != DAVIT_OK) {
        char line[300];
        snprintf(line, sizeof line,
                 "%.60s: instances are not protected from the group's own "
                 "scale-in: %.150s",
                 op->e->pools[g->pool].name, why.text);
        op->e->aws.host->log(2, line);
    }
    op->a.error = said;
}

static int group_work(struct op *op, size_t pool, const char *name,
                      struct view *v)
{
    if (!pool_lock(op, name))
        return out_of_time(op);
    int st = view_read(op, &pool, 1, true, v);
    struct group *g = &v->groups[0];
    if (st == DAVIT_OK && g->found) {
        st = ledger_assign(op, g);
        if (st == DAVIT_OK && g->closed_as == DAVIT_OK) {
            st = failure_judge(op, g);
            if (st == DAVIT_OK)
                protect(op, g);
        }
    }
    pool_unlock(name);
    return st;
}

static int pools_list(struct op *op, size_t from, size_t to,
                      struct davit_sink *sink, davit_put_machine *put)
{
    size_t *pools = kit_zeroed(to - from + 1, sizeof *pools);
    struct view v;
    for (size_t i = from; i < to; i++)
        pools[i - from] = i;
    int st = view_read(op, pools, to - from, true, &v);
    for (size_t i = 0; st == DAVIT_OK && i < v.n_groups; i++) {
        struct group *g = &v.groups[i];
        if (!needs_work(op, g)) {
            st = g->pool < op->e->n_typed ? group_sure(op, g) : DAVIT_OK;
            group_put(op, g, NULL, sink, put);
            continue;
        }
        struct view now = {0};
        st = group_work(op, g->pool, g->name, &now);
        if (st == DAVIT_OK)
            st = group_sure(op, &now.groups[0]);
        if (st == DAVIT_OK)
            group_put(op, &now.groups[0], NULL, sink, put);
        view_free(&now);
    }
    view_free(&v);
    free(pools);
    return st;
}

/* To take a type out of the configuration must not leave its machines to
 * nobody: a handle's first good list looks for groups that have some. */
static int left_find(struct op *op)
{
    struct eks *e = op->e;
    pthread_mutex_lock(&e->lock);
    bool known = e->left_known;
    pthread_mutex_unlock(&e->lock);
    int st = known ? DAVIT_OK : view_seek(op);
    pthread_mutex_lock(&e->lock);
    e->left_known = st == DAVIT_OK;
    pthread_mutex_unlock(&e->lock);
    return st;
}

static int eks_list(void *self, struct davit_call *call,
                    struct davit_sink *sink, davit_put_machine *put,
                    struct davit_error *error)
{
    struct eks *e = self;
    struct op op = op_begin(e, call, error);
    int st = pools_list(&op, 0, e->n_typed, sink, put);
    if (st == DAVIT_OK)
        st = left_find(&op);
    if (st == DAVIT_OK && e->n_pools > e->n_typed)
        st = pools_list(&op, e->n_typed, e->n_pools, sink, put);
    return st;
}

static void eks_close(void *self)
{
    struct eks *e = self;
    for (size_t i = 0; e->pools && i < e->n_pools; i++)
        free(e->pools[i].known);
    kit_keep_done(&e->keep);
    aws_done(&e->aws);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static int eks_open(const struct davit_host *host,
                    const struct davit_setup *setup, void **ret,
                    struct davit_error *error)
{
    struct eks *e = kit_zeroed(1, sizeof *e);
    aws_init(&e->aws, host);
    pthread_mutex_init(&e->lock, NULL);
    int st = options_read(e, setup, error);
    if (st == DAVIT_OK)
        *ret = e;
    else
        eks_close(e);
    return st;
}

static int eks_find(void *self, struct davit_call *call, const char *const *ids,
                    size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                    struct davit_error *error)
{
    struct op op = op_begin(self, call, error);
    return aws_instances_find(&op.a, ids, n_ids, sink, done);
}

static const char *const places[] = {"cluster", "region", NULL};

static struct davit_provider table = {.size = sizeof table,
                                      .name = "eks",
                                      .version = "1",
                                      .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT,
                                      .open = eks_open,
                                      .close = eks_close,
                                      .list = eks_list,
                                      .launch = eks_launch,
                                      .terminate = eks_terminate,
                                      .offers = eks_offers,
                                      .places = places,
                                      .launch_most = LAUNCH_MAX,
                                      .find = eks_find};

const struct davit_provider *davit_provider_v1(void)
{
    table.options = kit_options_help(eks_options);
    return &table;
}
