/*
 * test_api_refuse.c - every obstacle in a sentence that names what is in the
 * way, from the planner's own refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/view.h"
#include "codec/codec.h"
#include "plan/planner.h"

#define NOW "\"now_ms\": 1795255200000"
#define CPU \
    "{\"name\": \"cpu\", \"provider\": \"sim\", \"price\": 0.3, \
\"resources\": {\"CPU\": 8, \"memory\": \"32Gi\"}"
#define T4 \
    "{\"name\": \"t4\", \"provider\": \"sim\", \"price\": 0.7, \
\"accelerator_type\": \"T4\", \"resources\": {\"CPU\": 8, \"GPU\": 1}"

struct world {
    struct arena arena;
    struct snapshot *snapshot;
    struct problem *s;
    struct plan plan;
    struct view v;
};

static void world_open(struct world *w, const char *text)
{
    json_t *root;
    struct err err;

    memset(w, 0, sizeof *w);
    if (codec_parse(text, strlen(text), &root, &err) != ST_OK ||
        codec_snapshot_read(root, &w->arena, &w->snapshot, &err) != ST_OK ||
        problem_make(w->snapshot, &w->arena, &w->s, &err) != ST_OK)
        fail_msg("%s: %s", err.text, text);
    json_decref(root);
    planner_run(w->s, 0, &w->arena, &w->plan);
    view_open_plan(&w->v, w->snapshot, w->s, &w->plan);
}

static void world_close(struct world *w)
{
    view_done(&w->v);
    arena_done(&w->arena);
}

static const struct {
    enum reason why;
    const char *problem, *text;
} cases[] = {
    {REASON_LACKS,
     "{" NOW ", \"node_types\": [" T4
     "}], \"demands\": [{\"resources\": {\"GPU\": 2}}]}",
     "t4 lacks GPU: 2 needed, 1 there"},
    {REASON_LABEL,
     "{" NOW ", \"node_types\": [" T4 "}], \"demands\": [{\"resources\": "
     "{\"GPU\": 1}, \"accelerator_type\": \"V100\"}]}",
     "t4 has accelerator_type=T4, which is not asked for"},
    {REASON_TAINT,
     "{" NOW ", \"node_types\": [" T4 ", \"taints\": "
     "[\"gpu=present:NoSchedule\"]}], \"demands\": [{\"resources\": {\"GPU\": 1}}]}",
     "t4 has the taint gpu, which is not tolerated"},
    {REASON_MAX_TYPE,
     "{" NOW ", \"node_types\": [" T4 ", \"max\": 1}], \"demands\": "
     "[{\"resources\": {\"GPU\": 1}, \"count\": 2}]}",
     "t4 is at its max of 1"},
    {REASON_MAX_NODES,
     "{" NOW ", \"limits\": {\"max_nodes\": 1}, \"node_types\": [" T4 "}], "
     "\"demands\": [{\"resources\": {\"GPU\": 1}, \"count\": 2}]}",
     "the cluster is at limits.max_nodes (1)"},
    {REASON_BUDGET,
     "{" NOW ", \"limits\": {\"max_cost_per_hour\": 1}, \"node_types\": "
     "[" T4 "}], \"demands\": [{\"resources\": {\"GPU\": 1}, \"count\": 2}]}",
     "t4 would exceed limits.max_cost_per_hour (1 $/h)"},
    {REASON_BACKOFF,
     "{" NOW ", \"node_types\": [" T4 ", \"offers\": [{\"zone\": \"a\", "
     "\"backoff_until_ms\": 1795255800000, \"backoff_for\": "
     "\"STOCKOUT\"}]}], \"demands\": [{\"resources\": {\"GPU\": 1}}]}",
     "t4 in a: its cloud has no such machine left (STOCKOUT); the next try is at "
     "10:10:00 UTC"},
    {REASON_BACKOFF,
     "{" NOW ", \"node_types\": [" T4 ", \"offers\": [{\"zone\": \"a\", "
     "\"room\": 0, \"backoff_for\": \"QUOTA\"}]}], "
     "\"demands\": [{\"resources\": {\"GPU\": 1}}]}",
     "t4 in a: the quota is used up (QUOTA); only 0 more may be launched now"},
    {REASON_PROVIDER_DOWN,
     "{" NOW ", \"node_types\": [" T4 ", \"unavailable\": "
     "\"provider_down\"}], \"demands\": [{\"resources\": {\"GPU\": 1}}]}",
     "t4: provider sim is not ready"},
    {REASON_OFFERS_AWAITED,
     "{" NOW ", \"node_types\": [" T4 ", \"unavailable\": "
     "\"offers_awaited\"}], \"demands\": [{\"resources\": {\"GPU\": 1}}]}",
     "a provider has not said yet what it offers: it is waited for 10 s"},
    {REASON_TYPE_DISABLED,
     "{" NOW ", \"node_types\": [" T4 ", \"unavailable\": "
     "\"type_disabled\"}], \"demands\": [{\"resources\": {\"GPU\": 1}}]}",
     "t4 was refused as invalid by sim; a reload of the configuration tries it "
     "again"},
    {REASON_CONSERVE,
     "{" NOW ", \"node_types\": [" T4 "}, " CPU ", \"max\": 1}], "
     "\"demands\": [{\"resources\": {\"CPU\": 8}, \"count\": 2}]}",
     "t4 has accelerators, which are not bought for work without one "
     "(limits.conserve_accelerators)"},
    {REASON_LACKS,
     "{" NOW ", \"node_types\": [" T4 "}], \"gangs\": [{\"strategy\": "
     "\"STRICT_PACK\", \"bundles\": [{\"GPU\": 1}, {\"GPU\": 1}]}]}",
     "t4 lacks GPU: 2 needed, 1 there"},
    {REASON_GANG,
     "{" NOW ", \"node_types\": [" T4 ", \"max\": 5}, " CPU ", \"max\": 0}], "
     "\"gangs\": [{\"strategy\": \"PACK\", \"bundles\": [{\"GPU\": 1}, "
     "{\"GPU\": 1, \"CPU\": 9}]}]}",
     "t4 could hold one, but not all 2 of the gang have a place"},
    {REASON_SPREAD,
     "{" NOW ", \"node_types\": [" T4 ", \"max\": 1}], \"gangs\": "
     "[{\"strategy\": \"STRICT_SPREAD\", \"bundles\": [{\"CPU\": 1}, "
     "{\"CPU\": 1}]}]}",
     "t4 could hold one, but there cannot be 2 nodes, one for each"},
    {REASON_THROTTLE,
     "{" NOW ", \"limits\": {\"max_launching\": 1}, \"node_types\": [" T4
     "}], \"demands\": [{\"resources\": {\"GPU\": 1}, \"count\": 2}]}",
     "t4 has to wait: limits.max_launching (1) is reached"},
    {REASON_THROTTLE,
     "{" NOW ", \"limits\": {\"upscaling_speed\": 1}, \"node_types\": [" T4
     "}], \"demands\": [{\"resources\": {\"GPU\": 1}, \"count\": 9}]}",
     "t4 has to wait: limits.upscaling_speed (1) lets no more of it start at "
     "once"},
    {REASON_QUEUE_TYPE,
     "{" NOW ", \"node_types\": [" T4 "}, " CPU "}], \"queues\": [{\"name\": "
     "\"q\", \"node_types\": [\"cpu\"]}], \"demands\": [{\"queue\": \"q\", "
     "\"bundles\": [{\"CPU\": 1, \"GPU\": 1}]}]}",
     "t4 is not in the queue q"},
    {REASON_QUEUE_FULL,
     "{" NOW ", \"node_types\": [" T4 "}], \"queues\": [{\"name\": \"q\", "
     "\"node_types\": [\"t4\"], \"quota\": {\"gpus\": 3}}], \"demands\": "
     "[{\"queue\": \"q\", \"bundles\": [{\"resources\": {\"GPU\": 1}, "
     "\"count\": 4}]}]}",
     "the queue q is full: uses 3 of 3 GPU"},
    {REASON_QUEUE_FULL,
     "{" NOW ", \"node_types\": [" T4 "}], \"queues\": [{\"name\": \"q\", "
     "\"node_types\": [\"t4\"], \"quota\": {\"nodes\": 1}}], \"demands\": "
     "[{\"queue\": \"q\", \"bundles\": [{\"resources\": {\"GPU\": 1}, "
     "\"count\": 4}]}]}",
     "the queue q is full: uses 1 of 1 nodes"},
    {REASON_ALTERNATIVE,
     "{" NOW ", \"node_types\": [" T4
     ", \"max\": 5, \"offers\": [{\"price\": 1, "
     "\"backoff_until_ms\": 1795255800000, \"backoff_for\": "
     "\"STOCKOUT\"}]}, " CPU "}], \"demands\": [{\"since_ms\": 1795255140000, "
     "\"bundles\": [{\"any_of\": [{\"GPU\": 1}, {\"CPU\": 4, "
     "\"memory\": \"1Gi\", \"after\": \"4m\"}]}]}]}",
     "cpu is for an alternative that is tried at 10:03:00 UTC"},
    {REASON_CLOSED,
     "{" NOW ", \"node_types\": [" T4 ", \"offers\": [{\"zone\": \"a\", "
     "\"closed\": true, \"note\": \"pool gpu is being upgraded\"}]}], "
     "\"demands\": [{\"resources\": {\"GPU\": 1}}]}",
     "t4 in a is not offered by sim now: pool gpu is being upgraded"},
    {REASON_QUEUE_DENIED,
     "{" NOW ", \"node_types\": [" T4 "}], \"demands\": [{\"queue\": \"q\", "
     "\"bundles\": [{\"GPU\": 1}]}]}",
     "there is no such queue, or it is not for ray"},
};

static void test_sentences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        bool found = false;

        world_open(&w, cases[i].problem);
        for (uint32_t k = 0; k < w.plan.n_refusals; k++) {
            if (w.plan.refusals[k].why != cases[i].why)
                continue;
            found = true;
            assert_string_equal(view_obstacle_text(&w.v, k), cases[i].text);
        }
        if (!found)
            fail_msg("case %zu: no %s in %s", i, reason_code(cases[i].why),
                     cases[i].problem);
        world_close(&w);
    }
}

/* The rest of what may stand in the way has a sentence too: none falls back on
 * the words of the enum alone. */
static void test_no_reason_without_a_sentence(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, cases[0].problem);
    assert_int_equal(w.plan.n_refusals, 1);
    for (unsigned r = REASON_LACKS; r <= REASON_CLOSED; r++) {
        struct plan_refusal *x = (struct plan_refusal *)w.plan.refusals;
        char plain[256];
        const char *text;

        *x = (struct plan_refusal){.why = (enum reason)r, .column = 0};
        text = view_obstacle_text(&w.v, 0);
        snprintf(plain, sizeof plain, "t4: %s", reason_text((enum reason)r));
        assert_string_not_equal(text, plain);
        assert_true(strlen(text) > 5);
    }
    world_close(&w);
}

/* Ray may ask for what nobody can have. */
static void test_a_part_of_a_whole(void **state)
{
    static const char text[] =
        "{" NOW ", \"node_types\": [{\"name\": \"v5e\", \"provider\": \"sim\", "
        "\"resources\": {\"CPU\": 8, \"TPU\": 4}}], \"demands\": "
        "[{\"resources\": {\"TPU\": 4}}]}";
    struct world w;
    struct qty *q;

    (void)state;
    world_open(&w, text);
    q = (struct qty *)w.snapshot->demands[0].bundles[0].alts[0].resources.v;
    q->amount = 5000;
    assert_int_equal(problem_make(w.snapshot, &w.arena, &w.s, NULL), ST_OK);
    planner_run(w.s, 0, &w.arena, &w.plan);
    view_done(&w.v);
    view_open_plan(&w.v, w.snapshot, w.s, &w.plan);
    assert_int_equal(w.plan.n_refusals, 1);
    assert_int_equal(w.plan.refusals[0].why, REASON_FRACTION);
    assert_string_equal(view_obstacle_text(&w.v, 0),
                        "v5e has whole TPU only: 0.5 cannot be had");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_a_part_of_a_whole),
        cmocka_unit_test(test_no_reason_without_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
