/*
 * changes.h - what another configuration says otherwise, in its own keys.
 *
 * What decides which machines there may be: node types, providers, limits.  Pure.
 */
#ifndef CONTROL_REPORT_CHANGES_H
#define CONTROL_REPORT_CHANGES_H

#include "../../base/buf.h"
#include "../../config/config.h"

/* "it changes node_types.t4.max from 8 to 1; it drops node_types.v100; "; nothing
 * where it says the same. */
void changes_write(const struct config *now, const struct config *then,
                   struct buf *ret);

#endif
