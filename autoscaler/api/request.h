/*
 * request.h - the body of POST /v1/request_resources and of a what-if.
 *
 * num_cpus and label selectors are folded into the bundles, and neighbours that
 * are equal are merged into one with a count.
 */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include <jansson.h>

#include "../base/arena.h"
#include "../base/err.h"
#include "../model/snapshot.h"

struct request_in {
    const char *owner;
    const char *body;          /* canonical JSON: codec_request_write() */
    struct snap_demand demand; /* SOURCE_REQUEST; since_ms = now_ms */
    int64_t ttl_ms;            /* 0: stays until replaced */
    bool clear;                /* asks for nothing: the request is dropped */
};

/* Everything it returns lives in the arena.  INVALID: err begins with the
 * place, "bundles[2].GPU: ...", and the owner is there if it could be read.  default_owner when the body names none. */
enum status request_read(const json_t *body, const char *default_owner,
                         int64_t now_ms, struct arena *arena,
                         struct request_in *ret, struct err *err);

bool owner_valid(const char *owner);

#endif
