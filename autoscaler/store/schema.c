/*
 * schema.c - is it a journal (judge.c), is it whole, and has it all tables and columns.
 *
 * The schema's version stays 2, the last that 0.1 opens: tables, and columns of
 * machines, are added to it, with defaults, and nothing is taken away.  0.1
 * writes the other tables by position, so they have no more columns than these.
 * A later version that cannot keep to this counts up, and is refused here.
 */
#include "db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { APPLICATION_ID = 0x44415654 /* "DAVT" */, SCHEMA_VERSION = 2 };

const char db_other_schema[] =
    "CREATE TABLE request(owner TEXT PRIMARY KEY, body TEXT NOT NULL, "
    "created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL);CREATE TABLE "
    "event(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, "
    "subject TEXT NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, data "
    "TEXT NOT NULL);CREATE TABLE boot(type TEXT PRIMARY KEY, mean_ms REAL NOT "
    "NULL, n INTEGER NOT NULL);"
    /* What belongs to no row of another table; 0.1 writes none. */
    "CREATE TABLE value(key TEXT PRIMARY KEY, value TEXT NOT NULL);";

static bool read_int(struct journal *j, const char *sql, int64_t *ret)
{
    sqlite3_stmt *s;
    bool good = false;

    if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL) != SQLITE_OK)
        return false;
    if (sqlite3_step(s) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(s, 0);
        good = true;
    }
    sqlite3_finalize(s);
    return good;
}

bool db_has_column(struct journal *j, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(j->db, "main", table, column, NULL,
                                         NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* Creates the tables of a new file, or adds what this one's lack. */
static enum status migrate(struct journal *j, bool fresh, const char *add,
                           struct err *err)
{
    char end[96], *machine = db_machine_schema();
    enum status s = db_run(j, "BEGIN EXCLUSIVE", "cannot migrate", err);

    if (s == ST_OK && fresh)
        s = db_run(j, machine, "cannot create the tables", err);
    if (s == ST_OK && fresh)
        s = db_run(j, db_other_schema, "cannot create the tables", err);
    if (s == ST_OK && !db_has_column(j, "history", "at_s"))
        s = db_run(j, db_history_schema, "cannot create the tables", err);
    if (s == ST_OK && !fresh && add)
        s = db_run(j, add, "cannot migrate", err);
    if (s == ST_OK) {
        snprintf(end, sizeof end,
                 "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
                 APPLICATION_ID, SCHEMA_VERSION);
        s = db_run(j, end, "cannot migrate", err);
    }
    free(machine);
    if (s != ST_OK && sqlite3_get_autocommit(j->db) == 0)
        sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
    return s;
}

static enum status belongs(struct journal *j, int64_t app, int64_t version,
                           struct err *err)
{
    if (app != APPLICATION_ID)
        return err_set(err, ST_INVALID,
                       "%s: is an SQLite file of another program; give `state:`"
                       " a file of its own",
                       j->path);
    if (version > SCHEMA_VERSION)
        return err_set(err, ST_INVALID,
                       "%s: was written by a newer davit (schema %lld, this one"
                       " knows up to %d); run the newer one, or restore a "
                       "backup that this one made",
                       j->path, (long long)version, SCHEMA_VERSION);
    if (version < 1)
        return err_set(err, ST_INVALID,
                       "%s: has no valid schema version (%lld)", j->path,
                       (long long)version);
    if (!db_has_column(j, "machine", "id"))
        return err_set(err, ST_INVALID,
                       "%s: has not the tables it should have (no machines); "
                       "`davit journal restore` puts a backup in its place",
                       j->path);
    return db_judge(j, err);
}

/* One bad page shows when it is read, which may be weeks later and in the
 * middle of a write: so at the start.  An index that says something else than its
 * table would hide rows from those who remove them. */
enum status db_whole(struct journal *j, struct err *err)
{
    sqlite3_stmt *s;
    enum status st = ST_OK;

    if (sqlite3_prepare_v2(j->db, "PRAGMA integrity_check(1)", -1, &s, NULL) !=
        SQLITE_OK)
        return db_fail(j, "cannot be read", err);
    if (sqlite3_step(s) != SQLITE_ROW)
        st = db_fail(j, "cannot be read", err);
    else if (strcmp(db_text(s, 0), "ok") != 0)
        st = err_set(err, ST_INVALID,
                     "%s: the file is damaged (%.160s); `davit journal check` "
                     "says how much, `davit journal restore` puts a backup in "
                     "its place",
                     j->path, db_text(s, 0));
    sqlite3_finalize(s);
    return st;
}

enum status db_schema(struct journal *j, bool look, struct err *err)
{
    int64_t app = 0, version = 0, tables = 0;
    char *add = NULL;
    enum status s;

    if (!read_int(j, "PRAGMA application_id", &app) ||
        !read_int(j, "PRAGMA user_version", &version) ||
        !read_int(j, "SELECT count(*) FROM sqlite_schema", &tables))
        return db_fail(j, "cannot be read", err);
    if (!look && app == 0 && version == 0 && tables == 0)
        return migrate(j, true, NULL, err);
    s = belongs(j, app, version, err);
    if (s != ST_OK)
        return s;
    if (look) { /* what is damaged shows when it is looked at */
        struct err why = {0};

        s = db_judge_rows(j, &why);
        if (s == ST_OK || why.code[0])
            return ST_OK;
        if (err)
            *err = why;
        return s;
    }
    s = db_whole(j, err);
    if (s == ST_OK)
        s = db_judge_rows(j, err);
    if (s != ST_OK)
        return s;
    add = db_machine_add_sql(j);
    if (add || version < SCHEMA_VERSION || !db_has_column(j, "history", "at_s"))
        s = migrate(j, false, add, err);
    free(add);
    return s;
}
