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
#include "door/local.h"
#include "inside.h"

enum { ACCOUNT_MAX = 400, FRESH_MS = 1000 };

/* Those that have no line in a file. */
static const struct principal anybody = {.name = "anybody", .admin = true};
static const struct principal token_file = {.name = "token_file",
                                            .admin = true};
static const struct principal local = {.name = "local", .admin = true};
static const struct principal stranger = {.name = "stranger"};
static const struct principal certified = {.name = "certificate",
                                           .admin = true};

static unsigned found(struct exchange *ex, enum proof proof,
                      const struct principal *who, const char *via,
                      const char *name)
{
    struct caller *c = &ex->caller;
    char share[sizeof c->text];

    c->proof = proof;
    c->who = who;
    c->via = via;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->text, sizeof c->text, "%s (%s)", c->name, via);
    seat_prove(ex->seat, proof > PROOF_OPEN
                             ? caller_share(c, share, sizeof share)
                             : NULL);
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

/* ---- who that is, by what he has shown: at the door, and again later */

static bool is_own(uid_t uid)
{
    return uid == 0 || (uid == geteuid() && local_known(uid));
}

static const struct principal *user_of(const struct access *a, uid_t uid)
{
    const struct principal *who = a && local_known(uid)
                                      ? access_by_user(a, uid, clock_wall_ms())
                                      : NULL;

    return who ? who : is_own(uid) ? &local : NULL;
}

static const struct principal *token_holder(struct server *s,
                                            const struct access *a,
                                            const unsigned char digest[32])
{
    if (guard_token_fits(&s->guard, digest))
        return &token_file;
    return a ? access_by_token(a, digest, clock_wall_ms()) : NULL;
}

/* The first of its names that has a line; *ret: its number. */
static const struct principal *certificate_of(const struct access *a,
                                              const struct cert_names *names,
                                              uint32_t *ret)
{
    const struct principal *who = a ? NULL : &certified;

    *ret = 0;
    for (uint32_t i = 0; a && !who && i < names->n; i++) {
        who = access_by_cert(a, names->v[i].kind, names->v[i].text,
                             clock_wall_ms());
        *ret = who ? i : 0;
    }
    return who;
}

/* ---- by what he shows */

static unsigned by_user(struct exchange *ex, uid_t uid)
{
    const struct principal *who = user_of(ex->caller.access, uid);
    char text[400];

    ex->caller.uid = uid;
    if (who == &local)
        snprintf(text, sizeof text, "uid:%u", (unsigned)uid);
    if (who)
        return found(ex, PROOF_USER, who, "socket",
                     who == &local ? text : who->name);
    if (local_known(uid))
        snprintf(text, sizeof text,
                 "user %u has no line in api.tokens, such as `me user:%u read`",
                 (unsigned)uid, (unsigned)uid);
    else
        snprintf(text, sizeof text,
                 "Davit runs in a user namespace (PrivateUsers= of its unit, a "
                 "container) that does not know this user, so he cannot be "
                 "told from others: use a token, or take that setting away");
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

static unsigned throttled(struct exchange *ex)
{
    exchange_error(ex, 429, "THROTTLED", "Authorization",
                   "too many wrong tokens came from %s; wait a minute",
                   ex->caller.from);
    ex->close = true;
    return 429;
}

static bool known_of(struct server *s, const struct caller *c,
                     struct access **ret)
{
    return review_known(s->review, c->digest,
                        clock_mono_ms() < c->fresh_ms ? c->since_ms : INT64_MAX,
                        ret);
}

/* A token of the API server's, if there is one to ask; what is not known yet
 * makes ex->unknown: he may nothing until caller_review(). */
static unsigned by_review(struct exchange *ex, bool formed)
{
    struct server *s = ex->server;
    struct access *x;

    if (!formed || !s->review)
        return wrong(ex);
    if (!known_of(s, &ex->caller, &x)) {
        ex->unknown = true;
        /* who was known is no stranger because nobody can be asked now */
        return ex->again
                   ? 0
                   : found(ex, PROOF_NONE, &stranger, "token", "stranger");
    }
    if (!x)
        return wrong(ex);
    access_unref(ex->caller.access);
    ex->caller.access = x;
    return found(ex, PROOF_REVIEW, x->v, "kubernetes", x->v->name);
}

/* Could the API server be asked about it?  If so, and one of its keys signed it,
 * ex->vouched becomes the name in it. */
static bool reviewable(struct exchange *ex, const char *header)
{
    struct review *r = ex->server->review;
    size_t n;
    const char *token = token_of(header, &n);
    char *text = token && r ? mem_strndup(token, n) : NULL;
    bool yes = text && review_takes(text);

    if (!yes || !review_vouched(r, text, ex->vouched, sizeof ex->vouched))
        *ex->vouched = '\0';
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
    return yes;
}

/* Is it that of somebody whom the API server knew a while ago? */
static bool was_reviewed(const struct exchange *ex)
{
    const struct server *s = ex->server;
    char name[ACCOUNT_MAX];

    return s->review &&
           review_was_good(s->review, ex->caller.digest, name, sizeof name);
}

/* What is known, or signed by the API server's keys, is looked up before anything
 * else: nobody is kept out by the wrong tokens of others at his address. */
static unsigned by_token(struct exchange *ex, const char *header)
{
    struct caller *c = &ex->caller;
    const struct principal *who;
    bool formed;

    if (!digest_of(header, c->digest))
        return wrong(ex);
    who = token_holder(ex->server, c->access, c->digest);
    if (who)
        return found(ex, PROOF_TOKEN, who, "token", who->name);
    if (was_reviewed(ex))
        return by_review(ex, true);
    formed = reviewable(ex, header);
    if (!*ex->vouched && !login_may(ex->server->door, ex->peer))
        return throttled(ex);
    return by_review(ex, formed);
}

enum { NOT_SHOWN = 1 };

static unsigned by_certificate(struct exchange *ex)
{
    struct server *s = ex->server;
    struct caller *c = &ex->caller;
    const struct principal *who;
    struct cert_names names;
    const char *why;
    uint32_t at;
    char text[900];

    c->shown = s->certs ? certs_shown(s->certs, ex->connection) : NULL;
    if (!c->shown)
        return NOT_SHOWN;
    why = certs_judge(s->certs, c->shown, &names);
    if (why) {
        snprintf(text, sizeof text, "the client's certificate is not good: %s",
                 why);
        return refuse(ex, 401, "certificate", text);
    }
    who = certificate_of(c->access, &names, &at);
    if (who)
        return found(ex, PROOF_CERT, who, "certificate", names.v[at].text);
    snprintf(text, sizeof text,
             "the certificate of %s has no line in api.tokens, such as `me "
             "cert:%s:%s read`",
             names.v[0].text, cert_kinds[names.v[0].kind], names.v[0].text);
    return refuse(ex, 403, "certificate", text);
}

/* Nothing is asked of who reaches a loopback address, but that he is root or
 * Davit's own user, where nobody has written that anybody may. */
static unsigned by_nothing(struct exchange *ex)
{
    const struct guard *g = &ex->server->guard;
    uid_t uid;

    if (g->anonymous || (!g->loopback && !g->closed))
        return found(ex, PROOF_OPEN, &anybody, "open", "anybody");
    if (!g->closed && seat_user(ex->seat, &uid) && is_own(uid))
        return found(ex, PROOF_OPEN, &anybody, "open", "anybody");
    if (g->closed)
        return refuse(
            ex, 401, "Authorization",
            g->has_token || ex->server->access || ex->server->review
                ? "this API needs the header `Authorization: Bearer "
                  "<token>`, with a token of api.token_file, "
                  "api.tokens or api.kubernetes, or a client's certificate "
                  "where api.tls has a client_ca"
            : g->socket
                ? "this port needs a token, and none is configured: use "
                  "api.socket, set api.tokens, or `api: {anonymous: admin}`"
                : "this API needs a client's certificate of "
                  "api.tls.client_ca");
    return refuse(ex, 401, "Authorization",
                  "without a token this port answers to root and to Davit's "
                  "own user: set api.tokens, or api.socket with `NAME "
                  "user:USER ...`, or let every user of this machine do "
                  "everything by `api: {anonymous: admin}`");
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
    return code == NOT_SHOWN ? by_nothing(ex) : code;
}

bool caller_watch(struct exchange *ex)
{
    struct review *r = ex->server->review;
    char account[ACCOUNT_MAX];
    size_t n = 0;
    const char *token;
    char *text;
    bool may;

    if (ex->caller.proof != PROOF_REVIEW)
        return true;
    token = token_of(exchange_header(ex, MHD_HTTP_HEADER_AUTHORIZATION), &n);
    text = mem_strndup(token ? token : "", n);
    may = review_watch(r, text, ex->caller.digest,
                       caller_account(&ex->caller, account, sizeof account));
    OPENSSL_cleanse(text, strlen(text));
    free(text);
    return may;
}

void caller_unwatch(struct server *s, const struct caller *c)
{
    if (c->proof == PROOF_REVIEW)
        review_unwatch(s->review, c->digest);
}

static const struct principal *principal_now(struct server *s,
                                             const struct caller *c,
                                             const struct access *now)
{
    struct cert_names names;
    uint32_t at;

    switch (c->proof) {
    case PROOF_OPEN: return &anybody;
    case PROOF_USER: return user_of(now, c->uid);
    case PROOF_TOKEN: return token_holder(s, now, c->digest);
    case PROOF_CERT:
        return certs_judge(s->certs, c->shown, &names)
                   ? NULL
                   : certificate_of(now, &names, &at);
    default: return NULL;
    }
}

const char *caller_account(const struct caller *c, char *buf, size_t n)
{
    if (c->proof == PROOF_NONE)
        snprintf(buf, n, "from/%s", c->from);
    else if (c->proof == PROOF_OPEN)
        snprintf(buf, n, "open/%s", c->from);
    else
        snprintf(buf, n, "%s/%s", c->via, c->name);
    return buf;
}

const char *caller_share(const struct caller *c, char *buf, size_t n)
{
    return c->proof == PROOF_NONE ? caller_account(c, buf, n)
                                  : share_of(c->via, c->name, c->from, buf, n);
}

enum standing_now caller_still(struct server *s, struct caller *c)
{
    const struct principal *who = NULL;
    struct access *now = NULL;

    if (c->proof == PROOF_REVIEW) {
        if (!known_of(s, c, &now))
            return STILL_MAYBE;
        who = now ? now->v : NULL;
    } else {
        now = s->access ? access_get(s->access) : NULL;
        who = principal_now(s, c, now);
    }
    if (!who) {
        access_unref(now);
        return STILL_NO;
    }
    access_unref(c->access);
    c->access = now;
    c->who = who;
    return STILL_YES;
}

void caller_copy(struct caller *to, const struct caller *from)
{
    *to = *from;
    shown_ref(to->shown);
    if (to->access)
        access_ref(to->access);
}

void caller_done(struct caller *c)
{
    access_unref(c->access);
    shown_unref(c->shown);
    *c = (struct caller){0};
}

/* ---- a token of the API server's */

struct review_job {
    struct task task;
    struct review *review;
    char *token;
    unsigned char digest[ACCESS_DIGEST];
    int64_t since_ms;
    enum status status;
};

static bool review_job_run(struct task *task)
{
    struct review_job *j = (struct review_job *)task;
    struct err err;

    j->status = review_ask(j->review, j->token, j->digest, j->since_ms, &err);
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

    ex->caller.since_ms = j->since_ms;
    ex->caller.fresh_ms = clock_mono_ms() + FRESH_MS;
    if (j->status == ST_OK)
        by_review(ex, true);
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
    char name[384];
    size_t n = 0;
    const char *token = token_of(auth, &n);

    j->task.run = review_job_run;
    j->task.free = review_job_free;
    j->review = ex->server->review;
    j->token = mem_strndup(token ? token : "", n);
    j->status = ST_RETRY;
    j->since_ms = clock_mono_ms();
    SHA256((const unsigned char *)j->token, n, j->digest);
    if (*ex->vouched)
        snprintf(name, sizeof name, "%s", ex->vouched);
    if (*ex->vouched ||
        review_was_good(j->review, j->digest, name, sizeof name)) {
        share_of("kubernetes", name, "", j->task.group, sizeof j->task.group);
        snprintf(j->task.account, sizeof j->task.account, "kubernetes/%s",
                 name);
    } else {
        snprintf(j->task.group, sizeof j->task.group, "from/%s",
                 ex->caller.from);
        j->task.stranger = true;
    }
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
        return p->admin || (*ex->arg && !owner_of_source(ex->arg)
                                ? principal_asks(p, ex->arg)
                                : p->owners.n > 0);
    return principal_reads(p) ||
           (flags & ROUTE_OWNER && principal_asks(p, ex->arg)) ||
           (flags & ROUTE_OWN && p->owners.n > 0);
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
                           const char *queue, int32_t priority, struct err *err)
{
    struct arena a = {0};
    enum status s = ST_OK;

    if (!principal_asks(c->who, owner))
        s = err_set(err, ST_AUTH,
                    "owner: %s may not ask for \"%.64s\"; it may do this: "
                    "%.200s",
                    c->name, owner, principal_rights(c->who, &a));
    else if (queue && !principal_queues(c->who, queue))
        s = err_set(err, ST_AUTH,
                    "queue: %s may not use %s%.64s%s; it may do this: %.200s",
                    c->name, *queue ? "the queue \"" : "all node types", queue,
                    *queue ? "\"" : " without a queue",
                    principal_rights(c->who, &a));
    else if (queue && !principal_outranks(c->who, priority))
        s = err_set(err, ST_AUTH,
                    "priority: %s may ask for %d at most; it may do this: "
                    "%.200s",
                    c->name, c->who->priority_max,
                    principal_rights(c->who, &a));
    arena_done(&a);
    return s;
}
