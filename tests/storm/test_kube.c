/*
 * test_kube.c - bad days of a Kubernetes cluster: node objects that are not what they
 * were; part of test_sequences.
 */
#include <stdio.h>
#include <string.h>

#include "model/amount.h"
#include "observer.h"
#include "sequences.h"

static const char settings[] = CLUSTER HEAD
    "limits: {max_nodes: 6, idle_timeout: 1m, start_timeout: 5m}\n" ONE_CLOUD T4(
        "a", "6");

static struct world *cluster_of(const char *file, bool addressed)
{
    struct world *w = begin(&(struct world_opts){.seed = 5,
                                                 .settings = file,
                                                 .head = true,
                                                 .waits = true,
                                                 .kube = true,
                                                 .addressed = addressed,
                                                 .boot_least_ms = 10 * SECOND,
                                                 .boot_most_ms = 20 * SECOND,
                                                 .end_most_ms = 2 * SECOND,
                                                 .clouds = 1});
    world_run(w, MINUTE);
    return w;
}

static struct world *cluster(bool addressed)
{
    return cluster_of(settings, addressed);
}

/* Pods of a Job, each on so much: each is made again when it loses its node. */
static void pods_on(struct world *w, const char *what, int64_t amount,
                    uint32_t n, int64_t runs_ms)
{
    struct qty need[] = {{what, amount * AMOUNT_ONE}};

    head_submit(
        w->head,
        &(struct head_work){.need = {need, 1}, .tasks = n, .runs_ms = runs_ms});
}

static void pods(struct world *w, uint32_t n, int64_t runs_ms)
{
    pods_on(w, "GPU", 1, n, runs_ms);
}

static struct world *busy(bool addressed, uint32_t n)
{
    struct world *w = cluster(addressed);

    pods(w, n, 4 * HOUR);
    world_run(w, 5 * MINUTE);
    return w;
}

static const char *pods_stay(struct world *w, uint32_t n)
{
    if (w->ended || w->launched != n || head_dropped(w->head) ||
        head_running(w->head) != n)
        return wrong("%u machines were bought, %u ended, %u pods lost their "
                     "node, %u of %u run",
                     w->launched, w->ended, head_dropped(w->head),
                     head_running(w->head), n);
    return NULL;
}

static const char *node_is_named(bool addressed, enum head_names how)
{
    struct world *w = busy(addressed, 2);
    struct cloud *c;

    head_names(w->head, world_machine(w, 0, &c)->id, how, 30 * MINUTE);
    world_run(w, 2 * HOUR);
    return pods_stay(w, 2);
}

/* 64.  A second Node object has the machine's providerID. */
const char *dup_provider_id(void)
{
    return node_is_named(false, NAMES_TWICE);
}

/* 64.  The Node has no address, by which alone it is known. */
const char *node_without_address(void)
{
    return node_is_named(true, NAMES_BARE);
}

/* 64.  Somebody deletes the Node object of a busy machine; its kubelet makes it again. */
const char *node_object_goes(void)
{
    return node_is_named(false, NAMES_NONE);
}

/* 64.  Another cluster answers at the address, of which none of our machines is a node. */
const char *another_cluster_answers(void)
{
    struct world *w = busy(false, 6);

    head_trouble(w->head, HEAD_OTHER);
    world_run(w, 30 * MINUTE);
    if (w->ended || !is_stopped(w, "another_head"))
        return wrong("%u of 6 busy machines were ended, told: %d", w->ended,
                     is_stopped(w, "another_head"));
    head_trouble(w->head, HEAD_WELL);
    world_run(w, HOUR);
    return pods_stay(w, 6);
}

/* 64.  The drain's taint is taken off by somebody else, and pods come back. */
const char *taint_is_taken_off(void)
{
    struct world *w = cluster(false);
    struct cloud *c;

    pods(w, 1, MINUTE);
    for (int i = 0; i < 600 && !head_running(w->head); i++)
        world_run(w, SECOND);
    for (int i = 0; i < 3600 && !w->ended; i++) {
        struct head_node n;

        world_run(w, 200);
        if (world_machine(w, 0, &c) &&
            head_node_of(w->head, world_machine(w, 0, &c)->id, &n) &&
            n.agreed_ms)
            break;
    }
    head_forget_drains(w->head, 0);
    pods(w, 1, 4 * HOUR);
    if (w->ended || head_running(w->head) != 1)
        return wrong("%u ended, %u run: the test tests nothing", w->ended,
                     head_running(w->head));
    world_run(w, HOUR);
    return pods_stay(w, 1);
}

static void drains_count(void *arg, const struct event *e)
{
    *(uint32_t *)arg += strcmp(e->kind, "node.draining") == 0;
}

/* 64.  A node is consolidated away; its pod takes its time, in which nothing changes, so no
 * plan tries to consolidate again: the drain goes on. */
const char *drain_goes_on_as_nothing_changes(void)
{
    uint32_t drains = 0;
    struct world *w;

    static const char file[] = CLUSTER HEAD
        "limits: {max_nodes: 6, idle_timeout: 5m, consolidate: on}\n" ONE_CLOUD
        "node_types:\n  cpu: {provider: a, resources: {CPU: 16}, price: 0.5, "
        "max: 6}\n";

    w = cluster_of(file, false);
    pods_on(w, "CPU", 12, 2, 10 * MINUTE);
    world_run(w, 5 * MINUTE);
    pods_on(w, "CPU", 4, 2, 8 * HOUR);
    world_run(w, SECOND);
    if (alive(w) != 2 || head_running(w->head) != 4)
        return wrong("%u machines, %u pods: the test tests nothing", alive(w),
                     head_running(w->head));
    w->on_event = drains_count;
    w->arg = &drains;
    world_run(w, 2 * HOUR);
    if (alive(w) != 1 || head_running(w->head) != 2 || drains > 2)
        return wrong("%u machines, %u pods run, %u drains began", alive(w),
                     head_running(w->head), drains);
    return NULL;
}
