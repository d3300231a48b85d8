/*
 * grpc.h - one unary gRPC call over an HTTP/2 exchange.
 *
 * No gRPC library: a unary call is a POST with a 5-byte frame header before
 * the message, and its outcome is in the trailers.  Knows nothing of Ray.
 * Like its http_client, a channel belongs to one thread at a time.
 */
#ifndef WIRE_GRPC_H
#define WIRE_GRPC_H

#include "http.h"

/* The codes of gRPC, as they travel. */
enum grpc_code {
    GRPC_OK,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
    GRPC_NO_CODE = -1 /* the other side never answered as gRPC */
};

struct grpc_call {
    struct http_client *client;
    const char *base; /* "http://host:port", no slash at its end */
    const char *path; /* "/package.Service/Method" */
    const void *message;
    size_t message_len;
    const struct davit_kv *metadata;
    size_t n_metadata;
    const char *label;                          /* for messages; NULL: base */
    const char *ca_file, *cert_file, *key_file; /* as in http.h, for https */
    int64_t deadline_mono_ms;
    size_t max_reply; /* 0: 64 MiB */
    /* the answer, in the arena */
    const void *reply;
    size_t reply_len;
    enum grpc_code code;
    const char *detail; /* grpc-message, decoded; "" */
};

/* OK only for a whole reply with status 0.  err->code is the gRPC name. */
enum status grpc_do(struct grpc_call *call, struct arena *arena,
                    struct err *err);

const char *grpc_code_name(enum grpc_code c); /* "UNAVAILABLE" */

#endif
