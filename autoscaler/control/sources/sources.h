/*
 * sources.h - the demand sources (wire/source.h): read, asked to drain nodes,
 * shown what we do.
 *
 * Reads the configuration.  Changes machines in the ledger as views and answers
 * tell of them: joined, died, drained, refused.  With both a Ray head and
 * Kubernetes, machines are Kubernetes' nodes, and Ray's nodes are pods there.
 * Control thread only.
 */
#ifndef CONTROL_SOURCES_H
#define CONTROL_SOURCES_H

#include "../../base/hash.h"
#include "../../wire/source.h"
#include "../configuration.h"
#include "../ledger.h"
#include "lately.h"

/* Its machine has gone, the source may still have a node of it. */
struct source_gone {
    char node_id[256], instance[128];
    int64_t since_ms, retry_ms; /* wall */
    bool asked;                 /* the question is under way */
};

/* Several handles, since each serves one thread at a time. */
struct source {
    const struct source_ops *ops;
    char address[256]; /* for people */
    void *reader, *writers[SOURCE_WRITERS];
    struct workers *workers; /* its own: no provider can hold it up */
    bool reading, writing[SOURCE_WRITERS];
    bool v1_emitted;            /* that the head runs the older autoscaler */
    bool crowd_emitted;         /* that it names too much */
    bool moved;                 /* its last good answer is of now: see read.c */
    int64_t read_due_ms;        /* mono */
    struct source_view *view;   /* the last good one, or NULL; a reference */
    struct source_view *before; /* the one before it, likewise: two_looks */
    struct lately lately;       /* what work took there: two_looks */
    struct hash names; /* its nodes by name, in the view's arena: see nodes.c */
    struct source_taken *taken; /* for each of its nodes, likewise: claims.c */
    struct hash by_node;        /* and by their ids, likewise */
    const int64_t *first_ms; /* wall: each was in a view first, likewise; NULL:
                                 * that is not known */
    int64_t read_ms;         /* wall, the last good one was taken */
    int64_t told_ms;         /* wall, and was answered: see read.c */
    int64_t asked_ms, asked_mono_ms; /* when the read under way began: wall */
    bool late_told;                  /* that it has not come back */
    int64_t began_ms;                /* wall, when the last good one began */
    int64_t asked_slept_ms, began_slept_ms; /* env's slept_ms then */
    int64_t view_ms;                        /* wall, when view was new */
    uint32_t failures;                      /* in a row */
    char problem[448];
    int64_t reported_ms; /* mono */
    uint64_t reported_hash;
    VEC(struct source_gone) gone; /* heap */
    VEC(uint64_t)
    foreign;            /* heap: its living nodes, but for the head, that are
                            * no machine of ours, by hash of their id */
    int64_t foreign_ms; /* wall, when one of them was seen first */
    char other[256];    /* another head's session, which answered last in its
                         * place: see another.c; "" */
    struct source_view *refused; /* and its view; a reference, or NULL */
};
/* So long a node may be drained while there is work on it. */
enum { DRAIN_DEADLINE_MS = 3600000 };

struct sources {
    struct env *env;
    struct ledger *ledger;
    const struct configuration *conf;
    struct source all[SOURCES]; /* the Ray head first */
    uint32_t n;
};

/* ---- sources.c: opening, and the call that fits an answer */
enum status sources_open(struct sources *s, struct env *env, struct ledger *l,
                         const struct configuration *conf, struct err *err);
bool sources_stop(struct sources *s, int64_t wait_ms); /* false: one hangs */
void sources_close(struct sources *s);
void sources_reloaded(struct sources *s); /* there is another configuration */
void sources_fold(struct sources *s, struct mail *mail);

/* ---- nodes.c: queries */
bool source_is_fresh(const struct sources *s, const struct source *h);
/* Would work that came to a machine be seen?  Without a source there is none. */
bool sources_know_work(const struct sources *s);
int64_t source_stale_ms(const struct source *h); /* wall: when it no longer is */
uint32_t sources_fresh_set(const struct sources *s); /* a bit each */
bool sources_fresh(const struct sources *s);         /* all of them */
/* Whose nodes the machines are, and whose nodes are pods there; or NULL. */
const struct source *source_of_machines(const struct sources *s);
const struct source *source_hosted(const struct sources *s);
/* The one of this kind ("ray", "kubernetes"), or NULL. */
const struct source *source_of_kind(const struct sources *s, const char *kind);
const struct source_node *source_node_of(const struct sources *s,
                                         const struct machine *m);
/* claims.c: the living nodes that say that they are this machine. */
struct source_claims {
    const struct source_node *node; /* the one that it is taken for, also a dead
                                      * one when there is no other; or NULL */
    const struct source_node *first; /* the one for which the most stands */
    const struct source_node *other; /* another one that says so; or NULL */
    bool contested; /* nothing decides between them: the machine stays as it is,
                     * and is not ended */
};
struct source_claims source_claims(const struct sources *s,
                                   const struct machine *m);
/* The second one's name, for people; also of one that has gone. */
const char *claims_other(const struct source_claims *c,
                         const struct machine *m);
/* Is the last view one that says how it was after that moment?  (wall) */
bool sources_seen_since(const struct sources *s, int64_t since_ms);
/* Does the last view have its node, and as dead? */
bool source_has_dead(const struct sources *s, const struct machine *m);
/* By the last view: is it drained still, as was agreed?  A node that is in no view
 * any more has not come back to use. */
bool source_drains_still(const struct sources *s, const struct machine *m);
const struct source_node *source_node_named(const struct source *h,
                                            const char *name);

/* ---- unjoined.c: machines that never joined and are left alone all the same */
enum unjoined {
    UNJOINED_NOT,       /* it has joined, or is ended like any other */
    UNJOINED_STRANGER,  /* no launch of ours, whoever made it */
    UNJOINED_UNMATCHED, /* the Ray head has a node since its launch that says
                         * of no machine that it runs there */
    UNJOINED_MISSING,   /* it was ready, and no node is found that is it */
};
enum unjoined machine_unjoined(const struct sources *s,
                               const struct machine *m);

/* ---- another.c: another head answers at the address */
/* Its session, while one is not believed; or NULL. */
const char *sources_another(const struct sources *s);
/* A person says that it is ours: machines that do not join it may go. */
void sources_approve(struct sources *s, const char *by);

/* ---- read.c */
void sources_poll(struct sources *s);
void sources_hurry(struct sources *s); /* look again soon */

/* ---- drain.c, cordon.c, clean_up.c, report.c: what is asked of them */
/* One step of a machine's drain.  preempt: even when work is there. */
void source_drain(struct sources *s, struct machine *m, bool preempt);
/* Cordons that the source has not heard of, or that were taken back. */
void sources_cordon(struct sources *s);
/* Drains that nobody wants any more, nodes whose machine has gone. */
void sources_clean_up(struct sources *s);
/* Machines that are about to leave the ledger. */
void sources_forget_gone(struct sources *s);
void sources_report(struct sources *s, const struct status_page *page);
/* Is it time to show the same again?  Else wakes the loop then. */
bool sources_report_due(const struct sources *s);

#endif
