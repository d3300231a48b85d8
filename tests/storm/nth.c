/*
 * nth.c - the n-th outside call fails, for every n and every kind of failure,
 * over twenty fixed scenarios.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "nth.h"

/* ---- scenarios */

#define CLUSTER "cluster: played\nstate: /a/davit.db\n"
#define HEAD "head: {ray: {address: \"played:6379\"}}\n"
#define LIMITS(more) \
    "limits: {max_nodes: 8, idle_timeout: 1m, start_timeout: 4m, think: 0s" more \
    "}\n"
#define CLOUD_A "providers: {a: {plugin: played, cloud: a}}\n"
#define CLOUD_AB \
    "providers: {a: {plugin: played, cloud: a}, b: {plugin: played, cloud: b}}\n"
#define T4 \
    "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, " \
    "max: 4}\n"
#define T4_SPOT \
    "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, " \
    "max: 4, spot: true, zones: [x, y]}\n"
#define V100 \
    "  v100: {provider: a, resources: {CPU: 32, GPU: 4}, price: 6, max: 2}\n"
#define T4_B \
    "  other: {provider: b, resources: {CPU: 8, GPU: 1}, price: 2, max: 4}\n"

#define GPUS(n) \
    "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": " #n "}]}"
#define NONE_LEFT "{\"bundles\": []}"

static const struct scenario {
    const char *name, *settings,
        *after; /* after: what a reload reads, or NULL */
    uint32_t clouds;
    const char *happens; /* lines of a script; times are after the calls begin to
                          * be counted */
} scenarios[] = {
    {"a request", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(3)},
    {"a request that ends", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(2) "\nat 90000 asks 0 0 0 " NONE_LEFT},
    {"a request that grows", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(1) "\nat 40000 asks 0 0 0 " GPUS(3)},
    {"a request that shrinks", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(4) "\nat 60000 asks 0 0 0 " GPUS(1)},
    {"two owners", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(2) "\nat 100 asks 1 0 0 " GPUS(2)},
    {"a time to live", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 {\"bundles\": [{\"GPU\": 1}], \"ttl\": \"2m\"}"},
    {"large machines", CLUSTER LIMITS("") CLOUD_A T4 V100, NULL, 1,
     "at 0 asks 0 0 0 {\"bundles\": [{\"GPU\": 4}, {\"GPU\": 1}]}"},
    {"spot in two zones", CLUSTER LIMITS("") CLOUD_A T4_SPOT, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(3)},
    {"two clouds", CLUSTER LIMITS("") CLOUD_AB T4 T4_B, NULL, 2,
     "at 0 asks 0 0 0 " GPUS(6)},
    {"a budget", CLUSTER LIMITS(", max_cost_per_hour: 2") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(4)},
    {"tasks", CLUSTER HEAD LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 tasks 3 0 30000 GPU"},
    {"tasks twice", CLUSTER HEAD LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 tasks 2 0 20000 GPU\nat 150000 tasks 2 0 20000 GPU"},
    {"a placement group", CLUSTER HEAD LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 tasks 3 1 30000 GPU"},
    {"work that stays", CLUSTER HEAD LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 tasks 4 0 1200000 GPU"},
    {"a machine dies", CLUSTER HEAD LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 tasks 2 0 600000 GPU\nat 60000 dies 0 1 0"},
    {"a machine is taken back", CLUSTER HEAD LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 tasks 2 0 600000 GPU\nat 60000 taken 0 30000 0"},
    {"kill -9", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(3) "\nat 150 killed 0 0 0"},
    {"the power fails while it buys", CLUSTER LIMITS("") CLOUD_A T4, NULL, 1,
     "at 0 asks 0 0 0 " GPUS(3) "\nat 1 killed-at 9 0 0"},
    {"a reload", CLUSTER LIMITS("") CLOUD_A T4,
     CLUSTER LIMITS(", consolidate: off") CLOUD_A T4, 1,
     "at 0 asks 0 0 0 " GPUS(3) "\nat 200 file 1 0 0"},
    {"a restart in the middle of an end", CLUSTER HEAD LIMITS("") CLOUD_A T4,
     NULL, 1, "at 0 tasks 2 0 20000 GPU\nat 112000 restarts 0 0 0"},
};

/* ---- failures */

static const struct failure {
    const char *name;
    struct cloud_weather weather;
} failures[] = {
    {"refused", {.down = true}},
    {"AUTH", {.auth = true}},
    {"BROKEN", {.broken = true}},
    {"THROTTLED", {.throttled = 1000}},
    {"the request is lost", {.lost_request = 1000}},
    {"the reply is lost", {.lost_reply = 1000}},
    {"it comes in late", {.late_effect = 1000}},
    {"it comes in twice", {.doubled = 1000}},
    {"it hangs", {.hangs = 1000, .hang_ms = 20 * MINUTE}},
    {"a list is cut", {.cut_list = 1000}},
    {"a launch is served in part", {.partial = 1000}},
    {"STOCKOUT", {.stockout = UINT32_MAX}},
    {"QUOTA", {.quota = 1}},
    {"the machines' start fails", {.start_fails = 1000}},
    {"the machines never join", {.never_joins = 1000}},
    {"the machines refuse to end", {.refuses_end = 1000}},
};

enum {
    SCENARIOS = sizeof scenarios / sizeof *scenarios,
    FAILURES = sizeof failures / sizeof *failures,
    BEGIN_AT_MS = 60000, /* the first list is read */
    WATCHED_MS = 300000, /* calls are spoilt for so long */
};

/* n 0: nothing fails. */
static void script_make(struct script *s, uint32_t scenario, uint32_t cloud,
                        uint32_t n, uint32_t failure)
{
    const struct scenario *x = &scenarios[scenario];
    const char *line = x->happens;

    memset(s, 0, sizeof *s);
    s->world = (struct world_opts){.seed = 7,
                                   .settings = x->settings,
                                   .head = strstr(x->settings, "head:"),
                                   .waits = true,
                                   .boot_least_ms = 5 * SECOND,
                                   .boot_most_ms = 20 * SECOND,
                                   .end_most_ms = 10 * SECOND,
                                   .clouds = x->clouds};
    s->files[s->n_files++] = mem_strdup(x->settings);
    if (x->after)
        s->files[s->n_files++] = mem_strdup(x->after);
    s->world.settings = s->files[0];
    s->storm_ms = BEGIN_AT_MS + WATCHED_MS;
    s->v = mem_resize(NULL, 8, sizeof *s->v);
    s->v[s->n++] = (struct happening){.at_ms = BEGIN_AT_MS,
                                      .kind = HAPPENS_SPOILS,
                                      .a = cloud,
                                      .b = n ? n : UINT32_MAX / 2,
                                      .weather = failures[failure].weather};
    while (*line) {
        size_t length = strcspn(line, "\n");

        script_line(s, line, length);
        s->v[s->n - 1].at_ms += BEGIN_AT_MS;
        line += length + (line[length] == '\n');
    }
}

uint32_t nth_scenarios(void)
{
    return SCENARIOS;
}

/* Every step-th call of the scenario fails, in each way. */
void nth_play(uint32_t scenario, uint32_t step, struct nth *ret)
{
    struct script s;
    struct played p;

    *ret = (struct nth){.name = scenarios[scenario].name};
    for (uint32_t cloud = 0; cloud < scenarios[scenario].clouds; cloud++) {
        uint32_t calls;

        script_make(&s, scenario, cloud, 0, 0);
        script_play(&s, NULL, false, &p);
        script_free(&s);
        calls = p.calls[cloud];
        ret->calls += calls;
        for (uint32_t n = 1 + scenario % step; n <= calls; n += step)
            for (uint32_t f = 0; f < FAILURES; f++) {
                script_make(&s, scenario, cloud, n, f);
                script_play(&s, NULL, false, &p);
                ret->played++;
                if (p.law && !ret->broken++)
                    snprintf(ret->first, sizeof ret->first,
                             "call %u, %s: law %d: %.300s", n, failures[f].name,
                             p.law, p.violation);
                script_free(&s);
            }
    }
}

bool nth_script(struct script *s, uint32_t scenario, uint32_t n,
                uint32_t failure)
{
    if (scenario >= SCENARIOS || failure >= FAILURES)
        return false;
    script_make(s, scenario, 0, n, failure);
    return true;
}
