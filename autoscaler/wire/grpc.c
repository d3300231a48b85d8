/*
 * grpc.c - see grpc.h.
 *
 * Three kinds of failure: no answer at all is http.c's error; an answer that is
 * not gRPC most often means a wrong port, and the message says so; a gRPC status
 * other than 0 becomes the status of ours that calls for the same reaction.
 */
#include "grpc.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"

#define FRAME 5u /* a flag byte and the message's length */

static const struct code {
    const char *name;
    enum status status;
} codes[] = {
    [GRPC_OK] = {"OK", ST_OK},
    [GRPC_CANCELLED] = {"CANCELLED", ST_RETRY}, /* by them, not by us */
    [GRPC_UNKNOWN] = {"UNKNOWN", ST_BROKEN},
    [GRPC_INVALID_ARGUMENT] = {"INVALID_ARGUMENT", ST_INVALID},
    [GRPC_DEADLINE_EXCEEDED] = {"DEADLINE_EXCEEDED", ST_RETRY},
    [GRPC_NOT_FOUND] = {"NOT_FOUND", ST_NOT_FOUND},
    [GRPC_ALREADY_EXISTS] = {"ALREADY_EXISTS", ST_INVALID},
    [GRPC_PERMISSION_DENIED] = {"PERMISSION_DENIED", ST_AUTH},
    [GRPC_RESOURCE_EXHAUSTED] = {"RESOURCE_EXHAUSTED", ST_THROTTLED},
    [GRPC_FAILED_PRECONDITION] = {"FAILED_PRECONDITION", ST_RETRY},
    [GRPC_ABORTED] = {"ABORTED", ST_RETRY},
    [GRPC_OUT_OF_RANGE] = {"OUT_OF_RANGE", ST_INVALID},
    [GRPC_UNIMPLEMENTED] = {"UNIMPLEMENTED", ST_UNSUPPORTED},
    [GRPC_INTERNAL] = {"INTERNAL", ST_BROKEN},
    [GRPC_UNAVAILABLE] = {"UNAVAILABLE", ST_RETRY},
    [GRPC_DATA_LOSS] = {"DATA_LOSS", ST_BROKEN},
    [GRPC_UNAUTHENTICATED] = {"UNAUTHENTICATED", ST_AUTH},
};

static const struct code *code_of(enum grpc_code c)
{
    static const struct code none = {"NO_CODE", ST_BROKEN};
    return (int)c >= 0 && (size_t)c < sizeof codes / sizeof codes[0] ? &codes[c]
                                                                     : &none;
}

const char *grpc_code_name(enum grpc_code c)
{
    return code_of(c)->name;
}

/* grpc-message is percent-encoded. */
static const char *detail_of(struct arena *arena, const char *text)
{
    size_t n;
    char *s = text_decode(arena, text, strlen(text), &n);

    text_clean(s, n);
    return s;
}

/* The last word of the path, for messages. */
static const char *method(const struct grpc_call *call)
{
    const char *slash = strrchr(call->path, '/');
    return slash ? slash + 1 : call->path;
}

/* The answer is HTTP but not gRPC. */
static enum status not_grpc(const struct grpc_call *call,
                            const struct http_exchange *x, struct err *err)
{
    const char *type = http_reply_header(x, "content-type");
    enum status s = ST_INVALID;
    if (x->status == 401 || x->status == 403)
        s = ST_AUTH;
    else if (x->status == 429)
        s = ST_THROTTLED;
    else if (x->status >= 500)
        s = ST_RETRY; /* a proxy whose backend is away */
    err_set(err, s,
            "%s answered HTTP %d with content-type %s, which is not gRPC: is "
            "this the right port?",
            call->label, x->status, type ? type : "(none)");
    if (err)
        snprintf(err->code, sizeof err->code, "HTTP %d", x->status);
    return s;
}

static enum status refused(struct grpc_call *call, struct err *err)
{
    const struct code *c = code_of(call->code);
    err_set(err, c->status, "%s: %s answered %s (%d)%s%s", call->label,
            method(call), c->name, (int)call->code, call->detail[0] ? ": " : "",
            call->detail);
    if (err)
        snprintf(err->code, sizeof err->code, "%s", c->name);
    return c->status;
}

/* The status is in the trailers, or in the headers when there is no body. */
static bool read_code(struct grpc_call *call, const struct http_exchange *x,
                      struct arena *arena)
{
    const char *code = http_reply_header(x, "grpc-status");
    const char *detail = http_reply_header(x, "grpc-message");
    call->detail = detail ? detail_of(arena, detail) : "";
    if (!code || !code[0] || strlen(code) > 9 ||
        strspn(code, "0123456789") != strlen(code))
        return false;
    call->code = (enum grpc_code)strtol(code, NULL, 10);
    return true;
}

static enum status unframe(struct grpc_call *call,
                           const struct http_exchange *x, struct err *err)
{
    const unsigned char *frame = (const unsigned char *)x->reply;
    uint32_t length;
    if (x->reply_len < FRAME)
        return err_set(err, ST_BROKEN,
                       "%s: %s answered %zu bytes: shorter than a gRPC frame",
                       call->label, method(call), x->reply_len);
    if (frame[0] != 0)
        return err_set(err, ST_BROKEN,
                       "%s: %s answered a compressed or unknown kind of frame "
                       "(flag %u) though none was offered",
                       call->label, method(call), frame[0]);
    memcpy(&length, frame + 1, sizeof length);
    length = ntohl(length);
    if (length != x->reply_len - FRAME)
        return err_set(err, ST_BROKEN,
                       "%s: %s answered a frame that says %u bytes and has %zu",
                       call->label, method(call), length, x->reply_len - FRAME);
    call->reply = frame + FRAME;
    call->reply_len = length;
    return ST_OK;
}

enum status grpc_do(struct grpc_call *call, struct arena *arena,
                    struct err *err)
{
    static const struct davit_kv fixed[] = {
        {"content-type", "application/grpc"},
        {"te", "trailers"},
    };
    const size_t n_fixed = sizeof fixed / sizeof fixed[0];
    call->reply = "";
    call->reply_len = 0;
    call->code = GRPC_NO_CODE;
    call->detail = "";
    if (!call->label)
        call->label = call->base;
    if (call->message_len > UINT32_MAX - FRAME)
        return err_set(err, ST_INVALID,
                       "a message of %zu bytes does not fit into a gRPC frame",
                       call->message_len);

    struct davit_kv *headers = ARENA_ARRAY(arena, struct davit_kv,
                                           n_fixed + call->n_metadata);
    memcpy(headers, fixed, sizeof fixed);
    if (call->n_metadata)
        memcpy(headers + n_fixed, call->metadata,
               call->n_metadata * sizeof *headers);
    unsigned char *body = arena_alloc(arena, FRAME + call->message_len);
    uint32_t length = htonl((uint32_t)call->message_len);
    memcpy(body + 1, &length, sizeof length);
    if (call->message_len)
        memcpy(body + FRAME, call->message, call->message_len);

    struct http_exchange x = {
        .method = "POST",
        .url = arena_printf(arena, "%s%s", call->base, call->path),
        .headers = headers,
        .n_headers = n_fixed + call->n_metadata,
        .body = body,
        .body_len = FRAME + call->message_len,
        .label = call->label,
        .ca_file = call->ca_file,
        .cert_file = call->cert_file,
        .key_file = call->key_file,
        .plain_token = true,
        .http2_only = true,
        .deadline_mono_ms = call->deadline_mono_ms,
        .max_reply = call->max_reply,
    };
    enum status s = http_do(call->client, &x, arena, err);
    if (s)
        return s;
    const char *type = http_reply_header(&x, "content-type");
    if (x.status != 200 || !type || strncmp(type, "application/grpc", 16) != 0)
        return not_grpc(call, &x, err);
    if (!read_code(call, &x, arena))
        return err_set(err, ST_RETRY, "%s: %s broke off before its status came",
                       call->label, method(call));
    if (call->code != GRPC_OK)
        return refused(call, err);
    return unframe(call, &x, err);
}
