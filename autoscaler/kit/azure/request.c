/*
 * request.c - requests to Azure Resource Manager: one exchange, or all pages.
 *
 * Nothing is repeated here: every call of a plug-in may be, by the daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azure.h"

#define PAGES_MAX 1000

void azure_init(struct azure *a, const struct davit_host *host)
{
    a->host = host;
    a->auth = AZURE_AS_GIVEN;
    pthread_mutex_init(&a->lock, NULL);
    kit_token_init(&a->token);
}

void azure_done(struct azure *a)
{
    kit_token_done(&a->token);
    json_decref(a->sizes);
    json_decref(a->list);
    json_decref(a->list_of);
    json_decref(a->versions);
    pthread_mutex_destroy(&a->lock);
}

static const char *link_of(const struct azure *a, const struct davit_http *x)
{
    const char *url = kit_reply_header(x, "azure-asyncoperation");
    if (!url)
        url = kit_reply_header(x, "location");
    return url && kit_url_below(a->endpoint, url) ? url : NULL;
}

/* ---- API versions: China and Government serve new ones months later
 * (azure-cli#21492, #12042, #23985), and their refusal names those they have. */

#define VERSION "api-version="
#define VERSION_SIZE 11 /* 2026-04-01 */

static bool version_at(const char *text, char ret[VERSION_SIZE])
{
    static const char like[] = "0000-00-00";
    for (size_t i = 0; i < VERSION_SIZE - 1; i++)
        if (like[i] == '0' ? text[i] < '0' || text[i] > '9'
                           : text[i] != like[i])
            return false;
    snprintf(ret, VERSION_SIZE, "%.10s", text);
    return true;
}

static const char *version_of(const char *url, char ret[VERSION_SIZE])
{
    const char *at = strstr(url, VERSION);
    return at && version_at(at + strlen(VERSION), ret) ? at + strlen(VERSION)
                                                       : NULL;
}

/* The newest that is no preview and not newer than ours, of a sentence such as
 * "... The supported api-versions are '2017-08-31, 2018-03-31'". */
static bool version_best(const char *text, const char *ours,
                         char ret[VERSION_SIZE])
{
    char v[VERSION_SIZE];
    ret[0] = '\0';
    text = strstr(text, "api-versions are");
    for (; text && *text != '\0'; text++)
        if (version_at(text, v)) {
            text += VERSION_SIZE - 2;
            if (text[1] != '-' && strcmp(v, ours) < 0 && strcmp(v, ret) > 0)
                memcpy(ret, v, VERSION_SIZE);
        }
    return ret[0] != '\0';
}

/* The URL with the version that this cloud is known to serve; for free(). */
static char *url_known(struct azure *a, const char *url)
{
    char ours[VERSION_SIZE];
    const char *at = version_of(url, ours);
    char *known = NULL;
    pthread_mutex_lock(&a->lock);
    const char *v = at ? kit_json_text(a->versions, ours) : "";
    if (*v != '\0')
        known = kit_print("%.*s%s%s", (int)(at - url), url, v,
                          at + VERSION_SIZE - 1);
    pthread_mutex_unlock(&a->lock);
    return known ? known : kit_copy(url);
}

/* True: it was refused for its version, and another one is known now. */
static bool version_learn(struct azure *a, const char *url,
                          const struct azure_reply *r)
{
    const char *code = kit_json_text(r->json, "error.code");
    char ours[VERSION_SIZE], best[VERSION_SIZE];
    char line[160];
    if ((strcmp(code, "NoRegisteredProviderFound") != 0 &&
         strcmp(code, "InvalidApiVersionParameter") != 0) ||
        !version_of(url, ours) ||
        !version_best(kit_json_text(r->json, "error.message"), ours, best))
        return false;
    pthread_mutex_lock(&a->lock);
    if (!a->versions)
        a->versions = kit_must(json_object());
    json_object_set_new(a->versions, ours, json_string(best));
    pthread_mutex_unlock(&a->lock);
    snprintf(line, sizeof line,
             "this cloud does not serve Azure's API of %s: asked by that of %s",
             ours, best);
    a->host->log(2, line);
    return true;
}

static int send_once(struct azure *a, struct davit_call *call,
                     const struct azure_request *r, struct azure_reply *ret,
                     struct davit_error *e);

int azure_send(struct azure *a, struct davit_call *call,
               const struct azure_request *r, struct azure_reply *ret,
               struct davit_error *e)
{
    struct azure_request now = *r;
    int st = DAVIT_OK;
    for (int tries = 0; tries < 2; tries++) {
        char *url = url_known(a, r->url);
        now.url = url;
        st = send_once(a, call, &now, ret, e);
        free(url);
        /* It was refused before anything was done. */
        if (st == DAVIT_OK || tries > 0 || !version_learn(a, r->url, ret))
            break;
        json_decref(ret->json);
    }
    return st;
}

static int send_once(struct azure *a, struct davit_call *call,
                     const struct azure_request *r, struct azure_reply *ret,
                     struct davit_error *e)
{
    const struct kit_api api = {.host = a->host,
                                .base = a->endpoint,
                                .token = &a->token,
                                .fetch = azure_token_fetch,
                                .arg = a,
                                .judge = azure_judge};
    const struct davit_kv match = r->if_none
                                      ? (struct davit_kv){"If-None-Match", "*"}
                                      : (struct davit_kv){"If-Match",
                                                          r->if_match};
    struct davit_http x;
    *ret = (struct azure_reply){0};
    int st = a->pace ? a->pace(a->paced, call, r->method, r->url, e) : DAVIT_OK;
    if (st != DAVIT_OK)
        return st;
    st = kit_exchange(
        &api, call,
        &(struct kit_request){.method = r->method,
                              .url = r->url,
                              .json = r->body,
                              .headers = &match,
                              .n_headers = r->if_none || r->if_match ? 1 : 0,
                              .loose = strcmp(r->method, "GET") != 0},
        &x, &ret->json, e);
    ret->status = x.reply_status;
    if (a->seen)
        a->seen(a->paced, &x);
    ret->operation = link_of(a, &x);
    return st;
}

int azure_get(struct azure *a, struct davit_call *call, const char *url,
              json_t **ret, struct davit_error *e)
{
    struct azure_reply r;
    int st = azure_send(
        a, call, &(struct azure_request){.method = "GET", .url = url}, &r, e);
    if (st != DAVIT_OK) {
        json_decref(r.json);
        r.json = NULL;
    }
    *ret = r.json;
    return st;
}

int azure_pages(struct azure *a, struct davit_call *call, const char *url,
                json_t **ret, struct davit_error *e)
{
    json_t *all = kit_must(json_array());
    char *next = kit_copy(url);
    int st = DAVIT_OK;
    for (int n = 0; st == DAVIT_OK && next[0] != '\0'; n++) {
        json_t *page = NULL;
        if (n == PAGES_MAX)
            st = kit_error(e, DAVIT_BROKEN, "TooManyPages",
                           "more than %d pages", PAGES_MAX);
        else
            st = azure_get(a, call, next, &page, e);
        if (st == DAVIT_OK && !json_is_array(json_object_get(page, "value")))
            st = kit_error(e, DAVIT_RETRY, "BadJson",
                           "Azure's page has no value[]");
        json_array_extend(all, json_object_get(page, "value"));
        free(next);
        next = kit_copy(kit_json_text(page, "nextLink"));
        json_decref(page);
    }
    free(next);
    *ret = st == DAVIT_OK ? all : NULL;
    if (st != DAVIT_OK)
        json_decref(all);
    return st;
}

bool azure_metadata(struct azure *a, struct davit_call *call, const char *path,
                    char *ret, size_t size)
{
    struct davit_error ignored = {.size = sizeof ignored};
    struct davit_kv header = {"Metadata", "true"};
    char *url = kit_print("%s/metadata/%s?api-version=2021-02-01&format=text",
                          a->imds, path);
    struct davit_http x = {.size = sizeof x,
                           .method = "GET",
                           .url = url,
                           .headers = &header,
                           .n_headers = 1};
    int st = a->host->http(call, &x, &ignored);
    free(url);
    ret[0] = '\0';
    if (st == DAVIT_OK && x.reply_status == 200)
        snprintf(ret, size, "%.*s", (int)strcspn(x.reply_body, "\r\n"),
                 x.reply_body);
    return ret[0] != '\0';
}
