/*
 * guard.c - who may speak to the API.
 *
 * With a token: whoever has it.  Without one the API trusts its address, and
 * a browser on that machine must not be the way in: a page of another site can
 * send a POST to 127.0.0.1 (so Origin must be ours), or point its own name at
 * it (so Host must be a name of this machine).
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

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
    char text[TOKEN_MAX + 2];
    FILE *f = fopen(path, "re");
    struct stat st = {0};
    size_t n;

    if (!f)
        return err_set(err, ST_INVALID, "api.token_file: cannot read %s: %s",
                       path, strerror(errno));
    fstat(fileno(f), &st);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        n--;
    if (n > TOKEN_MAX)
        return err_set(
            err, ST_INVALID,
            "api.token_file: %s holds more than %d bytes; a token is one line",
            path, TOKEN_MAX);
    if (n < 8)
        return err_set(
            err, ST_INVALID,
            "api.token_file: the token in %s has %zu characters, at least 8 "
            "are needed; `openssl rand -hex 32` makes a good one",
            path, n);
    pthread_mutex_lock(&g->lock);
    SHA256((const unsigned char *)text, n, g->token);
    g->changed = st.st_mtim;
    pthread_mutex_unlock(&g->lock);
    OPENSSL_cleanse(text, sizeof text);
    return ST_OK;
}

void guard_refresh(struct guard *g)
{
    struct stat st;
    bool same;

    if (!g->has_token || stat(g->path, &st) != 0)
        return;
    pthread_mutex_lock(&g->lock);
    same = st.st_mtim.tv_sec == g->changed.tv_sec &&
           st.st_mtim.tv_nsec == g->changed.tv_nsec;
    pthread_mutex_unlock(&g->lock);
    if (!same)
        read_token(g, g->path, NULL);
}

void guard_done(struct guard *g)
{
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
    if (g->tls && (!c->api_tls_cert[0] || !c->api_tls_key[0]))
        return err_set(err, ST_INVALID,
                       "api: tls_cert and tls_key go together; %s is missing",
                       c->api_tls_cert[0] ? "tls_key" : "tls_cert");
    if ((s = find_loopback(c->api_host, &g->loopback, err)) != ST_OK)
        return s;
    if (c->api_token_file[0]) {
        if ((s = read_token(g, c->api_token_file, err)) != ST_OK)
            return s;
        g->has_token = true;
    }
    if (!g->loopback && !g->has_token && !g->tls)
        return err_set(
            err, ST_INVALID,
            "api.listen: %s can be reached from other machines, and whoever "
            "reaches it could order machines at your cost; set api.token_file "
            "(or api.tls_cert and api.tls_key), or listen on 127.0.0.1",
            c->api_host);
    return ST_OK;
}

/* Hashed first, so that neither time nor length says anything. */
static bool token_fits(struct guard *g, const char *header)
{
    unsigned char digest[32], ours[32];
    size_t n;

    if (!header || strncasecmp(header, "Bearer", 6) != 0 ||
        (header[6] != ' ' && header[6] != '\t'))
        return false;
    header += 6 + strspn(header + 6, " \t");
    n = strlen(header);
    while (n > 0 && (header[n - 1] == ' ' || header[n - 1] == '\t'))
        n--;
    SHA256((const unsigned char *)header, n, digest);
    pthread_mutex_lock(&g->lock);
    memcpy(ours, g->token, sizeof ours);
    pthread_mutex_unlock(&g->lock);
    return CRYPTO_memcmp(digest, ours, sizeof digest) == 0;
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

static bool host_is_ours(const struct guard *g, const char *host)
{
    char name[256], bare[260];

    host_name(host, name, sizeof name);
    snprintf(bare, sizeof bare, "[%s]", g->host);
    return strcasecmp(name, "localhost") == 0 ||
           strcmp(name, "127.0.0.1") == 0 || strcmp(name, "[::1]") == 0 ||
           strcasecmp(name, g->host) == 0 || strcasecmp(name, bare) == 0;
}

static bool origin_is_ours(const char *origin, const char *host)
{
    const char *p = strstr(origin, "://");

    return p && host && strcasecmp(p + 3, host) == 0;
}

unsigned guard_check(struct exchange *ex, bool open)
{
    struct guard *g = &ex->server->guard;
    const char *host = exchange_header(ex, MHD_HTTP_HEADER_HOST);
    const char *origin = exchange_header(ex, MHD_HTTP_HEADER_ORIGIN);
    const char *auth = exchange_header(ex, MHD_HTTP_HEADER_AUTHORIZATION);

    if (g->has_token) {
        ex->trusted = token_fits(g, auth);
        if (ex->trusted || open)
            return 0;
        exchange_error(
            ex, 401, "AUTH", "Authorization",
            auth ? "the token is not the one in api.token_file"
                 : "this API needs the header `Authorization: Bearer <token>`, "
                   "with the token in api.token_file");
        MHD_add_response_header(ex->response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                "Bearer realm=\"davit\"");
        return 401;
    }
    ex->trusted = true;
    if (g->loopback && host && !host_is_ours(g, host)) {
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
