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

#include "door/access.h"

struct exchange;

struct caller {
    const struct principal *who; /* NULL: nobody yet */
    struct access *access;       /* which holds it, or NULL: it is static */
    const char *via;             /* "token", "kubernetes", "socket",
                                  * "certificate", "open" */
    char name[384];              /* "ops"; of a certificate its own name */
    char from[64];               /* "10.0.0.7", "uid 1000" */
    char text[512];              /* "ops (token, 10.0.0.7)" */
};

/* Fills ex->caller; 0, or the code after a refusal was written. */
unsigned caller_find(struct exchange *ex);
void caller_copy(struct caller *to, const struct caller *from);
void caller_done(struct caller *c);

/* The API server is to be asked who it is: sends the exchange to wait for that;
 * its answer fills ex->caller, or a refusal is written. */
void caller_review(struct exchange *ex);

/* Has he the right that the route wants?  0, or 403 after it was written. */
unsigned caller_may(struct exchange *ex);
/* May he make this request?  "" for no queue.  INVALID never, AUTH if not. */
enum status caller_may_ask(const struct caller *c, const char *owner,
                           const char *queue, struct err *err);

#endif
