/*
 * cloud.h - providers behind the plug-in contract, called on workers.
 *
 * The control thread opens providers and submits calls; each answer comes back
 * as the same struct call in the mailbox.  Nothing here touches the fleet.
 */
#ifndef CLOUD_CLOUD_H
#define CLOUD_CLOUD_H

#include <stdatomic.h>

#include "../base/arena.h"
#include "../base/worker.h"
#include "../config/config.h"
#include "backoff.h"

struct provider; /* one loaded, opened plug-in */

struct plugin_info {
    const char *name, *version, *path;
    uint64_t caps;
    const struct davit_kv *options; /* ends with {0} */
};

/* Where plug-ins are looked for, in order: dir (if not ""), $DAVIT_PLUGIN_DIR,
 * plugins and ../lib/davit beside the binary, the compiled-in PLUGIN_DIR.  Loads every
 * davit-*.so found and reports it; a broken one has its error text in
 * `problem`, and info NULL. */
void plugins_each(const char *dir,
                  void (*each)(void *arg, const struct plugin_info *info,
                               const char *path, const char *problem),
                  void *arg);

/* A plug-in that is no file: provider_open() takes it for that name, and looks
 * for none.  For simulations; the table is borrowed.  Before other threads. */
struct davit_provider;
void plugin_builtin(const struct davit_provider *table);

/* Loads davit-NAME.so (or conf->plugin), checks the ABI, checks the options
 * against the plug-in's table (unknown ones with "did you mean", as
 * "path:line:col: ..." lines in errors) and opens a handle with the types of
 * this provider.  A .so is never unloaded.  Refused are files and folders that
 * are neither root's nor ours, or that others can write. */
enum status provider_open(const struct config *c,
                          const struct conf_provider *conf,
                          struct provider **ret, struct buf *errors);
/* Is its plug-in a path, not a name to look for? */
bool provider_names_file(const struct conf_provider *conf);
void provider_close(struct provider *p); /* no call may be running */
const char *provider_name(const struct provider *p);
uint64_t provider_caps(const struct provider *p);
/* Where its machines are, by its settings: "gke of cluster c, project=p". */
const char *provider_place(const struct provider *p);
/* Were both opened with the same plug-in and settings, so that what one was
 * asked the other could have been?  How many there may be of a node type, and
 * what one costs, may differ. */
bool provider_same(const struct provider *a, const struct provider *b);
/* How long its list may lag a launch: davit_provider.settle_ms. */
int64_t provider_settle_ms(const struct provider *p);
uint32_t provider_launch_most(const struct provider *p); /* above 0 */
bool provider_finds(const struct provider *p); /* machines by their ids */
struct plugin_info provider_plugin(const struct provider *p);
uint32_t provider_calls_running(const struct provider *p); /* not freed yet */
/* "sim: launch" while this thread is inside a plug-in, else NULL.  For a crash
 * handler to name the culprit: async-signal-safe. */
const char *provider_running_here(void);

/* Stands between a provider's plug-in and http_do(): for tests that lose
 * replies.  Set before the first call.  What counts and records: traffic.h. */
struct http_client;
struct http_exchange;
typedef enum status provider_tap(void *arg, struct http_client *client,
                                 struct http_exchange *x, struct arena *arena,
                                 struct err *err);
void provider_set_tap(struct provider *p, provider_tap *tap, void *arg);

enum call_op { CALL_LIST, CALL_LAUNCH, CALL_TERMINATE, CALL_OFFERS, CALL_FIND };

struct call_machine { /* a davit_machine, copied */
    const char *id, *request_id, *type, *zone, *address, *detail, *unit;
    const char *held;    /* "": it may end */
    const char *leaving; /* why its cloud will take it, "" it will not, or NULL */
    int64_t leaves_ms;   /* about then; 0: that is not known */
    enum davit_phase phase;
    enum status failure;
    bool spot;
    bool queued; /* it waits in its cloud's queue */
};

/* What another daemon of the cluster has left where the machines are. */
struct call_neighbour {
    const char *who;
    int64_t stamp;
};
enum { WHO_MAX = 63, NEIGHBOURS_MOST = 16 };

struct call_offer {
    const char *type, *zone;
    int64_t price_micros_hour;
    bool spot, available;
    struct qtys resources; /* of its machines, as far as known */
    struct pairs labels;
    struct taints taints; /* but those of a node's start */
    const char *note;     /* what goes on there, or "" */
    uint32_t most;        /* more that may be launched; UNLIMITED: not known */
    struct snap_quotas quotas; /* that it shares with others */
};

struct call {
    struct job job;     /* first; job.mail.kind is the caller's */
    struct arena arena; /* owns everything below */
    struct provider *provider;
    enum call_op op;
    int64_t started_mono_ms, took_ms;
    int64_t slept_ms; /* the computer, in all, when it was submitted */
    /* arguments */
    const char *type, *zone, *request_id; /* LAUNCH */
    const char *join_token;               /* LAUNCH: ""; else a secret */
    uint32_t count;
    bool spot;
    const char *const *ids;   /* TERMINATE, FIND: the cloud's */
    const char *const *names; /* and the caller's of the same machines */
    uint32_t n_ids;
    const char *who; /* LIST: this daemon, for others to see; "" */
    bool *consoles; /* TERMINATE: of these ids the console is wanted; NULL none */
    /* answer */
    enum status status;
    struct err err;
    VEC(struct call_machine) machines;     /* LIST, LAUNCH */
    VEC(struct call_neighbour) neighbours; /* LIST */
    VEC(struct call_offer) offers;         /* OFFERS */
    enum status *done;                     /* TERMINATE, FIND: one per id */
    const char **console; /* TERMINATE: its end, as console.h has it; "" none,
                           * NULL: none was wanted */
    atomic_bool cancel;   /* set by anybody to end it early */
};

struct call *call_new(struct provider *p, enum call_op op, int kind);
/* A launch or an end that has not begun when the computer falls asleep never does:
 * RETRY.  Hours later nobody may need the machine, or it may have work. */
void call_submit(struct workers *w, struct call *c, int64_t timeout_ms);
void call_free(struct call *c);
/* Of a LAUNCH; of other operations the provider's. */
struct offer_key call_offer_key(const struct call *c);

#endif
