/*
 * shadow.h - the real loop beside another autoscaler, on machines that are not.
 *
 * The loop runs as ever; what it touches is put in the place of the world:
 *
 *   providers   are one cloud in memory (cloud.c): a launch is a machine that
 *               boots for as long as its type says, an end takes it off
 *   sources     are read as ever and never written to (source.c).  Their nodes
 *               that match a node type are the present autoscaler's: the loop
 *               does not see them, but for their work, which is demand here
 *               beside the demand that waits (work.c).  The virtual machines
 *               join in their place
 *   journal     is a file of its own
 *
 * What both fleets cost and how long demand waits on both sides is added up by
 * the hour (meter.c) and lies in the shadow's journal.
 *
 * Thread: a lock is inside; what is for one thread says so.
 */
#ifndef CONTROL_SHADOW_H
#define CONTROL_SHADOW_H

#include "../../config/config.h"
#include "../../model/fleet.h"
#include "../../store/journal.h"
#include "../outside.h"

struct shadow;
struct status_page;

enum { SHADOW_BOOT_MS = 120000 }; /* of types that say nothing of it */
#define SHADOW_PLUGIN "shadow"
#define SHADOW_SUFFIX ".shadow" /* of its journal's name */

/* One in a process: its provider is known by name. */
struct shadow *shadow_new(int64_t boot_ms);
void shadow_free(struct shadow *s); /* NULL is fine */

/* Puts virtual clouds in the place of its providers; before it is used by
 * anybody else.  Keeps a reference. */
void shadow_config(struct shadow *s, struct config *c);
/* The virtual machines of an earlier process, and the sums.  Control thread,
 * before providers are opened. */
void shadow_restore(struct shadow *s, const struct fleet *f, struct journal *j);
/* The same source, read only; machines: the loop's machines are its nodes. */
struct source_opened shadow_source(struct shadow *s,
                                   const struct source_opened *real,
                                   bool machines);

/* ---- what both sides come to */

enum shadow_side { SHADOW_PRESENT, SHADOW_DAVIT, SHADOW_SIDES };

struct shadow_sum {
    int64_t nanos;     /* dollars / 10^9 */
    int64_t node_ms;   /* nodes x time */
    int64_t waited_ms; /* bundles without a node that is ready x time */
};
struct shadow_hour {
    int64_t hour; /* wall, since 1970 */
    int64_t ms;   /* of it that was looked at */
    struct shadow_sum side[SHADOW_SIDES];
    uint32_t launched, ended; /* machines of Davit's */
};
enum { SHADOW_HOURS = 31 * 24 };

struct shadow_now {
    bool seen; /* a demand source tells of the present nodes */
    int64_t micros_hour[SHADOW_SIDES];
    uint32_t nodes[SHADOW_SIDES], waiting[SHADOW_SIDES];
    uint32_t unmatched; /* nodes that match no type: on neither side */
    uint32_t estimated; /* present nodes whose price is an estimate */
};

struct shadow_report {
    int64_t since_ms; /* wall: the first moment that is in the sums; 0 none */
    struct shadow_now now;
    const struct shadow_hour *hours; /* with something, the oldest first */
    uint32_t n_hours;
    struct shadow_hour sum;
};
/* Of hours that end after since_ms (wall; 0: all there are), in the arena. */
void shadow_report(struct shadow *s, int64_t since_ms, struct arena *a,
                   struct shadow_report *ret);

/* The state now, and the sums of this process.  Any thread. */
void shadow_look_at(struct shadow *s, struct shadow_now *ret,
                    struct shadow_sum ret_life[SHADOW_SIDES]);

/* After each plan; view: the last of the source of machines, or NULL.  waiting:
 * bundles that wait at the sources in truth.  Control thread. */
void shadow_page(struct shadow *s, const struct status_page *page,
                 const struct source_view *view, uint32_t waiting,
                 int64_t mono_ms, struct journal *j);
void shadow_counted(struct shadow *s, uint32_t launched, uint32_t ended);
/* What "would" have been done means: "Davit would hold 3 nodes at 2.10 $/h, 5
 * are there at 3.50 $/h". */
const char *shadow_text(struct shadow *s, char *buf, size_t n);
/* The rest goes into the journal's batch. */
void shadow_save(struct shadow *s, struct journal *j, int64_t mono_ms);

#endif
