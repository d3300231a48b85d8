/*
 * world.h - a played world: clouds, a Ray head, users, a machine with its disk,
 * and the real daemon on it.
 *
 * All of it is in played time, on one thread, and the same for the same seed.
 * The observer (observer.h) looks at the world after every step of a daemon and
 * writes down the first law that is broken.  Times are milliseconds.
 */
#ifndef STORM_WORLD_H
#define STORM_WORLD_H

#include "../played/disk.h"
#include "base/hash.h"
#include "lease.h"
#include "played/cloud.h"
#include "rare.h"

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    OWNERS = 8,
    WORLD_CLOUDS = 3,
    DAEMONS = 2,
    SETTLE_MS = 20 * SECOND, /* a played list lags behind no longer */
};
#define BEGIN_MS INT64_C(1790000000000)

struct world;

struct daemon { /* a process on the machine, or none */
    struct world *world;
    struct control *control; /* NULL: it does not run */
    struct ha *ha;           /* its lease; NULL: it is alone */
    const char *state;       /* its journal */
    char *settings;          /* its file as it is now; heap */
    uint32_t number;
    int64_t started_ms, event;
    uint64_t tick;      /* of the page looked at last */
    int64_t checked_ms; /* laws 4 and 7 were */
    int64_t loaded_ms;  /* its file, as it said last; 0: not yet */
    uint32_t file;      /* which of the world's settings that is */
    int64_t slept_ms;   /* the computer, last, then */
    uint32_t anew;      /* clouds that it asks anew since that check: bits */
    uint32_t starts;
};

enum { UNSURE = 4 };

/* What an owner was promised. */
struct promise {
    char body[512];              /* "" : nothing stands */
    int64_t made_ms, expires_ms; /* by the clock of the daemon's process */
    bool expired;                /* it was, by some clock */
};

struct owner {
    struct promise kept, asked;
    bool asking;
    /* Asked and refused since the last promise: each stands, or does not. */
    struct promise refused[UNSURE];
    uint32_t n_refused;
    bool refused_more;     /* so many that nobody can tell what stands */
    uint32_t refused_most; /* machines of those, at most */
    struct promise unsure[UNSURE]; /* were asked of daemons that were killed:
                                    * each stands, or does not */
    uint32_t n_unsure;
    uint32_t asks;     /* so many so far */
    uint32_t counts;   /* machines that stand for sure, */
    int64_t counts_ms; /* since then */
};

/* A file as it was once: what a limit may go back to. */
struct settings_then {
    int64_t taken_ms; /* it is in force since then at the latest; 0 not known */
    struct config *conf;
};

struct needed_then {
    int64_t at_ms;
    uint32_t n;
};

/* A machine that did no good: its raylet died as soon as it had joined. */
struct life_in_vain {
    char offer[80];         /* cloud, type, market */
    int64_t left_ms, at_ms; /* its launch; it was over */
};

struct life_of_use { /* the last of an offer */
    char offer[80];
    int64_t at_ms;
};

/* truth.c: what the last page said of what is to come. */
struct said_node {
    char id[96];
    int64_t goes_ms;          /* 0: not by itself, */
    enum reason keeps, hold;  /* for this */
    int64_t idle_ms, told_ms; /* by what the head was asked then */
};
struct said_offer {
    char type[64], zone[48];
    bool spot;
    int64_t until_ms;
    uint32_t joined; /* of its type, then */
};
struct said_ready {
    char owner[64];
    int64_t at_ms; /* wall: it is ready then, as usual, */
    uint64_t of;   /* on these machines, by these usual times */
};
struct said_coming { /* a machine that a request is said to be ready with */
    char id[96], owner[64];
    int64_t least_ms, most_ms; /* after its launch: all that was said of it */
};
enum { CAME_KEPT = 16 };
struct came { /* how long machines took in truth, from their launch */
    char type[64];
    int64_t ms[CAME_KEPT]; /* the last ones */
    uint32_t n;            /* in all */
};
/* What the sentences are about: truth_word(). */
enum sentence {
    SAYS_ENDS,      /* "may be ended at", "never", "it is kept" */
    SAYS_NEXT_TRY,  /* "the next try is at" */
    SAYS_SATISFIED, /* "satisfied" */
    SAYS_READY_IN,  /* "usually ready in about" */
    SAYS_WAITS_FOR, /* "is at its max of", "is at limits.max_nodes" */
    SAYS_CHEAPEST,  /* "no fleet could do it for less" */
    SENTENCES
};
struct truth {
    VEC(struct said_node) nodes;
    VEC(struct said_ready) ready;
    VEC(struct said_coming) coming;
    VEC(struct came) came;
    VEC(struct said_offer) offers;
    int64_t page_ms, world_ms, started_ms, loaded_ms; /* of that page */
    int64_t unread_ms;     /* a provider was not ready then, as it said, */
    bool unread;           /* and the last page says */
    uint64_t proved_world; /* of which it said that no fleet costs less */
    int64_t proved;        /* than this */
    uint64_t sentences[SENTENCES]; /* that were compared */
    uint64_t arrivals; /* of machines that one was said to be ready with */
};

struct asked_for { /* a launch that left a daemon */
    char id[48];
    int64_t first_ms;
};

struct world {
    struct player *player;
    struct disk *disk;
    struct head *head; /* NULL: requests by REST alone */
    struct cloud *clouds[WORLD_CLOUDS];
    uint32_t n_clouds, pause_ms, gone; /* gone: world_cloud_gone() */
    struct daemon daemons[DAEMONS];
    struct lease *lease;  /* the first daemon's; NULL: it is alone */
    struct daemon frozen; /* a leader that stood still while others may lead */
    int64_t thaws_ms;     /* it goes on then */
    uint32_t leaders;     /* so many so far */
    struct owner owners[OWNERS];
    bool crashing;
    VEC(struct settings_then) settings;
    int64_t saved_ms; /* the last of them was */
    VEC(struct asked_for) sent;
    struct hash sent_by_id;
    uint32_t survives;              /* of a loss of power that is to come */
    bool plain;                     /* law 5 counts: see script.h */
    VEC(struct needed_then) needed; /* machines, in a plain world, by time */
    uint32_t slow_syncs, slow_lines, slow_closings; /* see world_opts */
    uint32_t stall_sync, stall_line,
        stall_closing; /* the n-th from now takes */
    int64_t stall_ms;  /* so long; 0: by chance */
    bool writing;      /* the log's lines are leaving, */
    bool in_writer;    /* by the log's thread, */
    int64_t line_ms;   /* and the last takes so long */
    uint32_t edits;    /* files that were saved */
    uint64_t faults;   /* beside those of clouds and head */
    uint32_t acknowledged, ended, tasks_lost, launched;
    uint32_t told; /* launches of the plans that answers showed */
    VEC(struct life_in_vain) vain; /* vain.c */
    VEC(struct life_of_use) of_use;
    struct truth truth;
    struct {
        bool lost;         /* by somebody; no process has begun since */
        int64_t healed_ms; /* a daemon has told that it wrote all again */
        bool forgot;       /* a process began without what was promised, */
        int64_t forgot_ms; /* the first of them then */
        int64_t calm_ms;   /* all is well since then; 0: not yet */
    } store;               /* store.c */
    uint32_t adopters;     /* daemons whose person adopted all: bits */
    int64_t lost_ms;       /* a daemon told last that a machine goes, or went */
    bool released;         /* a person let ends go on that were held */
    enum status said;      /* what he was answered last */
    bool unknown;          /* law 4: some machine is */
    int64_t ills_ms;       /* head or disk were not well then, at a look */
    int64_t slept_ms;  /* the computer woke up then, or the leader that stood
                        * still; 0 never slept */
    int64_t asleep_ms; /* it fell asleep then */
    uint64_t digest, steps;
    int law; /* that was broken first; 0 none */
    char violation[512];
    char trouble[512]; /* why a daemon did not start */
    bool trace;        /* every event is printed */
    /* called for every event of a daemon; may be NULL */
    void (*on_event)(void *arg, const struct event *e);
    void *arg;
};

struct world_opts {
    uint64_t seed;
    const char *settings; /* of the first daemon */
    bool head;            /* there is a Ray head; else REST demand only */
    bool ha;              /* the first daemon leads by a lease */
    bool waits;           /* see head.h */
    bool addressed, kube; /* see head.h */
    bool finds;           /* see cloud.h */
    uint32_t boot_least_ms, boot_most_ms, end_most_ms;
    uint32_t queue_most_ms; /* see cloud.h */
    uint32_t hosts;         /* see cloud.h */
    uint32_t clouds;        /* their names: "a", "b", "c" */
    uint32_t pause_ms;      /* see control/outside.h: what waits must say so */
    uint32_t busy;          /* see player_busy() */
    /* Of 1,000 that take up to a minute: syncs, log lines, closings of plug-ins. */
    uint32_t slow_syncs, slow_lines, slow_closings;
    struct rare_ways rare;
};

void world_begin(struct world *w, const struct world_opts *o);
void world_end(struct world *w);

/* ---- processes */
/* False: it does not start. */
bool daemon_start(struct daemon *d);
void daemon_stop(struct daemon *d); /* as with SIGTERM */
/* kill -9 of all of them; power: the machine's power goes too, and what was not
 * synced with it; survives as in disk.h. */
void world_crash(struct world *w, bool power, uint64_t survives);
void daemon_reload(struct daemon *d, const char *settings);
void daemon_touch(struct daemon *d); /* its file is saved as it was */
/* The leader stands still for so long; meanwhile another one may lead. */
void world_freeze(struct world *w, int64_t ms);
/* Ends those that must not lead any more; how long it may run before that is
 * asked again. */
int64_t world_leads(struct world *w, int64_t ms);
/* Until so much time has passed, a law is broken, a leader must end or the disk
 * dies. */
void world_run(struct world *w, int64_t ms);
int64_t world_now(const struct world *w);

/* Another davit ran on the first journal for a while: an older one, or a newer
 * one with words and columns of its own.  While no daemon runs. */
void world_other_version(struct world *w, bool older);
/* That cloud, from 1 on, is down from now on: what is there settles no more. */
void world_cloud_gone(struct world *w, uint32_t cloud);

/* ---- users */
void world_ask(struct world *w, uint32_t owner, const char *body);
void world_tasks(struct world *w, const char *resource, int64_t amount,
                 uint32_t tasks, bool together, int64_t runs_ms);

/* ---- the person who looks after it: `davit release`, `davit adopt` */
void world_person(struct world *w, enum command_kind kind);
/* `davit drain` of the node that is that machine of a cloud. */
void world_drain(struct world *w, const char *cloud_id);
/* The same of all that have been missing for long. */
void world_drain_missing(struct world *w);

/* ---- what is true */
uint32_t world_alive(const struct world *w); /* billed machines, of all clouds */
uint32_t world_reached(const struct world *w); /* of those that are not gone */
/* The machines there, clouds one after the other; NULL: no more. */
struct cloud_machine *world_machine(const struct world *w, uint32_t i,
                                    struct cloud **ret);
/* NULL: it has settled: nothing waits that could be had, ledger and clouds
 * agree; else what has not. */
const char *world_unsettled(struct world *w);
bool world_expects(struct world *w); /* a request stands that will expire */
bool world_asks(struct world *w);    /* for anything; with a daemon */
uint32_t world_changes(const struct world *w); /* calls that change things */
uint64_t world_faults(const struct world *w);
double world_bill(const struct world *w); /* micros, so far */

#endif
