/*
 * inside.h - what the files of the API room share.
 *
 * A visit is one HTTP request, owned by libmicrohttpd's thread that runs it.
 * An ask is a visit that waits for another thread (the control loop, or the
 * room's own planner thread): its connection is suspended meanwhile, so that
 * waiting costs no thread.  An ask is counted: the visit holds one reference,
 * whoever works on it the other, and it outlives the server if it must.
 */
#ifndef API_INSIDE_H
#define API_INSIDE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../control/command.h"
#include "../control/event.h"
#include "request.h"
#include "server.h"
#include "view.h"

#define BODY_MAX (4u << 20)        /* a body above it is refused, unread */
#define SWALLOW_MAX (256u << 20)   /* so much of it is read and dropped, so that
                                    * the client gets to see the refusal */
#define REPLY_MAX ((size_t)512 << 20)
#define LISTENERS_MAX 64           /* event streams at once */
#define ASKS_MAX 1024              /* suspended visits at once */
#define PLANS_MAX 16               /* of them, waiting for the planner */
#define ANSWER_MS 30000            /* then the caller is told to ask again */
#define BEAT_MS 15000              /* comment lines of an idle event stream */
#define ALIVE_MS 60000             /* no tick for so long: not alive */

/* ---- who may speak (guard.c) */
struct guard {
    bool loopback, tls, has_token;
    char host[256];                /* as configured */
    char path[1024];               /* of the token's file */
    pthread_mutex_t lock;          /* of the two below */
    unsigned char token[32];       /* SHA-256 of it */
    struct timespec changed;       /* the file's time when it was read */
};
enum status guard_init(struct guard *g, const struct config *c,
                       struct err *err);
void guard_done(struct guard *g);
/* Takes a new token over when the file changed; a file that cannot be read, or
 * holds none, leaves the old one in force. */
void guard_refresh(struct guard *g);
struct visit;
/* 0, or the status code after the refusal was written into the visit. */
unsigned guard_check(struct visit *w, bool open);

/* ---- socket.c */
enum status socket_listen(const char *key, const char *host, uint32_t port,
                          int *ret_fd, struct err *err);
uint32_t socket_port(int fd);
/* The text of a PEM file, heap; key names the setting in messages. */
enum status pem_read(const char *path, const char *key, char **ret,
                     struct err *err);

/* ---- asks (ask.c) */
struct yard {                      /* outlives the server while asks live */
    pthread_mutex_t lock;
    pthread_cond_t wake;           /* of the steward */
    uint32_t refs;
    bool stopping;
    uint64_t generation;           /* grows with every event */
    struct ask *first;             /* pending ones */
    uint32_t n;
};
enum ask_state { ASK_PENDING, ASK_DONE, ASK_LATE, ASK_STOPPED };
struct ask {
    struct command cmd;            /* for the control loop; or: */
    struct plan_job *job;          /* for the planner thread */
    struct yard *yard;
    struct ask *next, **link;      /* among the yard's pending */
    struct MHD_Connection *connection;
    uint32_t refs;
    enum ask_state state;
    int64_t since_ms;              /* mono */
};
struct yard *yard_new(void);
void yard_unref(struct yard *y);
struct ask *ask_new(struct yard *y, enum command_kind kind);
/* Suspends the visit and sends the ask on its way; false when there are too
 * many or the server stops (the caller replies then). */
bool ask_send(struct ask *a, struct visit *w,
              void (*send)(struct ask *, void *), void *arg);
void ask_done(struct ask *a);      /* the worker's side: answered */
void ask_unref(struct ask *a);
/* Ends those that wait since before; all with the given state. */
void asks_expire(struct yard *y, int64_t before_ms, enum ask_state state);

/* ---- visits and routes (route.c) */
typedef void route_fn(struct visit *w);
struct route {
    const char *method, *path;     /* "/v1/nodes/{}": one segment */
    route_fn *run;                 /* writes the reply, or sends an ask */
    unsigned flags;
};
enum { ROUTE_OPEN = 1,             /* needs no token */
       ROUTE_BODY = 2 };           /* takes a body */
/* reads.c: what /metrics says. */
void metrics_text(struct server *s, struct buf *ret);
/* health.c: the control loop goes round. */
bool server_alive(const struct server *s);
/* scrape.c: serves it, and whether we are alive, for a kubelet, on
 * this socket, and nothing else; NULL: it cannot. */
struct MHD_Daemon *scrape_start(struct server *s, int listen_fd);

struct visit {
    struct server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    char arg[400];                 /* the path's {} */
    struct buf body;
    uint64_t swallowed;
    bool too_large, swallow;
    struct ask *ask;
    void (*answer)(struct visit *w);  /* after the ask */
    struct request_in request;       /* of POST request_resources */
    unsigned code;                 /* of the reply; 0: none yet */
    struct MHD_Response *response;
    bool queued;                   /* a shared reply is on its way already */
    bool trusted;                  /* has the token, or none is needed */
};

/* Replies: each takes the buffer's bytes over. */
void visit_reply(struct visit *w, unsigned code, struct buf *b,
                const char *content_type);
void visit_error(struct visit *w, unsigned code, const char *status,
                const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* From an enum status; a text that begins with a place is split there. */
void visit_err(struct visit *w, const struct err *e);
const char *visit_query(struct visit *w, const char *name);
const char *visit_header(struct visit *w, const char *name);
struct status_page *visit_page(struct visit *w);  /* NULL: 503 is written */

enum MHD_Result route_handle(void *cls, struct MHD_Connection *connection,
                             const char *url, const char *method,
                             const char *version, const char *upload,
                             size_t *upload_size, void **con_cls);
void route_completed(void *cls, struct MHD_Connection *connection,
                     void **con_cls, enum MHD_RequestTerminationCode why);

/* ---- the handlers */
route_fn put_request, drop_request, get_requests, get_request;  /* demand.c */
route_fn get_status, get_nodes, get_node, get_why, get_snapshot;  /* reads.c */
route_fn get_metrics, get_openapi, get_page;
route_fn protect_node, unprotect_node, post_reload;              /* demand.c */
route_fn post_plan;                                              /* whatif.c */
route_fn get_events;                                             /* stream.c */
route_fn get_alive, get_ready;                                   /* health.c */

/* ---- the planner thread (whatif.c) */
struct whatif;
struct whatif *whatif_new(void);
void whatif_free(struct whatif *w);
void plan_job_free(struct plan_job *j);

/* ---- event streams (stream.c) */
struct listener;
/* Lets those go on that have something to send. */
void listeners_wake(struct server *s, bool events, int64_t mono_ms);
void listeners_end(struct server *s);

struct cached {                    /* a reply that is the same for a tick */
    uint64_t tick;
    struct MHD_Response *response;
};

struct server {
    struct mailbox *mailbox;
    struct status_board *board;
    struct event_ring *events;
    struct metrics *metrics;
    struct yard *yard;
    struct whatif *whatif;
    struct guard guard;
    struct MHD_Daemon *mhd;
    struct MHD_Daemon *metrics_mhd;  /* NULL: no port of its own */
    int listen_fd;
    uint32_t port, metrics_port;
    pthread_t steward;
    pthread_mutex_t lock;          /* of the three below */
    bool closing;                  /* no new listeners */
    struct listener *listeners;
    uint32_t n_listeners;
    pthread_mutex_t cache_lock;
    struct cached status, nodes;
    atomic_ullong seen_ticks;      /* metrics.ticks when the steward looked */
    atomic_llong ticked_ms;        /* mono, when that last grew */
    atomic_bool started;
    char said[300];                /* by libmicrohttpd while it started */
    atomic_uint visits;            /* being served now */
    atomic_ullong replies[6];      /* by hundreds of the status code */
};

extern const char openapi_start[], openapi_end[], page_start[], page_end[];

#endif
