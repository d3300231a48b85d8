/*
 * api.c - one request to Google, with a token; and operations waited for.
 *
 * Nothing is repeated here but a request whose token was refused: the daemon
 * repeats calls, at a pace that suits the whole, and every call of ours may be
 * repeated.
 */
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "gke.h"

#define POLL_FIRST_MS 100
#define POLL_MOST_MS 2000
#define BEARER "Bearer "

static int exchange(struct op *op, const struct request *r, const char *token,
                    const char *body, struct davit_http *x)
{
    struct gke *g = op->g;
    char url[2048], auth[sizeof BEARER + KIT_TOKEN_MAX];
    snprintf(auth, sizeof auth, BEARER "%s", token);
    int n = snprintf(url, sizeof url, "%s/%s/%s%s%s",
                     r->compute ? g->compute_url : g->container_url,
                     r->compute ? "compute/v1" : "v1", r->path,
                     r->query[0] != '\0' ? "?" : "", r->query);
    if (n < 0 || (size_t)n >= sizeof url)
        return kit_error(op->e, DAVIT_INVALID, "LongUrl",
                         "the URL of %.100s is too long", r->path);
    struct davit_kv headers[] = {{"Authorization", auth},
                                 {"Accept", "application/json"},
                                 {"Content-Type", "application/json"}};
    *x = (struct davit_http){
        .size = sizeof *x, .method = r->method, .url = url,
        .headers = headers, .n_headers = body != NULL ? 3 : 2,
        .body = body, .body_len = body != NULL ? strlen(body) : 0};
    int s = g->host->http(op->call, x, op->e);
    explicit_bzero(auth, sizeof auth);
    x->url = NULL;
    x->headers = NULL;
    return s;
}

static int send_with_token(struct op *op, const struct request *r,
                           const char *body, struct davit_http *x)
{
    for (int tries = 0;; tries++) {
        char *token;
        int s = kit_token_get(&op->g->token, op->g->host, op->call, auth_fetch,
                              op->g, &token, op->e);
        if (s != DAVIT_OK)
            return s;
        s = exchange(op, r, token, body, x);
        bool refused = s == DAVIT_OK && x->reply_status == 401;
        if (refused)
            kit_token_refused(&op->g->token, token);
        kit_token_free(token);
        if (!refused || tries > 0)
            return s;
    }
}

int api_send(struct op *op, const struct request *r, json_t **ret)
{
    struct davit_http x;
    char *body = NULL;
    *ret = NULL;
    if (r->body != NULL && (body = json_dumps(r->body, JSON_COMPACT)) == NULL)
        return kit_error(op->e, DAVIT_BROKEN, "BadBody",
                         "the request to %.100s is not UTF-8", r->path);
    int s = send_with_token(op, r, body, &x);
    free(body);
    if (s != DAVIT_OK)
        return s;
    if (x.reply_status < 200 || x.reply_status > 299)
        return error_http(op, &x);
    *ret = kit_json_reply(&x, op->e);
    return *ret != NULL ? DAVIT_OK : DAVIT_RETRY;
}

static bool op_done(const json_t *o)
{
    return strcmp(kit_json_text(o, "status"), "DONE") == 0;
}

/* Until done or out of time; *ret is its last state. */
static int poll(struct op *op, const struct request *r, const json_t *first,
                json_t **ret)
{
    uint32_t wait = POLL_FIRST_MS;
    json_t *now = json_incref((json_t *)first);
    int s = DAVIT_OK;
    while (!op_done(now)) {
        json_decref(now);
        now = NULL;
        if (!op->g->host->sleep(op->call, wait)) {
            s = kit_error(op->e, DAVIT_CANCELLED, "",
                          "time was over while waiting for %.120s", r->path);
            break;
        }
        wait = wait * 2 < POLL_MOST_MS ? wait * 2 : POLL_MOST_MS;
        s = api_send(op, r, &now);
        /* It was accepted; that it is forgotten already is no failure. */
        if (s == DAVIT_NOT_FOUND) {
            s = DAVIT_OK;
            break;
        }
        if (s != DAVIT_OK)
            break;
    }
    *ret = now;
    return s;
}

static bool name_plain(const char *name)
{
    return *name != '\0' && strlen(name) < 128 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_") == strlen(name);
}

static int nameless(struct op *op)
{
    return kit_error(op->e, DAVIT_RETRY, "BadReply",
                     "the reply is not an operation with a name");
}

int api_wait_zone(struct op *op, const struct group *in, const json_t *reply)
{
    char path[400];
    json_t *last;
    const char *name = kit_json_text(reply, "name");
    if (!name_plain(name))
        return nameless(op);
    snprintf(path, sizeof path, "projects/%s/zones/%s/operations/%s",
             in->project, in->zone, name);
    int s = poll(op, &(struct request){"GET", true, path, "", NULL}, reply,
                 &last);
    if (s == DAVIT_OK)
        s = error_list(json_object_get(last, "error"), op->e);
    json_decref(last);
    return s;
}

int api_wait_container(struct op *op, const json_t *reply)
{
    char path[400];
    json_t *last;
    const char *name = kit_json_text(reply, "name");
    if (!name_plain(name))
        return nameless(op);
    snprintf(path, sizeof path, "projects/%s/locations/%s/operations/%s",
             op->g->project, op->g->location, name);
    int s = poll(op, &(struct request){"GET", false, path, "", NULL}, reply,
                 &last);
    if (s == DAVIT_OK)
        s = error_operation(last, op->e);
    json_decref(last);
    return s;
}

void api_request_id(char ret[37], const void *data, size_t n)
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    SHA256(data, n, d);
    d[6] = (unsigned char)((d[6] & 15) | 0x80);   /* version 8: our own */
    d[8] = (unsigned char)((d[8] & 63) | 0x80);
    char *o = ret;
    for (int i = 0; i < 16; i++)
        o += sprintf(o, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-"
                                                                        : "",
                     d[i]);
}
