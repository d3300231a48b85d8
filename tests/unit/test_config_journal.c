/*
 * test_config_journal.c - where a journal lies: beside the configuration, but
 * one where the daemon is started is not left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/config.h"
#include "scratch.h"

/* dir/etc has the configuration, dir/run is where we are. */
static char dir[256], before[512];

static char *in(const char *name)
{
    static char path[600];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void touch(const char *name)
{
    int fd = open(in(name), O_CREAT | O_WRONLY, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static int start(void **state)
{
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    scratch_path(dir, "davit-where-XXXXXX");
    assert_non_null(mkdtemp(dir));
    mkdir(in("etc"), 0700);
    mkdir(in("run"), 0700);
    touch("etc/davit.yaml");
    return chdir(in("run"));
}

static int stop(void **state)
{
    static const char *const names[] = {"etc/davit.yaml", "etc/j.db",
                                        "run/j.db", "etc", "run"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(in(names[i]));
    remove(dir);
    return chdir(before);
}

/* The path for a configuration of this name and this `state`. */
static const char *path_of(const char *name, const char *state, bool elsewhere)
{
    static char text[700];
    struct arena a = {0};
    struct config *c;
    struct buf errors;
    struct err err = {0};
    const char *path, *old;

    buf_init(&errors, 4096);
    snprintf(text, sizeof text,
             "cluster: c\nstate: %s\nnode_types: {t: {resources: {CPU: 1}, "
             "max: 1}}\n",
             state);
    if (config_parse(name, text, strlen(text), &c, &errors) != ST_OK)
        fail_msg("%s", errors.s);
    if (config_journal_path(c, &a, &path, &old, &err) != ST_OK) {
        snprintf(text, sizeof text, "%s", err.text);
    } else {
        snprintf(text, sizeof text, "%s", path);
        assert_int_equal(*old != 0, elsewhere);
    }
    config_free(c);
    buf_done(&errors);
    arena_done(&a);
    return text;
}

static void beside_the_configuration(void **state)
{
    char file[600];

    (void)state;
    snprintf(file, sizeof file, "%s", in("etc/davit.yaml"));
    assert_string_equal(path_of(file, "j.db", false), in("etc/j.db"));
    assert_string_equal(path_of("../etc/davit.yaml", "j.db", false),
                        "../etc/j.db");
    touch("etc/j.db");
    assert_string_equal(path_of(file, "j.db", false), in("etc/j.db"));
    assert_string_equal(path_of(file, "/x/j.db", false), "/x/j.db");
    assert_string_equal(path_of(file, "kubernetes", false), "kubernetes");
    /* a file of this folder, and a RayCluster, which is in none */
    assert_int_equal(chdir(in("etc")), 0);
    assert_string_equal(path_of("davit.yaml", "j.db", false), "j.db");
    assert_string_equal(path_of("space/name", "j.db", false), "j.db");
    /* the same file by two names */
    assert_string_equal(path_of(file, "j.db", false), in("etc/j.db"));
}

static void where_it_is_started(void **state)
{
    char file[600];

    (void)state;
    snprintf(file, sizeof file, "%s", in("etc/davit.yaml"));
    assert_string_equal(path_of(file, "j.db", false), in("etc/j.db"));
    touch("run/j.db");
    assert_string_equal(path_of(file, "j.db", true), "j.db");
    touch("etc/j.db");
    assert_non_null(strstr(path_of(file, "j.db", false), "two journals"));
    assert_non_null(strstr(path_of(file, "j.db", false), "etc/j.db"));
    assert_non_null(strstr(path_of(file, "j.db", false), "run/j.db"));
}

/* By another user than root, to whom nothing is read-only. */
static void where_it_may_be_written(void **state)
{
    int ws;
    pid_t child;

    (void)state;
    chmod(dir, 0755);
    chmod(in("etc"), 0555);
    chmod(in("etc/davit.yaml"), 0444);
    chmod(in("run"), 0777);
    child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(3);
        _exit(strcmp(path_of("../etc/davit.yaml", "j.db", true), "j.db") != 0);
    }
    assert_int_equal(waitpid(child, &ws, 0), child);
    chmod(in("etc"), 0700);
    assert_int_equal(ws, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(beside_the_configuration, start, stop),
        cmocka_unit_test_setup_teardown(where_it_is_started, start, stop),
        cmocka_unit_test_setup_teardown(where_it_may_be_written, start, stop),
    };

    return cmocka_run_group_tests_name("config journal", tests, NULL, NULL);
}
