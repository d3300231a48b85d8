/*
 * test_exec.c - the exec provider against programs that behave badly, through
 * the same calls that the daemon makes.  After each test there is no child, no
 * process that a child started, and no file descriptor more than before.
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>

#include "../unit/cloud_rig.h"

struct bad {
    struct rig r;
    int fds;
};

static int count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void bad_prepare(struct bad *b, const char *mode)
{
    b->fds = count_fds();
    rig_init(&b->r, "exec");
    rig_type(&b->r, "t4", 1, "T4", "a", "b");
    rig_option(&b->r, "command.0", "python3");
    rig_option(&b->r, "command.1", "tests/exec/rogue.py");
    rig_option(&b->r, "command.2", mode);
    rig_option(&b->r, "command.3", b->r.dir);
    rig_option(&b->r, "grace", "300ms");
}

static void bad_open(struct bad *b)
{
    if (rig_open(&b->r) != ST_OK)
        fail_msg("%s", b->r.errors.s);
}

static void bad_init(struct bad *b, const char *mode)
{
    bad_prepare(b, mode);
    bad_open(b);
}

/* An orphan is reaped by init, or by nobody in a container. */
static bool is_gone(long pid)
{
    char stat[64], text[200] = "";
    if (kill((pid_t)pid, 0) != 0)
        return true;
    snprintf(stat, sizeof stat, "/proc/%ld/stat", pid);
    FILE *s = fopen(stat, "r");
    if (s && !fgets(text, sizeof text, s))
        text[0] = '\0';
    if (s)
        fclose(s);
    return strstr(text, ") Z ");
}

/* Every process that said its id has gone. */
static int pids(struct bad *b, bool expect_gone)
{
    char path[100];
    snprintf(path, sizeof path, "%s/pids", b->r.dir);
    FILE *f = fopen(path, "r");
    long pid;
    int n = 0;
    while (f && fscanf(f, "%ld", &pid) == 1) {
        n++;
        UNTIL(!expect_gone || is_gone(pid));
    }
    if (f)
        fclose(f);
    return n;
}

static void bad_done(struct bad *b)
{
    provider_close(b->r.p);
    b->r.p = NULL;
    pids(b, true);
    rig_done(&b->r);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_fds(), b->fds);
}

static void expect(struct call *c, enum status want, uint32_t machines,
                   const char *text)
{
    if (c->status != want || c->machines.n != machines)
        fail_msg("%s with %u machines, not %s: %s", status_name(c->status),
                 c->machines.n, status_name(want), c->err.text);
    assert_has(c->err.text, text);
    call_free(c);
}

static struct call *launch(struct bad *b)
{
    return rig_launch(&b->r, "t4", "a", 3, "req-1");
}

static struct call *launch_within(struct bad *b, int64_t ms)
{
    struct call *c = rig_launch_new(&b->r, "t4", "a", 3, "req-1");
    call_submit(b->r.workers, c, ms);
    return rig_take(&b->r);
}

/* ---- what is not understood */

static const struct {
    const char *mode, *text;
} lies[] = {{"garbage", "no JSON object: \"hello world\""},
            {"binary", "no JSON"},
            {"deep", "no JSON"},
            {"noobject", "no JSON object: \"[1]\""},
            {"wrong-id", "answered id 999, which it was not asked"},
            {"text-id", "without a number as id"},
            {"no-id", "without a number as id"},
            {"neg-id", "answered id -1"},
            {"flood", "without the end of a line"}};

static void test_lies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct bad b;
        bad_init(&b, lies[i].mode);
        expect(launch(&b), ST_BROKEN, 0, lies[i].text);
        bad_done(&b);
    }
}

/* The program is replaced; the next call meets a fresh one. */
static void test_replaced(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "garbage");
    expect(launch(&b), ST_BROKEN, 0, "");
    expect(rig_list(&b.r), ST_OK, 0, "");
    assert_int_equal(pids(&b, false), 2);
    bad_done(&b);
}

/* ---- dying */

static void test_dies_in_the_middle(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "middle");
    expect(rig_list(&b.r), ST_OK, 0, "");
    expect(launch(&b), ST_RETRY, 1,
           "exit code 3 in the middle of its work: boom: out of memory");
    expect(rig_list(&b.r), ST_OK, 0, "");
    bad_done(&b);
    bad_init(&b, "killed");
    expect(launch(&b), ST_RETRY, 0, "signal 9");
    bad_done(&b);
}

static void test_backs_off(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "early");
    expect(rig_list(&b.r), ST_BROKEN, 0,
           "exit code 7 before it had answered hello: KeyError: no token");
    expect(rig_list(&b.r), ST_BROKEN, 0, "KeyError");
    struct call *c = rig_list(&b.r);
    int pause_ms =
        250; /* twice as long each time: who comes late meets the next */
    for (; pause_ms < 2000 && c->status == ST_BROKEN; pause_ms *= 2) {
        call_free(c);
        c = rig_list(&b.r);
    }
    assert_in_range(c->err.retry_after_ms, 1, pause_ms);
    expect(c, ST_RETRY, 0, "started again in");
    UNTIL((c = rig_list(&b.r))->status != ST_RETRY || (call_free(c), false));
    expect(c, ST_BROKEN, 0, "KeyError");
    for (int i = 0; i < 50; i++)
        call_free(rig_list(&b.r));
    assert_in_range(pids(&b, false), 3, 8);
    bad_done(&b);
}

static void test_refused(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "auth");
    struct call *c = rig_list(&b.r);
    assert_string_equal(c->err.code, "Expired");
    expect(c, ST_AUTH, 0, "the token has ended");
    bad_done(&b);
    /* It must not pass for "that machine is gone". */
    bad_init(&b, "gone");
    c = rig_end(&b.r, "m-1", NULL);
    assert_int_equal(c->done[0], ST_BROKEN);
    call_free(c);
    bad_done(&b);
}

static void test_cannot_run(void **state)
{
    (void)state;
    struct bad b;
    bad_prepare(&b, "ok");
    b.r.options[0].value = "no-such-program";
    bad_open(&b);
    expect(rig_list(&b.r), ST_BROKEN, 0,
           "cannot run no-such-program: No such file");
    bad_done(&b);
    bad_prepare(&b, "ok");
    rig_option(&b.r, "cwd", "/no/such/place");
    bad_open(&b);
    expect(rig_list(&b.r), ST_BROKEN, 0, "cannot enter /no/such/place");
    bad_done(&b);
}

static void test_leaves_when_idle(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "leaves");
    for (int i = 0; i < 6; i++) {
        expect(rig_list(&b.r), ST_OK, 0, "");
        pids(&b, true);
        usleep(500000); /* wait: nothing shows that the plug-in saw it, too */
    }
    assert_int_equal(pids(&b, false), 6);
    bad_done(&b);
}

static void test_shuts_stdout(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "shut");
    expect(launch(&b), ST_RETRY, 0, "in the middle of its work");
    bad_done(&b);
}

/* ---- hanging */

static void test_hangs(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "hang");
    struct call *c = launch_within(&b, 3000);
    assert_in_range(c->took_ms, 2900, 60000);
    expect(c, ST_RETRY, 0, "has not answered launch");
    /* Deaf to SIGTERM, its own child too: both are killed, and replaced. */
    assert_int_equal(pids(&b, false), 2);
    pids(&b, true);
    expect(rig_list(&b.r), ST_OK, 0, "");
    assert_int_equal(pids(&b, false), 4);
    bad_done(&b);
}

static void test_mute(void **state)
{
    (void)state;
    struct bad b;
    bad_prepare(&b, "mute");
    rig_option(&b.r, "timeout", "500ms");
    bad_open(&b);
    struct call *c = rig_list(&b.r);
    assert_in_range(c->took_ms, 400, 60000);
    expect(c, ST_RETRY, 0, "not answered list within 500 ms");
    usleep(800000); /* wait: its pause before it is started again */
    expect(rig_list(&b.r), ST_RETRY, 0, "");
    bad_done(&b);
}

/* More than a pipe holds, to somebody who does not read. */
static void test_deaf(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "deafmute");
    static char id[120];
    memset(id, 'x', sizeof id - 1);
    struct call *c = call_new(b.r.p, CALL_TERMINATE, 3);
    const char **ids = ARENA_ARRAY(&c->arena, const char *, 5000);
    for (int i = 0; i < 5000; i++)
        ids[i] = arena_printf(&c->arena, "%s%d", id, i);
    c->ids = ids;
    c->n_ids = 5000;
    call_submit(b.r.workers, c, 4000);
    expect(rig_take(&b.r), ST_RETRY, 0, "has not answered terminate");
    bad_done(&b);
}

static void test_late(void **state)
{
    (void)state;
    struct bad b;
    bad_prepare(&b, "late");
    b.r.options[4].value = "5s"; /* grace */
    bad_open(&b);
    expect(rig_list(&b.r), ST_OK, 1, "");
    expect(launch_within(&b, 300), ST_RETRY, 0, "has not answered");
    struct call *c = rig_list(&b.r); /* answered after the late one */
    assert_string_equal(c->machines.v[0].id, "list");
    expect(c, ST_OK, 1, "");
    assert_int_equal(pids(&b, false), 1);
    bad_done(&b);
}

static void test_lazy(void **state)
{
    (void)state;
    struct bad b;
    bad_prepare(&b, "lazy");
    b.r.options[4].value = "1500ms"; /* grace */
    bad_open(&b);
    expect(rig_list(&b.r), ST_OK, 0, "");
    for (int i = 0; i < 5; i++) {
        expect(launch_within(&b, 100), ST_RETRY, 0, "has not answered");
        expect(rig_list(&b.r), ST_OK, 0, "");
    }
    usleep(1700000); /* wait: its grace, after which it would be killed */
    expect(rig_list(&b.r), ST_OK, 0, "");
    assert_int_equal(pids(&b, false), 1); /* it lives: it answers others */
    bad_done(&b);
}

static void test_cancel(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "slow");
    struct call *c = rig_launch_new(&b.r, "t4", "a", 1, "req-1");
    call_submit(b.r.workers, c, 180000);
    usleep(200000); /* wait: it was asked by then, or is told before */
    atomic_store(&c->cancel, true);
    c = rig_take(&b.r);
    assert_in_range(c->took_ms, 0, 60000); /* it sleeps for two minutes */
    expect(c, ST_CANCELLED, 0, "");
    bad_done(&b);
}

/* Neither the end of stdin nor SIGTERM ends it; close() is still bounded. */
static void test_stays(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "stays");
    expect(rig_list(&b.r), ST_OK, 0, "");
    int64_t from = clock_mono_ms();
    provider_close(b.r.p);
    b.r.p = NULL;
    assert_in_range(clock_mono_ms() - from, 500, 60000);
    bad_done(&b);
}

/* ---- too much */

static void test_endless(void **state)
{
    (void)state;
    struct bad b;
    bad_prepare(&b, "endless");
    rig_option(&b.r, "max_reply", "100000");
    bad_open(&b);
    struct call *c = rig_list(&b.r);
    assert_true(c->machines.n > 100 && c->machines.n < 100000 / 50);
    assert_int_equal(c->status, ST_BROKEN);
    assert_has(c->err.text, "more than 100000 bytes (max_reply)");
    call_free(c);
    bad_done(&b);
}

static void test_many(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "many");
    expect(rig_list(&b.r), ST_OK, 100000, "");
    bad_done(&b);
}

static void test_talks(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "flood-err");
    expect(rig_list(&b.r), ST_OK, 0, "");
    bad_done(&b);
}

/* ---- answers */

static void test_at_once(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "reverse");
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3; i++) {
            char id[16];
            snprintf(id, sizeof id, "r%d", i);
            call_submit(b.r.workers, rig_launch_new(&b.r, "t4", "a", 2, id),
                        10000);
        }
        for (int i = 0; i < 3; i++) {
            struct call *c = rig_take(&b.r);
            assert_int_equal(c->machines.n, 2);
            assert_string_equal(c->machines.v[0].id + 2, c->request_id);
            assert_string_equal(c->machines.v[1].id + 2, c->request_id);
            expect(c, ST_OK, 2, "");
        }
    }
    assert_int_equal(pids(&b, false), 1);
    bad_done(&b);
}

static void test_answers(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "partial");
    struct call *c = launch(&b);
    assert_string_equal(c->err.code, "NoT4");
    assert_int_equal(c->err.retry_after_ms, 1234);
    expect(c, ST_STOCKOUT, 1, "two of three");
    bad_done(&b);
    bad_init(&b, "status");
    expect(launch(&b), ST_BROKEN, 0, "the status \"FINE\"");
    bad_done(&b);
    bad_init(&b, "nulls");
    expect(rig_list(&b.r), ST_OK, 1, "");
    bad_done(&b);
    bad_init(&b, "phase");
    expect(rig_list(&b.r), ST_BROKEN, 1, "in phase \"booting\"");
    bad_done(&b);
    bad_init(&b, "types");
    expect(rig_list(&b.r), ST_BROKEN, 0, "must be an object with the strings");
    bad_done(&b);
    bad_init(&b, "kind");
    expect(rig_list(&b.r), ST_BROKEN, 0, "neither machine nor status");
    bad_done(&b);
    bad_init(&b, "twice");
    expect(rig_list(&b.r), ST_OK, 0, "");
    expect(rig_list(&b.r), ST_OK, 0, "");
    bad_done(&b);
    bad_init(&b, "failed");
    c = rig_list(&b.r);
    assert_int_equal(c->machines.v[0].failure, ST_STOCKOUT);
    assert_string_equal(c->machines.v[0].detail, "no T4 left");
    expect(c, ST_OK, 1, "");
    bad_done(&b);
    bad_init(&b, "ends");
    c = rig_end(&b.r, "m-1", "m-2");
    assert_int_equal(c->done[0], ST_OK);
    assert_int_equal(c->done[1], ST_RETRY);
    expect(c, ST_RETRY, 0, "busy");
    bad_done(&b);
    bad_init(&b, "offers");
    c = rig_run(&b.r, call_new(b.r.p, CALL_OFFERS, 1));
    assert_int_equal(c->offers.n, 2);
    assert_int_equal(c->offers.v[0].price_micros_hour, 350000);
    assert_true(c->offers.v[0].spot && c->offers.v[0].available);
    assert_int_equal(c->offers.v[0].quotas.n, 2);
    assert_string_equal(c->offers.v[0].quotas.v[0].name, "G vCPUs");
    assert_int_equal(c->offers.v[0].quotas.v[0].left, 32);
    assert_int_equal(c->offers.v[0].quotas.v[0].each, 4);
    assert_int_equal(c->offers.v[0].quotas.v[1].each, 1);
    assert_int_equal(c->offers.v[1].price_micros_hour, -1);
    assert_false(c->offers.v[1].available);
    expect(c, ST_OK, 0, "");
    bad_done(&b);
}

/* ---- find() */

static struct call *finds(struct bad *b)
{
    struct call *c = call_new(b->r.p, CALL_FIND, 1);
    const char **ids = ARENA_ARRAY(&c->arena, const char *, 2);
    ids[0] = "m-1";
    ids[1] = "m-2";
    c->ids = ids;
    c->n_ids = 2;
    return rig_run(&b->r, c);
}

static const struct {
    const char *mode;
    enum status of[2], all;
    const char *text;
} words[] = {
    {"finds", {ST_OK, ST_NOT_FOUND}, ST_OK, ""},
    {"finds-less", {ST_NOT_FOUND, ST_RETRY}, ST_OK, ""},
    {"finds-half", {ST_NOT_FOUND, ST_RETRY}, ST_RETRY, "is busy"},
    {"finds-mad", {ST_RETRY, ST_RETRY}, ST_BROKEN, "\"found\" must be"},
    {"finds-word", {ST_RETRY, ST_RETRY}, ST_BROKEN, "neither ended (found)"}};

/* What a program says of an id is a word on it; what it leaves out, and whatever it says
 * when its answer is broken, is none. */
static void test_find(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct bad b;
        bad_init(&b, words[i].mode);
        struct call *c = finds(&b); /* nobody has said hello yet */
        assert_int_equal(c->done[0], ST_RETRY);
        expect(c, ST_RETRY, 0, "has not answered hello yet");
        expect(rig_list(&b.r), ST_OK, 0, "");
        c = finds(&b);
        assert_int_equal(c->done[0], words[i].of[0]);
        assert_int_equal(c->done[1], words[i].of[1]);
        expect(c, words[i].all, 0, words[i].text);
        assert_true(provider_finds(b.r.p));
        bad_done(&b);
    }
}

/* A program that did not say that it has it is never asked: it may end itself. */
static void test_no_find(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "ok");
    expect(rig_list(&b.r), ST_OK, 0, "");
    struct call *c = finds(&b);
    assert_int_equal(c->done[0], ST_RETRY);
    expect(c, ST_UNSUPPORTED, 0, "the program has no find");
    assert_false(provider_finds(b.r.p));
    expect(finds(&b), ST_UNSUPPORTED, 0, "");
    assert_int_equal(pids(&b, false), 1);
    bad_done(&b);
    bad_init(&b, "finds-yes");
    expect(rig_list(&b.r), ST_BROKEN, 0, "find must be true or false");
    bad_done(&b);
}

/* ---- settings */

static void test_hello(void **state)
{
    (void)state;
    struct bad b;
    bad_prepare(&b, "echo");
    rig_option(&b.r, "env.ROGUE_X", "a b");
    rig_option(&b.r, "env.DAVIT_BUILD", "ours");
    rig_option(&b.r, "options.region", "eu");
    b.r.types[0].options = (struct conf_pair[]){{"image", "v7", 1, 1}};
    b.r.types[0].n_options = 1;
    bad_open(&b);
    expect(rig_list(&b.r), ST_OK, 0, "");
    json_t *h = json_load_file(rig_text("%s/hello%s", b.r.dir, ""), 0, NULL);
    json_t *o, *env, *fds, *type, *blocked;
    const char *cluster, *region;
    assert_int_equal(
        json_unpack(h, "{ss s{ss} so so so s[o]}", "cluster", &cluster,
                    "options", "region", &region, "env", &env, "fds", &fds,
                    "blocked", &blocked, "types", &type),
        0);
    assert_string_equal(cluster, "test");
    assert_string_equal(region, "eu");
    assert_string_equal(json_string_value(json_object_get(env, "ROGUE_X")),
                        "a b");
    assert_string_equal(json_string_value(json_object_get(env, "DAVIT_BUILD")),
                        "ours");
    assert_in_range(json_array_size(fds), 3, 5); /* listdir's and hello's own */
    assert_has(json_string_value(json_array_get(blocked, 0)),
               "0000000000000000");
    o = json_object_get(type, "zones");
    assert_int_equal(json_array_size(o), 2);
    o = json_object_get(json_object_get(type, "options"), "image");
    assert_string_equal(json_string_value(o), "v7");
    o = json_object_get(json_object_get(type, "resources"), "GPU");
    assert_string_equal(json_string_value(o), "1");
    assert_true(json_is_null(json_object_get(type, "max")));
    json_decref(h);
    bad_done(&b);
}

static void test_shell_line(void **state)
{
    (void)state;
    struct bad b;
    bad_prepare(&b, "ok");
    b.r.options[0] = (struct conf_pair){
        "command",
        rig_text("true && %s tests/exec/rogue.py ok %s", "python3", b.r.dir), 1,
        1};
    b.r.options[1] = b.r.options[4];
    b.r.provider.n_options = 2;
    bad_open(&b);
    expect(rig_list(&b.r), ST_OK, 0, "");
    bad_done(&b);
}

static void refused(const char *key, const char *value, const char *text)
{
    struct bad b;
    bad_prepare(&b, "ok");
    b.r.provider.n_options = 4;
    rig_option(&b.r, key, value);
    assert_int_not_equal(rig_open(&b.r), ST_OK);
    assert_has(b.r.errors.s, "davit.yaml:24:7: ");
    assert_has(b.r.errors.s, text);
    bad_done(&b);
}

static void test_options(void **state)
{
    (void)state;
    refused("timeout", "soon", "timeout must be a duration");
    refused("grace", "1h", "grace must be between 1ms and 10s");
    refused("max_reply", "10", "max_reply must be a whole number from 1024");
    refused("max_reply", "many", "max_reply must be a whole number");
    refused("env.", "x", "environment variable's name");
    refused("comand", "x", "did you mean \"command\"");
    struct bad b;
    bad_prepare(&b, "ok");
    b.r.provider.n_options = 0;
    assert_int_not_equal(rig_open(&b.r), ST_OK);
    assert_has(b.r.errors.s, "command is needed");
    bad_done(&b);
    bad_prepare(&b, "ok");
    rig_option(&b.r, "options.x", "\xff");
    assert_int_not_equal(rig_open(&b.r), ST_OK);
    assert_has(b.r.errors.s, "not UTF-8");
    bad_done(&b);
}

/* Opened and closed without a call: nothing was ever started. */
static void test_unused(void **state)
{
    (void)state;
    struct bad b;
    bad_init(&b, "ok");
    assert_int_equal(pids(&b, false), 0);
    bad_done(&b);
}

/* A plug-in's file stays open once it is loaded: before anybody counts. */
static int load(void **state)
{
    struct bad b;

    (void)state;
    bad_init(&b, "garbage");
    provider_close(b.r.p);
    b.r.p = NULL;
    rig_done(&b.r);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_dies_in_the_middle),
        cmocka_unit_test(test_backs_off),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cannot_run),
        cmocka_unit_test(test_leaves_when_idle),
        cmocka_unit_test(test_shuts_stdout),
        cmocka_unit_test(test_hangs),
        cmocka_unit_test(test_mute),
        cmocka_unit_test(test_deaf),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_talks),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_no_find),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_shell_line),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_unused)};
    return cmocka_run_group_tests(tests, load, NULL);
}
