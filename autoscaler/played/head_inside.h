/*
 * head_inside.h - what the files of the played head share.
 *
 * head.c is its nodes, head_work.c places work on them, head_source.c shows both
 * to daemons, kube.c is what Kubernetes does otherwise.
 */
#ifndef PLAYED_HEAD_INSIDE_H
#define PLAYED_HEAD_INSIDE_H

#include "head.h"

enum {
    COLUMNS = 12,          /* resource names there are at most */
    DEAD_KEPT_MS = 600000, /* so long a view shows a dead node */
    FORGETS_MS = 400,
    BOOKMARK_MS = 100000, /* a watch without one for so long is none:
                           * wire/kube/watch_read.c */
    RAYLET_ENDS_MS = 800, /* from an accepted drain without work to its end */
};

struct work { /* what was submitted together */
    uint64_t number;
    int64_t need[COLUMNS];
    const char **accel;
    uint32_t n_accel, tasks;
    bool together, once;
    int64_t runs_ms, submitted_ms;
    uint32_t waiting; /* tasks without a place */
    struct work *next;
};

/* Works that ask for the same: they wait in one line. */
struct shape {
    const struct work *like;
    struct work *first, **last;
    uint32_t waiting;
    uint32_t shown; /* as waiting, since the last round */
    uint32_t lined; /* in line at nodes that took others since, too */
};

struct task_run {
    struct task_run *next; /* on its node */
    struct work *work;
    struct node *node;
    struct due *end;
    struct due *leaves; /* evicted: when its grace is over */
    int64_t began_ms;
};

enum node_state { NODE_ALIVE, NODE_DRAINING, NODE_DEAD };

struct node {
    struct head *head;
    struct joined *machine;
    char id[57];
    enum node_state state;
    int64_t total[COLUMNS], free[COLUMNS];
    struct task_run *tasks;
    uint32_t running;
    int64_t joined_ms, shown_ms, idle_ms, dead_ms, deadline_ms;
    int64_t agreed_ms, undrained_ms; /* see struct head_node */
    bool killed;
    bool cordoned;     /* for a person */
    bool deleted;      /* kube: it has no object any more */
    struct due *end;   /* of a drain */
    struct due *young; /* of a short life */
};

struct joined { /* a machine that is up */
    struct head *head;
    char id[128], type[64], accel[48];
    int64_t has[COLUMNS];
    struct node *node;        /* the newest, or NULL */
    struct due *join, *named; /* named: its names are right from then on */
    enum head_names names;    /* how they are until then, */
    int64_t named_ms;         /* since then */
    bool up;
    int64_t dies_ms; /* see struct head_machine */
};

struct reader { /* a handle */
    struct head *head;
    uint64_t seen;   /* the version it has */
    int64_t next_ms; /* no view before */
    struct player_wait wait;
};

struct head {
    struct player *player;
    struct head_opts opts;
    struct arena arena;
    char *columns[COLUMNS];
    uint32_t n_columns;
    uint64_t answers; /* the number of the last one */
    uint64_t version, nodes_ever, works_ever, faults;
    uint32_t session, waiting, running, lossy, dropped;
    int64_t late_views_ms, late_drains_ms;
    int64_t forgets_ms; /* drains, until then */
    bool deaf, patient; /* see head.h */
    enum head_trouble trouble;
    int64_t trouble_ms; /* since then */
    int64_t lossy_ms;   /* see head.h */
    int64_t silent_ms;
    int64_t round_ms;              /* the last round */
    VEC(struct joined *) machines; /* every one there was */
    struct hash by_id;
    VEC(struct node *) nodes; /* as a view shows them */
    VEC(struct node *) past;
    VEC(struct shape) shapes;
    VEC(struct work *) groups; /* that wait, in order */
    VEC(struct work *) works;  /* all there were */
    VEC(struct reader *) readers;
    struct source_view *last; /* what it showed last */
    void (*told)(void *arg, enum head_moment m, const struct head_task *t);
    void *arg;
};

void head_changed(struct head *h); /* a view would show it */
void head_amounts(struct head *h, struct qtys q, int64_t *ret);

/* ---- head_work.c */
void node_takes_work(struct node *n);
/* It goes when its grace is over, and is in line again. */
void task_evict(struct task_run *t, int64_t grace_ms);
/* All that runs there is over; agreed as in struct head_task. */
void node_drops_work(struct node *n, bool agreed);
void head_forget_work(struct head *h);
void head_work_free(struct head *h);

/* ---- kube.c */
extern const struct source_ops kube_like;
/* Is it shown?  Not the one before, of the same name, nor one that was deleted. */
bool kube_shows(const struct node *n);

/* ---- head_source.c */
enum status head_read(void *handle, int64_t deadline_mono_ms,
                      struct source_view **ret, struct err *err);
void handle_free(void *handle);
enum status in_trouble(struct head *h, int64_t deadline_mono_ms,
                       struct err *err);

/* ---- head.c */
struct node *node_named(const struct head *h, const char *id);
void node_end(struct node *n, bool agreed);
void node_undrain(void *node);        /* it is forgotten that it is to go */
void node_idle_check(struct node *n); /* a drained one without work ends */

#endif
