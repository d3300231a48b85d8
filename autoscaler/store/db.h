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
    STMT_VALUE_GET,
    STMT_COUNT
};

enum { MIRROR_KINDS = 3 };

struct journal {
    sqlite3 *db;
    sqlite3_stmt *stmt[STMT_COUNT];
    char *path;
    struct hold *hold;
    int64_t next_event;
    bool in_batch;
    struct err broken; /* the batch's first failure; status ST_OK: none */
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

/* The machine table's SQL is made from its column list: see machines.c. */
char *db_machine_schema(void);  /* heap */
char *db_machine_put_sql(void); /* heap */
char *db_machine_all_sql(void); /* heap */

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
