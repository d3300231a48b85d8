/*
 * caller.c - see caller.h.
 */
#include "caller.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "inside.h"

/* Those that have no line in a file. */
static const struct principal anybody = {.name = "anybody", .admin = true};
static const struct principal token_file = {.name = "token_file",
                                            .admin = true};
static const struct principal local = {.name = "local", .admin = true};
static const struct principal stranger = {.name = "stranger"};
static const struct principal certified = {.name = "certificate",
                                           .admin = true};

static unsigned found(struct exchange *ex, const struct principal *who,
                      const char *via, const char *name)
{
    struct caller *c = &ex->caller;

    c->who = who;
    c->via = via;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->text, sizeof c->text, "%s (%s, %s)", c->name, via, c->from);
    return 0;
}

static unsigned refuse(struct exchange *ex, unsigned code, const char *where,
                       const char *text)
{
    exchange_error(ex, code, "AUTH", where, "%s", text);
    if (code == 401)
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                "Bearer realm=\"davit\"");
    return code;
}

/* ---- by what he shows */

static unsigned by_user(struct exchange *ex, uid_t uid)
{
    const struct principal *who = ex->caller.access
                                      ? access_by_user(ex->caller.access, uid,
                                                       clock_wall_ms())
                                      : NULL;
    char text[128];

    if (who)
        return found(ex, who, "socket", who->name);
    if (uid == 0 || uid == geteuid()) {
        snprintf(text, sizeof text, "uid:%u", (unsigned)uid);
        return found(ex, &local, "socket", text);
    }
    snprintf(text, sizeof text,
             "user %u has no line in api.tokens, such as `me user:%u read`",
             (unsigned)uid, (unsigned)uid);
    return refuse(ex, 403, "api.socket", text);
}

/* What is behind "Bearer", n bytes; NULL: nothing. */
static const char *token_of(const char *header, size_t *ret_n)
{
    size_t n;

    if (!header || strncasecmp(header, "Bearer", 6) != 0 ||
        (header[6] != ' ' && header[6] != '\t'))
        return NULL;
    header += 6 + strspn(header + 6, " \t");
    n = strlen(header);
    while (n > 0 && (header[n - 1] == ' ' || header[n - 1] == '\t'))
        n--;
    *ret_n = n;
    return n > 0 ? header : NULL;
}

static bool digest_of(const char *header, unsigned char ret[32])
{
    size_t n;
    const char *token = token_of(header, &n);

    if (token)
        SHA256((const unsigned char *)token, n, ret);
    return token;
}

static unsigned wrong(struct exchange *ex)
{
    login_bad(ex->server->door, ex->peer);
    return refuse(ex, 401, "Authorization",
                  "the token is none of those in api.token_file and "
                  "api.tokens, none of api.kubernetes, or its time is over");
}

/* A token of the API server's, if there is one to ask; what is not known yet
 * makes ex->unknown: he may nothing until caller_review(). */
static unsigned by_review(struct exchange *ex, const unsigned char digest[32],
                          bool formed)
{
    struct server *s = ex->server;
    struct access *x;

    if (!formed || !s->review)
        return wrong(ex);
    if (!review_known(s->review, digest, &x)) {
        ex->unknown = true;
        return found(ex, &stranger, "token", "stranger");
    }
    if (!x)
        return wrong(ex);
    access_unref(ex->caller.access);
    ex->caller.access = x;
    login_good(s->door, ex->peer, digest);
    return found(ex, x->v, "kubernetes", x->v->name);
}

static bool reviewable(const char *header)
{
    size_t n;
    const char *token = token_of(header, &n);
    char *text = token ? mem_strndup(token, n) : NULL;
    bool yes = text && review_takes(text);

    free(text);
    return yes;
}

static unsigned by_token(struct exchange *ex, const char *header)
{
    struct server *s = ex->server;
    const struct principal *who = NULL;
    unsigned char digest[32];
    bool formed = digest_of(header, digest);

    if (formed && !login_may(s->door, ex->peer, digest)) {
        exchange_error(ex, 429, "THROTTLED", "Authorization",
                       "too many wrong tokens came from %s; wait a minute",
                       ex->caller.from);
        ex->close = true;
        return 429;
    }
    if (formed && guard_token_fits(&s->guard, digest))
        who = &token_file;
    else if (formed && ex->caller.access)
        who = access_by_token(ex->caller.access, digest, clock_wall_ms());
    if (who) {
        login_good(s->door, ex->peer, digest);
        return found(ex, who, "token", who->name);
    }
    return by_review(ex, digest, formed && reviewable(header));
}

enum { NOT_SHOWN = 1 };

static unsigned by_certificate(struct exchange *ex)
{
    struct server *s = ex->server;
    const struct principal *who;
    const char *why = "";
    char name[128], text[512];

    if (!s->certs ||
        !certs_client(s->certs, ex->connection, name, sizeof name, &why)) {
        snprintf(text, sizeof text, "the client's certificate is not good: %s",
                 why);
        return *why ? refuse(ex, 401, "certificate", text) : NOT_SHOWN;
    }
    if (!ex->caller.access)
        return found(ex, &certified, "certificate", name);
    who = access_by_cert(ex->caller.access, name, clock_wall_ms());
    if (who)
        return found(ex, who, "certificate", name);
    snprintf(text, sizeof text,
             "the certificate of %s has no line in api.tokens, such as `%s "
             "cert:%s read`",
             name, name, name);
    return refuse(ex, 403, "certificate", text);
}

unsigned caller_find(struct exchange *ex)
{
    const char *auth = exchange_header(ex, MHD_HTTP_HEADER_AUTHORIZATION);
    struct server *s = ex->server;
    unsigned code;
    uid_t uid;

    snprintf(ex->caller.from, sizeof ex->caller.from, "%s",
             peer_name(ex->peer));
    if (s->access)
        ex->caller.access = access_get(s->access);
    if (peer_user(ex->peer, &uid))
        return by_user(ex, uid);
    if (auth && (s->guard.has_token || s->access || s->review))
        return by_token(ex, auth);
    code = by_certificate(ex);
    if (code != NOT_SHOWN)
        return code;
    if (!s->guard.closed)
        return found(ex, &anybody, "open", "anybody");
    return refuse(
        ex, 401, "Authorization",
        s->guard.has_token || s->access || s->review
            ? "this API needs the header `Authorization: Bearer "
              "<token>`, with a token of api.token_file, "
              "api.tokens or api.kubernetes, or a client's certificate where api.tls "
              "has a client_ca"
            : "this API needs a client's certificate of "
              "api.tls.client_ca");
}

void caller_copy(struct caller *to, const struct caller *from)
{
    *to = *from;
    if (to->access)
        access_ref(to->access);
}

void caller_done(struct caller *c)
{
    access_unref(c->access);
    *c = (struct caller){0};
}

/* ---- a token of the API server's */

struct review_job {
    struct task task;
    struct review *review;
    char *token;
    unsigned char digest[ACCESS_DIGEST];
    enum status status;
};

static bool review_job_run(struct task *task)
{
    struct review_job *j = (struct review_job *)task;
    struct err err;

    j->status = review_ask(j->review, j->token, j->digest, &err);
    return true;
}

static void review_job_free(struct task *task)
{
    struct review_job *j = (struct review_job *)task;

    OPENSSL_cleanse(j->token, strlen(j->token));
    free(j->token);
    free(j);
}

static void review_answer(struct exchange *ex)
{
    const struct review_job *j = (struct review_job *)ex->pending->task;

    if (j->status == ST_OK)
        by_review(ex, j->digest, true);
    if (j->status != ST_OK || ex->unknown)
        exchange_error(ex, 503, "RETRY", "Authorization",
                       "the Kubernetes API server cannot be asked about the "
                       "token now; /readyz says why to those who may read");
    ex->unknown = false;
    ex->trusted = !ex->code && principal_reads(ex->caller.who);
}

void caller_review(struct exchange *ex)
{
    const char *auth = exchange_header(ex, MHD_HTTP_HEADER_AUTHORIZATION);
    struct review_job *j = MEM_NEW(struct review_job);
    size_t n = 0;
    const char *token = token_of(auth, &n);

    j->task.run = review_job_run;
    j->task.free = review_job_free;
    j->review = ex->server->review;
    j->token = mem_strndup(token ? token : "", n);
    j->status = ST_RETRY;
    SHA256((const unsigned char *)j->token, n, j->digest);
    tasks_send(ex->server->reviews, ex, &j->task, COMMAND_REQUEST_PUT,
               review_answer);
}

/* ---- what he may */

static bool may(const struct exchange *ex, const struct principal *p)
{
    unsigned flags = ex->route->flags;

    if (flags & ROUTE_ADMIN)
        return p->admin;
    if (flags & ROUTE_REQUEST)
        return p->admin ||
               (*ex->arg ? principal_asks(p, ex->arg) : p->owners.n > 0);
    return principal_reads(p) ||
           (flags & ROUTE_OWNER && principal_asks(p, ex->arg));
}

unsigned caller_may(struct exchange *ex)
{
    const struct principal *p = ex->caller.who;
    struct arena a = {0};

    if (may(ex, p))
        return 0;
    exchange_error(ex, 403, "AUTH", "", "%s may do this: %s. This needs %s",
                   ex->caller.name, principal_rights(p, &a),
                   ex->route->flags & ROUTE_ADMIN     ? "admin"
                   : ex->route->flags & ROUTE_REQUEST ? "request: for the owner"
                                                      : "read");
    arena_done(&a);
    return 403;
}

enum status caller_may_ask(const struct caller *c, const char *owner,
                           const char *queue, struct err *err)
{
    struct arena a = {0};
    enum status s = ST_OK;

    if (!principal_asks(c->who, owner))
        s = err_set(err, ST_AUTH,
                    "owner: %s may not ask for \"%.64s\"; it may do this: "
                    "%.200s",
                    c->name, owner, principal_rights(c->who, &a));
    else if (!principal_queues(c->who, queue))
        s = err_set(err, ST_AUTH,
                    "queue: %s may not use %s%.64s%s; it may do this: %.200s",
                    c->name, *queue ? "the queue \"" : "all node types", queue,
                    *queue ? "\"" : " without a queue",
                    principal_rights(c->who, &a));
    arena_done(&a);
    return s;
}
