/*
 * mirror.h - the journal's rows as texts, for a copy of it somewhere else.
 *
 * A journal that is mirrored notes what changes, batch by batch; somebody
 * takes the rows, writes them elsewhere and then says so.  A fresh journal is
 * filled from such a copy.  Control thread only, as the journal itself.
 * Events are not mirrored: they say what happened, nobody acts on them.
 */
#ifndef STORE_MIRROR_H
#define STORE_MIRROR_H

#include "journal.h"

struct mirror_row {
    const char *kind; /* "machine", "request", "boot" or "value" */
    const char *id;   /* within its kind */
    const char *json; /* an object of its columns; NULL: it is gone */
    int64_t seq;      /* of the change */
};

/* From now on changes are noted.  Once per journal. */
enum status mirror_begin(struct journal *j, struct err *err);

/* What was changed by committed batches and mirror_written() has not named: at most
 * max rows, the oldest change first. */
enum status mirror_take(struct journal *j, uint32_t max, struct arena *arena,
                        struct mirror_row **ret, uint32_t *n, struct err *err);
/* These are in the copy.  A row changed since it was taken stays noted. */
enum status mirror_written(struct journal *j, const struct mirror_row *rows,
                           uint32_t n, struct err *err);
/* All of them are changed: the copy may lack any. */
enum status mirror_all(struct journal *j, struct err *err);
/* Is this row's last change not in the copy yet? */
bool mirror_waits(struct journal *j, const char *kind, const char *id);

/* Fills a journal that has no machines and no requests; once, before
 * mirror_begin().  Columns that a row lacks (an older daemon wrote it) are 0 or
 * ""; those of a later one are kept, and written back with the row.  A row that
 * cannot be read is left out and odd: see journal_odds(). */
enum status mirror_restore(struct journal *j, const struct mirror_row *rows,
                           uint32_t n, struct err *err);

#endif
