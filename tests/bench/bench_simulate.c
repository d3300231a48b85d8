/*
 * bench_simulate.c - the real loop with a large fleet for a day: is its memory
 * flat, how long does a tick take, what does the fleet cost beside the least it
 * could?
 *
 * usage: bench_simulate NODES HOURS [SEED]
 *
 * Demand swings once a day between half of NODES and all of them.  Every ten
 * minutes work comes that runs for some multiple of ten minutes, so what ends
 * ends together.  The played head shows a view every 9 s at most, the played
 * cloud answers after 10 s: that is what lists and views of a large fleet take.
 * One JSON object on standard output.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/base/alloc.h"
#include "../../autoscaler/base/log.h"
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/plan/planner.h"
#include "../../autoscaler/played/cloud_inside.h"
#include "../../autoscaler/played/head_inside.h"
#include "figures.h"

enum { MINUTE = 60000, HOUR = 60 * MINUTE, STEP = 10 * MINUTE, RUNS = 36 };
#define BEGIN_MS INT64_C(1790000000000)

static const char settings[] =
    "cluster: large\n"
    "head: {ray: {address: \"played:6379\"}}\n"
    "limits: {max_nodes: 50000, idle_timeout: 5m}\n"
    "providers: {one: {plugin: played}}\n"
    "node_types:\n"
    "  cpu: {provider: one, resources: {CPU: 16}, price: 0.8}\n"
    "  cpu4: {provider: one, resources: {CPU: 64}, price: 3.1}\n"
    "  t4: {provider: one, resources: {CPU: 8, GPU: 1},\n"
    "       accelerator_type: T4, price: 0.7}\n"
    "  a10: {provider: one, resources: {CPU: 16, GPU: 1},\n"
    "        accelerator_type: A10G, price: 1.2}\n";

/* What a task may need, the part of the nodes that its kind is to fill, and
 * how many of them fill one. */
static const struct kind_of_work {
    double cpus, gpus;
    const char *accel;
    double part, a_node;
} kinds[] = {
    {4, 1, "T4", 0.45, 1},
    {12, 1, "A10G", 0.15, 1},
    {4, 0, "", 0.25, 4},
    {10, 0, "", 0.15, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct bench {
    struct player *player;
    struct head *head;
    struct cloud *cloud;
    struct control *control;
    struct config *conf;
    double nodes;
    uint32_t present[KINDS]; /* tasks that are or were to be there */
    uint32_t leaving[KINDS][RUNS + 1];
    uint32_t step;
    VEC(int64_t) ticks; /* microseconds of CPU */
    unsigned long long ticks_seen, us_seen;
    double cost, bound; /* dollars */
    uint32_t most;
    VEC(double) heap; /* of the daemon, MiB, each hour */
};

static void die(const char *text)
{
    fprintf(stderr, "bench_simulate: %s\n", text);
    exit(2);
}

/* ---- outside */

static enum status settings_read(void *arg, const char *path,
                                 struct config **ret, struct buf *errors)
{
    (void)arg;
    return config_parse(path, settings, strlen(settings), ret, errors);
}

static struct workers *workers(void *arg, unsigned n, unsigned stuck,
                               struct mailbox *answers)
{
    return player_workers(((struct bench *)arg)->player, n, stuck, answers);
}

static enum status sources(void *arg, const struct config *c,
                           struct source_opened *ret, uint32_t *ret_n,
                           struct err *err)
{
    (void)c;
    (void)err;
    ret[0] = head_open(((struct bench *)arg)->head);
    *ret_n = 1;
    return ST_OK;
}

/* ---- demand */

static void submit(struct bench *b, unsigned kind, uint32_t tasks,
                   uint32_t steps)
{
    const struct kind_of_work *k = &kinds[kind];
    struct qty need[2] = {{"CPU", (int64_t)(k->cpus * (double)AMOUNT_ONE)},
                          {"GPU", (int64_t)(k->gpus * (double)AMOUNT_ONE)}};
    const char *accel[1] = {k->accel};

    head_submit(b->head, &(struct head_work){
                             .need = {need, k->gpus > 0 ? 2 : 1},
                             .accel = {accel, *k->accel ? 1 : 0},
                             .tasks = tasks,
                             .runs_ms = (int64_t)steps * STEP - 2 * MINUTE});
    b->present[kind] += tasks;
    b->leaving[kind][(b->step + steps) % (RUNS + 1)] += tasks;
}

/* As many as lack to what is to be there now; each runs for one to six hours. */
static void work_comes(void *arg)
{
    struct bench *b = arg;
    double day = (double)player_now_ms(b->player) / (24.0 * HOUR);
    double nodes = b->nodes * (0.75 - 0.25 * cos(day * 2 * 3.14159265358979));

    for (unsigned k = 0; k < KINDS; k++) {
        double wanted = nodes * kinds[k].part * kinds[k].a_node;

        b->present[k] -= b->leaving[k][b->step % (RUNS + 1)];
        b->leaving[k][b->step % (RUNS + 1)] = 0;
        while (b->present[k] < (uint32_t)wanted) {
            uint32_t left = (uint32_t)wanted - b->present[k];
            uint32_t most = (uint32_t)(wanted / 40) + 1;

            submit(b, k, left < most ? left : most,
                   6 + player_chance(b->player, RUNS - 6));
        }
    }
    b->step++;
    player_after(b->player, STEP, work_comes, b);
}

/* ---- figures */

static bool measure(void *arg)
{
    struct bench *b = arg;
    const struct metrics *m = control_metrics(b->control);

    if (m->ticks == b->ticks_seen)
        return false;
    VEC_PUSH(NULL, &b->ticks, (int64_t)(m->tick_us_sum - b->us_seen));
    b->ticks_seen = m->ticks;
    b->us_seen = m->tick_us_sum;
    return false;
}

/* The least an hour of what is asked for could cost: the planner's bound for an
 * empty cluster. */
static double bound_now(const struct bench *b)
{
    struct arena a = {0};
    struct snap_type *types = ARENA_ARRAY(&a, struct snap_type,
                                          b->conf->n_types);
    struct snap_bundle *bundles = ARENA_ARRAY(&a, struct snap_bundle, KINDS);
    struct snap_demand d = {.source = SOURCE_TASK,
                            .owner = "ray",
                            .id = "",
                            .bundles = bundles,
                            .n_bundles = KINDS};
    struct snapshot s = {.cluster = "bound",
                         .sources_fresh = true,
                         .limits = b->conf->limits,
                         .types = types,
                         .n_types = b->conf->n_types,
                         .demands = &d,
                         .n_demands = 1};
    struct problem *now;
    struct plan plan;
    struct err err;
    double bound;

    for (uint32_t i = 0; i < b->conf->n_types; i++)
        types[i] = b->conf->types[i].fact;
    for (unsigned k = 0; k < KINDS; k++) {
        struct snap_alt *alt = ARENA_NEW(&a, struct snap_alt);
        struct qty *need = ARENA_ARRAY(&a, struct qty, 2);
        struct term *term = ARENA_NEW(&a, struct term);
        const char **accel = ARENA_ARRAY(&a, const char *, 1);

        need[0] = (struct qty){"CPU", (int64_t)(kinds[k].cpus * AMOUNT_ONE)};
        need[1] = (struct qty){"GPU", (int64_t)(kinds[k].gpus * AMOUNT_ONE)};
        accel[0] = kinds[k].accel;
        *term = (struct term){"ray.io/accelerator-type", TERM_IN, {accel, 1}};
        alt->resources = (struct qtys){need, kinds[k].gpus > 0 ? 2 : 1};
        alt->selector = (struct terms){term, *kinds[k].accel ? 1 : 0};
        bundles[k] = (struct snap_bundle){
            .alts = alt, .n_alts = 1, .count = b->present[k]};
    }
    if (problem_make(&s, &a, &now, &err) != ST_OK)
        die(err.text);
    planner_run(now, 200 * PLANNER_STEPS_PER_MS, &a, &plan);
    bound = (double)(plan.bound_micros_hour < 0 ? 0 : plan.bound_micros_hour) /
            1e6;
    arena_done(&a);
    return bound;
}

static double cost_now(struct bench *b, uint32_t *ret_n)
{
    struct cloud_machine *const *v = cloud_machines(b->cloud, ret_n);
    double sum = 0;

    for (uint32_t i = 0; i < *ret_n; i++)
        for (uint32_t t = 0; t < b->conf->n_types; t++)
            if (strcmp(b->conf->types[t].fact.name, v[i]->type) == 0)
                sum +=
                    (double)b->conf->types[t].fact.offers[0].price_micros_hour /
                    1e6;
    return sum;
}

/* What is on the heap without what the played world keeps of every machine,
 * launch and piece of work that there ever was. */
static double daemon_heap(const struct bench *b)
{
    const double each = 16; /* malloc's own */
    double world = (double)b->cloud->all.n *
                       (sizeof(struct vm) + sizeof(struct joined) +
                        sizeof(struct node) + 3 * each + 8 * sizeof(void *)) +
                   (double)b->cloud->requests.n *
                       (sizeof(struct request) + each + 4 * sizeof(void *)) +
                   (double)b->head->works.n *
                       (sizeof(struct work) + each + 2 * sizeof(void *)) +
                   (double)b->head->running * (sizeof(struct task_run) + 32 +
                                               2 * each + sizeof(void *));

    return (double)mallinfo2().uordblks + (double)mallinfo2().hblkhd - world;
}

static void hour_done(struct bench *b, int hour)
{
    double heap = daemon_heap(b) / (1 << 20);
    uint32_t n;
    double cost = cost_now(b, &n), bound = bound_now(b);

    b->cost += cost;
    b->bound += bound;
    b->most = n > b->most ? n : b->most;
    VEC_PUSH(NULL, &b->heap, heap);
    fprintf(stderr,
            "hour %2d: %5u machines, %u waiting, %.0f dollars an hour, bound "
            "%.0f; heap of the daemon %.1f MiB, %u launched; CPU %.0f s\n",
            hour, n, head_waiting(b->head), cost, bound, heap,
            cloud_launched(b->cloud), now_ms() / 1000);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* From one day to the next, at the same hour; 0 before there are two. */
static double heap_growth(const struct bench *b)
{
    double most = 0;

    for (uint32_t h = 24; h < b->heap.n; h++)
        if (h == 24 || b->heap.v[h] - b->heap.v[h - 24] > most)
            most = b->heap.v[h] - b->heap.v[h - 24];
    return most;
}

static double heap_most(const struct bench *b)
{
    double most = 0;

    for (uint32_t h = 0; h < b->heap.n; h++)
        most = b->heap.v[h] > most ? b->heap.v[h] : most;
    return most;
}

static double tick_ms(const struct bench *b, double part)
{
    return (double)b->ticks.v[(uint32_t)((b->ticks.n - 1) * part)] / 1000;
}

static void result(struct bench *b)
{
    qsort(b->ticks.v, b->ticks.n, sizeof *b->ticks.v, by_value);
    printf("{\"hours\": %u, \"machines_at_most\": %u, \"launched\": %u, "
           "\"waiting\": %u, \"ticks\": %u, \"tick_p50_ms\": %.2f, "
           "\"tick_p99_ms\": %.2f, \"tick_most_ms\": %.2f, "
           "\"heap_most_mib\": %.1f, \"heap_growth_a_day_mib\": %.2f, "
           "\"cost\": %.0f, \"bound\": %.0f, \"cost_over_bound\": %.3f, "
           "\"cpu_s\": %.1f, \"peak_rss_mib\": %.1f}\n",
           b->heap.n, b->most, cloud_launched(b->cloud), head_waiting(b->head),
           b->ticks.n, tick_ms(b, 0.5), tick_ms(b, 0.99), tick_ms(b, 1),
           heap_most(b), heap_growth(b), b->cost, b->bound, b->cost / b->bound,
           now_ms() / 1000, (double)peak_rss_kib() / 1024);
}

/* ---- a day */

static void begin(struct bench *b, uint64_t seed)
{
    struct control_opts o = {.config_path = "large.yaml",
                             .outside = {.arg = b,
                                         .workers = workers,
                                         .config = settings_read,
                                         .in_memory = true,
                                         .sources = sources}};
    struct config *conf;
    struct buf errors;

    buf_init(&errors, 65536);
    b->player = player_new(seed, BEGIN_MS);
    b->head = head_new(b->player, &(struct head_opts){.waits = true,
                                                      .every_ms = 9000,
                                                      .join_least_ms = 2000,
                                                      .join_most_ms = 10000});
    b->cloud = cloud_new(b->player, &(struct cloud_opts){.boot_least_ms = 60000,
                                                         .boot_most_ms = 90000,
                                                         .head = b->head});
    cloud_weather(b->cloud,
                  &(struct cloud_weather){.hangs = 1000, .hang_ms = 10000});
    if (settings_read(NULL, "large.yaml", &b->conf, &errors) != ST_OK ||
        settings_read(NULL, "large.yaml", &conf, &errors) != ST_OK ||
        control_new(&o, conf, &b->control, &errors) != ST_OK)
        die(errors.s);
    buf_done(&errors);
    player_after(b->player, 2 * MINUTE, work_comes, b);
}

static void end(struct bench *b)
{
    control_free(b->control);
    cloud_free(b->cloud);
    head_free(b->head);
    player_free(b->player);
    config_free(b->conf);
    free(b->ticks.v);
    free(b->heap.v);
}

int main(int argc, char **argv)
{
    struct bench b = {.nodes = argc > 1 ? strtod(argv[1], NULL) : 10000};
    int hours = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 24;

    if (b.nodes < 10 || hours < 1)
        die("usage: bench_simulate NODES HOURS [SEED]");
    log_setup(LOG_ERROR, false);
    begin(&b, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    for (int h = 1; h <= hours; h++) {
        player_run(b.player, b.control, HOUR, measure, &b);
        hour_done(&b, h);
    }
    result(&b);
    end(&b);
    return 0;
}
