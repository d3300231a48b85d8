/*
 * wire_server.h - a small server on loopback for the tests of wire/.
 *
 * One thread per connection; each test gives the function that serves one
 * connection.  h2_* speak just enough HTTP/2 to play a gRPC server, right or
 * wrong: header blocks are written as literals and never read.
 */
#ifndef TEST_WIRE_SERVER_H
#define TEST_WIRE_SERVER_H

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_CONNECTIONS 64

struct server {
    int fd;
    unsigned short port;
    char url[64]; /* "http://127.0.0.1:port" */
    pthread_t thread, worker[MAX_CONNECTIONS];
    int connection[MAX_CONNECTIONS];
    atomic_int n; /* connections so far */
    void (*serve)(struct server *s, int fd);
    void *arg;
    atomic_int calls; /* h2: requests so far */
    pthread_mutex_t lock;
    char body[1 << 20]; /* h2: the last request's message */
    size_t body_len;
};

struct server_connection {
    struct server *s;
    int i;
};

static void *server_one(void *arg)
{
    struct server_connection c = *(struct server_connection *)arg;
    free(arg);
    c.s->serve(c.s, c.s->connection[c.i]);
    shutdown(c.s->connection[c.i], SHUT_RDWR);
    return NULL;
}

static void *server_run(void *arg)
{
    struct server *s = arg;
    for (;;) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        int i = atomic_load(&s->n);
        assert(i < MAX_CONNECTIONS);
        struct server_connection *c = malloc(sizeof *c);
        *c = (struct server_connection){s, i};
        s->connection[i] = fd;
        atomic_store(&s->n, i + 1); /* before anybody has an answer of it */
        pthread_create(&s->worker[i], NULL, server_one, c);
    }
}

static void server_listen(struct server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(s->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int one = 1;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s->fd, (struct sockaddr *)&a, sizeof a) ||
        getsockname(s->fd, (struct sockaddr *)&a, &len) || listen(s->fd, 16)) {
        perror("server");
        abort();
    }
    s->port = ntohs(a.sin_port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", s->port);
    pthread_create(&s->thread, NULL, server_run, s);
}

static struct server *server_start(void (*serve)(struct server *, int),
                                   void *arg)
{
    struct server *s = calloc(1, sizeof *s);
    s->serve = serve;
    s->arg = arg;
    pthread_mutex_init(&s->lock, NULL);
    server_listen(s);
    return s;
}

/* Ends every connection; the port is closed afterwards. */
static void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    close(s->fd);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < s->n; i++) {
        shutdown(s->connection[i], SHUT_RDWR);
        pthread_join(s->worker[i], NULL);
        close(s->connection[i]);
    }
    s->n = 0;
}

/* Ends every connection there is, and comes back when the other side can know:
 * its kernel has acknowledged that. */
static __attribute__((unused)) void server_hang_up(struct server *s)
{
    for (int i = 0; i < atomic_load(&s->n); i++) {
        struct tcp_info info = {.tcpi_state = TCP_FIN_WAIT1};
        socklen_t len = sizeof info;

        shutdown(s->connection[i], SHUT_RDWR);
        while (info.tcpi_state == TCP_FIN_WAIT1) {
            sched_yield();
            if (getsockopt(s->connection[i], IPPROTO_TCP, TCP_INFO, &info,
                           &len) != 0)
                abort();
        }
    }
}

static void server_free(struct server *s)
{
    server_stop(s);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static bool get_all(int fd, void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = recv(fd, (char *)p + at, n - at, 0);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static void put_all(int fd, const void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t put = send(fd, (const char *)p + at, n - at, MSG_NOSIGNAL);
        if (put <= 0)
            return;
        at += (size_t)put;
    }
}

static __attribute__((unused)) void put_text(int fd, const char *s)
{
    put_all(fd, s, strlen(s));
}

/* One HTTP/1.1 request: its head, and as much of the body as announced. */
static __attribute__((unused)) bool h1_read(int fd, char *buf, size_t max)
{
    size_t n = 0;
    char *end;
    buf[0] = '\0';
    while (!(end = strstr(buf, "\r\n\r\n"))) {
        if (n + 1 >= max || !get_all(fd, buf + n, 1))
            return false;
        buf[++n] = '\0';
    }
    const char *length = strcasestr(buf, "\r\ncontent-length:");
    size_t want = length ? strtoul(length + 17, NULL, 10) : 0;
    if (n + want >= max || !get_all(fd, buf + n, want))
        return false;
    buf[n + want] = '\0';
    return true;
}

/* ---- HTTP/2 */

enum {
    H2_DATA = 0,
    H2_HEADERS = 1,
    H2_RST = 3,
    H2_SETTINGS = 4,
    H2_PING = 6,
    H2_GOAWAY = 7,
    H2_WINDOW = 8,
    H2_END_STREAM = 1,
    H2_ACK = 1,
    H2_END_HEADERS = 4
};

static void h2_frame(int fd, int type, int flags, unsigned stream,
                     const void *p, size_t n)
{
    unsigned char head[9] = {(unsigned char)(n >> 16),
                             (unsigned char)(n >> 8),
                             (unsigned char)n,
                             (unsigned char)type,
                             (unsigned char)flags,
                             (unsigned char)(stream >> 24),
                             (unsigned char)(stream >> 16),
                             (unsigned char)(stream >> 8),
                             (unsigned char)stream};
    put_all(fd, head, sizeof head);
    put_all(fd, p, n);
}

/* names and values in turn, NULL ends */
static void h2_headers(int fd, unsigned stream, bool end,
                       const char *const *words)
{
    unsigned char block[4096];
    size_t n = 0;
    for (; *words; words += 2) {
        block[n++] = 0; /* literal, not indexed, new name */
        for (int k = 0; k < 2; k++) {
            size_t len = strlen(words[k]);
            if (len < 127) {
                block[n++] = (unsigned char)len;
            } else { /* an integer with a 7-bit prefix */
                block[n++] = 127;
                size_t rest = len - 127;
                for (; rest >= 128; rest /= 128)
                    block[n++] = (unsigned char)(rest % 128 + 128);
                block[n++] = (unsigned char)rest;
            }
            memcpy(block + n, words[k], len);
            n += len;
        }
    }
    h2_frame(fd, H2_HEADERS, H2_END_HEADERS | (end ? H2_END_STREAM : 0), stream,
             block, n);
}

/* A good gRPC reply with this message. */
static __attribute__((unused)) void h2_reply(int fd, unsigned stream,
                                             const void *p, size_t n)
{
    unsigned char *frame = malloc(n + 5);
    frame[0] = 0;
    frame[1] = (unsigned char)(n >> 24);
    frame[2] = (unsigned char)(n >> 16);
    frame[3] = (unsigned char)(n >> 8);
    frame[4] = (unsigned char)n;
    memcpy(frame + 5, p, n);
    h2_headers(fd, stream, false,
               (const char *const[]){":status", "200", "content-type",
                                     "application/grpc", NULL});
    for (size_t at = 0; at < n + 5; at += 16384) {
        size_t some = n + 5 - at < 16384 ? n + 5 - at : 16384;
        h2_frame(fd, H2_DATA, 0, stream, frame + at, some);
    }
    h2_headers(fd, stream, true,
               (const char *const[]){"grpc-status", "0", NULL});
    free(frame);
}

/* A trailers-only refusal. */
static __attribute__((unused)) void h2_refuse(int fd, unsigned stream,
                                              const char *code,
                                              const char *message)
{
    h2_headers(fd, stream, true,
               (const char *const[]){":status", "200", "content-type",
                                     "application/grpc", "grpc-status", code,
                                     "grpc-message", message, NULL});
}

/* Serves one HTTP/2 connection: answer() for each whole request; it returns
 * false to hang up. */
static __attribute__((unused)) void h2_serve(
    struct server *s, int fd,
    bool (*answer)(struct server *s, int fd, unsigned stream, int call))
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    unsigned char head[9];
    char got[sizeof preface - 1], payload[1 << 15];
    static const char upset[] = "HTTP/1.1 400 Bad Request\r\n"
                                "connection: close\r\n\r\n";
    if (!get_all(fd, got, sizeof got))
        return;
    if (memcmp(got, preface, sizeof got) != 0) {
        put_all(fd, upset, sizeof upset - 1);
        return;
    }
    h2_frame(fd, H2_SETTINGS, 0, 0, "", 0);
    pthread_mutex_lock(&s->lock);
    s->body_len = 0;
    pthread_mutex_unlock(&s->lock);
    while (get_all(fd, head, sizeof head)) {
        size_t n = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        unsigned stream = (unsigned)head[5] << 24 | (unsigned)head[6] << 16 |
                          (unsigned)head[7] << 8 | head[8];
        if (n > sizeof payload || !get_all(fd, payload, n))
            return;
        if (head[3] == H2_SETTINGS && !(head[4] & H2_ACK))
            h2_frame(fd, H2_SETTINGS, H2_ACK, 0, "", 0);
        else if (head[3] == H2_PING && !(head[4] & H2_ACK))
            h2_frame(fd, H2_PING, H2_ACK, 0, payload, n);
        else if (head[3] == H2_GOAWAY)
            return;
        if (head[3] == H2_DATA && n) { /* as much again may come */
            unsigned char more[4] = {0, 0, (unsigned char)(n >> 8),
                                     (unsigned char)n};
            h2_frame(fd, H2_WINDOW, 0, 0, more, 4);
            if (!(head[4] & H2_END_STREAM))
                h2_frame(fd, H2_WINDOW, 0, stream, more, 4);
        }
        pthread_mutex_lock(&s->lock);
        if (head[3] == H2_HEADERS)
            s->body_len = 0;
        if (head[3] == H2_DATA && s->body_len + n <= sizeof s->body) {
            memcpy(s->body + s->body_len, payload, n);
            s->body_len += n;
        }
        pthread_mutex_unlock(&s->lock);
        if ((head[3] == H2_DATA || head[3] == H2_HEADERS) &&
            (head[4] & H2_END_STREAM) &&
            !answer(s, fd, stream, atomic_fetch_add(&s->calls, 1)))
            return;
    }
}

#endif
