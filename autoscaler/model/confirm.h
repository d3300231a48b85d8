/*
 * confirm.h - which demand was seen by one view only.
 *
 * One view of a Ray head may count a task both as running and as pending (ray
 * issue 36926), so tasks and gangs must be in two views in a row before
 * anything is bought for them.  Requests are exact and need no second view.
 * Pure; the code that takes a source's demand calls it.
 */
#ifndef MODEL_CONFIRM_H
#define MODEL_CONFIRM_H

#include "../base/arena.h"
#include "snapshot.h"

/* The n demands of this view, those of the view before it given (of the first
 * view: none).  Of a task's bundles what is more than it had then is split off
 * as unconfirmed; a gang with such a bundle is unconfirmed as a whole.  Bundles that are split are in the arena, all else is shared with now.
 * *ret_any: something is unconfirmed. */
struct snap_demand *confirm_demands(const struct snap_demand *before,
                                    uint32_t n_before,
                                    const struct snap_demand *now, uint32_t n,
                                    struct arena *arena, bool *ret_any);

#endif
