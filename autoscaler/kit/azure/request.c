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
    pthread_mutex_destroy(&a->lock);
}

static const char *link_of(const struct azure *a, const struct davit_http *x)
{
    const char *url = kit_reply_header(x, "azure-asyncoperation");
    if (!url)
        url = kit_reply_header(x, "location");
    return url && kit_url_below(a->endpoint, url) ? url : NULL;
}

int azure_send(struct azure *a, struct davit_call *call,
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
