/*
 * bench_round.c - one round of the whole planner: reads a snapshot.json,
 * measures the CPU time from facts to plan, with and without bettering, and
 * writes one JSON object to stdout.  Then one bundle more or less is wanted, at
 * random, again and again: the next plan from scratch and with the planner's
 * memory, which must be the same.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/codec/codec.h"
#include "../../autoscaler/plan/memory.h"
#include "../../autoscaler/plan/planner.h"
#include "figures.h"

static void die(const char *what)
{
    fprintf(stderr, "bench_round: %s\n", what);
    exit(2);
}

/* ---- one bundle changes */

enum { CHANGES = 120 };

struct again {
    double scratch_ms, again_ms; /* CPU time of a plan, the mean */
    double half_ms,
        most_ms;  /* half, nine of ten of the latter take no longer */
    double alike; /* part of the covers that were remembered */
};

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* A second later. */
static void time_goes_on(struct snapshot *s)
{
    s->now_ms += 1000;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        struct snap_node *n = (struct snap_node *)&s->nodes[i];

        n->idle_ms += n->idle_ms >= 0 ? 1000 : 0;
    }
}

/* Of a random bundle, each as likely: one more or less. */
static void change(struct snapshot *s, uint64_t *seed)
{
    uint64_t all = 0, at;

    for (uint32_t i = 0; i < s->n_demands; i++)
        all += s->demands[i].bundles[0].count;
    at = next(seed) % all;
    for (uint32_t i = 0; i < s->n_demands; i++) {
        struct snap_bundle *b = (struct snap_bundle *)s->demands[i].bundles;

        if (at < b->count) {
            b->count = next(seed) % 2 || b->count == 1 ? b->count + 1
                                                       : b->count - 1;
            return;
        }
        at -= b->count;
    }
}

static double plan_ms(const struct snapshot *s, struct memory *memory,
                      struct buf *text)
{
    struct arena arena = {0};
    struct problem *now;
    struct plan plan;
    struct err err;
    double t0;

    if (problem_make(s, &arena, &now, &err) != ST_OK)
        die(err.text);
    t0 = now_ms();
    if (memory)
        planner_run_again(now, 0, memory, &arena, &plan);
    else
        planner_run(now, 0, &arena, &plan);
    t0 = now_ms() - t0;
    buf_init(text, (size_t)1 << 30);
    if (!codec_plan_print(now, &plan, text))
        die("a plan of more than 1 GiB");
    arena_done(&arena);
    return t0;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static struct again again_run(struct snapshot *s)
{
    struct memory memory = {0};
    struct again ret = {0};
    struct buf a, b;
    uint64_t seed = 1, asked, known;
    double ms[CHANGES];

    plan_ms(s, &memory, &a);
    buf_done(&a);
    asked = memory.asked;
    known = memory.known;
    for (int k = 0; k < CHANGES; k++) {
        time_goes_on(s);
        change(s, &seed);
        ret.scratch_ms += plan_ms(s, NULL, &a) / CHANGES;
        ms[k] = plan_ms(s, &memory, &b);
        ret.again_ms += ms[k] / CHANGES;
        if (a.n != b.n || memcmp(a.s, b.s, a.n) != 0)
            die("with a memory the plan is another one");
        buf_done(&a);
        buf_done(&b);
    }
    ret.alike = (double)(memory.known - known) / (double)(memory.asked - asked);
    memory_done(&memory);
    qsort(ms, CHANGES, sizeof *ms, by_size);
    ret.half_ms = ms[CHANGES / 2];
    ret.most_ms = ms[CHANGES - CHANGES / 10];
    return ret;
}

int main(int argc, char **argv)
{
    struct arena snapshot_arena = {0}, arena = {0};
    double t0, make_ms = 1e300, first_ms = 1e300, full_ms = 0, first_cost = 0;
    uint64_t budget_ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    int repeat = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 3;
    uint64_t placed = 0, launched = 0, unplaced = 0;
    struct problem *now = NULL;
    struct snapshot *snapshot;
    struct plan plan;
    json_error_t je;
    struct err err;
    struct again again;
    json_t *root;

    if (argc < 2)
        die("usage: bench_round SNAPSHOT.json [BUDGET_MS [REPEAT]]");
    root = json_load_file(argv[1], 0, &je);
    if (!root)
        die(je.text);
    if (codec_snapshot_read(root, &snapshot_arena, &snapshot, &err) != ST_OK)
        die(err.text);
    json_decref(root);
    for (int r = 0; r < repeat; r++) {
        arena_reset(&arena);
        t0 = now_ms();
        if (problem_make(snapshot, &arena, &now, &err) != ST_OK)
            die(err.text);
        t0 = now_ms() - t0;
        make_ms = t0 < make_ms ? t0 : make_ms;
        t0 = now_ms();
        planner_run(now, 0, &arena, &plan);
        t0 = now_ms() - t0;
        first_ms = t0 < first_ms ? t0 : first_ms;
    }
    first_cost = (double)plan.cost_micros_hour / 1e6;
    if (budget_ms) {
        t0 = now_ms();
        planner_run(now, budget_ms * PLANNER_STEPS_PER_MS, &arena, &plan);
        full_ms = now_ms() - t0;
    }
    for (uint32_t b = 0; b < now->n_bundles; b++) {
        placed += plan.bundles[b].placed;
        launched += plan.bundles[b].launched;
        unplaced += plan.bundles[b].waiting + plan.bundles[b].infeasible;
    }
    again = again_run(snapshot);
    printf("{\"nodes\": %u, \"offers\": %u, \"shapes\": %u, \"placed\": %llu, "
           "\"launched\": %llu, \"unplaced\": %llu, \"new_nodes\": %u, "
           "\"cost\": %.6f, \"lower_bound\": %.6f, \"fleet_cost\": %.6f, "
           "\"fleet_bound\": %.6f, \"first_cost\": %.6f, "
           "\"snapshot_cpu_ms\": %.3f, \"first_cpu_ms\": %.3f, "
           "\"cpu_ms\": %.3f, \"peak_rss_kib\": %ld, "
           "\"scratch_cpu_ms\": %.3f, \"again_cpu_ms\": %.3f, "
           "\"again_half_cpu_ms\": %.3f, \"again_most_cpu_ms\": %.3f, "
           "\"remembered\": %.3f}\n",
           now->n_nodes, now->n_offers, now->n_shapes,
           (unsigned long long)placed, (unsigned long long)launched,
           (unsigned long long)unplaced, plan.n_launched,
           (double)plan.cost_micros_hour / 1e6,
           (double)plan.bound_micros_hour / 1e6,
           (double)plan.fleet_cost_micros_hour / 1e6,
           (double)plan.fleet_bound_micros_hour / 1e6, first_cost, make_ms,
           first_ms, full_ms, peak_rss_kib(), again.scratch_ms, again.again_ms,
           again.half_ms, again.most_ms, again.alike);
    arena_done(&arena);
    arena_done(&snapshot_arena);
    return 0;
}
