/*
 * test_base.c - alloc, arena, buf, harden, suggest, mailbox and workers.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/until.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/exposed.h"
#include "base/harden.h"
#include "base/log.h"
#include "base/outbox.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/worker.h"

static void arena_zeroes_and_grows(void **state)
{
    struct arena a = {0};
    VEC(int) v = {0};

    (void)state;
    for (int round = 0; round < 3; round++) {
        v.n = v.cap = 0;
        for (int i = 0; i < 10000; i++)
            VEC_PUSH(&a, &v, i);
        for (int i = 0; i < 10000; i++)
            assert_int_equal(v.v[i], i);
        char *z = arena_alloc(&a, 3000000);
        for (size_t i = 0; i < 3000000; i += 997)
            assert_int_equal(z[i], 0);
        memset(z, 7, 3000000);
        assert_string_equal(arena_printf(&a, "%d-%s", 5, "x"), "5-x");
        assert_string_equal(arena_strdup(&a, NULL), "");
        arena_reset(&a);
    }
    arena_done(&a);
}

static void a_vector_without_an_arena_is_on_the_heap(void **state)
{
    VEC(int) v = {0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        VEC_PUSH(NULL, &v, i);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.v[i], i);
    free(v.v);
}

/* How a child ends that asks for more than there is. */
static int end_of(void (*ask)(void))
{
    pid_t child = fork();
    int how = 0;

    if (child == 0) {
        fclose(stderr);
        ask();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFSIGNALED(how) ? WTERMSIG(how) : -WEXITSTATUS(how);
}

static void ask_too_many(void)
{
    mem_resize(NULL, SIZE_MAX / 4 + 2, 4); /* 4 bytes, if it wrapped */
}

static void ask_nothing_of_null(void)
{
    mem_must(NULL);
}

static void ask_little(void)
{
    free(mem_resize(NULL, 1, 4));
}

static void memory_is_had_or_the_process_ends(void **state)
{
    char *s;
    int *v;

    (void)state;
    free(mem_alloc(0));
    free(mem_resize(NULL, 0, 0));
    v = MEM_ARRAY(int, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(v[i], 0);
    v[99] = 7;
    v = mem_resize(v, 200, sizeof *v);
    assert_int_equal(v[99], 7);
    free(v);
    s = mem_strdup(NULL);
    assert_string_equal(s, "");
    free(s);
    s = mem_strndup("word", 2);
    assert_string_equal(s, "wo");
    free(s);
    assert_int_equal(end_of(ask_too_many), SIGABRT);
    assert_int_equal(end_of(ask_nothing_of_null), SIGABRT);
    assert_int_equal(end_of(ask_little), 0);
}

static void buf_keeps_its_ceiling(void **state)
{
    struct buf b;
    char *s;

    (void)state;
    buf_init(&b, 10);
    assert_true(buf_str(&b, "12345"));
    assert_true(buf_printf(&b, "%d", 67890));
    assert_false(buf_str(&b, "x"));
    assert_true(b.full);
    assert_string_equal(b.s, "1234567890");
    s = buf_take(&b);
    assert_string_equal(s, "1234567890");
    free(s);
    s = buf_take(&b);
    assert_string_equal(s, "");
    free(s);
    buf_done(&b);
}

static void suggest_finds_near_words_only(void **state)
{
    static const char *const keys[] = {"node_types", "providers", "limits",
                                       "max", "min"};
    (void)state;
    assert_string_equal(suggest("node_type", keys, 5), "node_types");
    assert_string_equal(suggest("provdiers", keys, 5), "providers");
    assert_string_equal(suggest("Limit", keys, 5), "limits");
    assert_string_equal(suggest("mxa", keys, 5), "max");
    assert_null(suggest("banana", keys, 5));
    assert_string_equal(suggest("node", keys, 5), "node_types");
    assert_string_equal(suggest("my_limits", keys, 5), "limits");
    assert_string_equal(suggest("max_workers", keys, 5), "max");
    assert_null(suggest("region", keys, 5));
}

static void err_prefix_keeps_the_text(void **state)
{
    struct err e;

    (void)state;
    err_set(&e, ST_RETRY, "the server is silent");
    err_set(&e, ST_AUTH, "no credentials (%s)", e.text);
    assert_string_equal(e.text, "no credentials (the server is silent)");
    assert_int_equal(err_set(&e, ST_INVALID, "max is %d", -3), ST_INVALID);
    assert_int_equal(err_prefix(&e, "line %d", 7), ST_INVALID);
    assert_string_equal(e.text, "line 7: max is -3");
    assert_string_equal(status_name(ST_STOCKOUT), "STOCKOUT");
}

struct sleepy {
    struct job job;
    atomic_bool *until; /* or NULL: done at once */
    atomic_bool began;
};

static void sleepy_run(struct job *j)
{
    struct sleepy *s = (struct sleepy *)j;

    atomic_store(&s->began, true);
    UNTIL(!s->until || atomic_load(s->until));
}

/* What a library keeps for a thread is freed when the thread ends, a while
 * after its last job; the pool must not be gone before. */
static pthread_key_t kept;
static atomic_bool kept_freed;

static void kept_free(void *p)
{
    (void)p;
    /* wait: the pool would be gone by then */
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    atomic_store(&kept_freed, true);
}

static void kept_run(struct job *j)
{
    pthread_setspecific(kept, j);
}

static void workers_are_joined(void **state)
{
    struct mailbox box;
    struct workers *w;
    struct job job = {.run = kept_run};

    (void)state;
    assert_int_equal(pthread_key_create(&kept, kept_free), 0);
    mailbox_init(&box, NULL, NULL);
    w = workers_new(1, 0, &box);
    workers_submit(w, &job);
    UNTIL(mailbox_take(&box));
    assert_false(atomic_load(&kept_freed));
    assert_true(workers_free(w, 10000));
    assert_true(atomic_load(&kept_freed));
    mailbox_done(&box);
    pthread_key_delete(kept);
}

static void counts(struct job *j)
{
    (void)j;
}

/* Several wait for jobs, which come one by one and at once: each is run. */
static void each_job_is_run(void **state)
{
    struct mailbox box;
    struct workers *w;
    struct job jobs[6];
    unsigned left;

    (void)state;
    mailbox_init(&box, NULL, NULL);
    w = workers_new(4, 0, &box);
    for (unsigned round = 0; round < 2000; round++) {
        left = 1 + round % 6;
        for (unsigned i = 0; i < left; i++) {
            jobs[i] = (struct job){.run = counts};
            workers_submit(w, &jobs[i]);
        }
        for (struct mail *m = NULL; left > 0;) {
            UNTIL((m = mailbox_take(&box)));
            for (; m; m = m->next)
                left--;
        }
    }
    assert_true(workers_free(w, 10000));
    mailbox_done(&box);
}

/* Answers there are now; that of the job that hangs is not among them. */
static unsigned answered(struct mailbox *box)
{
    unsigned n = 0;

    for (struct mail *m = mailbox_take(box); m; m = m->next) {
        assert_int_not_equal(m->kind, 0);
        n++;
    }
    return n;
}

static void workers_answer_and_survive_a_hang(void **state)
{
    struct mailbox box;
    struct workers *w;
    atomic_bool over = false;
    struct sleepy jobs[3] = {{.until = &over}};
    unsigned answers = 0, abandoned = 0;

    (void)state;
    mailbox_init(&box, NULL, NULL);
    w = workers_new(1, 2, &box);
    for (int i = 0; i < 3; i++) {
        jobs[i].job.run = sleepy_run;
        jobs[i].job.mail.kind = i;
    }
    jobs[0].job.deadline_mono_ms = clock_mono_ms() + 60000;
    for (int i = 0; i < 3; i++)
        workers_submit(w, &jobs[i].job);
    UNTIL(atomic_load(&jobs[0].began));
    assert_null(mailbox_take(&box)); /* the only worker hangs */
    assert_int_equal(workers_check(w, jobs[0].job.deadline_mono_ms + 1), 1);
    UNTIL((answers += answered(&box)) >= 2);
    assert_int_equal(answers, 2); /* its replacement did the others */
    atomic_store(&over, true);
    workers_free(w, 10000);
    for (struct mail *m = mailbox_take(&box), *next; m; m = next) {
        next = m->next;
        abandoned += ((struct job *)m)->abandoned;
    }
    assert_int_equal(abandoned, 1);
    mailbox_done(&box);
}

static void times_are_written_for_people(void **state)
{
    char b[32];
    int64_t wall = clock_wall_ms(), from = clock_steady_ms();

    (void)state;
    assert_string_equal(clock_iso(1763719872345, b, sizeof b),
                        "2025-11-21T10:11:12.345Z");
    assert_string_equal(clock_iso(-1, b, sizeof b), "1969-12-31T23:59:59.999Z");
    clock_iso(INT64_MAX, b, 25); /* whatever it says, it fits */
    assert_true(strlen(b) < 25);
    assert_in_range(from, wall - 1000, clock_wall_ms() + 1000);
    assert_true(clock_steady_ms() >= from);
}

static void percent_encoding_there_and_back(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"", ""},
                                           {"plain", "plain"},
                                           {"a%20b", "a b"},
                                           {"%", "%"},
                                           {"%4", "%4"},
                                           {"%zz", "%zz"},
                                           {"%e2%82%ac", "\xe2\x82\xac"},
                                           {"%c3", "?"},
                                           {"%1b[31m", "?[31m"},
                                           {"100%25", "100%"},
                                           {"%00end", "?end"},
                                           {"%c2%85x", "??x"}};
    struct arena a = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        char *s = text_decode(&a, cases[i][0], strlen(cases[i][0]), &n);
        text_clean(s, n);
        assert_string_equal(s, cases[i][1]);
    }
    assert_string_equal(text_encode(&a, "a-_.~ /%\xc3\xa9"),
                        "a-_.~%20%2F%25%C3%A9");
    arena_done(&a);
}

/* What was written is read; an offset counts, a fraction is cut off. */
static void times_are_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"2026-11-21T10:11:12.345Z", INT64_C(1795255872345)},
                 {"2026-11-21T10:11:12Z", INT64_C(1795255872000)},
                 {"2026-11-21T10:11:12.345678901Z", INT64_C(1795255872345)},
                 {"2026-11-21T11:41:12+01:30", INT64_C(1795255872000)},
                 {"2026-11-21T08:11:12-02:00", INT64_C(1795255872000)},
                 {"2026-11-21T10:11:12", 0},
                 {"2026-11-21", 0},
                 {"", 0},
                 {"1960-01-01T00:00:00Z", 0},
                 {"2026-11-21T10:11:12+x", 0}};
    char text[32];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(clock_from_iso(cases[i].text), cases[i].ms);
    clock_iso(cases[0].ms, text, sizeof text);
    assert_string_equal(text, cases[0].text);
}

/* Unicode's directional marks and separators, and all that terminals obey. */
static bool is_marked(unsigned c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e ||
           c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static void what_is_shown_is_plain(void **state)
{
    (void)state;
    for (unsigned c = 1; c < 0x3000; c++) {
        char text[4], shown[8], want[8];
        size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;

        if (n == 1)
            text[0] = (char)c;
        else if (n == 2)
            snprintf(text, sizeof text, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
        else
            snprintf(text, sizeof text, "%c%c%c", 0xe0 | c >> 12,
                     0x80 | (c >> 6 & 63), 0x80 | (c & 63));
        assert_int_equal(text_plain(text, n), is_marked(c) ? 0 : n);
        if (!is_marked(c))
            continue;
        snprintf(want, sizeof want, "\\u%04x", c);
        assert_int_equal(text_escape(text, n, shown), n);
        assert_string_equal(shown, want);
        assert_true(n == 1 || text_plain(text, n - 1) == 0);
    }
    for (unsigned c = 0x80; c < 0x100; c++) {
        char text[3] = {(char)c, 'x', 0}, shown[8];

        assert_int_equal(text_plain(text, 2), 0);
        assert_int_equal(text_escape(text, 2, shown), 1);
        assert_string_equal(shown, "\xef\xbf\xbd");
    }
}

struct reader { /* who takes lines from an outbox, or does not */
    pthread_mutex_t lock;
    uint32_t taken;
    char last[8];
};

static void line_taken(void *arg, const char *line, size_t n)
{
    struct reader *r = arg;

    pthread_mutex_lock(&r->lock);
    r->taken++;
    snprintf(r->last, sizeof r->last, "%.*s", (int)n, line);
    pthread_mutex_unlock(&r->lock);
}

/* Who takes the lines blocks: whoever adds one does not, what has no room is
 * counted, the others keep their order. */
static void lines_wait_for_nobody(void **state)
{
    struct reader r = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct outbox *o;
    char text[8];

    (void)state;
    pthread_mutex_lock(&r.lock); /* it takes none */
    o = outbox_new(40, &(struct outbox_ops){.put = line_taken, .arg = &r});
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "line %d\n", i);
        assert_int_equal(outbox_add(o, text, 7), i < 5); /* 35 bytes of 40 */
    }
    assert_int_equal(outbox_state(o).dropped, 5);
    assert_false(outbox_free(o, 10)); /* it is not waited for either */
    pthread_mutex_unlock(&r.lock);
    assert_true(outbox_free(o, 60000));
    assert_int_equal(r.taken, 5);
    assert_string_equal(r.last, "line 4\n");
}

/* What a pipe has, without waiting for it. */
static bool pipe_has(int fd, const char *text)
{
    char line[256];
    ssize_t n = read(fd, line, sizeof line - 1);

    line[n > 0 ? n : 0] = '\0';
    return strstr(line, text);
}

/* In a child, whose log is a pipe: 0, or which of them is not so. */
static int log_stops(int reader, int writer)
{
    alarm(120); /* it stands still */
    dup2(writer, STDERR_FILENO);
    log_start(NULL);
    log_info("the first");
    log_stop(60000); /* what was said is out */
    if (!pipe_has(reader, "the first"))
        return 1;
    log_info("and one more"); /* other threads may say something yet */
    log_stop(60000);
    if (!pipe_has(reader, "and one more"))
        return 2;
    fcntl(writer, F_SETFL, O_NONBLOCK);
    while (write(writer, "x", 1) == 1)
        ;
    fcntl(writer, F_SETFL, 0);
    log_info("nobody takes this");
    log_stop(50); /* it is not waited for */
    return log_state().stuck_ms > 0 ? 0 : 3;
}

/* The end waits for the log's reader, and not for one who does not read. */
static void a_log_is_stopped(void **state)
{
    int fds[2], ws;
    pid_t child;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    child = fork();
    if (child == 0)
        _exit(log_stops(fds[0], fds[1]));
    close(fds[1]);
    assert_int_equal(waitpid(child, &ws, 0), child);
    close(fds[0]);
    assert_int_equal(ws, 0);
}

/* What is told of a file is how it is now: gone, or mended, it is told no more. */
static void a_file_that_is_gone_is_not_exposed(void **state)
{
    char path[] = "/tmp/davit-exposed-XXXXXX";
    const char *told[EXPOSED_MAX];
    struct arena a = {0};
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (int gone = 0; gone < 2; gone++) {
        assert_int_equal(chmod(path, 0644), 0);
        exposed_look(path, "the secret", true);
        assert_int_equal(exposed_list(&a, told), 1);
        assert_non_null(strstr(told[0], "mode 0644"));
        assert_int_equal(gone ? unlink(path) : chmod(path, 0600), 0);
        assert_int_equal(exposed_list(&a, told), 0);
    }
    arena_done(&a);
}

/* In a child: it cannot be taken back. */
static void secrets_are_not_dumped(void **state)
{
    struct rlimit core;
    pid_t child = fork();
    int ws;

    (void)state;
    if (child == 0) {
        harden();
        _exit(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
                      prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
                      getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &ws, 0), child);
    assert_int_equal(ws, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_zeroes_and_grows),
        cmocka_unit_test(a_vector_without_an_arena_is_on_the_heap),
        cmocka_unit_test(memory_is_had_or_the_process_ends),
        cmocka_unit_test(buf_keeps_its_ceiling),
        cmocka_unit_test(suggest_finds_near_words_only),
        cmocka_unit_test(err_prefix_keeps_the_text),
        cmocka_unit_test(workers_are_joined),
        cmocka_unit_test(workers_answer_and_survive_a_hang),
        cmocka_unit_test(each_job_is_run),
        cmocka_unit_test(times_are_written_for_people),
        cmocka_unit_test(times_are_read_back),
        cmocka_unit_test(percent_encoding_there_and_back),
        cmocka_unit_test(what_is_shown_is_plain),
        cmocka_unit_test(lines_wait_for_nobody),
        cmocka_unit_test(secrets_are_not_dumped),
        cmocka_unit_test(a_log_is_stopped),
        cmocka_unit_test(a_file_that_is_gone_is_not_exposed),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
