/*
 * test_store_journal.c - the journal: what is committed is there again, what
 * is not ours is refused, and a full disk is an error, not a loss.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"
#include "seed.h"
#include "store/journal.h"

static char dir[256], path[288];

static int make_dir(void **state)
{
    (void)state;
    scratch_path(dir, "davit-journal-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/davit.db", dir);
    return 0;
}

static int drop_dir(void **state)
{
    static const char *const ends[] = {"", ".lock", "-wal", "-shm", "-journal"};
    char name[320];

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    return rmdir(dir);
}

static struct journal *open_good(void)
{
    struct journal *j = NULL;
    struct err e = {0};

    if (journal_open(path, NULL, &j, &e) != ST_OK)
        fail_msg("%s", e.text);
    return j;
}

static void commit_good(struct journal *j)
{
    struct err e = {0};

    if (journal_commit(j, &e) != ST_OK)
        fail_msg("%s", e.text);
}

static void sql(const char *text)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static struct machine sample(int i)
{
    /* Every byte of a record is set, so that a column forgotten in the list
     * shows as a difference. */
    static char launches[8][16], cloud[MACHINE_ROOM(cloud_id)];
    char *launch = launches[i % 8];
    struct machine m = {MACHINE_TEXTS};

    snprintf(m.id, sizeof m.id, "t4-%08x-%d", i * 7919, i);
    snprintf(launch, sizeof launches[0], "req-%d", i);
    m.request_id = launch;
    m.provider = "sim";
    m.type = "t4";
    m.zone = "us-a";
    memset(cloud, 'c', sizeof cloud - 1); /* as long as may be */
    m.cloud_id = cloud;
    m.address = "10.0.0.1";
    m.ray_id = "abcdef";
    m.config_hash = "0123456789abcdef";
    m.detail = "it's \"quoted\"; DROP TABLE machine; \xc3\xa4";
    m.spot = true;
    m.adopted = true;
    m.state = STATE_DRAINING;
    m.why = REASON_END_IDLE;
    m.failure = ST_STOCKOUT;
    m.created_ms = 1000 + i;
    m.since_ms = 2000;
    m.ready_ms = 3000;
    m.price_micros_hour = INT64_C(9007199254740993); /* no double holds it */
    m.agreed_micros_hour = INT64_C(9007199254740991);
    m.progress_ms = 4000;
    m.seen_ms = 5000;
    m.hold_until_ms = INT64_MAX;
    m.drain_since_ms = -1;
    m.needed_ms = 6000;
    m.launch_count = UINT32_MAX;
    m.drain_accepted = true;
    m.protected = true;
    return m;
}

#define TEXT(field) offsetof(struct machine, field)
static const size_t texts[] = {
    TEXT(request_id), TEXT(provider),   TEXT(type),    TEXT(zone),
    TEXT(cloud_id),   TEXT(address),    TEXT(ray_id),  TEXT(config_hash),
    TEXT(detail),     TEXT(asked_by),   TEXT(because), TEXT(previous),
    TEXT(host_group), TEXT(cloud_holds)};
#undef TEXT

static void assert_same_record(const struct machine *m,
                               const struct machine *expected)
{
    struct machine got = *m;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char **text = (const char **)((char *)&got + texts[i]);
        const char *const *other =
            (const char *const *)((const char *)expected + texts[i]);

        assert_string_equal(*text, *other);
        *text = *other;
    }
    got.texts = expected->texts;
    assert_memory_equal(&got, expected, sizeof got);
}

static void machines_come_back_whole(void **state)
{
    struct journal *j = open_good();
    struct fleet f;
    struct machine m = sample(1), two = sample(2), gone = sample(3);

    (void)state;
    journal_put_machine(j, &gone, NULL);
    m.state = STATE_INTENDED;
    journal_put_machine(j, &m, NULL);
    journal_put_machine(j, &two, NULL);
    commit_good(j);
    m = sample(1); /* an update keeps its place */
    m.busy = true;
    m.tries = 3;
    m.maybe.missing_ms = 3;
    m.retry_ms = 99;
    journal_put_machine(j, &m, NULL);
    gone.state = STATE_GONE;
    journal_put_machine(j, &gone, NULL);
    commit_good(j);
    journal_close(j);

    j = open_good();
    fleet_init(&f);
    assert_int_equal(journal_load_fleet(j, &f, NULL), ST_OK);
    assert_int_equal(f.n, 2);
    m = sample(1); /* calls under way are not kept */
    assert_same_record(f.v[0], &m);
    assert_same_record(f.v[1], &two);
    fleet_done(&f);
    journal_close(j);
}

/* What a launch is for, and a file from before there was that. */
static void holds_come_back(void **state)
{
    static char text[] = "[{\"shape\":\"0123456789abcdef\"}]";
    struct journal *j = open_good();
    struct machine m = sample(1), none = sample(2);
    struct fleet f;

    (void)state;
    m.previous = text;
    journal_put_machine(j, &m, NULL);
    journal_put_machine(j, &none, NULL);
    commit_good(j);
    journal_close(j);
    j = open_good();
    fleet_init(&f);
    assert_int_equal(journal_load_fleet(j, &f, NULL), ST_OK);
    assert_string_equal(f.v[0]->previous, text);
    assert_string_equal(f.v[1]->previous, "");
    fleet_done(&f);
    journal_close(j);

    sql("ALTER TABLE machine DROP COLUMN holds;"
        "ALTER TABLE machine DROP COLUMN agreed_micros_hour;"
        "PRAGMA user_version=1");
    j = open_good();
    fleet_init(&f);
    assert_int_equal(journal_load_fleet(j, &f, NULL), ST_OK);
    assert_int_equal(f.n, 2);
    assert_string_equal(f.v[0]->id, m.id);
    assert_string_equal(f.v[0]->previous, "");
    assert_int_equal(f.v[0]->agreed_micros_hour, -1); /* not known */
    fleet_done(&f);
    journal_put_machine(j, &m, NULL);
    commit_good(j);
    journal_close(j);
}

static void count_change(void *arg, const struct machine *m,
                         enum machine_state from)
{
    (void)m, (void)from;
    ++*(int *)arg;
}

static void loading_tells_no_observer(void **state)
{
    struct journal *j = open_good();
    struct machine m = sample(1);
    struct fleet f;
    int told = 0;

    (void)state;
    journal_put_machine(j, &m, NULL);
    commit_good(j);
    fleet_init(&f);
    f.on_change = count_change;
    f.arg = &told;
    assert_int_equal(journal_load_fleet(j, &f, NULL), ST_OK);
    assert_int_equal(told, 0);
    assert_ptr_equal(f.on_change, count_change);
    fleet_done(&f);
    journal_close(j);
}

static void requests_values_boots(void **state)
{
    struct journal *j = open_good();
    struct journal_request a = {"b-owner", "{\"x\":1}", 5, 9},
                           b = {"a-owner", "{}", 4, 0},
                           c = {"b-owner", "{\"x\":2}", 6, 0}, *r;
    struct arena arena = {0};
    uint32_t n;

    (void)state;
    assert_int_equal(journal_boot(j, "t4"), -1);
    journal_put_request(j, &a, NULL);
    journal_put_request(j, &b, NULL);
    journal_put_request(j, &c, NULL);
    journal_put_boot(j, "t4", 10000, NULL);
    journal_put_boot(j, "t4", 20000, NULL);
    commit_good(j);
    journal_close(j);

    j = open_good();
    assert_int_equal(journal_load_requests(j, &arena, &r, &n, NULL), ST_OK);
    assert_int_equal(n, 2);
    assert_string_equal(r[0].owner, "a-owner");
    assert_string_equal(r[1].owner, "b-owner");
    assert_string_equal(r[1].body, "{\"x\":2}");
    assert_int_equal(r[1].created_ms, 6);
    assert_int_equal(r[1].expires_ms, 0);
    assert_int_equal(journal_boot(j, "t4"), 15000);
    for (int i = 0; i < 30; i++) /* newer times win in the end */
        journal_put_boot(j, "t4", 60000, NULL);
    commit_good(j);
    assert_in_range(journal_boot(j, "t4"), 59900, 60000);
    journal_drop_request(j, "b-owner", NULL);
    journal_drop_request(j, "nobody", NULL);
    commit_good(j);
    assert_int_equal(journal_load_requests(j, &arena, &r, &n, NULL), ST_OK);
    assert_int_equal(n, 1);
    journal_close(j);
    arena_done(&arena);
}

static void events_are_a_ring(void **state)
{
    struct journal *j = open_good();
    struct journal_event e = {.kind = "node.ready", .subject = "n"}, *v;
    struct arena arena = {0};
    uint32_t n;

    (void)state;
    assert_int_equal(journal_next_event(j), 1);
    for (int i = 1; i <= JOURNAL_EVENTS + 1000; i++) {
        e.id = 0;
        e.at_ms = i;
        assert_int_equal(journal_put_event(j, &e, NULL), ST_OK);
        assert_int_equal(e.id, i);
    }
    commit_good(j);
    assert_int_equal(
        journal_load_events(j, 0, UINT32_MAX, &arena, &v, &n, NULL), ST_OK);
    assert_in_range(n, JOURNAL_EVENTS, JOURNAL_EVENTS + 64);
    assert_int_equal(v[n - 1].id, JOURNAL_EVENTS + 1000);
    assert_int_equal(v[0].id, v[n - 1].id - n + 1);
    assert_string_equal(v[0].kind, "node.ready");
    assert_string_equal(v[0].data, "");
    journal_load_events(j, v[n - 1].id - 5, 3, &arena, &v, &n, NULL);
    assert_int_equal(n, 3);
    assert_int_equal(v[0].id, JOURNAL_EVENTS + 1000 - 4);
    journal_close(j);
    j = open_good(); /* ids go on, also after a jump */
    assert_int_equal(journal_next_event(j), JOURNAL_EVENTS + 1001);
    e.id = 50000;
    journal_put_event(j, &e, NULL);
    commit_good(j);
    assert_int_equal(journal_next_event(j), 50001);
    journal_close(j);
    arena_done(&arena);
}

static void uncommitted_is_not_there(void **state)
{
    struct journal *j = open_good();
    struct machine m = sample(1);
    struct fleet f;

    (void)state;
    journal_put_machine(j, &m, NULL);
    journal_close(j);
    j = open_good();
    fleet_init(&f);
    journal_load_fleet(j, &f, NULL);
    assert_int_equal(f.n, 0);
    fleet_done(&f);
    assert_int_equal(journal_commit(j, NULL), ST_OK); /* empty: nothing */
    journal_close(j);
}

static void only_one_may_hold_it(void **state)
{
    struct journal *j = open_good(), *other = (void *)&j;
    struct err e = {0};
    char pid[32];

    (void)state;
    assert_int_equal(journal_open(path, NULL, &other, &e), ST_RETRY);
    assert_null(other);
    snprintf(pid, sizeof pid, "process %d", (int)getpid());
    assert_non_null(strstr(e.text, pid));
    journal_close(j);
    j = open_good();
    journal_close(j);
}

/* A killed daemon's child that has not come to exec still has its lock.  It
 * says so when it ends: who opens the journal has waited for that word. */
static void a_dead_holders_child_is_waited_for(void **state)
{
    struct journal *j;
    struct pollfd said;
    char byte;
    int fd[2], ws;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(fd), 0);
    child = fork();
    if (child == 0) {
        if (journal_open(path, NULL, &j, NULL) != ST_OK)
            _exit(3);
        if (fork() == 0) {
            if (write(fd[1], "x", 1) != 1)
                _exit(4);
            /* wait: it holds the lock so long */
            nanosleep(&(struct timespec){.tv_nsec = 800000000}, NULL);
            _exit(write(fd[1], "y", 1) != 1);
        }
        pause();
    }
    assert_int_equal(read(fd[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, &ws, 0);
    j = open_good();
    said = (struct pollfd){.fd = fd[0], .events = POLLIN};
    assert_int_equal(poll(&said, 1, 0), 1);
    journal_close(j);
    close(fd[0]);
    close(fd[1]);
}

static void refused(const char *expected)
{
    struct journal *j = (void *)1;
    struct err e = {0};
    enum status s = journal_open(path, NULL, &j, &e);

    if (s != ST_INVALID || !strstr(e.text, expected))
        fail_msg("%s: \"%s\" without \"%s\"", status_name(s), e.text, expected);
    assert_null(j);
}

static void foreign_files_are_refused(void **state)
{
    FILE *f = fopen(path, "w");
    char line[64] = "";

    (void)state;
    for (int i = 0; i < 500; i++)
        fputs("these are notes, not a journal\n", f);
    fclose(f);
    refused("damaged or no journal");
    f = fopen(path, "r"); /* and left as it was */
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    assert_string_equal(line, "these are notes, not a journal\n");
    unlink(path);

    sql("CREATE TABLE songs(name TEXT)");
    refused("of another program");
    unlink(path);

    journal_close(open_good());
    sql("PRAGMA user_version=99");
    refused("written by a newer davit (schema 99");
    sql("PRAGMA user_version=2; DROP TABLE machine");
    refused("has not the tables");
    unlink(path);

    mkdir(path, 0700);
    refused("cannot be written");
    rmdir(path);
}

static void no_directory_is_told(void **state)
{
    struct journal *j;
    struct err e = {0};

    (void)state;
    assert_int_equal(journal_open("/nonexistent/x/davit.db", NULL, &j, &e),
                     ST_INVALID);
    assert_non_null(strstr(e.text, "needs a directory that exists"));
}

/* Bytes that are no longer what SQLite wrote: seen at the start, not when the
 * page is needed. */
static void damage_is_told(void **state)
{
    struct journal *j = open_good();
    FILE *f;

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct machine m = sample(i);

        journal_put_machine(j, &m, NULL);
    }
    commit_good(j);
    journal_close(j);
    f = fopen(path, "r+");
    assert_int_equal(fseek(f, 20 * 4096, SEEK_SET), 0);
    for (int i = 0; i < 5 * 4096; i++)
        fputc(0x5a, f);
    fclose(f);
    refused("the file is damaged");
    refused("davit journal restore");
}

static void stop_here(int sig)
{
    (void)sig;
}

/* A disk that is full: files may not grow past what they are now. */
static void full_disk_loses_nothing(void **state)
{
    struct journal *j = open_good();
    struct journal_request r = {"small", "{}", 1, 0}, *v;
    struct journal_request big = {"big", NULL, 2, 0};
    struct rlimit old, limit;
    struct arena arena = {0};
    struct err e = {0};
    char *body = malloc(1 << 20);
    enum status put, again, end;
    uint32_t n;

    (void)state;
    memset(body, 'x', (1 << 20) - 1);
    body[(1 << 20) - 1] = '\0';
    big.body = body;
    journal_put_request(j, &r, NULL);
    commit_good(j);
    signal(SIGXFSZ, stop_here);
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 200000;
    setrlimit(RLIMIT_FSIZE, &limit);
    put = journal_put_request(j, &big, &e);
    r.owner = "later in the same batch";
    again = journal_put_request(j, &r, NULL);
    end = journal_commit(j, &e);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_not_equal(end, ST_OK);
    assert_true(put == ST_OK || again != ST_OK);
    assert_string_not_equal(e.text, "");
    assert_int_equal(journal_load_requests(j, &arena, &v, &n, NULL), ST_OK);
    assert_int_equal(n, 1);
    assert_string_equal(v[0].owner, "small");
    /* There is room again: the same journal goes on. */
    journal_put_request(j, &big, NULL);
    commit_good(j);
    journal_close(j);
    j = open_good();
    journal_load_requests(j, &arena, &v, &n, NULL);
    assert_int_equal(n, 2);
    journal_close(j);
    arena_done(&arena);
    free(body);
}

/* A write that fails inside a batch takes the whole batch with it, and the
 * commit says so although nobody looked at the write. */
static void broken_batch_stays_broken(void **state)
{
    struct journal *j = open_good();
    struct journal_request r = {"a", "{}", 1, 0}, *v;
    struct machine m = sample(1);
    struct arena arena = {0};
    struct err e = {0};
    uint32_t n;

    (void)state;
    sql("ALTER TABLE machine RENAME TO gone");
    journal_put_request(j, &r, NULL);
    assert_int_not_equal(journal_put_machine(j, &m, NULL), ST_OK);
    r.owner = "b";
    assert_int_not_equal(journal_put_request(j, &r, NULL), ST_OK);
    assert_int_not_equal(journal_commit(j, &e), ST_OK);
    assert_non_null(strstr(e.text, "no such table"));
    journal_load_requests(j, &arena, &v, &n, NULL);
    assert_int_equal(n, 0);
    journal_put_request(j, &r, NULL);
    commit_good(j);
    journal_load_requests(j, &arena, &v, &n, NULL);
    assert_int_equal(n, 1);
    journal_close(j);
    arena_done(&arena);
}

/* ---- kill -9 ---- */

/* Writes batch after batch of three machines, a request and an event, each
 * carrying the batch's number, and tells the number once it is committed. */
enum { KILLS = 40 };

static void write_for_ever(int out)
{
    struct journal *j = NULL;
    struct fleet f;
    uint32_t batch;

    fleet_init(&f);
    if (journal_open(path, NULL, &j, NULL) != ST_OK ||
        journal_load_fleet(j, &f, NULL) != ST_OK)
        _exit(3);
    batch = f.n > 0 ? f.v[0]->launch_count : 0;
    for (;;) {
        char body[32];
        struct journal_request r = {"owner", body, 1, 0};
        struct journal_event e = {.kind = "node.ready"};

        batch++;
        for (int i = 0; i < 3; i++) {
            struct machine m = sample(i);

            m.launch_count = batch;
            journal_put_machine(j, &m, NULL);
        }
        snprintf(body, sizeof body, "%u", batch);
        journal_put_request(j, &r, NULL);
        journal_put_event(j, &e, NULL);
        if (journal_commit(j, NULL) != ST_OK ||
            write(out, &batch, sizeof batch) != sizeof batch)
            _exit(4);
    }
}

static void check_after_kill(uint32_t acknowledged)
{
    struct journal *j = open_good();
    struct arena arena = {0};
    struct journal_request *r;
    struct fleet f;
    uint32_t n, batch;

    fleet_init(&f);
    assert_int_equal(journal_load_fleet(j, &f, NULL), ST_OK);
    assert_int_equal(journal_load_requests(j, &arena, &r, &n, NULL), ST_OK);
    if (acknowledged > 0 || f.n > 0) {
        assert_int_equal(f.n, 3);
        assert_int_equal(n, 1);
        batch = f.v[0]->launch_count;
        /* Nothing acknowledged is lost; at most the one under way is more. */
        assert_in_range(batch, acknowledged, acknowledged + 1);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(f.v[i]->launch_count,
                             batch); /* whole batches only */
        assert_int_equal(atoi(r[0].body), batch);
        assert_int_equal(journal_next_event(j), batch + 1);
    }
    fleet_done(&f);
    arena_done(&arena);
    journal_close(j);
}

static void kill_9_loses_nothing_acknowledged(void **state)
{
    unsigned seed = (unsigned)seed_of(0);
    uint32_t acknowledged = 0, got;

    (void)state;
    for (int round = 0; round < KILLS; round++) {
        struct timespec t = {0, 0};
        int fd[2], ws;
        pid_t child;

        assert_int_equal(pipe(fd), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(fd[0]);
            write_for_ever(fd[1]);
        }
        close(fd[1]);
        /* Every other time it has written something, on a busy machine too;
         * the others may be killed while they open the journal. */
        if (round % 2 == 0 && read(fd[0], &got, sizeof got) == sizeof got)
            acknowledged = got;
        t.tv_nsec = (long)(rand_r(&seed) % 60000) * 1000;
        nanosleep(&t, NULL); /* wait: the moment of the kill is drawn */
        kill(child, SIGKILL);
        waitpid(child, &ws, 0);
        assert_true(WIFSIGNALED(ws)); /* it did not end by an error */
        while (read(fd[0], &got, sizeof got) == sizeof got)
            acknowledged = got;
        close(fd[0]);
        check_after_kill(acknowledged);
        /* What was on disk before the kill counts as acknowledged now. */
        struct journal *j = open_good();
        acknowledged = (uint32_t)journal_next_event(j) - 1;
        journal_close(j);
    }
    print_message("%u batches over %d kills\n", acknowledged, KILLS);
    assert_true(acknowledged >= KILLS / 2);
}

static void forgotten_is_gone_and_written_anew(void **state)
{
    struct journal *j = open_good();
    struct journal_request keep = {"keep", "{}", 1, 0},
                           drop = {"drop", "{}", 1, 0}, *r;
    struct machine m = sample(1), n = sample(2);
    struct arena arena = {0};
    struct fleet f;
    uint32_t count;

    (void)state;
    journal_put_machine(j, &m, NULL);
    journal_put_machine(j, &n, NULL);
    journal_put_request(j, &keep, NULL);
    journal_put_request(j, &drop, NULL);
    commit_good(j);
    assert_int_equal(journal_forget(j, NULL), ST_OK);
    journal_put_machine(j, &m, NULL);
    journal_put_request(j, &keep, NULL);
    commit_good(j);
    journal_close(j);

    j = open_good();
    fleet_init(&f);
    assert_int_equal(journal_load_fleet(j, &f, NULL), ST_OK);
    assert_int_equal(f.n, 1);
    assert_string_equal(f.v[0]->id, m.id);
    assert_int_equal(journal_load_requests(j, &arena, &r, &count, NULL), ST_OK);
    assert_int_equal(count, 1);
    assert_string_equal(r[0].owner, "keep");
    journal_close(j);
    fleet_done(&f);
    arena_done(&arena);
}

static void commits_per_second(void **state)
{
    struct journal *j = open_good();
    struct timespec a, b;
    int n = 0;
    double s;

    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        struct machine m = sample(n % 50);

        journal_put_machine(j, &m, NULL);
        commit_good(j);
        n++;
        clock_gettime(CLOCK_MONOTONIC, &b);
        s = (double)(b.tv_sec - a.tv_sec) +
            (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    } while (s < 0.5);
    print_message("%.0f commits per second of one machine each\n", n / s);
    journal_close(j);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(machines_come_back_whole),
        TEST(holds_come_back),
        TEST(loading_tells_no_observer),
        TEST(requests_values_boots),
        TEST(events_are_a_ring),
        TEST(uncommitted_is_not_there),
        TEST(only_one_may_hold_it),
        TEST(a_dead_holders_child_is_waited_for),
        TEST(foreign_files_are_refused),
        TEST(no_directory_is_told),
        TEST(damage_is_told),
        TEST(full_disk_loses_nothing),
        TEST(broken_batch_stays_broken),
        TEST(kill_9_loses_nothing_acknowledged),
        TEST(forgotten_is_gone_and_written_anew),
        TEST(commits_per_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
