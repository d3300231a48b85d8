/*
 * view.h - one published page, opened for reading: the snapshot, the planner's
 * problem and the plan side by side.
 *
 * A view belongs to the thread that opened it and borrows the page, which must
 * outlive it.  A what-if has no page, only its own three parts.
 */
#ifndef API_VIEW_H
#define API_VIEW_H

#include "../base/hash.h"
#include "../control/status.h"
#include "out.h"

struct view {
    const struct status_page *page; /* NULL: a what-if */
    const struct snapshot *snapshot;
    const struct problem *s;
    const struct plan *plan;
    uint32_t *node_of_snap; /* by row of snapshot->nodes: which of s->nodes,
                             * or NONE; the way back is their `from` */
    uint32_t *staying;      /* view_nodes.c: by type; NULL: not counted yet */
    const struct principal *reader; /* who reads, when he may not read
                                     * everything; NULL: all is shown */
    const char *more[12];           /* problems of the server itself */
    uint32_t n_more;
    bool broken;                 /* one of them keeps it from being ready */
    struct plan_index *index;    /* why/mine.c; NULL: not made yet */
    struct displaced *displaced; /* why/displaced.c, likewise */
    struct arena arena; /* scratch of the view; rewound between rows of a list */
    struct arena kept;  /* what is made once: staying, index, displaced */
};

void view_open(struct view *v, const struct status_page *page);
void view_open_plan(struct view *v, const struct snapshot *snapshot,
                    const struct problem *s, const struct plan *plan);
void view_done(struct view *v);
/* The buffer's text, which lives as long as the view; the buffer is done. */
const char *view_take(struct view *v, struct buf *b);

/* What of the plan is one owner's request; in the scratch.  Rows ascend. */
struct mine {
    const bool *is; /* by demand */
    const uint32_t *demands, *nodes, *launches;
    uint32_t n_demands, n_nodes, n_launches;
};
struct mine view_mine(struct view *v, const char *owner); /* why/mine.c */

/* ---- lookups */
const char *view_str(const struct view *v, uint32_t id);
/* An owner's name as the reader may see it: "another owner" (no owner has a
 * blank in his name) for one that is not his. */
const char *view_owner(const struct view *v, const char *owner);
/* Is it of an owner whom the reader may know nothing of? */
bool view_hides(const struct view *v, const char *owner);
const struct pb_type *view_offer_type(const struct view *v, uint32_t offer);
/* The snapshot's type of this name, or NULL. */
const struct snap_type *view_type(const struct view *v, const char *name);
/* Of a node of the snapshot, by its row there: its type, or NULL. */
const struct snap_type *view_node_type(const struct view *v, uint32_t row);
/* What the plan says about it; NULL: nothing. */
const struct plan_node *view_verdict(const struct view *v, uint32_t row);
int64_t view_node_price(const struct view *v, uint32_t row); /* -1 unknown */
/* The shape of the alternative taken, or of the first one. */
const struct pb_shape *view_shape(const struct view *v, uint32_t bundle,
                                  uint32_t alt);
/* What a ready node is there for: work runs on it, or nothing does and a request
 * or waiting work counts on it, or neither. */
enum view_use { USE_BUSY, USE_HELD, USE_IDLE, USES };
enum view_use view_use(const struct view *v, uint32_t row);
bool view_counts(enum machine_state s); /* for max: not stopping, not gone */

/* ---- pieces that several views share */
struct tally {
    uint64_t bundles, placed, launched, waiting, infeasible;
};
void tally_demand(struct tally *t, const struct view *v, uint32_t demand);
void tally_write(struct out *o, const struct tally *t); /* its five keys */

void view_qtys(struct out *o, const char *key, const struct qtys *q);
void view_pairs(struct out *o, const char *key, const struct pairs *p);
void view_need(struct out *o, const char *key, struct view *v, uint32_t bundle,
               uint32_t alt);
/* "1 GPU (T4), 4 CPU, 16Gi memory" */
const char *view_need_text(struct view *v, uint32_t bundle, uint32_t alt);
/* "launches": those of the plan, equal ones added up. */
void view_launches(struct out *o, struct view *v);
/* When a node on its way is ready as such ones are as a rule, wall; 0: not known. */
int64_t view_ready_ms(const struct view *v, uint32_t node);
/* Why the node is kept or ended, for people. */
/* When an idle node may go, as far as is known; 0: not by itself, and *ret_why is
 * what keeps it then: NONE for an idle timeout that never ends. */
int64_t view_goes_ms(struct view *v, uint32_t node, enum reason *ret_why);
const char *view_why_text(struct view *v, uint32_t row);
const char *view_time(struct view *v, int64_t wall_ms); /* "10:11:12 UTC" */
const char *view_span(struct view *v, int64_t ms);      /* "2 min 5 s" */
const char *view_money(struct view *v, int64_t micros); /* "0.35" */

/* Does this launch wait for a better plan?  See limits.think. */
bool view_improving(const struct view *v, uint32_t launch);
/* "nodes": how many there are, by what they do. */
void view_node_counts(struct out *o, struct view *v);
/* "by_state": how many nodes are in each state, where there are any. */
void view_states(struct out *o, const uint32_t *count);
/* "types": node types with their offers. */
void view_types(struct out *o, struct view *v);

/* ---- why/displaced.c: whose place was taken */
/* What an owner's bundles took from others by this plan, and what that costs. */
int64_t view_displaces_cost(struct view *v, const struct mine *mine);
void view_displaces(struct out *o, struct view *v, const struct mine *mine);
/* "; it takes the place of alice: 1 x v100 for it, the bill rises by 11.44 $/h",
 * or "". */
const char *view_displaces_text(struct view *v, const struct mine *mine);
/* Sentences on who displaced the owner, or was displaced by it. */
void view_displaced_lines(struct out *o, struct view *v, const char *owner);

/* ---- why/hint.c, why/type.c */
/* "; did you mean t4-1c9e-0?" for a name that no node has (and no type, owner or
 * demand), or "". */
const char *view_hint(struct view *v, const char *name, bool nodes_only);
bool view_has_type(const struct view *v, const char *name);
/* Sentences: how many of it there are, and why there are not more. */
void view_type_lines(struct out *o, struct view *v, const char *name);

/* ---- obstacle.c: why a bundle has no place */
void view_obstacle(struct out *o, struct view *v, uint32_t refusal);
const char *view_obstacle_text(struct view *v, uint32_t refusal);
/* Why an offer is in back-off: the cloud's own words where it said some. */
const char *view_refusal(struct view *v, uint32_t offer);
/* One for each type and reason, at most max: indices of the plan's refusals. */
uint32_t view_obstacles(struct view *v, uint32_t bundle, uint32_t max,
                        uint32_t *ret_refusals);
/* ": t4 is at its max of 2; ...", or "". */
const char *view_wait_text(struct view *v, uint32_t bundle);
/* One sentence on what keeps a bundle from its place. */
/* What its own scheduler says of it; NULL: nothing. */
const char *view_said(const struct view *v, const struct pb_demand *d);
const char *view_unplaced_text(struct view *v, uint32_t bundle);
void view_unplaced(struct out *o, struct view *v, uint32_t bundle,
                   uint32_t max_reasons);

/* ---- nearest.c */
/* The type that comes closest; null when there are no types. */
void view_nearest(struct out *o, const char *key, struct view *v,
                  uint32_t bundle);
/* "t4 lacks GPU (2 needed, 1 there)": what the type has too little of. */
const char *view_misfit_text(struct view *v, uint32_t bundle,
                             const struct pb_type *t,
                             const struct pb_shape *shape);
/* why/candidates.c: what could be bought for an owner's request, and why not. */
void view_candidates(struct out *o, struct view *v, const char *owner);
/* What its provider says of an offer that is not to be had. */
const char *view_closed_text(struct view *v, uint32_t offer);
const char *view_nearest_text(struct view *v, uint32_t bundle);
/* "1.5", "16Gi": an amount of this column's resource. */
const char *view_amount(struct view *v, uint32_t column, int64_t amount);
/* The value of a label, its key a string's id, among n from first on; NULL. */
const char *view_label(struct view *v, uint32_t first, uint32_t n,
                       uint32_t key);
/* "accelerator_type" for its long key. */
const char *view_label_name(const char *key);

/* ---- whole documents */
struct outcome { /* the state of an owner's request */
    struct tally sum;
    bool found, feasible, satisfied;
    bool late;                /* a node on its way takes longer than usual */
    int64_t eta_ms;           /* -1: not known, or never; a guess */
    int64_t cost_micros_hour; /* of the launches it takes part in */
    uint32_t n_launches;      /* nodes */
};
void outcome_of(struct view *v, const char *owner, struct outcome *ret);
const char *outcome_text(struct view *v, const char *owner,
                         const struct outcome *x);
/* What the call did: a request stands, was cleared, or there was none. */
enum request_fate { REQUEST_STANDS, REQUEST_CLEARED, REQUEST_WAS_NOT };
void outcome_write(struct out *o, const char *key, struct view *v,
                   const char *owner, enum request_fate fate,
                   int64_t expires_ms); /* RequestReply */

void status_write(struct out *o, struct view *v);
void request_list_write(struct out *o, struct view *v);
/* False when the owner has no request. */
bool request_write(struct out *o, const char *key, struct view *v,
                   const char *owner);
void requests_write(struct out *o, const char *key, struct view *v);

/* page/nodes.c: which nodes, in which order, which part of the list; or groups
 * in their place. */
enum node_group {
    GROUP_NONE,
    GROUP_TYPE,
    GROUP_STATE,
    GROUP_ZONE,
    GROUP_REASON
};
enum node_sort { SORT_NONE, SORT_ID, SORT_PRICE, SORT_AGE, SORT_STATE };
struct node_query {
    const char *type, *state, *zone, *reason, *text; /* NULL: any */
    enum node_sort sort;
    enum node_group group;
    int64_t offset, limit; /* limit -1: all */
};
void node_list_write(struct out *o, struct view *v, const struct node_query *q);
void node_write(struct out *o, const char *key, struct view *v, uint32_t row);
/* By our id or the Ray node id; NONE. */
uint32_t node_find(const struct view *v, const char *id);

struct event_ring;
bool why_write(struct out *o, struct view *v, struct event_ring *r,
               const char *name);
/* why/past.c: a line each, of the console of a machine that did not join. */
void why_console(struct out *o, struct view *v, struct event_ring *r,
                 const char *name);
/* Of a machine that is being ended: what its cloud said to that, the newest. */
void why_end_refused(struct out *o, struct view *v, struct event_ring *r,
                     const struct snap_node *n);
/* The answer for a node that is no more; false: no event tells of one. */
bool why_past(struct out *o, struct view *v, struct event_ring *r,
              const char *name);
/* Who changed a request that another one had made. */
void why_request_changed(struct out *o, struct view *v, struct event_ring *r,
                         const char *owner);
/* Of an owner that asks for nothing any more: who cleared it, and when. */
bool why_request_past(struct out *o, struct view *v, struct event_ring *r,
                      const char *owner);

/* What keeps the daemon from being ready, one sentence each. */
uint32_t problems_write(struct out *o, const char *key, struct view *v);
/* How many they are, for who may not see them: their texts name others. */
uint32_t problems_count(struct view *v);
bool view_ready(const struct view *v);
/* How long ago the plan was made that is shown. */
int64_t view_age_ms(const struct view *v);

/* Changes nothing of m but its lock. */
void metrics_write(struct buf *b, struct view *v, struct metrics *m);

#endif
