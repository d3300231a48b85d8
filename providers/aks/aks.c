/*
 * aks.c - the AKS plug-in: its table, list and launch; terminate is in end.c.
 *
 * A node type is one agent pool, or one pool per zone.  Pools know a count
 * only; what else must survive a lost reply or our own end is in their tags
 * (ledger.c).  list() shows a raise that failed as machines that failed,
 * and ending those brings the target down again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"

#define LAUNCH_MAX 1000
#define TRIES_MAX 100

/* ---- list */

/* The zone as the configuration writes it ("1" or "westeurope-1"). */
static const char *zone_shown(const struct aks_site *site, const char *zone)
{
    size_t n = strlen(site->zone), m = strlen(zone);
    bool same = m > 0 && n >= m && strcmp(site->zone + n - m, zone) == 0 &&
                (n == m || site->zone[n - m - 1] == '-');
    return same ? site->zone : zone;
}

static void vm_put(const struct pool *p, const struct vm *v,
                   const struct aks_type *t, const struct aks_site *site,
                   struct davit_sink *sink, davit_put_machine *put)
{
    struct davit_machine m = {.size = sizeof m,
                              .id = v->name,
                              .offer = t->name,
                              .request_id = v->record ? v->record->id : "",
                              .zone = zone_shown(site, v->zone),
                              .address = v->address,
                              .spot = p->spot,
                              .phase = DAVIT_RUNNING};
    char work[100] = "";
    if (p->maintained && !v->stopping)
        pool_work(p, work, sizeof work);
    m.held = work;
    if (v->stopping) {
        m.phase = DAVIT_STOPPING;
    } else if (v->ghost) {
        m.phase = DAVIT_FAILED;
        m.failure = (uint32_t)p->why;
        m.detail = p->failure.text;
    } else if (p->busy && v->record && v->record->to == TO_OPEN) {
        m.phase = DAVIT_STARTING;
        m.detail = p->state;
    }
    put(sink, &m);
}

/* Those of one request, or all (request NULL). */
static void pool_list(struct pool *p, const struct aks_type *t,
                      const struct aks_site *site, const char *request,
                      struct davit_sink *sink, davit_put_machine *put)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct vm *v = &p->v[i];
        if (!request || (v->record && strcmp(v->record->id, request) == 0))
            vm_put(p, v, t, site, sink, put);
    }
    const struct record *r = pool_open_record(p);
    for (uint32_t i = 0; i < p->missing; i++) {
        char id[64];
        missing_name(p, i, id, sizeof id);
        if (!request || strcmp(r->id, request) == 0)
            put(sink,
                &(struct davit_machine){.size = sizeof(struct davit_machine),
                                        .id = id,
                                        .request_id = r->id,
                                        .offer = t->name,
                                        .zone = site->zone,
                                        .address = "",
                                        .spot = p->spot,
                                        .phase = DAVIT_FAILED,
                                        .failure = (uint32_t)p->why,
                                        .detail = p->failure.text});
    }
}

static void pool_absent(struct op *op, const struct aks_site *site)
{
    pthread_mutex_lock(&op->aks->lock);
    bool told = memory_of(op->aks, site->pool)->told_missing;
    memory_of(op->aks, site->pool)->told_missing = true;
    pthread_mutex_unlock(&op->aks->lock);
    char line[160];
    snprintf(line, sizeof line, "cluster %.60s has no agent pool \"%.20s\"",
             op->aks->name, site->pool);
    if (!told)
        op->aks->host->log(1, line);
}

static int site_list(struct op *op, const json_t *pools,
                     const struct aks_type *t, const struct aks_site *site,
                     struct davit_sink *sink, davit_put_machine *put)
{
    const json_t *doc = pool_named(pools, site->pool);
    struct pool p;
    if (!doc) {
        pool_absent(op, site);
        return DAVIT_OK;
    }
    pool_take(doc, &p);
    ledger_recall(op, &p);
    if (p.count == 0 && !p.busy && !p.failed)
        return DAVIT_OK;
    int st = pool_machines(op, &p, true);
    if (st == DAVIT_OK)
        pool_list(&p, t, site, NULL, sink, put);
    pool_done(&p);
    return st;
}

/* A pool of ours that no node type has any more: who takes a type out of the
 * configuration must not leave its machines to nobody.  Only those that were
 * launched from here: the pool may have been given to somebody else. */
static int left_list(struct op *op, const json_t *doc, struct davit_sink *sink,
                     davit_put_machine *put)
{
    const struct aks_site nowhere = {.zone = "", .pool = ""};
    struct pool p;
    pool_take(doc, &p);
    if (p.ledger.n == 0 || (p.count == 0 && !p.busy && !p.failed) ||
        strcmp(ledger_owner(json_object_get(p.props, "tags")),
               op->aks->cluster) != 0)
        return DAVIT_OK;
    const struct aks_type type = {.name = (char *)p.name};
    int st = pool_machines(op, &p, true);
    for (size_t i = 0; st == DAVIT_OK && i < p.n; i++)
        if (p.v[i].record)
            vm_put(&p, &p.v[i], &type, &nowhere, sink, put);
    pool_done(&p);
    return st;
}

static bool is_of_type(const struct aks *a, const char *pool)
{
    for (size_t i = 0; i < a->n_types; i++)
        for (size_t k = 0; k < a->types[i].n_sites; k++)
            if (strcasecmp(a->types[i].sites[k].pool, pool) == 0)
                return true;
    return false;
}

static int aks_list(void *self, struct davit_call *call,
                    struct davit_sink *sink, davit_put_machine *put,
                    struct davit_error *e)
{
    struct op op;
    json_t *pools;
    op_begin(&op, self, call, e);
    int st = pools_get(&op, &pools);
    for (size_t i = 0; st == DAVIT_OK && i < op.aks->n_types; i++) {
        const struct aks_type *t = &op.aks->types[i];
        for (size_t k = 0; st == DAVIT_OK && k < t->n_sites; k++)
            st = site_list(&op, pools, t, &t->sites[k], sink, put);
    }
    size_t i;
    json_t *doc;
    json_array_foreach(st == DAVIT_OK ? pools : NULL, i, doc)
        if (st == DAVIT_OK && !is_of_type(op.aks, kit_json_text(doc, "name")))
            st = left_list(&op, doc, sink, put);
    op_end(&op);
    return st;
}

/* ---- launch */

static int launch_check(struct op *op, const struct davit_launch *l,
                        const struct aks_type **ret_type,
                        const struct aks_site **ret_site)
{
    struct davit_error *e = op->error;
    const struct aks *a = op->aks;
    size_t i = 0, k = 0;
    while (i < a->n_types && strcmp(a->types[i].name, l->offer) != 0)
        i++;
    if (i == a->n_types)
        return kit_error(e, DAVIT_INVALID, "UnknownType",
                         "there is no node type \"%.60s\" here", l->offer);
    const struct aks_type *t = &a->types[i];
    while (k < t->n_sites && l->zone[0] != '\0' &&
           strcmp(t->sites[k].zone, l->zone) != 0)
        k++;
    if (k == t->n_sites)
        return kit_error(e, DAVIT_INVALID, "UnknownZone",
                         "node type %s has no pool for zone \"%.40s\"", t->name,
                         l->zone);
    if (l->count == 0 || l->count > LAUNCH_MAX)
        return kit_error(e, DAVIT_INVALID, "BadCount",
                         "a launch is of 1 to %d machines, not %u", LAUNCH_MAX,
                         l->count);
    if (!ledger_id_fits(l->request_id))
        return kit_error(e, DAVIT_INVALID, "BadRequestId",
                         "a request id has 1 to 127 bytes, and 180 when "
                         "percent-encoded");
    *ret_type = t;
    *ret_site = &t->sites[k];
    return DAVIT_OK;
}

/* One look at the pool and what follows from it; *ret_again: it was not its
 * moment, look again. */
static int launch_once(struct op *op, const struct davit_launch *l,
                       const struct aks_type *t, const struct aks_site *site,
                       struct davit_sink *sink, davit_put_machine *put,
                       bool *ret_again)
{
    struct pool p;
    *ret_again = false;
    int st = pool_get(op, site->pool, &p);
    if (st == DAVIT_OK)
        st = pool_check(op, &p, t, site, l->spot);
    if (st != DAVIT_OK)
        return st;
    uint32_t granted = ledger_granted(&p.ledger, l->request_id);
    if (granted < l->count && p.maintained) {
        char work[100];
        pool_work(&p, work, sizeof work);
        return kit_error(op->error, DAVIT_STOCKOUT, "Maintenance",
                         "%s: nothing is launched there meanwhile", work);
    }
    if (granted < l->count && p.busy) {
        pool_abort_old(op, &p);
        *ret_again = true;
        return pool_busy(op, &p);
    }
    st = pool_machines(op, &p, false);
    if (st == DAVIT_OK)
        pool_list(&p, t, site, l->request_id, sink, put);
    if (st == DAVIT_OK && granted < l->count) {
        st = pool_raise(op, &p, l->request_id, l->count - granted);
        if (st == DAVIT_RETRY && pool_contested(op)) {
            *ret_again = true;
            st = pool_busy(op, &p);
        }
    }
    pool_done(&p);
    return st;
}

static int aks_launch(void *self, struct davit_call *call,
                      const struct davit_launch *l, struct davit_sink *sink,
                      davit_put_machine *put, struct davit_error *e)
{
    struct op op;
    const struct aks_type *t = NULL;
    const struct aks_site *site = NULL;
    bool again = true;
    op_begin(&op, self, call, e);
    int st = launch_check(&op, l, &t, &site);
    for (int i = 0; st == DAVIT_OK && again && i < TRIES_MAX; i++) {
        st = launch_once(&op, l, t, site, sink, put, &again);
        if (again && pool_wait(&op))
            st = DAVIT_OK;
        e->retry_after_ms = st == DAVIT_OK ? 0 : e->retry_after_ms;
    }
    op_end(&op);
    return st;
}

/* ---- the table */

/* Two lists a settle time apart must not come of one answer that is remembered. */
static uint32_t aks_settle_ms(void *self)
{
    return (uint32_t)(seen_rest_ms(self) + SETTLE_MS);
}

static const char *const places[] = {"subscription", "resource_group",
                                     "cluster", NULL};

static struct davit_provider table = {.size = sizeof table,
                                      .name = "aks",
                                      .version = "1",
                                      .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT,
                                      .open = aks_open,
                                      .close = aks_close,
                                      .list = aks_list,
                                      .launch = aks_launch,
                                      .terminate = aks_terminate,
                                      .offers = aks_offers,
                                      .settle_ms = aks_settle_ms,
                                      .places = places,
                                      .launch_most = LAUNCH_MAX,
                                      .find = aks_find};

const struct davit_provider *davit_provider_v1(void)
{
    table.options = kit_options_help(aks_options);
    return &table;
}
