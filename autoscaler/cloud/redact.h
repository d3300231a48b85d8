/*
 * redact.h - what providers and clouds say to each other, without its secrets.
 *
 * What is removed becomes REDACTED, so that the same exchange always gives the
 * same text.  What a secret is: secrets.h.
 * Thread: the owner's.
 */
#ifndef CLOUD_REDACT_H
#define CLOUD_REDACT_H

#include "secrets.h"

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
