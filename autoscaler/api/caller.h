/*
 * caller.h - who asks, and may he?
 *
 * In this order: the user at the other end of the Unix socket; the bearer
 * token, of ours or of the Kubernetes API server's; the client's certificate; and where nothing of this is configured,
 * whoever reaches a loopback address.  Rights are bound to who asks, not to
 * what the body says.
 */
#ifndef API_CALLER_H
#define API_CALLER_H

#include <stdbool.h>

#include "door/access.h"

struct exchange;
struct server;
struct shown;

enum proof {
    PROOF_NONE,
    PROOF_OPEN,
    PROOF_USER,
    PROOF_TOKEN,
    PROOF_REVIEW,
    PROOF_CERT
};

struct caller {
    const struct principal *who; /* NULL: nobody yet */
    struct access *access;       /* which holds it, or NULL: it is static */
    enum proof proof;            /* what he has shown, to be judged again: */
    unsigned char digest[ACCESS_DIGEST]; /* of a token */
    uid_t uid;
    struct shown *shown; /* a certificate, or NULL */
    /* Of a Kubernetes token: an answer that was asked for since then is as good as a
     * known one, for a moment after it came. */
    int64_t since_ms, fresh_ms; /* mono */
    const char *via;            /* "token", "kubernetes", "socket",
                          * "certificate", "open" */
    char name[384];             /* "ops"; of a certificate its own name */
    char from[64];              /* "10.0.0.7", "uid 1000" */
    char text[512]; /* "ops (token)", for events: others read them, and an
                          * address is nobody else's business */
};

/* Fills ex->caller; 0, or the code after a refusal was written. */
unsigned caller_find(struct exchange *ex);
void caller_copy(struct caller *to, const struct caller *from);
void caller_done(struct caller *c);
/* Of a Kubernetes token: has the API server asked about it each second from now on, for
 * a copy of him; caller_unwatch() ends that.  False: his account has so many already. */
bool caller_watch(struct exchange *ex);
void caller_unwatch(struct server *s, const struct caller *c);
/* Is he still somebody?  Rights end while a request waits or a stream runs: his
 * are those of now afterwards.  MAYBE: the API server is to be asked first. */
enum standing_now { STILL_YES, STILL_NO, STILL_MAYBE };
/* Who shares with himself alone: a line of api.tokens, a certificate, a namespace,
 * a user; the text lies in buf. */
const char *caller_share(const struct caller *c, char *buf, size_t n);
/* The same of one account alone: a ServiceAccount by its name. */
const char *caller_account(const struct caller *c, char *buf, size_t n);
enum standing_now caller_still(struct server *s, struct caller *c);

/* The API server is to be asked who it is: sends the exchange to wait for that;
 * its answer fills ex->caller, or a refusal is written. */
void caller_review(struct exchange *ex);

/* Has he the right that the route wants?  0, or 403 after it was written. */
unsigned caller_may(struct exchange *ex);
/* May he make this request?  queue: "" for none, NULL: it is not asked about.
 * INVALID never, AUTH if not. */
enum status caller_may_ask(const struct caller *c, const char *owner,
                           const char *queue, int32_t priority,
                           struct err *err);

#endif
