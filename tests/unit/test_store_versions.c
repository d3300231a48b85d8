/*
 * test_store_versions.c - journals of other versions: 0.1's is read whole, 0.1
 * reads ours, and what a later one wrote is kept and told, never fatal.
 *
 * 0.1's side is in tests/golden/journal: v0.1.sql, the dump of a file that it
 * wrote, and v0.1-use.sql, the statements with which it reads and writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"
#include "store/journal.h"

static char dir[256], path[288];

static int make_dir(void **state)
{
    (void)state;
    scratch_path(dir, "davit-versions-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/davit.db", dir);
    return 0;
}

static int drop_dir(void **state)
{
    static const char *const ends[] = {"", ".lock", "-wal", "-shm"};
    char name[320];

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    return rmdir(dir);
}

static void sql(const char *text)
{
    char *why = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", why, text);
    sqlite3_close(db);
}

/* What this returns, as text: one value. */
static const char *ask(const char *text)
{
    static char got[256];
    sqlite3_stmt *s;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, text, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sqlite3_errmsg(db), text);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    snprintf(got, sizeof got, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    sqlite3_close(db);
    return got;
}

static char *golden(const char *name)
{
    char *text = calloc(1, 1 << 16), file[128];
    FILE *f;

    snprintf(file, sizeof file, "tests/golden/journal/%s", name);
    f = fopen(file, "r");
    if (!f)
        fail_msg("%s: tests run in the folder of the tree", file);
    assert_in_range(fread(text, 1, (1 << 16) - 1, f), 100, 65000);
    fclose(f);
    return text;
}

static struct journal *open_good(void)
{
    struct journal *j = NULL;
    struct err e = {0};

    if (journal_open(path, NULL, &j, &e) != ST_OK)
        fail_msg("%s", e.text);
    return j;
}

static struct journal *load(struct fleet *f)
{
    struct journal *j = open_good();
    struct err e = {0};

    fleet_init(f);
    if (journal_load_fleet(j, f, &e) != ST_OK)
        fail_msg("%s", e.text);
    return j;
}

static void close_all(struct journal *j, struct fleet *f)
{
    journal_close(j);
    fleet_done(f);
}

static void put_all(struct journal *j, const struct fleet *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        assert_int_equal(journal_put_machine(j, f->v[i], NULL), ST_OK);
    assert_int_equal(journal_commit(j, NULL), ST_OK);
}

static uint32_t odds(const struct journal *j)
{
    const struct journal_odd *v;
    uint32_t n;

    return journal_odds(j, &v, &n);
}

static struct machine sample(const char *id)
{
    struct machine m = {MACHINE_TEXTS, .state = STATE_READY, .created_ms = 1};

    snprintf(m.id, sizeof m.id, "%s", id);
    m.type = "t4";
    m.provider = "sim";
    return m;
}

/* ---- from 0.1 to here */

static void a_journal_of_0_1_is_read_whole(void **state)
{
    char *text = golden("v0.1.sql");
    struct journal_request *r;
    struct journal_event *e;
    struct arena arena = {0};
    struct journal *j;
    struct fleet f;
    uint32_t n;

    (void)state;
    sql(text);
    j = load(&f);
    assert_int_equal(odds(j), 0);
    assert_int_equal(f.n, 3);
    for (uint32_t i = 0; i < f.n; i++) {
        assert_string_equal(f.v[i]->provider, "sim");
        assert_true(f.v[i]->created_ms > 1700000000000);
        assert_int_equal(f.v[i]->state, STATE_READY);
        assert_false(f.v[i]->unread);
    }
    assert_int_equal(f.v[0]->why, REASON_FOR_REQUEST);
    assert_true(f.v[0]->protected);
    assert_int_equal(f.v[2]->why, REASON_END_HOST_GROUP);
    assert_int_equal(f.v[2]->failure, ST_STOCKOUT);
    assert_int_equal(journal_load_requests(j, &arena, &r, &n, NULL), ST_OK);
    assert_int_equal(n, 2);
    assert_string_equal(r[0].owner, "alice");
    assert_int_equal(journal_load_events(j, 0, 100, &arena, &e, &n, NULL),
                     ST_OK);
    assert_true(n > 5);
    assert_true(journal_boot(j, "t4") > 0);
    put_all(j, &f);
    arena_done(&arena);
    close_all(j, &f);
    free(text);
}

/* ---- from here to 0.1 */

/* Every word that a machine of ours can have. */
static void fill(struct journal *j)
{
    char id[32];
    int n = 0;

    for (int s = 0; s < STATE_GONE; s++)
        for (int w = 0; w < REASON_COUNT; w++)
            for (int f = 0; f < ST_COUNT; f++) {
                struct machine m;

                snprintf(id, sizeof id, "m-%d", n++);
                m = sample(id);
                m.state = (enum machine_state)s;
                m.why = (enum reason)w;
                m.failure = (enum status)f;
                assert_int_equal(journal_put_machine(j, &m, NULL), ST_OK);
            }
    assert_int_equal(journal_commit(j, NULL), ST_OK);
}

static void check_filled(const struct fleet *f)
{
    uint32_t n = 0;

    for (int s = 0; s < STATE_GONE; s++)
        for (int w = 0; w < REASON_COUNT; w++)
            for (int x = 0; x < ST_COUNT; x++, n++) {
                assert_int_equal(f->v[n]->state, s);
                assert_int_equal(f->v[n]->why, w);
                assert_int_equal(f->v[n]->failure, x);
            }
    assert_int_equal(n, f->n);
}

static void zero_one_reads_and_writes_ours(void **state)
{
    char *use = golden("v0.1-use.sql");
    struct journal_request r = {"me", "{\"bundles\":[{\"GPU\":1}]}", 1, 0};
    struct journal *j = open_good();
    struct fleet f;

    (void)state;
    fill(j);
    journal_put_request(j, &r, NULL);
    journal_put_boot(j, "t4", 5, NULL);
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    journal_close(j);

    assert_string_equal(ask("PRAGMA user_version"), "2");
    sql(use); /* its statements, and a table `word` of what it knows */
    assert_string_equal(
        ask("SELECT count(*) FROM machine WHERE state NOT IN (SELECT w FROM "
            "word WHERE k = 'state') OR why NOT IN (SELECT w FROM word WHERE k "
            "= 'why') OR failure NOT IN (SELECT w FROM word WHERE k = "
            "'failure')"),
        "0");

    /* And back again: all that 0.1 left alone means what it meant. */
    j = load(&f);
    assert_int_equal(odds(j), 0);
    assert_string_equal(f.v[f.n - 1]->id, "of-0.1");
    fleet_move(&f, f.v[f.n - 1], STATE_STOPPING, 1);
    fleet_move(&f, f.v[f.n - 1], STATE_GONE, 1);
    fleet_sweep(&f);
    check_filled(&f);
    close_all(j, &f);
    free(use);
}

/* What 0.1 has changed is what it changed it to. */
static void what_0_1_changed_holds(void **state)
{
    struct journal *j = open_good();
    struct machine m = sample("m");
    struct fleet f;

    (void)state;
    m.why = REASON_END_HOST_GROUP;
    journal_put_machine(j, &m, NULL);
    journal_commit(j, NULL);
    journal_close(j);
    assert_string_equal(ask("SELECT why FROM machine"), "unit_incomplete");
    sql("UPDATE machine SET why = 'idle'");
    j = load(&f);
    assert_int_equal(f.v[0]->why, REASON_END_IDLE);
    close_all(j, &f);
}

/* ---- from a later version to here, and back */

static void unknown_words_are_kept(void **state)
{
    const struct journal_odd *odd;
    struct journal *j = open_good();
    struct machine m = sample("m"), other = sample("other");
    struct fleet f;
    uint32_t n;

    (void)state;
    journal_put_machine(j, &m, NULL);
    journal_put_machine(j, &other, NULL);
    journal_commit(j, NULL);
    journal_close(j);
    sql("ALTER TABLE machine ADD moon TEXT NOT NULL DEFAULT 'full';"
        "UPDATE machine SET state='dancing', why='tides', failure='FOG', "
        "moon='new' WHERE id='m'");

    j = load(&f);
    assert_int_equal(f.n, 2);
    assert_int_equal(f.v[0]->state, STATE_READY);
    assert_true(f.v[0]->unread);
    assert_false(f.v[1]->unread);
    assert_int_equal(f.v[0]->why, REASON_NONE);
    assert_int_equal(f.v[0]->failure, ST_BROKEN);
    assert_int_equal(journal_odds(j, &odd, &n), 3);
    assert_int_equal(n, 3);
    assert_string_equal(odd[0].kind, "machine");
    assert_string_equal(odd[0].id, "m");
    assert_non_null(strstr(odd[0].text, "state \"dancing\""));
    MACHINE_SET(f.v[0], address, "10.0.0.9");
    put_all(j, &f);
    /* also when all is written again */
    assert_int_equal(journal_forget(j, NULL), ST_OK);
    put_all(j, &f);
    close_all(j, &f);

    /* to 0.1 in its own words, to a later version in the later one's */
    assert_string_equal(ask("SELECT state || why || failure || address FROM "
                            "machine WHERE id = 'm'"),
                        "readynoneBROKEN10.0.0.9");
    assert_string_equal(ask("SELECT words FROM machine WHERE id = 'm'"),
                        "state:ready=dancing why:none=tides "
                        "failure:BROKEN=FOG");
    j = load(&f);
    assert_int_equal(odds(j), 3);
    assert_true(f.v[0]->unread);
    /* a word that we change is ours from then on */
    fleet_move(&f, f.v[0], STATE_DRAINING, 5);
    assert_false(f.v[0]->unread);
    put_all(j, &f);
    f.v[0]->why = REASON_END_IDLE;
    put_all(j, &f);
    f.v[0]->why = REASON_NONE;
    put_all(j, &f);
    close_all(j, &f);
    assert_string_equal(ask("SELECT words FROM machine WHERE id = 'm'"),
                        "failure:BROKEN=FOG");
}

static void a_later_column_is_left_alone(void **state)
{
    struct journal *j = open_good();
    struct machine m = sample("m"), later = sample("later");
    struct fleet f;

    (void)state;
    journal_put_machine(j, &m, NULL);
    journal_commit(j, NULL);
    journal_close(j);
    sql("ALTER TABLE machine ADD moon TEXT NOT NULL DEFAULT 'full';"
        "UPDATE machine SET moon='new'; CREATE TABLE tide(x)");
    j = load(&f);
    put_all(j, &f);
    journal_put_machine(j, &later, NULL);
    journal_commit(j, NULL);
    close_all(j, &f);
    assert_string_equal(ask("SELECT moon FROM machine WHERE id='m'"), "new");
    assert_string_equal(ask("SELECT moon FROM machine WHERE id='later'"),
                        "full");
}

static void a_row_that_cannot_be_read_is_left(void **state)
{
    struct journal *j = open_good();
    struct machine m = sample("m"), wrong[4];
    struct fleet f;

    (void)state;
    journal_put_machine(j, &m, NULL);
    for (int i = 0; i < 4; i++) {
        char id[8];

        snprintf(id, sizeof id, "w%d", i);
        wrong[i] = sample(id);
        journal_put_machine(j, &wrong[i], NULL);
    }
    journal_commit(j, NULL);
    journal_close(j);
    sql("UPDATE machine SET zone=printf('%.*c', 200, 'z') WHERE id='w0';"
        "UPDATE machine SET why='two words' WHERE id='w1';"
        "UPDATE machine SET launch_count=-1 WHERE id='w2';"
        "UPDATE machine SET id=printf('%.*c', 99, 'w') WHERE id='w3'");
    j = load(&f);
    assert_int_equal(f.n, 1);
    assert_int_equal(odds(j), 4);
    assert_int_equal(journal_forget(j, NULL), ST_OK); /* all written again */
    put_all(j, &f);
    close_all(j, &f);
    assert_string_equal(ask("SELECT count(*) FROM machine"), "5");
    assert_string_equal(ask("SELECT why FROM machine WHERE id='w1'"),
                        "two words");

    /* found in the cloud, it gets a row of ours, which may go */
    j = load(&f);
    journal_put_machine(j, &wrong[1], NULL);
    journal_commit(j, NULL);
    assert_int_equal(journal_forget(j, NULL), ST_OK);
    put_all(j, &f);
    close_all(j, &f);
    assert_string_equal(ask("SELECT count(*) FROM machine"), "4");
}

static void a_missing_column_is_added(void **state)
{
    struct journal *j = open_good();
    struct machine m = sample("m");
    struct fleet f;

    (void)state;
    m.spot = true;
    journal_put_machine(j, &m, NULL);
    journal_commit(j, NULL);
    journal_close(j);
    sql("ALTER TABLE machine DROP COLUMN words;"
        "ALTER TABLE machine DROP COLUMN spot;"
        "ALTER TABLE machine DROP COLUMN zone");
    j = load(&f);
    assert_int_equal(f.n, 1);
    assert_false(f.v[0]->spot);
    assert_string_equal(f.v[0]->zone, "");
    f.v[0]->spot = true;
    put_all(j, &f);
    close_all(j, &f);
    assert_string_equal(ask("SELECT spot FROM machine"), "1");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_journal_of_0_1_is_read_whole),
        TEST(zero_one_reads_and_writes_ours),
        TEST(what_0_1_changed_holds),
        TEST(unknown_words_are_kept),
        TEST(a_later_column_is_left_alone),
        TEST(a_row_that_cannot_be_read_is_left),
        TEST(a_missing_column_is_added),
    };

    return cmocka_run_group_tests_name("store versions", tests, NULL, NULL);
}
