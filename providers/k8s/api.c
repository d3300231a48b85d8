/*
 * api.c - one request to the API server, with our token.
 *
 * Kubelet renews a service account's token in its file: it is read anew every
 * minute, and at once when the server refuses it.  Nothing else is repeated
 * here: calls are repeated by the daemon, and every call of ours may be.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "k8s.h"

#define TOKEN_MAX 32768
#define TOKEN_HOLD_MS 60000
#define BEARER "Bearer "

static int token_load(struct op *op)
{
    struct k8s *k = op->k;
    FILE *f = fopen(k->token_file, "re");
    int why = errno;
    char *text = calloc(1, TOKEN_MAX + 1);
    if (text == NULL)
        abort();
    size_t n = f != NULL ? fread(text, 1, TOKEN_MAX, f) : 0;
    if (f != NULL)
        fclose(f);
    text[strcspn(text, " \r\n")] = '\0';
    if (n == 0 || *text == '\0') {
        free(text);
        return kit_error(op->e, DAVIT_AUTH, "token",
                         "the token file %.120s %s", k->token_file,
                         f == NULL ? strerror(why) : "is empty");
    }
    if (k->token != NULL)
        explicit_bzero(k->token, strlen(k->token));
    free(k->token);
    k->token = text;
    k->token_ms = k->host->wall_ms();
    return DAVIT_OK;
}

/* "Bearer ..." for the caller to wipe and free; NULL: no token is used.
 * refused: the one that the server did not take. */
static int bearer(struct op *op, const char *refused, char **ret)
{
    struct k8s *k = op->k;
    int s = DAVIT_OK;
    *ret = NULL;
    if (k->token_file == NULL)
        return DAVIT_OK;
    pthread_mutex_lock(&k->lock);
    int64_t age = k->host->wall_ms() - k->token_ms;
    bool old = k->token == NULL || age < 0 || age > TOKEN_HOLD_MS ||
               (refused != NULL &&
                strcmp(refused + sizeof BEARER - 1, k->token) == 0);
    /* A token that holds is better than none: kubelet may be writing. */
    if (old && token_load(op) != DAVIT_OK && k->token == NULL)
        s = DAVIT_AUTH;
    if (s == DAVIT_OK) {
        size_t n = sizeof BEARER + strlen(k->token);
        *ret = malloc(n);
        if (*ret == NULL)
            abort();
        snprintf(*ret, n, BEARER "%s", k->token);
    }
    pthread_mutex_unlock(&k->lock);
    return s;
}

static void wipe(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

static int exchange(struct op *op, const struct request *r, const char *body,
                    const char *auth, struct davit_http *x)
{
    struct k8s *k = op->k;
    char url[2048];
    int n = snprintf(url, sizeof url, "%s%s", k->endpoint, r->path);
    if (n < 0 || (size_t)n >= sizeof url)
        return kit_error(op->e, DAVIT_INVALID, "LongUrl",
                         "the URL of %.100s is too long", r->path);
    struct davit_kv headers[3] = {{"Accept", "application/json"}};
    size_t n_headers = 1;
    if (auth != NULL)
        headers[n_headers++] = (struct davit_kv){"Authorization", auth};
    if (body != NULL)
        headers[n_headers++] = (struct davit_kv){"Content-Type", r->type};
    *x = (struct davit_http){
        .size = sizeof *x, .method = r->method, .url = url,
        .headers = headers, .n_headers = n_headers, .body = body,
        .body_len = body != NULL ? strlen(body) : 0, .ca_file = k->ca_file,
        .cert_file = k->cert_file, .key_file = k->key_file,
        .brief = true};  /* it is parsed before the next one is asked for */
    int s = k->host->http(op->call, x, op->e);
    x->url = NULL;
    x->headers = NULL;
    return s;
}

static int send_with_token(struct op *op, const struct request *r,
                           const char *body, struct davit_http *x)
{
    char *auth = NULL, *again = NULL;
    int s = bearer(op, NULL, &auth);
    if (s == DAVIT_OK)
        s = exchange(op, r, body, auth, x);
    if (s == DAVIT_OK && x->reply_status == 401 && auth != NULL &&
        bearer(op, auth, &again) == DAVIT_OK && again != NULL &&
        strcmp(auth, again) != 0)
        s = exchange(op, r, body, again, x);
    wipe(auth);
    wipe(again);
    return s;
}

int api_send(struct op *op, const struct request *r, json_t **ret,
             int *ret_http)
{
    struct davit_http x;
    char *body = NULL;
    *ret = NULL;
    *ret_http = 0;
    if (r->body != NULL && (body = json_dumps(r->body, JSON_COMPACT)) == NULL)
        return kit_error(op->e, DAVIT_BROKEN, "BadBody",
                         "the request to %.100s is not UTF-8", r->path);
    int s = send_with_token(op, r, body, &x);
    free(body);
    if (s != DAVIT_OK)
        return s;
    *ret_http = x.reply_status;
    if (x.reply_status < 200 || x.reply_status > 299)
        return error_http(op, r, &x);
    *ret = kit_json_reply(&x, op->e);
    return *ret != NULL ? DAVIT_OK : DAVIT_RETRY;
}
