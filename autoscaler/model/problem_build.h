/*
 * problem_build.h - what the files that build a problem share; nobody else.
 *
 * Building goes in passes: check and sort the snapshot, collect every string and
 * number it by content, choose columns, intern rows, selectors and shapes,
 * number those by content too, lay the arrays down.  So nothing depends on the
 * order of the input, and comparing ids is comparing contents.
 */
#ifndef MODEL_PROBLEM_BUILD_H
#define MODEL_PROBLEM_BUILD_H

#include "../base/hash.h"
#include "intern.h"
#include "problem.h"

/* A source's value for a key of an offer or node: see problem_label.c. */
struct label_claim {
    uint32_t key, value, rank;
};

struct builder {
    const struct snapshot *snapshot;
    struct arena *arena;
    struct arena scratch; /* of what the problem does not keep */
    struct problem *s;
    const struct snap_type **types;   /* by name */
    const struct snap_node **nodes;   /* by id */
    const struct snap_queue **queues; /* by name */
    bool tainted;                     /* some place has a taint */
    uint64_t max_amounts;             /* quantities there may be */
    int64_t deadline_mono_ms;         /* 0: none */
    int64_t *demand_us;               /* per demand, with a deadline */
    bool late;
    struct intern strings, names, rows, selectors, shapes;
    uint32_t *column_of; /* rank in names -> column, or NONE */
    int64_t *row;        /* scratch: one row */
    VEC(struct pb_label) labels;
    struct intern label_sets; /* those in labels, each once */
    VEC(uint32_t) set_first;  /* of each: into labels */
    VEC(struct pb_device) devices;
    struct hash slices; /* struct slice, by host group */
    VEC(struct pb_takes) takes;
    VEC(struct label_claim) claims; /* scratch: of one offer or node */
    VEC(uint32_t) words;            /* scratch: a selector being built */
    VEC(uint32_t) term_at;          /* scratch: where its terms begin */
    struct {
        const char *from, *to;
    } canonical[8];
    uint32_t n_canonical;
    struct {
        uint32_t topology_zone, ray_zone, zone, market, spot, on_demand,
            accelerator, queue;
    } id; /* strings of our own */
};

/* problem_previous.c: what did not help, by type; after the types. */
void builder_unhelped_lay(struct builder *m);

/* problem.c: work on this demand began then (mono); false: it is too late for any
 * more. */
bool builder_in_time(struct builder *m, uint32_t demand, int64_t since_us);
/* Since when work is measured: 0 when it is not. */
int64_t builder_now_us(const struct builder *m);
/* problem.c: the place of the type in types, or NONE. */
uint32_t builder_type(const struct builder *m, const char *name);

/* problem_names.c */
const char *builder_canonical(struct builder *m, const char *accelerator);
void builder_strings(struct builder *m);
/* Chooses the columns; strings have their final numbers from then on. */
enum status builder_columns(struct builder *m, struct err *err);
uint32_t builder_id(const struct builder *m, const char *s);
/* Interns the resources as a row; whole_up: device needs above one are rounded
 * up to whole devices.  The number is final after the ranking only. */
uint32_t builder_row(struct builder *m, const struct qtys *q, bool whole_up);

/* A device, or an accelerator under a name of its own (a slice, a share). */
bool builder_has_accelerator(const struct qtys *q);

enum { QUEUES_MAX = 256 };

/* problem_queue.c */
enum status builder_check_queues(struct builder *m, struct err *err);
void builder_queues_lay(struct builder *m); /* after the ranking of strings */
uint32_t builder_queue_of(const struct builder *m, const struct snap_demand *d);
/* type and label (of QUEUE_LABEL) may be NULL. */
bool builder_queue_has(const struct builder *m, uint32_t queue,
                       const char *type, const char *label);
uint32_t builder_node_queue(const struct builder *m, const char *type,
                            const char *label);
void builder_queues_count(struct builder *m); /* after rows are laid */

/* problem_label.c */
void builder_offer_labels(struct builder *m, const struct snap_type *t,
                          struct pb_offer *o);
/* And the queue whose quota its work counts in; n's type is set. */
void builder_node_labels(struct builder *m, const struct snap_node *from,
                         struct pb_node *n);
/* The accelerator type among these labels, or "". */
const char *builder_accelerator(const struct builder *m, uint32_t first,
                                uint32_t n);

/* problem_share.c: the quotas of all offers, before these are made; then what
 * one takes of them. */
void builder_shares(struct builder *m);
void builder_offer_takes(struct builder *m, const struct snap_offer *from,
                         struct pb_offer *o);

/* problem_place.c; with rows as numbered before their ranking */
enum status builder_types(struct builder *m, struct err *err);
void builder_nodes(struct builder *m); /* after the types */

/* problem_shape.c */
void builder_shapes_begin(struct builder *m, uint32_t expected);
/* The number of the alternative's shape, final after builder_shapes_lay(). */
uint32_t builder_shape(struct builder *m, const struct snap_alt *a,
                       uint32_t queue);
void builder_shapes_lay(struct builder *m); /* after the ranking of rows */

/* problem_demand.c */
enum status builder_check_demands(const struct builder *m, struct err *err);
void builder_demands_intern(struct builder *m);
void builder_demands_lay(struct builder *m); /* after the ranking of rows */

/* problem_previous.c; after the demands are laid */
void builder_digests(struct builder *m);
void builder_previous_lay(struct builder *m);

#endif
