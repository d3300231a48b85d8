/*
 * stops.h - what stops Davit, or a part of it, at this moment: for /readyz,
 * `davit status` and the metrics.  Each ends by itself (a probe follows) or by
 * the command that its text names.
 *
 * A pure query.  Control thread only.
 */
#ifndef CONTROL_REPORT_STOPS_H
#define CONTROL_REPORT_STOPS_H

#include "../ends.h"
#include "../snapshot_take.h"

void stops_show(const struct known *k, const struct ends *e,
                struct status_page *page);

#endif
