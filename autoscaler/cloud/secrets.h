/*
 * secrets.h - what a secret is: by its name (a header, a parameter, a member),
 * by its looks (a JWT, a private key), or because it was one before: what went
 * out as an Authorization is a secret wherever a reply repeats it.
 *
 * Thread: the owner's.
 */
#ifndef CLOUD_SECRETS_H
#define CLOUD_SECRETS_H

#include <stdbool.h>

#include "../base/arena.h"

#define REDACTED "REMOVED"

struct secrets; /* those seen so far; bounded, never written */
struct secrets *secrets_new(void);
void secrets_free(struct secrets *s);

/* Is what has this name a secret?  "access_token" is, "pageToken" is not. */
bool secret_name(const char *name, size_t n);
/* This text is one, wherever it comes up again. */
void secrets_learn(struct secrets *s, const char *text, size_t n);
/* The text without what looks like a secret or was one before; in the arena, or
 * as it was given.  *ret_removed becomes true when there was something. */
const char *secrets_scrub(const struct secrets *s, struct arena *a,
                          const char *text, bool *ret_removed);

#endif
