/*
 * check.c - is every page of a journal whole, and every row understood?
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../codec/codec.h"
#include "db.h"
#include "tools.h"

enum { PAGES_TOLD = 20 };

struct told {
    journal_tell *tell;
    void *arg;
};

static void say(const struct told *t, enum journal_said what, const char *fmt,
                ...) __attribute__((format(printf, 3, 4)));

static void say(const struct told *t, enum journal_said what, const char *fmt,
                ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    t->tell(t->arg, what, text);
}

static void pages_check(struct journal *j, const struct told *t)
{
    sqlite3_stmt *s = NULL;
    struct err err;
    char sql[64];
    int rc;

    snprintf(sql, sizeof sql, "PRAGMA integrity_check(%d)", PAGES_TOLD);
    rc = sqlite3_prepare_v2(j->db, sql, -1, &s, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(s);
        if (rc != SQLITE_ROW)
            break;
        if (strcmp(db_text(s, 0), "ok") == 0)
            say(t, JOURNAL_FACT, "every page is whole");
        else
            say(t, JOURNAL_BAD, "%s", db_text(s, 0));
    }
    if (rc != SQLITE_DONE) {
        db_fail(j, "cannot be checked", &err);
        say(t, JOURNAL_BAD, "%s", err.text);
    }
    sqlite3_finalize(s);
}

static int by_cloud(const void *a, const void *b)
{
    const struct machine *x = *(struct machine *const *)a;
    const struct machine *y = *(struct machine *const *)b;
    int d = strcmp(x->provider, y->provider);

    return d ? d : strcmp(x->cloud_id, y->cloud_id);
}

/* Two rows of one machine of a cloud: it would be counted twice. */
static void twins_check(struct fleet *f, const struct told *t)
{
    qsort(f->v, f->n, sizeof *f->v, by_cloud);
    for (uint32_t i = 1; i < f->n; i++)
        if (*f->v[i]->cloud_id && by_cloud(&f->v[i - 1], &f->v[i]) == 0)
            say(t, JOURNAL_ODD, "machines \"%s\" and \"%s\" are one to %s: %s",
                f->v[i - 1]->id, f->v[i]->id, f->v[i]->provider,
                f->v[i]->cloud_id);
}

static void machines_check(struct journal *j, const struct told *t)
{
    uint32_t by[STATE_COUNT] = {0}, n;
    const struct journal_odd *odd;
    char states[200] = "";
    struct fleet f;
    struct err err;

    fleet_init(&f);
    if (journal_load_fleet(j, &f, &err) != ST_OK)
        say(t, JOURNAL_BAD, "%s", err.text);
    for (uint32_t i = 0; i < f.n; i++)
        by[f.v[i]->state]++;
    for (int s = 0; s < STATE_COUNT; s++)
        if (by[s])
            snprintf(states + strlen(states), sizeof states - strlen(states),
                     ", %u %s", by[s], state_name((enum machine_state)s));
    say(t, JOURNAL_FACT, "%u machines%s", f.n, states);
    if (journal_odds(j, &odd, &n) > n)
        say(t, JOURNAL_ODD,
            "%u rows are not understood, of which these are "
            "the first:",
            journal_odds(j, &odd, &n));
    for (uint32_t i = 0; i < n; i++)
        say(t, JOURNAL_ODD, "%s \"%s\": %s", odd[i].kind, odd[i].id,
            odd[i].text);
    twins_check(&f, t);
    fleet_done(&f);
}

static void request_check(const struct journal_request *r, int64_t now_ms,
                          const struct told *t)
{
    struct snap_demand demand;
    struct arena arena = {0};
    json_t *json = NULL;
    struct err err;

    if (codec_parse(r->body, strlen(r->body), &json, &err) != ST_OK ||
        codec_request_read(json, r->owner, r->created_ms, &arena, &demand,
                           &err) != ST_OK)
        say(t, JOURNAL_ODD, "request of \"%s\": cannot be read: %s", r->owner,
            err.text);
    else if (r->expires_ms && r->expires_ms <= now_ms)
        say(t, JOURNAL_FACT,
            "the request of \"%s\" has expired, and goes with "
            "the next start",
            r->owner);
    json_decref(json);
    arena_done(&arena);
}

static void requests_check(struct journal *j, int64_t now_ms,
                           const struct told *t)
{
    struct journal_request *r = NULL;
    struct arena arena = {0};
    struct err err;
    uint32_t n = 0;

    if (journal_load_requests(j, &arena, &r, &n, &err) != ST_OK)
        say(t, JOURNAL_BAD, "%s", err.text);
    say(t, JOURNAL_FACT, "%u requests", n);
    for (uint32_t i = 0; i < n; i++)
        request_check(&r[i], now_ms, t);
    arena_done(&arena);
}

static void events_check(struct journal *j, const struct told *t)
{
    struct journal_event *e = NULL;
    struct arena arena = {0};
    struct err err;
    uint32_t n = 0;
    char at[40];

    if (journal_load_events(j, 0, UINT32_MAX, &arena, &e, &n, &err) != ST_OK)
        say(t, JOURNAL_BAD, "%s", err.text);
    else if (n)
        say(t, JOURNAL_FACT, "%u events, the last of %s", n,
            clock_iso(e[n - 1].at_ms, at, sizeof at));
    arena_done(&arena);
}

void journal_check(struct journal *j, int64_t now_ms, journal_tell *tell,
                   void *arg)
{
    const struct told t = {tell, arg};

    pages_check(j, &t);
    machines_check(j, &t);
    requests_check(j, now_ms, &t);
    events_check(j, &t);
}
