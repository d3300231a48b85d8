/*
 * keep.h - is what was committed where the next start looks for it?
 */
#ifndef STORE_KEEP_H
#define STORE_KEEP_H

#include "journal.h"

/* After a commit: is what holds it the file at the path?  When somebody has deleted
 * it, its log or its lock, or put another one there, all of it is written there
 * again, and what lies there is moved to PATH.found-1: *ret_again.  Blocks: where
 * the commit runs. */
enum status journal_keep(struct journal *j, bool *ret_again, struct err *err);
/* Is it time to look again, though there is nothing to commit?  True about once a
 * minute. */
bool journal_keep_due(struct journal *j, int64_t mono_ms);

#endif
