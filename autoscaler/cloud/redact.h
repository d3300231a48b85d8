/*
 * redact.h - what providers and clouds say to each other, without its secrets.
 *
 * A secret is known by its name (a header, a parameter, a member), by its looks
 * (a JWT, a private key), or because it was one before: what went out as an
 * Authorization is also removed where a reply repeats it.  What is removed
 * becomes REDACTED, so that the same exchange always gives the same text.
 * Thread: the owner's.
 */
#ifndef CLOUD_REDACT_H
#define CLOUD_REDACT_H

#include <stdbool.h>

#include "../base/arena.h"

#define REDACTED "REMOVED"

struct secrets;              /* those seen so far; bounded, never written */
struct secrets *secrets_new(void);
void secrets_free(struct secrets *s);

/* Is what has this name a secret?  "access_token" is, "pageToken" is not. */
bool secret_name(const char *name, size_t n);

/* Each gives text in the arena, or what it was given when nothing is secret. */
const char *redact_url(struct secrets *s, struct arena *a, const char *url);
/* Of our headers only those known to be harmless keep their value. */
const char *redact_header(struct secrets *s, struct arena *a, const char *name,
                          const char *value, bool ours);
/* JSON, XML, a form or plain text, of a request (ours) or reply of this URL.
 * *ret_removed: there was something. */
const char *redact_body(struct secrets *s, struct arena *a, const char *url,
                        const char *body, bool ours, bool *ret_removed);

#endif
