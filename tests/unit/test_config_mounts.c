/*
 * test_config_mounts.c - file_mounts and cluster_synced_files of a Ray cluster
 * YAML: the script of a machine is run here, with homes of its own, and what it
 * leaves there is what `ray up` would have (rsync -a).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "config/config.h"
#include "config/ray/exclude.h"
#include "scratch.h"

static char dir[400], out[65536];
static struct buf errors;

/* What a shell in the scratch folder prints. */
static const char *sh(const char *command)
{
    FILE *f = popen(command, "r");
    size_t n = fread(out, 1, sizeof out - 1, f);

    out[n] = '\0';
    assert_int_equal(pclose(f), 0);
    return out;
}

static int folders_make(void **state)
{
    (void)state;
    scratch_path(dir, "mounts.XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    buf_init(&errors, 65536);
    sh("umask 022; mkdir -p home container code/sub/.git code/build 'code/it'\"'\"'s';"
       "echo one > code/one; echo two > code/sub/two; echo no > code/sub/.git/config;"
       "echo no > code/build/made; echo no > code/sub/x.pyc; echo '*.pyc' > code/.gitignore;"
       "echo '#!/bin/sh' > code/run; chmod 755 code/run; ln -s one code/link;"
       "echo three > \"code/it's/three\"; echo alone > alone; chmod 664 code/one");
    return 0;
}

static int folders_end(void **state)
{
    (void)state;
    buf_done(&errors);
    sh("rm -rf -- *");
    assert_int_equal(chdir("/"), 0);
    return rmdir(dir);
}

static struct config *load(const char *more)
{
    FILE *f = fopen("cluster.yaml", "w");
    struct config *c;

    fprintf(f,
            "cluster_name: c\nmax_workers: 2\n"
            "provider: {type: aws, region: us-east-1}\n"
            "available_node_types:\n"
            "  head: {resources: {}, node_config: {InstanceType: m5.large}}\n"
            "  w: {resources: {}, node_config: {InstanceType: m5.large, "
            "ImageId: ami-1, SecurityGroupIds: [sg-1]}}\n"
            "head_node_type: head\n"
            "setup_commands: [\"pwd > $HOME/was-set-up\"]\n"
            "worker_start_ray_commands: [\"true\"]\n%s",
            more);
    fclose(f);
    buf_clear(&errors);
    config_load("cluster.yaml", &c, &errors);
    return c;
}

static const char *join_of(const struct config *c)
{
    for (uint32_t t = 0; t < c->n_types; t++)
        for (uint32_t i = 0; i < c->types[t].n_options; i++)
            if (strcmp(c->types[t].options[i].key, "join") == 0)
                return c->types[t].options[i].value;
    return NULL;
}

/* Runs the script of such a file as a machine would. */
static void machine(const char *more)
{
    struct config *c = load(more);
    FILE *f = fopen("join", "w");

    if (!c)
        fail_msg("%s", errors.s);
    fputs(join_of(c), f);
    fclose(f);
    config_free(c);
    sh("rm -rf home container; mkdir home container; "
       "PATH=$PWD/bin:$PATH HOME=$PWD/home C=$PWD/container bash join 2>&1");
}

static const char *warned(const struct config *c)
{
    buf_clear(&errors);
    for (uint32_t i = 0; i < c->n_warnings; i++)
        buf_printf(&errors, "%s\n", c->warnings[i]);
    return errors.s;
}

#define TREE "find . -mindepth 1 -printf '%P %m %l\n' | sort"

static void as_rsync_has_it(void **state)
{
    (void)state;
    machine("file_mounts: {~/code: code, alone: alone, \"~/as/it's/\": alone, "
            "~/tools: code/sub}\n"
            "cluster_synced_files: [~/not-there-yet]\n"
            "rsync_exclude: [\"**/.git\", \"**/.git/**\", /build]\n"
            "rsync_filter: [.gitignore]\n");
    assert_string_equal(sh("cd home && cat code/one code/sub/two alone "
                           "\"as/it's/alone\" \"code/it's/three\""),
                        "one\ntwo\nalone\nalone\nthree\n");
    assert_string_equal(sh("cd home && " TREE " | grep -v '^as'"),
                        "alone 644 \n"
                        "code 755 \n"
                        "code/.gitignore 644 \n"
                        "code/it's 755 \n"
                        "code/it's/three 644 \n"
                        "code/link 777 one\n"
                        "code/one 664 \n"
                        "code/run 755 \n"
                        "code/sub 755 \n"
                        "code/sub/two 644 \n"
                        "tools 755 \n"
                        "tools/two 644 \n"
                        "tools/x.pyc 644 \n" /* its .gitignore is above */
                        "was-set-up 644 \n");
    sh("test -z \"$(find home -newermt '2000-01-01' -name one -mmin +60)\"");
}

static void a_path_of_its_own(void **state)
{
    char more[900];

    (void)state;
    snprintf(more, sizeof more, "file_mounts: {%s/home/deep/er: %s/code/sub}\n",
             dir, dir);
    machine(more);
    assert_string_equal(sh("cat home/deep/er/two"), "two\n");
}

static void what_is_there_stays(void **state)
{
    struct config *c = load("file_mounts: {~/code: code/sub}\n");
    FILE *f = fopen("join", "w");

    (void)state;
    fputs(join_of(c), f);
    fclose(f);
    config_free(c);
    sh("rm -rf home; mkdir -p home/code; echo mine > home/code/mine; "
       "HOME=$PWD/home bash join 2>&1; HOME=$PWD/home bash join 2>&1");
    assert_string_equal(sh("cd home/code && ls"), "mine\ntwo\nx.pyc\n");
}

static void in_the_container(void **state)
{
    (void)state;
    sh("mkdir -p bin && cat > bin/docker <<'E'\n#!/bin/bash\n"
       "[ \"$1\" = exec ] || exit 0\nshift\n"
       "while [ \"${1:0:1}\" = - ]; do [ $1 = -e ] && shift; shift; done\n"
       "[ \"$1\" = boxed ] || exit 7\nshift\nHOME=$C exec \"$@\"\nE\n"
       "chmod 755 bin/docker");
    machine("docker: {image: i, container_name: boxed}\n"
            "file_mounts: {~/code: code/sub}\n");
    assert_string_equal(sh("ls home container/code"),
                        "container/code:\ntwo\nx.pyc\n\nhome:\n");
}

static void refused(void **state)
{
    (void)state;
    assert_null(load("file_mounts:\n  /a: nowhere\n"));
    assert_non_null(strstr(errors.s, "cluster.yaml:11:3: "));
    assert_non_null(strstr(errors.s, "nowhere\" of file_mounts"));
    assert_non_null(strstr(errors.s, "No such file"));
    assert_null(load("file_mounts: {/a: }\n"));
    assert_non_null(strstr(errors.s, "a path is empty"));
}

static void told(void **state)
{
    struct config *c;

    (void)state;
    sh("mkdir -p odd; mkfifo odd/pipe; echo s > odd/secret; chmod 600 odd/secret");
    c = load(
        "file_mounts: {~/odd: odd}\nfile_mounts_sync_continuously: true\n");
    assert_non_null(strstr(warned(c), "cluster.yaml:10:15: "));
    assert_non_null(strstr(warned(c), "odd/secret\" can be read by its owner"));
    assert_non_null(strstr(warned(c), "odd/pipe\" is not copied"));
    assert_non_null(strstr(warned(c), "file_mounts_sync_continuously is not"));
    config_free(c);
    sh("head -c 30000 /dev/urandom > big");
    c = load("file_mounts: {~/big: big}\n");
    assert_non_null(strstr(warned(c), "30000 bytes of files are 4"));
    assert_non_null(strstr(warned(c), "13000"));
    assert_null(strstr(join_of(c), "DAVIT_FILES"));
    assert_non_null(strstr(join_of(c), "was-set-up"));
    config_free(c);
    sh("head -c 3000000 /dev/zero > big");
    c = load("file_mounts: {~/big: big}\n");
    assert_non_null(strstr(warned(c), "more than 1048576 bytes"));
    config_free(c);
}

static void another_content_is_another_type(void **state)
{
    struct config *c = load("file_mounts: {~/alone: alone}\n"), *e;

    (void)state;
    sh("touch -d 2001-01-01 alone");
    e = load("file_mounts: {~/alone: alone}\n");
    assert_string_equal(c->types[0].hash, e->types[0].hash);
    assert_true(c->digest == e->digest);
    config_free(e);
    sh("echo changed > alone");
    e = load("file_mounts: {~/alone: alone}\n");
    assert_string_not_equal(c->types[0].hash, e->types[0].hash);
    assert_true(c->digest != e->digest);
    config_free(e);
    config_free(c);
}

/* As rsync 3.5 has it: --exclude=PATTERN on such a tree. */
static void patterns(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool folder, fits;
    } v[] = {
        {"x.pyc", "a/b/x.pyc", false, true},
        {"*.pyc", "a/b/x.pyc", false, true},
        {"*.pyc", "a/b/x.py", false, false},
        {"x.pyc", "a/xx.pyc", false, false},
        {"/x", "x", false, true},
        {"/x", "a/x", false, false},
        {"a/x", "b/a/x", false, true},
        {"a/x", "ba/x", false, false},
        {"a/*x", "a/b/x", false, false},
        {"a/*", "z/a/b", false, true},
        {"a/**", "a/b/c", false, true},
        {"**/.git", ".git", true, true},
        {"**/.git", "a/b/.git", true, true},
        {"**/.git", "a/x.git", true, false},
        {"**/.git/**", ".git/config", false, true},
        {"**/.git/**", ".git", true, false},
        {"build/", "a/build", true, true},
        {"build/", "a/build", false, false},
        {"?", "a", false, true},
        {"?", "ab", false, false},
        {"[ab]x", "bx", false, true},
        {"[!ab]x", "bx", false, false},
        {"\\*", "*", false, true},
        {"\\*", "a", false, false},
        {"a*/x", "ab/x", false, true},
        {"a*x", "a/x", false, false},
        {"a**x", "a/x", false, true},
        {"*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        if (exclude_fits(v[i].pattern, v[i].path, v[i].folder) != v[i].fits)
            fail_msg("%s and %s", v[i].pattern, v[i].path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_rsync_has_it),
        cmocka_unit_test(a_path_of_its_own),
        cmocka_unit_test(what_is_there_stays),
        cmocka_unit_test(in_the_container),
        cmocka_unit_test(refused),
        cmocka_unit_test(told),
        cmocka_unit_test(another_content_is_another_type),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests(tests, folders_make, folders_end);
}
