/*
 * test_control_lately.c - pending work that room may have gone to a moment ago is
 * in doubt for a while, and no longer: a Ray head shows a task that a node has
 * taken as pending until its next round of questions.
 */
#include "control/sources/inside.h"
#include "control_rig.h"
#include "model/amount.h"

static const struct source_ops ray = {.kind = "ray", .two_looks = true};

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, &ray, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

/* ---- views */

struct row { /* a node with 4 GPUs and 8 CPUs */
    const char *id, *type;
    int gpus, cpus; /* that are free */
    bool dead;
};

struct wait { /* tasks of one shape */
    int gpus, cpus;
    uint32_t count;
};

static struct qtys amounts(struct arena *a, int gpus, int cpus)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, 2);
    uint32_t n = 0;

    if (cpus >= 0)
        v[n++] = (struct qty){"CPU", cpus * AMOUNT_ONE};
    if (gpus >= 0)
        v[n++] = (struct qty){"GPU", gpus * AMOUNT_ONE};
    return (struct qtys){v, n};
}

static const struct source_node *nodes_of(struct arena *a, const struct row *r,
                                          uint32_t n)
{
    struct source_node *v = ARENA_ARRAY(a, struct source_node, n);

    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct source_node){
            .node_id = r[i].id,
            .instance_id = r[i].id,
            .type = r[i].type,
            .machine = "",
            .zone = "",
            .address = "",
            .activity = "",
            .note = "",
            .status = r[i].dead ? SOURCE_DEAD : SOURCE_RUNNING,
            .idle_ms = -1,
            .total = amounts(a, 4, 8),
            .available = amounts(a, r[i].gpus, r[i].cpus)};
    return v;
}

static struct snap_demand *demand_of(struct arena *a, enum demand_source source,
                                     const struct wait *w, uint32_t n)
{
    struct snap_demand *d = ARENA_NEW(a, struct snap_demand);
    struct snap_bundle *v = ARENA_ARRAY(a, struct snap_bundle, n);

    for (uint32_t i = 0; i < n; i++) {
        struct snap_alt *alt = ARENA_NEW(a, struct snap_alt);

        alt->resources = amounts(a, w[i].gpus, w[i].cpus);
        v[i] = (struct snap_bundle){
            .alts = alt, .n_alts = 1, .count = w[i].count};
    }
    *d = (struct snap_demand){
        .source = source,
        .strategy = source == SOURCE_GANG ? STRATEGY_PACK : STRATEGY_NONE,
        .owner = "ray",
        .id = "",
        .bundles = v,
        .n_bundles = n};
    return d;
}

static const char *session = "s";
static enum demand_source source = SOURCE_TASK;

static void viewed(const struct row *r, uint32_t n, const struct wait *w,
                   uint32_t waits)
{
    struct source_job *j = source_job_new(&rig.sources.all[0], SOURCE_READ,
                                          1000);
    struct arena *a;

    j->view = source_view_new();
    a = &j->view->arena;
    j->view->session = session;
    j->view->v2 = true;
    j->view->nodes = nodes_of(a, r, n);
    j->view->n_nodes = n;
    j->view->demands = demand_of(a, source, w, waits);
    j->view->n_demands = 1;
    source_job_submit(j);
    sources_fold(&rig.sources, &rig_job()->mail);
}

#define VIEWED(rows, waits) \
    viewed(rows, sizeof(rows) / sizeof *(rows), waits, \
           sizeof(waits) / sizeof *(waits))

/* The same twice: two looks are not what is tried here. */
#define VIEWED_TWICE(rows, waits) \
    do { \
        VIEWED(rows, waits); \
        rig_pass(100); \
        VIEWED(rows, waits); \
    } while (0)

static struct taken taken;

/* What a plan would buy for, of row i of what waits. */
static uint32_t sure(uint32_t row)
{
    struct status_page *page = status_new();
    const struct snap_demand *d;
    const struct snap_alt *alts;
    uint32_t n = 0;

    taken = snapshot_take(&rig.known, page);
    alts = rig.sources.all[0].view->demands[0].bundles[row].alts;
    for (uint32_t i = 0; i < taken.snapshot->n_demands; i++) {
        d = &taken.snapshot->demands[i];
        for (uint32_t k = 0; k < d->n_bundles; k++)
            if (d->bundles[k].alts == alts && !d->bundles[k].unconfirmed)
                n += d->bundles[k].count;
    }
    status_unref(page);
    return n;
}

/* ---- */

/* What a busy run in CI met: two actors, two nodes came, and the head shows both
 * actors as pending for a second after they are placed. */
static void test_what_was_taken_is_not_bought_for_again(void **state)
{
    static const struct row empty[] = {{"a", "t", 4, 8, 0},
                                       {"b", "t", 4, 8, 0}};
    static const struct row full[] = {{"a", "t", 0, 7, 0}, {"b", "t", 0, 7, 0}};
    static const struct wait two[] = {{4, 1, 2}};

    (void)state;
    VIEWED_TWICE(empty, two);
    assert_int_equal(sure(0), 2);
    assert_true(taken.confirmed_ms == INT64_MAX);
    rig_pass(100);
    VIEWED_TWICE(full, two);
    assert_int_equal(sure(0), 0);
    assert_false(taken.unconfirmed); /* looking sooner is no help */
    assert_int_equal(taken.confirmed_ms,
                     rig.env.mono_ms - 100 + LATELY_DOUBT_MS);
}

/* It still waits: it is other work, and nothing is said about when. */
static void test_what_still_waits_is_bought_for(void **state)
{
    static const struct row empty[] = {{"a", "t", 4, 8, 0}};
    static const struct row full[] = {{"a", "t", 0, 7, 0}};
    static const struct wait one[] = {{4, 1, 1}};

    (void)state;
    VIEWED_TWICE(empty, one);
    VIEWED_TWICE(full, one);
    assert_int_equal(sure(0), 0);
    rig_pass(LATELY_DOUBT_MS - 101);
    VIEWED(full, one);
    assert_int_equal(sure(0), 0);
    rig_pass(1);
    assert_int_equal(sure(0), 1);
    assert_true(taken.confirmed_ms == INT64_MAX);
}

/* As many as may lie there, not all. */
static void test_only_so_many_are_in_doubt(void **state)
{
    static const struct row empty[] = {{"a", "t", 4, 8, 0},
                                       {"b", "t", 4, 8, 0}};
    static const struct row full[] = {{"a", "t", 1, 2, 0}, {"b", "t", 4, 8, 0}};
    static const struct wait some[] = {
        {1, 2, 10},  /* three GPUs and six CPUs went: three */
        {2, 1, 10},  /* one */
        {4, 1, 10},  /* no node lost four */
        {-1, 1, 10}, /* six */
        {0, -1, 1},  /* takes no room that could tell */
    };

    (void)state;
    VIEWED_TWICE(empty, some);
    VIEWED_TWICE(full, some);
    assert_int_equal(sure(0), 7);
    assert_int_equal(sure(1), 9);
    assert_int_equal(sure(2), 10);
    assert_int_equal(sure(3), 4);
    assert_int_equal(sure(4), 1);
}

/* What a loaded run met: two actors wait at the head's raylet, the first node
 * comes, gets both, takes one, and the other stands in line there: three wait,
 * until the head's raylet has answered again. */
static void test_what_stands_in_line_there_is_not_bought_for_again(void **state)
{
    static const struct row empty[] = {{"a", "t", 4, 8, 0}};
    static const struct row full[] = {{"a", "t", 0, 8, 0}};
    static const struct wait two[] = {{4, 0, 2}}, three[] = {{4, 0, 3}};
    static const struct wait quarters[] = {{1, 0, 8}}, more[] = {{1, 0, 12}};
    static const struct wait rest[] = {{1, 0, 4}};

    (void)state;
    VIEWED_TWICE(empty, two);
    VIEWED_TWICE(full, three);
    assert_int_equal(sure(0), 1);
    assert_int_equal(taken.confirmed_ms,
                     rig.env.mono_ms - 100 + LATELY_DOUBT_MS);
    rig_pass(LATELY_DOUBT_MS - 100);
    VIEWED(full, three);
    assert_int_equal(sure(0), 3);

    VIEWED_TWICE(empty, quarters);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(empty, quarters);
    VIEWED_TWICE(full, more);
    assert_int_equal(sure(0), 4);
    VIEWED_TWICE(full, rest); /* it answered: 8 less, and no more in line */
    assert_int_equal(sure(0), 0);
}

/* What a run in CI met: an actor waits at the head's raylet; a node comes, gets it
 * and does not know its job yet, so it stands in line there while all of the room
 * is free: two wait, and there is room for one. */
static void test_in_line_before_its_room_goes(void **state)
{
    static const struct row empty[] = {{"a", "t", 4, 8, 0}};
    static const struct row busy[] = {{"a", "t", 0, 8, 0}};
    static const struct wait one[] = {{4, 0, 1}}, two[] = {{4, 0, 2}};
    static const struct wait many[] = {{4, 0, 9}};

    (void)state;
    VIEWED_TWICE(empty, one);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(empty, one);
    assert_int_equal(sure(0), 1);
    VIEWED_TWICE(empty, two);
    assert_int_equal(sure(0), 1);
    assert_int_equal(taken.confirmed_ms,
                     rig.env.mono_ms - 100 + LATELY_DOUBT_MS);
    VIEWED_TWICE(empty, one); /* the head's raylet answered */
    assert_int_equal(sure(0), 1);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(empty, one);
    VIEWED_TWICE(empty, many); /* one of nine may be there twice */
    assert_int_equal(sure(0), 8);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(empty, many);
    assert_int_equal(sure(0), 9);
    VIEWED_TWICE(busy, one);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(busy, one);
    VIEWED_TWICE(busy, two); /* no room went, none is left */
    assert_int_equal(sure(0), 2);
}

/* Each of those that waited may stand in another line, no other: work that came
 * with the room that went is bought for. */
static void test_new_work_is_no_second_line(void **state)
{
    static const struct row empty[] = {{"a", "t", 4, 8, 0}};
    static const struct row full[] = {{"a", "t", 3, 8, 0}};
    static const struct row none[] = {{"a", "t", 0, 8, 0}};
    static const struct row less[] = {{"a", "t", 0, 1, 0}};
    static const struct wait one[] = {{1, 0, 1}}, many[] = {{1, 0, 30}};
    static const struct wait other[] = {{2, 0, 9}, {1, 0, 9}};

    (void)state;
    VIEWED_TWICE(none, one);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(none, one);
    VIEWED_TWICE(none, many); /* no room went, none is left */
    assert_int_equal(sure(0), 30);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(empty, one);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(empty, one);
    VIEWED_TWICE(full, many);
    assert_int_equal(sure(0), 28); /* one in the room, one in line */
    VIEWED_TWICE(empty, one);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(empty, one);
    VIEWED_TWICE(full, other); /* of another shape none waited */
    assert_int_equal(sure(0), 9);
    assert_int_equal(sure(1), 7);
    VIEWED_TWICE(empty, one);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(none, one);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(none, one);
    VIEWED_TWICE(less, many); /* no room for it went */
    assert_int_equal(sure(0), 30);
}

/* On a busy cluster one task follows another: what waits is not in doubt for
 * ever. */
static void test_room_that_comes_counts_against_it(void **state)
{
    static const struct row before[] = {{"a", "t", 4, 8, 0},
                                        {"b", "t", 0, 8, 0}};
    static const struct row after[] = {{"a", "t", 0, 8, 0},
                                       {"b", "t", 4, 8, 0}};
    static const struct row other[] = {{"a", "t", 0, 8, 0},
                                       {"b", "t", 3, 8, 0}};
    static const struct wait w[] = {{1, 0, 9}};

    (void)state;
    VIEWED_TWICE(before, w);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(after, w);
    assert_int_equal(sure(0), 9);
    VIEWED_TWICE(other, w); /* from its highest on */
    assert_int_equal(sure(0), 8);
    VIEWED_TWICE(after, w);
    assert_int_equal(sure(0), 9);
}

/* What came free on another type is no room for what runs on this one. */
static void test_types_are_counted_apart(void **state)
{
    static const struct row before[] = {{"a", "t", 4, 8, 0},
                                        {"b", "u", 0, 8, 0}};
    static const struct row after[] = {{"a", "t", 0, 8, 0},
                                       {"b", "u", 4, 8, 0}};
    static const struct wait w[] = {{4, 0, 1}};

    (void)state;
    VIEWED_TWICE(before, w);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(after, w);
    assert_int_equal(sure(0), 0);
}

/* A node that joined and took work between two looks. */
static void test_a_new_node_had_all_its_room(void **state)
{
    static const struct row one[] = {{"a", "t", 0, 8, 0}};
    static const struct row two[] = {{"a", "t", 0, 8, 0}, {"b", "t", 0, 7, 0}};
    static const struct wait w[] = {{4, 1, 2}};

    (void)state;
    VIEWED_TWICE(one, w);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(one, w);
    assert_int_equal(sure(0), 2);
    VIEWED_TWICE(two, w);
    assert_int_equal(sure(0), 1);
}

/* An actor whose node died is pending again: two looks, no more. */
static void test_a_death_takes_no_room(void **state)
{
    static const struct row alive[] = {{"a", "t", 0, 8, 0},
                                       {"b", "t", 0, 7, 0}};
    static const struct row dead[] = {{"a", "t", 0, 8, 0}, {"b", "t", 0, 0, 1}};
    static const struct wait none[] = {{4, 1, 0}}, one[] = {{4, 1, 1}};

    (void)state;
    VIEWED_TWICE(alive, none);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED_TWICE(dead, one);
    assert_int_equal(sure(0), 1);
}

/* Nothing is known of what was there before the first view, or before a head
 * that began anew: all that is in use may be new. */
static void test_a_first_view_tells_nothing(void **state)
{
    static const struct row full[] = {{"a", "t", 0, 7, 0}};
    static const struct wait w[] = {{4, 1, 1}};

    (void)state;
    VIEWED_TWICE(full, w);
    assert_int_equal(sure(0), 0);
    rig_pass(LATELY_DOUBT_MS);
    VIEWED(full, w);
    assert_int_equal(sure(0), 1);
    session = "another";
    VIEWED_TWICE(full, w);
    session = "s";
    assert_int_equal(sure(0), 0);
}

/* The head knows itself which groups wait. */
static void test_groups_are_never_in_doubt(void **state)
{
    static const struct row empty[] = {{"a", "t", 4, 8, 0}};
    static const struct row full[] = {{"a", "t", 0, 7, 0}};
    static const struct wait one[] = {{4, 1, 1}};

    (void)state;
    source = SOURCE_GANG;
    VIEWED_TWICE(empty, one);
    VIEWED_TWICE(full, one);
    assert_int_equal(sure(0), 1);
    source = SOURCE_TASK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_what_was_taken_is_not_bought_for_again),
        TEST(test_what_still_waits_is_bought_for),
        TEST(test_only_so_many_are_in_doubt),
        TEST(test_what_stands_in_line_there_is_not_bought_for_again),
        TEST(test_in_line_before_its_room_goes),
        TEST(test_new_work_is_no_second_line),
        TEST(test_room_that_comes_counts_against_it),
        TEST(test_types_are_counted_apart),
        TEST(test_a_new_node_had_all_its_room),
        TEST(test_a_death_takes_no_room),
        TEST(test_a_first_view_tells_nothing),
        TEST(test_groups_are_never_in_doubt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
