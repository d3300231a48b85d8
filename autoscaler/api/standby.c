/*
 * standby.c - GET /healthz, by any of its names, is 200; everything else is 503
 * and says what is waited for.
 *
 * A Deployment's probes need an answer from a standby too: alive, so that it
 * is not restarted, and not ready, so that the Service leads to the leader.
 */
#include "standby.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "inside.h"

struct standby {
    struct MHD_Daemon *mhd, *metrics; /* metrics: NULL, no port of its own */
    struct door *door;
    struct certs *certs; /* NULL: no TLS */
    int64_t refreshed_ms;
    pthread_mutex_t lock;
    char text[512];
};

#define STANDBY_SEATS 256

static enum MHD_Result refuse(struct MHD_Connection *connection,
                              const char *fault)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        strlen(fault), (void *)fault, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result rc;

    MHD_add_response_header(r, "Connection", "close");
    rc = MHD_queue_response(connection, 400, r);
    MHD_destroy_response(r);
    return rc;
}

/* For the next handshake; on the one thread of this port. */
static void refresh(struct standby *s)
{
    int64_t now = clock_mono_ms();

    if (!s->certs || now - s->refreshed_ms < 1000)
        return;
    s->refreshed_ms = now;
    certs_refresh(s->certs);
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection,
                              const char *url, const char *method,
                              const char *version, const char *data,
                              size_t *n_data, void **seen)
{
    static int first;
    struct standby *s = cls;
    struct MHD_Response *r;
    enum MHD_Result rc;
    bool health = strcmp(url, "/healthz") == 0 || strcmp(url, "/livez") == 0 ||
                  strcmp(url, "/health-check") == 0;
    json_t *json;
    char *text;

    (void)method;
    (void)data;
    if (*seen != &first) {
        const char *fault = strict_fault(connection, *seen, version);

        *seen = &first;
        seat_enter(seat_of(connection), SEAT_BODY);
        if (seat_port(seat_of(connection)) == DOOR_API)
            refresh(s);
        return fault ? refuse(connection, fault) : MHD_YES;
    }
    if (*n_data) {
        *n_data = 0; /* a body is read to its end and dropped */
        return MHD_YES;
    }
    pthread_mutex_lock(&s->lock);
    json = health
               ? json_pack("{s:s,s:s}", "status", "standby", "detail", s->text)
               : json_pack("{s:{s:s,s:s}}", "error", "code", "standby",
                           "message", s->text);
    pthread_mutex_unlock(&s->lock);
    text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(json);
    if (!text)
        return MHD_NO;
    r = MHD_create_response_from_buffer(strlen(text), text,
                                        MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(r, "Content-Type", "application/json");
    if (!health)
        MHD_add_response_header(r, "Retry-After", "1");
    seat_enter(seat_of(connection), SEAT_REPLY);
    rc = MHD_queue_response(connection, health ? 200 : 503, r);
    MHD_destroy_response(r);
    return rc;
}

static void completed(void *cls, struct MHD_Connection *connection, void **seen,
                      enum MHD_RequestTerminationCode why)
{
    (void)cls, (void)seen, (void)why;
    seat_enter(seat_of(connection), SEAT_IDLE);
}

static struct MHD_Daemon *start(struct standby *s, int listen_fd,
                                enum door_port port, struct certs *certs)
{
    static struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};

    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | (certs ? MHD_USE_TLS : 0),
        0, NULL, NULL, answer, s, MHD_OPTION_LISTEN_SOCKET, listen_fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(STANDBY_SEATS + DOOR_MARGIN),
        MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_NOTIFY_CONNECTION,
        door_notify, door_arg(s->door, port), MHD_OPTION_NOTIFY_COMPLETED,
        completed, NULL, MHD_OPTION_URI_LOG_CALLBACK, strict_uri, NULL,
        MHD_OPTION_CLIENT_DISCIPLINE_LVL, DISCIPLINE, MHD_OPTION_ARRAY,
        certs ? certs_options(certs) : none, MHD_OPTION_END);
}

/* A kubelet's probe goes to the port that is not on loopback. */
static struct MHD_Daemon *metrics_start(void *arg, int listen_fd)
{
    return start(arg, listen_fd, DOOR_METRICS, NULL);
}

enum status standby_start(const struct config *c, struct standby **ret,
                          struct err *err)
{
    struct standby *s = MEM_NEW(struct standby);
    enum status rc;
    int fd = -1;

    pthread_mutex_init(&s->lock, NULL);
    s->door = door_new(STANDBY_SEATS);
    rc = certs_of(c, &s->certs, err);
    if (rc == ST_OK)
        rc = socket_api(c, &fd, err);
    if (rc == ST_OK)
        rc = metrics_listen(c, metrics_start, s, &s->metrics, err);
    if (rc == ST_OK && fd >= 0) {
        s->mhd = start(s, fd, DOOR_API, s->certs);
        if (!s->mhd)
            rc = err_set(err, ST_INVALID,
                         "api: the HTTP server does not start");
    }
    if (rc != ST_OK) {
        if (fd >= 0)
            close(fd);
        standby_stop(s);
        s = NULL;
    }
    *ret = s;
    return rc;
}

void standby_report(struct standby *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    snprintf(s->text, sizeof s->text, "%s", text);
    pthread_mutex_unlock(&s->lock);
}

void standby_stop(struct standby *s)
{
    if (!s)
        return;
    if (s->mhd)
        MHD_stop_daemon(s->mhd);
    if (s->metrics)
        MHD_stop_daemon(s->metrics);
    door_free(s->door);
    certs_close(s->certs);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
