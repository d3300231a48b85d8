/*
 * recording_format.h - a recorded exchange: a line of JSON (.c),
 * and what one is found by (recording_key.c).  For recording.c and replay.c.
 */
#ifndef CLOUD_RECORDING_FORMAT_H
#define CLOUD_RECORDING_FORMAT_H

#include <jansson.h>

#include "recording.h"
#include "redact.h"

struct exchange {     /* one recorded exchange */
    const char *key;  /* what it is found by; see exchange_key() */
    const char *host; /* of its URL */
    uint64_t hash;    /* of key */
    uint32_t line;
    bool write; /* the cloud is another one afterwards */
    bool token; /* it gave out secrets */
    bool used;
    int64_t at_ms;
    const char *request_id, *type, *zone; /* of the launch, "" */
    bool spot;
    uint64_t call;      /* what it was part of; 0: not known */
    enum status failed; /* there was no reply: this and text */
    const char *text;
    int status;
    const char *body;
    size_t body_len;
    struct davit_kv *headers;
    size_t n_headers;
};

/* The same for requests that mean the same: "METHOD PATH?QUERY BODY" with
 * sorted query, canonical JSON, no secrets, times of the day as "(time)" and
 * idempotency keys as "(id)". */
const char *exchange_key(struct arena *a, const char *method, const char *url,
                         const char *body);
const char *exchange_host(struct arena *a, const char *url);
/* Does this ask for something and change nothing? */
bool exchange_reads(const char *method, const char *url, const char *body,
                    const struct davit_kv *headers, size_t n_headers);
/* The value of Action in a form; "" when there is none. */
const char *exchange_action(const char *body);

/* One line of a recording, without secrets. */
char *exchange_write(struct secrets *s, const struct recording_call *call,
                     const struct http_exchange *x, const struct err *failed,
                     int64_t at_ms, int64_t took_ms);
/* NULL, or what is wrong with the line. */
const char *exchange_read(struct arena *a, const char *line, size_t n,
                          struct exchange *ret);

/* Bytes as text that JSON can hold. */
json_t *bytes_json(const char *s, size_t n);

#endif
