/*
 * json.h - reads JSON replies of which nothing is certain: a member that is
 * missing or of another type has a value that says so.
 *
 * Needs jansson.  Thread: any; nothing here keeps state.
 */
#ifndef KIT_JSON_H
#define KIT_JSON_H

#include <jansson.h>

#include "options.h"
#include "text.h"

/* The member at a path such as "config.accelerators" (objects only), or NULL.
 * Names with a point in them are for json_object_get(). */
const json_t *kit_json_at(const json_t *j, const char *path);
/* Its text, "" when it is missing or no string. */
const char *kit_json_text(const json_t *j, const char *path);
/* The text of a value, "" when it is NULL or no string. */
const char *kit_json_string(const json_t *j);
/* Its number, also when written as a string (Google's int64), else fallback. */
int64_t kit_json_int(const json_t *j, const char *path, int64_t fallback);
bool kit_json_true(const json_t *j, const char *path);
/* Is a node or pod Ready, by its status.conditions? */
bool kit_json_ready(const json_t *object);

/* A reply's body as JSON; NULL, with RETRY in *e, when it is none: a reply that
 * was cut off or came from a proxy says nothing about the request. */
json_t *kit_json_reply(const struct davit_http *x, struct davit_error *e);
/* The value of a reply's header (lower case), or NULL. */
const char *kit_reply_header(const struct davit_http *x, const char *name);
/* The Retry-After of a reply in milliseconds: seconds or an HTTP date; 0: it
 * has none.  At most a day. */
uint32_t kit_retry_after_ms(const struct davit_http *x, int64_t wall_ms);

#endif
