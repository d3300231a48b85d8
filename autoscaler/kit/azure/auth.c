/*
 * auth.c - access tokens for Azure Resource Manager.
 *
 * Three ways, as azure-identity has them: a client secret, a workload
 * identity (the token file that Kubernetes renews, read anew each time), a
 * managed identity through the instance metadata service.  One token per
 * handle; kit/token.c renews it in time.  No token and no secret is ever put
 * into an error or a log line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azure.h"

#define JWT_BEARER "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/* The form of the client credentials grant. */
static int form(const struct azure *a, char **ret, struct davit_error *e)
{
    char *proof = NULL;
    int st = DAVIT_OK;
    if (a->auth == AZURE_WORKLOAD)
        st = kit_file_read(a->token_file, "the federated token", &proof, e);
    else if (a->secret[0] != '\0')
        proof = kit_copy(a->secret);
    else
        st = kit_file_read(a->secret_file, "the client secret", &proof, e);
    if (st != DAVIT_OK)
        return st;
    bool workload = a->auth == AZURE_WORKLOAD;
    char *scope = kit_print("%s/.default", a->audience);
    const struct davit_kv kv[] = {
        {"grant_type", "client_credentials"},
        {"client_id", a->client},
        {"scope", scope},
        {workload ? "client_assertion" : "client_secret", proof},
        {"client_assertion_type", JWT_BEARER}};
    *ret = kit_form(kv, workload ? 5 : 4);
    kit_wipe(proof);
    free(scope);
    return DAVIT_OK;
}

static int ask(struct azure *a, struct davit_call *call,
               const struct kit_request *r, json_t **ret, struct davit_error *e)
{
    const struct kit_api api = {
        .host = a->host, .base = "", .judge = azure_entra_judge};
    struct davit_http x;
    return kit_exchange(&api, call, r, &x, ret, e);
}

static int ask_entra(struct azure *a, struct davit_call *call, json_t **ret,
                     struct davit_error *e)
{
    char *body = NULL;
    int st = form(a, &body, e);
    if (st != DAVIT_OK)
        return st;
    char *url = kit_print("%s/%s/oauth2/v2.0/token", a->authority, a->tenant);
    st = ask(a, call,
             &(struct kit_request){.method = "POST",
                                   .url = url,
                                   .body = body,
                                   .type = "application/x-www-form-urlencoded"},
             ret, e);
    free(url);
    kit_wipe(body);
    return st;
}

static int ask_metadata(struct azure *a, struct davit_call *call, json_t **ret,
                        struct davit_error *e)
{
    static const struct davit_kv header = {"Metadata", "true"};
    char *resource = kit_encode(a->audience), *client = kit_encode(a->client);
    char *url = kit_print("%s/metadata/identity/oauth2/token"
                          "?api-version=2018-02-01&resource=%s%s%s",
                          a->imds, resource,
                          client[0] != '\0' ? "&client_id=" : "", client);
    int st = ask(
        a, call,
        &(struct kit_request){
            .method = "GET", .url = url, .headers = &header, .n_headers = 1},
        ret, e);
    free(url);
    free(resource);
    free(client);
    return st;
}

int azure_token_fetch(void *arg, struct davit_call *call, char **ret,
                      int64_t *ret_lives_ms, struct davit_error *e)
{
    struct azure *a = arg;
    json_t *reply = NULL;
    int st = a->auth == AZURE_MANAGED ? ask_metadata(a, call, &reply, e)
                                      : ask_entra(a, call, &reply, e);
    const char *token = kit_json_text(reply, "access_token");
    *ret_lives_ms = kit_json_int(reply, "expires_in", 0) * 1000;
    if (st == DAVIT_OK && (token[0] == '\0' || *ret_lives_ms <= 0))
        st = kit_error(e, DAVIT_RETRY, "NoToken",
                       "the token endpoint's reply holds no token");
    else if (st == DAVIT_OK)
        *ret = kit_copy(token);
    json_decref(reply);
    return st;
}

/* What is given says how, when auth: does not. */
int azure_settle(struct azure *a, struct kit_keep *keep, struct davit_error *e)
{
    bool secret = a->secret[0] != '\0' || a->secret_file[0] != '\0';
    if (a->auth == AZURE_AS_GIVEN)
        a->auth = secret                     ? AZURE_SECRET
                  : a->token_file[0] != '\0' ? AZURE_WORKLOAD
                                             : AZURE_MANAGED;
    if (!a->audience)
        a->audience = kit_keep_text(
            keep, strncmp(a->endpoint, "https://", 8) == 0 ? a->endpoint
                                                           : AZURE_PUBLIC);
    const char *lacks = a->auth == AZURE_MANAGED ? NULL
                        : a->tenant[0] == '\0'   ? "tenant_id"
                        : a->client[0] == '\0'   ? "client_id"
                        : a->auth == AZURE_SECRET && !secret
                            ? "client_secret_file"
                        : a->auth == AZURE_WORKLOAD && a->token_file[0] == '\0'
                            ? "federated_token_file"
                            : NULL;
    return !lacks ? DAVIT_OK
                  : kit_error(e, DAVIT_INVALID, lacks, "%s is needed for %s",
                              lacks,
                              a->auth == AZURE_SECRET ? "client_secret"
                                                      : "workload_identity");
}
