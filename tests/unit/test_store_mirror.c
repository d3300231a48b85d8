/*
 * test_store_mirror.c - a journal's copy: nothing changed is missed, nothing
 * rolled back is noted, and a fresh journal made from it is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "store/mirror.h"

static struct journal *journal_new(void)
{
    struct journal *j = NULL;
    struct err e = {0};

    if (journal_open(JOURNAL_IN_MEMORY, NULL, &j, &e) != ST_OK)
        fail_msg("%s", e.text);
    return j;
}

static struct journal *mirrored_new(void)
{
    struct journal *j = journal_new();
    struct err e = {0};

    if (mirror_begin(j, &e) != ST_OK)
        fail_msg("%s", e.text);
    return j;
}

static struct machine machine_make(const char *id)
{
    struct machine m = {MACHINE_TEXTS, .state = STATE_REQUESTED,
                        .launch_count = 3, .created_ms = 1700000000123,
                        .spot = true};

    snprintf(m.id, sizeof m.id, "%s", id);
    m.type = "gpu \"big\"\n";
    m.request_id = "r-1";
    return m;
}

static uint32_t take(struct journal *j, struct arena *a,
                     struct mirror_row **rows)
{
    struct err e = {0};
    uint32_t n = 0;

    if (mirror_take(j, 1000, a, rows, &n, &e) != ST_OK)
        fail_msg("%s", e.text);
    return n;
}

static void put(struct journal *j, const char *id)
{
    struct machine m = machine_make(id);

    assert_int_equal(journal_put_machine(j, &m, NULL), ST_OK);
}

static void test_changes(void **state)
{
    struct journal *j = mirrored_new();
    struct arena a = {0};
    struct mirror_row *rows;
    uint32_t n;

    (void)state;
    put(j, "m1");
    put(j, "m2");
    put(j, "m1"); /* twice, one row */
    assert_int_equal(journal_put_request(
                         j, &(struct journal_request){"me", "{}", 1, 2}, NULL),
                     ST_OK);
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    n = take(j, &a, &rows);
    assert_int_equal(n, 3);
    assert_string_equal(rows[0].id, "m2");
    assert_string_equal(rows[1].id, "m1");
    assert_string_equal(rows[2].kind, "request");
    assert_non_null(strstr(rows[1].json, "\"launch_count\":3"));
    assert_true(mirror_waits(j, "machine", "m1"));
    assert_false(mirror_waits(j, "machine", "m9"));
    assert_false(mirror_waits(j, "request", "m1"));

    put(j, "m1"); /* while the copy is being written */
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    assert_int_equal(mirror_written(j, rows, n, NULL), ST_OK);
    assert_true(mirror_waits(j, "machine", "m1"));
    assert_false(mirror_waits(j, "machine", "m2"));
    n = take(j, &a, &rows);
    assert_int_equal(n, 1);
    assert_int_equal(mirror_written(j, rows, n, NULL), ST_OK);
    assert_int_equal(take(j, &a, &rows), 0);
    arena_done(&a);
    journal_close(j);
}

static void test_gone(void **state)
{
    struct journal *j = mirrored_new();
    struct machine m = machine_make("m1");
    struct arena a = {0};
    struct mirror_row *rows;

    (void)state;
    put(j, "m1");
    m.state = STATE_GONE;
    journal_put_machine(j, &m, NULL);
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    assert_int_equal(take(j, &a, &rows), 1);
    assert_null(rows[0].json);

    put(j, "m2");
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    take(j, &a, &rows);
    mirror_written(j, rows, 2, NULL);
    /* all at once tells too */
    assert_int_equal(journal_forget(j, NULL), ST_OK);
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    assert_true(mirror_waits(j, "machine", "m2"));
    arena_done(&a);
    journal_close(j);
}

static void test_same_again(void **state)
{
    struct journal *j = mirrored_new(), *k = journal_new();
    struct arena a = {0};
    struct journal_request *requests;
    struct mirror_row *rows;
    struct fleet f;
    struct err e = {0};
    const char *value;
    uint32_t n;

    (void)state;
    put(j, "m2");
    put(j, "m1");
    journal_put_request(
        j, &(struct journal_request){"a/b", "{\"x\": [\"\\u00e9\"]}", 7, 0},
        NULL);
    journal_put_boot(j, "gpu", 61000, NULL);
    journal_put_value(j, "place/gke", "somewhere", NULL);
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    n = take(j, &a, &rows);
    assert_int_equal(n, 5);
    if (mirror_restore(k, rows, n, &e) != ST_OK)
        fail_msg("%s", e.text);
    fleet_init(&f);
    assert_int_equal(journal_load_fleet(k, &f, &e), ST_OK);
    assert_int_equal(f.n, 2);
    assert_string_equal(f.v[0]->id, "m2");
    assert_string_equal(f.v[1]->type, "gpu \"big\"\n");
    assert_int_equal(f.v[1]->state, STATE_REQUESTED);
    assert_int_equal(f.v[1]->created_ms, 1700000000123);
    assert_true(f.v[1]->spot);
    assert_int_equal(journal_load_requests(k, &a, &requests, &n, &e), ST_OK);
    assert_int_equal(n, 1);
    assert_string_equal(requests[0].body, "{\"x\": [\"\\u00e9\"]}");
    assert_int_equal(requests[0].created_ms, 7);
    assert_int_equal(journal_boot(k, "gpu"), 61000);
    assert_int_equal(journal_value(k, "place/gke", &a, &value, &e), ST_OK);
    assert_string_equal(value, "somewhere");
    fleet_done(&f);
    arena_done(&a);
    journal_close(j);
    journal_close(k);
}

/* Rows of other versions: a column more, a column less, another kind. */
static void test_other_versions(void **state)
{
    struct journal *j = journal_new();
    struct arena a = {0};
    struct journal_request *requests;
    struct err e = {0};
    uint32_t n;
    const struct mirror_row rows[] = {
        {"request", "r", "{\"owner\":\"r\",\"body\":\"{}\",\"color\":1}", 1},
        {"dream", "d", "{}", 2},
    };
    const struct mirror_row bad[] = {
        {"request", "z", "{\"owner\":", 1},
        {"request", "y", "{\"owner\":\"r\",\"body\":\"twice\"}", 2},
    };
    const struct journal_odd *odd;
    struct mirror_row *changed;

    (void)state;
    assert_int_equal(mirror_restore(j, rows, 2, &e), ST_OK);
    assert_int_equal(journal_load_requests(j, &a, &requests, &n, &e), ST_OK);
    assert_int_equal(n, 1);
    assert_int_equal(requests[0].expires_ms, 0);
    assert_int_equal(journal_odds(j, &odd, &n), 0);
    /* what cannot be read stops nobody, and is told */
    assert_int_equal(mirror_restore(j, bad, 2, &e), ST_OK);
    assert_int_equal(journal_odds(j, &odd, &n), 2);
    assert_string_equal(odd[0].kind, "request");
    assert_string_equal(odd[0].id, "z");
    assert_string_equal(odd[1].id, "y");
    /* a column that is not ours is written back */
    assert_int_equal(mirror_begin(j, &e), ST_OK);
    journal_put_request(j, &(struct journal_request){"r", "{\"x\":1}", 1, 2},
                        NULL);
    assert_int_equal(journal_commit(j, NULL), ST_OK);
    assert_int_equal(take(j, &a, &changed), 1);
    assert_non_null(strstr(changed[0].json, "\"color\":1"));
    assert_non_null(strstr(changed[0].json, "\"expires_ms\":2"));
    arena_done(&a);
    journal_close(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_other_versions),
    };

    return cmocka_run_group_tests_name("store mirror", tests, NULL, NULL);
}
