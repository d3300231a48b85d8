/*
 * machines.c - the fleet's records as rows.
 *
 * One list of columns drives the table, the write and the read, so that a
 * field cannot be saved and not loaded.  States, reasons and errors are kept
 * by name: a journal must outlive the order of an enum.
 */
#include "db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/buf.h"
#include "../codec/v01.h"

enum { SQL_MAX = 4096 };
enum kind { TEXT, HEAP_TEXT, BOOL, U32, I64, STATE, REASON, STATUS };

struct column {
    const char *name;
    enum kind kind;
    size_t at, size;
};

#define COLUMN(field, kind) COLUMN_AS(field, #field, kind)
/* A field whose column keeps the name that 0.1 gave it. */
#define COLUMN_AS(field, name, kind) \
    { \
        name, kind, offsetof(struct machine, field), \
            sizeof(((struct machine *)0)->field) \
    }

/* All of struct machine but its last part, which starts afresh with the
 * process.  A new one goes at the end and needs a migration step (ALTER TABLE
 * machine ADD ...). */
static const struct column columns[] = {
    COLUMN(id, TEXT),
    COLUMN(request_id, TEXT),
    COLUMN(provider, TEXT),
    COLUMN(type, TEXT),
    COLUMN(zone, TEXT),
    COLUMN(cloud_id, TEXT),
    COLUMN(address, TEXT),
    COLUMN(ray_id, TEXT),
    COLUMN(config_hash, TEXT),
    COLUMN(detail, TEXT),
    COLUMN(spot, BOOL),
    COLUMN(adopted, U32),
    COLUMN(state, STATE),
    COLUMN(why, REASON),
    COLUMN(failure, STATUS),
    COLUMN(created_ms, I64),
    COLUMN(since_ms, I64),
    COLUMN(ready_ms, I64),
    COLUMN(price_micros_hour, I64),
    COLUMN(progress_ms, I64),
    COLUMN(seen_ms, I64),
    COLUMN(hold_until_ms, I64),
    COLUMN(drain_since_ms, I64),
    COLUMN(needed_ms, I64),
    COLUMN(launch_count, U32),
    COLUMN(drain_accepted, BOOL),
    COLUMN_AS(protected, "shielded", BOOL),
    COLUMN_AS(previous, "holds", HEAP_TEXT),
};
#define N_COLUMNS ((int)(sizeof columns / sizeof columns[0]))

char *db_machine_schema(void)
{
    struct buf b;

    buf_init(&b, SQL_MAX);
    buf_str(&b, "CREATE TABLE machine(seq INTEGER PRIMARY KEY");
    for (int i = 0; i < N_COLUMNS; i++) {
        enum kind k = columns[i].kind;
        bool number = k == BOOL || k == U32 || k == I64;

        buf_printf(&b, ", %s %s NOT NULL%s", columns[i].name,
                   number ? "INTEGER" : "TEXT", i == 0 ? " UNIQUE" : "");
    }
    buf_str(&b, ")");
    return buf_take(&b);
}

char *db_machine_put_sql(void)
{
    struct buf b;

    buf_init(&b, SQL_MAX);
    buf_str(&b, "INSERT INTO machine(");
    for (int i = 0; i < N_COLUMNS; i++)
        buf_printf(&b, "%s%s", i > 0 ? ", " : "", columns[i].name);
    buf_str(&b, ") VALUES(");
    for (int i = 0; i < N_COLUMNS; i++)
        buf_str(&b, i > 0 ? ", ?" : "?");
    /* DO UPDATE keeps seq, the order of creation. */
    buf_str(&b, ") ON CONFLICT(id) DO UPDATE SET ");
    for (int i = 1; i < N_COLUMNS; i++)
        buf_printf(&b, "%s%s = excluded.%s", i > 1 ? ", " : "", columns[i].name,
                   columns[i].name);
    return buf_take(&b);
}

char *db_machine_all_sql(void)
{
    struct buf b;

    buf_init(&b, SQL_MAX);
    for (int i = 0; i < N_COLUMNS; i++)
        buf_printf(&b, "%s %s", i > 0 ? "," : "SELECT", columns[i].name);
    buf_str(&b, " FROM machine ORDER BY seq");
    return buf_take(&b);
}

static void bind(sqlite3_stmt *s, int i, const struct machine *m)
{
    const struct column *c = &columns[i];
    const void *field = (const char *)m + c->at;
    int at = i + 1;

    switch (c->kind) {
    case TEXT: db_bind_text(s, at, field); break;
    case HEAP_TEXT: db_bind_text(s, at, *(char *const *)field); break;
    case BOOL: sqlite3_bind_int(s, at, *(const bool *)field); break;
    case U32: sqlite3_bind_int64(s, at, *(const uint32_t *)field); break;
    case I64: sqlite3_bind_int64(s, at, *(const int64_t *)field); break;
    case STATE:
        db_bind_text(s, at, state_name(*(const enum machine_state *)field));
        break;
    case REASON:
        db_bind_text(s, at, reason_code(*(const enum reason *)field));
        break;
    case STATUS:
        db_bind_text(s, at, status_name(*(const enum status *)field));
        break;
    }
}

enum status journal_put_machine(struct journal *j, const struct machine *m,
                                struct err *err)
{
    enum status s = db_begin(j, err);

    if (s != ST_OK)
        return s;
    if (m->state == STATE_GONE) {
        db_bind_text(j->stmt[STMT_MACHINE_DROP], 1, m->id);
        return db_write(j, STMT_MACHINE_DROP, "cannot remove a machine", err);
    }
    for (int i = 0; i < N_COLUMNS; i++)
        bind(j->stmt[STMT_MACHINE_PUT], i, m);
    return db_write(j, STMT_MACHINE_PUT, "cannot write a machine", err);
}

static enum status status_from_name(const char *name)
{
    for (int i = 0; i < ST_COUNT; i++)
        if (strcmp(status_name((enum status)i), name) == 0)
            return (enum status)i;
    return ST_COUNT;
}

/* False when a name is of no enum we know. */
static bool read_column(sqlite3_stmt *s, int i, struct machine *m)
{
    const struct column *c = &columns[i];
    void *field = (char *)m + c->at;
    const char *text = db_text(s, i);
    int64_t number = sqlite3_column_int64(s, i);

    switch (c->kind) {
    case TEXT:
        if (strlen(text) >= c->size)
            return false;
        memcpy(field, text, strlen(text) + 1);
        return true;
    case HEAP_TEXT:
        *(char **)field = *text ? mem_strdup(text) : NULL;
        return true;
    case BOOL: *(bool *)field = number != 0; return true;
    case U32:
        *(uint32_t *)field = (uint32_t)number;
        return number >= 0 && number <= UINT32_MAX;
    case I64: *(int64_t *)field = number; return true;
    case STATE:
        *(enum machine_state *)field = state_from_name(text);
        return *(enum machine_state *)field < STATE_GONE;
    case REASON:
        *(enum reason *)field = reason_from_code(codec_v01_reason(text));
        return *(enum reason *)field != REASON_COUNT;
    case STATUS:
        *(enum status *)field = status_from_name(text);
        return *(enum status *)field != ST_COUNT;
    }
    return false;
}

static enum status read_machine(struct journal *j, sqlite3_stmt *s,
                                struct machine *m, struct err *err)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < N_COLUMNS; i++)
        if (!read_column(s, i, m))
            return err_set(err, ST_INVALID,
                           "%s: machine \"%.48s\": %s \"%.60s\" is not a value "
                           "this davit knows",
                           j->path, db_text(s, 0), columns[i].name,
                           db_text(s, i));
    return ST_OK;
}

enum status journal_load_fleet(struct journal *j, struct fleet *f,
                               struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_MACHINE_ALL];
    enum status bad = ST_OK, end;
    void (*on_change)(void *, const struct machine *,
                      enum machine_state) = f->on_change;
    int rc = SQLITE_DONE;

    f->on_change = NULL; /* what comes from the journal is no news to it */
    while (bad == ST_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct machine row, *m;

        bad = read_machine(j, s, &row, err);
        if (bad == ST_OK) {
            m = fleet_add(f, row.id, row.state, row.created_ms);
            *m = row;
        }
    }
    f->on_change = on_change;
    end = db_read_end(j, STMT_MACHINE_ALL, rc, "cannot read the machines", err);
    return bad != ST_OK ? bad : end;
}
