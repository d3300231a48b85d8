/*
 * test_store_tools.c - a journal looked at, backed up while it is written to,
 * restored, exported, checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"
#include "store/tools.h"

static char dir[256], path[288], copy[288];

static int make_dir(void **state)
{
    (void)state;
    scratch_path(dir, "davit-tools-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/davit.db", dir);
    snprintf(copy, sizeof copy, "%s/copy.db", dir);
    return 0;
}

static int drop_dir(void **state)
{
    struct dirent *e;
    char name[600];
    DIR *d = opendir(dir);

    (void)state;
    while (d && (e = readdir(d))) {
        snprintf(name, sizeof name, "%s/%s", dir, e->d_name);
        unlink(name);
    }
    closedir(d);
    return rmdir(dir);
}

static void good(enum status s, const struct err *e)
{
    if (s != ST_OK)
        fail_msg("%s", e->text);
}

static struct machine sample(int i, uint32_t batch)
{
    static char cloud[16];
    struct machine m = {MACHINE_TEXTS, .state = STATE_READY,
                        .launch_count = batch};

    snprintf(m.id, sizeof m.id, "t4-%d", i);
    m.type = "t4";
    m.provider = "sim";
    snprintf(cloud, sizeof cloud, "i-%d", i); /* until the next one */
    m.cloud_id = cloud;
    return m;
}

static void fill(uint32_t n, uint32_t batch)
{
    struct journal_request r = {"me", "{\"bundles\":[{\"GPU\":1}]}", 1, 0};
    struct journal_event ev = {.kind = "node.ready", .at_ms = 5};
    struct journal *j;
    struct err e = {0};

    good(journal_open(path, NULL, &j, &e), &e);
    for (uint32_t i = 0; i < n; i++) {
        struct machine m = sample((int)i, batch);

        good(journal_put_machine(j, &m, &e), &e);
    }
    journal_put_request(j, &r, NULL);
    journal_put_event(j, &ev, NULL);
    good(journal_commit(j, &e), &e);
    journal_close(j);
}

static void sql(const char *file, const char *text)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* What a check says of a file: the first letters of each finding. */
struct said {
    uint32_t n[3];
    char text[3][4000];
};

static void told(void *arg, enum journal_said what, const char *text)
{
    struct said *s = arg;
    size_t n = strlen(s->text[what]);

    s->n[what]++;
    snprintf(s->text[what] + n, sizeof s->text[what] - n, "%s\n", text);
}

static struct said check(const char *file)
{
    struct said s = {{0}, {""}};
    struct journal *j;
    struct err e = {0};

    good(journal_look(file, &j, &e), &e);
    journal_check(j, 1000, told, &s);
    journal_close(j);
    return s;
}

static void a_check_tells_what_is_odd(void **state)
{
    struct said s;

    (void)state;
    fill(3, 1);
    s = check(path);
    assert_int_equal(s.n[JOURNAL_ODD] + s.n[JOURNAL_BAD], 0);
    assert_non_null(strstr(s.text[JOURNAL_FACT], "3 machines, 3 ready"));
    sql(path,
        "UPDATE machine SET cloud_id='i-0' WHERE id='t4-1';"
        "UPDATE machine SET state='dancing' WHERE id='t4-2';"
        "INSERT INTO request VALUES('x', 'no json', 1, 0), ('y', "
        "'{\"bundles\":[{\"GPU\":1}]}', 1, 999), ('z', '{\"bundles\":7}', 1, "
        "0)");
    s = check(path);
    assert_int_equal(s.n[JOURNAL_BAD], 0);
    assert_int_equal(s.n[JOURNAL_ODD], 4);
    assert_non_null(strstr(s.text[JOURNAL_ODD], "are one to sim: i-0"));
    assert_non_null(strstr(s.text[JOURNAL_ODD], "state \"dancing\""));
    assert_non_null(strstr(s.text[JOURNAL_ODD], "request of \"x\""));
    assert_non_null(strstr(s.text[JOURNAL_FACT], "\"y\" has expired"));
}

static json_t *export(unsigned *cut)
{
    char *text = NULL;
    struct journal *j;
    struct err e = {0};
    size_t n;
    FILE *out = open_memstream(&text, &n);
    json_t *v;

    good(journal_look(path, &j, &e), &e);
    *cut = journal_export(j, 7, out, &e);
    journal_close(j);
    fclose(out);
    v = json_loadb(text, n, 0, NULL);
    free(text);
    assert_non_null(v);
    return v;
}

static void damage(void)
{
    struct stat st;
    FILE *f = fopen(path, "r+");

    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 12 * 4096);
    fseek(f, st.st_size / 2, SEEK_SET);
    for (int i = 0; i < st.st_size / 4; i++)
        fputc('Z', f);
    fclose(f);
}

static void damage_is_shown_and_the_rest_exported(void **state)
{
    struct err e = {0};
    json_t *all, *some;
    struct said s;
    unsigned cut;

    (void)state;
    fill(2000, 1);
    sql(path, "ALTER TABLE machine ADD moon; UPDATE machine SET moon='full', "
              "detail=CAST(x'ff41' AS TEXT), words='why:none=tides'");
    all = export(&cut);
    assert_int_equal(cut, 0);
    assert_int_equal(json_array_size(json_object_get(all, "machines")), 2000);
    some = json_array_get(json_object_get(all, "machines"), 0);
    assert_string_equal(json_string_value(json_object_get(some, "moon")),
                        "full");
    assert_string_equal(json_string_value(json_object_get(some, "reason")),
                        "tides");
    assert_string_equal(json_string_value(json_object_get(some, "detail")),
                        "?A");
    json_decref(all);
    damage();
    s = check(path);
    assert_true(s.n[JOURNAL_BAD] > 0);
    some = export(&cut);
    assert_true(cut > 0);
    json_decref(some);
    assert_int_equal(journal_backup(path, copy, 1, &e), ST_INVALID);
    assert_non_null(strstr(e.text, "damaged"));
    assert_int_not_equal(access(copy, F_OK), 0); /* nothing half done */
}

/* ---- backups of a journal that is written to */

static void write_for_ever(void)
{
    struct journal *j = NULL;

    if (journal_open(path, NULL, &j, NULL) != ST_OK)
        _exit(3);
    for (uint32_t batch = 1;; batch++) {
        for (int i = 0; i < 300; i++) {
            struct machine m = sample(i, batch);

            journal_put_machine(j, &m, NULL);
        }
        if (journal_commit(j, NULL) != ST_OK)
            _exit(4);
    }
}

/* All machines of one batch; which. */
static uint32_t batch_of(const char *file)
{
    struct journal *j;
    struct fleet f;
    struct err e = {0};
    uint32_t batch;

    good(journal_look(file, &j, &e), &e);
    fleet_init(&f);
    good(journal_load_fleet(j, &f, &e), &e);
    assert_int_equal(f.n, 300);
    batch = f.v[0]->launch_count;
    for (uint32_t i = 0; i < f.n; i++)
        assert_int_equal(f.v[i]->launch_count, batch);
    fleet_done(&f);
    journal_close(j);
    return batch;
}

static void backups_while_it_is_written_to_are_whole(void **state)
{
    uint32_t last = 0, moved = 0;
    struct err e = {0};
    int ws;
    pid_t child;

    (void)state;
    fill(300, 0);
    child = fork();
    if (child == 0)
        write_for_ever();
    for (int i = 0; i < 20; i++) {
        uint32_t batch;

        good(journal_backup(path, copy, 1, &e), &e);
        assert_int_equal(check(copy).n[JOURNAL_BAD], 0);
        batch = batch_of(copy);
        assert_true(batch >= last);
        moved += batch > last;
        last = batch;
        unlink(copy);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    waitpid(child, &ws, 0);
    assert_true(WIFSIGNALED(ws)); /* no backup made a commit fail */
    print_message("%u batches during 20 backups\n", last);
    assert_true(moved > 1);
}

static void a_restore_needs_it_alone(void **state)
{
    struct journal_restored r;
    struct journal *j;
    struct err e = {0};

    (void)state;
    fill(300, 1);
    good(journal_backup(path, copy, 77, &e), &e);
    assert_int_equal(journal_backup(path, copy, 77, &e), ST_INVALID);
    good(journal_open(path, NULL, &j, &e), &e);
    assert_int_equal(journal_restore(path, copy, 1, &r, &e), ST_RETRY);
    journal_close(j);
    assert_int_equal(journal_restore(path, path, 1, &r, &e), ST_INVALID);
    assert_non_null(strstr(e.text, "the journal itself"));
    assert_int_equal(journal_restore(path, "/nonexistent", 1, &r, &e),
                     ST_INVALID);
    assert_int_equal(batch_of(path), 1); /* it is as it was */
}

static void a_restored_journal_is_the_backup(void **state)
{
    struct journal_restored r;
    struct journal_event *ev;
    struct arena a = {0};
    struct journal *j;
    struct stat st;
    struct err e = {0};
    uint32_t n;

    (void)state;
    fill(300, 1);
    good(journal_backup(path, copy, 77, &e), &e);
    fill(300, 2);
    fill(300, 3);
    good(journal_restore(path, copy, 1000, &r, &e), &e);
    assert_int_equal(r.backup_ms, 77);
    assert_int_equal(r.machines, 300);
    assert_int_equal(r.requests, 1);
    assert_int_equal(batch_of(path), 1);
    assert_int_equal(batch_of(r.aside), 3);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    good(journal_open(path, NULL, &j, &e), &e);
    good(journal_load_events(j, 0, 100, &a, &ev, &n, &e), &e);
    assert_int_equal(n, 2); /* ids go on from the newer journal's */
    assert_int_equal(ev[1].id, 4);
    assert_string_equal(ev[1].kind, "journal.restored");
    assert_non_null(strstr(ev[1].text, "1970-01-01T00:00:00.077Z"));
    journal_close(j);

    /* again, in the place of a damaged one and of none */
    fill(300, 4);
    damage();
    good(journal_restore(path, copy, 1000, &r, &e), &e);
    assert_non_null(strstr(r.aside, ".before-2"));
    unlink(path);
    good(journal_restore(path, copy, 1000, &r, &e), &e);
    assert_string_equal(r.aside, "");
    assert_int_equal(batch_of(path), 1);
    assert_int_equal(check(path).n[JOURNAL_BAD], 0);
    arena_done(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_check_tells_what_is_odd),
        TEST(damage_is_shown_and_the_rest_exported),
        TEST(backups_while_it_is_written_to_are_whole),
        TEST(a_restore_needs_it_alone),
        TEST(a_restored_journal_is_the_backup),
    };

    return cmocka_run_group_tests_name("store tools", tests, NULL, NULL);
}
