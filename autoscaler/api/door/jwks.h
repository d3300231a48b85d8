/*
 * jwks.h - the keys with which the API server signs the tokens of its
 * ServiceAccounts (RFC 7517), and whose token it is by them.
 *
 * A signature costs microseconds, and nobody else can make it: a ServiceAccount that
 * was never seen waits for his TokenReview in his own row, not in that of his address.
 * It lets nobody in: the token may have been revoked, or be for another audience.
 */
#ifndef API_DOOR_JWKS_H
#define API_DOOR_JWKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../base/err.h"

struct jwks;
struct jwks *jwks_new(void);
void jwks_free(struct jwks *k);
/* In the place of those before: a reply of /openid/v1/jwks.  Keys of a kind that we
 * do not know are passed over.  INVALID: it is none. */
enum status jwks_take(struct jwks *k, const json_t *reply, struct err *err);

/* Is the API server to be asked for them?  At the start, and when a token names a key
 * that we do not have, every JWKS_MS at most; who is told so does it.  Thread: any. */
enum { JWKS_MS = 10000 };
bool jwks_due(struct jwks *k);
/* Why they cannot be read, which is logged once; NULL: they can. */
void jwks_problem(struct jwks *k, const char *problem);

enum jwks_says { JWKS_NO, JWKS_NO_SUCH_KEY, JWKS_YES };
/* YES: a ServiceAccount's, signed by one of the keys, and its time is not over; his
 * name, "system:serviceaccount:team-a:ci", is in buf of n bytes.  Thread: any. */
enum jwks_says jwks_vouches(struct jwks *k, const char *token, int64_t wall_ms,
                            char *buf, size_t n);

#endif
