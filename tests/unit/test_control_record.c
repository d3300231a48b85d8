/*
 * test_control_record.c - recorded plans: what a file holds, which plans are
 * worth one, and that the ring prunes its own oldest files and no others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../autoscaler/codec/codec.h"
#include "../../autoscaler/control/record.h"
#include "../../autoscaler/plan/planner.h"
#include "scratch.h"

static char dir[256];

static int dir_make(void **state)
{
    (void)state;
    scratch_path(dir, "davit-record-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int dir_sweep(void **state)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    char path[512];

    (void)state;
    while (d && (e = readdir(d))) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.' || strlen(e->d_name) > 2)
            unlink(path);
    }
    closedir(d);
    return rmdir(dir);
}

/* more: what the snapshot has besides. */
static struct status_page *page_of(uint64_t tick, int64_t now_ms,
                                   const char *more)
{
    struct status_page *p = calloc(1, sizeof *p);
    struct snapshot *f = NULL;
    struct problem *s = NULL;
    struct plan *plan;
    struct err err;
    json_t *json = NULL;
    char text[512];

    snprintf(text, sizeof text,
             "{\"now_ms\":%lld,\"node_types\":[{\"name\":"
             "\"t\",\"resources\":{\"GPU\":1},\"price\":0.1}],%s}",
             (long long)now_ms, more);
    atomic_init(&p->refs, 1);
    assert_int_equal(codec_parse(text, strlen(text), &json, &err), ST_OK);
    assert_int_equal(codec_snapshot_read(json, &p->arena, &f, &err), ST_OK);
    json_decref(json);
    assert_int_equal(problem_make(f, &p->arena, &s, &err), ST_OK);
    plan = ARENA_NEW(&p->arena, struct plan);
    planner_run(s, 0, &p->arena, plan);
    p->tick = tick;
    p->version = "test";
    p->snapshot = f;
    p->now = s;
    p->plan = plan;
    return p;
}

static struct status_page *page_make(uint64_t tick, int64_t now_ms, int gpus)
{
    return page_of(
        tick, now_ms,
        gpus ? "\"demands\":[{\"resources\":{\"GPU\":1}}]" : "\"about\":[]");
}

static struct record *open_good(void)
{
    struct record *r = NULL;
    struct err err;

    if (record_open(dir, &r, &err) != ST_OK)
        fail_msg("%s", err.text);
    return r;
}

static void put(struct record *r, uint64_t tick, int64_t now_ms, int gpus)
{
    struct status_page *p = page_make(tick, now_ms, gpus);

    record_put(r, p);
    status_unref(p);
}

static bool is_there(const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void file_make(const char *name, off_t bytes)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(truncate(path, bytes), 0);
}

static uint32_t files_count(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    uint32_t n = 0;

    while ((e = readdir(d)))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void a_plan_that_asks_becomes_a_file(void **state)
{
    struct record *r = open_good();
    json_t *v;
    char path[512];
    struct snapshot *f;
    struct arena a = {0};
    struct err err;
    struct stat st;

    (void)state;
    put(r, 41, 1795255200123, 0); /* asks for nothing */
    put(r, 42, 1795255200123, 1);
    record_close(r);
    assert_int_equal(files_count(), 1);
    assert_true(is_there("42-20261121T100000.123.json"));
    snprintf(path, sizeof path, "%s/42-20261121T100000.123.json", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    v = json_load_file(path, 0, NULL);
    assert_int_equal(codec_snapshot_read(v, &a, &f, &err), ST_OK);
    assert_int_equal(f->now_ms, 1795255200123);
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(v, "recorded"), "tick")),
                     42);
    assert_int_equal(json_array_size(json_object_get(json_object_get(v, "plan"),
                                                     "launches")),
                     1);
    json_decref(v);
    arena_done(&a);
    record_close(NULL);
}

/* A plan that keeps its node asks for nothing, one that ends it does. */
static void an_end_alone_is_asked(void **state)
{
#define NODE(more) \
    "\"nodes\":[{\"id\":\"n\",\"type\":\"t\",\"state\":\"ready\",\"total\":{\"GPU\":" \
    "1}," more "}]"
    const char *const nodes[] = {NODE("\"available\":{\"GPU\":0}"),
                                 NODE("\"idle_ms\":3600000")};
    struct record *r = open_good();

    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        struct status_page *p = page_of(i, 1795255200123, nodes[i]);

        assert_int_equal(p->plan->n_launches, 0);
        assert_int_equal(p->plan->nodes[0].action, i ? NODE_END : NODE_KEEP);
        record_put(r, p);
        status_unref(p);
    }
    record_close(r);
    assert_int_equal(files_count(), 1);
    assert_true(is_there("1-20261121T100000.123.json"));
}

static void the_oldest_go_first(void **state)
{
    struct record *r;
    char name[64];

    (void)state;
    file_make("notes.json", 1);
    file_make("1-20260101T000000.000.json.bak", 1);
    file_make("x-20260101T000000.000.json", 1);
    for (int i = 0; i < 1001; i++) {
        /* ticks begin anew at a restart: the time decides */
        snprintf(name, sizeof name, "%d-20260101T00%02d%02d.000.json", 2000 - i,
                 i / 60, i % 60);
        file_make(name, 1);
    }
    r = open_good();
    put(r, 1, 1795255200000, 1);
    record_close(r);
    assert_int_equal(files_count(), 1003);
    assert_true(is_there("1-20261121T100000.000.json"));
    assert_false(is_there("2000-20260101T000000.000.json"));
    assert_false(is_there("1999-20260101T000001.000.json"));
    assert_true(is_there("1998-20260101T000002.000.json"));
}

static void bytes_are_bounded_too(void **state)
{
    struct record *r;

    (void)state;
    file_make("1-20260101T000000.000.json", 100 << 20);
    file_make("2-20260101T000001.000.json", 100 << 20);
    file_make("3-20260101T000002.000.json", 100 << 20);
    r = open_good();
    put(r, 4, 1795255200000, 1);
    record_close(r);
    assert_int_equal(files_count(), 3);
    assert_false(is_there("1-20260101T000000.000.json"));
}

static void a_folder_that_cannot_be_is_told(void **state)
{
    struct record *r;
    struct err err;
    char path[512];

    (void)state;
    file_make("file", 1);
    snprintf(path, sizeof path, "%s/file", dir);
    assert_int_equal(record_open(path, &r, &err), ST_INVALID);
    assert_non_null(strstr(err.text, "no folder"));
    snprintf(path, sizeof path, "%s/no/where", dir);
    assert_int_equal(record_open(path, &r, &err), ST_INVALID);
    assert_non_null(strstr(err.text, "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_plan_that_asks_becomes_a_file,
                                        dir_make, dir_sweep),
        cmocka_unit_test_setup_teardown(an_end_alone_is_asked, dir_make,
                                        dir_sweep),
        cmocka_unit_test_setup_teardown(the_oldest_go_first, dir_make,
                                        dir_sweep),
        cmocka_unit_test_setup_teardown(bytes_are_bounded_too, dir_make,
                                        dir_sweep),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_is_told,
                                        dir_make, dir_sweep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
