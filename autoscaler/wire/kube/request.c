/*
 * request.c - one request to a Kubernetes API server, and what its refusals
 * mean.
 *
 * A refusal for lack of rights names the missing rule in the form that a Role
 * has it in, since that is what its reader needs.
 */
#include "access.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/text.h"
#include "../../kit/text.h"

#define DEADLINE_MS 10000
#define TOKEN_AGE_MS 60000
#define TOKEN_REST_MS 1000 /* a refused one is not read again before */
#define MAX_REPLY ((size_t)64 << 20)

struct kube {
    struct kube_access *a;
    struct http_client *client;
    struct arena scratch; /* of one call */
    char *used;           /* heap: the token that was sent last */
};

struct kube *kube_new(struct kube_access *a)
{
    struct kube *k = MEM_NEW(struct kube);
    k->a = a;
    k->client = http_client_new();
    return k;
}

void kube_free(struct kube *k)
{
    if (!k)
        return;
    http_client_free(k->client);
    arena_done(&k->scratch);
    if (k->used)
        explicit_bzero(k->used, strlen(k->used));
    free(k->used);
    free(k);
}

struct http_client *kube_http(struct kube *k)
{
    return k->client;
}

/* ---- the request */

/* The token to send, remembered in k->used; NULL: none. */
static const char *token_now(struct kube *k)
{
    struct kube_access *a = k->a;
    struct err ignored = {0};

    pthread_mutex_lock(&a->lock);
    if (a->token_file && clock_mono_ms() - a->token_mono_ms > TOKEN_AGE_MS)
        kube_token_read(a, &ignored);
    if (a->token && (!k->used || strcmp(k->used, a->token) != 0)) {
        free(k->used);
        k->used = mem_strdup(a->token);
    }
    pthread_mutex_unlock(&a->lock);
    return k->used;
}

bool kube_token_again(struct kube *k)
{
    struct kube_access *a = k->a;
    struct err ignored = {0};
    bool other;

    pthread_mutex_lock(&a->lock);
    if (a->token_file && clock_mono_ms() - a->token_mono_ms > TOKEN_REST_MS)
        kube_token_read(a, &ignored);
    other = a->token && k->used && strcmp(a->token, k->used) != 0;
    pthread_mutex_unlock(&a->lock);
    return other;
}

void kube_exchange(struct kube *k, const char *path, struct arena *arena,
                   struct http_exchange *x)
{
    struct kube_access *a = k->a;
    struct davit_kv *headers = ARENA_ARRAY(arena, struct davit_kv, 3);
    const char *token = token_now(k);
    size_t n = 0;

    headers[n++] = (struct davit_kv){"Accept", KUBE_JSON};
    if (token)
        headers[n++] = (struct davit_kv){
            "Authorization", arena_printf(arena, "Bearer %s", token)};
    *x = (struct http_exchange){
        .method = "GET",
        .url = arena_printf(arena, "%s%s", a->server, path),
        .label = arena_printf(arena, "the API server %s", a->server),
        .headers = headers,
        .n_headers = n,
        .ca_file = a->ca_file,
        .cert_file = a->cert_file,
        .key_file = a->key_file,
        .tls = &a->tls,
        .proxy = a->proxy,
        .max_reply = MAX_REPLY,
    };
}

/* ---- refusals */

/* "/apis/GROUP/v1/namespaces/NS/RESOURCE/NAME/SUB?query" taken apart. */
struct target {
    char group[128], space[80], resource[80], name[256], sub[64];
    bool watch;
};

static size_t part(const char *from, char *to, size_t size)
{
    size_t n = strcspn(from, "/?"), kept = n < size ? n : size - 1;

    memcpy(to, from, kept);
    to[kept] = '\0';
    text_clean(to, kept);
    return n + (from[n] == '/');
}

static void target_of(const char *path, struct target *t)
{
    char version[64];
    const char *query = strchr(path, '?');

    memset(t, 0, sizeof *t);
    t->watch = query && strstr(query, "watch=");
    if (strncmp(path, "/api/", 5) == 0) {
        path += 5;
    } else if (strncmp(path, "/apis/", 6) == 0) {
        path += 6;
        path += part(path, t->group, sizeof t->group);
    } else {
        return;
    }
    path += part(path, version, sizeof version);
    if (strncmp(path, "namespaces/", 11) == 0) {
        const char *rest = path + 11;
        rest += part(rest, t->space, sizeof t->space);
        if (*rest && *rest != '?')
            path = rest;
        else
            t->space[0] = '\0'; /* the namespace itself is meant */
    }
    path += part(path, t->resource, sizeof t->resource);
    path += part(path, t->name, sizeof t->name);
    part(path, t->sub, sizeof t->sub);
}

static const char *verb_of(const char *method, const struct target *t)
{
    if (strcmp(method, "POST") == 0)
        return "create";
    if (strcmp(method, "PUT") == 0)
        return "update";
    if (strcmp(method, "PATCH") == 0)
        return "patch";
    if (strcmp(method, "DELETE") == 0)
        return *t->name ? "delete" : "deletecollection";
    return t->watch ? "watch" : *t->name ? "get" : "list";
}

static const char *text_of(const json_t *o, const char *key, char *buf,
                           size_t n)
{
    const char *s = json_string_value(json_object_get(o, key));

    snprintf(buf, n, "%s", s ? s : "");
    text_clean(buf, strlen(buf));
    return buf;
}

static uint32_t retry_after(const struct http_exchange *x, const json_t *reply)
{
    const json_t *d = json_object_get(json_object_get(reply, "details"),
                                      "retryAfterSeconds");
    const char *header = http_reply_header(x, "retry-after");
    long s = json_is_integer(d) ? (long)json_integer_value(d) : 0;

    if (s <= 0 && header)
        s = strtol(header, NULL, 10);
    return s <= 0 ? 0 : s > 3600 ? 3600000 : (uint32_t)s * 1000;
}

static enum status forbidden(const struct kube *k, const char *method,
                             const char *path, const char *message,
                             struct err *err)
{
    struct target t;

    target_of(path, &t);
    if (!*t.resource)
        return err_set(err, ST_AUTH, "%s", message);
    return err_set(err, ST_AUTH,
                   "no right to %s %s%s%s%s%s; the %s needs the rule "
                   "{apiGroups: [\"%s\"], resources: [%s%s%s], verbs: [%s]} "
                   "(%s; the server says: %.150s)",
                   verb_of(method, &t), t.resource, *t.sub ? "/" : "", t.sub,
                   *t.space ? " in namespace " : "", t.space,
                   *t.space ? "Role" : "ClusterRole", t.group, t.resource,
                   *t.sub ? "/" : "", t.sub, verb_of(method, &t), k->a->source,
                   message);
}

enum status kube_refused(const struct kube *k, const char *method,
                         const char *path, const struct http_exchange *x,
                         const json_t *reply, struct err *err)
{
    char message[300], reason[48];
    enum status s;
    struct err own;

    if (!err)
        err = &own;
    text_of(reply, "message", message, sizeof message);
    text_of(reply, "reason", reason, sizeof reason);
    if (!*message) {
        snprintf(message, sizeof message, "%.200s",
                 x->reply_len < 200 ? x->reply : "");
        text_clean(message, strlen(message));
    }
    switch (x->status) {
    case 401:
        s = err_set(err, ST_AUTH,
                    "the API server %s does not know us by the %s%s%s",
                    k->a->server, k->a->source, *message ? ": " : "", message);
        break;
    case 403: s = forbidden(k, method, path, message, err); break;
    case 404: s = err_set(err, ST_NOT_FOUND, "%s: %s", path, message); break;
    case 400:
    case 413:
    case 422:
        s = err_set(err, ST_INVALID, "%s %s: %s", method, path, message);
        break;
    case 405:
    case 406:
    case 415:
        s = err_set(err, ST_UNSUPPORTED, "%s %s: %s", method, path, message);
        break;
    default:
        s = err_set(err, ST_RETRY, "the API server answered %d to %s %s%s%s",
                    x->status, method, path, *message ? ": " : "", message);
    }
    err->retry_after_ms = retry_after(x, reply);
    snprintf(err->code, sizeof err->code, "%s", reason);
    if (!*reason)
        snprintf(err->code, sizeof err->code, "%d", x->status);
    return s;
}

/* ---- one call */

static enum status call_once(struct kube *k, struct kube_call *c,
                             struct http_exchange *x, struct err *err)
{
    struct davit_kv *headers;
    const char *date;
    enum status s;

    arena_reset(&k->scratch);
    kube_exchange(k, c->path, &k->scratch, x);
    headers = (struct davit_kv *)(uintptr_t)x->headers; /* has room for one */
    if (c->accept)
        headers[0].value = c->accept;
    x->method = c->method ? c->method : "GET";
    x->deadline_mono_ms = c->deadline_mono_ms;
    x->cancel = c->cancel;
    if (c->body) {
        headers[x->n_headers++] = (struct davit_kv){
            "Content-Type", c->content_type ? c->content_type : KUBE_JSON};
        x->body = c->body;
        x->body_len = strlen(c->body);
    }
    s = http_do(k->client, x, &k->scratch, err);
    c->code = s == ST_OK ? x->status : 0;
    date = s == ST_OK ? http_reply_header(x, "date") : NULL;
    c->server_ms = date ? kit_date_ms(date) : 0;
    if (c->server_ms < 0)
        c->server_ms = 0;
    return s;
}

enum status kube_do(struct kube *k, struct kube_call *c, struct err *err)
{
    struct http_exchange x;
    json_error_t bad;
    enum status s;

    c->reply = NULL;
    c->code = 0;
    if (!c->deadline_mono_ms)
        c->deadline_mono_ms = clock_mono_ms() + DEADLINE_MS;
    s = call_once(k, c, &x, err);
    if (s == ST_OK && x.status == 401 && kube_token_again(k))
        s = call_once(k, c, &x, err);
    if (s != ST_OK)
        return s;
    if (x.reply_len)
        c->reply = json_loadb(x.reply, x.reply_len, 0, &bad);
    if (x.status / 100 != 2)
        s = kube_refused(k, x.method, c->path, &x, c->reply, err);
    else if (x.reply_len && !c->reply)
        s = err_set(err, ST_RETRY,
                    "what the API server answered to %s %s is no JSON (%s)",
                    x.method, c->path, bad.text);
    arena_reset(&k->scratch);
    return s;
}
