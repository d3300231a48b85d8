/*
 * test_time.c - bad days on which what the daemon itself stands on gives way: a sync
 * of its disk, a line of its log, the closing of a plug-in takes its time and the world
 * goes on; somebody deletes its journal, copies or restores it.  Part of test_sequences.
 */
#include <string.h>

#include "observer.h"
#include "sequences.h"

enum { STALL_MS = 55 * SECOND, PLACES = 40 };

static const char settings[] = CLUSTER HEAD
    "limits: {max_nodes: 4, idle_timeout: 10m, start_timeout: 2m}\n" ONE_CLOUD
        T4("a", "4");

/* Work waits, and a machine takes so long to boot. */
static struct world *boots_for(uint32_t ms)
{
    struct world *w = begin(&(struct world_opts){.seed = 1,
                                                 .settings = settings,
                                                 .head = true,
                                                 .boot_least_ms = ms,
                                                 .boot_most_ms = ms,
                                                 .end_most_ms = 10 * SECOND,
                                                 .clouds = 1,
                                                 .slow_lines = 1});

    world_run(w, MINUTE);
    world_tasks(w, "GPU", 1, 1, false, 2 * HOUR);
    return w;
}

static void failed_note(void *arg, const struct event *e)
{
    int64_t *at = arg;

    if (!*at && strcmp(e->kind, "node.failed") == 0)
        *at = world_now(&the_world);
}

/* When the machine is late that never comes up, and how long after its launch. */
static int64_t late_at(int64_t *ret_after)
{
    struct world *w = boots_for(HOUR);
    int64_t at = 0, launched = 0;
    struct cloud *c;

    w->on_event = failed_note;
    w->arg = &at;
    for (int i = 0; i < 600 && !at; i++) {
        if (world_machine(w, 0, &c))
            launched = world_machine(w, 0, &c)->launched_ms;
        world_run(w, SECOND);
    }
    *ret_after = at - launched;
    world_end(w);
    return at;
}

/* Others ask for what costs nothing: each step has something to write. */
static void asked_meanwhile(struct world *w, int64_t ms, int64_t every_ms)
{
    int64_t until = world_now(w) + ms;

    for (uint32_t i = 0; world_now(w) < until && !w->law; i++) {
        world_ask(w, i % 4,
                  i % 8 < 4 ? "{\"num_cpus\": 1}" : "{\"bundles\": []}");
        world_run(w, every_ms);
    }
}

/* A machine is late, and joins three seconds after that was said; the n-th sync, or
 * line of the log, from then on takes 55 s.  The observer has a law for what must
 * not happen then. */
static const char *late_and_stalls(bool line, uint32_t n)
{
    int64_t after, at = late_at(&after);
    struct world *w;

    if (!at)
        return "no machine was late: the test tests nothing";
    w = boots_for((uint32_t)after + 3 * SECOND);
    world_run(w, at - 100 - world_now(w));
    if (!line)
        world_run(w, 2080); /* a view two seconds later says: not there yet */
    w->stall_ms = STALL_MS;
    *(line ? &w->stall_line : &w->stall_sync) = n;
    asked_meanwhile(w, line ? 4 * SECOND : 500, line ? 200 : 2);
    world_run(w, 2 * MINUTE);
    if (!w->law)
        world_end(w);
    return NULL;
}

static const char *late_and_stalls_anywhere(bool line)
{
    const char *why = NULL;

    for (uint32_t n = 1; n <= PLACES && !why && !the_world.law; n++)
        why = late_and_stalls(line, n);
    if (!why && !the_world.law)
        boots_for(MINUTE); /* what ends is a world */
    return why;
}

/* 44.  One sync of the disk takes 55 s in a step that ends a late machine, which joins
 * meanwhile and works. */
const char *sync_stalls_as_it_is_late(void)
{
    return late_and_stalls_anywhere(false);
}

/* 44.  The same with a line of the log: nobody reads it for 40 s. */
const char *log_stalls_as_it_is_late(void)
{
    return late_and_stalls_anywhere(true);
}

/* 44.  The log takes no line for an hour: who asks is answered, and machines come. */
const char *log_stalls_for_long(void)
{
    struct world *w = boots_for(10 * SECOND);
    int64_t at;

    w->stall_ms = HOUR;
    w->stall_line = 1;
    at = world_now(w);
    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    if (world_now(w) - at > 6 * MINUTE)
        return wrong("the loop stood for %lld s",
                     (long long)(world_now(w) - at) / SECOND);
    if (!w->acknowledged || alive(w) < 2)
        return wrong("%u answers, %u machines", w->acknowledged, alive(w));
    return NULL;
}

/* 44.  A sync takes ten minutes: nothing was promised, and all goes on after it. */
const char *sync_stalls_for_long(void)
{
    struct world *w = boots_for(10 * SECOND);

    w->stall_ms = 10 * MINUTE;
    w->stall_sync = 1;
    world_ask(w, 0, GPUS(2));
    world_run(w, 9 * MINUTE);
    if (w->acknowledged || w->launched)
        return wrong("%u answers, %u launches while nothing is on disk",
                     w->acknowledged, w->launched);
    world_run(w, 5 * MINUTE);
    if (!w->acknowledged || alive(w) < 2)
        return wrong("%u answers, %u machines", w->acknowledged, alive(w));
    return NULL;
}

/* 44.  A sync takes ten seconds, and the loop goes round meanwhile: who asked is told
 * what was launched for it, not what is left to do. */
const char *answer_after_a_sync_tells_its_plan(void)
{
    struct world *w = boots_for(MINUTE);

    w->stall_ms = 10 * SECOND;
    w->stall_sync = 1;
    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * SECOND);
    world_tasks(w, "GPU", 1, 1, false, 2 * HOUR);
    world_run(w, 10 * SECOND);
    return w->acknowledged == 1 && w->told > 0
               ? NULL
               : wrong("%u answers, %u launches told", w->acknowledged,
                       w->told);
}

/* 44.  A sync takes 50 ms, and nothing else happens: what was planned before it leaves when
 * it is on disk, and waits for no plan. */
const char *leaves_when_it_is_on_disk(void)
{
    struct world *w = calm(CLUSTER ONE_CLOUD T4("a", "4"), false, 1);
    int64_t at;
    struct cloud *c;

    world_run(w, 5 * SECOND); /* no list is under way */
    at = world_now(w);
    w->stall_ms = 50;
    w->stall_sync = 1;
    world_ask(w, 0, GPUS(2));
    world_run(w, SECOND); /* in one: who looks makes a step */
    if (!world_machine(w, 0, &c))
        return "nothing left within a second";
    at = world_machine(w, 0, &c)->launched_ms - at;
    return at >= w->stall_ms && at < w->stall_ms + 30
               ? NULL
               : wrong("it left after %lld ms", (long long)at);
}

/* 44.  No sync of the disk takes less than a second, many half a minute: what is planned
 * meanwhile is planned of what is known then, and all comes in its turn. */
const char *every_sync_is_slow(void)
{
    struct world *w = boots_for(MINUTE);

    w->slow_syncs = 1000;
    for (uint32_t i = 0; i < 3; i++) {
        world_ask(w, i, GPUS(1));
        world_run(w, 5 * MINUTE);
    }
    if (w->acknowledged != 3 || alive(w) != 3 || w->launched != 3)
        return wrong("%u answers, %u machines, %u bought", w->acknowledged,
                     alive(w), w->launched);
    for (uint32_t i = 0; i < 3; i++)
        world_ask(w, i, "{\"bundles\": []}");
    world_run(w, 30 * MINUTE);
    if (alive(w) != 1 || w->launched != 3)
        return wrong("%u machines stay, %u were bought", alive(w), w->launched);
    return NULL;
}

/* When Ray heard that the machine goes, after its cloud said so; the n-th sync from then
 * on takes three seconds. */
static int64_t told_after(uint32_t n)
{
    struct world *w = boots_for(10 * SECOND);
    int64_t at;
    struct cloud_machine *m;
    struct head_node node;
    struct cloud *c;

    world_run(w, 5 * MINUTE);
    m = world_machine(w, 0, &c);
    if (!m)
        return INT64_MAX;
    at = world_now(w);
    cloud_take_back(c, m, 2 * MINUTE);
    w->stall_ms = 3 * SECOND;
    w->stall_sync = n;
    for (int i = 0; i < 1100 && !w->law; i++) {
        world_run(w, 100);
        if (head_node_of(w->head, m->id, &node) && node.agreed_ms)
            return node.agreed_ms - at;
    }
    return INT64_MAX;
}

/* 44.  A machine is taken back, and that is on disk three seconds later, when nothing else
 * is new: Ray hears of it then, not with the next plan of a quiet minute. */
const char *taken_back_as_the_disk_is_slow(void)
{
    for (uint32_t n = 1; n <= 6 && !the_world.law; n++) {
        int64_t after;

        if (n > 1)
            world_end(&the_world);
        after = told_after(n);
        if (after > 40 * SECOND) /* lists come every 30 */
            return wrong("the %u-th sync stalled, and Ray heard of it %lld s "
                         "later",
                         n, (long long)after / SECOND);
    }
    return NULL;
}

/* 45.  A file is saved, and the earlier plug-in takes a minute to close, as an exec
 * program may that ignores its end.  The loop goes round meanwhile. */
const char *closing_takes_long(void)
{
    struct world *w = calm(settings, true, 1);
    int64_t at;

    w->stall_ms = MINUTE;
    w->stall_closing = 1;
    daemon_reload(first(w), settings);
    world_ask(w, 0, GPUS(1));
    at = world_now(w);
    world_run(w, 10 * SECOND);
    if (world_now(w) - at > 20 * SECOND || !w->acknowledged)
        return wrong("%u answers in %lld s", w->acknowledged,
                     (long long)(world_now(w) - at) / SECOND);
    return NULL;
}

/* The journal is deleted under the daemon, and then the power goes; asks: somebody is
 * promised something in between. */
static const char *deleted(bool asks)
{
    struct world *w = calm(settings, true, 1);

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    if (alive(w) != 2)
        return wrong("%u machines: the test tests nothing", alive(w));
    disk_unlink(w->disk, "/a/davit.db");
    if (asks)
        world_ask(w, 1, "{\"num_cpus\": 4}");
    world_run(w, asks ? 10 * SECOND : 2 * MINUTE);
    if (w->acknowledged != 1u + asks)
        return wrong("%u answers", w->acknowledged);
    world_crash(w, true, 0);
    if (!daemon_start(first(w)))
        return wrong("it does not start: %.150s", w->trouble);
    world_run(w, 20 * MINUTE);
    return alive(w) == 2 && !w->ended
               ? NULL
               : wrong("%u machines, %u were ended", alive(w), w->ended);
}

/* 46.  Somebody deletes the journal under the daemon: who is promised something after
 * that, or was before, has it after a loss of power too. */
const char *journal_deleted(void)
{
    return deleted(true);
}

/* 46.  The same, and nobody asks for anything: two minutes later all is there again. */
const char *journal_deleted_and_nobody_asks(void)
{
    return deleted(false);
}

/* 46.  The same, and no machine runs, so nothing is written down meanwhile. */
const char *journal_deleted_and_nothing_runs(void)
{
    struct world *w = calm(settings, true, 1);

    world_ask(w, 0, "{\"bundles\": [{\"resources\": {\"TPU\": 4}}]}");
    world_run(w, 5 * MINUTE);
    if (alive(w) || w->acknowledged != 1)
        return wrong("%u machines, %u answers: the test tests nothing",
                     alive(w), w->acknowledged);
    disk_unlink(w->disk, "/a/davit.db");
    world_run(w, 2 * MINUTE);
    world_crash(w, true, 0);
    if (!daemon_start(first(w)))
        return wrong("it does not start: %.150s", w->trouble);
    world_run(w, MINUTE);
    return NULL; /* the observer sees what is promised */
}

/* ---- two daemons of one journal */

static const char alone[] = CLUSTER
    "limits: {max_nodes: 8, idle_timeout: 1m}\n" ONE_CLOUD T4("a", "8");
static const char copys[] =
    "cluster: played\nstate: /b/davit.db\n"
    "limits: {max_nodes: 8, idle_timeout: 1m}\n" ONE_CLOUD T4("a", "8");

/* Not ready, since another daemon has its journal. */
static bool stands(const struct daemon *d)
{
    struct status_page *page = status_get(control_board(d->control));
    bool any = false;

    for (uint32_t i = 0; page && i < page->n_stops; i++)
        any = any || (page->stops[i].failing &&
                      strcmp(page->stops[i].kind, "journal_copied") == 0);
    status_unref(page);
    return any;
}

/* One machine is asked for, and is there.  Then the host's disk is copied, and a
 * daemon starts from the copy, on another host. */
static struct world *copied(void)
{
    struct world *w = calm(alone, false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 5 * MINUTE);
    disk_copy(w->disk, "/a/davit.db", "/b/davit.db");
    daemon_reload(&w->daemons[1], copys);
    daemon_start(&w->daemons[1]);
    world_run(w, MINUTE);
    return w;
}

/* 59.  Another owner asks the first daemon.  Its machine is not the copy's to end,
 * which stands from then on, after a start too. */
const char *journal_copied(void)
{
    struct world *w = copied();

    world_ask(w, 1, GPUS(1));
    world_run(w, 30 * MINUTE);
    if (alive(w) != 2 || w->ended)
        return wrong("%u machines, %u were ended", alive(w), w->ended);
    daemon_stop(&w->daemons[1]);
    if (!daemon_start(&w->daemons[1]))
        return wrong("it does not start: %.150s", w->trouble);
    world_run(w, MINUTE);
    return stands(&w->daemons[1]) && !stands(first(w))
               ? NULL
               : wrong("the copy stands: %d, the first one: %d",
                       stands(&w->daemons[1]), stands(first(w)));
}

/* 59.  What the copy knows of is cleared at the first one, which ends the machine, and
 * the copy buys another one.  That is not the first one's to end; and when the first
 * one buys as well, the copy stands. */
const char *journal_copied_and_the_copy_buys(void)
{
    struct world *w = copied();

    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, 20 * MINUTE);
    if (w->ended != 1 || alive(w) != 1)
        return wrong("%u machines, %u were ended: the test tests nothing",
                     alive(w), w->ended);
    world_ask(w, 1, GPUS(3));
    world_run(w, 20 * MINUTE);
    if (!stands(&w->daemons[1]) || stands(first(w)))
        return wrong("the copy stands: %d, the first one: %d",
                     stands(&w->daemons[1]), stands(first(w)));
    world_ask(w, 1, "{\"bundles\": []}");
    world_run(w, 20 * MINUTE);
    return alive(w) == 1 ? NULL
                         : wrong("%u machines, not the copy's one", alive(w));
}

/* 59.  A journal is restored from a copy of some minutes before: what was launched
 * since is ours, idle by what is known, and nobody stands. */
const char *journal_restored_is_no_copy(void)
{
    struct world *w = calm(alone, false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 5 * MINUTE);
    disk_copy(w->disk, "/a/davit.db", "/b/davit.db");
    world_ask(w, 1, GPUS(1));
    world_run(w, 5 * MINUTE);
    daemon_stop(first(w));
    disk_unlink(w->disk, "/a/davit.db");
    disk_copy(w->disk, "/b/davit.db", "/a/davit.db");
    w->owners[1].kept = (struct promise){0}; /* the copy does not know it */
    if (!daemon_start(first(w)))
        return wrong("it does not start: %.150s", w->trouble);
    world_run(w, 20 * MINUTE);
    return !stands(first(w)) && alive(w) == 1
               ? NULL
               : wrong("it stands: %d, %u machines", stands(first(w)),
                       alive(w));
}

/* ---- four days with an answer each */

/* 60.  The clock is set back by a day before a restart: what was asked for ten minutes
 * is not asked for longer than that after the start. */
const char *clock_back_under_a_ttl(void)
{
    struct world *w = calm(alone, false, 1);

    world_ask(w, 0,
              "{\"bundles\": [{\"resources\": {\"GPU\": 1}}], \"ttl\": "
              "\"10m\"}");
    world_run(w, 5 * MINUTE);
    daemon_stop(first(w));
    player_wall_step(w->player, -24 * HOUR);
    if (alive(w) != 1 || !daemon_start(first(w)))
        return wrong("%u machines: the test tests nothing", alive(w));
    world_run(w, 9 * MINUTE);
    if (alive(w) != 1)
        return wrong("%u machines for what is asked for", alive(w));
    world_run(w, 10 * MINUTE);
    return alive(w) ? wrong("%u machines stay", alive(w)) : NULL;
}

static const char priced[] = CLUSTER
    "limits: {max_nodes: 20, idle_timeout: 10m, max_cost_per_hour: 2}\n"
    "providers: {a: {plugin: priced, cloud: a}}\n"
    "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1},"
    " accelerator_type: T4, max: 12}\n";

/* 60.  An answer has a price of zero, the next ones the right one, of 1 $/h. */
const char *price_zero_once(void)
{
    struct world *w = calm(priced, false, 1);

    cloud_say_free(w->clouds[0], 1);
    world_ask(w, 0, GPUS(12));
    world_run(w, 30 * MINUTE);
    return alive(w) == 2 ? NULL : wrong("%u machines for 2 $/h", alive(w));
}

static bool is_shown(struct world *w)
{
    struct status_page *page = status_get(control_board(first(w)->control));
    bool shown = page->n_providers && !page->providers[0].ready;

    status_unref(page);
    return shown;
}

/* 60.  One machine is in a phase that there is not.  A list of that is no good list: it
 * shows, nothing is bought or ended there, and nothing taken for gone.  With the
 * next good list all goes on. */
const char *phase_that_there_is_not(void)
{
    struct world *w = calm(alone, false, 1);

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    cloud_say(w->clouds[0], CLOUD_SAYS_STRANGE, UINT32_MAX);
    world_run(w, MINUTE);
    world_ask(w, 1, GPUS(1));
    world_ask(w, 0, GPUS(1));
    world_run(w, 10 * MINUTE);
    if (!is_shown(w) || w->launched != 2 || alive(w) != 2)
        return wrong("shown: %d, %u launched, %u machines", is_shown(w),
                     w->launched, alive(w));
    world_ask(w, 1, "{\"bundles\": []}");
    world_run(w, 10 * MINUTE);
    if (w->ended)
        return wrong("%u were ended by old lists", w->ended);
    cloud_say(w->clouds[0], CLOUD_SAYS_TRUTH, 0);
    world_run(w, 10 * MINUTE);
    if (w->ended != 1)
        return wrong("%u were ended, not the one that is idle", w->ended);
    world_ask(w, 1, GPUS(2));
    world_run(w, 10 * MINUTE);
    return !is_shown(w) && alive(w) == 3
               ? NULL
               : wrong("shown: %d, %u machines", is_shown(w), alive(w));
}

/* 60.  Somebody starts the daemon anew every half of an idle_timeout.  No clock of ours
 * ran between two processes, so what is idle is so from the start on, and
 * stays; when that is over it ends in time. */
const char *restarts_more_often_than_idle(void)
{
    struct world *w = calm(alone, false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 5 * MINUTE);
    world_ask(w, 0, "{\"bundles\": []}");
    for (int i = 0; i < 60; i++) {
        world_run(w, 30 * SECOND);
        daemon_stop(first(w));
        if (!daemon_start(first(w)))
            return wrong("it does not start: %.150s", w->trouble);
    }
    if (alive(w) != 1)
        return wrong("%u machines: it is no longer so", alive(w));
    world_run(w, 3 * MINUTE);
    return alive(w) ? wrong("%u machines stay", alive(w)) : NULL;
}

/* What the type is said to take as a rule, in seconds; -1: that is not known. */
static int64_t usual_s(struct world *w)
{
    struct status_page *page = status_get(control_board(first(w)->control));
    int64_t ms = page->snapshot->types[0].boot_ms;

    status_unref(page);
    return ms < 0 ? -1 : ms / SECOND;
}

/* 60.  A machine boots while no daemon runs, and another one while no list of its cloud
 * goes well.  What they took nobody knows: it is not what such machines take as a
 * rule, which is told by those that were seen. */
const char *boot_that_nobody_saw(void)
{
    enum { MOST_S = 40 }; /* its boot, and a look at it */
    struct world *w = calm(alone, false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 2 * SECOND);
    daemon_stop(first(w));
    world_run(w, 30 * MINUTE);
    if (!daemon_start(first(w)))
        return wrong("it does not start: %.150s", w->trouble);
    world_run(w, 2 * MINUTE);
    if (alive(w) != 1 || usual_s(w) != -1)
        return wrong("%u machines, usually ready in %lld s", alive(w),
                     (long long)usual_s(w));
    world_ask(w, 0, GPUS(2));
    world_run(w, 2 * MINUTE);
    if (usual_s(w) < 5 || usual_s(w) > MOST_S)
        return wrong("usually ready in %lld s", (long long)usual_s(w));
    world_ask(w, 0, GPUS(3));
    world_run(w, 2 * SECOND);
    weather(w, 0, (struct cloud_weather){.lists_fail = true});
    world_run(w, 10 * MINUTE);
    weather(w, 0, (struct cloud_weather){.down = false});
    world_run(w, 5 * MINUTE);
    return alive(w) == 3 && usual_s(w) <= MOST_S
               ? NULL
               : wrong("%u machines, usually ready in %lld s", alive(w),
                       (long long)usual_s(w));
}
