/*
 * test_cloud_sim.c - the simulated cloud: its laws as a cloud, and each of its
 * bad habits, through the same calls that the daemon makes.
 */
#include <jansson.h>
#include <sys/wait.h>

#include "cloud_rig.h"

static void sim_init(struct rig *r)
{
    rig_init(r, "sim");
    rig_type(r, "t4", 1, "T4", "us-a", "us-b");
    rig_type(r, "quad", 4, "T4", NULL, NULL);
    rig_type(r, "cpu", 0, NULL, NULL, NULL);
    rig_option(r, "state", rig_text("%s/sim.json%s", r->dir, ""));
}

static void sim_open(struct rig *r)
{
    if (rig_open(r) != ST_OK)
        fail_msg("%s", r->errors.s);
}

static void expect(struct call *c, enum status want, uint32_t machines)
{
    if (c->status != want || c->machines.n != machines)
        fail_msg("%s with %u machines: %s", status_name(c->status),
                 c->machines.n, c->err.text);
}

static json_t *state_read(struct rig *r)
{
    json_t *j = json_load_file(r->options[0].value, 0, NULL);
    assert_non_null(j);
    return j;
}

static void fault(struct rig *r, const char *json)
{
    json_t *j = state_read(r);
    json_t *f = json_loads(json, 0, NULL);
    assert_non_null(f);
    json_object_set_new(j, "faults", f);
    assert_int_equal(json_dump_file(j, r->options[0].value, 0), 0);
    json_decref(j);
}

static void test_life(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "boot", "2s");
    rig_option(&r, "terminate", "2s");
    sim_open(&r);
    struct call *c = rig_list(&r);
    expect(c, ST_OK, 0);
    call_free(c);
    c = rig_launch(&r, "t4", "us-b", 2, "req-1");
    expect(c, ST_OK, 2);
    assert_int_equal(c->machines.v[0].phase, DAVIT_STARTING);
    assert_string_equal(c->machines.v[0].zone, "us-b");
    assert_string_equal(c->machines.v[0].type, "t4");
    assert_string_equal(c->machines.v[1].request_id, "req-1");
    assert_string_not_equal(c->machines.v[0].detail, "");
    char id[128];
    snprintf(id, sizeof id, "%s", c->machines.v[0].id);
    call_free(c);
    assert_int_equal(rig_count(&r, DAVIT_STARTING), 2);
    /* It boots while nobody looks, and a new daemon finds it. */
    provider_close(r.p);
    sim_open(&r);
    UNTIL(rig_count(&r, DAVIT_RUNNING) == 2);
    c = rig_end(&r, id, "no-such");
    expect(c, ST_OK, 0);
    assert_int_equal(c->done[0], ST_OK);
    assert_int_equal(c->done[1], ST_NOT_FOUND);
    call_free(c);
    assert_int_equal(rig_count(&r, DAVIT_STOPPING), 1);
    c = rig_end(&r, id, NULL);
    assert_int_equal(c->done[0], ST_OK); /* it is on its way */
    call_free(c);
    UNTIL(rig_count(&r, -1) == 1);
    c = rig_end(&r, id, NULL);
    assert_int_equal(c->done[0], ST_NOT_FOUND);
    call_free(c);
    rig_done(&r);
}

static void test_idempotent(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "terminate", "0s");
    sim_open(&r);
    struct call *a = rig_launch(&r, "quad", "", 3, "same");
    struct call *b = rig_launch(&r, "quad", "", 3, "same");
    expect(a, ST_OK, 3);
    expect(b, ST_OK, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(a->machines.v[i].id, b->machines.v[i].id);
    assert_int_equal(rig_count(&r, -1), 3);
    call_free(b);
    b = rig_launch(&r, "quad", "", 4, "same");
    expect(b, ST_INVALID, 0);
    assert_has(b->err.text, "request same was for 3 of quad");
    call_free(b);
    /* A late repetition does not bring back what was ended meanwhile. */
    call_free(rig_end(&r, a->machines.v[0].id, a->machines.v[1].id));
    b = rig_launch(&r, "quad", "", 3, "same");
    expect(b, ST_OK, 1);
    assert_string_equal(b->machines.v[0].id, a->machines.v[2].id);
    call_free(a);
    call_free(b);
    assert_int_equal(rig_count(&r, -1), 1);
    rig_done(&r);
}

static void test_refusals(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    sim_open(&r);
    struct call *c = rig_launch(&r, "t5", "", 1, "a");
    expect(c, ST_INVALID, 0);
    call_free(c);
    c = rig_launch(&r, "t4", "us-c", 1, "b");
    expect(c, ST_INVALID, 0);
    assert_has(c->err.text, "no zone \"us-c\"");
    call_free(c);
    c = rig_launch(&r, "t4", "us-a", 20000, "c");
    expect(c, ST_INVALID, 0);
    call_free(c);
    assert_int_equal(rig_count(&r, -1), 0);
    c = rig_run(&r, call_new(r.p, CALL_OFFERS, 1));
    assert_int_equal(c->status, ST_OK);
    assert_int_equal(c->offers.n, 8); /* t4: 2 zones, else 1; both markets */
    assert_int_equal(c->offers.v[0].price_micros_hour, -1);
    call_free(c);
    rig_done(&r);
}

/* Two clusters may share a cloud; each sees and ends its own only. */
static void test_clusters(void **state)
{
    (void)state;
    struct rig r, q;
    sim_init(&r);
    sim_init(&q);
    q.options[0].value = r.options[0].value;
    q.config.cluster = "other";
    sim_open(&r);
    sim_open(&q);
    struct call *c = rig_launch(&r, "cpu", "", 2, "a");
    expect(c, ST_OK, 2);
    assert_int_equal(rig_count(&q, -1), 0);
    struct call *e = rig_end(&q, c->machines.v[0].id, NULL);
    assert_int_equal(e->done[0], ST_NOT_FOUND);
    call_free(e);
    call_free(c);
    assert_int_equal(rig_count(&r, -1), 2);
    c = rig_launch(&q, "cpu", "", 2, "a");
    expect(c, ST_INVALID, 0);
    call_free(c);
    rig_done(&q);
    rig_done(&r);
}

static enum status try_launch(struct rig *r, const char *type, const char *zone,
                              uint32_t n, const char *id)
{
    struct call *c = rig_launch(r, type, zone, n, id);
    enum status s = c->status;
    call_free(c);
    return s;
}

static void test_stockout(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "stockout.0", "t4@us-a");
    rig_option(&r, "stockout.quad", "2");
    rig_option(&r, "stockout.cpu", "2s");
    sim_open(&r);
    struct call *c = rig_launch(&r, "t4", "us-a", 1, "1");
    expect(c, ST_STOCKOUT, 0);
    assert_has(c->err.text, "t4 is out of stock in us-a");
    assert_string_equal(c->err.code, "ZoneResourcesExhausted");
    call_free(c);
    assert_int_equal(try_launch(&r, "t4", "us-b", 1, "2"), ST_OK);
    c = rig_launch(&r, "t4", "", 1, "3"); /* its own choice: not us-a */
    expect(c, ST_OK, 1);
    assert_string_equal(c->machines.v[0].zone, "us-b");
    call_free(c);
    assert_int_equal(try_launch(&r, "quad", "", 1, "4"), ST_STOCKOUT);
    assert_int_equal(try_launch(&r, "quad", "", 1, "4"), ST_STOCKOUT);
    assert_int_equal(try_launch(&r, "quad", "", 1, "4"), ST_OK);
    assert_int_equal(try_launch(&r, "cpu", "", 1, "5"), ST_STOCKOUT);
    /* A restart does not refill the shelves. */
    provider_close(r.p);
    sim_open(&r);
    assert_int_equal(try_launch(&r, "cpu", "", 1, "5"), ST_STOCKOUT);
    UNTIL(try_launch(&r, "cpu", "", 1, "5") == ST_OK);
    rig_done(&r);
}

static void test_type_options(void **state)
{
    (void)state;
    struct rig r;
    struct conf_pair o[] = {{"boot", "0s", 1, 1}, {"stockout", "1", 1, 1}};
    sim_init(&r);
    r.types[2].options = o;
    r.types[2].n_options = 2;
    rig_option(&r, "boot", "1h");
    sim_open(&r);
    assert_int_equal(try_launch(&r, "cpu", "", 1, "1"), ST_STOCKOUT);
    assert_int_equal(try_launch(&r, "cpu", "", 1, "1"), ST_OK);
    assert_int_equal(try_launch(&r, "quad", "", 1, "2"), ST_OK);
    assert_int_equal(rig_count(&r, DAVIT_RUNNING), 1);
    assert_int_equal(rig_count(&r, DAVIT_STARTING), 1);
    rig_done(&r);
}

static void test_quota(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "quota", "8");
    rig_option(&r, "quota.T4", "6");
    rig_option(&r, "quota.cpu", "2");
    rig_option(&r, "terminate", "0s");
    sim_open(&r);
    assert_int_equal(try_launch(&r, "quad", "", 1, "1"), ST_OK);
    struct call *c = rig_launch(&r, "t4", "us-a", 4, "2");
    expect(c, ST_QUOTA, 2); /* partial: what fits */
    assert_has(c->err.text, "quota of 6 T4 is used up; 2 of 4 machines");
    char id[128];
    snprintf(id, sizeof id, "%s", c->machines.v[0].id);
    call_free(c);
    assert_int_equal(try_launch(&r, "cpu", "", 3, "3"), ST_QUOTA);
    assert_int_equal(rig_count(&r, -1), 5);
    /* The same request again, once there is room, is completed. */
    call_free(rig_end(&r, id, NULL));
    c = rig_launch(&r, "t4", "us-a", 4, "2");
    expect(c, ST_QUOTA, 2);
    call_free(c);
    assert_int_equal(rig_count(&r, -1), 5);
    rig_done(&r);
}

static void test_all_or_nothing(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "quota", "3");
    rig_option(&r, "all_or_nothing", "true");
    sim_open(&r);
    assert_int_equal(try_launch(&r, "cpu", "", 4, "1"), ST_QUOTA);
    assert_int_equal(rig_count(&r, -1), 0);
    assert_int_equal(try_launch(&r, "cpu", "", 3, "2"), ST_OK);
    assert_int_equal(rig_count(&r, -1), 3);
    rig_done(&r);
}

static void test_throttle(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "throttle", "3");
    rig_option(&r, "throttle.retry_after", "1500ms");
    sim_open(&r);
    uint32_t turned_away = 0;
    for (int i = 0; i < 9; i++) {
        struct call *c = rig_list(&r);
        if (c->status == ST_THROTTLED) {
            turned_away++;
            assert_int_equal(c->err.retry_after_ms, 1500);
        } else {
            assert_int_equal(c->status, ST_OK);
        }
        call_free(c);
    }
    assert_int_equal(turned_away, 3);
    rig_done(&r);
    sim_init(&r);
    rig_option(&r, "throttle.per_minute", "4");
    sim_open(&r);
    for (int i = 0; i < 6; i++) {
        struct call *c = rig_list(&r);
        assert_int_equal(c->status, i < 4 ? ST_OK : ST_THROTTLED);
        if (i >= 4)
            assert_in_range(c->err.retry_after_ms, 30000, 60000);
        call_free(c);
    }
    rig_done(&r);
}

static void test_boot_failure(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "boot", "100ms");
    rig_option(&r, "fail.nth", "2");
    rig_option(&r, "fail.as", "stockout");
    sim_open(&r);
    assert_int_equal(try_launch(&r, "cpu", "", 3, "1"), ST_OK);
    UNTIL(rig_count(&r, DAVIT_RUNNING) == 2);
    struct call *c = rig_list(&r);
    uint32_t failed = 0;
    for (uint32_t i = 0; i < c->machines.n; i++)
        if (c->machines.v[i].phase == DAVIT_FAILED) {
            failed++;
            assert_int_equal(c->machines.v[i].failure, ST_STOCKOUT);
            struct call *e = rig_end(&r, c->machines.v[i].id, NULL);
            assert_int_equal(e->done[0], ST_OK);
            call_free(e);
        }
    call_free(c);
    assert_int_equal(failed, 1);
    assert_int_equal(rig_count(&r, -1), 2);
    rig_done(&r);
    /* By chance: about the share asked for, and the same every time. */
    uint32_t n[2];
    for (int k = 0; k < 2; k++) {
        sim_init(&r);
        rig_option(&r, "boot", "0s");
        rig_option(&r, "fail", "0.25");
        rig_option(&r, "seed", "7");
        sim_open(&r);
        assert_int_equal(try_launch(&r, "cpu", "", 1000, "1"), ST_OK);
        UNTIL(rig_count(&r, DAVIT_STARTING) == 0);
        n[k] = rig_count(&r, DAVIT_FAILED);
        rig_done(&r);
    }
    assert_int_equal(n[0], n[1]);
    assert_in_range(n[0], 200, 300);
}

static void test_lost_reply(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "lost_reply", "1");
    sim_open(&r);
    struct call *c = rig_launch(&r, "cpu", "", 3, "1");
    expect(c, ST_RETRY, 0);
    call_free(c);
    assert_int_equal(rig_count(&r, -1), 3);
    c = rig_launch(&r, "cpu", "", 3, "1");
    expect(c, ST_OK, 3);
    call_free(c);
    assert_int_equal(rig_count(&r, -1), 3);
    rig_done(&r);
}

static void test_slow_api(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "latency", "2s");
    rig_option(&r, "list_lag", "1h");
    sim_open(&r);
    struct call *c = rig_launch(&r, "cpu", "", 1, "1");
    expect(c, ST_OK, 1);
    assert_true(c->took_ms >= 2000);
    call_free(c);
    assert_int_equal(rig_count(&r, -1), 0); /* eventually consistent */
    c = rig_launch_new(&r, "cpu", "", 1, "2");
    call_submit(r.workers, c, 100);
    c = rig_take(&r);
    expect(c, ST_RETRY, 0); /* out of time before it did anything */
    call_free(c);
    c = rig_launch_new(&r, "cpu", "", 1, "3");
    call_submit(r.workers, c, 20000);
    /* wait: its answer is under way, or it is told before it begins */
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    atomic_store(&c->cancel, true);
    c = rig_take(&r);
    expect(c, ST_CANCELLED, 0);
    call_free(c);
    json_t *j = state_read(&r);
    assert_int_equal(json_array_size(json_object_get(j, "machines")), 1);
    json_decref(j);
    rig_done(&r);
}

static void test_faults(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "boot", "0s");
    sim_open(&r);
    assert_int_equal(try_launch(&r, "cpu", "", 2, "1"), ST_OK);
    fault(&r, "{\"stockout\": [\"t4@us-a\", \"quad\"]}");
    assert_int_equal(try_launch(&r, "t4", "us-a", 1, "2"), ST_STOCKOUT);
    assert_int_equal(try_launch(&r, "t4", "us-b", 1, "3"), ST_OK);
    assert_int_equal(try_launch(&r, "quad", "", 1, "4"), ST_STOCKOUT);
    fault(&r, "{\"quota\": {\"machines\": 4}}");
    assert_int_equal(try_launch(&r, "cpu", "", 2, "5"), ST_QUOTA);
    assert_int_equal(rig_count(&r, -1), 4);
    fault(&r, "{\"lost_reply\": 1, \"fail\": 1}");
    assert_int_equal(try_launch(&r, "cpu", "", 1, "6"), ST_RETRY);
    assert_int_equal(try_launch(&r, "cpu", "", 1, "7"), ST_OK);
    UNTIL(rig_count(&r, DAVIT_FAILED) == 1);
    struct call *c = rig_list(&r);
    expect(c, ST_OK, 6);
    char kill[200];
    snprintf(kill, sizeof kill, "{\"kill\": [\"%s\", 7]}", c->machines.v[0].id);
    fault(&r, kill);
    assert_int_equal(rig_count(&r, -1), 5);
    assert_int_equal(rig_count(&r, -1), 5);
    call_free(c);
    static const struct {
        const char *json;
        enum status want;
    } down[] = {{"{\"down\": true}", ST_RETRY},
                {"{\"auth\": 1}", ST_AUTH},
                {"{\"throttle\": true}", ST_THROTTLED},
                {"[]", ST_BROKEN},
                {"{\"stokout\": []}", ST_BROKEN},
                {"{\"quota\": 3}", ST_BROKEN},
                {"{\"auth\": [\"list\"]}", ST_AUTH},
                {"{\"auth\": [\"terminate\", \"launch\", 7]}", ST_OK},
                {"{\"down\": false}", ST_OK}};
    for (size_t i = 0; i < sizeof down / sizeof *down; i++) {
        fault(&r, down[i].json);
        c = rig_list(&r);
        assert_int_equal(c->status, down[i].want);
        call_free(c);
    }
    rig_done(&r);
}

/* A file that cannot be understood is never overwritten. */
static void test_damaged_state(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "{}",
        "[1]",
        "{\"davit_sim\": 2}",
        "{\"davit_sim\": 1, \"machines\": {}}",
        "{\"davit_sim\": 1, \"machines\": [{}], \"requests\": {}, "
        "\"attempts\": {}}",
        "{\"davit_sim\": 1, \"machines\": [7], \"requests\": {}, "
        "\"attempts\": {}}"};
    struct rig r;
    sim_init(&r);
    sim_open(&r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char back[200] = "";
        FILE *f = fopen(r.options[0].value, "w");
        fputs(bad[i], f);
        fclose(f);
        assert_int_equal(try_launch(&r, "cpu", "", 1, "1"), ST_BROKEN);
        struct call *c = rig_list(&r);
        expect(c, ST_BROKEN, 0);
        assert_has(c->err.text, "mend or remove it");
        call_free(c);
        f = fopen(r.options[0].value, "r");
        size_t n = fread(back, 1, sizeof back - 1, f);
        fclose(f);
        back[n] = '\0';
        assert_string_equal(back, bad[i]);
    }
    rig_done(&r);
}

static void test_unwritable(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    sim_open(&r);
    assert_int_equal(try_launch(&r, "cpu", "", 1, "1"), ST_OK);
    /* The new file's name is taken by a directory: as good as a full disk. */
    const char *block = rig_text("%s.new%s", r.options[0].value, "");
    assert_int_equal(mkdir(block, 0755), 0);
    struct call *c = rig_launch(&r, "cpu", "", 1, "2");
    expect(c, ST_RETRY, 0);
    assert_has(c->err.text, "cannot be written");
    call_free(c);
    assert_int_equal(rig_count(&r, -1), 1);
    rmdir(block);
    assert_int_equal(try_launch(&r, "cpu", "", 1, "2"), ST_OK);
    assert_int_equal(rig_count(&r, -1), 2);
    rig_done(&r);
}

/* Four workers in each of two processes, repeating requests that they share:
 * exactly as many machines as there are requests. */
static void hammer(struct rig *r, int requests)
{
    int sent = 0, back = 0;
    for (int i = 0; i < requests; i++)
        for (int twice = 0; twice < 2; twice++, sent++) {
            char id[32];
            snprintf(id, sizeof id, "req-%d", i);
            call_submit(r->workers, rig_launch_new(r, "cpu", "", 2, id), 20000);
            if (i % 3 == 0 && twice == 0) {
                call_submit(r->workers, call_new(r->p, CALL_LIST, 1), 20000);
                sent++;
            }
        }
    for (; back < sent; back++) {
        struct call *c = rig_take(r);
        if (c->status != ST_OK ||
            (c->op == CALL_LAUNCH && c->machines.n != 2)) {
            fprintf(stderr, "%s: %s\n", status_name(c->status), c->err.text);
            _exit(1);
        }
        call_free(c);
    }
}

static void test_many_hands(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    workers_free(r.workers, PATIENCE_MS); /* no thread while we fork */
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct rig other;
        sim_init(&other);
        other.options[0].value = r.options[0].value;
        sim_open(&other);
        hammer(&other, 30);
        rig_done(&other);
        _exit(0);
    }
    r.workers = workers_new(4, 8, &r.box);
    sim_open(&r);
    hammer(&r, 30);
    int st = 1;
    assert_int_equal(waitpid(pid, &st, 0), pid);
    assert_int_equal(st, 0);
    assert_int_equal(rig_count(&r, -1), 60);
    rig_done(&r);
}

/* Whatever call fails, and with whatever: asking again until it works gives
 * exactly what was asked for, and ending it leaves nothing. */
static void test_torture(void **state)
{
    (void)state;
    static const char *const as[] = {"RETRY",     "THROTTLED", "STOCKOUT",
                                     "QUOTA",     "BROKEN",    "AUTH",
                                     "CANCELLED", "NOT_FOUND"};
    for (int every = 2; every <= 5; every++)
        for (size_t k = 0; k < sizeof as / sizeof *as; k++) {
            struct rig r;
            char n[16];
            sim_init(&r);
            snprintf(n, sizeof n, "%d", every);
            rig_option(&r, "error.every", n);
            rig_option(&r, "error.as", as[k]);
            rig_option(&r, "lost_reply.0", "1");
            rig_option(&r, "lost_reply.1", "3");
            rig_option(&r, "terminate", "0s");
            sim_open(&r);
            for (int q = 0; q < 4; q++) {
                char id[16];
                snprintf(id, sizeof id, "%d", q);
                int tries = 0;
                while (try_launch(&r, "cpu", "", 2, id) != ST_OK)
                    assert_true(++tries < 5);
            }
            struct call *c = rig_list(&r);
            if (c->status != ST_OK) {
                call_free(c);
                c = rig_list(&r);
            }
            expect(c, ST_OK, 8);
            for (uint32_t i = 0; i < 8; i++)
                for (int tries = 0;; tries++) {
                    struct call *e = rig_end(&r, c->machines.v[i].id, NULL);
                    bool gone = e->status == ST_OK;
                    call_free(e);
                    if (gone)
                        break;
                    assert_true(tries < 5);
                }
            call_free(c);
            json_t *j = state_read(&r);
            assert_int_equal(json_array_size(json_object_get(j, "machines")),
                             0);
            json_decref(j);
            rig_done(&r);
        }
}

static void test_boot_range(void **state)
{
    (void)state;
    struct rig r;
    sim_init(&r);
    rig_option(&r, "boot", "20s-40s");
    sim_open(&r);
    assert_int_equal(try_launch(&r, "cpu", "", 200, "1"), ST_OK);
    json_t *j = state_read(&r), *m;
    size_t i, early = 0;
    json_array_foreach(json_object_get(j, "machines"), i, m) {
        json_int_t boots = json_integer_value(
                               json_object_get(m, "running_ms")) -
                           json_integer_value(json_object_get(m, "created_ms"));
        assert_in_range(boots, 20000, 40000);
        early += boots < 30000;
    }
    assert_in_range(early, 70, 130);
    json_decref(j);
    rig_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_life),
                                       cmocka_unit_test(test_idempotent),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_clusters),
                                       cmocka_unit_test(test_stockout),
                                       cmocka_unit_test(test_type_options),
                                       cmocka_unit_test(test_quota),
                                       cmocka_unit_test(test_all_or_nothing),
                                       cmocka_unit_test(test_throttle),
                                       cmocka_unit_test(test_boot_failure),
                                       cmocka_unit_test(test_lost_reply),
                                       cmocka_unit_test(test_slow_api),
                                       cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_damaged_state),
                                       cmocka_unit_test(test_unwritable),
                                       cmocka_unit_test(test_many_hands),
                                       cmocka_unit_test(test_torture),
                                       cmocka_unit_test(test_boot_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
