/*
 * token.h - a bearer token that is fetched once, shared by every call of a
 * handle, and renewed before it ends.
 *
 * One thread fetches; the others use the old token while it holds, or wait
 * within their own deadline.  The token is wiped when it is dropped, and is
 * never put into an error or a log line.  Thread: any.
 */
#ifndef KIT_TOKEN_H
#define KIT_TOKEN_H

#include <pthread.h>

#include "text.h"

#define KIT_TOKEN_MAX 16384

struct kit_token {
    pthread_mutex_t lock;
    char *value; /* NULL: none yet */
    int64_t expires_ms, renew_ms;
    int64_t hold_ms; /* renewed after so long in any case; 0: no */
    bool fetching;
};

/* Gets a new token: *ret_value by malloc(), and for how long it holds. */
typedef int kit_token_fetch(void *arg, struct davit_call *call,
                            char **ret_value, int64_t *ret_lives_ms,
                            struct davit_error *e);

void kit_token_init(struct kit_token *t);
void kit_token_done(struct kit_token *t);
/* A copy, for kit_wipe(). */
int kit_token_get(struct kit_token *t, const struct davit_host *host,
                  struct davit_call *call, kit_token_fetch *fetch, void *arg,
                  char **ret, struct davit_error *e);
/* The cloud refused this one (401): the next get() fetches. */
void kit_token_refused(struct kit_token *t, const char *value);

#endif
