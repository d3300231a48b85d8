/*
 * json.h - what plug-ins that speak JSON over HTTP do all day: take a reply
 * apart without believing it, and put URLs and forms together.
 *
 * Needs jansson.  Thread: any; nothing here keeps state.
 */
#ifndef KIT_JSON_H
#define KIT_JSON_H

#include <jansson.h>

#include "options.h"

/* The member at a path such as "config.accelerators" (objects only), or NULL.
 * Names with a point in them are for json_object_get(). */
const json_t *kit_json_at(const json_t *j, const char *path);
/* Its text, "" when it is missing or no string. */
const char *kit_json_text(const json_t *j, const char *path);
/* Its number, also when written as a string (Google's int64), else fallback. */
int64_t kit_json_int(const json_t *j, const char *path, int64_t fallback);
bool kit_json_true(const json_t *j, const char *path);

/* A reply's body as JSON; NULL, with RETRY in *e, when it is none: a reply that
 * was cut off or came from a proxy says nothing about the request. */
json_t *kit_json_reply(const struct davit_http *x, struct davit_error *e);
/* The value of a reply's header (lower case), or NULL. */
const char *kit_reply_header(const struct davit_http *x, const char *name);
/* The Retry-After of a reply in milliseconds: seconds or an HTTP date; 0: it
 * has none.  At most a day. */
uint32_t kit_retry_after_ms(const struct davit_http *x, int64_t wall_ms);

/* Appends text percent-encoded (all but A-Z a-z 0-9 - . _ ~ is) to a string of
 * this size; false when it does not fit. */
bool kit_url_append(char *url, size_t size, const char *text);
/* A form's body of n pairs; the caller frees it. */
char *kit_form(const struct davit_kv *kv, size_t n);

/* "2030-01-01T00:00:00.5Z" or with an offset, to milliseconds since 1970; -1
 * when it is no such time. */
int64_t kit_time_ms(const char *rfc3339);

#endif
