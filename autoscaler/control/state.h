/*
 * state.h - what the control thread owns; private to control/.
 *
 * One thread, so no locks: workers and the API reach it through inbox only.
 * Read control.c first: the loop is there, every other file is one of its
 * steps.
 */
#ifndef CONTROL_STATE_H
#define CONTROL_STATE_H

#include "../cloud/cloud.h"
#include "../cloud/traffic.h"
#include "../store/journal.h"
#include "../wire/source.h"
#include "control.h"
#include "record.h"

/* What may lie in the inbox. */
enum mail_kind { MAIL_CALL = 1, MAIL_SOURCE, MAIL_COMMAND, MAIL_HA = HA_MAIL,
                 MAIL_CONFIG, MAIL_THOUGHT };

/* A provider of this generation, and how its reading goes. */
struct site {
    struct provider *provider;
    const struct conf_provider *conf;
    bool listing;             /* a list call is in flight */
    bool offering;            /* an offers call is in flight */
    int64_t list_due_ms, list_last_ms;  /* mono */
    int64_t offers_due_ms;    /* mono */
    int64_t listed_ms;        /* wall, last good list; 0 never */
    uint32_t machines;        /* in that list */
    uint32_t list_failures;   /* in a row */
    char problem[256];        /* "" when all is well */
    struct arena offered;     /* of what told_offers of it point to */
    uint64_t differs;         /* hash of the differences that were told */
};

/* Price and zones a provider told of an offer. */
struct told_offer {
    char provider[32], type[64], zone[48];
    bool spot, available;
    int64_t price_micros_hour;
    struct taints taints;     /* more than the type's */
};

/* A request as it stands; its arena owns what demand points to. */
struct request {
    struct arena arena;
    const char *owner, *body;
    struct snap_demand demand;
    int64_t created_ms, expires_ms;
    bool told_infeasible;
};

struct source_gone;

/* A head (wire/source.h): several handles, since each serves one thread at a
 * time. */
struct source {
    const struct source_ops *ops;
    const char *address;      /* for people */
    void *reader, *writers[SOURCE_WRITERS];
    struct workers *workers;  /* its own: no provider can hold it up */
    bool reading, writing[SOURCE_WRITERS];
    bool told_v1;             /* that the head runs the older autoscaler */
    int64_t read_due_ms;      /* mono */
    struct source_view *view; /* the last good one, or NULL; a reference */
    struct source_name *names;  /* its nodes by name, in the view's arena: see
                               * source_nodes.c */
    uint32_t n_names;
    int64_t read_ms;          /* wall, of the last good one */
    int64_t view_ms;          /* wall, when view was new */
    uint32_t failures;        /* in a row */
    char problem[448];
    int64_t reported_ms;      /* mono */
    uint64_t reported_hash;
    uint64_t views;           /* good reads so far */
    struct source_gone *gone;   /* heap */
    uint32_t n_gone, cap_gone;
};

/* Its machine has gone, the head may still have a node of it. */
struct source_gone {
    char node_id[256], instance[128];
    int64_t since_ms, retry_ms;  /* wall */
    bool asked;               /* the question is under way */
};

/* A call that has left and is not back: see calls.c. */
struct flight { struct call *call; int64_t deadline_ms; bool overdue; };

/* Machines of a type that tasks and gangs of the head want: see act.c. */
struct wish { char type[64]; uint32_t count; uint64_t view, tick; };

/* A longer look at what is to be bought: see think.c. */
struct thinking {
    bool busy;                /* a look is under way */
    unsigned asked, answered; /* looks since something waits */
    int64_t since_ms;         /* mono: something waits; 0: nothing does */
    struct arena arena;       /* owns proposed */
    const struct snap_proposal *proposed;
    uint32_t n_proposed;
};

struct failure_note { char machine[48], type[64], text[208]; enum status why; int64_t at_ms; };
enum { FAILURES_KEPT = 16 };

/* Bundles of one owner that wait for one reason: unplaced.c. */
struct unplaced_note {
    char owner[96];
    bool infeasible, told;
    enum reason why;
    uint32_t count, bundle;        /* in this tick; the first of them */
    int64_t since_ms, told_ms;     /* mono; 0: not now, never */
};
enum { UNPLACED_NOTES = 64 };

/* How long the head gives a node that it drains while there is work on it. */
enum { DRAIN_DEADLINE_MS = 3600000 };

struct control {
    struct control_opts opts;
    struct config *config;
    uint32_t generation;
    int64_t config_loaded_ms;
    char *config_problem;     /* heap; "" when the last load was good */

    bool stopping, reload_wanted;
    int64_t reload_due_ms;    /* mono: a changed file settles first; 0 none */
    bool config_source_reading;      /* opts.source is with a worker */
    int64_t config_source_due_ms;    /* mono */
    uint32_t config_source_failures; /* in a row */

    struct mailbox inbox;
    struct workers *workers;
    struct journal *journal;
    bool planned;             /* this tick has a plan */
    bool journal_ok;          /* the last commit was good */
    bool journal_stale;       /* memory is ahead: all is written again */
    bool copy_ok;             /* and the last write of its copy (ha.h) */

    struct fleet fleet;
    VEC(struct site *) sites; /* heap arena `life` */
    VEC(struct provider *) retired;  /* closed when their last call is back */
    VEC(struct flight) flying;
    struct arena life;        /* as long as the daemon */
    struct traffic *traffic;  /* of all providers with their clouds */
    struct backoffs *backoffs;
    struct told_offer *told;
    uint32_t n_told, cap_told;
    struct request **requests;  /* sorted by owner */
    uint32_t n_requests, cap_requests;
    struct source sources[SOURCES];  /* Ray first */
    uint32_t n_sources;
    struct kube_events *kube_events;  /* NULL: none are written */
    char ray_space[256];      /* the RayCluster's namespace */
    struct wish *wishes;
    uint32_t n_wishes;
    struct status_page *memory;  /* the last plan on a fresh view: see holds.c */
    struct thinking think;

    bool changed;             /* something is known that no plan knows yet */
    int64_t plan_due_ms;      /* mono: when one is due all the same */
    struct command *waiting;  /* taken this tick, answered after the plan */
    struct failure_note failures[FAILURES_KEPT];
    uint32_t n_failures;
    struct unplaced_note unplaced[UNPLACED_NOTES];
    uint32_t n_unplaced;

    struct status_board board;
    struct record *record;    /* NULL: plans are not recorded */
    struct event_ring events;
    struct metrics metrics;
    uint64_t tick;
    int64_t started_ms;
    int64_t now_ms;           /* wall, of this tick */
    int64_t due_ms;           /* mono: when something happens by itself */
    int64_t trim_due_ms;      /* mono: not before */
};

/* ---- control.c */
void control_wake_at(struct control *c, int64_t mono_ms);
/* They answer to the inbox. */
struct workers *control_workers(struct control *c, unsigned n_threads,
                                unsigned max_stuck);

/* ---- tell.c: one event to the log, the ring and the journal */
void tell(struct control *c, const char *kind, const char *subject,
          const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- observe.c: answers become facts; never acts */
void observe_fold(struct control *c);
void observe_begin(struct control *c);  /* of what the journal gave, once */
void machine_to(struct control *c, struct machine *m, enum machine_state to);
void machine_fail(struct control *c, struct machine *m, enum status why,
                  const char *text);

/* ---- calls.c: provider calls in flight */
void call_send(struct control *c, struct call *call, int64_t timeout_ms);
/* It is back; true when it had been given up. */
bool call_landed(struct control *c, const struct call *call);
bool calls_room(const struct control *c, const struct provider *p);
bool calls_stuck(const struct control *c, const struct provider *p);
void calls_overdue(struct control *c);
void calls_cancel_reads(struct control *c);

/* ---- answer.c: what launch and terminate calls led to */
void answer_launch(struct control *c, struct call *call);
void answer_terminate(struct control *c, struct call *call);

/* ---- sites.c: providers of the configuration, their lists and offers */
enum status sites_open(struct control *c, const struct config *conf,
                       struct site ***ret, uint32_t *n, struct buf *errors);
void sites_poll(struct control *c);
void sites_retire(struct control *c, struct site **v, uint32_t n);
struct site *site_find(struct control *c, const char *provider);
struct site *site_of(struct control *c, const struct provider *p);
/* A machine of a good list or of a launch's answer. */
void machine_seen(struct control *c, struct site *s,
                  const struct call_machine *cm);
void site_listed(struct control *c, struct call *call);
void site_hangs(struct control *c, struct site *s, bool list,
                const struct err *e);
void site_offered(struct control *c, struct call *call);

/* ---- sources.c: opening, reading */
enum status sources_open(struct control *c, struct err *err);
bool sources_stop(struct control *c, int64_t wait_ms);  /* false: one hangs */
void sources_close(struct control *c);
void sources_poll(struct control *c);
void sources_reloaded(struct control *c);  /* the configuration is another one */
void sources_hurry(struct control *c);  /* look again soon */
void source_fold(struct control *c, struct mail *mail);
bool source_is_fresh(const struct control *c, const struct source *h);
bool sources_fresh(const struct control *c);  /* all of them */
const struct source *source_of_kind(const struct control *c,
                                const struct source_ops *ops);  /* or NULL */

/* ---- source_nodes.c */
struct source *source_of_machines(struct control *c);  /* whose nodes they are */
const struct source_node *source_node_of(const struct control *c,
                                     const struct machine *m);
const struct source_node *source_node_named(const struct source *h, const char *name);

/* ---- source_drain.c, source_report.c */
void source_drain(struct control *c, struct machine *m, bool preempt);
void source_gone(struct control *c, const struct machine *m);  /* for good */
void sources_mend(struct control *c);   /* what earlier drains left behind */
void sources_report(struct control *c, const struct status_page *page);

/* ---- kube_words.c: Kubernetes Events */
void kube_words_open(struct control *c);
void kube_words_told(struct control *c, const char *kind, const char *subject,
                     const char *reason, const char *text);
void kube_words(struct control *c, const struct status_page *page);

/* ---- unplaced.c: events of demand that waits */
void unplaced_tell(struct control *c, const struct status_page *page);
/* The first thing in the way that passes, or what no node type has. */
enum reason unplaced_reason(const struct plan *p, uint32_t bundle);
/* "t4 lacks GPU: 16 needed, 4 there; a100 ..." of a bundle's refusals. */
void unplaced_obstacles(const struct status_page *page, uint32_t bundle,
                        struct buf *b);

/* ---- requests.c */
enum status requests_load(struct control *c, struct err *err);
void requests_fold(struct control *c, struct command *cmd);
void requests_expire(struct control *c);
void requests_write_all(struct control *c);
struct request *request_find(const struct control *c, const char *owner);
/* alternatives.c: after each plan. */
void requests_fallback(struct control *c, const struct problem *now,
                    const struct plan *plan);
void requests_done(struct control *c);

/* ---- take.c: fleet, configuration and head into facts */
struct snapshot *snapshot_take(struct control *c, struct arena *arena);
const struct conf_type *type_find(const struct config *conf, const char *name);

/* ---- holds.c: what the last plan put on each machine */
struct previous_reader { struct control *c; struct arena *arena; const char **words; };
struct previous_reader previous_reader(struct control *c, struct arena *arena);
struct snap_placements previous_of(struct previous_reader *r, const struct machine *m);
/* Those of a launch's nodes or a node, in words of the snapshot. */
struct snap_placements previous_placed(const struct problem *s, const struct plan *p,
                               uint32_t first, uint32_t n, struct arena *arena);
char *previous_text(const struct snap_placements *h);    /* heap, NULL for none */
void previous_remember(struct control *c, struct status_page *page);

/* ---- think.c: purchases that a longer look may better */
/* Are the launches that are not final to wait? */
bool think_waits(struct control *c, const struct plan *plan);
int64_t think_until(const struct control *c);  /* wall; 0: nothing waits */
void think_start(struct control *c, struct status_page *page);
void think_fold(struct control *c, struct mail *mail);
void think_take(const struct control *c, struct arena *arena,
                struct snapshot *snapshot);
void think_launched(struct control *c);        /* what had waited */
void think_done(struct control *c);

/* ---- act.c: journal, then calls; never decides */
void act(struct control *c, const struct problem *now,
         const struct plan *plan, bool waits);
/* Is it not in the cluster yet what the journal has of it?  (ha.h) */
bool act_waits(const struct control *c, const char *kind, const char *id);
/* Writes what is due and, once it is on disk, sends the calls. */
void act_send(struct control *c);

/* ---- reload.c */
void reload_begin(struct control *c);
void reload_if_wanted(struct control *c);
void config_source_poll(struct control *c);
void config_source_fold(struct control *c, struct mail *mail);

/* ---- publish.c */
void publish(struct control *c, struct status_page *page);

#endif
