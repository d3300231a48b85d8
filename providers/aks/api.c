/*
 * api.c - requests to Azure Resource Manager: one exchange, or all pages.
 *
 * Links in replies (nextLink, Azure-AsyncOperation) are followed only to the
 * endpoint we were given or below it (kit/exchange.h).  Reads keep to the
 * published limit by waiting for their turn.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aks.h"

#define PAGES_MAX 1000
#define NAP_MAX_MS 1000

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
    char *url = url_make(a->endpoint, fmt, ap);
    va_end(ap);
    return url;
}

char *arm_cluster_url(const struct aks *a, const char *fmt, ...)
{
    char *group = kit_encode(a->group);
    char *base = kit_print("%s/subscriptions/%s/resourceGroups/%s/providers/"
                           "Microsoft.ContainerService/managedClusters/%s",
                           a->endpoint, a->subscription, group, a->name);
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

/* How long until one may go; 0: it was taken. */
static int64_t bucket_take(struct bucket *b, int64_t now_ms)
{
    if (b->every_ms <= 0)
        return 0;
    if (b->at_ms == 0) {
        b->left = b->burst;
    } else if (now_ms > b->at_ms) {
        b->left += (double)(now_ms - b->at_ms) / (double)b->every_ms;
        if (b->left > b->burst)
            b->left = b->burst;
    }
    b->at_ms = now_ms;
    if (b->left >= 1) {
        b->left -= 1;
        return 0;
    }
    return (int64_t)((1 - b->left) * (double)b->every_ms) + 1;
}

static int read_paced(struct op *op)
{
    struct aks *a = op->aks;
    for (;;) {
        pthread_mutex_lock(&a->lock);
        int64_t wait = bucket_take(&a->gets, a->host->wall_ms());
        pthread_mutex_unlock(&a->lock);
        if (wait == 0)
            return DAVIT_OK;
        if (wait > NAP_MAX_MS)
            wait = NAP_MAX_MS;
        if (!a->host->sleep(op->call, (uint32_t)wait))
            return kit_error(op->error, DAVIT_RETRY, "Paced",
                             "out of time: reads keep to Azure's limit of one "
                             "in %lld ms",
                             (long long)a->gets.every_ms);
    }
}

/* The pool's name, when this is a PUT of one. */
static int write_paced(struct op *op, const char *url)
{
    struct aks *a = op->aks;
    const char *from = strstr(url, "/agentPools/");
    if (!from)
        return DAVIT_OK;
    from += strlen("/agentPools/");
    char pool[64];
    snprintf(pool, sizeof pool, "%.*s", (int)strcspn(from, "?/"), from);
    pthread_mutex_lock(&a->lock);
    int64_t wait = bucket_take(&memory_of(a, pool)->puts, a->host->wall_ms());
    pthread_mutex_unlock(&a->lock);
    if (wait == 0)
        return DAVIT_OK;
    op->error->retry_after_ms = (uint32_t)wait;
    return kit_error(op->error, DAVIT_RETRY, "Paced",
                     "pool %s was changed often: the next change is allowed in "
                     "%lld s",
                     pool, (long long)wait / 1000 + 1);
}

/* ---- exchanges */

static const char *link_of(struct op *op, const struct davit_http *x)
{
    const char *url = kit_reply_header(x, "azure-asyncoperation");
    if (!url)
        url = kit_reply_header(x, "location");
    return url && kit_url_below(op->aks->endpoint, url) ? url : NULL;
}

int arm(struct op *op, const char *method, const char *url,
        const char *if_match, json_t *body, struct reply *ret)
{
    struct aks *a = op->aks;
    bool reads = strcmp(method, "GET") == 0;
    const struct kit_api api = {.host = a->host,
                                .base = a->endpoint,
                                .token = &a->token,
                                .fetch = auth_fetch,
                                .arg = a,
                                .judge = arm_judge};
    const struct davit_kv match = {"If-Match", if_match};
    struct davit_http x;
    *ret = (struct reply){0};
    /* Compute's limits are its own, and far away. */
    bool aks = strstr(url, "/Microsoft.ContainerService/");
    int st = reads && aks                 ? read_paced(op)
             : reads                      ? DAVIT_OK
             : strcmp(method, "PUT") == 0 ? write_paced(op, url)
                                          : DAVIT_OK;
    if (st != DAVIT_OK)
        return st;
    st = kit_exchange(&api, op->call,
                      &(struct kit_request){.method = method,
                                            .url = url,
                                            .json = body,
                                            .headers = &match,
                                            .n_headers = if_match ? 1 : 0,
                                            .loose = !reads},
                      &x, &ret->json, op->error);
    op_keep(op, ret->json);
    ret->status = x.reply_status;
    ret->operation = link_of(op, &x);
    return st;
}

int arm_get(struct op *op, const char *url, json_t **ret)
{
    struct reply r;
    int st = arm(op, "GET", url, NULL, NULL, &r);
    *ret = st == DAVIT_OK ? r.json : NULL;
    return st;
}

int arm_pages(struct op *op, const char *url, json_t **ret)
{
    json_t *all = kit_must(json_array());
    op_keep(op, all);
    for (int n = 0; n < PAGES_MAX; n++) {
        json_t *page;
        int st = arm_get(op, url, &page);
        if (st != DAVIT_OK)
            return st;
        if (!json_is_array(json_object_get(page, "value")))
            return kit_error(op->error, DAVIT_RETRY, "BadJson",
                             "Azure's page has no value[]");
        json_array_extend(all, json_object_get(page, "value"));
        url = kit_json_text(page, "nextLink");
        if (url[0] == '\0') {
            *ret = all;
            return DAVIT_OK;
        }
    }
    return kit_error(op->error, DAVIT_BROKEN, "TooManyPages",
                     "more than %d pages", PAGES_MAX);
}
