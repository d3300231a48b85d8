/*
 * mirror.c - which rows changed, and rows to and from JSON.
 *
 * SQLite does both: triggers note a changed row in a temporary table, in the
 * same batch, so that what is rolled back is not noted; and its JSON functions
 * make the texts from the tables' own columns, so that a new column is
 * mirrored without a line here.
 */
#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "db.h"

enum { SQL_MAX = 16384 };

static const struct {
    const char *kind, *key;
} kinds[MIRROR_KINDS] = {
    {"machine", "id"},
    {"request", "owner"},
    {"boot", "type"},
    {"value", "key"},
};

static int kind_index(const char *kind)
{
    for (int k = 0; k < MIRROR_KINDS; k++)
        if (strcmp(kinds[k].kind, kind) == 0)
            return k;
    return -1;
}

static enum status prepare(struct journal *j, const char *sql,
                           sqlite3_stmt **ret, struct err *err)
{
    if (sqlite3_prepare_v3(j->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret,
                           NULL) == SQLITE_OK)
        return ST_OK;
    return db_fail(j, "cannot be mirrored", err);
}

/* "json_object('id', id, ...)" and "(id, ...) SELECT coalesce(...), ..." of
 * what the table's columns are.  What is 0 or "" is left out: that is what a
 * column reads as that is not there, in 0.1 too (the patch drops the nulls). */
static enum status sql_make(struct journal *j, const char *kind,
                            struct buf *object, struct buf *insert,
                            struct err *err)
{
    struct buf values;
    sqlite3_stmt *s;
    char sql[64];
    int rc;

    snprintf(sql, sizeof sql, "PRAGMA table_info(%s)", kind);
    if (prepare(j, sql, &s, err) != ST_OK)
        return err->status;
    buf_init(&values, SQL_MAX);
    buf_str(object, "json_patch('{}', json_object(");
    buf_printf(insert, "INSERT INTO %s(", kind);
    for (int i = 0; (rc = sqlite3_step(s)) == SQLITE_ROW; i++) {
        const char *name = db_text(s, 1), *comma = i ? ", " : "";
        /* a primary key that counts by itself may be left to it */
        const char *type = db_text(s, 2);
        const char *none = strcmp(type, "TEXT") == 0            ? "''"
                           : sqlite3_column_int(s, 5) || !*type ? "NULL"
                                                                : "0";

        if (strcmp(none, "NULL") == 0)
            buf_printf(object, "%s'%s', %s", comma, name, name);
        else
            buf_printf(object, "%s'%s', nullif(%s, %s)", comma, name, name,
                       none);
        buf_printf(insert, "%s%s", comma, name);
        buf_printf(&values, "%scoalesce(json_extract(?1, '$.%s'), %s)", comma,
                   name, none);
    }
    sqlite3_finalize(s);
    buf_str(object, "))");
    buf_printf(insert, ") SELECT %s", values.s);
    buf_done(&values);
    return rc == SQLITE_DONE ? ST_OK : db_fail(j, "cannot be mirrored", err);
}

static enum status kind_prepare(struct journal *j, int k, struct err *err)
{
    const char *kind = kinds[k].kind, *key = kinds[k].key;
    struct buf object, insert, get;
    enum status st;

    buf_init(&object, SQL_MAX);
    buf_init(&insert, SQL_MAX);
    buf_init(&get, SQL_MAX);
    st = sql_make(j, kind, &object, &insert, err);
    buf_printf(&get, "SELECT %s FROM %s WHERE %s = ?1", object.s, kind, key);
    if (st == ST_OK)
        st = prepare(j, get.s, &j->mirror_get[k], err);
    if (st == ST_OK)
        st = prepare(j, insert.s, &j->mirror_put[k], err);
    buf_done(&object);
    buf_done(&insert);
    buf_done(&get);
    return st;
}

static enum status restore_prepare(struct journal *j, struct err *err)
{
    enum status st = ST_OK;

    for (int k = 0; k < MIRROR_KINDS && st == ST_OK; k++)
        if (!j->mirror_put[k])
            st = kind_prepare(j, k, err);
    return st;
}

static enum status sql_run(struct journal *j, const char *sql, struct err *err)
{
    if (sqlite3_exec(j->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return ST_OK;
    return db_fail(j, "cannot be mirrored", err);
}

enum status mirror_begin(struct journal *j, struct err *err)
{
    static const struct {
        const char *event, *row;
    } events[] = {{"INSERT", "NEW"}, {"UPDATE", "NEW"}, {"DELETE", "OLD"}};
    enum status st;

    /* our own, which lie in no file */
    sqlite3_db_config(j->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
    st = sql_run(j,
                 "CREATE TEMP TABLE changed(seq INTEGER PRIMARY KEY "
                 "AUTOINCREMENT, kind TEXT, id TEXT, UNIQUE(kind, id))",
                 err);
    for (int k = 0; k < MIRROR_KINDS; k++)
        for (int e = 0; e < 3 && st == ST_OK; e++) {
            const char *kind = kinds[k].kind, *key = kinds[k].key;
            const char *row = events[e].row;
            char sql[400];

            /* no OR REPLACE: the outer statement's own policy would win */
            snprintf(sql, sizeof sql,
                     "CREATE TEMP TRIGGER %s_%s AFTER %s ON main.%s BEGIN "
                     "DELETE FROM changed WHERE kind = '%s' AND id = %s.%s; "
                     "INSERT INTO changed(kind, id) VALUES('%s', %s.%s); END",
                     kind, events[e].event, events[e].event, kind, kind, row,
                     key, kind, row, key);
            st = sql_run(j, sql, err);
        }
    if (st == ST_OK)
        st = restore_prepare(j, err);
    if (st == ST_OK)
        st = prepare(j,
                     "SELECT seq, kind, id FROM changed ORDER BY seq LIMIT ?1",
                     &j->mirror_list, err);
    if (st == ST_OK)
        st = prepare(j, "DELETE FROM changed WHERE seq = ?1", &j->mirror_drop,
                     err);
    if (st == ST_OK)
        st = prepare(j, "SELECT 1 FROM changed WHERE kind = ?1 AND id = ?2",
                     &j->mirror_find, err);
    return st;
}

static enum status row_read(struct journal *j, struct arena *arena,
                            struct mirror_row *row, struct err *err)
{
    sqlite3_stmt *s = j->mirror_get[kind_index(row->kind)];
    int rc;

    db_bind_text(s, 1, row->id);
    rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        row->json = arena_strdup(arena, db_text(s, 0));
    sqlite3_reset(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? ST_OK
               : db_fail(j, "cannot be mirrored", err);
}

enum status mirror_take(struct journal *j, uint32_t max, struct arena *arena,
                        struct mirror_row **ret, uint32_t *n, struct err *err)
{
    VEC(struct mirror_row) all = {0};
    enum status st = ST_OK;
    int rc;

    sqlite3_bind_int64(j->mirror_list, 1, max);
    while ((rc = sqlite3_step(j->mirror_list)) == SQLITE_ROW) {
        struct mirror_row row = {
            .seq = sqlite3_column_int64(j->mirror_list, 0),
            .kind = arena_strdup(arena, db_text(j->mirror_list, 1)),
            .id = arena_strdup(arena, db_text(j->mirror_list, 2)),
        };

        VEC_PUSH(arena, &all, row);
    }
    sqlite3_reset(j->mirror_list);
    if (rc != SQLITE_DONE)
        return db_fail(j, "cannot be mirrored", err);
    for (uint32_t i = 0; i < all.n && st == ST_OK; i++)
        st = row_read(j, arena, &all.v[i], err);
    *ret = all.v;
    *n = all.n;
    return st;
}

enum status mirror_written(struct journal *j, const struct mirror_row *rows,
                           uint32_t n, struct err *err)
{
    enum status st = ST_OK;

    for (uint32_t i = 0; i < n && st == ST_OK; i++) {
        sqlite3_bind_int64(j->mirror_drop, 1, rows[i].seq);
        if (sqlite3_step(j->mirror_drop) != SQLITE_DONE)
            st = db_fail(j, "cannot be mirrored", err);
        sqlite3_reset(j->mirror_drop);
    }
    return st;
}

enum status mirror_all(struct journal *j, struct err *err)
{
    enum status st = ST_OK;

    for (int k = 0; k < MIRROR_KINDS && st == ST_OK; k++) {
        char sql[300];

        snprintf(sql, sizeof sql,
                 "INSERT INTO changed(kind, id) SELECT '%s', %s FROM main.%s "
                 "WHERE true ON CONFLICT(kind, id) DO NOTHING",
                 kinds[k].kind, kinds[k].key, kinds[k].kind);
        st = sql_run(j, sql, err);
    }
    return st;
}

bool mirror_waits(struct journal *j, const char *kind, const char *id)
{
    bool found;

    if (!j->mirror_find)
        return false;
    db_bind_text(j->mirror_find, 1, kind);
    db_bind_text(j->mirror_find, 2, id);
    found = sqlite3_step(j->mirror_find) == SQLITE_ROW;
    sqlite3_reset(j->mirror_find);
    return found;
}

/* A later version's column: kept as it is, without a type. */
static enum status column_add(struct journal *j, const char *kind,
                              const char *name, struct err *err)
{
    char sql[200];

    if (!word_good(name) || strpbrk(name, "-.") || *name < 'a' ||
        db_has_column(j, kind, name))
        return ST_OK;
    snprintf(sql, sizeof sql, "ALTER TABLE %s ADD \"%s\"", kind, name);
    return sql_run(j, sql, err);
}

/* What the copy's rows have and our tables have not, so that it is written back
 * when the row changes.  What is no JSON is passed over. */
static enum status columns_add(struct journal *j, const struct mirror_row *rows,
                               uint32_t n, struct err *err)
{
    sqlite3_stmt *s;
    enum status st = prepare(
        j,
        "SELECT DISTINCT key FROM json_each(CASE WHEN json_valid(?1) THEN ?1 "
        "ELSE '{}' END) WHERE key NOT IN (SELECT name FROM "
        "pragma_table_info(?2))",
        &s, err);

    for (uint32_t i = 0; i < n && st == ST_OK; i++) {
        if (!rows[i].json || kind_index(rows[i].kind) < 0)
            continue;
        db_bind_text(s, 1, rows[i].json);
        db_bind_text(s, 2, rows[i].kind);
        while (st == ST_OK && sqlite3_step(s) == SQLITE_ROW) {
            char name[80];

            snprintf(name, sizeof name, "%s", db_text(s, 0));
            st = column_add(j, rows[i].kind, name, err);
        }
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    return st;
}

static enum status row_restore(struct journal *j, const struct mirror_row *row,
                               struct err *err)
{
    int k = kind_index(row->kind), rc;
    sqlite3_stmt *s;

    if (k < 0)
        return ST_OK; /* of a newer daemon; it finds it again */
    s = j->mirror_put[k];
    db_bind_text(s, 1, row->json);
    rc = sqlite3_step(s);
    sqlite3_reset(s);
    if (rc == SQLITE_DONE)
        return ST_OK;
    rc = sqlite3_extended_errcode(j->db) & 0xff;
    if (rc != SQLITE_ERROR && rc != SQLITE_CONSTRAINT && rc != SQLITE_MISMATCH)
        return db_fail(j, "cannot be filled", err);
    odd_note(j, row->kind, row->id,
             "the row cannot be read and is left as it "
             "is (%.60s): %.60s",
             sqlite3_errmsg(j->db), row->json);
    return ST_OK;
}

enum status mirror_restore(struct journal *j, const struct mirror_row *rows,
                           uint32_t n, struct err *err)
{
    enum status st = columns_add(j, rows, n, err);

    if (st == ST_OK)
        st = restore_prepare(j, err);
    if (st == ST_OK)
        st = sql_run(j, "BEGIN IMMEDIATE", err);
    if (st != ST_OK)
        return st;
    for (uint32_t i = 0; i < n && st == ST_OK; i++)
        if (rows[i].json)
            st = row_restore(j, &rows[i], err);
    if (st == ST_OK)
        return sql_run(j, "COMMIT", err);
    sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

void mirror_done(struct journal *j)
{
    for (int k = 0; k < MIRROR_KINDS; k++) {
        sqlite3_finalize(j->mirror_get[k]);
        sqlite3_finalize(j->mirror_put[k]);
    }
    sqlite3_finalize(j->mirror_list);
    sqlite3_finalize(j->mirror_drop);
    sqlite3_finalize(j->mirror_find);
}
