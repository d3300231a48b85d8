/*
 * head.c - calls to the head: address, token, retries.
 *
 * No cluster id is sent (Ray does not ask for one), so a head that restarts
 * needs nothing from us; should one be asked for after all, a fresh connection
 * is tried once.  A refused token is looked up again once: it may have been
 * rotated.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/text.h"
#include "inside.h"
#include "ray.pb-c.h"

#define GCS_PORT "6379"

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *fmt, ...)
{
    char *s;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&s, fmt, args) < 0)
        mem_out();
    va_end(args);
    return s;
}

/* "h", "h:p", "[v6]:p" or a URL to "scheme://host:port". */
static char *base_of(const char *address)
{
    const char *scheme = strstr(address, "://");
    const char *host = scheme ? scheme + 3 : address;
    size_t len = strcspn(host, "/");
    const char *bracket = memchr(host, ']', len);
    const char *from = bracket ? bracket : host;
    bool port = memchr(from, ':', len - (size_t)(from - host));
    const char *tls = getenv("RAY_USE_TLS");
    bool use_tls = tls && strcmp(tls, "1") == 0;
    return format("%.*s%.*s%s",
                  scheme    ? (int)(host - address)
                  : use_tls ? 8
                            : 7,
                  scheme    ? address
                  : use_tls ? "https://"
                            : "http://",
                  (int)len, host, port ? "" : ":" GCS_PORT);
}

static void set_authorization(struct ray_head *h)
{
    if (h->authorization) {
        explicit_bzero(h->authorization, strlen(h->authorization));
        free(h->authorization);
    }
    h->authorization = h->token.text[0] ? format("Bearer %s", h->token.text)
                                        : NULL;
}

struct ray_head *ray_head_new(const char *address, const char *token_file)
{
    struct ray_head *h = MEM_NEW(struct ray_head);
    h->base = base_of(address);
    h->label = format("Ray head %s", strstr(h->base, "://") + 3);
    h->token_file = mem_strdup(token_file);
    h->client = http_client_new();
    ray_token_read(&h->token, h->token_file);
    set_authorization(h);
    return h;
}

void ray_head_free(struct ray_head *h)
{
    if (!h)
        return;
    http_client_free(h->client);
    ray_token_done(&h->token);
    if (h->authorization)
        explicit_bzero(h->authorization, strlen(h->authorization));
    free(h->authorization);
    free(h->base);
    free(h->label);
    free(h->token_file);
    free(h->session);
    free(h->note);
    arena_done(&h->scratch);
    free(h);
}

/* Looks the token up again; true when it is another one now. */
static bool token_changed(struct ray_head *h)
{
    char *before = mem_strdup(h->token.text);
    ray_token_read(&h->token, h->token_file);
    bool changed = strcmp(before, h->token.text) != 0;
    explicit_bzero(before, strlen(before));
    free(before);
    set_authorization(h);
    return changed;
}

static enum status teach_auth(const struct ray_head *h,
                              const struct grpc_call *call, struct err *err)
{
    const struct ray_token *t = &h->token;
    if (t->text[0])
        return err_set(err, ST_AUTH,
                       "%s refuses the token from %s: it must be the one the "
                       "head was started with (`ray get-auth-token` there "
                       "shows it)",
                       h->label, t->source);
    if (t->trouble[0])
        return err_set(err, ST_AUTH,
                       "%s asks for a token, and there is none to send: %s",
                       h->label, t->trouble);
    if (strstr(call->detail, "oken") || call->code == GRPC_UNAUTHENTICATED)
        return err_set(err, ST_AUTH,
                       "%s asks for a token and none was found: set "
                       "RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or "
                       "head.ray.token_file, or put it into ~/.ray/auth_token",
                       h->label);
    return err ? err->status : ST_AUTH;
}

/* Adds the likely cause to the message. */
static enum status teach(const struct ray_head *h, const struct grpc_call *call,
                         enum status s, struct err *err)
{
    char code[sizeof err->code] = "";
    if (err)
        memcpy(code, err->code, sizeof code);
    if (s == ST_AUTH) {
        teach_auth(h, call, err);
    } else if (call->code == GRPC_UNIMPLEMENTED) {
        err_set(err, s,
                "%s speaks gRPC but does not know %s: is this the GCS port "
                "(6379 unless chosen otherwise; 10001 is Ray Client's), and "
                "Ray 2.10 or newer?",
                h->label, strrchr(call->path, '/') + 1);
    } else if (call->code == GRPC_NO_CODE && !h->answered && err &&
               (s == ST_INVALID || strstr(err->text, "broke off") ||
                strstr(err->text, "not HTTP"))) {
        /* it has never answered: more likely the wrong place than a head
         * that is ill */
        bool tls = strncmp(h->base, "https:", 6) == 0;
        const char *hint =
            !tls
                ? "is it the GCS port (6379 unless chosen otherwise), and without "
                  "TLS? With it: https:// and RAY_TLS_CA_CERT"
            : call->cert_file ? ""
                              : "Ray's TLS wants a certificate from us too: "
                                "RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY";
        size_t n = strlen(err->text);
        if (hint[0])
            snprintf(err->text + n, sizeof err->text - n, " (%s)", hint);
    }
    if (err)
        memcpy(err->code, code, sizeof code);
    return s;
}

void ray_call_begin(struct ray_head *h)
{
    arena_reset(&h->scratch);
}

enum status ray_call(struct ray_head *h, const char *path, const void *message,
                     size_t len, int64_t deadline_mono_ms, const void **ret,
                     size_t *ret_len, struct err *err)
{
    struct err ours = {0};
    if (!err)
        err = &ours;
    bool again = true;
    for (;;) {
        struct davit_kv authorization = {"authorization", h->authorization};
        struct grpc_call call = {
            .client = h->client,
            .base = h->base,
            .path = path,
            .message = message,
            .message_len = len,
            .metadata = &authorization,
            .n_metadata = h->authorization ? 1 : 0,
            .label = h->label,
            .ca_file = getenv("RAY_TLS_CA_CERT"),
            .cert_file = getenv("RAY_TLS_SERVER_CERT"),
            .key_file = getenv("RAY_TLS_SERVER_KEY"),
            .deadline_mono_ms = deadline_mono_ms,
        };
        enum status s = grpc_do(&call, &h->scratch, err);
        if (!s) {
            h->answered = true;
            *ret = call.reply;
            *ret_len = call.reply_len;
            return ST_OK;
        }
        free(h->note); /* it may be another head by the time it answers */
        h->note = NULL;
        bool wrong_cluster = call.code == GRPC_UNAUTHENTICATED &&
                             strstr(call.detail, "WrongClusterID");
        if (wrong_cluster && again) {
            http_client_free(h->client);
            h->client = http_client_new();
        } else if (wrong_cluster) {
            return err_set(err, ST_RETRY,
                           "%s says it is another cluster than before: %.200s",
                           h->label, call.detail);
        } else if (s != ST_AUTH || !again || !token_changed(h)) {
            return teach(h, &call, s, err);
        }
        again = false;
    }
}

static bool id_from_hex(const char *hex, unsigned char *id, size_t max,
                        size_t *ret_n)
{
    size_t n = strlen(hex);
    if (n == 0 || n % 2 || n / 2 > max ||
        strspn(hex, "0123456789abcdefABCDEF") != n)
        return false;
    for (size_t i = 0; i < n / 2; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        id[i] = (unsigned char)byte;
    }
    *ret_n = n / 2;
    return true;
}

enum status ray_head_drain(struct ray_head *h, const char *ray_id, bool preempt,
                           const char *message, int64_t deadline_wall_ms,
                           int64_t deadline_mono_ms, bool *accepted, char *why,
                           size_t n_why, struct err *err)
{
    unsigned char id[64];
    PB(DrainNodeRequest)
    request = RAY__RPC__AUTOSCALER__DRAIN_NODE_REQUEST__INIT;
    *accepted = false;
    if (n_why)
        why[0] = '\0';
    if (!id_from_hex(ray_id, id, sizeof id, &request.node_id.len))
        return err_set(err, ST_INVALID,
                       "\"%.80s\" is not the id of a Ray node: it is hex "
                       "digits, two per byte",
                       ray_id);
    request.node_id.data = id;
    request.reason =
        preempt
            ? RAY__RPC__AUTOSCALER__DRAIN_NODE_REASON__DRAIN_NODE_REASON_PREEMPTION
            : RAY__RPC__AUTOSCALER__DRAIN_NODE_REASON__DRAIN_NODE_REASON_IDLE_TERMINATION;
    request.reason_message = (char *)(message ? message : "");
    request.deadline_timestamp_ms = deadline_wall_ms;

    ray_call_begin(h);
    size_t len;
    const void *answer, *bytes = ray_packed(&h->scratch, &request.base, &len);
    enum status s = ray_call(h, RAY_AUTOSCALER "DrainNode", bytes, len,
                             deadline_mono_ms, &answer, &len, err);
    if (s)
        return s;
    PB(DrainNodeReply) *reply = ray_unpacked(
        &h->scratch, &ray__rpc__autoscaler__drain_node_reply__descriptor,
        answer, len, (size_t)1 << 20);
    if (!reply)
        return err_set(err, ST_BROKEN,
                       "%s answered DrainNode with %zu bytes that are no such "
                       "reply",
                       h->label, len);
    *accepted = reply->is_accepted;
    if (n_why && !reply->is_accepted) {
        snprintf(why, n_why, "%s",
                 reply->rejection_reason_message[0]
                     ? reply->rejection_reason_message
                     : "the head gave no reason");
        text_clean(why, strlen(why));
    }
    return ST_OK;
}
