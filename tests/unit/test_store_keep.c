/*
 * test_store_keep.c - a journal whose file was deleted while it was open, and that
 * cannot be opened again at once: it is written once, and connected to later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "store/journal.h"
#include "store/keep.h"

static char dir[256], path[288];

static int make_dir(void **state)
{
    (void)state;
    scratch_path(dir, "davit-keep-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/davit.db", dir);
    return 0;
}

static bool there(const char *end)
{
    char name[320];

    snprintf(name, sizeof name, "%s%s", path, end);
    return access(name, F_OK) == 0;
}

static void drop(const char *end)
{
    char name[320];

    snprintf(name, sizeof name, "%s%s", path, end);
    unlink(name);
}

static void drop_all(void)
{
    static const char *const ends[] = {"", ".lock", "-wal", "-shm", "-journal"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        drop(ends[i]);
}

static int drop_dir(void **state)
{
    (void)state;
    drop_all();
    return rmdir(dir);
}

/* No connection can be opened. */
static int refuses(sqlite3 *db, char **text, const void *api)
{
    (void)db, (void)text, (void)api;
    return SQLITE_CANTOPEN;
}

static void refuse(bool on)
{
    sqlite3_reset_auto_extension();
    if (on)
        sqlite3_auto_extension((void (*)(void))refuses);
}

static ino_t file_at_path(void)
{
    struct stat s;

    assert_int_equal(stat(path, &s), 0);
    return s.st_ino;
}

/* Was something at the path when the last file came there?  A crash just before would
 * have left it. */
static bool was_there;

int rename(const char *from, const char *to)
{
    if (strcmp(to, path) == 0)
        was_there = there("");
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void put(struct journal *j, const char *owner)
{
    struct journal_request r = {owner, "{}", 1, 0};
    struct err e = {0};

    journal_put_request(j, &r, NULL);
    if (journal_commit(j, &e) != ST_OK)
        fail_msg("%s", e.text);
}

static enum status keep(struct journal *j, bool *again)
{
    struct err e = {0};

    return journal_keep(j, again, &e);
}

static uint32_t requests_there(void)
{
    struct journal *j;
    struct journal_request *r;
    struct err e = {0};
    struct arena a = {0};
    uint32_t n;

    if (journal_open(path, NULL, &j, &e) != ST_OK)
        fail_msg("%s", e.text);
    assert_int_equal(journal_load_requests(j, &a, &r, &n, &e), ST_OK);
    journal_close(j);
    arena_done(&a);
    return n;
}

static void it_is_written_once(void **state)
{
    struct journal *j;
    struct err e = {0};
    bool again;
    ino_t made;

    (void)state;
    assert_int_equal(journal_open(path, NULL, &j, &e), ST_OK);
    put(j, "a");
    drop_all();
    refuse(true);
    assert_int_not_equal(keep(j, &again), ST_OK);
    assert_false(again);
    made = file_at_path();
    /* nothing new: the copy stands */
    assert_int_not_equal(keep(j, &again), ST_OK);
    assert_int_equal(file_at_path(), made);
    /* what came since is in the next one, which takes its place */
    put(j, "b");
    assert_int_not_equal(keep(j, &again), ST_OK);
    made = file_at_path();
    assert_true(was_there);
    assert_false(there(".found-1"));
    refuse(false);
    assert_int_equal(keep(j, &again), ST_OK);
    assert_true(again);
    assert_int_equal(file_at_path(), made);
    put(j, "c");
    assert_int_equal(keep(j, &again), ST_OK);
    assert_false(again);
    journal_close(j);
    assert_int_equal(requests_there(), 3);
    assert_false(there(".found-1"));
}

/* What somebody else put there meanwhile is kept beside it, as ever. */
static void anothers_is_moved(void **state)
{
    struct journal *j;
    struct err e = {0};
    bool again;
    FILE *f;

    (void)state;
    assert_int_equal(journal_open(path, NULL, &j, &e), ST_OK);
    put(j, "a");
    drop_all();
    refuse(true);
    assert_int_not_equal(keep(j, &again), ST_OK);
    refuse(false);
    drop("");
    f = fopen(path, "w");
    fputs("another", f);
    fclose(f);
    assert_int_equal(keep(j, &again), ST_OK);
    assert_true(again);
    assert_true(was_there);
    assert_true(there(".found-1"));
    drop(".found-1");
    journal_close(j);
    assert_int_equal(requests_there(), 1);
}

static void written(const char *end, const char *text)
{
    char name[320];
    FILE *f;

    snprintf(name, sizeof name, "%s%s", path, end);
    f = fopen(name, "w");
    fputs(text, f);
    fclose(f);
}

static off_t size_of(const char *end)
{
    char name[320];
    struct stat s;

    snprintf(name, sizeof name, "%s%s", path, end);
    return lstat(name, &s) == 0 ? s.st_size : -1;
}

/* No name that is taken is written over, not a log's and not a link's that leads
 * nowhere; and there are not more and more of them. */
static void found_names_are_free_ones(void **state)
{
    struct journal *j;
    struct err e = {0};
    char name[32], link[320];
    bool again;

    (void)state;
    assert_int_equal(journal_open(path, NULL, &j, &e), ST_OK);
    written(".found-1-wal", "a log");
    snprintf(link, sizeof link, "%s.found-2", path);
    assert_int_equal(symlink("/nowhere/at/all", link), 0);
    for (int i = 3; i < 103; i++) {
        drop_all();
        written("", "another");
        put(j, "a");
        assert_int_equal(keep(j, &again), ST_OK);
        assert_true(again);
    }
    assert_int_equal(size_of(".found-1-wal"), 5);
    assert_int_equal(size_of(".found-2"), 15);
    assert_false(there(".found-101"));
    for (int i = 1; i < 101; i++) {
        snprintf(name, sizeof name, ".found-%d", i);
        assert_true(i < 3 || size_of(name) == 7);
        drop(name);
    }
    drop(".found-1-wal");
    journal_close(j);
}

/* Is SQLite's lock on the file that was at the path still there? */
static bool is_locked(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_start = 0x40000002, .l_len = 510};

    assert_int_equal(fcntl(fd, F_OFD_GETLK, &l), 0);
    return l.l_type != F_UNLCK;
}

static void its_locks_stay_while_it_is_open(void **state)
{
    struct journal *j;
    struct err e = {0};
    bool again;
    int fd;

    (void)state;
    assert_int_equal(journal_open(path, NULL, &j, &e), ST_OK);
    put(j, "a");
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(is_locked(fd));
    drop_all();
    refuse(true);
    assert_int_not_equal(keep(j, &again), ST_OK);
    assert_true(is_locked(fd));
    refuse(false);
    assert_int_equal(keep(j, &again), ST_OK);
    assert_true(is_locked(fd));
    journal_close(j);
    assert_false(is_locked(fd));
    close(fd);
}

/* The disk as ever, and the process dies before its n-th rollback journal goes. */
static int deaths_in;
static int (*really)(sqlite3_vfs *, const char *, int);

static int dies(sqlite3_vfs *v, const char *name, int sync)
{
    const char *end = strstr(name, "-journal");

    if (end && !end[8] && --deaths_in == 0)
        _exit(9);
    return really(v, name, sync);
}

static int makes_a_journal(int dies_at)
{
    sqlite3_vfs mortal = *sqlite3_vfs_find(NULL);
    struct journal *j;
    enum status s;

    deaths_in = dies_at;
    really = mortal.xDelete;
    mortal.zName = "mortal";
    mortal.pNext = NULL;
    mortal.xDelete = dies;
    sqlite3_vfs_register(&mortal, 1);
    s = journal_open(path, NULL, &j, NULL);
    if (s == ST_OK)
        s = journal_put_request(
            j, &(struct journal_request){"owner", "{}", 1, 0}, NULL);
    return s == ST_OK ? 0 : 3;
}

static void a_death_while_it_is_made_keeps_no_daemon_out(void **state)
{
    int ws = -1, deaths = 0;

    (void)state;
    for (; deaths < 100 && ws != 0; deaths++) {
        struct err e = {0};
        struct journal *j;
        pid_t child = fork();

        if (child == 0)
            _exit(makes_a_journal(deaths + 1));
        assert_int_equal(waitpid(child, &ws, 0), child);
        assert_true(WIFEXITED(ws));
        assert_true(ws == 0 || WEXITSTATUS(ws) == 9);
        if (journal_open(path, NULL, &j, &e) != ST_OK)
            fail_msg("death %d: %s", deaths + 1, e.text);
        journal_close(j);
        drop_all();
    }
    assert_int_equal(ws, 0);
    assert_true(deaths > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)
        TEST(it_is_written_once),
        TEST(anothers_is_moved),
        TEST(found_names_are_free_ones),
        TEST(its_locks_stay_while_it_is_open),
        TEST(a_death_while_it_is_made_keeps_no_daemon_out),
    };

    return cmocka_run_group_tests_name("store keep", tests, NULL, NULL);
}
