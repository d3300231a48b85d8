/*
 * history.c - what stretches of time came to, for charts.
 *
 * A row's place is its stretch's number modulo the size of its ring, so a new
 * one takes the place of the oldest and the table has a ceiling.
 */
#include "db.h"

const char db_history_schema[] =
    "CREATE TABLE history(step_s INTEGER NOT NULL, place INTEGER NOT NULL, "
    "at_s INTEGER NOT NULL, seen_ms INTEGER NOT NULL, spent INTEGER NOT NULL, "
    "nodes INTEGER NOT NULL, waiting INTEGER NOT NULL, launched INTEGER NOT "
    "NULL, ended INTEGER NOT NULL, PRIMARY KEY(step_s, place)) WITHOUT ROWID;";

enum status journal_put_history(struct journal *j, uint32_t step_s,
                                uint32_t place, const struct history_slot *h,
                                struct err *err)
{
    const int64_t v[] = {step_s,     place,       h->at_s,
                         h->seen_ms, h->spent,    h->nodes,
                         h->waiting, h->launched, h->ended};
    enum status st = db_begin(j, err);

    if (st != ST_OK)
        return st;
    for (int i = 0; i < (int)(sizeof v / sizeof *v); i++)
        sqlite3_bind_int64(j->stmt[STMT_HISTORY_PUT], i + 1, v[i]);
    return db_write(j, STMT_HISTORY_PUT, "cannot write the history", err);
}

/* A count that somebody else wrote. */
static uint32_t small(sqlite3_stmt *s, int column)
{
    int64_t v = sqlite3_column_int64(s, column);

    return v < 0 || v > UINT32_MAX ? 0 : (uint32_t)v;
}

static int64_t positive(sqlite3_stmt *s, int column)
{
    int64_t v = sqlite3_column_int64(s, column);

    return v < 0 ? 0 : v;
}

enum status journal_load_history(struct journal *j, uint32_t step_s,
                                 struct history_slot *ret, uint32_t n,
                                 struct err *err)
{
    sqlite3_stmt *s = j->stmt[STMT_HISTORY_ALL];
    int rc;

    sqlite3_bind_int64(s, 1, step_s);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t at_s = positive(s, 0);

        if (at_s % step_s == 0)
            ret[at_s / step_s % n] = (struct history_slot){
                .at_s = at_s,
                .seen_ms = positive(s, 1),
                .spent = positive(s, 2),
                .nodes = small(s, 3),
                .waiting = small(s, 4),
                .launched = small(s, 5),
                .ended = small(s, 6),
            };
    }
    return db_read_end(j, STMT_HISTORY_ALL, rc, "cannot read the history", err);
}
