/*
 * sources.h - what the head*.c files share; private to them.
 *
 * A call to a head is a job on the head's own workers, one for each handle, so
 * that neither a provider nor another head can hold it up.
 */
#ifndef CONTROL_SOURCES_H
#define CONTROL_SOURCES_H

#include "state.h"

enum source_op { SOURCE_READ, SOURCE_DRAIN, SOURCE_UNDRAIN, SOURCE_FORGET, SOURCE_REPORT };

struct source_job {
    struct job job;            /* first */
    enum source_op op;
    struct source *head;
    void *handle;
    bool *taken;               /* of the head's, for this handle */
    struct arena arena;
    int64_t deadline_mono_ms;
    struct source_view *view;    /* READ: a reference, or NULL */
    const char *machine, *node_id, *instance_id;
    struct source_drain drain;   /* DRAIN */
    struct source_report report; /* REPORT */
    enum status status;
    struct err err;
};

/* Is there a handle for another call that is no read? */
bool source_is_free(const struct source *h);
/* For READ with the reader, else with a free handle; submitting takes it. */
struct source_job *source_job_new(struct source *h, enum source_op op, int timeout_ms);
void source_job_free(struct source_job *j);
void source_job_submit(struct source_job *j);

/* source_nodes.c: after a good read */
void source_index(struct source *h);
void source_joins(struct control *c, struct source *h, bool restarted);

/* source_drain.c */
void source_drained(struct control *c, struct source_job *j);

#endif
