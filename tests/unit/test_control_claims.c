/*
 * test_control_claims.c - nodes that say that they are a machine: whose word
 * counts, and that no word of a node ends the work on another one.
 */
#include <openssl/sha.h>

#include "control/observe.h"
#include "control/ours.h"
#include "control/sources/inside.h"
#include "control_rig.h"
#include "seed.h"

static const struct source_ops ray = {.kind = "ray"};
static const struct source_ops kube = {
    .kind = "kubernetes", .waits = true, .by_address = true};

static int start_ray(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &ray, 1);
    return 0;
}

static int start_kube(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &kube, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

/* names: the node's, in the order of who stands for them. */
static struct source_node node(const char *id, const char *const *names,
                               uint32_t n, uint32_t vouched, uint32_t given,
                               enum source_status status)
{
    static const struct qty all[] = {{"CPU", 40000}, {"GPU", 10000}};

    return (struct source_node){
        .total = {all, 2},
        .available = {all, 2},
        .node_id = id,
        .instance_id = "",
        .aliases = {names, n},
        .n_vouched = vouched,
        .n_given = given,
        .type = "",
        .machine = "",
        .zone = "",
        .address = "",
        .activity = "",
        .note = "",
        .status = status,
        .idle_ms = status == SOURCE_IDLE ? 3600000 : -1,
    };
}

static void viewed(const struct source_node *nodes, uint32_t n)
{
    struct source *h = &rig.sources.all[0];
    struct source_job *j = source_job_new(h, SOURCE_READ, 1000);

    j->status = ST_OK;
    j->view = source_view_new();
    j->view->session = "s";
    j->view->v2 = true;
    j->view->nodes = arena_copy(&j->view->arena, nodes, n * sizeof *nodes);
    j->view->n_nodes = n;
    h->asked_ms = rig.env.now_ms;
    source_job_submit(j);
    sources_fold(&rig.sources, &rig_job()->mail);
}

/* As the planner sees it. */
static struct snap_node seen(const struct machine *m)
{
    struct status_page *page = status_new();
    struct taken taken = snapshot_take(&rig.known, page);
    struct snap_node ret = {0};

    for (uint32_t i = 0; i < taken.snapshot->n_nodes; i++)
        if (taken.machines[i] == m)
            ret = taken.snapshot->nodes[i];
    ret.activity = ret.note = "";
    status_unref(page);
    return ret;
}

static bool stop_is(const char *kind)
{
    struct status_page *page = status_new();
    struct ends ends = {.env = &rig.env};
    bool found = false;

    stops_show(&rig.known, &ends, page);
    for (uint32_t i = 0; i < page->n_stops; i++)
        found = found || strcmp(page->stops[i].kind, kind) == 0;
    status_unref(page);
    return found;
}

/* Does the stop name them both? */
static bool told_of(const char *one, const char *other)
{
    struct status_page *page = status_new();
    struct ends ends = {.env = &rig.env};
    bool found = false;

    stops_show(&rig.known, &ends, page);
    for (uint32_t i = 0; i < page->n_stops; i++)
        found = found || (strcmp(page->stops[i].kind, "node_claimed") == 0 &&
                          strstr(page->stops[i].text, one) &&
                          strstr(page->stops[i].text, other));
    status_unref(page);
    return found && rig_emitted("node.claimed");
}

static void later(int64_t ms)
{
    struct observe o = {.env = &rig.env,
                        .ledger = &rig.ledger,
                        .conf = &rig.conf,
                        .providers = &rig.providers,
                        .sources = &rig.sources};

    rig_pass(ms);
    observe_deadlines(&o);
}

static const char *const labelled[] = {"worker-1", "m"};
static const char *const twin_label[] = {"evil", "m"};
static const char *const twin_address[] = {"evil", "m"};
static const char *const vouched[] = {"worker-1", "zones/a/i-1", "i-1"};

static void test_a_twin_by_label(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    const struct source_node v[] = {
        node("worker-1", labelled, 2, 1, 1, SOURCE_RUNNING),
        node("evil", twin_label, 2, 1, 1, SOURCE_IDLE)};

    (void)state;
    viewed(v, 1);
    assert_int_equal(m->state, STATE_READY);
    for (int i = 0; i < 50; i++) {
        later(60000);
        viewed(v, 2);
        assert_int_equal(m->state, STATE_READY);
        assert_string_equal(m->ray_id, "worker-1");
        assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
        assert_true(seen(m).idle_ms < 0);
    }
    assert_true(told_of("worker-1", "evil"));
    viewed(v, 1);
    assert_false(told_of("worker-1", "evil"));
    assert_int_not_equal(seen(m).hold, REASON_KEEP_CONTESTED);
}

static void test_a_twin_by_address_is_less(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    const struct source_node v[] = {
        node("worker-1", vouched, 3, 3, 0, SOURCE_RUNNING),
        node("evil", twin_address, 2, 1, 0, SOURCE_IDLE)};

    (void)state;
    viewed(v, 2);
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(m->ray_id, "worker-1");
    assert_true(told_of("worker-1", "evil"));
    assert_int_not_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    /* Its node vanishes from the list: the other one is not it all the same. */
    viewed(v + 1, 1);
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(m->ray_id, "worker-1");
    assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
}

static void test_a_twin_that_comes_first(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    const struct source_node v[] = {
        node("evil", twin_address, 2, 1, 0, SOURCE_IDLE),
        node("worker-1", vouched, 3, 3, 0, SOURCE_RUNNING)};

    (void)state;
    viewed(v, 1);
    assert_int_equal(m->state, STATE_READY);
    for (int i = 0; i < 20; i++) {
        later(60000);
        viewed(v, 2);
        assert_int_equal(m->state, STATE_READY);
        assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    }
    assert_true(told_of("worker-1", "evil"));
}

/* Nothing decides, and its time does not run out. */
static void test_twins_of_a_machine_that_has_not_joined(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    const struct source_node v[] = {
        node("worker-1", labelled, 2, 1, 1, SOURCE_RUNNING),
        node("evil", twin_label, 2, 1, 1, SOURCE_RUNNING)};

    (void)state;
    for (int i = 0; i < 20; i++) {
        later(60000);
        viewed(v, 2);
        assert_int_equal(m->state, STATE_STARTING);
        assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    }
    assert_true(told_of("worker-1", "evil"));
    viewed(v, 1);
    assert_int_equal(m->state, STATE_READY);
}

/* A node that the cloud says is another machine of ours is not this one. */
static void test_a_node_is_one_machine(void **state)
{
    static const char *const names[] = {"worker-2", "i-2", "m", "10.0.0.1"};
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct machine *other = rig_machine("n", STATE_STARTING, "i-2");
    const struct source_node v = node("worker-2", names, 4, 2, 1, SOURCE_IDLE);

    (void)state;
    MACHINE_SET(m, address, "10.0.0.1");
    viewed(&v, 1);
    assert_int_equal(m->state, STATE_STARTING);
    assert_int_equal(other->state, STATE_READY);
    assert_false(rig_emitted("node.claimed"));
}

/* Ray: a job that registers a node with another machine's id. */
static void test_ray_nodes_with_one_id(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");
    struct source_node v[] = {node("bb", NULL, 0, 0, 0, SOURCE_RUNNING),
                              node("aa", NULL, 0, 0, 0, SOURCE_IDLE)};

    (void)state;
    v[0].instance_id = v[1].instance_id = "i-1";
    viewed(v, 1);
    assert_string_equal(m->ray_id, "bb");
    later(1000);
    viewed(v, 2); /* the lower id is the stranger's */
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(m->ray_id, "bb");
    assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    assert_true(told_of("aa", "bb"));
    v[0].status = SOURCE_DEAD; /* started again: that is no stranger */
    viewed(v, 2);
    assert_string_equal(m->ray_id, "aa");
    assert_int_not_equal(seen(m).hold, REASON_KEEP_CONTESTED);
}

/* ---- the join token */

enum { SHOWN_MAX = 33 };

/* As the start script has it: printf '%s %s' TOKEN ID | sha256sum | cut -c1-32 */
static const char *mark_of(const struct machine *m, char ret[SHOWN_MAX])
{
    unsigned char d[SHA256_DIGEST_LENGTH];
    char token[JOIN_TOKEN_MAX], text[256];

    ours_join_token(&rig.ledger, m->request_id, token);
    assert_int_equal(strlen(token), 32);
    snprintf(text, sizeof text, "%s %s", token, m->cloud_id);
    SHA256((const unsigned char *)text, strlen(text), d);
    for (int i = 0; i < 16; i++)
        snprintf(ret + 2 * i, 3, "%02x", d[i]);
    return ret;
}

static struct machine *given(const char *id, const char *request,
                             const char *cloud_id)
{
    struct machine *m = rig_machine(id, STATE_STARTING, cloud_id);

    ours_join_key(&rig.ledger);
    MACHINE_SET(m, request_id, request);
    return m;
}

/* Its node is found at once beside one with its label, and whoever copies what it
 * shows comes too late. */
static void test_a_token_is_for_one_node(void **state)
{
    struct machine *m = given("m", "davit-abcdef01", "i-1");
    char mark[SHOWN_MAX];
    struct source_node v[] = {
        node("worker-1", twin_address, 2, 1, 0, SOURCE_RUNNING),
        node("evil", twin_label, 2, 1, 1, SOURCE_IDLE)};

    (void)state;
    v[0].mark = mark_of(m, mark);
    viewed(v, 2);
    assert_int_equal(m->state, STATE_READY);
    assert_string_equal(m->ray_id, "worker-1");
    assert_true(told_of("worker-1", "evil"));
    v[1].mark = mark;
    for (int i = 0; i < 20; i++) {
        later(60000);
        viewed(v, 2);
        assert_string_equal(m->ray_id, "worker-1");
        assert_int_not_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    }
    /* It has gone, and who copied it is nobody else. */
    viewed(v + 1, 1);
    v[0].node_id = "worker-1b";
    viewed(v, 2);
    assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
}

/* Of another machine of its launch, of another launch, without a key, too short. */
static void test_marks_that_are_none(void **state)
{
    struct machine *m = given("m", "davit-abcdef01", "i-1");
    struct machine *same = given("n", "davit-abcdef01", "i-2");
    struct machine *other = given("o", "davit-abcdef02", "i-1");
    char a[SHOWN_MAX], b[SHOWN_MAX], c[SHOWN_MAX],
        key[sizeof rig.ledger.ours.join_key];

    (void)state;
    assert_true(ours_join_mark_is(&rig.ledger, m, mark_of(m, a)));
    assert_false(ours_join_mark_is(&rig.ledger, m, mark_of(same, b)));
    assert_false(ours_join_mark_is(&rig.ledger, m, mark_of(other, c)));
    assert_false(ours_join_mark_is(&rig.ledger, m, ""));
    assert_false(ours_join_mark_is(&rig.ledger, m, NULL));
    assert_false(ours_join_mark_is(&rig.ledger, m, "0123"));
    memcpy(key, rig.ledger.ours.join_key, sizeof key);
    rig.ledger.ours.join_key[0] = '\0';
    assert_false(ours_join_mark_is(&rig.ledger, m, a));
    /* The key is in the journal: a daemon that starts again knows it. */
    assert_int_equal(ours_open(&rig.ledger, NULL), ST_OK);
    assert_string_equal(rig.ledger.ours.join_key, key);
    assert_true(ours_join_mark_is(&rig.ledger, m, a));
}

/* A raylet that is started again on the machine has the mark again. */
static void test_a_token_and_a_raylet_that_starts_again(void **state)
{
    struct machine *m = given("m", "davit-abcdef01", "i-1");
    char mark[SHOWN_MAX];
    struct source_node v[] = {node("bb", NULL, 0, 0, 0, SOURCE_RUNNING),
                              node("aa", NULL, 0, 0, 0, SOURCE_IDLE)};

    (void)state;
    v[0].instance_id = v[1].instance_id = "i-1";
    v[0].mark = mark_of(m, mark);
    viewed(v, 1);
    later(1000);
    viewed(v, 2); /* a job that registers a node with the machine's id */
    assert_string_equal(m->ray_id, "bb");
    assert_int_not_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    v[0].status = SOURCE_DEAD;
    viewed(v, 2); /* less stands for that one */
    assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    v[1].mark = mark;
    viewed(v, 2);
    assert_string_equal(m->ray_id, "aa");
    assert_int_not_equal(seen(m).hold, REASON_KEEP_CONTESTED);
}

/* Missing is told as such, and as claimed when a node says so for which less stands;
 * of each machine one of the two.  Once a person wants it drained, that node is. */
static void test_missing_and_claimed_by_less(void **state)
{
    struct machine *m = given("m", "davit-abcdef01", "i-1");
    char mark[SHOWN_MAX];
    struct source_node v[] = {node("bb", NULL, 0, 0, 0, SOURCE_RUNNING),
                              node("aa", NULL, 0, 0, 0, SOURCE_RUNNING)};

    (void)state;
    v[0].instance_id = v[1].instance_id = "i-1";
    v[0].mark = mark_of(m, mark);
    viewed(v, 1);
    later(1000);
    viewed(v, 0);
    assert_int_equal(m->state, STATE_STARTING);
    assert_int_equal(seen(m).hold, REASON_KEEP_MISSING);
    for (int i = 0; i < 20; i++) {
        rig_pass(60000);
        rig_site()->listed_ms = rig_site()->list_begun_ms = rig.env.now_ms;
        viewed(v, 0);
        later(0);
    }
    assert_int_equal(m->why, REASON_END_FAILED);
    assert_true(stop_is("machines_missing") && !stop_is("node_claimed"));
    viewed(v + 1, 1); /* a raylet that somebody started there, say */
    assert_int_equal(seen(m).hold, REASON_KEEP_CONTESTED);
    assert_true(stop_is("node_claimed") && !stop_is("machines_missing"));
    viewed(v, 0);
    assert_int_equal(seen(m).hold, REASON_KEEP_MISSING);
    assert_true(stop_is("machines_missing") && !stop_is("node_claimed"));
    viewed(v + 1, 1);
    assert_string_equal(m->ray_id, "");
    m->asked_to_end = true;
    machine_to(&rig.ledger, m, STATE_DRAINING);
    viewed(v + 1, 1);
    assert_string_equal(m->ray_id, "aa");
    assert_false(m->maybe.contested);
}

/* ---- any claims at all */

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

enum { HOSTILE = 4, ROUNDS = 40, WORLDS = 400, NAMES = 6, MARKS = 4 };

static const char *const pool[] = {"m", "i-1", "zones/a/i-1", "10.0.0.1",
                                   "n", "i-2", "10.0.0.2",    "worker-1"};
static const char *const ids[] = {"evil-0", "evil-1", "aaa", "zzz"};

/* Its own name is vouched for, and the label or its own word all the others; it may
 * show any mark that it can know of. */
static struct source_node hostile(uint32_t i, const char **names,
                                  const char *const *marks, uint64_t *x)
{
    struct source_node ret;
    uint32_t n = 1 + next_random(x) % (NAMES - 1), by = next_random(x) % 2;
    bool busy = next_random(x) % 2;

    names[0] = ids[i];
    for (uint32_t k = 1; k < n; k++)
        names[k] = pool[next_random(x) % (sizeof pool / sizeof *pool)];
    ret = node(ids[i], names, n, 1, by == 1 ? n - 1 : 0,
               next_random(x) % 4 == 0 ? SOURCE_UNREADY
               : busy                  ? SOURCE_RUNNING
                                       : SOURCE_IDLE);
    ret.mark = marks[next_random(x) % MARKS];
    return ret;
}

/* A busy node is the machine m from some round on, and says so in one way. */
static void world(uint64_t seed)
{
    static const char *const real[] = {"worker-1", "i-1", "m", "10.0.0.1"};
    struct machine *m = given("m", "davit-abcdef01", "zones/a/i-1");
    struct machine *other = given("n", "davit-abcdef01", "zones/a/i-2");
    char mark[SHOWN_MAX], others[SHOWN_MAX];
    const char *marks[MARKS] = {"", "ab", mark_of(other, others), ""};
    const char *names[HOSTILE][NAMES];
    struct source_node v[1 + HOSTILE];
    uint64_t x = seed;
    uint32_t by = next_random(&x) % 4, from = next_random(&x) % 4;
    bool is_there = false, joined = false, proved = false, is_away = false,
         was_away = false;
    char first = '\0'; /* of whom it was known as first */

    MACHINE_SET(m, address, "10.0.0.1");
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t n = 0, most = next_random(&x) % (HOSTILE + 1);

        is_there = is_there || round >= from;
        is_away = is_there && joined && next_random(&x) % 8 == 0;
        was_away = was_away || is_away;
        if (is_there && !is_away)
            v[n++] = node("worker-1", real, 4, by == 0 ? 2 : 1, by == 1 ? 2 : 0,
                          SOURCE_RUNNING);
        if (n && by == 3)
            v[0].mark = mark_of(m, mark);
        if (proved) /* it can be read by now */
            marks[3] = mark;
        for (uint32_t i = 0; i < most; i++)
            v[n++] = hostile(i, names[i], marks, &x);
        later(1 + (int64_t)(next_random(&x) % 120000));
        viewed(v, n);
        first = first || by != 3 ? first : *m->ray_id ? m->ray_id[0] : '\0';
        if (m->state > STATE_READY)
            fail_msg("seed %llu, round %u: %s is %s", (unsigned long long)seed,
                     round, m->id, state_name(m->state));
        if (!is_there || is_away)
            continue;
        joined = joined || m->state == STATE_READY;
        proved = proved || first == 'w'; /* nobody was it before */
        if (proved && !was_away && seen(m).hold == REASON_KEEP_CONTESTED)
            fail_msg("seed %llu, round %u: its token was checked, and others "
                     "keep it from being ended",
                     (unsigned long long)seed, round);
        if ((!was_away &&
             m->state != (joined ? STATE_READY : STATE_STARTING)) ||
            (strcmp(m->ray_id, "worker-1") != 0 &&
             seen(m).hold != REASON_KEEP_CONTESTED) ||
            (seen(m).idle_ms >= 0 && seen(m).hold != REASON_KEEP_CONTESTED))
            fail_msg("seed %llu, round %u: %s is %s, known as %s, hold %s",
                     (unsigned long long)seed, round, m->id,
                     state_name(m->state), m->ray_id,
                     reason_code(seen(m).hold));
    }
    (void)other;
}

static void test_no_claims_end_a_busy_machine(void **state)
{
    uint64_t seed = seed_of(0) * 2 + 1;

    (void)state;
    for (uint32_t i = 0; i < WORLDS; i++) {
        rig_start(RIG_CONFIG, &kube, 1);
        world(seed + 2 * i);
        rig_stop();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f, start) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_a_twin_by_label, start_kube),
        TEST(test_a_twin_by_address_is_less, start_kube),
        TEST(test_a_twin_that_comes_first, start_kube),
        TEST(test_twins_of_a_machine_that_has_not_joined, start_kube),
        TEST(test_a_node_is_one_machine, start_kube),
        TEST(test_ray_nodes_with_one_id, start_ray),
        TEST(test_a_token_is_for_one_node, start_kube),
        TEST(test_marks_that_are_none, start_kube),
        TEST(test_a_token_and_a_raylet_that_starts_again, start_ray),
        TEST(test_missing_and_claimed_by_less, start_ray),
        cmocka_unit_test(test_no_claims_end_a_busy_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
