/*
 * last_look.h - what is looked up before the call that ends a machine leaves.
 *
 * Every end passes it, whatever the cause, each time that it is asked for: what
 * made the end right when it was decided may not be so any more.  It is looked up
 * when the call leaves, in a reading that began after the last thing that could
 * have changed it.
 *
 *   what must be so                          where that is looked up
 *   its id is no other machine's, too        the ledger
 *   its cloud has it still                   a good list that was begun since the
 *                                            last launch there, which may have
 *                                            been given its id: none is under
 *                                            way, and of one whose answer was
 *                                            lost a minute has passed; or, where
 *                                            lists lack it, its id was asked for
 *                                            since, and is there
 *   whoever knows its work can be asked      a view that is recent
 *   no work can have come since              that view, begun since it was to end:
 *                                            it has no living node, or its node
 *                                            is drained, as was agreed
 *
 * Pure; control thread only.
 */
#ifndef CONTROL_LAST_LOOK_H
#define CONTROL_LAST_LOOK_H

#include "providers/providers.h"
#include "sources/sources.h"

struct last_look {
    const struct ledger *ledger;
    const struct providers *providers;
    const struct sources *sources;
    bool begun;
};

/* Of many machines, in a moment in which nothing else happens: what is asked of the
 * whole ledger is looked up once. */
struct last_look last_look_begin(const struct ledger *ledger,
                                 const struct providers *providers,
                                 const struct sources *sources);
/* NULL: its end may leave now; else what it waits for, for a person. */
const char *last_look(const struct last_look *l, const struct machine *m);
/* Only for a list without a launch beside it, which may never be where one launch
 * follows the other: send.c. */
bool last_look_waits_for_launches(const struct last_look *l,
                                  const struct machine *m);

#endif
