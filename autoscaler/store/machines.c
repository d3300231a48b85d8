/*
 * machines.c - the fleet's records as rows.
 *
 * One list of columns drives the table, the write and the read, so that a
 * field cannot be saved and not loaded.  States, reasons and errors are kept
 * by name: a journal must outlive the order of an enum.  A column that a file
 * lacks is added at its opening, without a new schema version, since 0.1 opens
 * no later one; columns that are not listed are left alone (words.c has the
 * same for words).
 */
#include "db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/buf.h"
#include "../codec/v01.h"

enum { SQL_MAX = 8192, WORDS_MAX = 640 };
enum kind { ID, TEXT, BOOL, U32, I64, MICROS, STATE, REASON, STATUS, WORDS };

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
/* A text: with as much room as it has, or without a bound. */
#define TEXT_COLUMN(field) \
    { \
#field, TEXT, offsetof(struct machine, field), MACHINE_ROOM(field) \
    }
#define LONG_COLUMN_AS(field, name) \
    { \
        name, TEXT, offsetof(struct machine, field), SIZE_MAX \
    }

/* All of struct machine but its last part, which starts afresh with the
 * process, but for what is given up: it must not be sent again.  A new one goes before words: 0, "" or, of money, -1 in
 * rows that lack it.  0.1 knows those up to "holds", and leaves later ones as they
 * were in rows it writes. */
static const struct column columns[] = {
    COLUMN(id, ID),
    TEXT_COLUMN(request_id),
    TEXT_COLUMN(provider),
    TEXT_COLUMN(type),
    TEXT_COLUMN(zone),
    TEXT_COLUMN(cloud_id),
    TEXT_COLUMN(address),
    TEXT_COLUMN(ray_id),
    TEXT_COLUMN(config_hash),
    TEXT_COLUMN(detail),
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
    LONG_COLUMN_AS(previous, "holds"),
    COLUMN(cordoned, BOOL),
    COLUMN(asked_to_end, BOOL),
    LONG_COLUMN_AS(asked_by, "asked_by"),
    LONG_COLUMN_AS(because, "because"),
    COLUMN_AS(maybe.given_up, "given_up", BOOL),
    COLUMN(agreed_micros_hour, MICROS),
    {"words", WORDS, 0, 0}, /* what three of them mean: words.c */
};
#define N_COLUMNS ((int)(sizeof columns / sizeof columns[0]))

static bool is_number(enum kind k)
{
    return k == BOOL || k == U32 || k == I64 || k == MICROS;
}

/* What a row that lacks the column has there. */
static const char *nothing(enum kind k)
{
    if (k == MICROS)
        return "-1"; /* not known */
    return is_number(k) ? "0" : "''";
}

static void column_write(struct buf *b, const struct column *c)
{
    buf_printf(b, "%s %s NOT NULL", c->name,
               is_number(c->kind) ? "INTEGER" : "TEXT");
    if (c == columns)
        buf_str(b, " UNIQUE");
    else
        buf_printf(b, " DEFAULT %s", nothing(c->kind));
}

char *db_machine_schema(void)
{
    struct buf b;

    buf_init(&b, SQL_MAX);
    buf_str(&b, "CREATE TABLE machine(seq INTEGER PRIMARY KEY");
    for (int i = 0; i < N_COLUMNS; i++) {
        buf_str(&b, ", ");
        column_write(&b, &columns[i]);
    }
    buf_str(&b, ")");
    return buf_take(&b);
}

char *db_machine_add_sql(struct journal *j)
{
    struct buf b;

    buf_init(&b, SQL_MAX);
    for (int i = 0; i < N_COLUMNS; i++) {
        if (db_has_column(j, "machine", columns[i].name))
            continue;
        buf_str(&b, "ALTER TABLE machine ADD ");
        column_write(&b, &columns[i]);
        buf_str(&b, ";");
    }
    return b.n ? buf_take(&b) : NULL;
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

char *db_machine_all_sql(struct journal *j)
{
    struct buf b;

    buf_init(&b, SQL_MAX);
    for (int i = 0; i < N_COLUMNS; i++)
        buf_printf(&b, "%s %s", i > 0 ? "," : "SELECT",
                   db_has_column(j, "machine", columns[i].name)
                       ? columns[i].name
                       : nothing(columns[i].kind));
    buf_str(&b, ", seq FROM machine ORDER BY seq");
    return buf_take(&b);
}

/* ---- writing */

/* The name of what a column of a word has. */
static const char *word_now(const struct column *c, const struct machine *m)
{
    const void *field = (const char *)m + c->at;

    switch (c->kind) {
    case STATE: return state_name(*(const enum machine_state *)field);
    case REASON: return reason_code(*(const enum reason *)field);
    default: return status_name(*(const enum status *)field);
    }
}

/* For 0.1 to read; what it does not know goes to words as well. */
static const char *word_written(struct journal *j, const struct column *c,
                                const struct machine *m, char *words)
{
    const char *meant = word_meant(j, m->id, c->name, word_now(c, m));
    const char *put = codec_v01_written(c->kind == STATE    ? V01_STATE
                                        : c->kind == REASON ? V01_REASON
                                                            : V01_ERROR,
                                        meant);

    if (strcmp(put, meant) != 0)
        words_add(words, WORDS_MAX, c->name, put, meant);
    return put;
}

static void bind(struct journal *j, int i, const struct machine *m, char *words)
{
    sqlite3_stmt *s = j->stmt[STMT_MACHINE_PUT];
    const struct column *c = &columns[i];
    const void *field = (const char *)m + c->at;
    int at = i + 1;

    switch (c->kind) {
    case ID: db_bind_text(s, at, field); break;
    case TEXT: db_bind_text(s, at, *(const char *const *)field); break;
    case BOOL: sqlite3_bind_int(s, at, *(const bool *)field); break;
    case U32: sqlite3_bind_int64(s, at, *(const uint32_t *)field); break;
    case I64:
    case MICROS: sqlite3_bind_int64(s, at, *(const int64_t *)field); break;
    case STATE:
    case REASON:
    case STATUS: db_bind_text(s, at, word_written(j, c, m, words)); break;
    case WORDS: db_bind_text(s, at, words); break; /* after all words */
    }
}

enum status journal_put_machine(struct journal *j, const struct machine *m,
                                struct err *err)
{
    enum status s = db_begin(j, err);
    char words[WORDS_MAX] = "";

    if (s != ST_OK)
        return s;
    if (j->left.n)
        row_take(j, m->id);
    if (m->state == STATE_GONE) {
        db_bind_text(j->stmt[STMT_MACHINE_DROP], 1, m->id);
        return db_write(j, STMT_MACHINE_DROP, "cannot remove a machine", err);
    }
    for (int i = 0; i < N_COLUMNS; i++)
        bind(j, i, m, words);
    return db_write(j, STMT_MACHINE_PUT, "cannot write a machine", err);
}

/* ---- reading */

static enum status status_from_name(const char *name)
{
    for (int i = 0; i < ST_COUNT; i++)
        if (strcmp(status_name((enum status)i), name) == 0)
            return (enum status)i;
    return ST_COUNT;
}

/* Sets the field; what it is read as when the word is not known, else NULL. */
static const char *word_take(const struct column *c, const char *word,
                             struct machine *m)
{
    void *field = (char *)m + c->at;
    enum machine_state state;
    enum reason reason;
    enum status status;

    switch (c->kind) {
    case STATE:
        state = state_from_name(word);
        m->unread = state >= STATE_GONE;
        *(enum machine_state *)field = m->unread ? STATE_READY : state;
        return m->unread ? state_name(STATE_READY) : NULL;
    case REASON:
        reason = reason_from_code(codec_v01_reason(word));
        *(enum reason *)field = reason == REASON_COUNT ? REASON_NONE : reason;
        return reason == REASON_COUNT ? reason_code(REASON_NONE) : NULL;
    default:
        status = status_from_name(word);
        *(enum status *)field = status == ST_COUNT ? ST_BROKEN : status;
        return status == ST_COUNT ? status_name(ST_BROKEN) : NULL;
    }
}

/* False: it is no word, and the row cannot be read. */
static bool word_read(struct journal *j, sqlite3_stmt *s, int i,
                      struct machine *m)
{
    const struct column *c = &columns[i];
    const char *word = db_text(s, i), *as;
    char meant[WORDS_MAX];

    if (words_find(db_text(s, N_COLUMNS - 1), c->name, word, meant,
                   sizeof meant))
        word = meant;
    if (!word_good(word))
        return false;
    as = word_take(c, word, m);
    if (as) {
        word_keep(j, m->id, c->name, word, as);
        odd_note(j, "machine", m->id,
                 "%s \"%s\" is not known here and reads "
                 "as \"%s\"%s",
                 c->name, word, as,
                 c->kind == STATE ? "; the machine is not ended" : "");
    }
    return true;
}

/* False when it holds what cannot be ours. */
static bool read_column(struct journal *j, sqlite3_stmt *s, int i,
                        struct machine *m)
{
    const struct column *c = &columns[i];
    void *field = (char *)m + c->at;
    const char *text = db_text(s, i);
    int64_t number = sqlite3_column_int64(s, i);

    switch (c->kind) {
    case ID:
        if (strlen(text) >= c->size || !*text)
            return false;
        memcpy(field, text, strlen(text) + 1);
        return true;
    case TEXT:
        if (strlen(text) >= c->size)
            return false;
        machine_text(m, field, c->size, text);
        return true;
    case BOOL: *(bool *)field = number != 0; return true;
    case U32:
        *(uint32_t *)field = (uint32_t)number;
        return number >= 0 && number <= UINT32_MAX;
    case I64:
    case MICROS: *(int64_t *)field = number; return true;
    case STATE:
    case REASON:
    case STATUS: return word_read(j, s, i, m);
    case WORDS: return true;
    }
    return false;
}

/* False: the row is left as it is. */
static bool read_machine(struct journal *j, sqlite3_stmt *s,
                         struct texts *texts, struct machine *m)
{
    *m = (struct machine){MACHINE_TEXTS, .texts = texts};
    for (int i = 0; i < N_COLUMNS; i++)
        if (!read_column(j, s, i, m)) {
            machine_texts_drop(m);
            odd_note(j, "machine", db_text(s, 0),
                     "%s \"%.60s\" cannot be read: the row is left as it is",
                     columns[i].name, db_text(s, i));
            row_leave(j, sqlite3_column_int64(s, N_COLUMNS), db_text(s, 0));
            return false;
        }
    return true;
}

enum status journal_load_fleet(struct journal *j, struct fleet *f,
                               struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_MACHINE_ALL];
    void (*on_change)(void *, const struct machine *,
                      enum machine_state) = f->on_change;
    int rc;

    f->on_change = NULL; /* what comes from the journal is no news to it */
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct machine row, *m;

        if (!read_machine(j, s, f->texts, &row))
            continue;
        m = fleet_add(f, row.id, row.state, row.created_ms);
        *m = row;
    }
    f->on_change = on_change;
    return db_read_end(j, STMT_MACHINE_ALL, rc, "cannot read the machines",
                       err);
}
