/*
 * problem_make.h - what the files that build a snapshot share; nobody else.
 *
 * Building goes in passes: check and sort the facts, collect every string and
 * number it by content, choose columns, intern rows, selectors and shapes,
 * number those by content too, lay the arrays down.  So nothing depends on the
 * order of the input, and comparing ids is comparing contents.
 */
#ifndef MODEL_PROBLEM_MAKE_H
#define MODEL_PROBLEM_MAKE_H

#include "intern.h"
#include "problem.h"

struct maker {
    const struct snapshot *snapshot;
    struct arena *arena;
    struct problem *s;
    const struct snap_type **types;  /* by name */
    const struct snap_node **nodes;  /* by id */
    const struct snap_queue **queues;  /* by name */
    bool tainted;                    /* some place has a taint */
    struct intern strings, names, rows, selectors, shapes;
    uint32_t *column_of;             /* rank in names -> column, or NONE */
    int64_t *row;                    /* scratch: one row */
    VEC(uint32_t) words;             /* scratch: a selector being built */
    VEC(uint32_t) term_at;           /* scratch: where its terms begin */
    struct { const char *from, *to; } canonical[8];
    uint32_t n_canonical;
    struct { uint32_t topology_zone, ray_zone, zone, market, spot, on_demand,
             accelerator, queue; } id;      /* strings of our own */
};

/* problem_names.c */
const char *maker_canonical(struct maker *m, const char *accelerator);
void maker_strings(struct maker *m);
uint32_t maker_id(const struct maker *m, const char *s);
enum status maker_columns(struct maker *m, struct err *err);
/* Interns the resources as a row; whole_up: device needs above one are rounded
 * up to whole devices.  The number is final after the ranking only. */
uint32_t maker_row(struct maker *m, const struct qtys *q, bool whole_up);

/* A device, or an accelerator under a name of its own (a slice, a share). */
bool maker_has_accelerator(const struct qtys *q);

enum { QUEUES_MAX = 256 };

/* problem_queue.c */
enum status maker_check_queues(struct maker *m, struct err *err);
void maker_queues_lay(struct maker *m);    /* after the ranking of strings */
uint32_t maker_queue_of(const struct maker *m, const struct snap_demand *d);
/* type and label (of QUEUE_LABEL) may be NULL. */
bool maker_queue_has(const struct maker *m, uint32_t queue, const char *type,
                     const char *label);
uint32_t maker_node_queue(const struct maker *m, const char *type,
                          const char *label);
void maker_queues_count(struct maker *m);  /* after rows are laid */

/* problem_demand.c */
enum status maker_check_demands(const struct maker *m, struct err *err);
void maker_demands_intern(struct maker *m);
void maker_demands_lay(struct maker *m);   /* after the ranking of rows */

/* problem_holds.c; after the demands are laid */
void maker_digests(struct maker *m);
void maker_previous_lay(struct maker *m);

#endif
