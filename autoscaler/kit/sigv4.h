/*
 * sigv4.h - AWS Signature Version 4 for requests sent with headers.
 *
 * Our own, because that of libcurl 7.88 is wrong for unsorted queries and for
 * encoded paths.  Signs exactly the headers it is given: the caller adds Host,
 * X-Amz-Date, X-Amz-Security-Token and what else is to be bound.  No state.
 */
#ifndef KIT_SIGV4_H
#define KIT_SIGV4_H

#include <stdbool.h>
#include <stdint.h>

#include "../provider.h"
#include "str.h"

#define SIGV4_DATE_SIZE 17 /* "20260131T235959Z" and its NUL */

struct sigv4 {
    const char *access_key, *secret_key;
    const char *region, *service;
    const char *date; /* as in X-Amz-Date */
    const char *method;
    const char *path;  /* as it is sent: encoded once, "" is "/" */
    const char *query; /* as it is sent, without '?'; "" for none */
    const struct davit_kv *headers;
    size_t n_headers;
    const void *body;
    size_t body_len;
    bool keep_path; /* encoded, but its dots and double slashes
                     * are left as they are */
};

void sigv4_date(int64_t wall_ms, char ret[SIGV4_DATE_SIZE]);

/* The value of the Authorization header; canonical and to_sign are for tests
 * and may be NULL.  All three are appended to. */
void sigv4_sign(const struct sigv4 *s, struct kit_str *authorization,
                struct kit_str *canonical, struct kit_str *to_sign);

/* Lower-case hex of a SHA-256. */
void sigv4_sha256(const void *data, size_t n, char ret[65]);

#endif
