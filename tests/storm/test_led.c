/*
 * test_led.c - bad days of a leader, whose journal has a copy in the cluster: what
 * is not in the copy yet must not leave; part of test_sequences.
 */
#include <stdio.h>
#include <string.h>

#include "observer.h"
#include "sequences.h"

/* A calm world, its first list read, whose daemon leads. */
static struct world *leads_with(const char *settings, bool head,
                                uint32_t clouds, uint32_t slow_lines)
{
    struct world *w = begin(&(struct world_opts){.seed = 1,
                                                 .settings = settings,
                                                 .head = head,
                                                 .ha = true,
                                                 .waits = true,
                                                 .boot_least_ms = 10 * SECOND,
                                                 .boot_most_ms = 20 * SECOND,
                                                 .end_most_ms = 10 * SECOND,
                                                 .slow_lines = slow_lines,
                                                 .clouds = clouds});
    world_run(w, MINUTE);
    return w;
}

static struct world *leads(const char *settings, bool head, uint32_t clouds)
{
    return leads_with(settings, head, clouds, 0);
}

/* Not of the twenty-one: a storm of leaders found it.  Work is to move off a
 * node, as the plan sees it while the node is ready, and need not while it is
 * drained.  With a copy in the cluster the question leaves a step later, and each
 * plan took the other's word back, ten times a second. */
const char *led_consolidation(void)
{
    static const char *const settings = CLUSTER HEAD
        "limits: {consolidate: on, idle_timeout: 1m}\n" ONE_CLOUD
        "node_types:\n"
        "  t4: {provider: a, resources: {CPU: 8, GPU: 1},"
        " accelerator_type: T4, price: 1, max: 5}\n"
        "  cpu: {provider: a, resources: {CPU: 16}, price: 0.5,"
        " max: 2}\n";
    uint64_t steps;
    struct world *w = leads(settings, true, 1);

    world_ask(w, 0, GPUS(1));
    world_ask(w, 1, "{\"num_cpus\": 16}");
    world_run(w, 5 * MINUTE);
    world_ask(w, 1, "{\"num_cpus\": 4}");
    steps = w->steps;
    world_run(w, HOUR);
    if (alive(w) != 1)
        return wrong("%u machines for what one has room for", alive(w));
    if (w->steps - steps > 10000)
        return wrong("%u steps in a quiet hour", (unsigned)(w->steps - steps));
    return NULL;
}

static const char eight[] = CLUSTER
    "limits: {max_nodes: 8}\n" ONE_CLOUD T4("a", "8");

/* 42.  Two equal machines are on their way, each for bundles of two owners.  Without a
 * demand source what they are for is written down; each plan exchanged it, so that
 * their rows were never all in the copy, and nothing was launched. */
const char *led_launch_for_two(void)
{
    struct world *w = leads(eight, false, 1);

    world_ask(w, 0,
              "{\"bundles\": [{\"resources\": {\"GPU\": 1}}, {\"resources\": "
              "{\"CPU\": 8}}]}");
    world_ask(w, 1,
              "{\"bundles\": [{\"resources\": {\"GPU\": 1}}, {\"resources\": "
              "{\"CPU\": 2}}]}");
    world_ask(w, 2, "{\"num_cpus\": 4}");
    world_run(w, 50 * SECOND); /* a write may take twenty */
    if (w->launched != 2)
        return wrong("%u machines were launched in 50 s", w->launched);
    return NULL;
}

/* 42.  Others ask all the time for what has room on a machine that is to come: what it
 * is for changes with every plan.  Its launch does not wait for that. */
const char *led_launch_while_others_ask(void)
{
    struct world *w = leads(eight, false, 1);
    char body[64];

    world_ask(w, 0, GPUS(1));
    for (int i = 0; i < 2000 && !w->launched; i++) {
        uint32_t who = 1 + i % 4; /* at most 8 CPUs */

        snprintf(body, sizeof body, "{\"num_cpus\": %u}",
                 1 + w->owners[who].asks % 2);
        world_ask(w, who, body);
        world_run(w, 1);
    }
    if (w->launched != 1)
        return wrong("%u machines were launched in 2 s", w->launched);
    return NULL;
}

static void failed_count(void *arg, const struct event *e)
{
    *(uint32_t *)arg += strcmp(e->kind, "node.failed") == 0;
}

/* 42.  For ten minutes the copy cannot be written, so nothing can be launched.  That is
 * no fault of an offer: no launch has failed, and it leaves as soon as it can. */
const char *led_copy_is_full(void)
{
    struct world *w = leads(eight, false, 1);
    uint32_t failed = 0;

    w->on_event = failed_count;
    w->arg = &failed;
    lease_trouble(w->lease, LEASE_FULL);
    world_ask(w, 0, GPUS(2));
    world_run(w, 10 * MINUTE);
    if (w->launched)
        return wrong("%u machines: the test tests nothing", w->launched);
    lease_trouble(w->lease, LEASE_WELL);
    world_run(w, 50 * SECOND); /* a write may take twenty */
    if (w->launched != 2 || failed)
        return wrong("%u machines were launched, after %u that failed",
                     w->launched, failed);
    return NULL;
}

/* 46.  Somebody prunes the ConfigMaps; another owner is promised something; then the
 * leader is killed.  The next one knows all that was promised, before and after. */
const char *led_copy_is_pruned(void)
{
    struct world *w = leads(eight, false, 1);

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    lease_prune(w->lease, false);
    world_ask(w, 1, "{\"num_cpus\": 4}");
    for (int i = 0; i < 60 && w->acknowledged < 2; i++)
        world_run(w, SECOND);
    world_run(w, 25 * SECOND); /* a write may take twenty */
    if (alive(w) != 2 || w->acknowledged != 2)
        return wrong("%u machines, %u answers: the test tests nothing",
                     alive(w), w->acknowledged);
    world_crash(w, false, 0);
    for (int i = 0; i < 60 && !first(w)->control; i++) {
        world_run(w, SECOND);
        daemon_start(first(w));
    }
    world_run(w, 20 * MINUTE);
    return alive(w) == 2 && !w->ended
               ? NULL
               : wrong("%u machines, %u were ended", alive(w), w->ended);
}

/* 44.  Nobody reads the leader's log for an hour: it goes on, and leads. */
const char *led_log_stalls(void)
{
    struct world *w = leads_with(eight, false, 1, 1);
    uint32_t leaders = w->leaders;

    w->stall_ms = HOUR;
    w->stall_line = 1;
    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    if (!w->acknowledged || alive(w) != 2 || w->leaders != leaders)
        return wrong("%u answers, %u machines, %u leaders", w->acknowledged,
                     alive(w), w->leaders);
    return NULL;
}
