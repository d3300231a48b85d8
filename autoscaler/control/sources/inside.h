/*
 * inside.h - what the files of sources/ share; private to them.
 *
 * A call to a source is a job on the source's own workers, one for each handle,
 * so that neither a provider nor another source can hold it up.
 */
#ifndef CONTROL_SOURCES_INSIDE_H
#define CONTROL_SOURCES_INSIDE_H

#include "sources.h"

enum {
    WRITE_TIMEOUT_MS = 10000,
    RECENT_MS = 20000, /* what was asked for before tells nothing of now */
};

enum source_op {
    SOURCE_READ,
    SOURCE_DRAIN,
    SOURCE_UNDRAIN,
    SOURCE_CORDON,
    SOURCE_FORGET,
    SOURCE_REPORT
};

struct source_job {
    struct job job; /* first */
    enum source_op op;
    struct source *source;
    void *handle;
    bool *taken;        /* of the source's, for this handle */
    struct arena arena; /* owns the arguments */
    int64_t deadline_mono_ms;
    struct source_view *view; /* READ: a reference, or NULL */
    const char *machine, *node_id, *instance_id;
    bool on;                     /* CORDON */
    const char *for_node;        /* of the machine, when it was asked */
    struct source_drain drain;   /* DRAIN */
    struct source_report report; /* REPORT */
    enum status status;
    struct err err;
};

/* ---- job.c */
/* Is there a handle for another call that is no read? */
bool source_is_free(const struct source *h);
/* For READ with the reader, else with a free handle; submitting takes it. */
struct source_job *source_job_new(struct source *h, enum source_op op,
                                  int timeout_ms);
struct source_job *source_job_of(struct source *h, enum source_op op,
                                 const struct machine *m, const char *node_id);
/* Does its answer come too late: was it asked of an earlier node of the machine?
 * Then it says nothing of the work on the one that is there now. */
bool source_job_is_late(const struct source_job *j, const struct machine *m);
void source_job_free(struct source_job *j);
void source_job_submit(struct source_job *j);

/* ---- claims.c: by what a node is the machine of this name */
enum claim {
    CLAIM_VOUCHED, /* the API server's and the cloud's word */
    CLAIM_TOKEN,   /* it shows what follows from the machine's join token */
    CLAIM_GIVEN,   /* its label */
    CLAIM_SAID,    /* a word of its own */
    CLAIM_NONE
};
enum claim claim_to(const struct source_node *n, const char *name);
/* After a good view, before its nodes join: notes and tells which machines
 * several nodes claim to be. */
void source_claims_tell(struct sources *s);
void source_claims_note(struct sources *s); /* after they have joined */
void source_taken_clear(struct source *h);
/* Does a machine of ours have a living node in that view? */
bool source_has_any(const struct sources *s, const struct source *h,
                    struct source_view *view);

/* ---- nodes.c */
/* Since its last good answer came, and as much more as the computer slept since that
 * was asked for: such an answer tells how it was before. */
int64_t source_age_ms(const struct sources *s, const struct source *h);
void source_index(struct source *h);
/* Since when each node is there, by the earlier view, which this one follows. */
void source_firsts(struct source *h, const struct source_view *before,
                   int64_t now_ms);
struct source *source_for_machines(struct sources *s); /* to change it */

/* ---- joins.c: after a good view */
void source_joins(struct sources *s, struct source *h, bool restarted);

/* ---- another.c */
/* Is it the view of another head than the one that our machines joined?  Remembers
 * which it is, for a person; else that this is ours. */
bool source_is_another(struct sources *s, struct source *h,
                       struct source_view *view);

/* ---- unjoined.c: after a good view */
void source_foreign(struct sources *s, struct source *h);

/* ---- answers to questions */
void source_read_folded(struct sources *s, struct source_job *j);
void source_drain_folded(struct sources *s, struct source_job *j);
void source_undrain_folded(struct sources *s, struct source_job *j);
void source_cordon_folded(struct sources *s, struct source_job *j);
void source_forget_folded(struct sources *s, struct source_job *j);

#endif
