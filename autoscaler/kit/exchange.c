/*
 * exchange.c - see exchange.h.
 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MAX 20

bool kit_url_below(const char *base, const char *url)
{
    const char *colon = strstr(base, "://");
    if (!colon)
        return false;
    size_t scheme = (size_t)(colon - base) + 3;
    if (strncasecmp(url, base, scheme) != 0)
        return false;
    const char *host = base + scheme, *theirs = url + scheme;
    size_t n = strcspn(host, "/?#"), m = strcspn(theirs, "/?#");
    if (n == 0 || m < n || memchr(theirs, '@', m) || memchr(theirs, '\\', m) ||
        strncasecmp(theirs + m - n, host, n) != 0)
        return false;
    return m == n || theirs[m - n - 1] == '.';
}

static int send(const struct kit_api *a, struct davit_call *call,
                const struct kit_request *r, const char *url, const char *body,
                const char *token, struct davit_http *x, struct davit_error *e)
{
    struct davit_kv h[HEADERS_MAX] = {{"Accept", "application/json"}};
    size_t n = 1;
    char *bearer = token ? kit_print("Bearer %s", token) : NULL;
    if (bearer)
        h[n++] = (struct davit_kv){"Authorization", bearer};
    if (body)
        h[n++] = (struct davit_kv){"Content-Type",
                                   r->type ? r->type : "application/json"};
    for (size_t i = 0; i < r->n_headers && n < HEADERS_MAX; i++)
        h[n++] = r->headers[i];
    *x = (struct davit_http){.size = sizeof *x,
                             .method = r->method,
                             .url = url,
                             .headers = h,
                             .n_headers = n,
                             .body = body,
                             .body_len = body ? strlen(body) : 0,
                             .ca_file = a->ca_file,
                             .cert_file = a->cert_file,
                             .key_file = a->key_file,
                             .brief = a->brief};
    int st = a->host->http(call, x, e);
    kit_wipe(bearer);
    x->url = "";
    x->headers = NULL;
    x->n_headers = 0;
    return st;
}

static int send_authorised(const struct kit_api *a, struct davit_call *call,
                           const struct kit_request *r, const char *url,
                           const char *body, struct davit_http *x,
                           struct davit_error *e)
{
    for (int tries = 0;; tries++) {
        char *token;
        int st = kit_token_get(a->token, a->host, call, a->fetch, a->arg,
                               &token, e);
        if (st == DAVIT_OK)
            st = send(a, call, r, url, body, token, x, e);
        bool refused = st == DAVIT_OK && x->reply_status == 401;
        if (refused)
            kit_token_refused(a->token, token);
        kit_wipe(token);
        if (!refused || tries > 0)
            return st;
    }
}

static int read_reply(const struct kit_api *a, const struct kit_request *r,
                      struct davit_http *x, json_t **ret, struct davit_error *e)
{
    json_error_t at = {.text = ""};
    *ret = json_loadb(x->reply_body, x->reply_len, JSON_REJECT_DUPLICATES, &at);
    if (x->reply_status < 200 || x->reply_status > 299) {
        int st = a->judge(a->judged, x, *ret, e);
        uint32_t wait = kit_retry_after_ms(x, a->host->wall_ms());
        if (e && wait > 0)
            e->retry_after_ms = wait;
        return st;
    }
    if (json_is_object(*ret) || r->loose)
        return DAVIT_OK;
    /* Cut off, or from a proxy: it says nothing about the request. */
    return kit_error(e, DAVIT_RETRY, "BadReply",
                     "the reply (HTTP %d, %zu bytes) is not a JSON object: "
                     "%.80s",
                     x->reply_status, x->reply_len, at.text);
}

int kit_exchange(const struct kit_api *a, struct davit_call *call,
                 const struct kit_request *r, struct davit_http *x,
                 json_t **ret, struct davit_error *e)
{
    char *url = kit_print("%s%s", r->url[0] == '/' ? a->base : "", r->url);
    char *body = r->body ? kit_copy(r->body) : NULL;
    int st = DAVIT_OK;
    *ret = NULL;
    *x = (struct davit_http){.size = sizeof *x};
    if (r->json && !(body = json_dumps(r->json, JSON_COMPACT)))
        st = kit_error(e, DAVIT_BROKEN, "BadBody",
                       "the request to %.100s is not UTF-8", r->url);
    else if (a->token && !kit_url_below(a->base, url))
        st = kit_error(e, DAVIT_BROKEN, "ForeignLink",
                       "a reply refers to %.90s, which is not below %.60s: no "
                       "token is sent there",
                       url, a->base);
    else if (a->token)
        st = send_authorised(a, call, r, url, body, x, e);
    else
        st = send(a, call, r, url, body, NULL, x, e);
    free(url);
    kit_wipe(body);
    return st == DAVIT_OK ? read_reply(a, r, x, ret, e) : st;
}
