/*
 * test_kept.c - what is kept on bad days: requests on a full disk and under clocks that
 * are set, the price of what was found or estimated, ends of a renamed provider, and
 * another daemon's machines; part of test_sequences.
 */
#include <stdio.h>
#include <string.h>

#include "observer.h"
#include "sequences.h"

static const char four[] = CLUSTER
    "limits: {max_nodes: 6, idle_timeout: 10m}\n" ONE_CLOUD T4("a", "6");

static void ask_clear(struct world *w, uint32_t owner)
{
    world_ask(w, owner, "{\"bundles\": []}");
}

/* 65.  The disk is full, and an owner asks twice for something else: each is refused, and
 * what he was promised before stands. */
const char *refused_and_kept(void)
{
    struct world *w = calm(four, false, 1);

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    disk_full(w->disk, true);
    for (int i = 0; i < 2; i++) {
        world_ask(w, 0, GPUS(1));
        world_run(w, 30 * SECOND);
    }
    if (w->acknowledged != 1)
        return wrong("%u answers: the test tests nothing", w->acknowledged);
    disk_full(w->disk, false);
    world_run(w, 20 * MINUTE);
    world_ask(w, 1, GPUS(1));
    world_run(w, 5 * MINUTE);
    if (alive(w) != 3 || w->ended || w->acknowledged != 2)
        return wrong("%u machines, %u ended, %u answers", alive(w), w->ended,
                     w->acknowledged);
    return NULL;
}

/* 65.  The clock is set two hours forward under a ttl of half an hour. */
const char *clock_forward_under_a_ttl(void)
{
    struct world *w = calm(four, false, 1);

    world_ask(w, 0,
              "{\"bundles\": [{\"resources\": {\"GPU\": 1}}], \"ttl\": "
              "\"30m\"}");
    world_run(w, 2 * MINUTE);
    player_wall_step(w->player, 2 * HOUR);
    world_run(w, 25 * MINUTE);
    if (alive(w) != 1)
        return wrong("%u machines 27 minutes later", alive(w));
    world_run(w, 30 * MINUTE);
    return alive(w) ? "its ttl is over, and its machine stays" : NULL;
}

#define DEAR(price) \
    CLUSTER \
    "limits: {max_nodes: 6, idle_timeout: 1h, max_cost_per_hour: 2}\n" ONE_CLOUD \
    "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1}, " \
    "accelerator_type: T4," price " max: 6}\n"

/* 65.  A machine that a person made costs what its type does. */
const char *found_machine_costs(void)
{
    struct world *w = calm(DEAR(" price: 1,"), false, 1);
    struct cloud *c;

    world_ask(w, 0, GPUS(1));
    world_run(w, 5 * MINUTE);
    if (!world_machine(w, 0, &c))
        return "no machine came: the test tests nothing";
    cloud_add(c, world_machine(w, 0, &c), NULL);
    world_run(w, 5 * MINUTE);
    world_ask(w, 0, GPUS(4));
    world_run(w, 10 * MINUTE);
    return alive(w) == 2 ? NULL
                         : wrong("%u machines of 1 $/h for 2 $/h", alive(w));
}

/* 65.  A machine that a person made is one of its type, and counts towards its max. */
const char *found_machine_is_of_its_type(void)
{
    struct world *w = calm(
        CLUSTER
        "limits: {max_nodes: 6, idle_timeout: 10m}\n" ONE_CLOUD T4("a", "2"),
        false, 1);
    struct cloud *c;

    world_ask(w, 0, GPUS(1));
    world_run(w, 5 * MINUTE);
    if (!world_machine(w, 0, &c))
        return "no machine came: the test tests nothing";
    cloud_add(c, world_machine(w, 0, &c), NULL);
    world_run(w, 5 * MINUTE);
    world_ask(w, 0, GPUS(4));
    world_run(w, 3 * MINUTE); /* less than its idle timeout */
    return alive(w) == 2 ? NULL : wrong("%u machines of 2", alive(w));
}

/* 65.  A price that nobody told is estimated, and counts: a T4 is worth a dollar or so. */
const char *estimated_price_counts(void)
{
    struct world *w = calm(DEAR(""), false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 5 * MINUTE);
    world_ask(w, 0, GPUS(6));
    world_run(w, 10 * MINUTE);
    return alive(w) && alive(w) < 6 ? NULL
                                    : wrong("%u machines for 2 $/h", alive(w));
}

/* 65.  The provider has another name before the answer to an end comes. */
const char *renamed_as_it_ends(void)
{
    struct world *w = calm(four, false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 5 * MINUTE);
    weather(w, 0,
            (struct cloud_weather){.end_hangs = 1000, .hang_ms = 2 * MINUTE});
    ask_clear(w, 0);
    for (int i = 0;
         i < 1200 &&
         !cloud_machines(w->clouds[0], &(uint32_t){0})[0]->end_tried_ms;
         i++)
        world_run(w, SECOND);
    daemon_reload(first(w), CLUSTER
                  "limits: {max_nodes: 6, idle_timeout: 10m}\n"
                  "providers: {b: {plugin: played, cloud: a}}\n" T4("b", "6"));
    world_person(w, COMMAND_APPLY); /* "a" is dropped, and has a machine */
    world_run(w, 30 * SECOND);
    weather(w, 0, (struct cloud_weather){0});
    if (alive(w) != 1)
        return "its end has come: the test tests nothing";
    world_run(w, 20 * MINUTE);
    return alive(w) ? "the machine is there twenty minutes later" : NULL;
}

/* 65.  A machine of another daemon, which has ended, does not start: it is not ours to
 * end, whatever its cloud says of it. */
const char *anothers_that_fails(void)
{
    struct world *w = calm(four, false, 1);

    daemon_reload(
        &w->daemons[1],
        "cluster: played\nstate: /b/davit.db\n"
        "limits: {max_nodes: 6, idle_timeout: 10m}\n" ONE_CLOUD
        "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1},"
        " accelerator_type: T4, price: 1, min: 1, max: 6}\n");
    if (!daemon_start(&w->daemons[1]))
        return "the other one does not start";
    world_run(w, 5 * MINUTE);
    if (alive(w) != 1)
        return wrong("%u machines: the test tests nothing", alive(w));
    daemon_stop(&w->daemons[1]);
    world_run(w, 5 * MINUTE);
    cloud_say(w->clouds[0], CLOUD_SAYS_FAILED, 40);
    world_run(w, HOUR);
    return w->ended ? "another daemon's machine was ended" : NULL;
}

#define BESIDE(least) \
    "cluster: played\nstate: /b/davit.db\n" HEAD \
    "limits: {max_nodes: 6, idle_timeout: 1m}\n" ONE_CLOUD \
    "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1}, " \
    "accelerator_type: T4, price: 1, min: " least ", max: 6}\n"

/* 65.  Another daemon drains its machine, and ends before it could end it.  The raylet
 * goes: the machine is not ours to end, though nothing runs there. */
const char *anothers_that_is_drained(void)
{
    struct world *w = calm(
        CLUSTER HEAD
        "limits: {max_nodes: 6, idle_timeout: 10m}\n" ONE_CLOUD T4("a", "6"),
        true, 1);
    struct daemon *other = &w->daemons[1];
    struct head_node n = {0};
    struct cloud *c;

    daemon_reload(other, BESIDE("1"));
    if (!daemon_start(other))
        return "the other one does not start";
    world_run(w, 5 * MINUTE);
    weather(w, 0, (struct cloud_weather){.auth_ends = true});
    daemon_reload(other, BESIDE("0"));
    world_run(w, 10 * MINUTE);
    if (!world_machine(w, 0, &c) ||
        !head_node_of(w->head, world_machine(w, 0, &c)->id, &n) || n.alive)
        return "its node was not drained: the test tests nothing";
    daemon_stop(other);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 2 * HOUR);
    return w->ended ? "another daemon's machine was ended" : NULL;
}

static const char two_clouds[] = CLUSTER
    "limits: {max_nodes: 6, idle_timeout: 1h}\n"
    "providers: {a: {plugin: played, cloud: a}, b: {plugin: played, cloud: b}}\n"
    "node_types:\n"
    "  t4: {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, max: 2}\n"
    "  t4b: {provider: b, resources: {CPU: 8, GPU: 1}, price: 2, max: 2}\n";

/* 65.  A launch that takes effect with the last of its tries, whose answer is lost as were
 * those before: lists have its machine twenty seconds later, and until one could have it
 * nothing is bought elsewhere. */
const char *unanswered_and_not_listed_yet(void)
{
    struct world *w = calm(two_clouds, false, 2);
    uint32_t before = cloud_changes(w->clouds[0]);

    weather(w, 0, (struct cloud_weather){.deaf_launches = true});
    world_ask(w, 0, GPUS(1));
    for (int i = 0; i < 5 * 600 && cloud_changes(w->clouds[0]) < before + 5;
         i++)
        world_run(w, 100);
    weather(w, 0,
            (struct cloud_weather){.mute_launches = true,
                                   .list_lag_ms = 20 * SECOND});
    for (int i = 0; i < 5 * 600 && !alive(w); i++)
        world_run(w, 100);
    weather(w, 0, (struct cloud_weather){.list_lag_ms = 20 * SECOND});
    world_run(w, 10 * MINUTE);
    return w->launched == 1 ? NULL
                            : wrong("%u machines were bought", w->launched);
}
