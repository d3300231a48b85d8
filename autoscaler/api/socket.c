/*
 * socket.c - where the API listens, and with which certificate.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "inside.h"

#define BACKLOG 4096 /* a full one makes a client try again after a second */

static enum status socket_listen(const char *key, const char *host,
                                 uint32_t port, int *ret_fd, struct err *err)
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

enum status socket_api(const struct config *c, int *ret_fd, struct err *err)
{
    *ret_fd = -1;
    return *c->api_host ? socket_listen("api.listen", c->api_host, c->api_port,
                                        ret_fd, err)
                        : ST_OK;
}

/* A socket that nobody listens at any more is in the way of the next one. */
static void clear_stale(const struct sockaddr_un *a)
{
    struct stat st;
    int fd;

    if (lstat(a->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        connect(fd, (const struct sockaddr *)(const void *)a, sizeof *a) != 0 &&
        errno == ECONNREFUSED)
        unlink(a->sun_path);
    if (fd >= 0)
        close(fd);
}

/* For everybody, from its beginning: the path is looked at once, as another user may put a
 * link there.  What is not in the mask goes by the socket's own mode. */
static bool bind_open(int fd, const struct sockaddr_un *a)
{
    const mode_t mask = umask(0);
    bool bound = fchmod(fd, 0666) == 0 &&
                 bind(fd, (const struct sockaddr *)(const void *)a,
                      sizeof *a) == 0;
    int why = errno;

    umask(mask);
    errno = why;
    return bound;
}

void socket_end(const char *path, dev_t dev, ino_t ino)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_dev == dev &&
        st.st_ino == ino)
        unlink(path);
}

enum status socket_local(const char *path, int *ret_fd, struct stat *ret,
                         struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof a.sun_path)
        return err_set(err, ST_INVALID,
                       "api.socket: %s is longer than a socket's path may be "
                       "(%zu)",
                       path, sizeof a.sun_path - 1);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    clear_stale(&a);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !bind_open(fd, &a) || lstat(path, ret) != 0 ||
        listen(fd, BACKLOG) != 0) {
        err_set(err, errno == EADDRINUSE ? ST_RETRY : ST_INVALID,
                "api.socket: cannot listen at %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return err->status;
    }
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

enum status certs_of(const struct config *c, struct certs **ret,
                     struct err *err)
{
    *ret = NULL;
    if (!*c->api_tls_cert)
        return ST_OK;
    return certs_open(c->api_tls_cert, c->api_tls_key,
                      c->api_client_ca ? c->api_client_ca : "",
                      c->api_client_crl ? c->api_client_crl : "", ret, err);
}
