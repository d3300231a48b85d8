/*
 * change.c - one agent pool as it shall be: raised, lowered, thinned out.
 *
 * A pool is changed by writing the whole of it back, under its eTag, without
 * what Azure owns: the same fields its SDK leaves out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"

#define FORGET_S 86400 /* requests nobody repeats any more */
#define HURRY_S 600    /* ... and when there is no room */
#define BUSY_MS 5000

bool pool_wait(struct op *op)
{
    struct aks *a = op->aks;
    return a->host->wall_ms() - op->from_ms < a->wait_ms &&
           a->host->sleep(op->call, (uint32_t)a->poll_ms);
}

bool pool_contested(const struct op *op)
{
    static const char *const codes[] = {
        "EtagMismatch", "PreconditionFailed",         "OperationNotAllowed",
        "Conflict",     "AnotherOperationInProgress", "HTTP 409",
        "HTTP 412"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcasecmp(op->error->code, codes[i]) == 0)
            return true;
    return false;
}

int pool_busy(struct op *op, const struct pool *p)
{
    if (op->error->retry_after_ms == 0)
        op->error->retry_after_ms = BUSY_MS;
    return kit_error(op->error, DAVIT_RETRY, "PoolBusy",
                     "pool %s is %s: AKS does one thing at a time", p->name,
                     p->busy ? p->state : "being changed by somebody else");
}

void pool_work(const struct pool *p, char *ret, size_t size)
{
    snprintf(ret, size, "pool %.20s is being changed by Azure (%.40s)", p->name,
             p->state);
}

struct memory *memory_of(struct aks *a, const char *pool)
{
    for (size_t i = 0; i < a->n_memories; i++)
        if (strcmp(a->memories[i]->pool, pool) == 0)
            return a->memories[i];
    struct memory *m = kit_zeroed(1, sizeof *m);
    m->pool = kit_copy(pool);
    m->puts = a->puts;
    a->memories = kit_resize(a->memories, a->n_memories + 1,
                             sizeof *a->memories);
    a->memories[a->n_memories++] = m;
    return m;
}

const char *memory_pool(struct aks *a, size_t i)
{
    pthread_mutex_lock(&a->lock);
    const char *pool = i < a->n_memories ? a->memories[i]->pool : NULL;
    pthread_mutex_unlock(&a->lock);
    return pool;
}

/* ---- may we? */

static int zone_check(struct op *op, const struct pool *p,
                      const struct aks_site *site)
{
    const json_t *zones = json_object_get(p->props, "availabilityZones");
    const char *dash = strrchr(site->zone, '-');
    const char *number = dash ? dash + 1 : site->zone;
    const char *has = json_string_value(json_array_get(zones, 0));
    if (site->zone[0] == '\0' ||
        (json_array_size(zones) == 1 && has && strcmp(has, number) == 0))
        return DAVIT_OK;
    return kit_error(op->error, DAVIT_INVALID, "ZoneOfPool",
                     "pool %s has %zu zones%s%s: AKS chooses among them, so "
                     "zone %s needs a pool made with --zones %s alone",
                     p->name, json_array_size(zones), has ? ", first " : "",
                     has ? has : "", site->zone, number);
}

int pool_check(struct op *op, const struct pool *p, const struct aks_type *t,
               const struct aks_site *site, bool spot)
{
    struct davit_error *e = op->error;
    const char *machine = kit_json_text(p->props, "vmSize");
    const char *kind = kit_json_text(p->props, "type");
    const char *owner = ledger_owner(json_object_get(p->props, "tags"));
    if (kit_json_true(p->props, "enableAutoScaling"))
        return kit_error(e, DAVIT_INVALID, "AutoScalingEnabled",
                         "pool %s is scaled by AKS's own autoscaler: turn that "
                         "off (az aks nodepool update --name %s "
                         "--disable-cluster-autoscaler)",
                         p->name, p->name);
    if (kind[0] != '\0' && strcasecmp(kind, "VirtualMachineScaleSets") != 0)
        return kit_error(e, DAVIT_INVALID, "PoolType",
                         "pool %s is of type %s, which Davit cannot scale: "
                         "make one with --vm-set-type "
                         "VirtualMachineScaleSets, or use azurevm",
                         p->name, kind);
    if (t->machine[0] != '\0' && machine[0] != '\0' &&
        strcasecmp(t->machine, machine) != 0)
        return kit_error(e, DAVIT_INVALID, "VmSize",
                         "pool %s has %s machines, node type %s wants %s",
                         p->name, machine, t->name, t->machine);
    if (p->spot != spot)
        return kit_error(e, DAVIT_INVALID, "Market",
                         "pool %s is a %s pool, node type %s wants %s machines",
                         p->name, p->spot ? "spot" : "regular", t->name,
                         spot ? "spot" : "regular");
    if (owner[0] != '\0' && strcmp(owner, op->aks->cluster) != 0)
        return kit_error(e, DAVIT_INVALID, "OtherCluster",
                         "pool %s belongs to cluster %.60s (its tag "
                         "davit-cluster), ours is %.60s",
                         p->name, owner, op->aks->cluster);
    if (strcasecmp(kit_json_text(p->props, "powerState.code"), "Stopped") == 0)
        return kit_error(e, DAVIT_INVALID, "PoolStopped",
                         "pool %s is stopped: start it (az aks nodepool start)",
                         p->name);
    /* AKS leaves the machine, stopped and billed for its disk, and lists it. */
    const char *mode = kit_json_text(p->props, "scaleDownMode");
    const char *evict = kit_json_text(p->props, "scaleSetEvictionPolicy");
    if (strcasecmp(mode, "Deallocate") == 0 ||
        (p->spot && strcasecmp(evict, "Deallocate") == 0))
        return kit_error(e, DAVIT_INVALID, "Deallocates",
                         "pool %s keeps machines that are ended (%s: "
                         "Deallocate): set it to Delete",
                         p->name,
                         strcasecmp(mode, "Deallocate") == 0
                             ? "scaleDownMode"
                             : "scaleSetEvictionPolicy");
    return zone_check(op, p, site);
}

/* ---- the whole pool, written back */

static void nulls_drop(json_t *o)
{
    const char *key;
    json_t *v;
    void *next;
    json_object_foreach_safe(o, next, key, v)
    {
        if (json_is_null(v))
            json_object_del(o, key);
        else if (json_is_object(v))
            nulls_drop(v);
    }
}

static json_t *props_writable(const struct pool *p)
{
    static const char *const owned[] = {"eTag", "provisioningState",
                                        "currentOrchestratorVersion", "status"};
    json_t *props = kit_must(json_deep_copy(p->props));
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        json_object_del(props, owned[i]);
    json_object_del(json_object_get(props, "localDNSProfile"), "state");
    nulls_drop(props);
    return props;
}

static bool record_lives(const struct pool *p, const struct record *r)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].number >= r->from &&
            (r->to == TO_OPEN || p->v[i].number <= r->to))
            return true;
    return false;
}

/* Drops one record that nobody needs, the oldest first. */
static bool record_forget(struct op *op, struct pool *p, int64_t age_s,
                          bool also_living)
{
    int64_t now_s = op->from_ms / 1000;
    for (size_t i = 0; i + 1 < p->ledger.n; i++) {
        const struct record *r = &p->ledger.v[i];
        if (now_s - r->at_s < age_s || (!also_living && record_lives(p, r)))
            continue;
        ledger_drop(&p->ledger, i);
        return true;
    }
    return false;
}

static int tags_write(struct op *op, struct pool *p, json_t *props)
{
    json_t *tags = json_object_get(props, "tags");
    if (!json_is_object(tags)) {
        tags = kit_must(json_object());
        json_object_set_new(props, "tags", tags);
    }
    while (record_forget(op, p, FORGET_S, false))
        ;
    while (!ledger_write(&p->ledger, tags))
        if (!record_forget(op, p, 60, false) &&
            !record_forget(op, p, HURRY_S, true) &&
            !record_forget(op, p, 0, false))
            return kit_error(op->error, DAVIT_RETRY, "LedgerFull",
                             "pool %s was asked for machines too often within "
                             "ten minutes: its tags hold no more requests",
                             p->name);
    ledger_own(tags, op->aks->cluster);
    return DAVIT_OK;
}

static void operation_note(struct op *op, const char *pool, const char *url)
{
    pthread_mutex_lock(&op->aks->lock);
    struct memory *m = memory_of(op->aks, pool);
    free(m->operation);
    m->operation = url ? kit_copy(url) : NULL;
    pthread_mutex_unlock(&op->aks->lock);
}

static int pool_put(struct op *op, struct pool *p, int64_t count)
{
    if (p->etag[0] == '\0')
        return kit_error(op->error, DAVIT_BROKEN, "NoEtag",
                         "Azure tells no eTag of pool %s: without one two "
                         "writers could undo each other",
                         p->name);
    json_t *props = props_writable(p);
    json_t *body = kit_must(json_pack("{s:o}", "properties", props));
    json_object_set_new(props, "count", json_integer(count));
    int st = tags_write(op, p, props);
    if (st == DAVIT_OK) {
        struct azure_reply r;
        bool quoted = strchr(p->etag, '"');
        char *etag = kit_print(quoted ? "%s" : "\"%s\"", p->etag);
        char *url = arm_cluster_url(op->aks, "/agentPools/%s", p->name);
        st = arm(op, "PUT", url, etag, body, &r);
        if (st == DAVIT_OK) {
            operation_note(op, p->name, r.operation);
            ledger_note(op, p);
        }
        free(etag);
        free(url);
    }
    json_decref(body);
    return st;
}

static int64_t last_number(const struct pool *p)
{
    return p->n > 0 ? p->v[p->n - 1].number : -1;
}

/* The newest request keeps what it got: nothing else will come for it. */
static void record_close(struct pool *p)
{
    struct record *r = pool_open_record(p);
    uint32_t came = 0;
    if (!r)
        return;
    for (size_t i = 0; i < p->n; i++)
        came += p->v[i].record == r;
    r->to = last_number(p) >= r->from ? last_number(p) : TO_NONE;
    if (p->failed && came < r->count)
        r->count = came;
    if (r->count == 0)
        ledger_drop(&p->ledger, p->ledger.n - 1);
}

/* From what lives, not from the target: that may be of a launch that failed.
 * Only where the target is to be believed is it a floor, so that a list that
 * came short cannot make Azure choose a victim. */
static int base_of(struct op *op, const struct pool *p, int64_t *ret)
{
    *ret = p->count;
    return p->failed || p->spot || p->count < (int64_t)p->n
               ? pool_living(op, p, ret)
               : DAVIT_OK;
}

int pool_raise(struct op *op, struct pool *p, const char *request, uint32_t n)
{
    int64_t base;
    int st = base_of(op, p, &base);
    if (st != DAVIT_OK)
        return st;
    record_close(p);
    if (p->ledger.n == RECORDS_MAX)
        ledger_drop(&p->ledger, 0);
    struct record *r = &p->ledger.v[p->ledger.n];
    *r = (struct record){.count = n,
                         .from = last_number(p) + 1,
                         .to = TO_OPEN,
                         .at_s = op->aks->host->wall_ms() / 1000};
    snprintf(r->id, sizeof r->id, "%s", request);
    /* At least one number is used up by each request, also when its machines
     * are gone: numbers do not come again. */
    if (p->ledger.n > 0 && r[-1].from >= r->from)
        r->from = r[-1].from + 1;
    p->ledger.n++;
    return pool_put(op, p, base + n);
}

int pool_lower(struct op *op, struct pool *p)
{
    int64_t live;
    int st = pool_living(op, p, &live);
    if (st != DAVIT_OK)
        return st;
    record_close(p);
    return pool_put(op, p, live < p->count ? live : p->count);
}

/* Its errors are not the caller's, which is there for something else. */
void pool_abort_old(struct op *op, struct pool *p)
{
    const struct record *record = pool_open_record(p);
    struct davit_error ignored = {.size = sizeof ignored}, *e = op->error;
    struct azure_reply r;
    if (op->aks->abort_ms <= 0 || strcasecmp(p->state, "Scaling") != 0 ||
        !record ||
        op->aks->host->wall_ms() - record->at_s * 1000 < op->aks->abort_ms)
        return;
    char line[120],
        *url = arm_cluster_url(op->aks, "/agentPools/%s/abort", p->name);
    op->error = &ignored;
    int st = arm(op, "POST", url, NULL, NULL, &r);
    op->error = e;
    free(url);
    snprintf(line, sizeof line,
             "pool %.20s: raise broken off, it takes longer than "
             "abort_after%s%.40s",
             p->name, st == DAVIT_OK ? "" : ": ",
             st == DAVIT_OK ? "" : ignored.code);
    op->aks->host->log(1, line);
}

/* ---- chosen machines */

int pool_delete(struct op *op, struct pool *p, const char *const *names,
                size_t n)
{
    struct aks *a = op->aks;
    struct azure_reply r;
    json_t *list = kit_must(json_array());
    json_t *body = kit_must(json_pack("{s:o}", "machineNames", list));
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(names[i]));
    char *url = arm_cluster_url(a, "/agentPools/%s/deleteMachines", p->name);
    int st = arm(op, "POST", url, NULL, body, &r);
    free(url);
    json_decref(body);
    if (st != DAVIT_OK)
        return st;
    operation_note(op, p->name, r.operation);
    pthread_mutex_lock(&a->lock);
    struct memory *m = memory_of(a, p->name);
    if (m->n_stopping + n > m->cap_stopping) {
        m->cap_stopping = (m->n_stopping + n) * 2;
        m->stopping = kit_resize(m->stopping, m->cap_stopping,
                                 sizeof *m->stopping);
        m->stopping_ms = kit_resize(m->stopping_ms, m->cap_stopping,
                                    sizeof *m->stopping_ms);
    }
    for (size_t i = 0; i < n; i++) {
        m->stopping[m->n_stopping] = kit_copy(names[i]);
        m->stopping_ms[m->n_stopping++] = a->host->wall_ms();
    }
    pthread_mutex_unlock(&a->lock);
    return DAVIT_OK;
}
