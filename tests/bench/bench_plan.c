/*
 * bench_plan.c - one packing case through cover_first() and cover_improve():
 * reads the case's JSON, measures CPU time and peak memory, writes one JSON
 * object to stdout; --plan FILE gets the whole plan for the checker.
 *
 * The planner counts steps and knows no clock, so the budget in milliseconds
 * is turned into steps here, by the published rate of cover.h.
 */
#include "../../autoscaler/plan/cover/cover.h"
#include "figures.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPU, MEMORY, GPU, N_FIXED, N_MAX = 16 };

struct input {
    struct cover_problem p;
    char names[N_MAX][64];
    struct pb_column columns[N_MAX];
};

static void die(const char *what)
{
    fprintf(stderr, "bench_plan: %s\n", what);
    exit(2);
}

static uint32_t column_of(struct input *in, const char *name)
{
    for (uint32_t c = 0; c < in->p.n_columns; c++)
        if (!strcmp(in->names[c], name))
            return c;
    if (in->p.n_columns == N_MAX)
        die("more than 16 resources");
    snprintf(in->names[in->p.n_columns], 64, "%s", name);
    return in->p.n_columns++;
}

static void read_row(struct input *in, const json_t *resources, int64_t *row)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)resources, name, value) {
        if (!strncmp(name, "accelerator_type:", 17))
            continue;
        row[column_of(in, name)] = llround(json_number_value(value) * 1e4);
    }
}

static const char *label_of(const json_t *type)
{
    const json_t *l = json_object_get(json_object_get(type, "labels"),
                                      "accelerator_type");

    return json_is_string(l) ? json_string_value(l) : "";
}

static void read_bins(struct input *in, const json_t *types, struct arena *a)
{
    uint32_t n = (uint32_t)json_array_size(types);
    struct cover_bin *bins = ARENA_ARRAY(a, struct cover_bin, n);
    uint32_t *family_max = ARENA_ARRAY(a, uint32_t, n);

    for (uint32_t t = 0; t < n; t++) {
        const json_t *type = json_array_get(types, t);
        const json_t *max = json_object_get(type, "max");
        int64_t *row = ARENA_ARRAY(a, int64_t, N_MAX);

        read_row(in, json_object_get(type, "resources"), row);
        bins[t].has = row;
        bins[t].price = llround(
            json_number_value(json_object_get(type, "price")) * 1e6);
        bins[t].max = json_is_integer(max) ? (uint32_t)json_integer_value(max)
                                           : UNLIMITED;
        bins[t].family = t;
        bins[t].rank = (int32_t)t;
        bins[t].accelerator = row[GPU] > 0;
        family_max[t] = UNLIMITED;
    }
    in->p.bins = bins;
    in->p.n_bins = n;
    in->p.family_max = family_max;
    in->p.n_families = n;
}

static const uint64_t *allowed(const struct input *in, const json_t *types,
                               const json_t *accels, struct arena *a)
{
    uint32_t n = in->p.n_bins;
    uint64_t *mask = ARENA_ARRAY(a, uint64_t, (n + 63) / 64);

    for (uint32_t t = 0; t < n; t++) {
        bool ok = !json_array_size(accels);

        for (size_t k = 0; k < json_array_size(accels) && !ok; k++)
            ok = !strcmp(json_string_value(json_array_get(accels, k)),
                         label_of(json_array_get(types, t)));
        if (ok)
            mask[t / 64] |= UINT64_C(1) << (t % 64);
    }
    return mask;
}

static void read_case(const char *file, struct arena *a, struct input *in)
{
    json_error_t err;
    json_t *root = json_load_file(file, 0, &err);
    const json_t *types, *demands, *max;
    struct cover_item *items;

    if (!root)
        die(err.text);
    types = json_object_get(root, "node_types");
    demands = json_object_get(root, "demands");
    column_of(in, "CPU");
    column_of(in, "memory");
    column_of(in, "GPU");
    read_bins(in, types, a);
    items = ARENA_ARRAY(a, struct cover_item, json_array_size(demands));
    in->p.n_items = (uint32_t)json_array_size(demands);
    for (uint32_t i = 0; i < in->p.n_items; i++) {
        const json_t *demand = json_array_get(demands, i);
        int64_t *row = ARENA_ARRAY(a, int64_t, N_MAX);

        read_row(in, json_object_get(demand, "resources"), row);
        items[i].need = row;
        items[i].count = (uint32_t)json_integer_value(
            json_object_get(demand, "count"));
        items[i].bins = allowed(
            in, types, json_object_get(demand, "accelerator_types"), a);
    }
    for (uint32_t c = 0; c < in->p.n_columns; c++)
        in->columns[c] = (struct pb_column){0, c == GPU, c == GPU};
    max = json_object_get(root, "max_nodes");
    in->p.items = items;
    in->p.columns = in->columns;
    in->p.max_bins = json_is_integer(max) ? (uint32_t)json_integer_value(max)
                                          : UNLIMITED;
    max = json_object_get(root, "max_cost");
    in->p.max_cost = json_is_number(max) ? llround(json_number_value(max) * 1e6)
                                         : -1;
    json_decref(root);
}

static void write_plan(const char *file, const struct cover_plan *plan,
                       uint32_t n_items)
{
    json_t *patterns = json_array(), *unplaced = json_array(), *root;

    for (uint32_t k = 0; k < plan->n_patterns; k++) {
        const struct cover_pattern *x = &plan->patterns[k];
        json_t *parts = json_array();

        for (uint32_t q = 0; q < x->n; q++)
            json_array_append_new(
                parts, json_pack("[i,i]", (int)plan->parts[x->first + q].item,
                                 (int)plan->parts[x->first + q].count));
        json_array_append_new(
            patterns, json_pack("{s:i,s:i,s:o}", "bin", (int)x->bin, "count",
                                (int)x->count, "parts", parts));
    }
    for (uint32_t i = 0; i < n_items; i++)
        json_array_append_new(unplaced, json_integer(plan->unplaced[i]));
    root = json_pack("{s:o,s:o,s:I,s:I}", "patterns", patterns, "unplaced",
                     unplaced, "cost", (json_int_t)plan->cost, "bound",
                     (json_int_t)plan->bound);
    if (json_dump_file(root, file, 0))
        die("cannot write the plan");
    json_decref(root);
}

/* What any plan costs that holds what this one places: as certificates have it.  A
 * quarter of the budget, as for a fleet's. */
static int64_t placed_bound(const struct cover_problem *p,
                            const struct cover_plan *plan, uint64_t unplaced,
                            double budget_ms, struct arena *arena)
{
    const double steps = budget_ms / 4 * (double)COVER_STEPS_PER_MS;
    struct cover_problem placed = *p;
    struct cover_item *items;
    uint64_t work = 0;
    int64_t bound;

    if (unplaced == 0)
        return plan->bound;
    items = arena_copy(arena, p->items, p->n_items * sizeof *items);
    for (uint32_t i = 0; i < p->n_items; i++)
        items[i].count -= plan->unplaced[i];
    placed.items = items;
    bound = cover_bound(&placed, 0, plan->proof.worth, INT64_MAX,
                        (uint64_t)steps, arena, &work, NULL);
    return bound > plan->bound ? bound : plan->bound;
}

int main(int argc, char **argv)
{
    struct input in = {0};
    struct arena input = {0}, arena = {0};
    struct cover_plan first, best;
    const char *plan_file = NULL;
    double budget_ms = 0, bound_ms = 0, t0, first_ms = 1e300, ms = 0;
    uint64_t nodes = 0, unplaced = 0, bound_work = 0;
    int64_t bound = -1, placed;
    int repeat = 1;

    if (argc < 2)
        die("usage: bench_plan CASE.json [--budget-ms N] [--plan FILE] "
            "[--bound-ms N] [--repeat N]");
    for (int k = 2; k + 1 < argc; k += 2) {
        if (!strcmp(argv[k], "--budget-ms"))
            budget_ms = atof(argv[k + 1]);
        else if (!strcmp(argv[k], "--bound-ms"))
            bound_ms = atof(argv[k + 1]);
        else if (!strcmp(argv[k], "--plan"))
            plan_file = argv[k + 1];
        else if (!strcmp(argv[k], "--repeat"))
            repeat = atoi(argv[k + 1]);
        else
            die("unknown option");
    }
    read_case(argv[1], &input, &in);
    for (int r = 0; r < repeat; r++) {
        arena_reset(&arena);
        t0 = now_ms();
        cover_first(&in.p, &arena, &first);
        t0 = now_ms() - t0;
        first_ms = t0 < first_ms ? t0 : first_ms;
    }
    best = first;
    if (budget_ms > 0) {
        t0 = now_ms();
        cover_improve(&in.p, &first,
                      (uint64_t)(budget_ms * (double)COVER_STEPS_PER_MS),
                      &arena, &best);
        ms = now_ms() - t0;
    }
    for (uint32_t k = 0; k < best.n_patterns; k++)
        nodes += best.patterns[k].count;
    for (uint32_t i = 0; i < in.p.n_items; i++)
        unplaced += best.unplaced[i];
    if (bound_ms > 0)
        bound = cover_bound(&in.p, unplaced, NULL, INT64_MAX,
                            (uint64_t)(bound_ms * (double)COVER_STEPS_PER_MS),
                            &arena, &bound_work, NULL);
    placed = placed_bound(&in.p, &best, unplaced, budget_ms, &arena);
    if (plan_file)
        write_plan(plan_file, &best, in.p.n_items);
    printf(
        "{\"cost\": %.6f, \"lower_bound\": %.6f, \"nodes\": %llu, "
        "\"unplaced\": %llu, \"bound_alone\": %.6f, \"placed_bound\": %.6f, \"first_cost\": %.6f, \"first_cpu_ms\": %.3f, "
        "\"cpu_ms\": %.3f, \"peak_rss_kib\": %ld, \"work\": %llu, "
        "\"arena_kib\": %zu}\n",
        (double)best.cost / 1e6, (double)best.bound / 1e6,
        (unsigned long long)nodes, (unsigned long long)unplaced,
        (double)bound / 1e6, (double)placed / 1e6, (double)first.cost / 1e6,
        first_ms, ms, peak_rss_kib(), (unsigned long long)best.work,
        arena.used / 1024);
    arena_done(&arena);
    arena_done(&input);
    return 0;
}
