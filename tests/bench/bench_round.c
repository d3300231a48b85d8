/*
 * bench_round.c - one round of the whole planner: reads a snapshot.json,
 * measures the CPU time from facts to plan, with and without bettering, and
 * writes one JSON object to stdout.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/codec/codec.h"
#include "../../autoscaler/plan/planner.h"
#include "figures.h"

static void die(const char *what)
{
    fprintf(stderr, "bench_round: %s\n", what);
    exit(2);
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
    printf("{\"nodes\": %u, \"offers\": %u, \"shapes\": %u, \"placed\": %llu, "
           "\"launched\": %llu, \"unplaced\": %llu, \"new_nodes\": %u, "
           "\"cost\": %.6f, \"lower_bound\": %.6f, \"fleet_cost\": %.6f, "
           "\"fleet_bound\": %.6f, \"first_cost\": %.6f, "
           "\"snapshot_cpu_ms\": %.3f, \"first_cpu_ms\": %.3f, "
           "\"cpu_ms\": %.3f, \"peak_rss_kib\": %ld}\n",
           now->n_nodes, now->n_offers, now->n_shapes,
           (unsigned long long)placed, (unsigned long long)launched,
           (unsigned long long)unplaced, plan.n_launched,
           (double)plan.cost_micros_hour / 1e6,
           (double)plan.bound_micros_hour / 1e6,
           (double)plan.fleet_cost_micros_hour / 1e6,
           (double)plan.fleet_bound_micros_hour / 1e6, first_cost, make_ms,
           first_ms, full_ms, peak_rss_kib());
    arena_done(&arena);
    arena_done(&snapshot_arena);
    return 0;
}
