/*
 * pool.c - one agent pool as it is: its target, its machines, for which request
 * each of them came, and what failed to come.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"

#define DIGITS 6 /* aks-gpu-12345678-vmss00001a */
#define GHOST_MAX_AGE_S 3600

/* The states in which a change of the count may be: ours or somebody's.  Others
 * ("Upgrading", "UpgradingNodeImageVersion", "Stopping", ...) are Azure's own
 * work (learn.microsoft.com/azure/aks: agent pools, provisioningState). */
static bool scaled_state(const char *state)
{
    return strcasecmp(state, "Scaling") == 0 ||
           strcasecmp(state, "Updating") == 0 ||
           strcasecmp(state, "Creating") == 0 ||
           strcasecmp(state, "Deleting") == 0 || state[0] == '\0';
}

void pool_take(const json_t *doc, struct pool *ret)
{
    const json_t *p = json_object_get(doc, "properties");
    const char *state = kit_json_text(p, "provisioningState");
    *ret = (struct pool){
        .name = kit_json_text(doc, "name"),
        .props = p,
        .state = state,
        .etag = kit_json_text(p, "eTag"),
        .count = kit_json_int(p, "count", 0),
        .failed = strcasecmp(state, "Failed") == 0 ||
                  strcasecmp(state, "Canceled") == 0,
        .spot = strcasecmp(kit_json_text(p, "scaleSetPriority"), "Spot") == 0,
        .failure.size = sizeof(struct davit_error)};
    ret->busy = !ret->failed && strcasecmp(state, "Succeeded") != 0;
    ret->maintained = ret->busy && !scaled_state(state);
    ledger_read(json_object_get(p, "tags"), &ret->ledger);
}

int pool_get(struct op *op, const char *name, struct pool *ret)
{
    json_t *doc;
    char *url = arm_cluster_url(op->aks, "/agentPools/%s", name);
    int st = arm_get(op, url, &doc);
    free(url);
    pool_take(doc, ret);
    ret->name = name; /* whatever the reply lacks */
    if (st == DAVIT_OK)
        ledger_recall(op, ret);
    return st;
}

int pools_get(struct op *op, json_t **ret)
{
    char *url = arm_cluster_url(op->aks, "/agentPools");
    int st = arm_pages(op, url, ret);
    free(url);
    return st;
}

const json_t *pool_named(const json_t *pools, const char *name)
{
    size_t i;
    const json_t *doc;
    json_array_foreach(pools, i, doc)
        if (strcasecmp(kit_json_text(doc, "name"), name) == 0)
            return doc;
    return NULL;
}

void pool_done(struct pool *p)
{
    free(p->v);
    p->v = NULL;
    p->n = 0;
}

struct record *pool_open_record(struct pool *p)
{
    struct record *r = p->ledger.n > 0 ? &p->ledger.v[p->ledger.n - 1] : NULL;
    return r && r->to == TO_OPEN ? r : NULL;
}

void missing_name(const struct pool *p, uint32_t n, char *ret, size_t size)
{
    const struct record *r = &p->ledger.v[p->ledger.n - 1];
    uint32_t h = 2166136261u;
    for (const char *s = r->id; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    snprintf(ret, size, "%s/failed-%08x-%u", p->name, h, n);
}

/* ---- machines */

/* A scale set numbers its instances upwards, in base 36 in their names. */
int64_t name_number(const char *name)
{
    size_t n = strlen(name);
    int64_t v = 0;
    if (n <= DIGITS)
        return -1;
    for (const char *s = name + n - DIGITS; *s != '\0'; s++) {
        if (isdigit((unsigned char)*s))
            v = v * 36 + (*s - '0');
        else if (*s >= 'a' && *s <= 'z')
            v = v * 36 + (*s - 'a' + 10);
        else
            return -1;
    }
    return v;
}

static struct vm vm_take(const json_t *m)
{
    const json_t *p = json_object_get(m, "properties");
    const json_t *ips = kit_json_at(p, "network.ipAddresses");
    struct vm v = {
        .name = kit_json_text(m, "name"),
        .zone = kit_json_string(json_array_get(json_object_get(m, "zones"), 0)),
        .resource = kit_json_text(p, "resourceId"),
        .address = ""};
    v.number = name_number(v.name);
    for (size_t i = 0; i < json_array_size(ips) && v.address[0] == '\0'; i++)
        v.address = kit_json_text(json_array_get(ips, i), "ip");
    /* Not in every API version. */
    const char *state = kit_json_text(p, "provisioningState");
    v.stopping = strcasecmp(state, "Deleting") == 0;
    v.ghost = strcasecmp(state, "Failed") == 0;
    return v;
}

static int by_number(const void *a, const void *b)
{
    const struct vm *x = a, *y = b;
    return x->number != y->number ? (x->number < y->number ? -1 : 1)
                                  : strcmp(x->name, y->name);
}

/* The records' ranges follow one another, and so do the machines. */
static void owners_find(struct pool *p)
{
    size_t k = 0;
    for (size_t r = 0; r < p->ledger.n; r++) {
        const struct record *rec = &p->ledger.v[r];
        uint32_t left = rec->count;
        for (; k < p->n && p->v[k].number < rec->from; k++)
            ;
        for (; k < p->n && (rec->to == TO_OPEN || p->v[k].number <= rec->to);
             k++)
            if (left > 0) {
                p->v[k].record = rec;
                left--;
            }
    }
}

static void stopping_mark(struct op *op, struct pool *p)
{
    struct aks *a = op->aks;
    int64_t now = a->host->wall_ms();
    pthread_mutex_lock(&a->lock);
    struct memory *m = memory_of(a, p->name);
    size_t kept = 0;
    for (size_t i = 0; i < m->n_stopping; i++) {
        bool there = false;
        for (size_t k = 0; k < p->n; k++)
            if (strcmp(p->v[k].name, m->stopping[i]) == 0)
                there = p->v[k].stopping = p->busy || now - m->stopping_ms[i] <
                                                          STOPPING_KEPT_MS;
        if (!there) {
            free(m->stopping[i]);
            continue;
        }
        m->stopping[kept] = m->stopping[i];
        m->stopping_ms[kept++] = m->stopping_ms[i];
    }
    m->n_stopping = kept;
    pthread_mutex_unlock(&a->lock);
}

/* ---- what went wrong */

/* The code in "ProvisioningState/failed/AllocationFailed". */
static const char *vm_failure(const json_t *vm)
{
    static const char prefix[] = "ProvisioningState/failed";
    size_t i;
    const json_t *s;
    json_array_foreach(kit_json_at(vm, "properties.instanceView.statuses"), i,
                       s) {
        const char *code = kit_json_text(s, "code");
        if (strncasecmp(code, prefix, sizeof prefix - 1) == 0)
            return code + sizeof prefix - 1 + (code[sizeof prefix - 1] == '/');
    }
    return strcasecmp(kit_json_text(vm, "properties.provisioningState"),
                      "Failed") == 0
               ? ""
               : NULL;
}

/* The machines API does not say whether a machine lives, the scale set does.
 * Only of a launch that failed just now: a machine that works is not ended
 * because a later update of it went wrong. */
static void ghosts_find(struct op *op, struct pool *p, const struct record *r)
{
    size_t from = p->n;
    if (!r || op->from_ms / 1000 - r->at_s > GHOST_MAX_AGE_S)
        return;
    while (from > 0 && p->v[from - 1].record == r)
        from--;
    json_t *vms = NULL;
    if (from == p->n || !scale_set_read(op, p, &vms))
        return;
    size_t i;
    const json_t *vm;
    json_array_foreach(vms, i, vm) {
        const char *code = vm_failure(vm);
        for (size_t k = from; code && k < p->n; k++) {
            if (strcasecmp(p->v[k].resource, kit_json_text(vm, "id")) != 0)
                continue;
            p->v[k].ghost = true;
        }
    }
}

static char *operation_copy(struct op *op, const char *pool)
{
    pthread_mutex_lock(&op->aks->lock);
    const char *url = memory_of(op->aks, pool)->operation;
    char *copy = url ? kit_copy(url) : NULL;
    pthread_mutex_unlock(&op->aks->lock);
    return copy;
}

/* Why the last operation failed: by the pool, else by the operation as
 * long as we know its address. */
static void failure_find(struct op *op, struct pool *p)
{
    const json_t *error = kit_json_at(p->props, "status.provisioningError");
    if (json_is_object(kit_json_at(error, "error")))
        error = kit_json_at(error, "error");
    if (kit_json_text(error, "code")[0] == '\0') {
        char *url = operation_copy(op, p->name);
        struct davit_error ignored = {.size = sizeof ignored}, *e = op->error;
        struct azure_reply r = {0};
        op->error = &ignored;
        if (url)
            arm(op, "GET", url, NULL, NULL, &r);
        /* A Location answers as the operation itself would have. */
        if (r.status == 200 || r.status == 400 || r.status == 403 ||
            r.status == 409)
            error = json_object_get(r.json, "error");
        op->error = e;
        free(url);
    }
    if (json_is_object(error)) {
        p->why = (enum davit_status)azure_error(&p->failure, error, 0);
        return;
    }
    p->why = DAVIT_RETRY;
    kit_error(&p->failure, DAVIT_RETRY, "ProvisioningFailed",
              "the last operation on pool %s ended as %s; Azure does not say "
              "why",
              p->name, p->state);
}

int pool_machines(struct op *op, struct pool *p, bool at_rest)
{
    json_t *list, *m;
    int st = machines_read(op, p, at_rest, &list);
    if (st != DAVIT_OK)
        return st;
    size_t i;
    p->v = kit_zeroed(json_array_size(list) + 1, sizeof *p->v);
    p->n = 0;
    json_array_foreach(list, i, m)
        p->v[p->n++] = vm_take(m);
    qsort(p->v, p->n, sizeof *p->v, by_number);
    scale_set_note(op, p);
    owners_find(p);
    stopping_mark(op, p);
    if (!p->failed)
        return DAVIT_OK;
    const struct record *r = pool_open_record(p);
    uint32_t came = 0, ghosts = 0;
    ghosts_find(op, p, r);
    for (i = 0; i < p->n; i++) {
        came += r && p->v[i].record == r;
        ghosts += p->v[i].ghost;
    }
    int64_t gap = p->count - (int64_t)p->n;
    if (r && came < r->count && gap > 0)
        p->missing = gap < r->count - came ? (uint32_t)gap : r->count - came;
    if (p->missing > 0 || ghosts > 0)
        failure_find(op, p);
    return DAVIT_OK;
}
