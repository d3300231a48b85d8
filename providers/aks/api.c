/*
 * api.c - requests to Azure Resource Manager: one exchange, or all pages.
 *
 * Links in replies (nextLink, Azure-AsyncOperation) are followed only to the
 * endpoint we were given or below it: the token must go nowhere else.  Reads
 * keep to the published limit by waiting for their turn.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aks.h"

#define PAGES_MAX 1000
#define NAP_MAX_MS 1000

/* ---- text */

void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

char *text_copy(const char *s)
{
    return must(strdup(s));
}

static char *text_vprint(const char *fmt, va_list ap)
{
    char *s;
    if (vasprintf(&s, fmt, ap) < 0)
        abort();
    return s;
}

char *text_print(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = text_vprint(fmt, ap);
    va_end(ap);
    return s;
}

char *url_escape(const char *s)
{
    char *out = must(malloc(3 * strlen(s) + 1));
    size_t n = 0;
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (isalnum(c) || strchr("-_.~", c) != NULL)
            out[n++] = (char)c;
        else
            n += (size_t)snprintf(out + n, 4, "%%%02X", c);
    }
    out[n] = '\0';
    return out;
}

static char *url_make(const char *base, const char *fmt, va_list ap)
{
    char *path = text_vprint(fmt, ap);
    char *url = text_print("%s%s", base, path);
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
    char *group = url_escape(a->group);
    char *base = text_print(
        "%s/subscriptions/%s/resourceGroups/%s/providers/"
        "Microsoft.ContainerService/managedClusters/%s", a->endpoint,
        a->subscription, group, a->name);
    va_list ap;
    va_start(ap, fmt);
    char *path = url_make(base, fmt, ap);
    va_end(ap);
    char *url = text_print("%s?api-version=" AKS_API, path);
    free(group);
    free(base);
    free(path);
    return url;
}

/* ---- one operation */

void op_begin(struct op *op, void *self, struct davit_call *call,
              struct davit_error *e)
{
    *op = (struct op){.aks = self, .call = call, .error = e,
                      .keep = must(json_array())};
    op->from_ms = op->aks->host->wall_ms();
}

void op_end(struct op *op)
{
    json_decref(op->keep);
}

void op_keep(struct op *op, json_t *doc)
{
    if (doc != NULL)
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
                             "in %lld ms", (long long)a->gets.every_ms);
    }
}

/* The pool's name, when this is a PUT of one. */
static int write_paced(struct op *op, const char *url)
{
    struct aks *a = op->aks;
    const char *from = strstr(url, "/agentPools/");
    if (from == NULL)
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
                     "pool %s was changed often: the next change is allowed "
                     "in %lld s", pool, (long long)wait / 1000 + 1);
}

/* ---- exchanges */

/* The host part must be the endpoint's, or end with "." and it. */
static bool is_ours(const struct aks *a, const char *url)
{
    size_t scheme = (size_t)(strstr(a->endpoint, "://") - a->endpoint) + 3;
    if (strncmp(url, a->endpoint, scheme) != 0)
        return false;
    const char *host = a->endpoint + scheme, *theirs = url + scheme;
    size_t n = strcspn(host, "/"), m = strcspn(theirs, "/?#");
    if (memchr(theirs, '@', m) != NULL || m < n ||
        strncasecmp(theirs + m - n, host, n) != 0)
        return false;
    return m == n || theirs[m - n - 1] == '.';
}

static int send(struct op *op, struct davit_http *x, const char *if_match,
                const char *token)
{
    struct davit_kv headers[4] = {{"Accept", "application/json"},
                                  {"Authorization", token}};
    x->headers = headers;
    x->n_headers = 2;
    if (x->body_len > 0)
        headers[x->n_headers++] =
            (struct davit_kv){"Content-Type", "application/json"};
    if (if_match != NULL)
        headers[x->n_headers++] = (struct davit_kv){"If-Match", if_match};
    int st = op->aks->host->http(op->call, x, op->error);
    x->headers = NULL;
    return st;
}

/* Sends it, with a new token when the old one was refused. */
static int exchange(struct op *op, struct davit_http *x, const char *if_match)
{
    for (int tries = 0;; tries++) {
        char *token;
        int st = auth_header(op, &token);
        if (st == DAVIT_OK)
            st = send(op, x, if_match, token);
        bool refused = st == DAVIT_OK && x->reply_status == 401;
        if (refused)
            kit_token_refused(&op->aks->token, token);
        kit_token_free(token);
        if (!refused || tries > 0)
            return st;
    }
}

static const char *link_of(struct op *op, const struct davit_http *x)
{
    const char *url = kit_reply_header(x, "azure-asyncoperation");
    if (url == NULL)
        url = kit_reply_header(x, "location");
    return url != NULL && is_ours(op->aks, url) ? url : NULL;
}

int arm(struct op *op, const char *method, const char *url,
        const char *if_match, json_t *body, struct reply *ret)
{
    struct davit_error *e = op->error;
    bool reads = strcmp(method, "GET") == 0;
    *ret = (struct reply){0};
    if (!is_ours(op->aks, url))
        return kit_error(e, DAVIT_BROKEN, "ForeignLink",
                         "Azure refers to %.90s, which is not below %.60s: the "
                         "token is not sent there", url, op->aks->endpoint);
    int st = reads ? read_paced(op)
             : strcmp(method, "PUT") == 0 ? write_paced(op, url) : DAVIT_OK;
    if (st != DAVIT_OK)
        return st;
    char *text = body != NULL ? must(json_dumps(body, JSON_COMPACT)) : NULL;
    struct davit_http x = {.size = sizeof x, .method = method, .url = url,
                           .body = text,
                           .body_len = text != NULL ? strlen(text) : 0};
    st = exchange(op, &x, if_match);
    free(text);
    if (st != DAVIT_OK)
        return st;
    json_error_t where;
    ret->status = x.reply_status;
    ret->json = x.reply_len > 0
                    ? json_loadb(x.reply_body, x.reply_len, 0, &where) : NULL;
    op_keep(op, ret->json);
    ret->operation = link_of(op, &x);
    if (x.reply_status >= 200 && x.reply_status < 300) {
        if (reads && !json_is_object(ret->json))
            return kit_error(e, DAVIT_RETRY, "BadJson",
                             "Azure's reply (%zu bytes) is not a JSON object: "
                             "%.80s", x.reply_len,
                             ret->json == NULL && x.reply_len > 0 ? where.text
                                                                  : "");
        return DAVIT_OK;
    }
    st = error_judge(e, kit_json_at(ret->json, "error"), x.reply_status);
    e->retry_after_ms = kit_retry_after_ms(&x, op->aks->host->wall_ms());
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
    json_t *all = must(json_array());
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
