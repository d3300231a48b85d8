/*
 * keep.c - see keep.h.
 *
 * A file that is deleted, or replaced, goes on for who has it open: SQLite commits,
 * and the next start finds nothing of it.  All of it can still be read there.
 */
#include "keep.h"

#include "db.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEEP_MS = 50000 };

static bool is_lost(struct journal *j)
{
    int moved = 0;

    if (!j->hold)
        return false;
    if (!j->vfs)
        return hold_lost(j->hold, j->path);
    return sqlite3_file_control(j->db, "main", SQLITE_FCNTL_HAS_MOVED,
                                &moved) == SQLITE_OK &&
           moved;
}

static enum status copy_make(struct journal *j, const char *to, struct err *err)
{
    sqlite3_stmt *s;
    enum status st = ST_OK;

    if (sqlite3_prepare_v2(j->db, "VACUUM INTO ?1", -1, &s, NULL) != SQLITE_OK)
        return db_fail(j, "cannot be written again", err);
    db_bind_text(s, 1, to);
    if (sqlite3_step(s) != SQLITE_DONE)
        st = db_fail(j, "cannot be written again", err);
    sqlite3_finalize(s);
    return st;
}

/* From now on what is at the path is meant. */
static enum status connect_again(struct journal *j, struct err *err)
{
    struct journal now = {.path = j->path, .vfs = j->vfs};
    enum status s = db_connect(&now, err);

    if (s != ST_OK) {
        db_disconnect(&now);
        sqlite3_close(now.db);
        return s;
    }
    db_disconnect(j);
    VEC_PUSH(NULL, &j->before, j->db);
    j->db = now.db;
    db_log_watch(j); /* now is no more */
    memcpy(j->stmt, now.stmt, sizeof j->stmt);
    hold_note(j->hold, j->path);
    return ST_OK;
}

/* All of it is at the path: what is left is to connect to it. */
static bool is_put(const struct journal *j)
{
    return j->put && j->put_changes == sqlite3_total_changes(j->db) &&
           (j->vfs || hold_has_put(j->hold, j->path));
}

static enum status copy_put(struct journal *j, struct err *err)
{
    sqlite3_vfs *vfs = j->vfs ? sqlite3_vfs_find(j->vfs) : NULL;
    char made[4200];
    enum status s;

    snprintf(made, sizeof made, "%s.new-%ld", j->path, (long)getpid());
    if (!vfs)
        unlink(made);
    else if (j->put)
        vfs->xDelete(vfs, j->path, 0);
    s = copy_make(j, vfs ? j->path : made, err);
    if (s == ST_OK && !vfs)
        s = hold_put(j->hold, j->path, made, err);
    j->put = s == ST_OK;
    j->put_changes = sqlite3_total_changes(j->db);
    return s;
}

enum status journal_keep(struct journal *j, bool *ret_again, struct err *err)
{
    enum status s = ST_OK;

    *ret_again = false;
    if (j->in_batch || !is_lost(j))
        return ST_OK;
    if (!is_put(j))
        s = copy_put(j, err);
    if (s == ST_OK)
        s = connect_again(j, err);
    if (s != ST_OK)
        err_prefix(err, "somebody deleted or replaced it while davit ran");
    else
        j->put = false;
    *ret_again = s == ST_OK;
    return s;
}

bool journal_keep_due(struct journal *j, int64_t mono_ms)
{
    bool due = mono_ms >= j->keep_ms;

    if (due)
        j->keep_ms = mono_ms + KEEP_MS;
    return due;
}
