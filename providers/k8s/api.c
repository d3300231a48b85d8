/*
 * api.c - one request to the API server, with our token.
 *
 * Kubelet renews a service account's token in its file: it is read anew every
 * minute, and at once when the server refuses it.  Nothing else is repeated
 * here: calls are repeated by the daemon, and every call of ours may be.
 */
#include "k8s.h"

#define TOKEN_LIVES_MS (INT64_C(86400000)) /* the server knows better */

static int token_load(void *arg, struct davit_call *call, char **ret,
                      int64_t *ret_lives_ms, struct davit_error *e)
{
    struct k8s *k = arg;
    (void)call;
    *ret_lives_ms = TOKEN_LIVES_MS;
    return kit_file_read(k->token_file, "the token file", ret, e);
}

static int64_t server_time(const struct davit_http *x)
{
    const char *date = kit_reply_header(x, "date");
    int64_t at = date ? kit_date_ms(date) : 0;

    return at > 0 ? at : 0;
}

int api_send(struct op *op, const struct request *r, json_t **ret,
             int *ret_http)
{
    struct k8s *k = op->k;
    struct davit_http x;
    struct asked asked = {k, r};
    const struct kit_api api = {
        .host = k->host,
        .base = k->endpoint,
        .fetch = token_load,
        .arg = k,
        .token = k->token_file ? &k->token : NULL,
        .judge = error_http,
        .judged = &asked,
        .ca_file = k->ca_file,
        .cert_file = k->cert_file,
        .key_file = k->key_file,
        .brief = true}; /* it is parsed before the next one is asked for */
    int s = kit_exchange(&api, op->call,
                         &(struct kit_request){.method = r->method,
                                               .url = r->path,
                                               .type = r->type,
                                               .json = r->body},
                         &x, ret, op->e);
    *ret_http = x.reply_status;
    op->server_ms = server_time(&x);
    if (s != DAVIT_OK) {
        json_decref(*ret);
        *ret = NULL;
    }
    return s;
}
