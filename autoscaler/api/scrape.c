/*
 * scrape.c - /metrics on a port of its own, for Prometheus as it finds Ray's
 * autoscaler, and /healthz for a kubelet: one thread, no token, no other path.
 */
#include <string.h>

#include "inside.h"

enum { SCRAPE_IDLE_S = 30 };
#define SCRAPE_MEMORY ((size_t)8 << 10) /* of a connection: headers */

static enum MHD_Result send_text(struct server *s, struct MHD_Connection *conn,
                                 unsigned code, const char *type, struct buf *b)
{
    struct seat *seat = seat_of(conn);
    size_t n = b->n;
    const char *from = peer_name(seat_peer(seat));
    const char *const who[CHARGE_PURSES] = {from, from};
    struct MHD_Response *r = n > SMALL
                                 ? charged_response(s->door, who, false,
                                                    buf_take(b), n)
                                 : MHD_create_response_from_buffer(
                                       n, buf_take(b), MHD_RESPMEM_MUST_FREE);
    enum MHD_Result rc;

    if (!r)
        return MHD_NO;
    if (code == MHD_HTTP_BAD_REQUEST)
        MHD_add_response_header(r, "Connection", "close");
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    seat_enter(seat, SEAT_REPLY);
    rc = MHD_queue_response(conn, code, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *conn,
                              const char *url, const char *method,
                              const char *version, const char *body,
                              size_t *body_len, void **ctx)
{
    static const char text[] = "text/plain; charset=utf-8";
    const char *fault = strict_fault(conn, *ctx, version);
    const char *host = MHD_lookup_connection_value(conn, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_HOST);
    struct server *s = cls;
    struct buf b;

    (void)body;
    if (*body_len) { /* of a GET, after its reply: read and dropped */
        *body_len = 0;
        return MHD_YES;
    }
    buf_init(&b, REPLY_MAX);
    if (fault) {
        buf_printf(&b, "%s\n", fault);
        return send_text(s, conn, MHD_HTTP_BAD_REQUEST, text, &b);
    }
    if (!guard_host_public(&s->guard, host ? host : "")) {
        buf_printf(&b,
                   "%.200s is no name of this machine that a page of another "
                   "site could not have too; see api.hosts\n",
                   host);
        return send_text(s, conn, MHD_HTTP_FORBIDDEN, text, &b);
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        buf_str(&b, "only GET is answered here\n");
        return send_text(s, conn, MHD_HTTP_METHOD_NOT_ALLOWED, text, &b);
    }
    if (strcmp(url, "/healthz") == 0 || strcmp(url, "/livez") == 0) {
        bool alive = server_alive(cls);
        buf_str(&b,
                alive ? "ok\n" : "the control loop has not run for a minute\n");
        return send_text(s, conn,
                         alive ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                         text, &b);
    }
    if (strcmp(url, "/metrics") != 0 && strcmp(url, "/") != 0) {
        buf_str(&b, "there are /metrics and /healthz here, and nothing else\n");
        return send_text(s, conn, MHD_HTTP_NOT_FOUND, text, &b);
    }
    metrics_text(cls, &b);
    return send_text(s, conn, MHD_HTTP_OK,
                     "text/plain; version=0.0.4; charset=utf-8", &b);
}

static void completed(void *cls, struct MHD_Connection *conn, void **ctx,
                      enum MHD_RequestTerminationCode why)
{
    (void)cls, (void)ctx, (void)why;
    seat_enter(seat_of(conn), SEAT_IDLE);
}

struct MHD_Daemon *scrape_start(void *server, int listen_fd)
{
    struct server *s = server;

    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle,
        server, MHD_OPTION_LISTEN_SOCKET, listen_fd,
        MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(DOOR_METRICS_SEATS + DOOR_MARGIN),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, SCRAPE_MEMORY,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SCRAPE_IDLE_S,
        MHD_OPTION_NOTIFY_CONNECTION, door_notify,
        door_arg(s->door, DOOR_METRICS), MHD_OPTION_NOTIFY_COMPLETED, completed,
        NULL, MHD_OPTION_URI_LOG_CALLBACK, strict_uri, NULL,
        MHD_OPTION_CLIENT_DISCIPLINE_LVL, DISCIPLINE, MHD_OPTION_END);
}
