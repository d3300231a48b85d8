/*
 * problem.h - what is, in flat arrays and 32-bit indices: the planner's input.
 *
 * Made from a snapshot by problem_make() and immutable afterwards; any thread may
 * read it.  Everything lives in the arena it was made in.  Strings are ids
 * into str[], resources are columns: 0 CPU, 1 memory, 2 GPU, then by name.
 */
#ifndef MODEL_PROBLEM_H
#define MODEL_PROBLEM_H

#include "../base/arena.h"
#include "snapshot.h"

#define NONE UINT32_MAX

enum { COL_CPU, COL_MEMORY, COL_GPU, COL_FIRST_OTHER };

struct pb_column {
    uint32_t name;
    bool device;    /* made of whole devices; a fraction is of one */
    bool fractions; /* may a device be shared? */
};

/* A set of what a place has: its labels, the queues it is in and its taints,
 * told apart by the upper bits of key, sorted by key.
 *   label: string = string;  queue: PB_QUEUE | queue;
 *   taint: PB_TAINT | effect << PB_EFFECT | string = string */
struct pb_label {
    uint32_t key, value;
};
#define PB_TAINT UINT32_C(0x80000000)
#define PB_QUEUE UINT32_C(0x40000000)
#define PB_EFFECT 28
#define PB_STRING UINT32_C(0x0fffffff)
struct pb_term {
    uint32_t key;
    enum term_op op;
    uint32_t first_value, n_values;
};
struct pb_toleration {
    uint32_t key; /* 0: any */
    enum toleration_op op;
    uint32_t value;
    enum taint_effect effect;
};
/* All that decides where a shape may lie, beside room: see problem_refuses().
 * 0 may lie anywhere; in a snapshot with taints no shape has it. */
struct pb_selector {
    uint32_t first_term, n_terms;
    uint32_t first_toleration, n_tolerations;
    uint32_t queue; /* into queues[], NONE or PB_QUEUE_DENIED */
};
#define PB_QUEUE_DENIED (UINT32_MAX - 1)

/* What one bundle needs: distinct needs are shapes, and all that costs time is
 * done per shape.  row: n_columns amounts. */
struct pb_shape {
    uint32_t row;      /* into rows[], times n_columns */
    uint32_t selector; /* into selectors[]; 0 is "any" */
    bool accelerator;  /* needs a device, or a label only accelerators have */
    uint64_t digest;   /* of its needs and conditions: the same in the next
                        * snapshot */
    uint64_t plain;    /* the same without tolerations, which a snapshot without
                        * taints does not have */
};

struct pb_alt {
    uint32_t shape;
    int64_t after_ms;
};

struct pb_bundle {
    uint32_t demand, first_alt, n_alts, count;
    bool unconfirmed; /* nothing is bought for it; of a gang: for all of it */
};

/* No new node of the type is bought for shapes of this plain digest. */
struct pb_unhelped {
    uint32_t type;
    uint64_t plain;
};

/* What a node holds by the last plan, or a proposed one is to hold, in the order
 * in which it was placed: a bundle that is gone is left out. */
struct pb_placement {
    uint32_t bundle, alt, count;
};
/* Nodes that a longer look would buy: see snap_proposal. */
struct pb_proposal {
    uint32_t offer, count, first_previous, n_previous;
};

struct pb_demand {
    enum demand_source source;
    enum strategy strategy;
    bool gang;          /* whole or not at all */
    uint32_t owner, id; /* strings */
    int32_t priority;   /* its own and its queue's */
    int64_t since_ms;
    uint32_t queue; /* into queues[], NONE or PB_QUEUE_DENIED */
    uint32_t first_bundle, n_bundles;
    uint32_t from; /* which of the snapshot's it is */
};

/* The quota is for all work of the queue: what runs (used, on nodes that are
 * the queue's alone) and what is planned for its demands. */
struct pb_queue {
    uint32_t name;
    int64_t gpus, cpus; /* amounts; -1: no quota */
    uint32_t nodes;     /* UNLIMITED: no quota */
    int32_t priority;
    int64_t used_gpus, used_cpus;
    uint32_t used_nodes;
};

/* What a cloud lets one have of several offers together, in units of its own. */
struct pb_share {
    uint32_t name, left;
};
struct pb_takes { /* of an offer: what a machine takes of it */
    uint32_t share, each;
};

struct pb_offer {
    uint32_t type, zone;
    bool spot;
    bool price_estimated;
    int64_t price_micros_hour; /* never negative: estimated when unknown; the
                                * surcharge is in it */
    int64_t surcharge_micros_hour; /* what machines that were taken back lately
                                    * make of it: not billed */
    uint32_t interruptions;        /* how many those are */
    int64_t mean_micros_hour; /* what one of its machines cost in the mean, */
    int64_t mean_ms;          /* duration: over so long; at least 1 */
    int64_t backoff_until_ms;
    enum status backoff_for;
    int64_t failed_ms;
    uint32_t room;
    bool closed;                    /* not to be had now; room is 0 */
    int64_t idle_timeout_ms;        /* of its nodes; -1: never */
    uint32_t first_label, n_labels; /* the type's, plus zone and market */
    uint32_t first_takes, n_takes;  /* into takes[] */
};

/* So far back prices are looked at. */
#define PRICE_PAST_MS INT64_C(86400000)

/* What one of its machines costs in truth. */
static inline int64_t pb_offer_bill(const struct pb_offer *o)
{
    return o->price_micros_hour - o->surcharge_micros_hour;
}

struct pb_type {
    uint32_t name, provider, row;
    uint32_t min, max, hosts;
    int64_t idle_timeout_ms, boot_ms;
    int32_t priority;
    enum reason unavailable;
    bool accelerator; /* has a device */
    uint32_t first_offer, n_offers;
    uint32_t from; /* which of the snapshot's it is */
};

struct pb_node {
    uint32_t id, type;   /* type: NONE when no longer configured */
    uint32_t offer;      /* NONE when it matches none */
    uint32_t host_group; /* string; 0: a unit of its own */
    uint32_t queue;      /* whose quota its work counts in, or NONE */
    bool head, unmanaged, outdated, spot, asked_to_end, moves, counted_on;
    bool template_room;   /* has not joined: counted with its type's row */
    bool price_estimated; /* nobody told what it costs */
    enum machine_state state;
    uint32_t total, available; /* rows */
    uint32_t first_device,
        n_devices; /* into devices[], GPU-like columns only */
    uint32_t first_label, n_labels;
    int64_t idle_ms, since_ms, created_ms, price_micros_hour;
    int64_t agreed_micros_hour; /* at most its price */
    int64_t idle_timeout_ms; /* its offer's, type's or the limit's; -1 never */
    int64_t progress_ms;     /* last visible progress, at least since_ms */
    enum reason hold;
    int64_t hold_until_ms;
    uint32_t first_previous, n_previous; /* into previous[] */
    uint32_t from;                       /* which of the snapshot's it is */
};

/* Free part of one whole device of a node: 0..AMOUNT_ONE. */
struct pb_device {
    uint32_t column;
    int32_t free;
};

struct problem {
    int64_t now_ms;
    struct snap_limits limits;
    bool sources_fresh, work_unknown, work_spreads;
    bool settled; /* consolidation found nothing for this problem: only what drains is
                   * looked at, lest it be taken back (control/settled.h) */

    const char *const *str; /* str[0] is "" */
    uint32_t n_str;
    const struct pb_column *columns;
    uint32_t n_columns;
    const int64_t *rows; /* n_rows x n_columns */
    uint32_t n_rows;
    const struct pb_label *labels;
    uint32_t accelerator_key; /* ACCEL_LABEL's string: see accel_type_serves */
    const struct pb_term *terms;
    const uint32_t *term_values;
    const struct pb_toleration *tolerations;
    const struct pb_selector *selectors;
    uint32_t n_selectors;
    const struct pb_shape *shapes;
    uint32_t n_shapes;
    const struct pb_alt *alts;
    const struct pb_bundle *bundles;
    uint32_t n_bundles;
    const struct pb_demand *demands; /* in planning order, see problem_make */
    uint32_t n_demands;
    const struct pb_type *types;
    uint32_t n_types;
    const struct pb_offer *offers;
    uint32_t n_offers;
    const struct pb_share *shares; /* by name */
    uint32_t n_shares;
    const struct pb_takes *takes; /* of one offer by share, each once */
    const struct pb_node *nodes;
    uint32_t n_nodes;
    const struct pb_device *devices;
    const struct pb_queue *queues; /* by name */
    uint32_t n_queues;
    const struct pb_placement *previous;
    const struct pb_proposal *proposed;
    uint32_t n_proposed;
    const struct pb_unhelped *unhelped; /* in force */
    uint32_t n_unhelped;
};

static inline const int64_t *pb_row(const struct problem *s, uint32_t row)
{
    return s->rows + (size_t)row * s->n_columns;
}

/* Quantities in all rows together; with more there is no problem, and so no
 * plan for anybody. */
#define PROBLEM_AMOUNTS_MAX (UINT64_C(1) << 27)
/* Bundles, with each count, of all demands, likewise: what requests may come to with
 * the shares of all who may ask (control/asked.c), and what sources show. */
#define PROBLEM_BUNDLES_MAX UINT32_C(40000000)

/* Of all that is asked for together, so that there is a plan in time: each door
 * (control/asked.c, wire/pods/share.c) shares them among those who ask there. */
enum {
    ASKED_LINES_MAX =
        20000, /* alternatives: about 2 KiB each in a plan, twice */
    ASKED_SHAPES_MAX = 5000,  /* each is tried on every offer: time */
    ASKED_VALUES_MAX = 200000 /* compared with each label of each offer */
};

/* Turns a snapshot into arrays.  Pure.  What is free of a node is taken to be
 * whole devices, and the rest to be on one: the head reports sums only.  Types,
 * nodes and demands are put in a total order that does not depend on the order
 * of the input.  INVALID (with the name in err) on duplicate type or node ids,
 * a bundle without alternatives and the like; *ret is untouched then. */
enum status problem_make(const struct snapshot *snapshot, struct arena *arena,
                         struct problem **ret, struct err *err);
/* The same for whoever has little memory: QUOTA when there could be more than
 * max quantities, of 8 bytes each and held two to three times. */
enum status problem_make_within(const struct snapshot *snapshot, uint64_t max,
                                struct arena *arena, struct problem **ret,
                                struct err *err);
/* The same for who cannot wait: CANCELLED when it is not made by then (mono), and
 * *slowest is the number of the demand that took the longest so far. */
enum status problem_make_by(const struct snapshot *snapshot,
                            int64_t deadline_mono_ms, struct arena *arena,
                            struct problem **ret, uint32_t *slowest,
                            struct err *err);

/* The same for two problems that differ in nothing but time that has passed:
 * now_ms, and how long nodes have been idle as long as their order is the same.
 * Of one process: not stored.  Pure; sorts in scratch. */
uint64_t problem_hash(const struct problem *s, struct arena *scratch);

/* What tells the bundle from others of its demand, from one snapshot to the
 * next: a digest of the needs and conditions of all its alternatives. */
uint64_t problem_digest(const struct problem *s, uint32_t bundle);

/* May a shape with this selector lie on a place with these labels?  NONE when
 * it may; else QUEUE_DENIED, QUEUE_TYPE, LABEL or TAINT.  *ret_key (may be
 * NULL): the string that is to blame: queue's name, label's or taint's key;
 * NONE when there is none to name. */
enum reason problem_refuses(const struct problem *s, uint32_t selector,
                            uint32_t first_label, uint32_t n_labels,
                            uint32_t *ret_key);
/* Does problem_refuses() answer NONE? */
bool problem_match(const struct problem *s, uint32_t selector,
                   uint32_t first_label, uint32_t n_labels);
/* The key that problem_refuses() finds, or NONE. */
uint32_t problem_mismatch(const struct problem *s, uint32_t selector,
                          uint32_t first_label, uint32_t n_labels);
/* The taint part alone: does the selector tolerate all hard taints there? */
bool problem_tolerates(const struct problem *s, uint32_t selector,
                       uint32_t first_label, uint32_t n_labels);
/* Has the place a PreferNoSchedule taint?  Whoever may choose takes another. */
bool problem_avoided(const struct problem *s, uint32_t first_label,
                     uint32_t n_labels);
/* Is the node type in the queue?  True for queue NONE. */
bool problem_queue_has(const struct problem *s, uint32_t queue, uint32_t type);

#endif
