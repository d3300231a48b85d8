/*
 * inside.h - what the files of the API room share.
 *
 * An exchange is one HTTP request and its reply, owned by the thread of
 * libmicrohttpd that runs it.  One that needs another thread (the control loop,
 * or the room's own planner thread) is pending: its connection is suspended
 * meanwhile, so that waiting costs no thread.
 */
#ifndef API_INSIDE_H
#define API_INSIDE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "../base/buf.h"
#include "../control/command.h"
#include "../control/event.h"
#include "caller.h"
#include "door/audit.h"
#include "door/certs.h"
#include "door/door.h"
#include "door/pace.h"
#include "door/review.h"
#include "door/secret.h"
#include "request.h"
#include "server.h"
#include "view.h"

#define BODY_MAX (4u << 20) /* a larger body is refused */
/* So much of it is read and dropped, so that the client gets to see the
 * refusal */
#define DISCARD_MAX (256u << 20)
#define REPLY_MAX ((size_t)40 << 20)
#define LISTENERS_MAX 64   /* event streams at once */
#define PENDING_MAX 384    /* suspended exchanges at once */
#define PENDING_CALLER 192 /* of one caller */
#define PENDING_REST 64    /* more, for callers who have few */
#define PENDING_FEW 4
#define TASKS_MAX 16    /* of them, waiting for the thread for long work */
#define TASKS_CALLER 12 /* of one caller */
#define TASKS_STRANGERS \
    8                    /* of all addresses whose callers nobody vouches for */
#define REVIEWS_CALLER 4 /* or for that which asks the API server */
#define SMALL ((size_t)16 << 10) /* bodies and replies that are not charged */
#define LARGE ((size_t)64 << 10) /* bodies that are read on that thread */
/* What the tree of a body may take: 40,000 different bundles. */
#define TREE_MAX ((size_t)24 << 20)
#define ANSWER_MS 30000 /* then the reply is: try again */
#define BEAT_MS 15000   /* comment lines of an idle event stream */
#define ALIVE_MS 60000  /* no tick for so long: not alive */

struct exchange;

/* ---- guard.c: who may use the API */
struct guard {
    bool loopback, tls, has_token;
    bool closed;    /* whoever shows nothing is nobody */
    bool anonymous; /* ... but for a loopback address, where somebody wrote so */
    bool socket;    /* there is api.socket */
    char host[256]; /* as configured */
    char **hosts;   /* api.hosts */
    uint32_t n_hosts;
    char path[1024];         /* of the token's file */
    struct stamp stamp;      /* of the file when it was read */
    pthread_mutex_t lock;    /* of the two below */
    unsigned char token[32]; /* SHA-256 of it */
    char problem[432];       /* why the newest file is not in force */
};
enum status guard_init(struct guard *g, const struct config *c,
                       struct err *err);
void guard_done(struct guard *g);
/* Takes a new token over when the file changed; a file that cannot be read, or
 * holds none, leaves the old one in force. */
void guard_refresh(struct guard *g);
/* "" or what is wrong with the newest file; buf of n bytes. */
const char *guard_problem(struct guard *g, char *buf, size_t n);
/* May a scraper call us so?  By an address, or a name that nobody outside can
 * give to us: without a dot, of a cluster, or in api.hosts. */
bool guard_host_public(const struct guard *g, const char *host);
bool guard_token_fits(struct guard *g, const unsigned char digest[32]);
/* Finds the caller and his rights; open: everybody has them.  0, or the status
 * code after the refusal was written. */
unsigned guard_check(struct exchange *ex, bool open);

/* ---- socket.c */
/* Of api.listen; *ret_fd is -1 when that is off. */
enum status socket_api(const struct config *c, int *ret_fd, struct err *err);
uint32_t socket_port(int fd);
/* A Unix socket that every user may connect to: who it is decides. */
enum status socket_local(const char *path, int *ret_fd, struct stat *ret,
                         struct err *err);
/* Takes the path away if that socket is there. */
void socket_end(const char *path, dev_t dev, ino_t ino);
/* Starts what answers at api.metrics, if there is such a port; *ret is NULL if
 * not.  start() takes the socket over. */
enum status metrics_listen(const struct config *c,
                           struct MHD_Daemon *(*start)(void *arg, int fd),
                           void *arg, struct MHD_Daemon **ret, struct err *err);
/* The certificates of api.tls; *ret is NULL without them. */
enum status certs_of(const struct config *c, struct certs **ret,
                     struct err *err);

/* ---- pending.c
 * A pending is counted: its exchange has one reference, whoever works on it the
 * other, and it outlives the server if it must. */
struct pending_list { /* outlives the server while they live */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* of the reaper */
    uint32_t refs;
    bool stopping;
    uint64_t generation; /* grows with every event */
    struct pending *first;
    uint32_t n;
};
enum pending_state {
    PENDING_WAITS,
    PENDING_DONE,
    PENDING_LATE,
    PENDING_DISPLACED, /* by one who has less of what is shared */
    PENDING_STOPPED
};
struct pending {
    struct command cmd;   /* for the control loop */
    struct task *task;    /* for the thread for long work, or NULL */
    struct caller caller; /* a copy: it may outlive the exchange */
    char share[400];      /* whose share of what may be asked for it takes */
    struct pending_list *list;
    struct pending *next, **link;
    struct MHD_Connection *connection;
    uint32_t refs;
    enum pending_state state;
    int64_t since_ms; /* mono */
};
struct pending_list *pending_list_new(void);
void pending_list_unref(struct pending_list *list);
struct pending *pending_new(struct pending_list *list, enum command_kind kind);
/* Suspends the exchange and sends it on its way; false when too many wait or
 * the server stops (the caller replies then). */
bool pending_send(struct pending *p, struct exchange *ex,
                  void (*send)(struct pending *, void *), void *arg);
void pending_done(struct pending *p);        /* the worker's side: answered */
void pending_displace(struct pending *p);    /* ... or never to be */
bool pending_waits(const struct pending *p); /* or has it ended? */
void pending_unref(struct pending *p);
/* Ends those that have waited since before; all with the given state. */
void pending_expire(struct pending_list *list, int64_t before_ms,
                    enum pending_state state);

/* ---- exchange.c, route.c */
typedef void route_fn(struct exchange *ex);
struct route {
    const char *method, *path; /* "/v1/nodes/{}": one segment */
    route_fn *run;             /* writes the reply, or becomes pending */
    unsigned flags;
};
enum {
    ROUTE_OPEN = 1,    /* for everybody; else it needs the right to read */
    ROUTE_BODY = 2,    /* takes a body */
    ROUTE_OWNER = 4,   /* its {} is an owner, who may read it too */
    ROUTE_REQUEST = 8, /* needs the right to ask for the owner */
    ROUTE_ADMIN = 16,
    ROUTE_CHANGE = 32, /* goes into the audit */
    ROUTE_OWN = 64,    /* who may ask for some owners sees what is theirs */
};
struct exchange {
    struct server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    char arg[400];   /* the path's {} */
    char owner[132]; /* of its body, once that is known, for the audit */
    struct buf body;
    uint64_t discarded;
    bool drop_body; /* the refusal is decided; the rest is read and dropped */
    bool close;     /* the connection, after the reply */
    bool by_tick;   /* the reply is the same all through a tick: its ETag */
    bool stream;    /* its reply has no end */
    bool shared;    /* its reply is for others too */
    struct seat *seat;
    struct peer *peer;
    struct charge charge; /* for the body and what is made of it */
    struct pending *pending;
    route_fn *answer; /* after it */
    unsigned code;    /* of the reply; 0: none yet */
    struct MHD_Response *response;
    bool queued;            /* a shared reply is on its way already */
    bool sent;              /* to the control loop: it may take effect */
    bool recorded;          /* in the audit */
    bool trusted;           /* may read everything */
    bool unknown;           /* the API server is to be asked about the token */
    char vouched[384];      /* by whom, as the API server's keys say; or "" */
    bool again;             /* ... which was known when this began */
    struct pending *before; /* put aside meanwhile, with what answers it */
    route_fn *before_answer;
    int64_t began_ms; /* mono */
    struct caller caller;
};
/* Sets ex->route and ex->arg, or writes the refusal. */
void route_find(struct exchange *ex, const char *url, const char *method);
/* Refuses it if its caller owes too much: pace.h. */
void route_run(struct exchange *ex);
void route_answer(struct exchange *ex); /* what it waited for is there */

/* Replies: an empty buffer to write one to; exchange_reply() takes it over. */
void reply_begin(struct buf *ret, struct out *ret_out);
void exchange_reply(struct exchange *ex, unsigned code, struct buf *b,
                    const char *content_type);
/* Headers of every reply: for ex->response. */
void exchange_headers(struct exchange *ex);
void exchange_error(struct exchange *ex, unsigned code, const char *status,
                    const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The same with more keys in its object, which go between the two. */
void exchange_error_begin(struct out *o, struct buf *b, const char *status,
                          const char *where, const char *text);
void exchange_error_end(struct exchange *ex, struct out *o, struct buf *b,
                        unsigned code);
/* Charges what the tree of the body will take until the exchange is over; false:
 * a 413 or 503 is written. */
bool exchange_charge_tree(struct exchange *ex);
/* From an enum status; a text that begins with a place is split there. */
void exchange_err(struct exchange *ex, const struct err *e);
const char *exchange_query(struct exchange *ex, const char *name);
const char *exchange_header(struct exchange *ex, const char *name);
/* Will the client take a compressed reply? */
bool exchange_takes_gzip(struct exchange *ex);
/* A number that is not negative; -1 when there is none, -2 when it is wrong. */
int64_t exchange_number(const char *text);
/* Drops a reply that is written but not sent. */
void exchange_forget(struct exchange *ex);
/* A reference to the newest page; NULL: a 503 is written. */
struct status_page *exchange_page(struct exchange *ex);

/* What libmicrohttpd calls. */
enum MHD_Result exchange_handle(void *cls, struct MHD_Connection *connection,
                                const char *url, const char *method,
                                const char *version, const char *upload,
                                size_t *upload_size, void **con_cls);
void exchange_completed(void *cls, struct MHD_Connection *connection,
                        void **con_cls, enum MHD_RequestTerminationCode why);

/* ---- record.c: changes into the audit, as their replies go out, or as they end
 * without one: then what was sent to the control loop */
void record_change(struct exchange *ex);
void record_end(struct exchange *ex);
route_fn get_audit;

/* ---- reads.c: replies that are views of the published page */

/* Writes the reply of an exchange; false, with nothing written: its path names
 * something that is not there. */
typedef bool write_fn(struct out *o, struct view *v, struct exchange *ex);
/* Made for this exchange; missing: the text of the 404. */
void reply_view(struct exchange *ex, write_fn *fn, const char *missing);
struct cached { /* a reply that is the same for a tick */
    uint64_t tick;
    int64_t made_ms, took_ms; /* mono */
    struct MHD_Response *response;
};
/* Made once a tick and shared; both: as it is, and compressed. */
void reply_cached(struct exchange *ex, struct cached both[2], write_fn *fn);

/* ---- the handlers */
route_fn get_status, get_node, get_why, get_snapshot; /* reads.c */
route_fn get_requests, get_request, get_metrics, get_openapi;
route_fn get_nodes;               /* page/node_query.c */
route_fn get_page, get_page_file; /* page/files.c */
route_fn get_overview, get_history, get_spent, get_decisions; /* page/reads.c */
route_fn post_whatif;               /* page/whatif.c */
route_fn put_request, drop_request; /* changes.c */
route_fn protect_node, unprotect_node, cordon_node, uncordon_node, drain_node,
    undrain_node, post_reload;
route_fn post_apply, post_release, post_adopt, adopt_node,
    forget_node;               /* held.c */
route_fn post_plan;            /* whatif.c */
route_fn get_events;           /* stream.c */
route_fn get_shadow;           /* shadow/shadow.c */
route_fn get_alive, get_ready; /* health.c */
/* changes.c: takes the pending and sends it to the control loop. */
void control_send(struct exchange *ex, struct pending *p, route_fn *answer);
/* The answer is no, or not known: it is written. */
bool command_refused(struct exchange *ex);
/* What came of a reload; done: the key that says so. */
void configuration_answer(struct exchange *ex, const char *done,
                          const char *text);
/* The text of /metrics. */
void metrics_text(struct server *s, struct buf *ret); /* reads.c */
/* metrics/metrics_server.c */
void server_metrics(struct server *s, bool broken, struct buf *b);
void shadow_metrics(const struct server *s, struct buf *b); /* shadow/ */
/* What is wrong with the server's own files; they keep it from being ready. */
void server_problems(struct server *s, struct view *v); /* health.c */
/* Does the control loop run? */
bool server_alive(const struct server *s); /* health.c */
/* scrape.c: /metrics and /healthz of this server, and nothing else; NULL: it
 * cannot. */
struct MHD_Daemon *scrape_start(void *server, int listen_fd);

/* ---- weight.c: at least the bytes that a JSON text's tree takes */
size_t json_weight(const char *text, size_t n);

/* ---- tasks.c: a thread for each kind of what takes long: the threads that serve HTTP
 * must answer probes meanwhile */
struct tasks; /* TASKS_MAX wait at most, per_caller of them of one */
struct task { /* first in the struct of its kind */
    struct pending *pending;
    struct task *next;
    char group[400], account[400]; /* whose; "": of the exchange's caller */
    bool stranger; /* his group is his address: others go before him */
    uint64_t turn, account_turn;
    bool (*run)(struct task *); /* on the thread; false: somebody else ends the
                                * pending, it was passed on */
    void (*free)(struct task *);
};
struct tasks *tasks_new(uint32_t per_caller);
void tasks_free(struct tasks *t);
/* Takes the task over in any case; false: a refusal is written. */
bool tasks_send(struct tasks *t, struct exchange *ex, struct task *j,
                enum command_kind kind, route_fn *answer);

/* ---- stream.c: event streams */
struct listener;
/* Lets those go on that have something to send. */
void listeners_wake(struct server *s, bool events, int64_t mono_ms);
void listeners_end(struct server *s);
/* why/past.c: an event's text as the reader may see it; NULL: it is nothing of his.
 * reader NULL: who may see all. */
const char *event_told(const struct event *e, const struct principal *reader,
                       struct arena *a);
/* Ends those of callers whose right is over; once a second, and when one may be. */
void listeners_judge(struct server *s, int64_t mono_ms);

struct server {
    struct mailbox *mailbox;
    struct status_board *board;
    struct event_ring *events;
    struct metrics *metrics;
    struct history *history;
    struct decisions *decisions;
    struct shadow *shadow; /* NULL: it acts */
    struct pending_list *pending;
    struct tasks *tasks; /* large requests: they wait for nobody's plan */
    struct tasks *plans; /* what-ifs */
    struct door *door;
    struct pace *pace;
    struct certs *certs;         /* NULL: no TLS */
    struct access_store *access; /* NULL: no api.tokens */
    struct audit *audit;
    struct review *review; /* NULL: no api.kubernetes */
    struct tasks *reviews; /* its thread */
    struct guard guard;
    struct MHD_Daemon *mhd;         /* NULL: api.listen is off */
    struct MHD_Daemon *metrics_mhd; /* NULL: no port of its own */
    struct MHD_Daemon *local_mhd;   /* of api.socket, or NULL */
    char *local_path;
    struct stat local; /* what it was */
    int listen_fd;     /* -1: none */
    pthread_t reaper;
    pthread_mutex_t lock; /* of the three below */
    bool closing;         /* no new listeners */
    struct listener *listeners;
    uint32_t n_listeners;
    pthread_mutex_t cache_lock;
    struct cached status[2], nodes[2], snapshot[2], overview[2];
    atomic_ullong seen_steps; /* metrics.steps when the reaper looked */
    atomic_llong ticked_ms;   /* mono, when that last grew */
    atomic_bool started;
    char mhd_error[300];      /* by libmicrohttpd while it started */
    atomic_uint exchanges;    /* being served now */
    atomic_ullong replies[6]; /* by hundreds of the status code */
};

#endif
