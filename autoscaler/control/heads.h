/*
 * heads.h - what the head*.c files share; private to them.
 *
 * A call to a head is a job on the head's own workers, one for each handle, so
 * that neither a provider nor another head can hold it up.
 */
#ifndef CONTROL_HEADS_H
#define CONTROL_HEADS_H

#include "state.h"

enum head_op { HEAD_READ, HEAD_DRAIN, HEAD_UNDRAIN, HEAD_FORGET, HEAD_REPORT };

struct head_job {
    struct job job;            /* first */
    enum head_op op;
    struct head *head;
    void *handle;
    bool *taken;               /* of the head's, for this handle */
    struct arena arena;
    int64_t deadline_mono_ms;
    struct head_view *view;    /* READ */
    const char *machine, *node_id, *instance_id;
    struct head_drain drain;   /* DRAIN */
    struct head_report report; /* REPORT */
    enum status status;
    struct err err;
};

/* Is there a handle for another call that is no read? */
bool head_is_free(const struct head *h);
/* For READ with the reader, else with a free handle; submitting takes it. */
struct head_job *head_job_new(struct head *h, enum head_op op, int timeout_ms);
void head_job_free(struct head_job *j);
void head_job_submit(struct head_job *j);

/* head_nodes.c: after a good read */
void head_index(struct head *h);
void head_joins(struct control *c, struct head *h, bool restarted);

/* head_drain.c */
void head_drained(struct control *c, struct head_job *j);

#endif
