/*
 * test_vain.c - bad days on which something is waited for, or bought, in vain; part of
 * test_sequences.
 */
#include <string.h>

#include "model/amount.h"
#include "observer.h"
#include "sequences.h"

static const char settings[] = CLUSTER HEAD
    "limits: {max_nodes: 4, idle_timeout: 5m, start_timeout: 5m}\n" ONE_CLOUD T4(
        "a", "1");

/* Machines of new launches that were ended as they did not come. */
static uint32_t given_up(const struct world *w)
{
    uint32_t n = 0;
    struct cloud_machine *m;
    struct cloud *c;

    for (uint32_t i = 0; (m = world_machine(w, i, &c)); i++)
        n += !m->asked_ms;
    return w->launched - n;
}

/* One task on a GPU, which begins anew when it loses its node. */
static void one_task(struct world *w, int64_t runs_ms)
{
    struct qty need[] = {{"GPU", AMOUNT_ONE}};

    head_submit(
        w->head,
        &(struct head_work){.need = {need, 1}, .tasks = 1, .runs_ms = runs_ms});
}

/* One that never joins is given up a start_timeout after its last step, whatever its
 * list says of it. */
static const char *never_joins(struct cloud_weather as)
{
    struct world *w = calm(settings, true, 1);

    as.never_joins = 1000;
    weather(w, 0, as);
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    world_run(w, 7 * MINUTE);
    if (given_up(w) < 1)
        return "nothing was given up in seven minutes";
    return NULL;
}

/* 50.  Its detail counts seconds, its address is one of two. */
const char *progress_for_ever(void)
{
    return never_joins((struct cloud_weather){.restless = 1000});
}

/* 50.  The same where the raylet begins again and again, and each time dies at once:
 * nothing of that is of use, and one after the other is bought, ever more slowly. */
const char *died_after_join(void)
{
    struct world *w = calm(settings, true, 1);

    weather(w, 0, (struct cloud_weather){.dies_young = 1000});
    one_task(w, HOUR);
    world_run(w, 20 * MINUTE);
    if (w->launched > 6)
        return wrong("%u machines were bought in 20 minutes", w->launched);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 4 * HOUR);
    if (head_running(w->head) || head_waiting(w->head))
        return wrong("afterwards %u tasks run, %u wait", head_running(w->head),
                     head_waiting(w->head));
    return NULL;
}

/* 51.  Machines that do not start, while a tool saves the file every 2 s, as it is. */
const char *touch_file(void)
{
    struct world *w = calm(settings, true, 1);

    weather(w, 0, (struct cloud_weather){.start_fails = 1000});
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    for (int i = 0; i < 300 && !w->law; i++) {
        daemon_touch(first(w));
        world_run(w, 2 * SECOND);
    }
    if (w->launched > 5)
        return wrong("%u machines were bought in 10 minutes", w->launched);
    return NULL;
}

/* 51.  The same while somebody saves another limit each time: what the provider is
 * stays, and what is known of its machines. */
const char *limits_touched(void)
{
    struct world *w = calm(settings, true, 1);

    weather(w, 0, (struct cloud_weather){.start_fails = 1000});
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    for (int i = 0; i < 300 && !w->law; i++) {
        daemon_reload(first(w),
                      i % 2 ? settings
                            : CLUSTER HEAD
                          "limits: {max_nodes: 3, idle_timeout: 5m, "
                          "start_timeout: 5m}\n" ONE_CLOUD T4("a", "1"));
        world_run(w, 2 * SECOND);
    }
    if (w->launched > 5)
        return wrong("%u machines were bought in 10 minutes", w->launched);
    return NULL;
}

#define TWO_PRICES \
    CLUSTER HEAD \
        "limits: {max_nodes: 4, idle_timeout: 2m, start_timeout: 5m, " \
        "consolidate: on}\n" \
        "providers: {a: {plugin: priced, cloud: a}, b: {plugin: priced, " \
        "cloud: b}}\nnode_types:\n" \
        "  t4: {provider: a, resources: {CPU: 8, GPU: 1}, max: 2}\n" \
        "  t4b: {provider: b, resources: {CPU: 8, GPU: 1}, max: 2}\n"

/* b is dearer than a by so much, or the other way round, in percent. */
static void prices(struct world *w, uint32_t a, uint32_t b)
{
    weather(w, 0, (struct cloud_weather){.dear = a});
    weather(w, 1, (struct cloud_weather){.dear = b});
}

static const char *flips(uint32_t apart, int64_t every_ms, bool patient)
{
    struct world *w = calm(TWO_PRICES, true, 2);

    head_patient(w->head, patient);
    world_run(w, 20 * MINUTE);
    one_task(w, 20 * HOUR);
    world_run(w, 10 * MINUTE);
    for (int i = 0; i < 8 * HOUR / every_ms; i++) {
        prices(w, 100 + (i % 2 ? 0 : apart), 100 + (i % 2 ? apart : 0));
        world_run(w, every_ms);
    }
    if (w->launched != 1 || head_dropped(w->head))
        return wrong("%u machines for one task in 8 hours, which lost its node "
                     "%u times",
                     w->launched, head_dropped(w->head));
    return NULL;
}

/* 53.  Two prices, 30 % apart, change places every 12 minutes.  Nothing moves: each move
 * would cost an hour of both machines, and what it saves lasts 12 minutes. */
const char *many_flips(void)
{
    return flips(30, 12 * MINUTE, false);
}

/* 53.  The same once an hour, and one is twice the other: still less than the hour that a
 * node is paid for while it is drained. */
const char *slow_flips(void)
{
    return flips(100, HOUR, false);
}

/* 53.  The same of work that no drain's deadline stops. */
const char *flips_of_patient_work(void)
{
    return flips(30, 12 * MINUTE, true);
}

/* 53.  A price that rises and stays is worth a move, once it has cost as much. */
const char *one_rise(void)
{
    struct world *w = calm(TWO_PRICES, true, 2);
    double bill;

    prices(w, 100, 110);
    world_run(w, 20 * MINUTE);
    one_task(w, 60 * HOUR);
    world_run(w, 30 * MINUTE);
    prices(w, 300, 110);
    bill = world_bill(w);
    world_run(w, 30 * HOUR);
    if (w->launched != 2)
        return wrong("%u machines in 30 hours", w->launched);
    if (world_bill(w) - bill > 60e6)
        return wrong("%.2f $ in 30 hours", (world_bill(w) - bill) / 1e6);
    return NULL;
}

static void quiet_comes(void *arg, const struct event *e)
{
    struct world *w = arg;

    if (strcmp(e->kind, "node.failed") == 0)
        head_leave(w->head);
}

/* 52.  A machine fails before it has joined, and nothing else happens: it is ended when
 * the head has been asked once more, not when the minute is over. */
const char *failed_on_a_quiet_cluster(void)
{
    struct world *w = begin(&(struct world_opts){.seed = 3,
                                                 .settings = settings,
                                                 .head = true,
                                                 .boot_least_ms = 10 * SECOND,
                                                 .boot_most_ms = 20 * SECOND,
                                                 .end_most_ms = HOUR,
                                                 .clouds = 1});
    struct cloud_machine *m;
    struct cloud *c;

    world_run(w, MINUTE);
    w->on_event = quiet_comes;
    w->arg = w;
    weather(w, 0, (struct cloud_weather){.start_fails = 1000});
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    world_run(w, 15 * SECOND);
    m = world_machine(w, 0, &c);
    if (!m || !m->asked_ms)
        return "it is still there 15 seconds later";
    return NULL;
}

/* 51.  Another make of the type is another thing: it is tried at once. */
const char *type_mended(void)
{
    struct world *w = calm(settings, true, 1);

    weather(w, 0, (struct cloud_weather){.start_fails = 1000});
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    world_run(w, 20 * MINUTE);
    weather(w, 0, (struct cloud_weather){0});
    daemon_reload(
        first(w), CLUSTER HEAD
        "limits: {max_nodes: 4, idle_timeout: 5m, start_timeout: 5m}\n" ONE_CLOUD
        "node_types:\n  t4: {provider: a, resources: {CPU: 16, GPU: 1}, "
        "accelerator_type: T4, price: 1, max: 1}\n");
    world_run(w, 2 * MINUTE);
    if (head_running(w->head) != 1)
        return "the task does not run two minutes later";
    return NULL;
}
