/*
 * head.h - a played demand source with a Ray head's rules, or Kubernetes'
 * (wire/source.h).
 *
 * Machines join it under the cloud's id, a while after they are up.  Work lies
 * on nodes that have room for it, runs for its time and ends; what finds no room
 * is the demand that a view shows.  A node is idle from the moment its last work
 * ended.  A drain is refused while there is work (Ray's IDLE_TERMINATION), or
 * accepted with a deadline for that (PREEMPTION); the node ends itself then.
 * With kube its nodes are drained in steps (kube.c): a taint, evictions that budgets
 * refuse now and then, pods with their grace; taken back when that is asked for.  A
 * node has one name as long as its machine is, is NotReady when its kubelet dies, and
 * stays until somebody deletes its object.  An API server that begins anew has lost
 * nothing; a watch that is stale lives, and tells nothing.
 * Users may be random, or a recorded trace: head_submit() is all they need.
 * It outlives the daemons that read it.  Times are milliseconds of the player,
 * amounts as everywhere (model/amount.h).
 */
#ifndef PLAYED_HEAD_H
#define PLAYED_HEAD_H

#include "../control/outside.h"
#include "player.h"

struct head;

enum { HEAD_ADDRESS_MAX = 140 };

struct head_opts {
    bool kube;      /* Kubernetes' rules; with waits */
    bool addressed; /* its nodes are known by their addresses alone, as those
                     * of Kubernetes may be; see head_address() */
    bool waits;     /* a read returns when something changed: far fewer of them,
                 * for long simulations.  Else each is answered at once, in
                 * full, as a Ray head does */
    int64_t every_ms; /* with waits: at most one view in so long */
    int64_t join_least_ms, join_most_ms; /* from machine to node */
    int64_t round_ms; /* tasks that wait are counted in rounds so far apart, as
                       * a Ray head asks its raylets: until the next one, what
                       * has a place is shown as waiting too, and for each that
                       * has, one that waits is shown twice, as it was handed
                       * on with it; 0: at once.  Not with waits */
};

/* What users submit: copied. */
struct head_work {
    struct qtys need;   /* of one task */
    struct names accel; /* one of these accelerator types; none: any node */
    uint32_t tasks;     /* of this kind */
    bool together;      /* a placement group: all begin at once, or none */
    bool once;          /* max_retries=0: lost with its node */
    int64_t runs_ms;
};

enum head_moment {
    HEAD_BEGAN,
    HEAD_DONE,
    HEAD_AGAIN, /* its node is gone: it waits anew */
    HEAD_LOST,  /* likewise, and it was to run once */
};

/* One task, at such a moment. */
struct head_task {
    uint64_t work;       /* of head_submit() */
    const char *machine; /* the cloud's id */
    int64_t submitted_ms, began_ms;
    bool agreed; /* AGAIN, LOST: the head had agreed to drain the node, and
                  * the time it gave is over */
};

struct head *head_new(struct player *p, const struct head_opts *o);
void head_free(struct head *h); /* no daemon reads it any more */
/* For struct outside's sources(); each daemon its own. */
struct source_opened head_open(struct head *h);
/* Somebody who is told of every task; f may be NULL. */
void head_watch(struct head *h,
                void (*f)(void *arg, enum head_moment m,
                          const struct head_task *t),
                void *arg);

/* ---- machines: the played cloud's side (cloud.h does it) */

struct head_machine { /* copied */
    const char *id, *type;
    struct qtys has;
    const char *accel; /* the accelerators' type, or "" */
    int64_t dies_ms;   /* its raylet dies so long after it joined; 0: no */
};
void head_machine_up(struct head *h, const struct head_machine *m);
void head_machine_down(struct head *h, const char *id); /* its work with it */

/* ---- work */

/* Its number, which grows. */
uint64_t head_submit(struct head *h, const struct head_work *w);
/* All that waits goes, what runs goes on. */
void head_leave(struct head *h);

/* ---- what is true there */

struct head_node {     /* a machine's newest node */
    bool alive;        /* it joined, and lives */
    uint32_t running;  /* tasks */
    int64_t agreed_ms; /* a drain of it was accepted first; 0: none was */
    bool work_killed;  /* ... and its deadline ended what still ran */
    int64_t joined_ms, idle_ms; /* idle_ms: since; -1: it is not */
    int64_t shown_ms;           /* the first view that had it; 0 none */
    int64_t dead_ms;            /* 0: it lives */
    int64_t deadline_ms;        /* of the drain; 0 none */
    int64_t undrained_ms; /* kube: it was taken back then, last; 0 never */
    int64_t hidden_ms;    /* since when no view has it under a name of its
                           * machine's; 0: views have */
};
/* False: it never joined. */
bool head_node_of(const struct head *h, const char *machine,
                  struct head_node *ret);
uint32_t head_waiting(const struct head *h); /* tasks without a place */
uint32_t head_running(const struct head *h);

/* ---- bad days */

enum head_trouble {
    HEAD_WELL,
    HEAD_DOWN,   /* refuses connections */
    HEAD_SILENT, /* accepts them and never answers */
    HEAD_STALE,  /* repeats the answer that it gave last; drains fail */
    HEAD_OTHER,  /* another head answers, which has none of our nodes; what
                  * comes up meanwhile finds no head */
    HEAD_TROUBLES
};
void head_trouble(struct head *h, enum head_trouble t);
bool head_answers(const struct head *h);      /* and truly */
int64_t head_silent_ms(const struct head *h); /* since when not; 0: it does */
/* Since when who reads it can know that; 0: nobody can. */
int64_t head_mute_ms(const struct head *h);
/* So many of 1,000 answers of drains are lost, with effect or without; and of those
 * that come, of reads too, some come late. */
void head_lossy(struct head *h, uint32_t of_1000);
int64_t head_lossy_ms(const struct head *h); /* until then so; 0: it never was */
/* Every view, and every answer of a drain, takes so long; 0: it does not. */
void head_late(struct head *h, int64_t views_ms, int64_t drains_ms);
/* What asks it to drain a node does not come in, though it can be read. */
void head_deaf(struct head *h, bool deaf);
/* A drained node whose time is over goes on with its work until its machine ends. */
void head_patient(struct head *h, bool patient);
/* It begins anew, with another session: work and nodes are forgotten, machines
 * join again. */
void head_restart(struct head *h);
/* Its raylet dies, and its machine stays. */
void head_node_dies(struct head *h, const char *machine);
/* The machine's raylet dies and is started again on it, as another node. */
void head_node_restart(struct head *h, const char *machine);
/* It forgets the drains that it agreed to, and nothing else: such nodes take work
 * again; and for so long each that it agrees to, a moment later. */
void head_forget_drains(struct head *h, int64_t ms);
/* For so long what names the machine's node is not what it was. */
enum head_names {
    NAMES_NONE,  /* it is in no view */
    NAMES_TWICE, /* another living node has all of its names */
    NAMES_BARE   /* it is in the views, and says none of its names */
};
void head_names(struct head *h, const char *machine, enum head_names how,
                int64_t ms);
void head_names_right(struct head *h); /* all of them, now */
/* What a machine's address is, as its cloud tells it. */
const char *head_address(const char *machine, char ret[HEAD_ADDRESS_MAX]);
bool head_is_addressed(const struct head *h);
uint64_t head_faults(const struct head *h); /* answers spoilt so far */
/* Tasks that lost their node before they were done, each time. */
uint32_t head_dropped(const struct head *h);

#endif
