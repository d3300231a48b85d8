/*
 * journal.c - the journal's file: opening, migrating, committing.
 *
 * Owns the SQLite handle, its statements and the lock beside the file (hold.c).
 */
#include "db.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../base/alloc.h"

#define BUSY_MS 2000 /* somebody looks at the file with another tool */
enum { LOG_PAGES = 1000, LOG_PAGE = 4096 }; /* as SQLite has them */

static const char *const statements[STMT_COUNT] = {
    [STMT_BEGIN] = "BEGIN IMMEDIATE",
    [STMT_COMMIT] = "COMMIT",
    [STMT_ROLLBACK] = "ROLLBACK",
    [STMT_MACHINE_DROP] = "DELETE FROM machine WHERE id = ?1",
    [STMT_MACHINE_CLEAR] = "DELETE FROM machine WHERE seq NOT IN (SELECT value "
                           "FROM json_each(?1))",
    /* WHERE: without it SQLite fires no trigger */
    [STMT_REQUEST_CLEAR] = "DELETE FROM request WHERE true",
    [STMT_REQUEST_PUT] =
        "INSERT INTO request(owner, body, created_ms, expires_ms) "
        "VALUES(?1, ?2, ?3, ?4) ON CONFLICT(owner) DO "
        "UPDATE SET body = ?2, created_ms = ?3, expires_ms = ?4",
    [STMT_REQUEST_DROP] = "DELETE FROM request WHERE owner = ?1",
    [STMT_REQUEST_ALL] = "SELECT owner, body, created_ms, expires_ms FROM "
                         "request ORDER BY created_ms, owner",
    [STMT_EVENT_PUT] =
        "INSERT INTO event(id, at_ms, kind, subject, reason, text, data) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [STMT_EVENT_TRIM] = "DELETE FROM event WHERE id <= ?1",
    [STMT_EVENT_LAST] = "SELECT max(id) FROM event",
    [STMT_EVENT_AFTER] =
        "SELECT id, at_ms, kind, subject, reason, text, data FROM event WHERE "
        "id > ?1 ORDER BY id LIMIT ?2",
    /* New times weigh 3/10 from the fourth on; the first ones their share. */
    [STMT_BOOT_PUT] =
        "INSERT INTO boot(type, mean_ms, n) VALUES(?1, ?2, 1) ON CONFLICT(type) DO UPDATE SET "
        "mean_ms = mean_ms + (?2 - mean_ms) * max(0.3, 1.0 / (n + 1)), n = n + "
        "1",
    [STMT_VALUE_PUT] = "INSERT INTO value VALUES(?1, ?2) ON CONFLICT(key) DO "
                       "UPDATE SET value = ?2",
    [STMT_VALUE_DROP] = "DELETE FROM value WHERE key = ?1",
    [STMT_VALUE_GET] = "SELECT value FROM value WHERE key = ?1",
    [STMT_VALUE_SWEEP] =
        "DELETE FROM value WHERE substr(key, 1, length(?1)) = ?1 AND "
        "substr(key, length(?1) + 1) NOT IN (SELECT owner FROM request)",
    [STMT_HISTORY_PUT] =
        "INSERT INTO history VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON "
        "CONFLICT(step_s, place) DO UPDATE SET at_s = ?3, seen_ms = ?4, spent = "
        "?5, nodes = ?6, waiting = ?7, launched = ?8, ended = ?9",
    [STMT_HISTORY_ALL] =
        "SELECT at_s, seen_ms, spent, nodes, waiting, launched, "
        "ended FROM history WHERE step_s = ?1",
    [STMT_BOOT_GET] = "SELECT CAST(round(mean_ms) AS INTEGER) FROM boot WHERE "
                      "type = ?1",
};

enum status db_fail(struct journal *j, const char *doing, struct err *err)
{
    int rc = j->db ? sqlite3_errcode(j->db) : SQLITE_NOMEM;
    const char *why = j->db ? sqlite3_errmsg(j->db) : "out of memory";
    enum status s;

    j->crowded = (rc & 0xff) == SQLITE_FULL ||
                 (j->db &&
                  sqlite3_extended_errcode(j->db) == SQLITE_IOERR_WRITE);
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        s = err_set(err, ST_INVALID,
                    "%s: %s: the file is damaged or no journal (%s); `davit "
                    "journal check` says how much, `davit journal restore` "
                    "puts a backup in its place",
                    j->path, doing, why);
        break;
    case SQLITE_FULL:
        s = err_set(err, ST_RETRY, "%s: %s: no space left (%s)", j->path, doing,
                    why);
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        s = err_set(err, ST_RETRY,
                    "%s: %s: another program holds the file (%s)", j->path,
                    doing, why);
        break;
    default: s = err_set(err, ST_RETRY, "%s: %s: %s", j->path, doing, why);
    }
    if (err)
        snprintf(err->code, sizeof err->code, "SQLITE_%d",
                 j->db ? sqlite3_extended_errcode(j->db) : rc);
    return s;
}

/* ---- batches ---- */

static void batch_break(struct journal *j, const struct err *why)
{
    j->broken = *why;
    /* Full disks and I/O errors may have rolled it back already. */
    if (sqlite3_get_autocommit(j->db) == 0) {
        sqlite3_step(j->stmt[STMT_ROLLBACK]);
        sqlite3_reset(j->stmt[STMT_ROLLBACK]);
    }
}

enum status db_begin(struct journal *j, struct err *err)
{
    struct err e = {0};

    assert(!j->lent);
    if (j->broken.status != ST_OK) {
        if (err)
            *err = j->broken;
        return j->broken.status;
    }
    if (j->in_batch)
        return ST_OK;
    j->in_batch = true;
    if (sqlite3_step(j->stmt[STMT_BEGIN]) != SQLITE_DONE) {
        db_fail(j, "cannot begin to write", &e);
        sqlite3_reset(j->stmt[STMT_BEGIN]);
        batch_break(j, &e);
        if (err)
            *err = e;
        return e.status;
    }
    sqlite3_reset(j->stmt[STMT_BEGIN]);
    return ST_OK;
}

enum status db_write(struct journal *j, enum stmt which, const char *doing,
                     struct err *err)
{
    sqlite3_stmt *s = j->stmt[which];
    struct err e = {0};

    assert(j->in_batch);
    if (sqlite3_step(s) != SQLITE_DONE) {
        db_fail(j, doing, &e);
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        batch_break(j, &e);
        if (err)
            *err = e;
        return e.status;
    }
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return ST_OK;
}

enum status db_read_end(struct journal *j, enum stmt which, int rc,
                        const char *doing, struct err *err)
{
    enum status s = rc == SQLITE_DONE || rc == SQLITE_ROW
                        ? ST_OK
                        : db_fail(j, doing, err);

    assert(!j->lent);
    sqlite3_reset(j->stmt[which]);
    sqlite3_clear_bindings(j->stmt[which]);
    return s;
}

bool journal_in_batch(const struct journal *j)
{
    return j->in_batch;
}

void journal_lend(struct journal *j)
{
    assert(!j->lent);
    j->lent = true;
}

void journal_return(struct journal *j)
{
    assert(j->lent);
    j->lent = false;
}

/* What it has goes into the journal, most of it in the place of older pages: a disk
 * that it filled has room for the next batch. */
static void log_empty(struct journal *j)
{
    sqlite3_wal_checkpoint_v2(j->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                              NULL);
}

/* After each commit: as SQLite would, and before its log has what room there is, as
 * the journal may have to grow by all of it. */
static int log_grown(void *arg, sqlite3 *db, const char *name, int pages)
{
    const struct journal *j = arg;
    uint64_t log = (uint64_t)pages * LOG_PAGE;
    struct statvfs f;

    if (pages >= LOG_PAGES || (!j->vfs && statvfs(j->path, &f) == 0 &&
                               (uint64_t)f.f_bavail * f.f_frsize < 2 * log))
        sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL,
                                  NULL);
    return SQLITE_OK;
}

void db_log_watch(struct journal *j)
{
    sqlite3_wal_hook(j->db, log_grown, j);
}

enum status journal_commit(struct journal *j, struct err *err)
{
    struct err e = {0};

    if (!j->in_batch)
        return ST_OK;
    j->in_batch = false;
    if (j->broken.status == ST_OK) {
        int rc = sqlite3_step(j->stmt[STMT_COMMIT]);

        if (rc != SQLITE_DONE) {
            db_fail(j, "cannot commit", &e);
            sqlite3_reset(j->stmt[STMT_COMMIT]);
            batch_break(j, &e);
        } else {
            sqlite3_reset(j->stmt[STMT_COMMIT]);
        }
    }
    e = j->broken;
    j->broken = (struct err){0};
    if (e.status != ST_OK && j->crowded)
        log_empty(j);
    if (e.status != ST_OK && err)
        *err = e;
    return e.status;
}

void db_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    /* STATIC: the caller's string outlives the step that follows at once.
     * A failed bind leaves NULL, which the table's NOT NULL refuses. */
    sqlite3_bind_text(s, at, text ? text : "", -1, SQLITE_STATIC);
}

const char *db_text(sqlite3_stmt *s, int column)
{
    const char *t = (const char *)sqlite3_column_text(s, column);

    return t ? t : "";
}

/* ---- opening ---- */

enum status db_run(struct journal *j, const char *sql, const char *doing,
                   struct err *err)
{
    if (sqlite3_exec(j->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return ST_OK;
    return db_fail(j, doing, err);
}

/* What a look at a journal needs, which may lack columns that writes name. */
static bool only_reads(enum stmt which)
{
    return which == STMT_MACHINE_ALL || which == STMT_REQUEST_ALL ||
           which == STMT_EVENT_LAST || which == STMT_EVENT_AFTER ||
           which == STMT_BOOT_GET;
}

static enum status prepare_all(struct journal *j, bool look, struct err *err)
{
    char *put = db_machine_put_sql(), *all = db_machine_all_sql(j);
    enum status s = ST_OK;

    for (int i = 0; i < STMT_COUNT && s == ST_OK; i++) {
        const char *sql = i == STMT_MACHINE_PUT   ? put
                          : i == STMT_MACHINE_ALL ? all
                                                  : statements[i];

        if (look && !only_reads((enum stmt)i))
            continue;
        if (sqlite3_prepare_v3(j->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                               &j->stmt[i], NULL) == SQLITE_ERROR)
            s = err_set(err, ST_INVALID,
                        "%s: has not the tables it should have (%s); `davit "
                        "journal restore` puts a backup in its place",
                        j->path, sqlite3_errmsg(j->db));
        else if (!j->stmt[i])
            s = db_fail(j, "cannot be read", err);
    }
    free(put);
    free(all);
    return s;
}

static enum status events_begin(struct journal *j, struct err *err)
{
    int rc = sqlite3_step(j->stmt[STMT_EVENT_LAST]);

    if (rc == SQLITE_ROW)
        j->next_event = sqlite3_column_int64(j->stmt[STMT_EVENT_LAST], 0) + 1;
    return db_read_end(j, STMT_EVENT_LAST, rc, "cannot read the events", err);
}

/* A journal may be a stranger's, to be looked at or restored: what its schema
 * brings with it runs no code but plain SQL (sqlite.org/security.html). */
void db_settle(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, BUSY_MS);
}

/* The change to a log (WAL) writes a few bytes of the file's first sector.  A
 * rollback journal of it would outlive a death right here, beside a file that has a
 * log by then, and hold.c takes such a one for a stranger's: so it is in memory. */
static enum status log_begin(struct journal *j, struct err *err)
{
    sqlite3_stmt *st = NULL;
    bool has_log = sqlite3_prepare_v2(j->db, "PRAGMA journal_mode", -1, &st,
                                      NULL) == SQLITE_OK &&
                   sqlite3_step(st) == SQLITE_ROW &&
                   !strcmp((const char *)sqlite3_column_text(st, 0), "wal");

    sqlite3_finalize(st);
    return has_log
               ? ST_OK
               : db_run(j,
                        "PRAGMA journal_mode=MEMORY; PRAGMA journal_mode=WAL",
                        "cannot be set up", err);
}

enum status db_connect(struct journal *j, struct err *err)
{
    enum status s;

    if (sqlite3_open_v2(
            j->path, &j->db,
            /* A worker commits: what the loop writes down meanwhile waits for
             * that, and never meets it within SQLite. */
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
            j->vfs) != SQLITE_OK)
        return db_fail(j, "cannot be opened", err);
    db_settle(j->db);
    /* Before anything is changed, so that a foreign file stays as it was;
     * auto-commits of the set-up are full syncs as well. */
    s = db_run(j,
               "PRAGMA synchronous=FULL; PRAGMA cache_size=-512; PRAGMA "
               "journal_size_limit=4194304",
               "cannot be set up", err);
    if (s == ST_OK)
        s = db_schema(j, false, err);
    if (s == ST_OK)
        s = log_begin(j, err);
    if (s == ST_OK)
        s = prepare_all(j, false, err);
    if (s == ST_OK)
        db_log_watch(j);
    return s == ST_OK ? events_begin(j, err) : s;
}

void db_disconnect(struct journal *j)
{
    for (int i = 0; i < STMT_COUNT; i++) {
        sqlite3_finalize(j->stmt[i]);
        j->stmt[i] = NULL;
    }
}

static enum status open_all(struct journal *j, const char *vfs, struct err *err)
{
    enum status s = ST_OK;

    j->vfs = vfs;
    if (strcmp(j->path, JOURNAL_IN_MEMORY) != 0)
        s = hold_take(j->path, vfs, &j->hold, err);
    if (s == ST_OK)
        s = db_connect(j, err);
    if (s == ST_OK && j->hold)
        hold_note(j->hold, j->path);
    return s;
}

/* One read transaction, from its first statement to the close. */
static enum status look_all(struct journal *j, struct err *err)
{
    enum status s;

    if (access(j->path, R_OK) != 0)
        return err_set(err, ST_INVALID, "%s: cannot be read: %s", j->path,
                       strerror(errno));
    if (sqlite3_open_v2(j->path, &j->db,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return db_fail(j, "cannot be opened", err);
    db_settle(j->db);
    s = db_run(j, "BEGIN", "cannot be read", err);
    if (s == ST_OK)
        s = db_schema(j, true, err);
    if (s == ST_OK)
        s = prepare_all(j, true, err);
    if (s == ST_OK)
        events_begin(j, NULL); /* damage there shows when it is looked at */
    return s;
}

static enum status opened(struct journal *j, enum status s,
                          struct journal **ret)
{
    if (s != ST_OK) {
        journal_close(j);
        j = NULL;
    }
    *ret = j;
    return s;
}

enum status journal_open(const char *path, const char *vfs,
                         struct journal **ret, struct err *err)
{
    struct journal *j = MEM_NEW(struct journal);

    j->path = mem_strdup(path);
    return opened(j, open_all(j, vfs, err), ret);
}

enum status journal_look(const char *path, struct journal **ret,
                         struct err *err)
{
    struct journal *j = MEM_NEW(struct journal);

    j->path = mem_strdup(path);
    return opened(j, look_all(j, err), ret);
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    /* What was not committed was not promised: SQLite rolls it back. */
    db_disconnect(j);
    mirror_done(j);
    words_done(j);
    sqlite3_close(j->db);
    for (uint32_t i = 0; i < j->before.n; i++)
        sqlite3_close(j->before.v[i]);
    free(j->before.v);
    hold_release(j->hold);
    free(j->path);
    free(j);
}
