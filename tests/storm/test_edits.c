/*
 * test_edits.c - bad days on which a file is saved, a clock is set or a journal
 * is restored while something is not known for sure; part of test_sequences.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observer.h"
#include "sequences.h"

/* ---- prices */

#define PRICED_BY(provider, price, n) \
    CLUSTER \
    "limits: {max_cost_per_hour: 6, idle_timeout: 3h}\nproviders: {" provider \
    ": {plugin: played, cloud: a}}\nnode_types:\n  t4: {provider: " provider \
    ", resources: {CPU: 8, GPU: 1}, price: " price ", max: " n "}\n"
#define PRICED(price, n) PRICED_BY("a", price, n)

/* 27.  Two machines run when the file says that they cost three times as much:
 * that is the whole budget. */
static const char *price_rises(const char *file, bool restart)
{
    struct world *w = calm(PRICED("1", "8"), false, 1);

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    daemon_reload(first(w), file);
    world_run(w, SECOND);
    world_person(w, COMMAND_APPLY);
    if (restart) {
        daemon_stop(first(w));
        daemon_start(first(w));
    }
    world_run(w, MINUTE);
    world_ask(w, 1, GPUS(2));
    world_run(w, 10 * MINUTE);
    if (alive(w) != 2 || w->ended)
        return wrong("%u machines of 3 $/h for a budget of 6, %u ended",
                     alive(w), w->ended);
    daemon_reload(first(w), PRICED("1", "8"));
    world_run(w, SECOND);
    world_person(w, COMMAND_APPLY);
    world_run(w, 10 * MINUTE);
    if (alive(w) != 4)
        return wrong("%u machines of 1 $/h, not 4", alive(w));
    return NULL;
}

const char *price_raised(void)
{
    return price_rises(PRICED("3", "8"), false);
}

const char *price_raised_before_a_restart(void)
{
    return price_rises(PRICED("3", "8"), true);
}

/* The same, and the provider gets another name. */
const char *price_raised_and_renamed(void)
{
    return price_rises(PRICED_BY("prod", "3", "8"), true);
}

#define TOLD \
    CLUSTER \
    "limits: {max_cost_per_hour: 5, idle_timeout: 3h}\n" \
    "providers: {a: {plugin: priced, cloud: a}}\n" \
    "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1}, max: 8}\n"

/* 40.  The cloud raises its price over the budget.  Nothing tells whether the
 * machines that requests hold have work: they stay, though the daemon is killed, and
 * answers are lost.  What no request holds any more goes. */
const char *price_told_rises(void)
{
    struct world *w = calm(TOLD, false, 1);

    world_ask(w, 0, GPUS(2));
    world_ask(w, 1, GPUS(2));
    world_run(w, 5 * MINUTE);
    if (alive(w) != 4)
        return wrong("%u machines: the test tests nothing", alive(w));
    weather(w, 0, (struct cloud_weather){.dear = 150, .lost_reply = 300});
    world_run(w, 20 * MINUTE);
    world_crash(w, false, 0);
    daemon_start(first(w));
    world_run(w, 20 * MINUTE);
    weather(w, 0, (struct cloud_weather){.dear = 200, .lost_request = 300});
    world_crash(w, true, 1);
    daemon_start(first(w));
    world_run(w, HOUR);
    if (w->ended)
        return wrong("%u machines that requests hold were ended", w->ended);
    weather(w, 0, (struct cloud_weather){.dear = 150, .lost_reply = 300});
    world_run(w, 20 * MINUTE);
    world_ask(w, 1, "{\"bundles\": []}");
    world_run(w, 20 * MINUTE);
    if (w->ended != 1 || alive(w) != 3)
        return wrong("%u ended, %u there: one of two that nothing holds is "
                     "over the budget",
                     w->ended, alive(w));
    return NULL;
}

/* ---- a disk that was full */

/* A request is on the disk when that is full.  It is cleared, which is refused, and
 * once more when there is room again, while the daemon is told to stop. */
const char *cleared_as_it_stops(void)
{
    struct world *w = calm(PRICED("1", "8"), false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, MINUTE);
    disk_full(w->disk, true);
    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, MINUTE);
    disk_full(w->disk, false);
    world_ask(w, 0, "{\"bundles\": []}");
    daemon_stop(first(w));
    daemon_start(first(w));
    world_run(w, 4 * HOUR);
    if (alive(w))
        return wrong("the request that was cleared stands again");
    return NULL;
}

/* ---- limits */

#define LIMITED(limits, max) \
    CLUSTER "limits: {idle_timeout: 2m, " limits "}\n" ONE_CLOUD T4("a", max)

/* 28.  Four launches are not answered, and the cloud is not either; a limit is
 * lowered to two meanwhile, and more is asked for. */
static const char *lowered_in_doubt(const char *before, const char *after)
{
    struct world *w = calm(before, false, 1);

    world_ask(w, 0, GPUS(2));
    world_ask(w, 1, GPUS(2));
    weather(w, 0, (struct cloud_weather){.lost_reply = 1000});
    world_run(w, 2 * SECOND);
    weather(w, 0, (struct cloud_weather){.down = true});
    world_run(w, 7 * MINUTE);
    daemon_reload(first(w), after);
    world_person(w, COMMAND_APPLY);
    world_ask(w, 2, GPUS(2));
    world_run(w, 2 * MINUTE);
    weather(w, 0, (struct cloud_weather){0});
    for (int i = 0; i < 12; i++) {
        world_person(w, COMMAND_APPLY);
        world_person(w, COMMAND_RELEASE);
        world_run(w, 5 * MINUTE);
    }
    if (w->launched != 4 || alive(w) != 2)
        return wrong("%u machines were bought, not 4, and %u are there, not 2",
                     w->launched, alive(w));
    return NULL;
}

const char *limits_lowered_in_doubt(void)
{
    return lowered_in_doubt(LIMITED("max_nodes: 8", "4"),
                            LIMITED("max_nodes: 8", "2"));
}

const char *budget_lowered_in_doubt(void)
{
    return lowered_in_doubt(LIMITED("max_cost_per_hour: 4", "8"),
                            LIMITED("max_cost_per_hour: 2", "8"));
}

/* Nothing runs when a file lowers limits.max_nodes: what is asked for then keeps to it,
 * and when another file raises it, the rest is bought. */
const char *most_of_all_lowered(void)
{
    struct world *w = calm(LIMITED("max_nodes: 8", "8"), false, 1);

    daemon_reload(first(w), LIMITED("max_nodes: 1", "8"));
    world_run(w, MINUTE);
    world_ask(w, 0, GPUS(3));
    world_run(w, 5 * MINUTE);
    if (w->launched != 1)
        return wrong("%u machines were bought, not 1", w->launched);
    daemon_reload(first(w), LIMITED("max_nodes: 8", "8"));
    world_run(w, 5 * MINUTE);
    return alive(w) == 3 ? NULL : wrong("%u machines, not 3", alive(w));
}

/* Without a demand source a request stays on the machine that it counted on: another's,
 * bought before and equal, is what is idle when that one's request ends. */
const char *request_stays_on_its_machine(void)
{
    struct world *w = calm(LIMITED("max_nodes: 8", "8"), false, 1);
    struct cloud_machine *const *v;
    uint32_t n;

    world_ask(w, 0, GPUS(1));
    world_run(w, 3 * MINUTE);
    world_ask(w, 1, GPUS(1));
    world_run(w, 3 * MINUTE);
    v = cloud_machines(w->clouds[0], &n);
    if (n != 2 || alive(w) != 2)
        return wrong("%u machines: the test tests nothing", n);
    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, 10 * MINUTE);
    if (alive(w) != 1 || v[1]->gone_ms != INT64_MAX)
        return wrong("%u machines; the one that a request counts on is %s",
                     alive(w), v[1]->gone_ms == INT64_MAX ? "there" : "ended");
    return NULL;
}

/* The same over a restart, for one that was bought for another: what the plan put on a
 * machine last is in the journal. */
const char *request_stays_after_a_restart(void)
{
    struct world *w = calm(LIMITED("max_nodes: 8", "8"), false, 1);
    struct cloud_machine *const *v;
    uint32_t n;

    world_ask(w, 0, GPUS(1));
    world_run(w, 3 * MINUTE);
    world_ask(w, 1, GPUS(1));
    world_run(w, 3 * MINUTE);
    world_ask(w, 1, "{\"bundles\": []}");
    world_run(w, 20 * SECOND);
    world_ask(w, 2, GPUS(1));
    world_run(w, 20 * SECOND);
    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, 20 * SECOND);
    v = cloud_machines(w->clouds[0], &n);
    if (n != 2 || alive(w) != 2)
        return wrong("%u machines: the test tests nothing", n);
    world_crash(w, false, 0);
    daemon_start(first(w));
    world_run(w, 10 * MINUTE);
    if (alive(w) != 1 || v[1]->gone_ms != INT64_MAX)
        return wrong("%u machines; the one that a request counts on is %s",
                     alive(w), v[1]->gone_ms == INT64_MAX ? "there" : "ended");
    return NULL;
}

/* ---- names */

#define TWO_CLOUDS(a, b) \
    CLUSTER "limits: {max_nodes: 6, idle_timeout: 10m}\nproviders:\n" \
            "  a: {plugin: played, cloud: " a "}\n" \
            "  b: {plugin: played, cloud: " b "}\n" \
            "node_types:\n" \
            "  gpu: {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, " \
            "max: 3}\n" \
            "  cpu: {provider: b, resources: {CPU: 16}, price: 1, max: 3}\n"

/* 29.  Two providers swap their names; a person takes that over at once, and
 * more is asked for. */
const char *providers_swap_names(void)
{
    struct world *w = calm(TWO_CLOUDS("a", "b"), false, 2);

    world_ask(w, 0, GPUS(3));
    world_ask(w, 1,
              "{\"bundles\": [{\"CPU\": 16}, {\"CPU\": 16}, {\"CPU\": 16}]}");
    world_run(w, 5 * MINUTE);
    if (alive(w) > 6 || alive(w) < 5)
        return wrong("%u machines: the test tests nothing", alive(w));
    daemon_reload(first(w), TWO_CLOUDS("b", "a"));
    world_run(w, MINUTE);
    world_person(w, COMMAND_APPLY);
    world_ask(w, 2, GPUS(3));
    world_run(w, 30 * MINUTE);
    if (w->launched > 6 || w->ended)
        return wrong("%u machines were bought for max_nodes 6, %u ended",
                     w->launched, w->ended);
    return NULL;
}

#define TWO_TYPES(one, four) \
    CLUSTER "limits: {max_cost_per_hour: 11, idle_timeout: 3h}\n" ONE_CLOUD \
            "node_types:\n" \
            "  " one ": {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, " \
            "max: 4}\n" \
            "  " four ": {provider: a, resources: {CPU: 32, GPU: 4}, " \
            "price: 5, max: 4}\n"

/* 30.  Two node types swap their names while the list does not show their
 * machines: what the machines cost is still known. */
const char *types_swap_names(void)
{
    struct world *w = calm(TWO_TYPES("small", "large"), false, 1);

    world_ask(w, 0, "{\"bundles\": [{\"GPU\": 4}, {\"GPU\": 4}]}");
    world_run(w, 5 * MINUTE);
    if (alive(w) != 2)
        return wrong("%u machines: the test tests nothing", alive(w));
    world_ask(w, 0, "{\"bundles\": []}");
    weather(w, 0, (struct cloud_weather){.lists_fail = true});
    world_run(w, MINUTE);
    for (uint32_t i = 0; i < 2; i++) /* in no list for some minutes */
        cloud_machines(w->clouds[0], &(uint32_t){0})[i]->listed_ms =
            world_now(w) + 5 * MINUTE;
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 2 * MINUTE);
    daemon_reload(first(w), TWO_TYPES("large", "small"));
    world_run(w, 5 * MINUTE);
    world_ask(w, 1, GPUS(8));
    world_run(w, 10 * MINUTE);
    if (alive(w) > 3)
        return wrong("%u machines: two of 5 $/h and others for 11 $/h",
                     alive(w));
    return NULL;
}

/* ---- journals */

static bool journal_copy(const char *to)
{
    sqlite3 *db, *copy;
    sqlite3_backup *b = NULL;
    bool ok = sqlite3_open_v2("/a/davit.db", &db, SQLITE_OPEN_READWRITE,
                              "played") == SQLITE_OK;

    ok = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                         "played") == SQLITE_OK &&
         ok;
    if (ok)
        b = sqlite3_backup_init(copy, "main", db, "main");
    ok = b && sqlite3_backup_step(b, -1) == SQLITE_DONE;
    if (b)
        sqlite3_backup_finish(b);
    sqlite3_close(copy);
    sqlite3_close(db);
    return ok;
}

/* 31.  A journal is restored that is hours older: of its machines one was ended
 * since, and two others were bought. */
const char *older_journal(void)
{
    static const char file[] = CLUSTER HEAD
        "limits: {max_nodes: 4, idle_timeout: 2m, start_timeout: 5m}\n" ONE_CLOUD
            T4("a", "4");
    struct world *w = calm(file, true, 1);
    char *restored = strdup(file);

    memcpy(strstr(restored, "/a/davit.db"), "/b/davit.db", 11);
    world_tasks(w, "GPU", 1, 1, false, 6 * HOUR);
    world_tasks(w, "GPU", 1, 1, false, 30 * MINUTE);
    world_run(w, 10 * MINUTE);
    daemon_stop(first(w));
    if (!journal_copy("/b/davit.db"))
        return "the journal cannot be copied";
    daemon_start(first(w));
    world_run(w, HOUR);
    for (int i = 0; i < 2; i++) {
        world_tasks(w, "GPU", 1, 1, false, 6 * HOUR);
        world_run(w, 5 * MINUTE);
    }
    if (w->ended != 1 || alive(w) != 3)
        return wrong("%u ended, %u there: the test tests nothing", w->ended,
                     alive(w));
    daemon_stop(first(w));
    daemon_reload(first(w), restored);
    if (!daemon_start(first(w)))
        return wrong("it does not start: %.150s", w->trouble);
    free(restored);
    world_tasks(w, "GPU", 1, 1, false, 2 * HOUR);
    world_run(w, HOUR);
    if (w->ended != 1 || w->launched != 5 || alive(w) != 4)
        return wrong("%u ended, %u launched, %u there", w->ended, w->launched,
                     alive(w));
    return NULL;
}

/* ---- not known for sure */

#define NAMED(provider, type) \
    CLUSTER "limits: {max_nodes: 8, idle_timeout: 5m}\n" \
            "providers: {" provider ": {plugin: played, cloud: a}}\n" \
            "node_types:\n  " type ": {provider: " provider \
            ", resources: {CPU: 8, GPU: 1}, price: 1, max: 4}\n"

/* 32.  Launches were given up; before a list tells what came of them, provider
 * or node type is renamed. */
static const char *renamed_in_doubt(struct cloud_weather then, const char *file,
                                    bool restart)
{
    struct world *w = calm(NAMED("a", "t4"), false, 1);

    weather(w, 0, then);
    world_ask(w, 0, GPUS(4));
    world_run(w, 2 * SECOND);
    weather(w, 0, (struct cloud_weather){.down = true});
    world_run(w, 7 * MINUTE);
    daemon_reload(first(w), file);
    if (restart) {
        daemon_stop(first(w));
        daemon_start(first(w));
    }
    world_run(w, 2 * MINUTE);
    weather(w, 0, (struct cloud_weather){0});
    for (int i = 0; i < 6; i++) {
        world_person(w, COMMAND_APPLY);
        world_run(w, 5 * MINUTE);
    }
    if (w->launched != 4 || alive(w) != 4)
        return wrong("%u machines were bought, not 4, and %u are there",
                     w->launched, alive(w));
    return NULL;
}

static const struct cloud_weather no_reply = {.lost_reply = 1000};
static const struct cloud_weather unseen = {.lost_request = 1000};

const char *made_then_renamed(void)
{
    return renamed_in_doubt(no_reply, NAMED("prod", "t4"), false);
}

const char *made_then_renamed_at_a_start(void)
{
    return renamed_in_doubt(no_reply, NAMED("prod", "t4"), true);
}

const char *made_then_retyped(void)
{
    return renamed_in_doubt(no_reply, NAMED("a", "t4-new"), false);
}

const char *made_then_retyped_at_a_start(void)
{
    return renamed_in_doubt(no_reply, NAMED("a", "t4-new"), true);
}

const char *unseen_then_renamed(void)
{
    return renamed_in_doubt(unseen, NAMED("prod", "t4-new"), true);
}

/* The provider and its node type are renamed in one edit, while machines run. */
const char *all_renamed(void)
{
    struct world *w = calm(NAMED("a", "t4"), false, 1);

    world_ask(w, 0, GPUS(4));
    world_run(w, 5 * MINUTE);
    daemon_reload(first(w), NAMED("prod", "t4-new"));
    for (int i = 0; i < 4; i++) {
        world_run(w, 5 * MINUTE);
        world_person(w, COMMAND_APPLY);
    }
    if (w->launched != 4 || w->ended)
        return wrong("%u machines were bought, not 4, %u ended", w->launched,
                     w->ended);
    return NULL;
}

/* 33.  The clock is set back by a day while the daemon does not run: idle
 * machines still go, and what is gone is bought anew. */
const char *clock_back_a_day(void)
{
    struct world *w = calm(LIMITED("max_nodes: 8", "4"), false, 1);
    struct cloud *c;

    world_ask(w, 0, GPUS(2));
    world_ask(w, 1, GPUS(2));
    world_run(w, 5 * MINUTE);
    daemon_stop(first(w));
    player_wall_step(w->player, -24 * HOUR);
    daemon_start(first(w));
    world_run(w, MINUTE);
    world_ask(w, 1, "{\"bundles\": []}");
    world_run(w, 30 * MINUTE);
    if (alive(w) != 2)
        return wrong("%u machines for 2, half an hour later", alive(w));
    cloud_kill(c, world_machine(w, 0, &c));
    world_run(w, 10 * MINUTE);
    if (alive(w) != 2)
        return wrong("%u machines for 2: one is gone", alive(w));
    return NULL;
}

/* 34.  The end of a machine hangs when its cloud takes it back: its place is
 * free again. */
const char *taken_back_while_end_hangs(void)
{
    struct world *w = calm(
        CLUSTER HEAD
        "limits: {max_nodes: 1, idle_timeout: 1m}\n" ONE_CLOUD T4("a", "1"),
        true, 1);
    struct cloud_machine *m;
    struct cloud *c;

    world_tasks(w, "GPU", 1, 1, false, 2 * MINUTE);
    world_run(w, 2 * MINUTE);
    weather(w, 0,
            (struct cloud_weather){.end_hangs = 1000, .hang_ms = 12 * HOUR});
    world_run(w, 5 * MINUTE);
    m = world_machine(w, 0, &c);
    if (!m || !m->end_tried_ms)
        return "its end was not tried: the test tests nothing";
    cloud_take_back(c, m, 2 * MINUTE);
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    world_run(w, 10 * MINUTE);
    if (cloud_launched(c) != 2 || head_running(w->head) != 1)
        return wrong("%u machines were bought, %u tasks run", cloud_launched(c),
                     head_running(w->head));
    return NULL;
}

/* ---- files that are saved again and again */

/* A file is saved every half minute, and for so long lists take longer than that. */
static void saved_for(struct world *w, int64_t ms, const char *const files[2])
{
    for (int64_t i = 0; i < ms / (30 * SECOND); i++) {
        daemon_reload(first(w), files[i % 2]);
        world_run(w, 30 * SECOND);
    }
}

/* 35.  A provider's answers take 50 s, and the file is saved every 30 s: what is
 * asked for is bought, what is found is known, what is ended goes from the
 * ledger, and what is gone is missed. */
static const char *saved_for_ever(const char *file, const char *other)
{
    const char *const files[] = {file, other};
    struct world *w = calm(file, false, 1);
    struct cloud *c;

    weather(w, 0,
            (struct cloud_weather){.hangs = 1000, .hang_ms = 50 * SECOND});
    world_ask(w, 0, GPUS(2));
    saved_for(w, 10 * MINUTE, files);
    if (alive(w) != 2)
        return wrong("%u machines for 2", alive(w));
    cloud_add(w->clouds[0], world_machine(w, 0, &c), NULL);
    saved_for(w, 10 * MINUTE, files);
    if (alive(w) != 2 || w->ended != 1)
        return wrong("somebody added one: %u there for 2, %u ended", alive(w),
                     w->ended);
    cloud_kill(c, world_machine(w, 0, &c));
    saved_for(w, 10 * MINUTE, files);
    if (w->launched != 4 || alive(w) != 2)
        return wrong("one of two is gone: %u bought, %u there", w->launched,
                     alive(w));
    world_ask(w, 0, "{\"bundles\": []}");
    saved_for(w, 30 * MINUTE, files);
    weather(w, 0, (struct cloud_weather){0});
    saved_for(w, 10 * MINUTE, files);
    return world_unsettled(w);
}

const char *same_file_saved_for_ever(void)
{
    return saved_for_ever(LIMITED("max_nodes: 8", "4"),
                          LIMITED("max_nodes: 8", "4"));
}

const char *limits_saved_for_ever(void)
{
    return saved_for_ever(LIMITED("max_nodes: 8", "4"),
                          LIMITED("max_nodes: 9", "4"));
}

const char *most_of_a_type_saved_for_ever(void)
{
    return saved_for_ever(LIMITED("max_nodes: 8", "4"),
                          LIMITED("max_nodes: 8", "5"));
}

/* ---- names that nobody has any more */

#define TWO_PRICED(provider, type, price) \
    CLUSTER "limits: {max_cost_per_hour: 9, idle_timeout: 3h}\n" \
            "providers:\n" \
            "  " provider ": {plugin: played, cloud: a}\n" \
            "  b: {plugin: played, cloud: b}\n" \
            "node_types:\n" \
            "  " type ": {provider: " provider ", resources: {GPU: 1}, " \
            "price: " price ", max: 4}\n" \
            "  v100: {provider: b, resources: {GPU: 4}, price: 3, max: 4}\n"

/* 36.  One file renames provider and type of two machines, and they cost three
 * times as much: that counts before a list tells whose they are.  before: a file that
 * renamed their provider alone, an hour ago, or NULL. */
static const char *renamed_and_dearer(const char *before, const char *file,
                                      bool restart)
{
    struct world *w = calm(TWO_PRICED("a", "t4", "1"), false, 2);

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    if (alive(w) != 2)
        return wrong("%u machines: the test tests nothing", alive(w));
    if (before) {
        daemon_reload(first(w), before);
        world_run(w, SECOND);
        world_person(w, COMMAND_APPLY);
        world_run(w, HOUR);
    }
    weather(w, 0, (struct cloud_weather){.lists_fail = true});
    daemon_reload(first(w), file);
    world_run(w, SECOND);
    world_person(w, COMMAND_APPLY);
    world_run(w, MINUTE);
    if (restart) {
        daemon_stop(first(w));
        daemon_start(first(w));
        world_run(w, MINUTE);
    }
    world_ask(w, 1, "{\"bundles\": [{\"GPU\": 4}, {\"GPU\": 4}]}");
    world_run(w, 10 * MINUTE);
    if (w->launched != 3)
        return wrong("%u machines were bought, not 3: two of 3 $/h and others "
                     "of 3 $/h for a budget of 9",
                     w->launched);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 10 * MINUTE);
    return w->launched == 3 ? NULL : wrong("%u were bought", w->launched);
}

const char *all_renamed_and_dearer(void)
{
    return renamed_and_dearer(NULL, TWO_PRICED("prod", "t4-new", "3"), false);
}

const char *all_renamed_and_dearer_at_a_start(void)
{
    return renamed_and_dearer(NULL, TWO_PRICED("prod", "t4-new", "3"), true);
}

const char *renamed_again_and_dearer(void)
{
    return renamed_and_dearer(TWO_PRICED("prod", "t4", "1"),
                              TWO_PRICED("a", "t4-new", "3"), false);
}

const char *renamed_again_and_dearer_at_a_start(void)
{
    return renamed_and_dearer(TWO_PRICED("prod", "t4", "1"),
                              TWO_PRICED("a", "t4-new", "3"), true);
}

/* ---- what nobody needs any more */

#define ONE_OF_TWO \
    CLUSTER \
    "limits: {idle_timeout: 2m, max_nodes: 1}\n" ONE_CLOUD "node_types:\n" \
    "  t4: {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, max: 4}\n" \
    "  cpu: {provider: a, resources: {CPU: 64}, price: 1, max: 4}\n"

/* A launch has no effect, which nobody is told, and is not needed any more.  It
 * counts, so there is no place for another machine: not for longer than it takes
 * to know. */
const char *unneeded_in_doubt(void)
{
    struct world *w = calm(ONE_OF_TWO, false, 1);

    weather(w, 0, (struct cloud_weather){.lost_request = 1000});
    world_ask(w, 0, GPUS(1));
    world_run(w, SECOND);
    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, SECOND);
    weather(w, 0, (struct cloud_weather){0});
    world_ask(w, 0, "{\"bundles\": [{\"resources\": {\"CPU\": 32}}]}");
    world_run(w, 6 * MINUTE); /* a call may take two to fail */
    if (alive(w) != 1)
        return wrong("%u machines six minutes after, not 1", alive(w));
    return NULL;
}
