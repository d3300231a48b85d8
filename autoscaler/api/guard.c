/*
 * guard.c - who may speak to the API.
 *
 * With a token: whoever has it.  Without one the API trusts its address, and
 * a browser on that machine must not be the way in: a page of another site can
 * send a POST to 127.0.0.1 (so Origin must be ours), or point its own name at
 * it (so Host must be a name of this machine).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/alloc.h"
#include "../base/log.h"
#include "door/secret.h"
#include "inside.h"

#define TOKEN_MAX 4096

static bool address_is_loopback(const struct sockaddr *a)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    const struct in6_addr *six;

    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)
                         ->sin_addr.s_addr) >>
                   24 ==
               127;
    if (a->sa_family != AF_INET6)
        return false;
    six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) ||
           (memcmp(six, mapped, sizeof mapped) == 0 && six->s6_addr[12] == 127);
}

/* Every address the name stands for must be loopback. */
static enum status find_loopback(const char *host, bool *ret, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE},
                    *list;
    int rc = getaddrinfo(host, NULL, &hints, &list);

    if (rc != 0)
        return err_set(err, ST_INVALID,
                       "api.listen: %s is no address of this machine: %s", host,
                       gai_strerror(rc));
    *ret = true;
    for (const struct addrinfo *a = list; a; a = a->ai_next)
        *ret = *ret && address_is_loopback(a->ai_addr);
    freeaddrinfo(list);
    return ST_OK;
}

static enum status read_token(struct guard *g, const char *path,
                              struct err *err)
{
    struct stamp stamp = stamp_of(path);
    struct buf text;
    enum status s = secret_read(path, "api.token_file", true, TOKEN_MAX, &text,
                                err);
    size_t n = text.n;

    if (s != ST_OK)
        return s;
    while (n > 0 && strchr(" \t\r\n", text.s[n - 1]))
        n--;
    if (n < 8) {
        s = err_set(err, ST_INVALID,
                    "api.token_file: the token in %s has %zu characters, at "
                    "least 8 are needed; `openssl rand -hex 32` makes a good "
                    "one",
                    path, n);
    } else {
        pthread_mutex_lock(&g->lock);
        SHA256((const unsigned char *)text.s, n, g->token);
        g->stamp = stamp;
        pthread_mutex_unlock(&g->lock);
    }
    secret_done(&text);
    return s;
}

void guard_refresh(struct guard *g)
{
    struct stamp now;
    struct err err;
    enum status s;

    if (!g->has_token)
        return;
    now = stamp_of(g->path);
    if (stamp_same(&now, &g->stamp))
        return;
    g->stamp = now;
    s = read_token(g, g->path, &err);
    pthread_mutex_lock(&g->lock);
    snprintf(g->problem, sizeof g->problem, "%s", s == ST_OK ? "" : err.text);
    pthread_mutex_unlock(&g->lock);
    if (s == ST_OK)
        log_info("api.token_file: the new token is in force");
    else
        log_error("%s; the token before stays in force", err.text);
}

const char *guard_problem(struct guard *g, char *buf, size_t n)
{
    pthread_mutex_lock(&g->lock);
    snprintf(buf, n, "%s%s", g->problem,
             *g->problem ? "; the token before is in force" : "");
    pthread_mutex_unlock(&g->lock);
    return buf;
}

void guard_done(struct guard *g)
{
    for (uint32_t i = 0; i < g->n_hosts; i++)
        free(g->hosts[i]);
    free(g->hosts);
    pthread_mutex_destroy(&g->lock);
    OPENSSL_cleanse(g->token, sizeof g->token);
}

enum status guard_init(struct guard *g, const struct config *c, struct err *err)
{
    enum status s;

    *g = (struct guard){.tls = c->api_tls_cert[0] || c->api_tls_key[0]};
    pthread_mutex_init(&g->lock, NULL);
    snprintf(g->host, sizeof g->host, "%s", c->api_host);
    snprintf(g->path, sizeof g->path, "%s", c->api_token_file);
    g->hosts = MEM_ARRAY(char *, c->api_hosts.n + 1);
    for (uint32_t i = 0; i < c->api_hosts.n; i++)
        g->hosts[g->n_hosts++] = mem_strdup(c->api_hosts.v[i]);
    if (g->tls && (!c->api_tls_cert[0] || !c->api_tls_key[0]))
        return err_set(err, ST_INVALID,
                       "api: tls_cert and tls_key go together; %s is missing",
                       c->api_tls_cert[0] ? "tls_key" : "tls_cert");
    g->loopback = true;
    if (*c->api_host &&
        (s = find_loopback(c->api_host, &g->loopback, err)) != ST_OK)
        return s;
    if (c->api_token_file[0]) {
        if ((s = read_token(g, c->api_token_file, err)) != ST_OK)
            return s;
        g->has_token = true;
    }
    g->socket = c->api_socket[0];
    g->anonymous = c->api_anonymous && g->loopback;
    g->closed = g->has_token || c->api_tokens[0] || c->api_client_ca[0] ||
                c->api_kube || (g->socket && g->loopback);
    if (!g->loopback && !g->closed && !g->tls)
        return err_set(
            err, ST_INVALID,
            "api.listen: %s can be reached from other machines, and whoever "
            "reaches it could order machines at your cost; set api.tokens "
            "or api.token_file (or api.tls), or listen on 127.0.0.1",
            c->api_host);
    return ST_OK;
}

bool guard_token_fits(struct guard *g, const unsigned char digest[32])
{
    bool fits;

    if (!g->has_token)
        return false;
    pthread_mutex_lock(&g->lock);
    fits = CRYPTO_memcmp(digest, g->token, sizeof g->token) == 0;
    pthread_mutex_unlock(&g->lock);
    return fits;
}

/* "[::1]:8790" and "localhost:8790" to the name alone. */
static void host_name(const char *host, char *ret, size_t n)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');

    if (host[0] == '[' && end)
        end++;
    snprintf(ret, n, "%.*s", (int)(end ? (size_t)(end - host) : strlen(host)),
             host);
}

static bool host_is_listed(const struct guard *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_hosts; i++)
        if (strcasecmp(g->hosts[i], name) == 0)
            return true;
    return false;
}

static bool host_is_ours(const struct guard *g, const char *host)
{
    char name[256], bare[260];

    host_name(host, name, sizeof name);
    snprintf(bare, sizeof bare, "[%s]", g->host);
    return strcasecmp(name, "localhost") == 0 ||
           strcmp(name, "127.0.0.1") == 0 || strcmp(name, "[::1]") == 0 ||
           strcasecmp(name, g->host) == 0 || strcasecmp(name, bare) == 0 ||
           host_is_listed(g, name);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);

    return n > k && strcasecmp(name + n - k, end) == 0;
}

bool guard_host_public(const struct guard *g, const char *host)
{
    static const char *const inside[] = {".svc", ".local", ".internal"};
    unsigned char address[16];
    char name[256];

    host_name(host, name, sizeof name);
    if (name[0] == '[' || inet_pton(AF_INET, name, address) == 1)
        return true;
    if (!strchr(name, '.') || host_is_listed(g, name))
        return true;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (ends_with(name, inside[i]))
            return true;
    return strcasecmp(name, g->host) == 0;
}

static bool origin_is_ours(const char *origin, const char *host)
{
    const char *p = strstr(origin, "://");

    return p && host && strcasecmp(p + 3, host) == 0;
}

/* Who needs no token to be let in may be sent here by a page of another site:
 * his browser has a certificate, or is on this machine. */
static unsigned check_browser(struct exchange *ex, bool by_host)
{
    struct guard *g = &ex->server->guard;
    const char *host = exchange_header(ex, MHD_HTTP_HEADER_HOST);
    const char *origin = exchange_header(ex, MHD_HTTP_HEADER_ORIGIN);

    if (by_host && g->loopback && host && !host_is_ours(g, host)) {
        exchange_error(
            ex, 403, "AUTH", "Host",
            "the Host header is \"%.200s\", but this API without a token "
            "answers only to localhost, 127.0.0.1, [::1] and api.listen",
            host);
        return 403;
    }
    if (origin && !origin_is_ours(origin, host)) {
        exchange_error(
            ex, 403, "AUTH", "Origin",
            "a web page of %.200s may not use this API without a token",
            origin);
        return 403;
    }
    return 0;
}

unsigned guard_check(struct exchange *ex, bool open)
{
    unsigned code = caller_find(ex);
    enum proof proof = ex->caller.proof;

    /* A page of another site cannot send a token, whoever knows it. */
    if (code == 0 && proof != PROOF_TOKEN && proof != PROOF_REVIEW &&
        !ex->unknown)
        code = check_browser(ex, proof == PROOF_OPEN);
    if (code == 0)
        ex->trusted = principal_reads(ex->caller.who);
    /* a probe is answered to everybody, but for pages of other sites */
    if (code != 0 && open && (ex->server->guard.closed || code == 401)) {
        exchange_forget(ex);
        return 0;
    }
    ex->unknown = ex->unknown && code == 0 && !open;
    if (code == 0 && ex->route && !open && !ex->unknown)
        code = caller_may(ex);
    return code;
}
