/*
 * tools.h - what a person does with a journal: look, check, export, take rows
 * out, back up, restore.
 *
 * A look shares the file with the daemon that has it, and changes nothing;
 * taking rows out and restoring need it alone (RETRY: a daemon runs).  Errors
 * name the file.  Thread: any, one at a time.
 */
#ifndef STORE_TOOLS_H
#define STORE_TOOLS_H

#include <stdio.h>

#include "journal.h"

/* To be read as it is at this moment, and to be closed: journal_load_...() of
 * journal.h, and the functions here that take a journal. */
enum status journal_look(const char *path, struct journal **ret,
                         struct err *err);

enum journal_said {
    JOURNAL_FACT, /* what there is */
    JOURNAL_ODD,  /* kept, but not understood */
    JOURNAL_BAD   /* damaged */
};
typedef void journal_tell(void *arg, enum journal_said what, const char *text);

/* Is every page whole, and does every row say something?  Tells all of it. */
void journal_check(struct journal *j, int64_t now_ms, journal_tell *tell,
                   void *arg);

/* All of it as JSON, docs/journal.md; what is damaged ends a list early.
 * Returns how many lists did; why the last did is in err. */
unsigned journal_export(struct journal *j, int64_t now_ms, FILE *out,
                        struct err *err);

/* Takes the row out, also one that cannot be read; kind "machine" or
 * "request".  Part of the batch. */
enum status journal_take_out(struct journal *j, const char *kind,
                             const char *id, bool *found, struct err *err);

/* A copy in a new file, while a daemon writes or not.  INVALID: `to` is there
 * already. */
enum status journal_backup(const char *path, const char *to, int64_t now_ms,
                           struct err *err);

struct journal_restored {
    int64_t backup_ms; /* when it was made; 0: not known */
    uint32_t machines, requests;
    char aside[4096]; /* where the file before it is now; "": none was */
};
/* Puts a backup, or any whole journal, in the place of path. */
enum status journal_restore(const char *path, const char *from, int64_t now_ms,
                            struct journal_restored *ret, struct err *err);

#endif
