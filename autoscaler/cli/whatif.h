/*
 * whatif.h - a snapshot with something changed, and what that changes in the
 * plan: for `davit plan --set` and for replays.
 */
#ifndef CLI_WHATIF_H
#define CLI_WHATIF_H

#include <jansson.h>
#include <stdio.h>

#include "../base/arena.h"
#include "../base/err.h"

/* "node_types.t4.price=0.2" into a snapshot as codec_snapshot_write() has it.
 * Entries of lists go by name, id or number, a name may have points in it.
 * INVALID: where the path ends, and what there is instead. */
enum status whatif_set(json_t *snapshot, const char *text, struct arena *a,
                       struct err *err);

/* Two plans as codec_plan_write() has them; a new reference:
 * {"same", "launches": [{"type", "zone", "spot", "before", "after"}],
 *  "nodes": [{"id", "before", "after", "why_before", "why_after"}],
 *  "before"/"after": {"launched", "ended", "waiting", "infeasible",
 *  "cost_per_hour"}}.  "same": all that is decided is, bit for bit, reasons and placements too;
 * bounds and counted work may differ. */
json_t *whatif_diff(const json_t *before, const json_t *after);
void whatif_print(const json_t *diff, FILE *out);

#endif
