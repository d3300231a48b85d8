/*
 * snapshot.h - what is, in flat arrays and 32-bit indices: the planner's input.
 *
 * Made from facts by snapshot_make() and immutable afterwards; any thread may
 * read it.  Everything lives in the arena it was made in.  Strings are ids
 * into str[], resources are columns: 0 CPU, 1 memory, 2 GPU, then by name.
 */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include "../base/arena.h"
#include "facts.h"

#define NONE UINT32_MAX

enum { COL_CPU, COL_MEMORY, COL_GPU, COL_FIRST_OTHER };

struct sn_column {
    uint32_t name;
    bool device;        /* made of whole devices; a fraction lies on one */
    bool fractions;     /* may a device be shared? */
};

/* A set of what a place has: its labels, the queues it is in and its taints,
 * told apart by the upper bits of key, sorted by key.
 *   label: string = string;  queue: SN_QUEUE | queue;
 *   taint: SN_TAINT | effect << SN_EFFECT | string = string */
struct sn_label { uint32_t key, value; };
#define SN_TAINT UINT32_C(0x80000000)
#define SN_QUEUE UINT32_C(0x40000000)
#define SN_EFFECT 28
#define SN_STRING UINT32_C(0x0fffffff)
struct sn_term { uint32_t key; enum term_op op; uint32_t first_value, n_values; };
struct sn_toleration {
    uint32_t key;        /* 0: any */
    enum toleration_op op;
    uint32_t value;
    enum taint_effect effect;
};
/* All that decides where a shape may lie, beside room: see snapshot_refuses().
 * 0 lies anywhere; in a snapshot with taints no shape has it. */
struct sn_selector {
    uint32_t first_term, n_terms;
    uint32_t first_toleration, n_tolerations;
    uint32_t queue;      /* into queues[], NONE or SN_QUEUE_DENIED */
};
#define SN_QUEUE_DENIED (UINT32_MAX - 1)

/* What one bundle needs: distinct needs are shapes, and all that costs time is
 * done per shape.  row: n_columns amounts. */
struct sn_shape {
    uint32_t row;        /* into rows[], times n_columns */
    uint32_t selector;   /* into selectors[]; 0 is "any" */
    bool accelerator;    /* needs a device, or a label only accelerators have */
    uint64_t digest;     /* of its needs and conditions: the same in the next
                          * snapshot */
};

struct sn_alt { uint32_t shape; int64_t after_ms; };

struct sn_bundle { uint32_t demand, first_alt, n_alts, count; };

/* What a node holds by the last plan, in the order in which it was placed: a
 * bundle that is gone is left out. */
struct sn_hold { uint32_t bundle, alt, count; };
/* Nodes that a longer thought would buy: see fact_advice. */
struct sn_advice { uint32_t offer, count, first_hold, n_holds; };

struct sn_demand {
    enum demand_source source;
    enum strategy strategy;
    bool gang;           /* whole or not at all */
    uint32_t owner, id;  /* strings */
    int32_t priority;    /* its own and its queue's */
    int64_t since_ms;
    uint32_t queue;      /* into queues[], NONE or SN_QUEUE_DENIED */
    uint32_t first_bundle, n_bundles;
};

/* The quota is for all work of the queue: what runs (used, on nodes that are
 * the queue's alone) and what is planned for its demands. */
struct sn_queue {
    uint32_t name;
    int64_t gpus, cpus;  /* amounts; -1: no quota */
    uint32_t nodes;      /* UNLIMITED: no quota */
    int32_t priority;
    int64_t used_gpus, used_cpus;
    uint32_t used_nodes;
};

struct sn_offer {
    uint32_t type, zone;
    bool spot;
    bool price_estimated;
    int64_t price_micros_hour;  /* never negative: estimated when unknown */
    int64_t set_aside_until_ms;
    enum status set_aside_for;
    int64_t failed_ms;
    uint32_t room;
    int64_t idle_timeout_ms;         /* of its nodes; -1: never */
    uint32_t first_label, n_labels;  /* the type's, plus zone and market */
};

struct sn_type {
    uint32_t name, provider, row;
    uint32_t min, max, hosts;
    int64_t idle_timeout_ms, boot_ms;
    int32_t priority;
    enum reason unavailable;
    bool accelerator;    /* has a device */
    uint32_t first_offer, n_offers;
};

struct sn_node {
    uint32_t id, type;        /* type: NONE when no longer configured */
    uint32_t offer;           /* NONE when it matches none */
    uint32_t unit;            /* string; 0: a unit of its own */
    uint32_t queue;           /* whose quota its work counts in, or NONE */
    bool head, foreign, outdated, spot;
    bool template_room;       /* has not joined: counted with its type's row */
    enum machine_state state;
    uint32_t total, available;       /* rows */
    uint32_t first_device, n_devices;  /* into devices[], GPU-like columns only */
    uint32_t first_label, n_labels;
    int64_t idle_ms, since_ms, created_ms, price_micros_hour;
    int64_t idle_timeout_ms;  /* its offer's, type's or the limit's; -1 never */
    int64_t progress_ms;      /* last visible progress, at least since_ms */
    enum reason hold;
    int64_t hold_until_ms;
    uint32_t first_hold, n_holds;  /* into holds[] */
    bool undecided;
};

/* Free part of one whole device of a node: 0..AMOUNT_ONE. */
struct sn_device { uint32_t column; int32_t free; };

struct snapshot {
    int64_t now_ms;
    struct fact_limits limits;
    bool head_fresh;

    const char *const *str;   /* str[0] is "" */
    uint32_t n_str;
    const struct sn_column *columns;
    uint32_t n_columns;
    const int64_t *rows;      /* n_rows x n_columns */
    uint32_t n_rows;
    const struct sn_label *labels;
    uint32_t accelerator_key;     /* ACCEL_LABEL's string: see accel_type_serves */
    const struct sn_term *terms;
    const uint32_t *term_values;
    const struct sn_toleration *tolerations;
    const struct sn_selector *selectors;
    uint32_t n_selectors;
    const struct sn_shape *shapes;
    uint32_t n_shapes;
    const struct sn_alt *alts;
    const struct sn_bundle *bundles;
    uint32_t n_bundles;
    const struct sn_demand *demands;  /* in planning order, see snapshot_make */
    uint32_t n_demands;
    const struct sn_type *types;
    uint32_t n_types;
    const struct sn_offer *offers;
    uint32_t n_offers;
    const struct sn_node *nodes;
    uint32_t n_nodes;
    const struct sn_device *devices;
    const struct sn_queue *queues;    /* by name */
    uint32_t n_queues;
    const struct sn_hold *holds;
    const struct sn_advice *advice;
    uint32_t n_advice;
    const uint32_t *deciding;     /* per bundle: so many are being thought
                                   * over; NULL: nothing is */
};

static inline const int64_t *sn_row(const struct snapshot *s, uint32_t row)
{
    return s->rows + (size_t)row * s->n_columns;
}

/* Turns facts into arrays.  Pure.  Devices whose split the head does not tell
 * are inferred: whole ones stay whole, the rest lies on one device.  Types,
 * nodes and demands are put in a total order that does not depend on the order
 * of the input.  INVALID (with the name in err) on duplicate type or node ids,
 * a bundle without alternatives and the like; *ret is untouched then. */
enum status snapshot_make(const struct facts *facts, struct arena *arena,
                          struct snapshot **ret, struct err *err);

/* What tells the bundle from others of its demand, from one snapshot to the
 * next: a digest of the needs and conditions of all its alternatives. */
uint64_t snapshot_digest(const struct snapshot *s, uint32_t bundle);

/* May a shape with this selector lie on a place with these labels?  NONE when
 * it may; else QUEUE_DENIED, QUEUE_TYPE, LABEL or TAINT.  *ret_key (may be
 * NULL): the string that is to blame: queue's name, label's or taint's key;
 * NONE when there is none to name. */
enum reason snapshot_refuses(const struct snapshot *s, uint32_t selector,
                             uint32_t first_label, uint32_t n_labels,
                             uint32_t *ret_key);
/* snapshot_refuses() says NONE. */
bool snapshot_match(const struct snapshot *s, uint32_t selector,
                    uint32_t first_label, uint32_t n_labels);
/* The key that snapshot_refuses() finds, or NONE. */
uint32_t snapshot_mismatch(const struct snapshot *s, uint32_t selector,
                           uint32_t first_label, uint32_t n_labels);
/* The taint part alone: does the selector tolerate all hard taints there? */
bool snapshot_tolerates(const struct snapshot *s, uint32_t selector,
                        uint32_t first_label, uint32_t n_labels);
/* Has the place a PreferNoSchedule taint?  Whoever may choose takes another. */
bool snapshot_avoided(const struct snapshot *s, uint32_t first_label,
                      uint32_t n_labels);
/* Is the node type in the queue?  True for queue NONE. */
bool snapshot_queue_has(const struct snapshot *s, uint32_t queue,
                        uint32_t type);

#endif
