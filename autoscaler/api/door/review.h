/*
 * review.h - tokens that the Kubernetes API server knows: who shows one, and
 * what RBAC lets him do here.
 *
 * TokenReview says who he is, SubjectAccessReview what he may.  Asked is about
 * resources of the group davit.io, which exist in Roles only:
 *
 *     get    status            he may read
 *     create requests          he may ask for every owner
 *     create requests NAME     for the owner NAME and those that begin with
 *                              "NAME."; asked for the namespace of a
 *                              ServiceAccount
 *     update control           he is an administrator
 *
 * A yes is known for opts.yes_ms after it was asked for, a no for REVIEW_NO_MS at most.
 * Who waits for an answer gets it however long it took.  No answer is
 * no yes: nobody is let in by what was known before that.
 * Sources: kubernetes.io/docs, Authentication ("Webhook token authentication"),
 * authentication.k8s.io/v1 and authorization.k8s.io/v1.
 */
#ifndef API_DOOR_REVIEW_H
#define API_DOOR_REVIEW_H

#include <jansson.h>

#include "../../wire/kube/kube.h"
#include "access.h"

enum { REVIEW_NO_MS = 10000, REVIEW_WATCHED = 8 /* tokens of one account */ };

struct review;
struct review_opts {
    const char *kubeconfig, *context; /* "": as kube_access_find() looks */
    const char *audience;             /* of tokens; "": the API server's own */
    const char *space; /* where the Roles are; "": where Davit runs */
    int64_t yes_ms;    /* for so long an answer is good */
    /* Of a watched token another answer came than before; on a thread of its own,
     * or NULL. */
    void (*changed)(void *arg);
    void *arg;
};
/* Strings are copied.  Asks nobody yet. */
enum status review_open(const struct review_opts *o, struct review **ret,
                        struct err *err);
void review_close(struct review *r); /* r may be NULL */

/* Does it look like a token that can be asked about?  A JWT: three parts of
 * base64url, 8 KiB at most.  Thread: any. */
bool review_takes(const char *token);
/* Was its holder somebody when the API server was asked last?  Whose name goes into
 * buf, of n bytes. */
bool review_was_good(struct review *r, const unsigned char digest[32],
                     char *buf, size_t n);
/* Whose it is by the API server's keys, which is known at once (jwks.h): he has a row
 * of his own to wait in for its answer. */
bool review_vouched(struct review *r, const char *token, char *buf, size_t n);
/* As long as it is watched, it is asked about every second: of a stream, which may
 * outlive the right to it.  False: so many tokens of this account are watched
 * already, and nothing is done.  The accounts with the fewest go first. */
bool review_watch(struct review *r, const char *token,
                  const unsigned char digest[32], const char *account);
void review_unwatch(struct review *r, const unsigned char digest[32]);
/* What is known, or was asked for since then (mono; INT64_MAX: known alone): true, and
 * *ret is a state with him alone (the caller's reference), or NULL for nobody.
 * Thread: any. */
bool review_known(struct review *r, const unsigned char digest[32],
                  int64_t since_ms, struct access **ret);
/* Asks, for seconds at most.  One thread at a time.  OK: it is known now to who looks
 * for what was asked for since then. */
enum status review_ask(struct review *r, const char *token,
                       const unsigned char digest[32], int64_t since_ms,
                       struct err *err);
/* "" or why the API server has not answered last; buf of n bytes. */
const char *review_problem(struct review *r, char *buf, size_t n);

/* ---- review_read.c: what the API server answers */
struct reviewed {
    const char *user;  /* "system:serviceaccount:team-a:ci" */
    const char *space; /* "team-a" of a ServiceAccount, else "" */
    json_t *spec;      /* user, uid, groups, extra: of a SubjectAccessReview;
                        * a reference */
};
/* OK with ret->user NULL: the token is nobody's.  RETRY: the reply is none. */
enum status review_user(const json_t *reply, const char *audience,
                        struct arena *a, struct reviewed *ret, struct err *err);
/* RETRY: the reply is none, or the API server could not tell. */
enum status review_allowed(const json_t *reply, bool *ret, struct err *err);

#endif
