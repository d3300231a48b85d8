/*
 * figures.c - see figures.h.
 */
#include "figures.h"

#include <string.h>

#define MS(x) INT64_C(x) * 1000
#define S(x) INT64_C(x) * 1000000
#define N_OF(v) (uint32_t)(sizeof(v) / sizeof *(v))

static const int64_t loop_bounds[] = {100,    MS(1),  MS(3),   MS(5),   MS(10),
                                      MS(25), MS(50), MS(100), MS(250), MS(500),
                                      S(1),   S(5),   S(10)};
static const int64_t call_bounds[] = {MS(10),  MS(25), MS(50), MS(100), MS(250),
                                      MS(500), S(1),   S(2),   S(5),    S(10),
                                      S(30),   S(60),  S(120)};
/* Those of Ray's autoscaler_worker_create_node_time_seconds. */
static const int64_t ready_bounds[] = {S(5),   S(10),   S(20),   S(30),  S(45),
                                       S(60),  S(90),   S(120),  S(180), S(240),
                                       S(300), S(360),  S(480),  S(600), S(720),
                                       S(900), S(1200), S(1500), S(1800)};
static const int64_t drain_bounds[] = {S(1),    S(5),    S(10),  S(30),
                                       S(60),   S(120),  S(300), S(600),
                                       S(1200), S(1800), S(3600)};

_Static_assert(N_OF(ready_bounds) < FIGURE_BUCKETS, "the last one is +Inf");

static const struct figure_about all[FIGURE_COUNT] = {
    [FIGURE_STEP] = {"davit_step_seconds",
                     "How long a step held the control loop",
                     .bounds = loop_bounds, .n_bounds = N_OF(loop_bounds)},
    [FIGURE_TICK] = {"davit_tick_seconds", "CPU time of a step that planned",
                     .bounds = loop_bounds, .n_bounds = N_OF(loop_bounds)},
    [FIGURE_PLAN] = {"davit_plan_seconds", "CPU time of the planner",
                     .bounds = loop_bounds, .n_bounds = N_OF(loop_bounds)},
    [FIGURE_CALL] = {"davit_provider_call_seconds",
                     "How long a provider's answer took",
                     {"provider", "operation"},
                     call_bounds,
                     N_OF(call_bounds)},
    [FIGURE_READY] = {"davit_node_ready_seconds",
                      "From the decision to launch a node to ready",
                      {"type"},
                      ready_bounds,
                      N_OF(ready_bounds)},
    [FIGURE_DRAIN] = {"davit_node_drain_seconds",
                      "How long a node was drained before it was ended",
                      {"type"},
                      drain_bounds,
                      N_OF(drain_bounds)},
    [FIGURE_LAUNCHED] = {"davit_nodes_launched_total",
                         "Nodes asked of providers",
                         {"type", "provider", "market", "reason"}},
    [FIGURE_ENDED] = {"davit_nodes_ended_total",
                      "Nodes whose end was asked of their provider",
                      {"type", "provider", "reason"}},
    [FIGURE_LAUNCH_FAILED] = {"davit_launches_failed_total",
                              "Launch calls that failed",
                              {"type", "provider", "reason"}},
    [FIGURE_MACHINE_FAILED] = {"davit_nodes_failed_total",
                               "Nodes that were not had, or broke",
                               {"type", "provider", "reason"}},
    [FIGURE_LOST] = {"davit_nodes_lost_total",
                     "Nodes that vanished without Davit",
                     {"type", "provider"}},
    [FIGURE_CALL_FAILED] = {"davit_provider_errors_total",
                            "Provider operations that failed",
                            {"provider", "operation", "reason"}},
    [FIGURE_SPENT] = {"davit_spent_dollars_total",
                      "List price of all nodes over their time",
                      {"type", "provider", "market"},
                      .dollars = true},
    [FIGURE_OWNER_SPENT] = {"davit_owner_spent_dollars_total",
                            "The same by whose work the nodes are for",
                            {"owner"},
                            .dollars = true,
                            .most = 100},
    [FIGURE_IDLE_SPENT] = {"davit_idle_spent_dollars_total",
                           "The same of what nobody's work is on",
                           .dollars = true},
};

const struct figure_about *figure_about(enum figure f)
{
    return &all[f];
}

static uint32_t labels_of(enum figure f)
{
    uint32_t n = 0;

    while (n < FIGURE_LABELS && all[f].label[n])
        n++;
    return n;
}

static struct figure_series *series_find(struct figures *t, enum figure f,
                                         const char *const *labels)
{
    uint32_t n = labels_of(f);

    for (uint32_t i = 0; i < t->family[f].n; i++) {
        struct figure_series *s = &t->family[f].v[i];
        uint32_t k = 0;

        while (k < n && strcmp(s->label[k], labels[k]) == 0)
            k++;
        if (k == n)
            return s;
    }
    return NULL;
}

static struct figure_series *series_of(struct figures *t, enum figure f,
                                       const char *const *labels)
{
    static const char *const other[FIGURE_LABELS] = {
        FIGURE_OTHER, FIGURE_OTHER, FIGURE_OTHER, FIGURE_OTHER};
    uint32_t most = all[f].most ? all[f].most : FIGURE_SERIES;
    struct figure_series *s = series_find(t, f, labels), new = {.n = 0};

    if (!s && t->family[f].n >= most) {
        labels = other;
        s = series_find(t, f, labels);
    }
    if (s)
        return s;
    for (uint32_t i = 0; i < labels_of(f); i++)
        new.label[i] = arena_strdup(&t->arena, labels[i]);
    VEC_PUSH(&t->arena, &t->family[f], new);
    return &t->family[f].v[t->family[f].n - 1];
}

void figure_count(struct figures *t, enum figure f, uint64_t n,
                  const char *const *labels)
{
    pthread_mutex_lock(&t->lock);
    series_of(t, f, labels)->n += n;
    pthread_mutex_unlock(&t->lock);
}

void figure_time(struct figures *t, enum figure f, int64_t micros,
                 const char *const *labels)
{
    struct figure_series *s;
    uint32_t b = 0;

    while (b < all[f].n_bounds && micros > all[f].bounds[b])
        b++;
    pthread_mutex_lock(&t->lock);
    s = series_of(t, f, labels);
    s->n++;
    s->sum += micros > 0 ? micros : 0;
    s->bucket[b]++;
    pthread_mutex_unlock(&t->lock);
}

void figure_spend(struct figures *t, enum figure f, int64_t nanos,
                  const char *const *labels)
{
    pthread_mutex_lock(&t->lock);
    series_of(t, f, labels)->sum += nanos;
    pthread_mutex_unlock(&t->lock);
}

uint32_t figures_take(struct figures *t, enum figure f, struct arena *a,
                      const struct figure_series **ret)
{
    struct figure_series *v;
    uint32_t n;

    pthread_mutex_lock(&t->lock);
    n = t->family[f].n;
    v = arena_copy(a, t->family[f].v, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < labels_of(f); k++)
            v[i].label[k] = arena_strdup(a, v[i].label[k]);
    pthread_mutex_unlock(&t->lock);
    *ret = v;
    return n;
}

void figures_done(struct figures *t)
{
    arena_done(&t->arena);
    memset(t->family, 0, sizeof t->family);
}
