/*
 * auth.c - access tokens for Azure Resource Manager.
 *
 * Three ways, as azure-identity has them: a client secret, a workload
 * identity (the token file that Kubernetes renews, read anew each time), a
 * managed identity through the instance metadata service.  One token per
 * handle; kit/token.c renews it in time.  No token and no secret is ever put
 * into an error or a log line.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aks.h"

#define JWT_BEARER "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define FILE_MAX 65536

/* A secret or token from a file, to be given to kit_token_free(). */
static int file_read(const char *path, char **ret, struct davit_error *e)
{
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return kit_error(e, DAVIT_AUTH, "TokenFile", "cannot read %.120s: %s",
                         path, strerror(errno));
    char *text = must(calloc(1, FILE_MAX + 1));
    size_t n = fread(text, 1, FILE_MAX, f);
    fclose(f);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    if (n > 0 && n < FILE_MAX && strlen(text) == n) {
        *ret = text;
        return DAVIT_OK;
    }
    kit_token_free(text);
    return kit_error(e, DAVIT_AUTH, "TokenFile", "%.150s holds no token", path);
}

/* The form of the client credentials grant. */
static int form(const struct aks *a, char **ret, struct davit_error *e)
{
    char *proof = NULL;
    int st = DAVIT_OK;
    if (a->auth == AUTH_WORKLOAD)
        st = file_read(a->token_file, &proof, e);
    else if (a->secret[0] != '\0')
        proof = text_copy(a->secret);
    else
        st = file_read(a->secret_file, &proof, e);
    if (st != DAVIT_OK)
        return st;
    bool workload = a->auth == AUTH_WORKLOAD;
    char *scope = text_print("%s/.default", a->audience);
    const struct davit_kv kv[] = {
        {"grant_type", "client_credentials"},
        {"client_id", a->client},
        {"scope", scope},
        {workload ? "client_assertion" : "client_secret", proof},
        {"client_assertion_type", JWT_BEARER}};
    *ret = kit_form(kv, workload ? 5 : 4);
    kit_token_free(proof);
    free(scope);
    return DAVIT_OK;
}

static int ask_entra(struct aks *a, struct davit_call *call,
                     struct davit_http *x, struct davit_error *e)
{
    static const struct davit_kv headers[] = {
        {"Accept", "application/json"},
        {"Content-Type", "application/x-www-form-urlencoded"}};
    char *body = NULL;
    int st = form(a, &body, e);
    if (st != DAVIT_OK)
        return st;
    char *url = text_print("%s/%s/oauth2/v2.0/token", a->authority, a->tenant);
    *x = (struct davit_http){.size = sizeof *x, .method = "POST", .url = url,
                             .headers = headers, .n_headers = 2,
                             .body = body, .body_len = strlen(body)};
    st = a->host->http(call, x, e);
    free(url);
    kit_token_free(body);
    return st;
}

static int ask_metadata(struct aks *a, struct davit_call *call,
                        struct davit_http *x, struct davit_error *e)
{
    static const struct davit_kv header = {"Metadata", "true"};
    char *resource = url_escape(a->audience), *client = url_escape(a->client);
    char *url = text_print("%s/metadata/identity/oauth2/token"
                           "?api-version=2018-02-01&resource=%s%s%s", a->imds,
                           resource, client[0] != '\0' ? "&client_id=" : "",
                           client);
    *x = (struct davit_http){.size = sizeof *x, .method = "GET", .url = url,
                             .headers = &header, .n_headers = 1};
    int st = a->host->http(call, x, e);
    free(url);
    free(resource);
    free(client);
    return st;
}

static int fetch(void *arg, struct davit_call *call, char **ret,
                 int64_t *ret_lives_ms, struct davit_error *e)
{
    struct aks *a = arg;
    struct davit_http x;
    int st = a->auth == AUTH_MANAGED ? ask_metadata(a, call, &x, e)
                                     : ask_entra(a, call, &x, e);
    if (st != DAVIT_OK)
        return st;
    json_t *reply = json_loadb(x.reply_body, x.reply_len, 0, NULL);
    const char *token = kit_json_text(reply, "access_token");
    *ret_lives_ms = kit_json_int(reply, "expires_in", 0) * 1000;
    if (x.reply_status != 200) {
        st = entra_judge(e, reply, x.reply_status);
        e->retry_after_ms = kit_retry_after_ms(&x, a->host->wall_ms());
    } else if (token[0] == '\0' || *ret_lives_ms <= 0) {
        st = kit_error(e, DAVIT_RETRY, "NoToken",
                       "the token endpoint's reply holds no token");
    } else {
        *ret = text_print("Bearer %s", token);
    }
    json_decref(reply);
    return st;
}

int auth_header(struct op *op, char **ret)
{
    return kit_token_get(&op->aks->token, op->aks->host, op->call, fetch,
                         op->aks, ret, op->error);
}
