/*
 * scrape.c - /metrics on a port of its own, for Prometheus as it finds Ray's
 * autoscaler, and /healthz for a kubelet: one thread, no token, no other path.
 */
#include <string.h>

#include "inside.h"

enum { SCRAPERS_MAX = 16, SCRAPE_IDLE_S = 30 };

static enum MHD_Result send_text(struct MHD_Connection *conn, unsigned code,
                                 const char *type, struct buf *b)
{
    size_t n = b->n;
    struct MHD_Response *r = MHD_create_response_from_buffer(
        n, buf_take(b), MHD_RESPMEM_MUST_FREE);
    enum MHD_Result rc;

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
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
    struct buf b;

    (void)version, (void)body, (void)ctx;
    if (*body_len) {
        *body_len = 0;
        return MHD_YES;
    }
    buf_init(&b, REPLY_MAX);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        buf_str(&b, "only GET is answered here\n");
        return send_text(conn, MHD_HTTP_METHOD_NOT_ALLOWED, text, &b);
    }
    if (strcmp(url, "/healthz") == 0 || strcmp(url, "/livez") == 0) {
        bool alive = server_alive(cls);
        buf_str(&b,
                alive ? "ok\n" : "the control loop has not run for a minute\n");
        return send_text(
            conn, alive ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, text, &b);
    }
    if (strcmp(url, "/metrics") != 0 && strcmp(url, "/") != 0) {
        buf_str(&b, "there are /metrics and /healthz here, and nothing else\n");
        return send_text(conn, MHD_HTTP_NOT_FOUND, text, &b);
    }
    metrics_text(cls, &b);
    return send_text(conn, MHD_HTTP_OK,
                     "text/plain; version=0.0.4; charset=utf-8", &b);
}

struct MHD_Daemon *scrape_start(void *server, int listen_fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle,
        server, MHD_OPTION_LISTEN_SOCKET, listen_fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SCRAPERS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SCRAPE_IDLE_S, MHD_OPTION_END);
}
