/*
 * test_late.c - bad days on which the head's answer comes after the next thing; part
 * of test_sequences.
 */
#include <string.h>

#include "base/clock.h"
#include "observer.h"
#include "sequences.h"

static const char settings[] = CLUSTER HEAD
    "limits: {max_nodes: 4, idle_timeout: 1m, start_timeout: 5m}\n" ONE_CLOUD T4(
        "a", "4");

/* Each read is answered at once, in full, as a Ray head does. */
static struct world *answered_at_once(void)
{
    struct world *w = begin(&(struct world_opts){.seed = 3,
                                                 .settings = settings,
                                                 .head = true,
                                                 .boot_least_ms = 10 * SECOND,
                                                 .boot_most_ms = 20 * SECOND,
                                                 .end_most_ms = 10 * SECOND,
                                                 .clouds = 1});
    world_run(w, MINUTE);
    return w;
}

/* Until the machine's node agreed to be drained; false: it never did. */
static bool until_drained(struct world *w, struct cloud_machine **ret)
{
    struct head_node n = {0};
    struct cloud *c;

    for (int i = 0; i < 10 * 600 && !n.agreed_ms; i++) {
        world_run(w, 100);
        *ret = world_machine(w, 0, &c);
        if (!*ret || !head_node_of(w->head, (*ret)->id, &n))
            n.agreed_ms = 0;
    }
    return n.agreed_ms != 0;
}

/* Two minutes ago the machine's node agreed to go, and its cloud does not end it; NULL:
 * no node was drained. */
static struct world *begin_with_one_that_stays(struct cloud_machine **ret)
{
    struct world *w = answered_at_once();

    world_tasks(w, "GPU", 1, 1, false, 30 * SECOND);
    world_run(w, 30 * SECOND);
    weather(w, 0, (struct cloud_weather){.auth_ends = true});
    if (!until_drained(w, ret))
        return NULL;
    world_run(w, 2 * MINUTE);
    return w;
}

/* It can be ended from now on, and there is work for the raylet. */
static void another_raylet_comes(struct world *w, const struct cloud_machine *m)
{
    weather(w, 0, (struct cloud_weather){0});
    head_node_restart(w->head, m->id);
    world_tasks(w, "GPU", 1, 1, true, 3 * HOUR);
}

static const char *work_goes_on(const struct world *w)
{
    if (w->ended || head_running(w->head) != 1)
        return wrong("%u machines were ended, %u tasks run", w->ended,
                     head_running(w->head));
    return NULL;
}

/* 37.  The head agrees that a node is drained, and its answer takes nine seconds:
 * by then another raylet runs on the machine, with work.  Nobody agreed to end
 * that one. */
const char *drain_answered_for_another_raylet(void)
{
    struct world *w = answered_at_once();
    struct cloud_machine *m;
    struct head_node n;

    world_tasks(w, "GPU", 1, 1, false, 30 * SECOND);
    world_run(w, 30 * SECOND);
    head_late(w->head, 0, 9 * SECOND);
    if (!until_drained(w, &m))
        return "no node was drained";
    head_node_restart(w->head, m->id);
    for (int i = 0; i < 90 && (!head_node_of(w->head, m->id, &n) || !n.alive ||
                               n.agreed_ms);
         i++)
        world_run(w, 100);
    if (!n.alive || n.agreed_ms)
        return "no raylet came back before the answer";
    world_tasks(w, "GPU", 1, 1, true, 3 * HOUR);
    world_run(w, MINUTE);
    head_late(w->head, 0, 0);
    world_run(w, 2 * HOUR);
    return work_goes_on(w);
}

/* 37.  The same, and no work comes there: what is asked for meanwhile has its room. */
const char *drain_answered_late_takes_no_room(void)
{
    struct world *w = answered_at_once();
    struct cloud_machine *m;
    struct head_node n = {0};

    world_tasks(w, "GPU", 1, 1, false, 30 * SECOND);
    world_run(w, 30 * SECOND);
    head_late(w->head, 0, 20 * SECOND);
    if (!until_drained(w, &m))
        return "no node was drained";
    head_node_restart(w->head, m->id);
    for (int i = 0; i < 180 && (!head_node_of(w->head, m->id, &n) || !n.alive);
         i++)
        world_run(w, 100);
    if (!n.alive || n.agreed_ms)
        return "no raylet came back before the answer";
    world_run(w, SECOND);
    world_ask(w, 0, GPUS(1));
    world_run(w, 20 * MINUTE);
    return w->launched == 1 && !w->ended
               ? NULL
               : wrong("%u machines were bought, not 1", w->launched);
}

/* 61.  An idle node is to go, and nothing that asks the head to drain it comes in: it
 * is of use, and what is asked for then has its room. */
const char *drain_unanswered_takes_no_room(void)
{
    struct world *w = answered_at_once();
    uint64_t faults;

    world_tasks(w, "GPU", 1, 1, false, 30 * SECOND);
    head_deaf(w->head, true);
    faults = head_faults(w->head);
    for (int i = 0; i < 10 * 600 && head_faults(w->head) == faults; i++)
        world_run(w, 20);
    if (w->launched != 1 || head_faults(w->head) == faults)
        return "no drain was asked for: the test tests nothing";
    world_run(w, SECOND);
    world_ask(w, 0, GPUS(1));
    world_run(w, 20 * MINUTE);
    return w->launched == 1 && !w->ended
               ? NULL
               : wrong("%u machines were bought, not 1", w->launched);
}

/* 37.  A node has agreed to go, and its machine cannot be ended; the computer falls
 * asleep over a read of the head.  When it wakes, another raylet works on that
 * machine, and the answer is of before. */
const char *slept_over_a_read(void)
{
    struct cloud_machine *m;
    struct world *w = begin_with_one_that_stays(&m);

    if (!w)
        return "no node was drained";
    head_late(w->head, 8 * SECOND, 0);
    world_run(w, 61 * SECOND); /* its end is tried again in four seconds */
    another_raylet_comes(w, m);
    player_sleep(w->player, HOUR);
    world_run(w, MINUTE);
    head_late(w->head, 0, 0);
    world_run(w, 30 * MINUTE);
    return work_goes_on(w);
}

/* 37.  The head takes half a minute for an answer, as one does that is overloaded. It
 * was asked before another raylet came to a machine whose end could not be asked for
 * until now: the answer says how it was then. */
const char *slow_read_of_before(void)
{
    struct cloud_machine *m;
    struct world *w = begin_with_one_that_stays(&m);

    if (!w)
        return "no node was drained";
    head_late(w->head, 29 * SECOND, 0);
    world_run(w, 60 * SECOND); /* a read has just begun */
    another_raylet_comes(w, m);
    world_run(w, MINUTE);
    head_late(w->head, 0, 0);
    world_run(w, 30 * MINUTE);
    return work_goes_on(w);
}

/* Another daemon asks the head; what it is told a cache may tell others, too. */
static void another_client_asks(struct world *w)
{
    struct source_opened o = head_open(w->head);
    struct source_view *v;
    struct err err;

    o.ops->read(o.reader, clock_mono_ms() + SECOND, &v, &err);
    source_view_unref(v);
}

/* 37.  A head goes down, and comes back behind a cache that tells what another client
 * was told right before: that a node whose machine could not be ended has gone.
 * Another raylet works there since.  No number tells that this answer is old. */
const char *answer_of_before_an_outage(void)
{
    struct cloud_machine *m;
    struct world *w = begin_with_one_that_stays(&m);

    if (!w)
        return "no node was drained";
    another_client_asks(w);
    head_trouble(w->head, HEAD_DOWN);
    another_raylet_comes(w, m);
    world_run(w, 20 * MINUTE);
    head_trouble(w->head, HEAD_STALE);
    world_run(w, MINUTE);
    head_trouble(w->head, HEAD_WELL);
    world_run(w, 30 * MINUTE);
    return work_goes_on(w);
}

static void displaced_count(void *arg, const struct event *e)
{
    *(uint32_t *)arg += strcmp(e->kind, "demand.displaced") == 0;
}

/* 43.  While the head cannot be read, a machine is bought and taken back, and what
 * counted on it takes another's place.  That is told once, not with each plan. */
const char *displaced_in_an_outage(void)
{
    struct world *w = calm(
        CLUSTER HEAD
        "limits: {max_nodes: 2}\n" ONE_CLOUD "node_types:\n"
        "  t4: {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, max: 1}\n"
        "  cpu: {provider: a, resources: {CPU: 16}, price: 0.5, max: 1}\n",
        true, 1);
    uint32_t told = 0, n;

    world_ask(w, 0,
              "{\"bundles\": [{\"resources\": {\"GPU\": 1}}, {\"resources\": "
              "{\"CPU\": 6}}]}");
    world_run(w, MINUTE);
    head_trouble(w->head, HEAD_DOWN);
    world_run(w, MINUTE);
    world_ask(w, 1, "{\"num_cpus\": 4}");
    world_run(w, MINUTE);
    w->on_event = displaced_count;
    w->arg = &told;
    cloud_take_back(w->clouds[0], cloud_machines(w->clouds[0], &n)[1],
                    2 * MINUTE);
    world_run(w, 2 * MINUTE);
    if (n != 2 || told != 1)
        return wrong("%u machines, and it was told %u times", n, told);
    return NULL;
}
