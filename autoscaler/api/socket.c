/*
 * socket.c - where the API listens, and the files that TLS needs.
 */
#include <errno.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/buf.h"
#include "inside.h"

#define BACKLOG 256
#define PEM_MAX ((size_t)1 << 20)

enum status socket_listen(const char *key, const char *host, uint32_t port,
                          int *ret_fd, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *list;
    char service[16];
    int rc, fd = -1, why = 0, one = 1;

    snprintf(service, sizeof service, "%u", port);
    rc = getaddrinfo(host, service, &hints, &list);
    if (rc != 0)
        return err_set(err, ST_INVALID, "%s: %s: %s", key, host,
                       gai_strerror(rc));
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    0);
        if (fd < 0) {
            why = errno;
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 ||
            listen(fd, BACKLOG) != 0) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        return err_set(err, why == EADDRINUSE ? ST_RETRY : ST_INVALID,
                       "%s: cannot listen on %s port %u: %s%s", key, host, port,
                       strerror(why),
                       why == EADDRINUSE
                           ? "; is another davit running? choose another port"
                           : "");
    *ret_fd = fd;
    return ST_OK;
}

uint32_t socket_port(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;
    char service[16] = "0";

    if (getsockname(fd, (struct sockaddr *)&a, &n) == 0)
        getnameinfo((struct sockaddr *)&a, n, NULL, 0, service, sizeof service,
                    NI_NUMERICSERV);
    return (uint32_t)strtoul(service, NULL, 10);
}

enum status metrics_listen(const struct config *c,
                           struct MHD_Daemon *(*start)(void *arg, int fd),
                           void *arg, struct MHD_Daemon **ret, struct err *err)
{
    enum status rc;
    int fd;

    *ret = NULL;
    if (!c->metrics_host || !*c->metrics_host)
        return ST_OK;
    rc = socket_listen("api.metrics", c->metrics_host, c->metrics_port, &fd,
                       err);
    if (rc != ST_OK)
        return rc;
    *ret = start(arg, fd);
    if (*ret)
        return ST_OK;
    close(fd);
    return err_set(err, ST_INVALID,
                   "api.metrics: the HTTP server does not start");
}

static enum status pem_read(const char *path, const char *key, char **ret,
                            struct err *err)
{
    FILE *f = fopen(path, "re");
    struct buf b;
    char part[4096];
    size_t n;

    if (!f)
        return err_set(err, ST_INVALID, "%s: cannot read %s: %s", key, path,
                       strerror(errno));
    buf_init(&b, PEM_MAX);
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(&b, part, n);
    fclose(f);
    if (b.full || !strstr(b.s, "-----BEGIN ")) {
        buf_done(&b);
        return err_set(err, ST_INVALID, "%s: %s is no PEM file", key, path);
    }
    *ret = buf_take(&b);
    return ST_OK;
}

enum status tls_read(const struct config *c, struct tls *ret, struct err *err)
{
    enum status s;

    *ret = (struct tls){.options = {{MHD_OPTION_END, 0, NULL}}};
    if (!*c->api_tls_cert)
        return ST_OK;
    if ((s = pem_read(c->api_tls_cert, "api.tls_cert", &ret->cert, err)) !=
            ST_OK ||
        (s = pem_read(c->api_tls_key, "api.tls_key", &ret->key, err)) != ST_OK)
        return s;
    ret->flag = MHD_USE_TLS;
    ret->options[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0,
                                              ret->cert};
    ret->options[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0,
                                              ret->key};
    ret->options[2] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return ST_OK;
}

void tls_done(struct tls *t)
{
    free(t->cert);
    if (t->key)
        OPENSSL_cleanse(t->key, strlen(t->key));
    free(t->key);
}
