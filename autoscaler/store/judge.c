/*
 * judge.c - is what SQLite believes of this file what it believes of ours?
 *
 * A schema brings code with it (triggers, views, checks, what is computed), and what
 * a write means (ON CONFLICT REPLACE, a collation, a key that is none).  So each table
 * is compared with the one that we make, word for word.  What a later version may have
 * added has a small form of its own, which can do nothing: columns of machines with a
 * default, and tables of plain columns that nobody here reads or writes.  A file with
 * anything else was made by a stranger, and is not looked at further.
 *
 * SQLite takes any value in any column.  Keys that are no texts would be read as one,
 * and never found again to be removed: so there are none.
 */
#include "db.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 256, WORD_MAX = 64 };

/* CREATE TABLE name(items) after */
struct shape {
    const char *name, *after;
    const char *items[ITEMS_MAX];
    uint32_t n;
};

/* ---- a statement's words, with one blank between */

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t quoted_length(const char *p)
{
    size_t n = strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789_.-");

    return p[n + 1] == *p ? n + 2 : 0;
}

/* Bytes of the word at p; 0: ours have none like it, as comments, or a quote with
 * more than a plain word in it. */
static size_t word_length(const char *p)
{
    size_t n = *p == '-' && isdigit((unsigned char)p[1]) ? 1 : 0;

    if (*p == '\'' || *p == '"')
        return quoted_length(p);
    if (strchr("(),", *p))
        return 1;
    while (is_letter(p[n]) ||
           (n > 0 && p[n] == '.' && isdigit((unsigned char)p[n - 1])))
        n++;
    return n;
}

static const char *canonical(struct arena *a, const char *sql)
{
    char *ret = arena_alloc(a, 2 * strlen(sql) + 1), *to = ret;

    for (const char *p = sql + strspn(sql, " \t\r\n"); *p;
         p += strspn(p, " \t\r\n")) {
        size_t n = word_length(p);

        if (n == 0)
            return NULL;
        if (to > ret)
            *to++ = ' ';
        for (size_t i = 0; i < n; i++)
            *to++ = *p == '\'' ? p[i] : (char)tolower((unsigned char)p[i]);
        p += n;
    }
    *to = '\0';
    return ret;
}

/* The word at *p, which goes behind it; "" at the end. */
static const char *next(struct arena *a, const char **p)
{
    size_t n = strcspn(*p, " ");
    const char *ret = arena_strndup(a, *p, n);

    *p += n + ((*p)[n] == ' ');
    return ret;
}

/* Of names alone: elsewhere what is quoted is another thing than a word. */
static const char *unquoted(struct arena *a, const char *word)
{
    return *word == '"' ? arena_strndup(a, word + 1, strlen(word) - 2) : word;
}

static bool shape_read(struct arena *a, const char *sql, struct shape *ret)
{
    const char *p = canonical(a, sql), *from;
    int depth = 1;

    *ret = (struct shape){0};
    if (!p || strcmp(next(a, &p), "create") != 0 ||
        strcmp(next(a, &p), "table") != 0)
        return false;
    ret->name = unquoted(a, next(a, &p));
    if (strcmp(next(a, &p), "(") != 0)
        return false;
    for (from = p; *p && depth > 0;) {
        const char *end = p, *word = next(a, &p);

        depth += *word == '(' ? 1 : *word == ')' ? -1 : 0;
        if (depth > 1 || (depth == 1 && *word != ','))
            continue;
        if (ret->n == ITEMS_MAX || end == from)
            return false;
        ret->items[ret->n++] = arena_strndup(a, from, (size_t)(end - from) - 1);
        from = p;
    }
    ret->after = p;
    return depth == 0;
}

/* ---- ours */

struct ours {
    struct shape v[8];
    uint32_t n;
};

static void ours_add(struct arena *a, struct ours *all, const char *sql)
{
    while (*sql) {
        size_t n = strcspn(sql, ";");

        if (!shape_read(a, arena_strndup(a, sql, n), &all->v[all->n++]))
            abort(); /* it is a constant */
        sql += n + (sql[n] == ';');
    }
}

static const struct shape *ours_find(const struct ours *all, const char *name)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (strcmp(all->v[i].name, name) == 0)
            return &all->v[i];
    return NULL;
}

/* ---- what a later version may have */

static bool is_name(const char *w)
{
    static const char *const others[] = {"primary", "unique", "check",
                                         "foreign", "constraint"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(w, others[i]) == 0)
            return false;
    return (isalpha((unsigned char)*w) || *w == '_') && strlen(w) < WORD_MAX;
}

static bool is_literal(const char *w)
{
    return *w == '\'' || *w == '-' || isdigit((unsigned char)*w);
}

/* "moon text not null default 'full'"; alone: it has no say in what another column
 * may have, or in whether a row may be written that does not name it. */
static bool is_plain_column(struct arena *a, const char *item, bool alone)
{
    bool null = true, filled = false, keyed = false;
    const char *w;

    if (!is_name(next(a, &item)))
        return false;
    w = next(a, &item);
    if (strcmp(w, "text") == 0 || strcmp(w, "integer") == 0 ||
        strcmp(w, "real") == 0)
        w = next(a, &item);
    for (; *w; w = next(a, &item)) {
        if (strcmp(w, "not") == 0 && strcmp(next(a, &item), "null") == 0)
            null = false;
        else if (strcmp(w, "default") == 0 && is_literal(next(a, &item)))
            filled = true;
        else if (strcmp(w, "unique") == 0 ||
                 (strcmp(w, "primary") == 0 &&
                  strcmp(next(a, &item), "key") == 0))
            keyed = true;
        else
            return false;
    }
    return !alone || (!keyed && (null || filled));
}

static bool is_plain_key(struct arena *a, const char *item)
{
    bool good = strncmp(item, "primary key ( ", 14) == 0;

    for (item += good ? 14 : 0; good && *item;) {
        const char *w = next(a, &item), *after = next(a, &item);

        good = is_name(w) &&
               (strcmp(after, ",") == 0 || (strcmp(after, ")") == 0 && !*item));
    }
    return good;
}

/* Names that mean something in SQL without a table of that name. */
static bool is_free_name(const char *name)
{
    return is_name(name) && strncmp(name, "sqlite_", 7) != 0 &&
           strncmp(name, "json", 4) != 0 && strncmp(name, "pragma_", 7) != 0;
}

static bool is_plain_table(struct arena *a, const struct shape *t)
{
    if (!is_free_name(t->name) ||
        (*t->after && strcmp(t->after, "without rowid") != 0))
        return false;
    for (uint32_t i = 0; i < t->n; i++)
        if (!is_plain_column(a, t->items[i], false) &&
            !is_plain_key(a, t->items[i]))
            return false;
    return true;
}

/* ---- table by table */

static bool is_same(const struct shape *t, const struct shape *ours)
{
    if (t->n != ours->n || strcmp(t->after, ours->after) != 0)
        return false;
    for (uint32_t i = 0; i < t->n; i++)
        if (strcmp(t->items[i], ours->items[i]) != 0)
            return false;
    return true;
}

/* 0.1 made the same without " default 0". */
static bool same_column(const char *item, const char *ours)
{
    const char *filled = strstr(ours, " default ");

    return strcmp(item, ours) == 0 ||
           (filled && strlen(item) == (size_t)(filled - ours) &&
            strncmp(item, ours, strlen(item)) == 0);
}

static const char *column_find(struct arena *a, const struct shape *t,
                               const char *item)
{
    const char *p = item, *name = next(a, &p);
    size_t n = strlen(name);

    for (uint32_t i = 0; i < t->n; i++)
        if (strncmp(t->items[i], name, n) == 0 && t->items[i][n] == ' ')
            return t->items[i];
    return NULL;
}

/* Each version has columns that those before it lack. */
static bool is_machines(struct arena *a, const struct shape *t,
                        const struct shape *ours)
{
    if (t->n < 2 || strcmp(t->items[0], ours->items[0]) != 0 ||
        !column_find(a, t, ours->items[1]) || *t->after)
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        const char *known = column_find(a, ours, t->items[i]);

        if (known ? !same_column(t->items[i], known)
                  : !is_plain_column(a, t->items[i], true))
            return false;
    }
    return true;
}

static bool is_ours(struct arena *a, const struct ours *all, sqlite3_stmt *row)
{
    const char *type = db_text(row, 0), *name = db_text(row, 2);
    const struct shape *ours;
    struct shape t;

    /* SQLite's own, of a primary key */
    if (strcmp(type, "index") == 0)
        return !*db_text(row, 1) && strncmp(name, "sqlite_autoindex_", 17) == 0;
    if (strcmp(type, "table") != 0 || !shape_read(a, db_text(row, 1), &t) ||
        strcmp(t.name, name) != 0)
        return false;
    ours = ours_find(all, name);
    if (!ours)
        return is_plain_table(a, &t);
    return strcmp(name, "machine") == 0 ? is_machines(a, &t, ours)
                                        : is_same(&t, ours);
}

static enum status refuse(struct journal *j, struct err *err, const char *type,
                          const char *name)
{
    return err_set(
        err, ST_INVALID,
        "%s: the %.20s \"%.60s\" is no plain table that Davit makes. "
        "The file was not made by Davit, and is not used",
        j->path, type, name);
}

static enum status tables_judge(struct journal *j, const struct ours *all,
                                struct arena *a, struct err *err)
{
    sqlite3_stmt *s;
    enum status st = ST_OK;
    int rc;

    if (sqlite3_prepare_v2(j->db,
                           "SELECT type, coalesce(sql, ''), name FROM "
                           "sqlite_schema",
                           -1, &s, NULL) != SQLITE_OK)
        return db_fail(j, "cannot be read", err);
    while (st == ST_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
        if (!is_ours(a, all, s))
            st = refuse(j, err, db_text(s, 0), db_text(s, 2));
    if (st == ST_OK && rc != SQLITE_DONE)
        st = db_fail(j, "cannot be read", err);
    sqlite3_finalize(s);
    return st;
}

static enum status encoding_judge(struct journal *j, struct err *err)
{
    enum status st = ST_OK;
    sqlite3_stmt *s;

    if (sqlite3_prepare_v2(j->db, "PRAGMA encoding", -1, &s, NULL) != SQLITE_OK)
        return db_fail(j, "cannot be read", err);
    if (sqlite3_step(s) != SQLITE_ROW)
        st = db_fail(j, "cannot be read", err);
    else if (strcmp(db_text(s, 0), "UTF-8") != 0)
        st = err_set(err, ST_INVALID,
                     "%s: its texts are %.20s, those of a journal are UTF-8. "
                     "The file was not made by Davit, and is not used",
                     j->path, db_text(s, 0));
    sqlite3_finalize(s);
    return st;
}

enum status db_judge(struct journal *j, struct err *err)
{
    char *machine = db_machine_schema();
    struct arena a = {0};
    struct ours all = {0};
    enum status s = encoding_judge(j, err);

    ours_add(&a, &all, machine);
    ours_add(&a, &all, db_other_schema);
    ours_add(&a, &all, db_history_schema);
    if (s == ST_OK)
        s = tables_judge(j, &all, &a, err);
    arena_done(&a);
    free(machine);
    return s;
}

/* ---- row by row */

/* What is read is the table: an index may say something else. */
static const struct {
    const char *table, *what, *sql;
} rows[] = {
#define TEXT_KEY(table, key) \
    { \
        table, "whose " key " is no text", \
            "SELECT 1 FROM " table " NOT INDEXED WHERE typeof(" key \
            ") <> 'text' OR instr(" key ", char(0)) LIMIT 1" \
    }
    TEXT_KEY("machine", "id"),
    TEXT_KEY("request", "owner"),
    TEXT_KEY("boot", "type"),
    TEXT_KEY("value", "key"),
    {"event", "whose id is not 1 to 9007199254740991",
     "SELECT 1 FROM event WHERE id < 1 OR id > 9007199254740991 LIMIT 1"},
};

enum status db_judge_rows(struct journal *j, struct err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sqlite3_stmt *s;
        int rc;

        if (sqlite3_prepare_v2(j->db, rows[i].sql, -1, &s, NULL) != SQLITE_OK)
            continue; /* it is not there: who needs it says so */
        rc = sqlite3_step(s);
        sqlite3_finalize(s);
        if (rc == SQLITE_ROW)
            return err_set(err, ST_INVALID,
                           "%s: the table \"%s\" has a row %s. Davit writes "
                           "none, and does not use the file",
                           j->path, rows[i].table, rows[i].what);
        if (rc != SQLITE_DONE)
            return db_fail(j, "cannot be read", err);
    }
    return ST_OK;
}
