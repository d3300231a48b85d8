/*
 * db.h - the journal's inside: what journal.c (file, batches), hold.c (the lock
 * beside it) and the row files (machines, the rest) share.  Nobody else includes
 * it.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>

#include "journal.h"

/* Every statement the daemon ever runs, prepared once. */
enum stmt {
    STMT_BEGIN,
    STMT_COMMIT,
    STMT_ROLLBACK,
    STMT_MACHINE_PUT,
    STMT_MACHINE_DROP,
    STMT_MACHINE_ALL,
    STMT_REQUEST_PUT,
    STMT_REQUEST_DROP,
    STMT_REQUEST_ALL,
    STMT_MACHINE_CLEAR,
    STMT_REQUEST_CLEAR,
    STMT_EVENT_PUT,
    STMT_EVENT_TRIM,
    STMT_EVENT_LAST,
    STMT_EVENT_AFTER,
    STMT_BOOT_PUT,
    STMT_BOOT_GET,
    STMT_VALUE_PUT,
    STMT_VALUE_DROP,
    STMT_VALUE_GET,
    STMT_VALUE_SWEEP,
    STMT_HISTORY_PUT,
    STMT_HISTORY_ALL,
    STMT_COUNT
};

enum { MIRROR_KINDS = 4 };

/* A machine's row that cannot be read: it stays as it is. */
struct left_row {
    int64_t seq;
    char *id; /* heap */
};

struct journal {
    sqlite3 *db;
    sqlite3_stmt *stmt[STMT_COUNT];
    char *path;
    const char *vfs; /* NULL: the real one */
    struct hold *hold;
    int64_t keep_ms; /* keep.c's */
    bool put; /* a copy is at the path and not connected to yet; of so many */
    int put_changes; /* changes */
    /* Of files that are not at the path any more.  To close one removes the log at
     * the path by its name: after the one in use. */
    VEC(sqlite3 *) before;
    int64_t next_event;
    bool in_batch;
    bool crowded;      /* what failed last did so for want of room */
    bool lent;         /* another thread commits: nobody else uses it */
    struct err broken; /* the batch's first failure; status ST_OK: none */
    /* words.c's */
    struct hash kept;
    VEC(struct left_row) left;
    struct journal_odd *odds;
    uint32_t n_odds;
    /* mirror.c's; NULL as long as nothing is mirrored */
    sqlite3_stmt *mirror_get[MIRROR_KINDS], *mirror_put[MIRROR_KINDS];
    sqlite3_stmt *mirror_list, *mirror_drop, *mirror_find;
};

/* hold.c: one process has the journal at that path.  RETRY: another has it.
 * The file is there then, and only its owner may read it. */
struct hold;
enum status hold_take(const char *path, const char *vfs, struct hold **ret,
                      struct err *err);
void hold_release(struct hold *h); /* NULL is fine */
/* The journal's files are open: these are they. */
void hold_note(struct hold *h, const char *path);
/* Are those at the path, and the lock's, others now, or none? */
bool hold_lost(struct hold *h, const char *path);
/* Puts that file, which is whole, at the path, with its lock; what lies there is
 * moved away, but for what it has put there itself. */
enum status hold_put(struct hold *h, const char *path, const char *made,
                     struct err *err);
/* Is what it has put there last still there, with its lock? */
bool hold_has_put(const struct hold *h, const char *path);
/* journal.c: a connection to what is at the path. */
enum status db_connect(struct journal *j, struct err *err);
void db_disconnect(struct journal *j); /* without closing it */
void db_log_watch(struct journal *j);  /* of its connection, from now on */

/* The machine table's SQL is made from its column list: see machines.c. */
char *db_machine_schema(void);  /* heap */
char *db_machine_put_sql(void); /* heap */
/* Columns that the file does not have read as "" and 0. */
char *db_machine_all_sql(struct journal *j); /* heap */
/* "ALTER TABLE ..." for those, NULL when it has all; heap. */
char *db_machine_add_sql(struct journal *j);

extern const char db_history_schema[]; /* history.c */
extern const char db_other_schema[];   /* schema.c */

/* ---- schema.c */

/* Ours, whole, and with all that is needed, which it adds; look: nothing is
 * changed, and whether it is whole is not asked. */
enum status db_schema(struct journal *j, bool look, struct err *err);
/* Is every page that a row needs as SQLite wrote it? */
enum status db_whole(struct journal *j, struct err *err);
/* ---- judge.c: INVALID when a stranger made it, with the object's name */
enum status db_judge(struct journal *j, struct err *err);
/* Of its rows.  A failure to read them has SQLite's code. */
enum status db_judge_rows(struct journal *j, struct err *err);
/* Of a handle: no code that a schema brings is run. */
void db_settle(sqlite3 *db);
enum status db_run(struct journal *j, const char *sql, const char *doing,
                   struct err *err);
bool db_has_column(struct journal *j, const char *table, const char *column);

/* ---- words.c: what other versions wrote, and what they can read */

/* Is it a word at all?  Letters, digits, '_', '-', '.'; at most 64. */
bool word_good(const char *s);
/* The word of this row's column is one we do not know, and is read as `as`. */
void word_keep(struct journal *j, const char *id, const char *column,
               const char *word, const char *as);
/* What `now`, our word, means there: itself, or the word it stands for. */
const char *word_meant(struct journal *j, const char *id, const char *column,
                       const char *now);
/* The column `words`: what is meant where something else is written. */
void words_add(char *words, size_t size, const char *column,
               const char *written, const char *meant);
bool words_find(const char *words, const char *column, const char *written,
                char *ret, size_t size);
/* A row that stays as it is; until a machine of that id is written. */
void row_leave(struct journal *j, int64_t seq, const char *id);
void row_take(struct journal *j, const char *id);
char *rows_left(const struct journal *j); /* their seqs, a JSON list; heap */
/* For journal_odds(). */
void odd_note(struct journal *j, const char *kind, const char *id,
              const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void words_done(struct journal *j);

/* SQLite's last failure as one of ours; `doing` is "cannot write a machine". */
enum status db_fail(struct journal *j, const char *doing, struct err *err);

/* Opens a batch if there is none; fails when this one is broken already. */
enum status db_begin(struct journal *j, struct err *err);
/* Runs a bound statement that returns no rows, as part of the batch. */
enum status db_write(struct journal *j, enum stmt which, const char *doing,
                     struct err *err);
/* Ends a read: resets the statement, turns rc (the last step's) into ours. */
enum status db_read_end(struct journal *j, enum stmt which, int rc,
                        const char *doing, struct err *err);

void mirror_done(struct journal *j);

void db_bind_text(sqlite3_stmt *s, int at, const char *text);
const char *db_text(sqlite3_stmt *s, int column); /* never NULL */

#endif
