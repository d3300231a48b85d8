/*
 * test_cloud_call.c - a plug-in is a guest: what it hands back is judged, what
 * it asks for is bounded, and its hanging or dying is told apart from ours.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cloud_rig.h"
#include "wire/http.h"

static void rig_misfit(struct rig *r, const char *plugin, const char *how,
                       const char *arg)
{
    rig_init(r, rig_test_plugin(plugin));
    rig_type(r, "t4", 1, "T4", "a", NULL);
    rig_option(r, "how", how);
    rig_option(r, "arg", arg);
    assert_int_equal(rig_open(r), ST_OK);
}

static void list_case(const char *how, enum status want, const char *text,
                      uint32_t machines)
{
    struct rig r;
    rig_misfit(&r, "liar", how, "");
    struct call *c = rig_list(&r);
    if (c->status != want || c->machines.n != machines)
        fail_msg("%s: %s with %u machines: %s", how, status_name(c->status),
                 c->machines.n, c->err.text);
    assert_int_equal(c->err.status, want);
    assert_has(c->err.text, text);
    assert_int_equal(provider_calls_running(r.p), 1);
    call_free(c);
    assert_int_equal(provider_calls_running(r.p), 0);
    rig_done(&r);
}

static void test_list_lies(void **state)
{
    (void)state;
    list_case("honest", ST_OK, "", 2);
    list_case("null machine", ST_BROKEN, "put() NULL", 1);
    list_case("null id", ST_BROKEN, "without an id", 1);
    list_case("empty id", ST_BROKEN, "without an id", 1);
    list_case("control id", ST_BROKEN, "id is \"m-2?[2J\"", 1);
    list_case("latin1 id", ST_BROKEN, "up to 127 bytes of UTF-8", 1);
    list_case("long id", ST_BROKEN, "up to 127 bytes", 1);
    /* What exists is kept even when the rest of its record is nonsense. */
    list_case("null offer", ST_BROKEN, "offer is NULL", 2);
    list_case("null zone", ST_BROKEN, "zone is NULL", 2);
    list_case("control zone", ST_BROKEN, "zone is \"a b\"", 2);
    list_case("long zone", ST_BROKEN, "up to 47 bytes", 2);
    list_case("phase", ST_BROKEN, "in phase 77", 2);
    list_case("size", ST_BROKEN, "size is too small", 1);
    list_case("thread", ST_BROKEN, "from another thread", 1);
    list_case("status", ST_BROKEN, "list() returned 4711", 1);
    list_case("negative", ST_BROKEN, "list() returned -1", 1);
    list_case("silent", ST_QUOTA, "list failed with QUOTA and no text", 1);
    list_case("cancelled", ST_RETRY, "did not end within", 1);
    list_case("unsupported", ST_BROKEN, "every provider must have it", 1);
}

static void test_list_mended(void **state)
{
    (void)state;
    struct rig r;
    rig_misfit(&r, "liar", "twice", "");
    struct call *c = rig_list(&r);
    assert_int_equal(c->status, ST_OK);
    assert_int_equal(c->machines.n, 1); /* the later one holds */
    assert_string_equal(c->machines.v[0].zone, "b");
    call_free(c);
    rig_done(&r);
    rig_misfit(&r, "liar", "failure", "");
    c = rig_list(&r);
    assert_int_equal(c->status, ST_OK);
    assert_int_equal(c->machines.v[1].failure, ST_BROKEN);
    assert_string_equal(c->machines.v[1].detail, "first second?[2J?");
    call_free(c);
    rig_done(&r);
    rig_misfit(&r, "liar", "unterminated", "");
    c = rig_list(&r);
    assert_int_equal(c->status, ST_THROTTLED);
    assert_int_equal(strlen(c->err.text), 207);
    assert_int_equal(c->err.code[0], ' ');
    assert_int_equal(c->err.retry_after_ms, 3600000); /* an hour at most */
    call_free(c);
    rig_done(&r);
}

static void launch_case(const char *how, enum status want, const char *text)
{
    struct rig r;
    rig_misfit(&r, "liar", how, "");
    struct call *c = rig_launch(&r, "t4", "a", 2, "r-1");
    assert_int_equal(c->status, want);
    assert_has(c->err.text, text);
    assert_true(c->machines.n >= 1);
    assert_string_equal(c->machines.v[0].id, "m-0");
    if (want == ST_OK)
        assert_string_equal(c->machines.v[1].request_id, "r-1");
    call_free(c);
    rig_done(&r);
}

static void test_launch_lies(void **state)
{
    (void)state;
    launch_case("honest", ST_OK, "");
    launch_case("more", ST_BROKEN, "put() 3 machines when 2 were asked for");
    launch_case("other request", ST_BROKEN, "put() machine m-0 of request zzz");
    launch_case("other type", ST_BROKEN, "put() machine m-0 of type k80");
}

static void end_case(const char *how, enum status want, const char *text,
                     enum status first, enum status second)
{
    struct rig r;
    rig_misfit(&r, "liar", how, "");
    struct call *c = rig_end(&r, "m-1", "m-2");
    assert_int_equal(c->status, want);
    assert_has(c->err.text, text);
    assert_int_equal(c->done[0], first);
    assert_int_equal(c->done[1], second);
    call_free(c);
    rig_done(&r);
}

static void test_terminate_lies(void **state)
{
    (void)state;
    end_case("honest", ST_OK, "", ST_OK, ST_OK);
    end_case("stranger", ST_BROKEN, "reported \"somebody-else\"", ST_BROKEN,
             ST_BROKEN);
    end_case("null done", ST_BROKEN, "reported NULL", ST_BROKEN, ST_BROKEN);
    end_case("done status", ST_BROKEN, "reported status -7", ST_BROKEN,
             ST_BROKEN);
    end_case("half", ST_RETRY, "the rest failed", ST_NOT_FOUND, ST_RETRY);
}

static void offers_case(const char *how, enum status want, const char *text)
{
    struct rig r;
    rig_misfit(&r, "liar", how, "");
    struct call *c = rig_run(&r, call_new(r.p, CALL_OFFERS, 1));
    assert_int_equal(c->status, want);
    assert_has(c->err.text, text);
    assert_int_equal((provider_caps(r.p) & DAVIT_CAP_OFFERS) != 0,
                     want != ST_UNSUPPORTED);
    call_free(c);
    rig_done(&r);
}

static void test_offers_lies(void **state)
{
    (void)state;
    offers_case("honest", ST_OK, "");
    offers_case("offer name", ST_BROKEN, "named \"nosuch\", which is no node");
    offers_case("offer null", ST_BROKEN, "named NULL");
    offers_case("price", ST_BROKEN, "for -5 micro-dollars");
    offers_case("taint", ST_BROKEN, "\"gpu\" -> \"present:NO_SCHEDULE\"");
    offers_case("quota name", ST_BROKEN, "t4 with 1 quotas; up to 16, each");
    offers_case("quota each", ST_BROKEN, "and each > 0");
    offers_case("quotas", ST_BROKEN, "t4 with 17 quotas; up to 16");
    offers_case("unsupported", ST_UNSUPPORTED, "");
}

/* ---- time */

static atomic_llong later_us;  /* than it is, on every clock */
static atomic_llong asleep_us; /* the computer, in all */

static int64_t clock_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 +
           atomic_load(&later_us);
}

static int64_t its_wall_us(void *arg)
{
    (void)arg;
    return clock_us(CLOCK_REALTIME);
}

static int64_t its_mono_us(void *arg)
{
    (void)arg;
    return clock_us(CLOCK_MONOTONIC);
}

static int64_t its_boot_us(void *arg)
{
    (void)arg;
    return clock_us(CLOCK_MONOTONIC) + atomic_load(&asleep_us);
}

static void its_sleep_ms(void *arg, int64_t ms)
{
    (void)arg;
    /* wait: it is the machine's own sleep */
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static const struct clock its_clock = {its_wall_us, its_mono_us, its_boot_us,
                                       its_sleep_ms, NULL};

/* A provider whose lists hang until hung_go(). */
static void rig_hung(struct rig *r, char *file)
{
    scratch_path_n(file, sizeof r->dir, "davit-hang-XXXXXX");
    int f = mkstemp(file);
    assert_true(f >= 0 && close(f) == 0);
    rig_misfit(r, "hang", "", file);
}

/* Waits until so many have begun to hang. */
static void hung_wait(const char *file, off_t want)
{
    struct stat s;
    UNTIL(stat(file, &s) == 0 && s.st_size >= want);
    assert_int_equal(s.st_size, want);
}

static void hung_go(const char *file)
{
    assert_int_equal(unlink(file), 0);
}

static void test_hang(void **state)
{
    (void)state;
    struct rig r;
    char file[sizeof r.dir];
    clock_install(&its_clock);
    rig_hung(&r, file);
    /* More hang than there are workers: the pool replaces the stuck ones. */
    for (int i = 0; i < 6; i++)
        call_submit(r.workers, call_new(r.p, CALL_LIST, 1),
                    i < 5 ? 60000 : 600000);
    hung_wait(file, 4);
    atomic_fetch_add(&later_us, 70ll * 1000000);
    struct call *got = rig_take(&r);
    assert_has(got->err.text, "no free worker");
    assert_false(got->job.abandoned);
    call_free(got);
    hung_wait(file, 5);
    atomic_fetch_add(&later_us, 600ll * 1000000);
    assert_int_equal(workers_check(r.workers, clock_mono_ms()), 5);
    hung_go(file);
    for (int i = 0; i < 5; i++) {
        got = rig_take(&r);
        assert_int_not_equal(got->status, ST_OK);
        assert_true(got->job.abandoned);
        call_free(got);
    }
    assert_int_equal(provider_calls_running(r.p), 0);
    rig_done(&r);
    clock_install(NULL);
}

static struct call *change_new(struct rig *r, enum call_op op)
{
    struct call *c = call_new(r->p, op, 1);
    const char **ids = ARENA_ARRAY(&c->arena, const char *, 1);
    ids[0] = "m-1";
    c->ids = c->names = ids;
    c->n_ids = 1;
    c->type = "t4";
    c->request_id = "r-1";
    c->count = 1;
    return c;
}

/* What was decided before the computer slept, and no worker had begun, does not
 * leave after it; what only looks does. */
static void test_overslept(void **state)
{
    (void)state;
    struct rig r;
    char file[sizeof r.dir];
    uint32_t changes = 0, looks = 0;
    clock_install(&its_clock);
    rig_hung(&r, file);
    for (int i = 0; i < 4; i++) /* all workers */
        call_submit(r.workers, call_new(r.p, CALL_LIST, 1), 60000);
    hung_wait(file, 4);
    call_submit(r.workers, change_new(&r, CALL_TERMINATE), 60000);
    call_submit(r.workers, change_new(&r, CALL_LAUNCH), 60000);
    call_submit(r.workers, call_new(r.p, CALL_LIST, 1), 60000);
    atomic_store(&asleep_us, 3600ll * 1000000);
    hung_go(file);
    for (int i = 0; i < 7; i++) {
        struct call *got = rig_take(&r);
        bool slept = strstr(got->err.text, "fell asleep") != NULL;
        assert_int_equal(slept, got->op != CALL_LIST);
        if (slept)
            assert_int_equal(got->status, ST_RETRY);
        if (got->op == CALL_TERMINATE)
            assert_int_equal(got->done[0], ST_RETRY);
        changes += slept;
        looks += got->op == CALL_LIST;
        call_free(got);
    }
    assert_int_equal(changes, 2);
    assert_int_equal(looks, 5);
    rig_done(&r);
    clock_install(NULL);
}

/* A call the pool drops unrun must not look like an empty, truthful list. */
static void test_dropped(void **state)
{
    (void)state;
    struct rig r;
    char file[sizeof r.dir];
    rig_hung(&r, file);
    for (int i = 0; i < 6; i++)
        call_submit(r.workers, call_new(r.p, CALL_LIST, 1), 60000);
    hung_wait(file, 4);
    assert_false(workers_free(r.workers, 0)); /* four of them run */
    hung_go(file);
    assert_true(workers_free(r.workers, 60000));
    uint32_t dropped = 0, ran = 0;
    for (struct mail *m = mailbox_take(&r.box), *next; m; m = next) {
        struct call *c = (struct call *)m;
        next = m->next;
        dropped += c->status == ST_CANCELLED && c->job.abandoned;
        ran += c->status == ST_OK;
        call_free(c);
    }
    assert_int_equal(ran, 4);
    assert_int_equal(dropped, 2);
    r.workers = workers_new(1, 1, &r.box);
    rig_done(&r);
}

static void sleep_case(const char *ms, int timeout, int cancel_after,
                       const char *text, int64_t at_least, int64_t at_most)
{
    struct rig r;
    rig_misfit(&r, "guest", "sleep", ms);
    struct call *c = call_new(r.p, CALL_LIST, 1);
    call_submit(r.workers, c, timeout);
    if (cancel_after > 0) {
        /* wait: it sleeps by then, or is told before it begins */
        nanosleep(&(struct timespec){.tv_nsec = cancel_after * 1000000L}, NULL);
        atomic_store(&c->cancel, true);
    }
    c = rig_take(&r);
    assert_has(c->err.text, text);
    if (cancel_after == 0) /* its time is left to it: it was told at once */
        assert_null(strstr(c->err.text, "stop 0"));
    if (c->took_ms < at_least || c->took_ms > at_most)
        fail_msg("sleep %s took %lld ms", ms, (long long)c->took_ms);
    call_free(c);
    rig_done(&r);
}

static void test_sleep(void **state)
{
    (void)state;
    sleep_case("100", 90000, 0, "slept", 100, 60000);
    sleep_case("120000", 60000, 0, "stop", 0, 60000); /* no use to wait */
    sleep_case("120000", 180000, 100, "stop 0", 100, 60000);
}

static void test_cancelled_before(void **state)
{
    (void)state;
    struct rig r;
    rig_misfit(&r, "guest", "", "");
    struct call *c = rig_end_new(&r, "a", NULL);
    atomic_store(&c->cancel, true);
    c = rig_run(&r, c);
    assert_int_equal(c->status, ST_CANCELLED);
    assert_int_equal(c->done[0], ST_CANCELLED);
    call_free(c);
    rig_done(&r);
}

/* ---- services */

static enum status tap(void *arg, struct http_client *client,
                       struct http_exchange *x, struct arena *a, struct err *e)
{
    int *n = arg;
    (void)client;
    if (++*n > 1)
        return err_set(e, ST_RETRY, "the reply was lost");
    assert_string_equal(x->url, "http://127.0.0.1:1/x");
    assert_string_equal(x->headers[0].value, "one");
    assert_int_equal(x->body_len, 4);
    assert_true(x->deadline_mono_ms > clock_mono_ms());
    x->status = 201;
    x->reply = arena_strdup(a, "pong");
    x->reply_len = 4;
    return ST_OK;
}

/* Which arena a reply goes into, and whether the one before is still there. */
struct placed {
    int n;
    size_t used[3];
    struct arena *to[3];
};
static enum status placing(void *arg, struct http_client *client,
                           struct http_exchange *x, struct arena *a,
                           struct err *e)
{
    struct placed *p = arg;
    (void)client, (void)e;
    assert_true(p->n < 3);
    p->to[p->n] = a;
    p->used[p->n++] = a->used;
    x->status = 200 + p->n;
    x->reply = arena_strdup(a, "a page of a list");
    x->reply_len = 16;
    return ST_OK;
}

static void test_http_brief(void **state)
{
    (void)state;
    struct rig r;
    struct placed p = {0};
    rig_misfit(&r, "guest", "http brief", "http://127.0.0.1:1/x");
    provider_set_tap(r.p, placing, &p);
    struct call *c = rig_list(&r);
    assert_string_equal(c->err.text, "203 16 a page of a list");
    assert_int_equal(p.n, 3);
    assert_ptr_equal(p.to[0], p.to[1]);
    assert_int_equal(p.used[1], 0); /* the first has gone */
    assert_ptr_not_equal(p.to[1], p.to[2]);
    call_free(c);
    rig_done(&r);
}

static enum status mistrusted(void *arg, struct http_client *client,
                              struct http_exchange *x, struct arena *a,
                              struct err *e)
{
    (void)arg, (void)client, (void)x, (void)a;
    return err_set(e, ST_INVALID, "the certificate is not trusted");
}

/* A fault of the way, which may be mended at its other end: INVALID would
 * disable the node type until somebody reloads. */
static void test_http_way(void **state)
{
    (void)state;
    struct rig r;
    rig_misfit(&r, "guest", "http", "http://127.0.0.1:1/x");
    provider_set_tap(r.p, mistrusted, NULL);
    struct call *c = rig_list(&r);
    assert_int_equal(c->status, ST_BROKEN);
    assert_string_equal(c->err.text, "the certificate is not trusted");
    call_free(c);
    rig_done(&r);
}

static void test_http(void **state)
{
    (void)state;
    struct rig r;
    int n = 0;
    rig_misfit(&r, "guest", "http", "http://127.0.0.1:1/x");
    provider_set_tap(r.p, tap, &n);
    struct call *c = rig_list(&r);
    assert_string_equal(c->err.text, "201 4 pong");
    call_free(c);
    c = rig_list(&r);
    assert_int_equal(c->status, ST_RETRY);
    assert_string_equal(c->err.text, "the reply was lost");
    call_free(c);
    rig_done(&r);
    rig_misfit(&r, "guest", "http", "http://127.0.0.1:1/x\r\nHost: evil");
    c = rig_list(&r);
    assert_int_equal(c->status, ST_INVALID);
    assert_has(c->err.text, "without control characters");
    call_free(c);
    rig_done(&r);
    rig_misfit(&r, "guest", "http header", "http://127.0.0.1:1/x");
    c = rig_list(&r);
    assert_has(c->err.text, "header 1 has no name, or control characters");
    call_free(c);
    rig_done(&r);
    rig_misfit(&r, "guest", "http size", "http://127.0.0.1:1/x");
    c = rig_list(&r);
    assert_has(c->err.text, "set .size = sizeof(struct davit_http)");
    call_free(c);
    rig_done(&r);
}

static char crash_dir[64];

/* Runs a list in a child; what it wrote to standard error, and how it ended. */
static int child_list(const char *plugin, const char *how, const char *arg,
                      void (*prepare)(void), char *ret, size_t size)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct rig r;
        dup2(fds[1], 2);
        close(fds[0]);
        if (prepare)
            prepare();
        rig_misfit(&r, plugin, how, arg);
        memcpy(crash_dir, r.dir, sizeof crash_dir);
        call_free(rig_list(&r));
        rig_done(&r);
        _exit(0);
    }
    close(fds[1]);
    size_t n = 0;
    for (ssize_t k;
         n < size - 1 && (k = read(fds[0], ret + n, size - 1 - n)) > 0;)
        n += (size_t)k;
    ret[n] = '\0';
    close(fds[0]);
    int st;
    assert_int_equal(waitpid(pid, &st, 0), pid);
    return st;
}

static void last_words(int sig)
{
    rmdir(crash_dir);
    const char *who = provider_running_here();
    if (who && write(2, who, strlen(who)) > 0)
        _exit(70 + (sig == SIGSEGV));
    _exit(1);
}

static void catch_crash(void)
{
    signal(SIGSEGV, last_words);
}

static void test_crash(void **state)
{
    (void)state;
    char said[4096];
    int st = child_list("crash", "", "", catch_crash, said, sizeof said);
    assert_true(WIFEXITED(st));
    assert_int_equal(WEXITSTATUS(st), 71);
    assert_has(said, "cloud: list");
    assert_null(provider_running_here());
}

static void test_log(void **state)
{
    (void)state;
    static char said[262144];
    child_list("guest", "log", "300", NULL, said, sizeof said);
    assert_has(said, "provider cloud: first forged line?[2J");
    uint32_t lines = 0;
    for (const char *s = said; (s = strstr(s, "again")); s++)
        lines++;
    assert_int_equal(lines, 199);
    assert_has(said, "101 more lines dropped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list_lies),
                                       cmocka_unit_test(test_list_mended),
                                       cmocka_unit_test(test_launch_lies),
                                       cmocka_unit_test(test_terminate_lies),
                                       cmocka_unit_test(test_offers_lies),
                                       cmocka_unit_test(test_hang),
                                       cmocka_unit_test(test_dropped),
                                       cmocka_unit_test(test_overslept),
                                       cmocka_unit_test(test_sleep),
                                       cmocka_unit_test(test_cancelled_before),
                                       cmocka_unit_test(test_http),
                                       cmocka_unit_test(test_http_way),
                                       cmocka_unit_test(test_http_brief),
                                       cmocka_unit_test(test_crash),
                                       cmocka_unit_test(test_log)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
