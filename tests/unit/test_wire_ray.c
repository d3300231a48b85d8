/*
 * test_wire_ray.c - replies of a Ray head, real-looking and hostile, to views;
 * the token's places; the report as it travels.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/base/text.h"
#include "../../autoscaler/model/accel.h"
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/wire/ray/inside.h"
#include "scratch.h"
#include "seed.h"
#include "wire_proto.h"
#include "wire_server.h"

#define HEX36 "1c5c626803acc16d9c4afd7d214501000000"
#define ONE AMOUNT_ONE

struct fixture {
    struct arena scratch;
    struct buf state, n, r, sel, more;
    struct err err;
    struct source_view *view;
};

static int up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct buf *all[] = {&f->state, &f->n, &f->r, &f->sel, &f->more};
    for (int i = 0; i < 5; i++)
        buf_init(all[i], PB_MAX);
    *state = f;
    return 0;
}

static int down(void **state)
{
    struct fixture *f = *state;
    struct buf *all[] = {&f->state, &f->n, &f->r, &f->sel, &f->more};
    for (int i = 0; i < 5; i++)
        buf_done(all[i]);
    source_view_unref(f->view);
    arena_done(&f->scratch);
    free(f);
    return 0;
}

static enum status read_bytes(struct fixture *f, const void *p, size_t n)
{
    arena_reset(&f->scratch);
    source_view_unref(f->view);
    f->view = source_view_new();
    return ray_view_parse(p, n, &f->scratch, f->view, &f->err);
}

/* The state that was put together, as a view. */
static struct source_view *parse(struct fixture *f)
{
    struct buf reply;
    buf_init(&reply, PB_MAX);
    pb_reply(&reply, &f->state);
    assert_int_equal(read_bytes(f, reply.s, reply.n), ST_OK);
    buf_done(&reply);
    /* the view keeps nothing of the two */
    arena_done(&f->scratch);
    return f->view;
}

/* f->r as a pending shape. */
static void put_task(struct fixture *f, int64_t count)
{
    pb_msg(&f->n, 1, &f->r);
    pb_int(&f->n, 2, count);
    pb_msg(&f->state, 4, &f->n);
}

static const struct snap_bundle *only_bundle(struct fixture *f)
{
    parse(f);
    assert_int_equal(f->view->n_demands, 1);
    assert_int_equal(f->view->demands[0].n_bundles, 1);
    return &f->view->demands[0].bundles[0];
}

static int64_t amount_of(struct qtys q, const char *name)
{
    for (uint32_t i = 0; i < q.n; i++)
        if (strcmp(q.v[i].name, name) == 0)
            return q.v[i].amount;
    return -1;
}

static const char *label_of(struct pairs p, const char *key)
{
    for (uint32_t i = 0; i < p.n; i++)
        if (strcmp(p.v[i].key, key) == 0)
            return p.v[i].value;
    return NULL;
}

static void put_shapes(struct fixture *f, int n, bool own_name)
{
    for (int i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof name, "own-%06d", i);
        pb_amount(&f->r, 1, "CPU", own_name ? 1 : (1 + i) / 10000.0);
        if (own_name)
            pb_amount(&f->r, 1, name, 1);
        put_task(f, 1);
    }
}

/* A head that names more than a plan has room for: what the most use stays. */
static void test_too_many_names(void **state)
{
    enum { N = 6000 };
    struct fixture *f = *state;
    uint32_t kept;

    put_shapes(f, N, true);
    parse(f);
    kept = f->view->demands[0].n_bundles;
    assert_in_range(kept, 256, (1 << 23) / N);
    assert_int_equal(f->view->n_crowded, N - kept);
    assert_int_equal(f->view->n_names_left, N - kept);
    for (uint32_t i = 0; i < kept; i++)
        assert_int_equal(f->view->demands[0].bundles[i].alts->resources.n, 2);
}

static void test_few_names_stay(void **state)
{
    struct fixture *f = *state;

    put_shapes(f, 1000, true);
    parse(f);
    assert_int_equal(f->view->demands[0].n_bundles, 1000);
    assert_int_equal(f->view->n_crowded + f->view->n_names_left, 0);
}

static void test_too_many_shapes(void **state)
{
    struct fixture *f = *state;

    put_shapes(f, 25000, false);
    parse(f);
    assert_int_equal(f->view->demands[0].n_bundles, 20000);
    assert_int_equal(f->view->n_crowded, 5000);
    assert_int_equal(f->view->n_names_left, 0);
}

/* What one holder gives back the other one keeps (ASan sees if not). */
static void test_view_is_counted(void **state)
{
    struct fixture *f = *state;
    struct source_view *kept;

    kept = source_view_ref(parse(f));
    source_view_unref(f->view);
    f->view = NULL;
    assert_string_equal(kept->session, "");
    source_view_unref(kept);
    source_view_unref(NULL);
}

/* ---- nodes */

static void test_empty(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(read_bytes(f, "", 0), ST_OK);
    assert_int_equal(f->view->n_nodes, 0);
    assert_int_equal(f->view->n_demands, 0);
    assert_string_equal(f->view->session, "");
}

static void test_node(void **state)
{
    struct fixture *f = *state;
    pb_bytes(&f->n, 1, "\x00\xff\x1a", 3);
    pb_str(&f->n, 2, "i-1");
    pb_str(&f->n, 3, "t4");
    pb_str(&f->n, 11, "g4dn.xlarge");
    pb_str(&f->n, 10, "10.0.0.7");
    pb_amount(&f->n, 5, "memory", 1024);
    pb_amount(&f->n, 5, "GPU", 4);
    pb_amount(&f->n, 5, "CPU", 8);
    pb_amount(&f->n, 5, "node:10.0.0.7", 1);
    pb_amount(&f->n, 5, "node:__internal_head__", 1);
    pb_amount(&f->n, 5, "accelerator_type:T4", 1);
    pb_amount(&f->n, 5, "CPU_group_" HEX36, 2);
    pb_amount(&f->n, 5, "CPU_group_0_" HEX36, 2);
    pb_amount(&f->n, 5, "bundle_group_" HEX36, 1000);
    pb_amount(&f->n, 5, "disk_group_a", 7); /* a user's own word */
    pb_amount(&f->n, 4, "CPU", 3.00004);
    pb_amount(&f->n, 4, "GPU", 99); /* more than there is */
    pb_amount(&f->n, 4, "disk_group_a", NAN);
    pb_amount(&f->n, 4, "ghost", 5);
    pb_int(&f->n, 8, 1);
    pb_int(&f->n, 9, 12345);
    pb_str(&f->n, 12, "Resource: CPU currently in use.");
    pb_str(&f->n, 12, "Resource: CPU_group_" HEX36 " currently in use.");
    pb_str(&f->n, 12, "Busy workers on node.");
    pb_label(&f->n, 13, "zone", "a");
    pb_label(&f->n, 13, SOURCE_JOIN_LABEL, "ab12");
    pb_label(&f->n, 6, "_PG_" HEX36, "");
    pb_msg(&f->state, 3, &f->n);
    pb_int(&f->state, 1, 77);
    pb_str(&f->state, 7, "session_x");
    struct source_view *v = parse(f);
    assert_int_equal(v->version, 77);
    assert_string_equal(v->session, "session_x");
    assert_int_equal(v->n_nodes, 1);
    const struct source_node *n = &v->nodes[0];
    assert_string_equal(n->node_id, "00ff1a");
    assert_string_equal(n->instance_id, "i-1");
    assert_string_equal(n->type, "t4");
    assert_string_equal(n->machine, "g4dn.xlarge");
    assert_string_equal(n->address, "10.0.0.7");
    assert_true(n->head);
    assert_int_equal(n->status, SOURCE_RUNNING);
    assert_int_equal(n->idle_ms, -1); /* only when idle */
    assert_string_equal(n->activity, "Resource: CPU currently in use.; "
                                     "Busy workers on node.");
    assert_int_equal(n->total.n, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(
            n->total.v[i].name,
            ((const char *[]){"CPU", "GPU", "disk_group_a", "memory"})[i]);
    assert_int_equal(amount_of(n->total, "memory"), 1024 * ONE);
    assert_int_equal(n->available.n, 4);
    assert_int_equal(amount_of(n->available, "CPU"), 3 * ONE);
    assert_int_equal(amount_of(n->available, "GPU"), 4 * ONE);
    assert_int_equal(amount_of(n->available, "disk_group_a"), 0);
    assert_int_equal(amount_of(n->available, "memory"), 0);
    assert_string_equal(label_of(n->labels, ACCEL_LABEL), "T4");
    assert_string_equal(label_of(n->labels, "zone"), "a");
    assert_null(label_of(n->labels, "_PG_" HEX36));
    assert_null(label_of(n->labels, SOURCE_JOIN_LABEL)); /* nodes stay alike */
    assert_string_equal(n->mark, "ab12");
}

static void test_node_states(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 6; i++) {
        unsigned char id = (unsigned char)(9 - i);
        pb_bytes(&f->n, 1, &id, 1);
        pb_int(&f->n, 8, i == 5 ? 99 : i);
        pb_int(&f->n, 9, i == 3 ? 500 : 7);
        pb_str(&f->n, 12, "Busy");
        pb_msg(&f->state, 3, &f->n);
    }
    struct source_view *v = parse(f);
    assert_int_equal(v->n_nodes, 6);
    for (uint32_t i = 1; i < 6; i++) /* sorted by id */
        assert_true(strcmp(v->nodes[i - 1].node_id, v->nodes[i].node_id) < 0);
    const struct source_node *idle = &v->nodes[2];
    assert_int_equal(idle->status, SOURCE_IDLE);
    assert_int_equal(idle->idle_ms, 500);
    assert_string_equal(idle->activity, "");
    assert_int_equal(v->nodes[0].status, SOURCE_UNSPECIFIED);
    assert_int_equal(v->nodes[5].status, SOURCE_UNSPECIFIED);
    assert_int_equal(v->nodes[1].status, SOURCE_DRAINING);
    assert_int_equal(v->nodes[3].status, SOURCE_DEAD);
    pb_int(&f->n, 8, 3);
    pb_int(&f->n, 9, -4);
    pb_msg(&f->state, 3, &f->n);
    assert_int_equal(parse(f)->nodes[0].idle_ms, -1);
}

static void test_node_label_wins_over_resource(void **state)
{
    struct fixture *f = *state;
    pb_amount(&f->n, 5, "accelerator_type:A100", 1);
    pb_label(&f->n, 13, ACCEL_LABEL, "nvidia-tesla-t4");
    pb_msg(&f->state, 3, &f->n);
    pb_amount(&f->n, 5, "accelerator_type:V100", 1);
    pb_amount(&f->n, 5, "accelerator_type:H100", 1);
    pb_bytes(&f->n, 1, "x", 1);
    pb_msg(&f->state, 3, &f->n);
    struct source_view *v = parse(f);
    assert_string_equal(label_of(v->nodes[0].labels, ACCEL_LABEL), "T4");
    assert_string_equal(label_of(v->nodes[1].labels, ACCEL_LABEL), "H100");
}

static void test_garbage_amounts_of_nodes(void **state)
{
    struct fixture *f = *state;
    pb_amount(&f->n, 5, "a", NAN);
    pb_amount(&f->n, 5, "b", -1);
    pb_amount(&f->n, 5, "c", INFINITY);
    pb_amount(&f->n, 5, "d", 1e300);
    pb_amount(&f->n, 5, "e", 0);
    pb_amount(&f->n, 5, "", 1);
    pb_amount(&f->n, 5, "good", 2);
    pb_amount(&f->n, 4, "good", -7);
    pb_msg(&f->state, 3, &f->n);
    const struct source_node *n = &parse(f)->nodes[0];
    assert_int_equal(n->total.n, 1);
    assert_int_equal(amount_of(n->total, "good"), 2 * ONE);
    assert_int_equal(amount_of(n->available, "good"), 0);
}

static void test_words_are_cleaned(void **state)
{
    struct fixture *f = *state;
    pb_bytes(&f->n, 2, "a\xff\xc3\x28\nb", 6);
    pb_bytes(&f->n, 3, "t\xe2\x82\xac", 4);
    pb_msg(&f->state, 3, &f->n);
    const struct source_node *n = &parse(f)->nodes[0];
    assert_string_equal(n->instance_id, "a?"
                                        "?(?b");
    assert_string_equal(n->type, "t\xe2\x82\xac");
}

/* ---- tasks */

static void test_tasks_grouped(void **state)
{
    struct fixture *f = *state;
    /* one shape three times, in any order of its words */
    pb_amount(&f->r, 1, "CPU", 1);
    pb_amount(&f->r, 1, "GPU", 0.25);
    pb_constraint(&f->sel, "zone", 1, "b|a|b");
    pb_constraint(&f->sel, "m", 2, "x");
    pb_msg(&f->r, 3, &f->sel);
    put_task(f, 3);
    pb_amount(&f->r, 1, "GPU", 0.25);
    pb_amount(&f->r, 1, "CPU", 1.00001);
    pb_amount(&f->r, 1, "zero", 0);
    pb_constraint(&f->sel, "m", 2, "x");
    pb_constraint(&f->sel, "zone", 1, "a|b");
    pb_constraint(&f->sel, "zone", 1, "b|a");
    pb_msg(&f->r, 3, &f->sel);
    put_task(f, 4);
    const struct snap_bundle *b = only_bundle(f);
    assert_int_equal(b->count, 7);
    assert_int_equal(b->n_alts, 1);
    assert_int_equal(b->alts[0].resources.n, 2);
    assert_int_equal(amount_of(b->alts[0].resources, "CPU"), ONE);
    assert_int_equal(amount_of(b->alts[0].resources, "GPU"), ONE / 4);
    assert_int_equal(b->alts[0].selector.n, 2);
    const struct term *t = b->alts[0].selector.v;
    assert_string_equal(t[0].key, "m");
    assert_int_equal(t[0].op, TERM_NOT_IN);
    assert_string_equal(t[1].key, "zone");
    assert_int_equal(t[1].values.n, 2);
    assert_string_equal(t[1].values.v[0], "a");
    const struct snap_demand *d = &f->view->demands[0];
    assert_int_equal(d->source, SOURCE_TASK);
    assert_int_equal(d->strategy, STRATEGY_NONE);
    assert_string_equal(d->owner, "ray");
    assert_string_equal(d->id, "");
}

static void test_accelerator_type(void **state)
{
    struct fixture *f = *state;
    pb_amount(&f->r, 1, "accelerator_type:T4", 0.001);
    pb_amount(&f->r, 1, "GPU", 1);
    pb_msg(&f->r, 3, &f->sel); /* an empty selector is none */
    put_task(f, 1);
    const struct snap_bundle *b = only_bundle(f);
    assert_int_equal(b->alts[0].resources.n, 1);
    assert_int_equal(b->alts[0].selector.n, 1);
    assert_string_equal(b->alts[0].selector.v[0].key, ACCEL_LABEL);
    assert_int_equal(b->alts[0].selector.v[0].op, TERM_IN);
    assert_string_equal(b->alts[0].selector.v[0].values.v[0], "T4");
}

static void test_fall_backs_in_order(void **state)
{
    struct fixture *f = *state;
    pb_amount(&f->r, 1, "CPU", 1);
    static const char *const zones[] = {"c", "a", "c", "b"};
    for (int i = 0; i < 4; i++) {
        pb_constraint(&f->sel, "zone", 1, zones[i]);
        pb_msg(&f->r, 3, &f->sel);
    }
    pb_msg(&f->r, 3, &f->sel); /* at last: anywhere */
    put_task(f, 1);
    const struct snap_bundle *b = only_bundle(f);
    assert_int_equal(b->n_alts, 4); /* the second "c" is the first again */
    assert_string_equal(b->alts[0].selector.v[0].values.v[0], "c");
    assert_string_equal(b->alts[1].selector.v[0].values.v[0], "a");
    assert_string_equal(b->alts[2].selector.v[0].values.v[0], "b");
    assert_int_equal(b->alts[3].selector.n, 0);
}

static void test_left_out(void **state)
{
    struct fixture *f = *state;
    static const char *const elsewhere[] = {
        "node:10.0.0.1", "node:__internal_head__", "CPU_group_" HEX36,
        "GPU_group_12_" HEX36, "bundle_group_" HEX36};
    for (int i = 0; i < 5; i++) {
        pb_amount(&f->r, 1, "CPU", 1);
        pb_amount(&f->r, 1, elsewhere[i], 0.001);
        put_task(f, 2);
    }
    static const double wrong[] = {NAN, -1, INFINITY, 1e300};
    for (int i = 0; i < 4; i++) {
        pb_amount(&f->r, 1, "CPU", wrong[i]);
        put_task(f, 2);
    }
    pb_amount(&f->r, 1, "", 1);
    put_task(f, 1);
    pb_amount(&f->r, 1, "CPU", 1);
    put_task(f, -3);
    static const struct {
        const char *key;
        int op;
        const char *values;
    } selectors[] = {{"", 1, "a"}, {"k", 1, ""}, {"k", 0, "a"}, {"k", 9, "a"}};
    for (int i = 0; i < 4; i++) {
        pb_amount(&f->r, 1, "CPU", 1);
        pb_constraint(&f->sel, selectors[i].key, selectors[i].op,
                      selectors[i].values);
        pb_msg(&f->r, 3, &f->sel);
        put_task(f, 1);
    }
    put_task(f, 5); /* wants nothing at all */
    pb_amount(&f->r, 1, "CPU", 1);
    put_task(f, 0);
    pb_int(&f->n, 2, 5); /* no request */
    pb_msg(&f->state, 4, &f->n);
    parse(f);
    assert_int_equal(f->view->n_demands, 0);
    assert_int_equal(f->view->n_elsewhere, 5);
    assert_int_equal(f->view->n_garbled, 10);
    /* a user's resource that looks a little like a group's is his */
    pb_amount(&f->r, 1, "CPU_group_a", 1);
    put_task(f, 1);
    assert_string_equal(only_bundle(f)->alts[0].resources.v[0].name,
                        "CPU_group_a");
    /* nothing but a label is something */
    pb_constraint(&f->sel, "only", 1, "here");
    pb_msg(&f->r, 3, &f->sel);
    put_task(f, 1);
    assert_int_equal(only_bundle(f)->alts[0].resources.n, 0);
}

static void test_huge_counts(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        pb_amount(&f->r, 1, "CPU", 1);
        put_task(f, INT64_MAX);
    }
    assert_int_equal(only_bundle(f)->count, INT32_MAX);
}

/* ---- resource names */

static void test_resource_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum ray_resource kind;
    } cases[] = {
        {"CPU", RAY_PLAIN},
        {"node:1.2.3.4", RAY_NODE},
        {"accelerator_type:T4", RAY_ACCEL},
        {"accelerator_type", RAY_PLAIN},
        {"CPU_group_" HEX36, RAY_GROUP},
        {"CPU_group_7_" HEX36, RAY_GROUP},
        {"a_group_b_group_7_" HEX36, RAY_GROUP},
        {"_group_" HEX36, RAY_PLAIN},
        {"x_group_", RAY_PLAIN},
        {HEX36, RAY_PLAIN},
        {"_" HEX36, RAY_PLAIN},
        {"7_" HEX36, RAY_PLAIN},
        {"group_" HEX36, RAY_PLAIN},
        {"_7_" HEX36, RAY_PLAIN},
        {"x_group_x_" HEX36, RAY_PLAIN},
        {"x_group_" HEX36 "0", RAY_PLAIN},
        {"", RAY_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ray_resource_kind(cases[i].name) != cases[i].kind)
            fail_msg("%s is %d", cases[i].name,
                     ray_resource_kind(cases[i].name));
}

/* ---- gangs and requests */

enum { AFFINITY = 2, ANTI = 1 };

static void put_constraint(struct fixture *f, int which)
{
    pb_str(&f->more, 1, "_PG_" HEX36);
    pb_msg(&f->sel, which, &f->more);
    pb_msg(&f->r, 2, &f->sel);
}

static void test_gang(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *details;
        int constraint;
        enum strategy strategy;
        const char *id;
    } cases[] = {
        {HEX36 ":PACK|PENDING", 0, STRATEGY_PACK, HEX36},
        {HEX36 ":SPREAD|RESCHEDULING", 0, STRATEGY_SPREAD, HEX36},
        {HEX36 ":STRICT_PACK|PENDING", AFFINITY, STRATEGY_STRICT_PACK, HEX36},
        {HEX36 ":STRICT_SPREAD", ANTI, STRATEGY_STRICT_SPREAD, HEX36},
        {HEX36 ":SPREAD|PENDING", ANTI, STRATEGY_STRICT_SPREAD, HEX36},
        {HEX36 ":NEW_WORD|PENDING", 0, STRATEGY_PACK, HEX36},
        {"", ANTI, STRATEGY_STRICT_SPREAD, HEX36},
        {"", AFFINITY, STRATEGY_STRICT_PACK, HEX36},
        {"", 0, STRATEGY_PACK, ""},
        {"abc", 0, STRATEGY_PACK, "abc"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int i = 0; i < 3; i++) {
            pb_amount(&f->r, 1, "GPU", i == 2 ? 2 : 1);
            if (cases[c].constraint)
                put_constraint(f, cases[c].constraint);
            pb_msg(&f->n, 1, &f->r);
        }
        pb_str(&f->n, 2, cases[c].details);
        pb_msg(&f->state, 5, &f->n);
        parse(f);
        assert_int_equal(f->view->n_demands, 1);
        const struct snap_demand *d = &f->view->demands[0];
        assert_int_equal(d->source, SOURCE_GANG);
        assert_int_equal(d->strategy, cases[c].strategy);
        assert_string_equal(d->id, cases[c].id);
        assert_int_equal(d->n_bundles, 2);
        assert_int_equal(d->bundles[0].count, 2);
        assert_int_equal(d->bundles[1].count, 1);
        assert_int_equal(d->bundles[0].alts[0].selector.n, 0);
    }
}

/* Every selector of a gang is an alternative of its bundles, in order. */
static void test_gang_selectors(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        pb_amount(&f->r, 1, "GPU", 1);
        pb_msg(&f->n, 1, &f->r);
    }
    pb_str(&f->n, 2, HEX36 ":PACK|PENDING");
    static const char *const zones[] = {"z", "y"};
    for (int k = 0; k < 2; k++) {
        struct buf selector;
        buf_init(&selector, PB_MAX);
        for (int i = 0; i < 2; i++) {
            pb_amount(&f->r, 1, "GPU", 1);
            pb_constraint(&f->sel, "zone", 1, zones[k]);
            pb_msg(&f->r, 3, &f->sel);
            pb_msg(&selector, 1, &f->r);
        }
        pb_msg(&f->n, 3, &selector);
        buf_done(&selector);
    }
    pb_msg(&f->state, 5, &f->n);
    const struct snap_bundle *b = only_bundle(f);
    assert_int_equal(b->count, 2);
    assert_int_equal(b->n_alts, 2);
    assert_string_equal(b->alts[0].selector.v[0].values.v[0], "z");
    assert_string_equal(b->alts[1].selector.v[0].values.v[0], "y");
}

static void test_gang_with_one_bad_bundle(void **state)
{
    struct fixture *f = *state;
    pb_amount(&f->r, 1, "GPU", 1);
    pb_msg(&f->n, 1, &f->r);
    pb_amount(&f->r, 1, "GPU", NAN);
    pb_msg(&f->n, 1, &f->r);
    pb_msg(&f->state, 5, &f->n);
    pb_str(&f->n, 2, "no bundles");
    pb_msg(&f->state, 5, &f->n);
    parse(f);
    assert_int_equal(f->view->n_demands, 0);
    assert_int_equal(f->view->n_garbled, 1);
}

static void test_gang_that_lost_a_bundle(void **state)
{
    struct fixture *f = *state;
    pb_bytes(&f->n, 1, "h", 1);
    pb_label(&f->n, 6, "_PG_" HEX36, "");
    pb_label(&f->n, 6, "_PG_another", "");
    pb_msg(&f->state, 3, &f->n);
    pb_amount(&f->r, 1, "GPU", 1);
    put_constraint(f, ANTI);
    pb_msg(&f->n, 1, &f->r);
    pb_str(&f->n, 2, HEX36 ":STRICT_SPREAD|RESCHEDULING");
    pb_msg(&f->state, 5, &f->n);
    const struct snap_bundle *b = only_bundle(f);
    assert_int_equal(b->alts[0].selector.n, 1);
    const struct term *t = &b->alts[0].selector.v[0];
    assert_string_equal(t->key, "_PG_" HEX36);
    assert_int_equal(t->op, TERM_NOT_IN);
    assert_int_equal(t->values.n, 1);
    assert_string_equal(t->values.v[0], "");
    assert_int_equal(f->view->nodes[0].labels.n, 1);
    assert_string_equal(f->view->nodes[0].labels.v[0].key, "_PG_" HEX36);
}

static void test_requests(void **state)
{
    struct fixture *f = *state;
    pb_amount(&f->r, 1, "GPU", 1);
    pb_msg(&f->n, 1, &f->r);
    pb_int(&f->n, 2, 2);
    pb_msg(&f->sel, 1, &f->n);
    pb_msg(&f->state, 6, &f->sel);
    pb_msg(&f->state, 6, &f->sel); /* a cleared one */
    const struct snap_bundle *b = only_bundle(f);
    assert_int_equal(b->count, 2);
    assert_int_equal(f->view->demands[0].source, SOURCE_REQUEST);
    assert_string_equal(f->view->demands[0].owner, "ray");
    pb_msg(&f->state, 6, &f->sel);
    assert_int_equal(parse(f)->n_demands, 0);
}

/* ---- hostile bytes */

static void test_not_a_reply(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *p;
        size_t n;
    } cases[] = {
        {"\x0a\x05"
         "abc",
         5},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10},
        {"\x0a\xff\xff\xff\xff\x0f", 6},
        {"\x0a\x02\x1a\x7f", 4},
        {"<html>not found</html>", 22},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_bytes(f, cases[i].p, cases[i].n), ST_BROKEN);
        assert_non_null(strstr(f->err.text, "bytes that were answered"));
    }
}

/* A million empty nodes in 2 MB: refused rather than unpacked to gigabytes,
 * or read within a bound. */
static void test_amplification(void **state)
{
    struct fixture *f = *state;
    struct buf reply;
    buf_init(&reply, PB_MAX);
    for (int i = 0; i < 1000000; i++)
        buf_add(&f->state, "\x2a\x00", 2); /* an empty gang */
    pb_reply(&reply, &f->state);
    enum status s = read_bytes(f, reply.s, reply.n);
    assert_true(s == ST_OK || s == ST_BROKEN);
    assert_true(f->scratch.used < reply.n * 60 + (8 << 20));
    buf_done(&reply);
}

static uint64_t rng;

static uint32_t roll(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 33) % n;
}

/* Bytes of a good reply changed, cut and doubled at random: anything may come
 * out but a crash, and a view that was made is whole. */
static void test_mutations(void **state)
{
    struct fixture *f = *state;
    rng = seed_of(0) * 2654435761u + 88172645463325252u;
    struct buf good;
    buf_init(&good, PB_MAX);
    pb_large_reply(&good, 3, 3, 2);
    unsigned parsed = 0;
    for (int i = 0; i < 20000; i++) {
        size_t n = good.n;
        char *p = malloc(n); /* exact size: ASan sees one byte too far */
        memcpy(p, good.s, n);
        for (uint32_t k = roll(4) + 1; k > 0; k--)
            p[roll((uint32_t)n)] = (char)(roll(3) ? roll(256) : roll(4) * 85);
        if (roll(8) == 0)
            n = roll((uint32_t)n);
        if (!read_bytes(f, p, n)) {
            parsed++;
            for (uint32_t k = 0; k < f->view->n_demands; k++) {
                const struct snap_demand *d = &f->view->demands[k];
                assert_true(d->n_bundles > 0 && d->owner && d->id);
                for (uint32_t b = 0; b < d->n_bundles; b++)
                    assert_true(d->bundles[b].n_alts > 0 &&
                                d->bundles[b].count > 0);
            }
        }
        free(p);
    }
    assert_in_range(parsed, 500, 19999);
    buf_done(&good);
}

static void test_large_reply(void **state)
{
    struct fixture *f = *state;
    struct buf reply;
    buf_init(&reply, PB_MAX);
    pb_large_reply(&reply, 1000, 4000, 100);
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    assert_int_equal(read_bytes(f, reply.s, reply.n), ST_OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    print_message("%zu bytes: %.1f ms CPU, view %zu bytes, scratch %zu\n",
                  reply.n,
                  (double)(b.tv_sec - a.tv_sec) * 1e3 +
                      (double)(b.tv_nsec - a.tv_nsec) / 1e6,
                  f->view->arena.used, f->scratch.used);
    assert_int_equal(f->view->n_nodes, 1000);
    assert_int_equal(f->view->n_demands, 101);
    assert_int_equal(f->view->demands[0].n_bundles, 4000);
    assert_int_equal(f->view->demands[1].n_bundles, 1);
    assert_int_equal(f->view->demands[1].bundles[0].count, 8);
    assert_true(f->view->arena.used < 4 << 20);
    buf_done(&reply);
}

/* ---- the token */

static void clean_env(const char *home)
{
    unsetenv("RAY_AUTH_TOKEN");
    unsetenv("RAY_AUTH_TOKEN_PATH");
    setenv("HOME", home, 1);
}

static void write_file(const char *path, const char *text, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(text, 1, n, file);
    fclose(file);
}

static void test_token_places(void **state)
{
    (void)state;
    char dir[256], file[288], sub[288], other[288];
    scratch_path(dir, "davit-token-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(sub, sizeof sub, "%s/.ray", dir);
    snprintf(file, sizeof file, "%s/.ray/auth_token", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    struct ray_token t = {0};
    clean_env(dir);

    ray_token_read(&t, "");
    assert_string_equal(t.text, "");
    assert_string_equal(t.trouble, ""); /* no file there means no token */

    assert_int_equal(mkdir(sub, 0700), 0);
    write_file(file, "  home-token\n\n", 14);
    ray_token_read(&t, NULL);
    assert_string_equal(t.text, "home-token");
    assert_non_null(strstr(t.source, "/.ray/auth_token"));

    write_file(other, "path-token", 10);
    setenv("RAY_AUTH_TOKEN_PATH", other, 1);
    ray_token_read(&t, "");
    assert_string_equal(t.text, "path-token");

    setenv("RAY_AUTH_TOKEN", "env-token", 1);
    ray_token_read(&t, "");
    assert_string_equal(t.text, "env-token");
    assert_string_equal(t.source, "RAY_AUTH_TOKEN");

    ray_token_read(&t, other); /* what the configuration names beats all */
    assert_string_equal(t.text, "path-token");

    static const struct {
        const char *text;
        size_t n;
        const char *says;
    } wrong[] = {{"", 0, "empty"},          {" \n", 2, "empty"},
                 {"a b", 3, "character 2"}, {"a\nb", 3, "character 2"},
                 {"a\0b", 3, "binary"},     {"\xff", 1, "character 1"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_file(other, wrong[i].text, wrong[i].n);
        ray_token_read(&t, other);
        assert_string_equal(t.text, "");
        assert_non_null(strstr(t.trouble, wrong[i].says));
    }
    char *big = malloc(20000);
    memset(big, 'x', 20000);
    write_file(other, big, 20000);
    free(big);
    ray_token_read(&t, other);
    assert_non_null(strstr(t.trouble, "over 16384"));
    unlink(other);
    ray_token_read(&t, other);
    assert_non_null(strstr(t.trouble, "No such file"));
    ray_token_read(&t, dir);
    assert_true(t.trouble[0]);

    ray_token_done(&t);
    unlink(file);
    rmdir(sub);
    rmdir(dir);
    clean_env(home);
    free(home);
}

/* ---- a head that is played */

static char sent[8][1 << 20]; /* messages, as they came */
static size_t sent_len[8];

/* InternalKVGet finds a text of ours; everything else answers nothing. */
static bool answer_source(struct server *s, int fd, unsigned stream, int call)
{
    size_t n = s->body_len - 5;
    if (call < 8) {
        memcpy(sent[call], s->body + 5, n);
        sent_len[call] = n;
    }
    struct buf reply;
    buf_init(&reply, PB_MAX);
    if (s->arg && call == 1)
        pb_str(&reply, 2, s->arg);
    h2_reply(fd, stream, reply.s, reply.n);
    buf_done(&reply);
    return true;
}

static void serve_head(struct server *s, int fd)
{
    h2_serve(s, fd, answer_source);
}

static bool previous(int call, const char *s)
{
    return memmem(sent[call], sent_len[call], s, strlen(s));
}

static void test_report_texts(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_head, NULL);
    struct ray_head *h = ray_head_new(s->url + 7, "");
    struct names t4 = {(const char *const[]){"T4"}, 1};
    struct names zones = {(const char *const[]){"a", "b"}, 2};
    struct names none = {(const char *const[]){""}, 1};
    struct snap_alt alts[] = {
        {.resources = {(struct qty[]){{"GPU", 5000},
                                      {"memory", (INT64_C(1) << 30) * ONE}},
                       2},
         .selector = {(struct term[]){{"_PG_x", TERM_NOT_IN, none},
                                      {ACCEL_LABEL, TERM_IN, t4},
                                      {"zone", TERM_NOT_IN, zones}},
                      3}},
        {.resources = {(struct qty[]){{"CPU", 2 * ONE}}, 1}}};
    struct snap_bundle bundles[] = {{alts, 2, 3, false},
                                    {alts + 1, 1, 1, false}};
    struct snap_demand demands[] = {{.source = SOURCE_TASK,
                                     .owner = "ray",
                                     .id = "",
                                     .bundles = bundles,
                                     .n_bundles = 2},
                                    {.source = SOURCE_GANG,
                                     .owner = "ray",
                                     .id = "pg1",
                                     .strategy = STRATEGY_STRICT_SPREAD,
                                     .bundles = bundles,
                                     .n_bundles = 2},
                                    {.source = SOURCE_REQUEST,
                                     .owner = "train-42",
                                     .id = "",
                                     .bundles = bundles + 1,
                                     .n_bundles = 1}};
    const char *why[] = {"no type has it", "", NULL};
    struct source_report r = {.seen_version = 5,
                              .version = 1700000000000,
                              .infeasible = demands,
                              .n_infeasible = 3,
                              .why = why};
    int64_t deadline = clock_mono_ms() + 20000;
    assert_int_equal(ray_head_report(h, &r, deadline, &f->err), ST_OK);
    assert_int_equal(atomic_load(&s->calls), 2);
    assert_true(previous(0, "accelerator_type:T4"));
    assert_false(previous(0, "_PG_x"));
    assert_true(previous(0, "pg1:STRICT_SPREAD|INFEASIBLE"));
    assert_true(previous(1, "__autoscaling_error"));
    assert_true(previous(
        1,
        "Infeasible (davit has no way to serve it; it waits):\n"
        " {'GPU': 0.5, 'memory': 1073741824.0, 'accelerator_type:T4': 0.001, "
        "'zone': '!in(a,b)'} or {'CPU': 2.0}: 3 pending tasks/actors: "
        "no type has it\n"
        " {'CPU': 2.0}: 1 pending tasks/actors: no type has it\n"));
    assert_true(previous(1, "{'CPU': 2.0} * 1 (STRICT_SPREAD): placement group "
                            "pg1\n {'CPU': 2.0} * 1: request of train-42"));

    /* the same again writes no text again */
    assert_int_equal(ray_head_report(h, &r, deadline, &f->err), ST_OK);
    assert_int_equal(atomic_load(&s->calls), 3);
    /* another head, which counts from the start: it has no text yet */
    r.seen_version = 4;
    assert_int_equal(ray_head_report(h, &r, deadline, &f->err), ST_OK);
    assert_int_equal(atomic_load(&s->calls), 5);
    assert_int_equal(ray_head_report(h, &r, deadline, &f->err), ST_OK);
    assert_int_equal(atomic_load(&s->calls), 6);
    /* nothing infeasible any more: the text, known as ours, goes */
    r.n_infeasible = 0;
    assert_int_equal(ray_head_report(h, &r, deadline, &f->err), ST_OK);
    assert_int_equal(atomic_load(&s->calls), 8);
    assert_int_equal(ray_head_report(h, &r, deadline, &f->err), ST_OK);
    assert_int_equal(atomic_load(&s->calls), 9);
    ray_head_free(h);
    server_free(s);
}

/* A daemon that starts finds the text of the one before it, or another's. */
static void test_report_after_a_restart(void **state)
{
    struct fixture *f = *state;
    static const char *const there[] = {"Infeasible (davit has no way ...",
                                        "The autoscaler failed", NULL};
    static const int calls[] = {3, 2, 2};
    for (int i = 0; i < 3; i++) {
        struct server *s = server_start(serve_head,
                                        (void *)(uintptr_t)there[i]);
        struct ray_head *h = ray_head_new(s->url, "");
        struct source_report r = {.version = 1};
        assert_int_equal(
            ray_head_report(h, &r, clock_mono_ms() + 20000, &f->err), ST_OK);
        assert_int_equal(atomic_load(&s->calls), calls[i]);
        ray_head_free(h);
        server_free(s);
    }
}

static void test_many_infeasible(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_head, NULL);
    struct ray_head *h = ray_head_new(s->url, "");
    enum { N = 3000 };
    struct qty *q = calloc(N, sizeof *q);
    struct snap_alt *alts = calloc(N, sizeof *alts);
    struct snap_bundle *b = calloc(N, sizeof *b);
    struct snap_demand *d = calloc(N, sizeof *d);
    for (int i = 0; i < N; i++) {
        q[i] = (struct qty){"a-resource-with-a-rather-long-name", i * ONE};
        alts[i].resources = (struct qtys){&q[i], 1};
        b[i] = (struct snap_bundle){&alts[i], 1, UINT32_MAX, false};
        d[i] = (struct snap_demand){.source = i % 2 ? SOURCE_GANG : SOURCE_TASK,
                                    .owner = "ray",
                                    .id = "x",
                                    .bundles = &b[i],
                                    .n_bundles = 1};
    }
    struct source_report r = {.version = 1, .infeasible = d, .n_infeasible = N};
    assert_int_equal(ray_head_report(h, &r, clock_mono_ms() + 20000, &f->err),
                     ST_OK);
    assert_true(sent_len[0] > 30000 && sent_len[0] < 200000);
    assert_true(sent_len[1] < 20000);
    assert_true(previous(1, " and 2960 more"));
    ray_head_free(h);
    free(q);
    free(alts);
    free(b);
    free(d);
    server_free(s);
}

/* Reads, with the KV's answer in between: each session is asked once. */
static bool answer_reads(struct server *s, int fd, unsigned stream, int call)
{
    static const char *const sessions[] = {"a", NULL, "a", "b", NULL, "b"};
    const char *session = call < 6 ? sessions[call] : "b";
    struct buf reply, state;
    buf_init(&reply, PB_MAX);
    buf_init(&state, PB_MAX);
    (void)s;
    if (session) {
        pb_str(&state, 7, session);
        pb_reply(&reply, &state);
    } else if (call == 1) {
        pb_str(&reply, 2, "1");
    }
    if (call == 6)
        h2_reply(fd, stream, "\xff", 1);
    else
        h2_reply(fd, stream, reply.s, reply.n);
    buf_done(&reply);
    buf_done(&state);
    return true;
}

static void serve_reads(struct server *s, int fd)
{
    h2_serve(s, fd, answer_reads);
}

static void test_sessions(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_reads, NULL);
    struct ray_head *h = ray_head_new(s->url, "");
    static const struct {
        const char *session;
        bool v2;
        int calls;
    } want[] = {
        {"a", true, 2}, {"a", true, 3}, {"b", false, 5}, {"b", false, 6}};
    for (int i = 0; i < 4; i++) {
        source_view_unref(f->view);
        assert_int_equal(
            ray_head_read(h, clock_mono_ms() + 20000, &f->view, &f->err),
            ST_OK);
        assert_string_equal(f->view->session, want[i].session);
        assert_int_equal(f->view->v2, want[i].v2);
        assert_int_equal(atomic_load(&s->calls), want[i].calls);
        assert_in_range(f->view->took_us, 1, 5000000);
    }
    source_view_unref(f->view);
    assert_int_equal(
        ray_head_read(h, clock_mono_ms() + 20000, &f->view, &f->err),
        ST_BROKEN);
    assert_null(f->view);
    assert_memory_equal(f->err.text, "Ray head 127.0.0.1:", 19);
    ray_head_free(h);
    server_free(s);
}

static void test_drain_ids(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_head, NULL);
    struct ray_head *h = ray_head_new(s->url, "");
    bool accepted = true;
    char why[40];
    static const char *const bad[] = {"", "abc", "xx", "0g"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            ray_head_drain(h, bad[i], false, "m", 1, clock_mono_ms() + 20000,
                           &accepted, why, sizeof why, &f->err),
            ST_INVALID);
    assert_int_equal(atomic_load(&s->calls), 0);
    assert_int_equal(
        ray_head_drain(h, "00ffA1", true, "spot", 1234, clock_mono_ms() + 20000,
                       &accepted, why, sizeof why, &f->err),
        ST_OK);
    assert_false(accepted); /* an empty reply is a refusal */
    assert_string_equal(why, "the head gave no reason");
    assert_int_equal(sent_len[0], 5 + 2 + 6 + 3);
    assert_memory_equal(sent[0],
                        "\x0a\x03\x00\xff\xa1\x10\x02\x1a\x04spot"
                        "\x20\xd2\x09",
                        16);
    ray_head_free(h);
    server_free(s);
}

static void test_addresses(void **state)
{
    (void)state;
    unsetenv("RAY_USE_TLS");
    static const char *const cases[][2] = {
        {"h:1", "http://h:1"},
        {"h", "http://h:6379"},
        {"[::1]", "http://[::1]:6379"},
        {"[::1]:7", "http://[::1]:7"},
        {"https://h", "https://h:6379"},
        {"http://h:2/", "http://h:2"},
        {"http://h:2/x/y", "http://h:2"},
        {"ray://h:1", "ray://h:1"},
        {"", "http://:6379"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ray_head *h = ray_head_new(cases[i][0], NULL);
        assert_string_equal(h->base, cases[i][1]);
        ray_head_free(h);
    }
    setenv("RAY_USE_TLS", "1", 1);
    struct ray_head *h = ray_head_new("h:1", NULL);
    assert_string_equal(h->base, "https://h:1");
    ray_head_free(h);
    unsetenv("RAY_USE_TLS");
    ray_head_free(NULL);
}

static void test_text_clean(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain", "plain"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xc0\xaf", "??"},
        {"\xe0\x80\xaf", "???"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xf0\x80\x80\x80", "????"},
        {"\xe2\x82", "??"},
        {"a\tb\x7f", "a?b?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char s[20];
        snprintf(s, sizeof s, "%s", cases[i][0]);
        bool changed = text_clean(s, strlen(s));
        assert_string_equal(s, cases[i][1]);
        assert_int_equal(changed, strcmp(s, cases[i][0]) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
        T(test_view_is_counted),
        T(test_too_many_names),
        T(test_few_names_stay),
        T(test_too_many_shapes),
        T(test_empty),
        T(test_node),
        T(test_node_states),
        T(test_node_label_wins_over_resource),
        T(test_garbage_amounts_of_nodes),
        T(test_words_are_cleaned),
        T(test_tasks_grouped),
        T(test_accelerator_type),
        T(test_fall_backs_in_order),
        T(test_left_out),
        T(test_huge_counts),
        T(test_resource_kinds),
        T(test_gang),
        T(test_gang_selectors),
        T(test_gang_with_one_bad_bundle),
        T(test_gang_that_lost_a_bundle),
        T(test_requests),
        T(test_not_a_reply),
        T(test_amplification),
        T(test_mutations),
        T(test_large_reply),
        T(test_token_places),
        T(test_report_texts),
        T(test_report_after_a_restart),
        T(test_many_infeasible),
        T(test_sessions),
        T(test_drain_ids),
        T(test_addresses),
        T(test_text_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
