/*
 * state.h - the life of a machine, one table.
 *
 * Illegal moves assert.  DRAINING may return to READY (refused, or needed
 * again).  Any state may fall to GONE when a good list lacks the machine after
 * its grace time.  Failure is a reason and a time on the record, not a state.
 */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include <stdbool.h>

/*   enum, code, allowed successors (bits of STATE_x) */
#define STATE_MAP(X) \
    X(INTENDED, "intended", \
      S_(REQUESTED) | S_(STARTING) | S_(READY) | S_(STOPPING) | S_(GONE)) \
    X(REQUESTED, "requested", \
      S_(STARTING) | S_(READY) | S_(DRAINING) | S_(STOPPING) | S_(GONE)) \
    X(STARTING, "starting", \
      S_(READY) | S_(DRAINING) | S_(STOPPING) | S_(GONE)) \
    X(READY, "ready", S_(STARTING) | S_(DRAINING) | S_(STOPPING) | S_(GONE)) \
    X(DRAINING, "draining", \
      S_(STARTING) | S_(READY) | S_(STOPPING) | S_(GONE)) \
    X(STOPPING, "stopping", S_(GONE)) \
    X(GONE, "gone", 0)

#define STATE_ENUM_(name, code, next) STATE_##name,
enum machine_state { STATE_MAP(STATE_ENUM_) STATE_COUNT };
#undef STATE_ENUM_

bool state_may_move(enum machine_state from, enum machine_state to);
const char *state_name(enum machine_state s);
/* STATE_COUNT when there is no such name. */
enum machine_state state_from_name(const char *name);

#endif
