/*
 * rows.c - requests, events and boot times as rows.
 */
#include "db.h"
#include "tools.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TRIM_EVERY = 64 }; /* rows the ring may grow past its size */

enum status journal_put_request(struct journal *j,
                                const struct journal_request *r,
                                struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_REQUEST_PUT];
    enum status st = db_begin(j, err);

    if (st != ST_OK)
        return st;
    db_bind_text(s, 1, r->owner);
    db_bind_text(s, 2, r->body);
    sqlite3_bind_int64(s, 3, r->created_ms);
    sqlite3_bind_int64(s, 4, r->expires_ms);
    return db_write(j, STMT_REQUEST_PUT, "cannot write a request", err);
}

enum status journal_drop_request(struct journal *j, const char *owner,
                                 struct err *err)
{
    enum status st = db_begin(j, err);

    if (st != ST_OK)
        return st;
    db_bind_text(j->stmt[STMT_REQUEST_DROP], 1, owner);
    return db_write(j, STMT_REQUEST_DROP, "cannot remove a request", err);
}

enum status journal_load_requests(struct journal *j, struct arena *arena,
                                  struct journal_request **ret, uint32_t *n,
                                  struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_REQUEST_ALL];
    VEC(struct journal_request) all = {0};
    int rc;

    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct journal_request r = {
            .owner = arena_strdup(arena, db_text(s, 0)),
            .body = arena_strdup(arena, db_text(s, 1)),
            .created_ms = sqlite3_column_int64(s, 2),
            .expires_ms = sqlite3_column_int64(s, 3),
        };

        VEC_PUSH(arena, &all, r);
    }
    *ret = all.v;
    *n = all.n;
    return db_read_end(j, STMT_REQUEST_ALL, rc, "cannot read the requests",
                       err);
}

enum status journal_put_event(struct journal *j, struct journal_event *e,
                              struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_EVENT_PUT];
    enum status st = db_begin(j, err);
    int64_t before = j->next_event;

    if (st != ST_OK)
        return st;
    assert(e->id == 0 || e->id >= j->next_event);
    if (e->id == 0)
        e->id = j->next_event;
    j->next_event = e->id + 1;
    sqlite3_bind_int64(s, 1, e->id);
    sqlite3_bind_int64(s, 2, e->at_ms);
    db_bind_text(s, 3, e->kind);
    db_bind_text(s, 4, e->subject);
    db_bind_text(s, 5, e->reason);
    db_bind_text(s, 6, e->text);
    db_bind_text(s, 7, e->data);
    st = db_write(j, STMT_EVENT_PUT, "cannot write an event", err);
    if (st != ST_OK || e->id <= JOURNAL_EVENTS ||
        before / TRIM_EVERY == j->next_event / TRIM_EVERY)
        return st;
    sqlite3_bind_int64(j->stmt[STMT_EVENT_TRIM], 1, e->id - JOURNAL_EVENTS);
    return db_write(j, STMT_EVENT_TRIM, "cannot drop old events", err);
}

int64_t journal_next_event(const struct journal *j)
{
    return j->next_event;
}

enum status journal_load_events(struct journal *j, int64_t after_id,
                                uint32_t max, struct arena *arena,
                                struct journal_event **ret, uint32_t *n,
                                struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_EVENT_AFTER];
    VEC(struct journal_event) all = {0};
    int rc;

    sqlite3_bind_int64(s, 1, after_id);
    sqlite3_bind_int64(s, 2, max);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct journal_event e = {
            .id = sqlite3_column_int64(s, 0),
            .at_ms = sqlite3_column_int64(s, 1),
            .kind = arena_strdup(arena, db_text(s, 2)),
            .subject = arena_strdup(arena, db_text(s, 3)),
            .reason = arena_strdup(arena, db_text(s, 4)),
            .text = arena_strdup(arena, db_text(s, 5)),
            .data = arena_strdup(arena, db_text(s, 6)),
        };

        VEC_PUSH(arena, &all, e);
    }
    *ret = all.v;
    *n = all.n;
    return db_read_end(j, STMT_EVENT_AFTER, rc, "cannot read the events", err);
}

enum status journal_forget(struct journal *j, struct err *err)
{
    enum status s = db_begin(j, err);

    if (s == ST_OK) {
        char *left = rows_left(j);

        db_bind_text(j->stmt[STMT_MACHINE_CLEAR], 1, left);
        s = db_write(j, STMT_MACHINE_CLEAR, "cannot remove machines", err);
        free(left);
    }
    if (s == ST_OK)
        s = db_write(j, STMT_REQUEST_CLEAR, "cannot remove requests", err);
    return s;
}

enum status journal_take_out(struct journal *j, const char *kind,
                             const char *id, bool *found, struct err *err)
{
    bool machine = strcmp(kind, "machine") == 0;
    enum stmt which = machine ? STMT_MACHINE_DROP : STMT_REQUEST_DROP;
    enum status s = db_begin(j, err);

    if (s != ST_OK)
        return s;
    if (machine)
        row_take(j, id);
    db_bind_text(j->stmt[which], 1, id);
    s = db_write(j, which, "cannot take a row out", err);
    *found = s == ST_OK && sqlite3_changes(j->db) > 0;
    return s;
}

enum status journal_put_boot(struct journal *j, const char *type,
                             int64_t took_ms, struct err *err)
{
    enum status st = db_begin(j, err);

    if (st != ST_OK)
        return st;
    db_bind_text(j->stmt[STMT_BOOT_PUT], 1, type);
    sqlite3_bind_int64(j->stmt[STMT_BOOT_PUT], 2, took_ms);
    return db_write(j, STMT_BOOT_PUT, "cannot write a boot time", err);
}

int64_t journal_boot(struct journal *j, const char *type)
{
    sqlite3_stmt *s = j->stmt[STMT_BOOT_GET];
    int64_t took = -1;
    int rc;

    db_bind_text(s, 1, type);
    rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        took = sqlite3_column_int64(s, 0);
    /* Only an estimate: unreadable is the same as never seen. */
    db_read_end(j, STMT_BOOT_GET, rc, "cannot read a boot time", NULL);
    return took;
}

enum status journal_put_value(struct journal *j, const char *key,
                              const char *value, struct err *err)
{
    enum status st = db_begin(j, err);

    if (st != ST_OK)
        return st;
    if (!*value) {
        db_bind_text(j->stmt[STMT_VALUE_DROP], 1, key);
        return db_write(j, STMT_VALUE_DROP, "cannot drop a value", err);
    }
    db_bind_text(j->stmt[STMT_VALUE_PUT], 1, key);
    db_bind_text(j->stmt[STMT_VALUE_PUT], 2, value);
    return db_write(j, STMT_VALUE_PUT, "cannot write a value", err);
}

enum status journal_value(struct journal *j, const char *key,
                          struct arena *arena, const char **ret,
                          struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_VALUE_GET];
    int rc;

    *ret = "";
    db_bind_text(s, 1, key);
    rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *ret = arena_strdup(arena, db_text(s, 0));
    return db_read_end(j, STMT_VALUE_GET, rc, "cannot read a value", err);
}

enum status journal_sweep_values(struct journal *j, const char *before,
                                 struct err *err)
{
    enum status st = db_begin(j, err);

    if (st != ST_OK)
        return st;
    db_bind_text(j->stmt[STMT_VALUE_SWEEP], 1, before);
    return db_write(j, STMT_VALUE_SWEEP, "cannot drop values", err);
}
