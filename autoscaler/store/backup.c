/*
 * backup.c - a journal's copy in a file, and back.
 *
 * SQLite's backup reads the pages within one read transaction, so a daemon may
 * write meanwhile.  The copy is one file without a write-ahead log; it gets its
 * name when it is whole and on disk.  A restored journal is older than the
 * world: docs/journal.md says what follows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/outfile.h"
#include "db.h"
#include "tools.h"

/* In the table `value`, which 0.1 leaves alone. */
#define MADE "backup_ms"

static enum status sys_fail(struct err *err, const char *path, const char *what)
{
    return err_set(err, ST_INVALID, "%s: %s: %s", path, what, strerror(errno));
}

static enum status sql_fail(struct err *err, const char *path, sqlite3 *db)
{
    return err_set(err, ST_INVALID, "%s: cannot be written: %s", path,
                   db ? sqlite3_errmsg(db) : "out of memory");
}

/* A rename is there after a power cut only when its folder is on disk. */
static void folder_sync(const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[4096];
    int fd;

    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd); /* some file systems refuse */
        close(fd);
    }
}

/* All pages of from into a new file. */
static enum status pages_copy(struct journal *from, const char *to,
                              sqlite3 **ret, struct err *err)
{
    sqlite3_backup *b = NULL;
    int fd = outfile_open(to, O_RDWR | O_CREAT | O_EXCL, 0600, err);

    *ret = NULL;
    if (fd < 0)
        return ST_INVALID;
    close(fd);
    if (sqlite3_open_v2(to, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK) {
        db_settle(*ret);
        b = sqlite3_backup_init(*ret, "main", from->db, "main");
    }
    if (b)
        sqlite3_backup_step(b, -1);
    if (!b || sqlite3_backup_finish(b) != SQLITE_OK)
        return sql_fail(err, to, *ret);
    return ST_OK;
}

/* Runs what marks the copy, and closes it as one whole file. */
static enum status copy_end(sqlite3 *db, const char *path, const char *sql,
                            struct err *err)
{
    enum status s = ST_OK;

    if (sqlite3_exec(db, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        s = sql_fail(err, path, db);
    sqlite3_close(db);
    return s;
}

/* A copy at to, which is not there yet; sql is run in it. */
static enum status copy_make(const char *from, const char *to, const char *sql,
                             struct err *err)
{
    struct journal *j;
    sqlite3 *db;
    enum status s = journal_look(from, &j, err);

    if (s != ST_OK)
        return s;
    s = db_whole(j, err);
    if (s == ST_OK) {
        s = pages_copy(j, to, &db, err);
        if (s == ST_OK)
            s = copy_end(db, to, sql, err);
        else
            sqlite3_close(db);
        if (s != ST_OK)
            unlink(to);
    }
    journal_close(j);
    return s;
}

enum status journal_backup(const char *path, const char *to, int64_t now_ms,
                           struct err *err)
{
    char made[4096], sql[160];
    enum status s;

    if (access(to, F_OK) == 0)
        return err_set(err, ST_INVALID,
                       "%s: is there already; name a file that is not", to);
    if (snprintf(made, sizeof made, "%s.new-%ld", to, (long)getpid()) >=
        (int)sizeof made)
        return err_set(err, ST_INVALID, "%.80s...: the path is too long", to);
    snprintf(sql, sizeof sql,
             "REPLACE INTO value(key, value) VALUES('" MADE "', '%lld')",
             (long long)now_ms);
    s = copy_make(path, made, sql, err);
    if (s == ST_OK && rename(made, to) != 0) {
        s = sys_fail(err, to, "cannot be created");
        unlink(made);
    }
    if (s == ST_OK)
        folder_sync(to);
    return s;
}

/* ---- and back */

static int64_t number(struct journal *j, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int64_t n = 0;

    if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

/* Ids of events go on from the larger one, for who listens meanwhile. */
static int64_t next_event(const char *path, int64_t least)
{
    struct journal *j;

    if (journal_look(path, &j, NULL) != ST_OK)
        return least;
    if (journal_next_event(j) > least)
        least = journal_next_event(j);
    journal_close(j);
    return least;
}

static enum status from_read(const char *from, struct journal_restored *ret,
                             int64_t *next, struct err *err)
{
    struct journal *j;
    enum status s = journal_look(from, &j, err);

    if (s != ST_OK)
        return s;
    ret->machines = (uint32_t)number(j, "SELECT count(*) FROM machine");
    ret->requests = (uint32_t)number(j, "SELECT count(*) FROM request");
    ret->backup_ms = number(j, "SELECT CAST(value AS INTEGER) FROM value WHERE "
                               "key = '" MADE "'");
    *next = journal_next_event(j);
    journal_close(j);
    return ST_OK;
}

/* Moves what is there, with its log, to the first free name. */
static enum status aside_move(const char *path, char *ret, size_t size,
                              struct err *err)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char from[4096], to[4200];
    struct stat st;

    ret[0] = '\0';
    if (stat(path, &st) != 0 || st.st_size == 0)
        return ST_OK; /* the lock's own empty file */
    for (int i = 1; i == 1 || access(ret, F_OK) == 0; i++)
        snprintf(ret, size, "%s.before-%d", path, i);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(from, sizeof from, "%s%s", path, ends[i]);
        snprintf(to, sizeof to, "%s%s", ret, ends[i]);
        if (rename(from, to) != 0 && (i == 0 || errno != ENOENT))
            return sys_fail(err, from, "cannot be moved away");
    }
    return ST_OK;
}

static enum status restore_held(const char *path, const char *from,
                                int64_t now_ms, struct journal_restored *ret,
                                struct err *err)
{
    char made[4096], sql[600], at[40] = "an unknown time";
    int64_t next;
    enum status s = from_read(from, ret, &next, err);

    if (s != ST_OK)
        return s;
    if (ret->backup_ms)
        clock_iso(ret->backup_ms, at, sizeof at);
    snprintf(made, sizeof made, "%s.new-%ld", path, (long)getpid());
    snprintf(sql, sizeof sql,
             "DELETE FROM value WHERE key = '" MADE "';"
             "INSERT INTO event(id, at_ms, kind, subject, reason, text, data) "
             "VALUES(%lld, %lld, 'journal.restored', '', '', 'as it was at %s: "
             "what was requested since then is lost', '')",
             (long long)next_event(path, next), (long long)now_ms, at);
    s = copy_make(from, made, sql, err);
    if (s == ST_OK)
        s = aside_move(path, ret->aside, sizeof ret->aside, err);
    if (s == ST_OK && rename(made, path) != 0)
        s = sys_fail(err, path, "cannot be replaced");
    if (s != ST_OK)
        unlink(made);
    folder_sync(path);
    return s;
}

enum status journal_restore(const char *path, const char *from, int64_t now_ms,
                            struct journal_restored *ret, struct err *err)
{
    struct stat a, b;
    struct hold *hold;
    enum status s;

    *ret = (struct journal_restored){0};
    if (stat(path, &a) == 0 && stat(from, &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino)
        return err_set(err, ST_INVALID, "%s: is the journal itself", from);
    if (strlen(path) > 4000)
        return err_set(err, ST_INVALID, "%.80s...: the path is too long", path);
    s = hold_take(path, NULL, &hold, err);
    if (s == ST_OK)
        s = restore_held(path, from, now_ms, ret, err);
    hold_release(hold);
    return s;
}
