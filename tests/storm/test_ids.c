/*
 * test_ids.c - bad days on which lists lack machines, and their cloud is asked for each
 * by its id; and days on which machines wait in their cloud's queue; part of
 * test_sequences.
 */
#include "sequences.h"

static const char settings[] = CLUSTER
    "limits: {max_nodes: 40, idle_timeout: 1h}\n" ONE_CLOUD T4("a", "40");

/* Twenty machines run, and nobody but their cloud knows of them. */
static struct world *twenty(void)
{
    struct world *w = begin(&(struct world_opts){.seed = 7,
                                                 .settings = settings,
                                                 .boot_least_ms = SECOND,
                                                 .boot_most_ms = 2 * SECOND,
                                                 .end_most_ms = 10 * SECOND,
                                                 .finds = true,
                                                 .clouds = 1});

    world_ask(w, 0, GPUS(20));
    world_run(w, 20 * MINUTE);
    return w;
}

/* A wave takes twelve of twenty: its cloud says so of each, and others are bought. */
const char *wave_by_ids(void)
{
    struct world *w = twenty();
    struct cloud_machine *m;
    struct cloud *c;

    for (int i = 0; i < 12 && (m = world_machine(w, 0, &c)); i++)
        cloud_kill(c, m);
    world_run(w, 30 * SECOND);
    return w->launched == 32 && alive(w) == 20
               ? NULL
               : wrong("%u were launched, and %u are there", w->launched,
                       alive(w));
}

/* A list lacks ten for longer than one that nobody contradicts is doubted, and now and then
 * the cloud says nothing of an id: nothing is bought, nothing ended. */
const char *broken_list_by_ids(void)
{
    struct world *w = twenty();

    weather(w, 0, (struct cloud_weather){.cut_list = 1000, .mute_ids = 200});
    world_run(w, 30 * MINUTE);
    if (w->launched != 20 || w->ended)
        return wrong("%u were launched and %u ended for a broken list",
                     w->launched, w->ended);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 20 * MINUTE);
    return w->launched == 20 && !w->ended && alive(w) == 20
               ? NULL
               : wrong("%u were launched and %u ended after it", w->launched,
                       w->ended);
}

/* ---- queues */

/* Two machines are asked for, and wait in a queue of eight hours at least. */
static struct world *two_in_a_queue(void)
{
    struct world *w = begin(&(struct world_opts){.seed = 11,
                                                 .settings = settings,
                                                 .boot_least_ms = SECOND,
                                                 .boot_most_ms = 2 * SECOND,
                                                 .queue_most_ms = 16 * HOUR,
                                                 .end_most_ms = 10 * SECOND,
                                                 .clouds = 1});

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * HOUR);
    return w;
}

/* Nothing asks for them any more: they leave the queue after their idle timeout. */
const char *queued_and_not_needed(void)
{
    struct world *w = two_in_a_queue();
    uint32_t needed = alive(w), waiting;

    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, 55 * MINUTE);
    waiting = alive(w);
    world_run(w, 10 * MINUTE);
    return needed == 2 && waiting == 2 && alive(w) == 0 && w->launched == 2
               ? NULL
               : wrong("%u launched; %u wait while they are needed, %u within "
                       "their idle timeout, %u after it",
                       w->launched, needed, waiting, alive(w));
}

/* What asks again within the idle timeout has its place, and is not put last. */
const char *queued_and_needed_again(void)
{
    struct world *w = two_in_a_queue();

    for (int i = 0; i < 3; i++) {
        world_ask(w, 0, "{\"bundles\": []}");
        world_run(w, 50 * MINUTE);
        world_ask(w, 0, GPUS(2));
        world_run(w, 50 * MINUTE);
    }
    return w->launched == 2 && alive(w) == 2
               ? NULL
               : wrong("%u were launched, %u are there", w->launched, alive(w));
}
