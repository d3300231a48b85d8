/*
 * record.h - what was planned from what, kept as files for later questions.
 *
 * Each plan that asks for something becomes DIR/<tick>-<time>.json: a
 * snapshot.json with the plan beside it, which `davit plan` replays.  A thread
 * of its own turns pages into text and writes them; when the disk is slower
 * than the plans come, pages are dropped, which is logged.  Its files are
 * pruned to the newest 1,000 and 256 MiB; other files are left alone.
 */
#ifndef CONTROL_RECORD_H
#define CONTROL_RECORD_H

#include "../base/err.h"
#include "status.h"

struct record;

/* Makes the directory when it is not there. */
enum status record_open(const char *dir, struct record **ret, struct err *err);
/* A published page; takes a reference when its plan asks for something, and
 * never waits.  Control thread. */
void record_put(struct record *r, struct status_page *page);
/* What was put is written before it returns.  NULL is fine. */
void record_close(struct record *r);

#endif
