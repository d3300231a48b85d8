/*
 * api.c - requests about one AKS cluster; replies live as long as the operation.
 *
 * Reads keep to AKS's published limit by waiting for their turn.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aks.h"

static char *url_make(const char *base, const char *fmt, va_list ap)
{
    char *path = kit_vprint(fmt, ap);
    char *url = kit_print("%s%s", base, path);
    free(path);
    return url;
}

char *arm_url(const struct aks *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *url = url_make(a->azure.endpoint, fmt, ap);
    va_end(ap);
    return url;
}

char *arm_cluster_url(const struct aks *a, const char *fmt, ...)
{
    char *group = kit_encode(a->group);
    char *base = kit_print("%s/subscriptions/%s/resourceGroups/%s/providers/"
                           "Microsoft.ContainerService/managedClusters/%s",
                           a->azure.endpoint, a->subscription, group, a->name);
    va_list ap;
    va_start(ap, fmt);
    char *path = url_make(base, fmt, ap);
    va_end(ap);
    char *url = kit_print("%s?api-version=" AKS_API, path);
    free(group);
    free(base);
    free(path);
    return url;
}

/* ---- one operation */

void op_begin(struct op *op, void *self, struct davit_call *call,
              struct davit_error *e)
{
    *op = (struct op){
        .aks = self, .call = call, .error = e, .keep = kit_must(json_array())};
    op->from_ms = op->aks->host->wall_ms();
}

void op_end(struct op *op)
{
    json_decref(op->keep);
}

void op_keep(struct op *op, json_t *doc)
{
    if (doc)
        json_array_append_new(op->keep, doc);
}

/* ---- our own pace */

/* A PUT of a pool keeps to the pool's own limit. */
static int write_paced(struct aks *a, const char *url, struct davit_error *e)
{
    const char *from = strstr(url, "/agentPools/");
    if (!from)
        return DAVIT_OK;
    from += strlen("/agentPools/");
    char pool[64];
    snprintf(pool, sizeof pool, "%.*s", (int)strcspn(from, "?/"), from);
    pthread_mutex_lock(&a->lock);
    int64_t wait = azure_bucket_take(&memory_of(a, pool)->puts,
                                     a->host->wall_ms());
    pthread_mutex_unlock(&a->lock);
    if (wait == 0)
        return DAVIT_OK;
    e->retry_after_ms = (uint32_t)wait;
    return kit_error(e, DAVIT_RETRY, "Paced",
                     "pool %s was changed often: the next change is allowed in "
                     "%lld s",
                     pool, (long long)wait / 1000 + 1);
}

int arm_pace(void *arg, struct davit_call *call, const char *method,
             const char *url, struct davit_error *e)
{
    struct aks *a = arg;
    if (strcmp(method, "PUT") == 0)
        return write_paced(a, url, e);
    /* Compute's limits are its own, and far away. */
    if (strcmp(method, "GET") == 0 &&
        strstr(url, "/Microsoft.ContainerService/"))
        return azure_turn(&a->azure, &a->gets, call, e);
    return DAVIT_OK;
}

/* ---- exchanges */

int arm(struct op *op, const char *method, const char *url,
        const char *if_match, json_t *body, struct azure_reply *ret)
{
    int st = azure_send(
        &op->aks->azure, op->call,
        &(struct azure_request){
            .method = method, .url = url, .if_match = if_match, .body = body},
        ret, op->error);
    op_keep(op, ret->json);
    return st;
}

int arm_get(struct op *op, const char *url, json_t **ret)
{
    int st = azure_get(&op->aks->azure, op->call, url, ret, op->error);
    op_keep(op, *ret);
    return st;
}

int arm_pages(struct op *op, const char *url, json_t **ret)
{
    int st = azure_pages(&op->aks->azure, op->call, url, ret, op->error);
    op_keep(op, *ret);
    return st;
}
