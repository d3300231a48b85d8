/*
 * export.c - a journal as JSON, whatever wrote it.
 *
 * The rows go out as they lie there, columns of later versions too, under the
 * names of docs/journal.md; a word is the one that is meant (words.c).  Nothing
 * is parsed but what is JSON anyway, so that a row which no daemon would read
 * is shown all the same.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/text.h"
#include "db.h"
#include "tools.h"

/* Columns that are called otherwise outside; NULL: not shown. */
static const struct {
    const char *table, *column, *name;
} names[] = {
    {"machine", "seq", NULL},
    {"machine", "words", NULL},
    {"machine", "shielded", "protected"},
    {"machine", "holds", "previous"},
    {"machine", "why", "reason"},
    {"request", "body", "request"},
    {"boot", "n", "machines"},
};

static const char *name_of(const char *table, const char *column)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].table, table) == 0 &&
            strcmp(names[i].column, column) == 0)
            return names[i].name;
    return column;
}

static bool is_flag(const char *column)
{
    return strcmp(column, "spot") == 0 || strcmp(column, "adopted") == 0 ||
           strcmp(column, "drain_accepted") == 0 ||
           strcmp(column, "shielded") == 0 || strcmp(column, "cordoned") == 0 ||
           strcmp(column, "asked_to_end") == 0;
}

static bool is_json(const char *column)
{
    return strcmp(column, "body") == 0 || strcmp(column, "holds") == 0 ||
           strcmp(column, "data") == 0;
}

static json_t *text_value(const char *text, const char *column)
{
    json_t *v = is_json(column) ? json_loads(text, 0, NULL) : NULL;
    char *copy;

    if (v || (is_json(column) && !*text))
        return v ? v : json_null();
    copy = mem_strdup(text);
    text_clean(copy, strlen(copy));
    v = mem_must(json_string(copy));
    free(copy);
    return v;
}

static json_t *value(sqlite3_stmt *s, int i, const char *words)
{
    const char *column = sqlite3_column_name(s, i);
    char meant[700];

    switch (sqlite3_column_type(s, i)) {
    case SQLITE_INTEGER:
        return is_flag(column) ? json_boolean(sqlite3_column_int64(s, i))
                               : json_integer(sqlite3_column_int64(s, i));
    case SQLITE_FLOAT: return json_real(sqlite3_column_double(s, i));
    case SQLITE_NULL: return json_null();
    }
    if (words_find(words, column, db_text(s, i), meant, sizeof meant))
        return text_value(meant, column);
    return text_value(db_text(s, i), column);
}

/* Why an adopted machine is not ended. */
static json_t *held(int adoption)
{
    switch (adoption) {
    case ADOPTED_NEW_JOURNAL: return json_string("new_journal");
    case ADOPTED_OTHER_OWNER: return json_string("other_owner");
    default: return json_string("");
    }
}

static json_t *row(sqlite3_stmt *s, const char *table)
{
    json_t *o = json_object();
    const char *words = "";
    int n = sqlite3_column_count(s);

    for (int i = 0; i < n; i++)
        if (strcmp(sqlite3_column_name(s, i), "words") == 0)
            words = db_text(s, i);
    for (int i = 0; i < n; i++) {
        const char *name = name_of(table, sqlite3_column_name(s, i));

        if (name)
            json_object_set_new(o, name, value(s, i, words));
        if (name && strcmp(name, "adopted") == 0)
            json_object_set_new(o, "held", held(sqlite3_column_int(s, i)));
    }
    return o;
}

/* One list; false when it ends before its end. */
static bool rows_write(struct journal *j, const char *key, const char *table,
                       const char *order, FILE *out, struct err *err)
{
    sqlite3_stmt *s = NULL;
    const char *comma = "";
    char sql[120];
    int rc;

    snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY %s", table, order);
    fprintf(out, ",\n\"%s\": [", key);
    rc = sqlite3_prepare_v2(j->db, sql, -1, &s, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        json_t *o;

        rc = sqlite3_step(s);
        if (rc != SQLITE_ROW)
            break;
        o = row(s, table);
        fprintf(out, "%s\n  ", comma);
        json_dumpf(o, out, JSON_COMPACT);
        json_decref(o);
        comma = ",";
    }
    fprintf(out, "%s]", *comma ? "\n" : "");
    if (rc != SQLITE_DONE) {
        db_fail(j, "cannot be read to its end", err);
        err_prefix(err, "%s", key);
    }
    sqlite3_finalize(s);
    return rc == SQLITE_DONE;
}

unsigned journal_export(struct journal *j, int64_t now_ms, FILE *out,
                        struct err *err)
{
    static const struct {
        const char *key, *table, *order;
    } lists[] = {{"machines", "machine", "seq"},
                 {"requests", "request", "created_ms, owner"},
                 {"boots", "boot", "type"},
                 {"events", "event", "id"}};
    unsigned cut = 0;

    fprintf(out, "{\"davit_journal\": 1, \"exported_ms\": %lld",
            (long long)now_ms);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        cut += !rows_write(j, lists[i].key, lists[i].table, lists[i].order, out,
                           err);
    fprintf(out, "}\n");
    return cut;
}
