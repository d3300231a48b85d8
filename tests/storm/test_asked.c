/*
 * test_asked.c - bad days on which what was known once is not so any more, or is
 * said otherwise for a moment; part of test_sequences.
 */
#include <stdio.h>
#include <string.h>

#include "observer.h"
#include "sequences.h"

#define LIMITS(max, idle) \
    "limits: {max_nodes: " max ", idle_timeout: " idle ", start_timeout: 5m}\n"

static const char with_ray[] = CLUSTER HEAD LIMITS("6", "10m")
    ONE_CLOUD T4("a", "6");
static const char rest[] = CLUSTER LIMITS("6", "1m") ONE_CLOUD T4("a", "6");

static struct world *world_of(const char *settings, bool head, bool addressed,
                              uint32_t hosts)
{
    struct world *w = begin(&(struct world_opts){.seed = 5,
                                                 .settings = settings,
                                                 .head = head,
                                                 .addressed = addressed,
                                                 .hosts = hosts,
                                                 .boot_least_ms = 10 * SECOND,
                                                 .boot_most_ms = 20 * SECOND,
                                                 .end_most_ms = 2 * SECOND,
                                                 .clouds = 1});
    world_run(w, MINUTE);
    return w;
}

/* Machines run as soon as they are made. */
static struct world *at_once(const char *settings)
{
    struct world *w = begin(&(struct world_opts){.seed = 5,
                                                 .settings = settings,
                                                 .end_most_ms = 2 * SECOND,
                                                 .clouds = 1});
    world_run(w, MINUTE);
    return w;
}

/* So many machines that work for hours. */
static struct world *busy(bool addressed, uint32_t n)
{
    struct world *w = world_of(with_ray, true, addressed, 0);

    world_tasks(w, "GPU", 1, n, false, 4 * HOUR);
    world_run(w, 5 * MINUTE);
    return w;
}

static struct world *needed(uint32_t n);

static const char *work_goes_on(const struct world *w, uint32_t n)
{
    if (w->ended || head_running(w->head) != n)
        return wrong("%u machines were ended, %u of %u tasks run", w->ended,
                     head_running(w->head), n);
    return NULL;
}

bool is_stopped(struct world *w, const char *kind)
{
    struct status_page *page = status_get(control_board(w->daemons[0].control));
    bool any = false;

    for (uint32_t i = 0; page && i < page->n_stops; i++)
        any = any || strcmp(page->stops[i].kind, kind) == 0;
    status_unref(page);
    return any;
}

/* Told while it lasts, and over afterwards. */
static const char *told_meanwhile(struct world *w, const char *kind, uint32_t n,
                                  int64_t ms)
{
    world_run(w, ms / 2);
    if (!is_stopped(w, kind))
        return wrong("no stop %s says so (%u machines were ended)", kind,
                     w->ended);
    world_run(w, ms / 2 + 2 * MINUTE);
    if (is_stopped(w, kind))
        return wrong("the stop %s stays", kind);
    world_run(w, HOUR);
    if (w->launched > n)
        return wrong("%u machines were bought, not %u", w->launched, n);
    return work_goes_on(w, n);
}

/* ---- not found is not "never joined" */

static const char *named(bool addressed, enum head_names how, const char *stop)
{
    struct world *w = busy(addressed, 2);
    struct cloud *c;

    head_names(w->head, world_machine(w, 0, &c)->id, how, 30 * MINUTE);
    return told_meanwhile(w, stop, 2, 30 * MINUTE);
}

/* 54.  Another node object has the busy machine's names too. */
const char *name_of_two_nodes(void)
{
    return named(true, NAMES_TWICE, "node_claimed");
}

/* 54.  Its node is in no view for half an hour. */
const char *name_of_no_node(void)
{
    return named(false, NAMES_NONE, "machines_missing");
}

/* 54.  Its raylet began again: the earlier one is in the views as dead, the living one
 * is in none for half an hour. */
const char *name_of_a_dead_node_alone(void)
{
    struct world *w = busy(false, 2);
    struct cloud *c;

    head_trouble(w->head, HEAD_DOWN);
    head_node_restart(w->head, world_machine(w, 0, &c)->id);
    world_tasks(w, "GPU", 1, 1, false, 4 * HOUR);
    world_run(w, 30 * SECOND);
    head_trouble(w->head, HEAD_WELL);
    world_run(w, 30 * SECOND);
    if (head_running(w->head) != 2)
        return "no raylet came back: the test tests nothing";
    head_names(w->head, world_machine(w, 0, &c)->id, NAMES_NONE, 30 * MINUTE);
    return told_meanwhile(w, "machines_missing", 2, 30 * MINUTE);
}

/* 54.  Its node has no address for half an hour. */
const char *address_vanishes(void)
{
    return named(true, NAMES_BARE, "machines_missing");
}

/* 54.  Another head answers at the address for half an hour. */
const char *another_head(void)
{
    struct world *w = busy(false, 6);

    head_trouble(w->head, HEAD_OTHER);
    world_run(w, 30 * MINUTE);
    if (w->ended || !is_stopped(w, "another_head"))
        return wrong("%u of 6 busy machines were ended, told: %d", w->ended,
                     is_stopped(w, "another_head"));
    head_trouble(w->head, HEAD_WELL);
    world_run(w, HOUR);
    return work_goes_on(w, 6);
}

/* 54.  The same, and the daemon is started again meanwhile. */
const char *another_head_at_a_start(void)
{
    struct world *w = busy(false, 6);

    daemon_stop(first(w));
    head_trouble(w->head, HEAD_OTHER);
    if (!daemon_start(first(w)))
        return "it does not start";
    world_run(w, 30 * MINUTE);
    if (w->ended || !is_stopped(w, "another_head"))
        return wrong("%u of 6 busy machines were ended, told: %d", w->ended,
                     is_stopped(w, "another_head"));
    head_trouble(w->head, HEAD_WELL);
    world_run(w, HOUR);
    return work_goes_on(w, 6);
}

/* 54.  Our head begins anew, and its raylets join it again: it is ours, so what waits
 * there is bought for. */
const char *head_begins_anew(void)
{
    struct world *w = busy(false, 2);

    head_restart(w->head);
    world_run(w, 5 * MINUTE);
    world_tasks(w, "GPU", 1, 4, false, 4 * HOUR);
    world_run(w, 10 * MINUTE);
    if (is_stopped(w, "another_head") || alive(w) < 4)
        return wrong("it is another head: %d, %u machines",
                     is_stopped(w, "another_head"), alive(w));
    return NULL;
}

static void die(struct world *w, uint32_t n)
{
    struct cloud_machine *m;
    struct cloud *c;

    for (uint32_t i = 0; i < n && (m = world_machine(w, i, &c)); i++)
        head_node_dies(w->head, m->id);
}

/* 54.  A head loses sight of five of six raylets at once.  It may be its fault: one
 * machine goes in ten minutes, as limits.max_ends says, the others when a person
 * lets them. */
const char *raylets_die_at_once(void)
{
    struct world *w = busy(false, 6);

    die(w, 5);
    world_run(w, 9 * MINUTE);
    if (w->ended != 1 || !is_stopped(w, "ends_held"))
        return wrong("%u of 6 were ended, held: %d", w->ended,
                     is_stopped(w, "ends_held"));
    world_person(w, COMMAND_RELEASE);
    world_run(w, 2 * MINUTE);
    return w->ended == 5 ? NULL
                         : wrong("%u were ended, not all five", w->ended);
}

#define AT_MOST(n) CLUSTER HEAD LIMITS("6", "10m") ONE_CLOUD T4("a", n)

/* 63.  Six machines work when a start finds a file that allows none.  What that wants waits
 * for `davit apply` alone: what died meanwhile passes the brake, and `davit release` lets
 * that go on, and no more. */
const char *held_at_a_start(void)
{
    struct world *w = busy(false, 6);

    daemon_stop(first(w));
    daemon_reload(first(w), AT_MOST("0"));
    if (!daemon_start(first(w)))
        return "it does not start";
    world_run(w, MINUTE);
    if (w->ended || head_running(w->head) != 6)
        return wrong("%u were ended of a file that is held", w->ended);
    die(w, 5);
    world_run(w, 2 * MINUTE);
    if (w->ended != 1)
        return wrong("%u of 5 dead were ended, not 1", w->ended);
    world_person(w, COMMAND_RELEASE);
    world_run(w, 9 * MINUTE);
    if (w->ended != 5 || head_running(w->head) != 1)
        return wrong("%u were ended, not the 5 dead; %u tasks run", w->ended,
                     head_running(w->head));
    return NULL;
}

/* 63.  The same, and a file is saved that cannot be read: what is held can be approved
 * all the same. */
const char *held_at_a_start_and_a_slip(void)
{
    struct world *w = needed(6);

    daemon_stop(first(w));
    daemon_reload(first(w), CLUSTER LIMITS("6", "1m") ONE_CLOUD T4("a", "2"));
    if (!daemon_start(first(w)))
        return "it does not start";
    world_run(w, MINUTE);
    daemon_reload(first(w), "cluster: played\nlimits: {max_nodes: many}\n");
    world_run(w, MINUTE);
    if (w->ended)
        return wrong("%u were ended of a file that is held", w->ended);
    world_person(w, COMMAND_APPLY);
    world_run(w, 5 * MINUTE);
    return alive(w) == 2 && w->said == ST_OK
               ? NULL
               : wrong("%u machines stay, not 2; answered %s", alive(w),
                       status_name(w->said));
}

/* 63.  Another head answers, and a file was saved that cannot be read: that is no answer
 * to who says that the head is ours. */
const char *head_approved_and_a_slip(void)
{
    struct world *w = busy(false, 2);

    head_trouble(w->head, HEAD_OTHER);
    daemon_reload(first(w), "cluster: played\nlimits: {max_nodes: many}\n");
    world_run(w, 5 * MINUTE);
    if (!is_stopped(w, "another_head"))
        return "no stop another_head says so";
    world_person(w, COMMAND_APPLY);
    world_run(w, 10 * SECOND);
    return w->said == ST_OK && !is_stopped(w, "another_head")
               ? NULL
               : wrong("answered %s", status_name(w->said));
}

/* 54.  Three die: each is ended, and its work has another machine. */
const char *raylet_dies(void)
{
    struct world *w = busy(false, 6);

    die(w, 3);
    world_run(w, MINUTE);
    return w->ended == 3 ? NULL : wrong("%u of 3 were ended", w->ended);
}

/* ---- an id is not one machine for ever */

/* One machine, of one host that there is, that works. */
static struct world *busy_on_hosts(void)
{
    struct world *w = world_of(with_ray, true, false, 1);

    world_tasks(w, "GPU", 1, 1, false, HOUR);
    world_run(w, 5 * MINUTE);
    return w;
}

/* 55.  The host that was just ended is launched again, before a list lacks it. */
const char *host_given_again(void)
{
    struct world *w = world_of(rest, false, false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 2 * MINUTE);
    world_ask(w, 0, "{\"bundles\": []}");
    for (int i = 0; i < 10 * 600 && !w->ended; i++)
        world_run(w, 100);
    for (int i = 0; i < 40 && alive(w); i++) {
        weather(w, 0, (struct cloud_weather){.lists_fail = true});
        world_run(w, 100);
    }
    world_ask(w, 1, GPUS(1));
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 20 * MINUTE);
    if (w->ended != 1 || w->launched != 2)
        return wrong("%u ends, %u launches, not 1 and 2", w->ended,
                     w->launched);
    return NULL;
}

/* 55.  The same with work on a Ray head. */
const char *host_given_again_with_ray(void)
{
    struct world *w = world_of(
        CLUSTER HEAD LIMITS("6", "1m") ONE_CLOUD T4("a", "6"), true, false, 1);

    world_tasks(w, "GPU", 1, 1, false, MINUTE);
    for (int i = 0; i < 10 * 600 && !w->ended; i++)
        world_run(w, 100);
    for (int i = 0; i < 40 && alive(w); i++) {
        weather(w, 0, (struct cloud_weather){.lists_fail = true});
        world_run(w, 100);
    }
    world_tasks(w, "GPU", 1, 1, true, 4 * HOUR);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, HOUR);
    if (w->ended != 1 || w->launched != 2 || head_running(w->head) != 1)
        return wrong("%u ends, %u launches, %u tasks run", w->ended,
                     w->launched, head_running(w->head));
    return NULL;
}

/* 55.  A host dies, and its name is given to the next launch, while lists fail: what
 * its first machine's raylet says is no word of the second. */
const char *host_given_again_after_a_death(void)
{
    struct world *w = busy_on_hosts();
    struct cloud *c;

    weather(w, 0, (struct cloud_weather){.lists_fail = true});
    cloud_kill(w->clouds[0], world_machine(w, 0, &c));
    world_run(w, 10 * SECOND);
    weather(w, 0, (struct cloud_weather){0});
    world_tasks(w, "GPU", 1, 1, true, 4 * HOUR);
    world_run(w, HOUR);
    return work_goes_on(w, 1);
}

/* 55.  A host is given to a launch whose answer takes a minute and a half, and so do
 * lists.  The end of its first machine is not asked for again by that name before a list
 * tells whose it is. */
const char *host_given_again_while_a_launch_hangs(void)
{
    struct world *w = world_of(rest, false, false, 1);

    world_ask(w, 0, GPUS(1));
    world_run(w, 2 * MINUTE);
    world_ask(w, 0, "{\"bundles\": []}");
    for (int i = 0; i < 10 * 600 && !w->ended; i++)
        world_run(w, 100);
    weather(w, 0, (struct cloud_weather){.hangs = 1000, .hang_ms = 3 * SECOND});
    for (int i = 0; i < 40 && alive(w); i++)
        world_run(w, 100);
    weather(w, 0,
            (struct cloud_weather){.hangs = 1000, .hang_ms = 90 * SECOND});
    world_ask(w, 1, GPUS(1));
    world_run(w, 95 * SECOND);
    if (w->launched != 2)
        return wrong("%u launches: the test tests nothing", w->launched);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 20 * MINUTE);
    return w->ended == 1 && w->launched == 2
               ? NULL
               : wrong("%u ends, %u launches, not 1 and 2", w->ended,
                       w->launched);
}

/* So many more are asked for, one launch after the other, each of which takes longer
 * than the next one waits. */
static void launch_all_the_time(struct world *w, uint32_t first, uint32_t n)
{
    char text[120];

    weather(w, 0, (struct cloud_weather){.hangs = 1000, .hang_ms = 5 * SECOND});
    for (uint32_t i = first; i < first + n && !w->law; i++) {
        snprintf(text, sizeof text,
                 "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": "
                 "%u}]}",
                 1 + i / 6);
        world_ask(w, 1 + i % 6, text);
        world_run(w, 2 * SECOND);
    }
}

static const char two_types[] = CLUSTER LIMITS("400", "1m") ONE_CLOUD
    "node_types:\n"
    "  t4: {provider: a, resources: {CPU: 1, GPU: 1}, price: 1, max: 400}\n"
    "  cpu: {provider: a, resources: {CPU: 16}, price: 1, max: 1}\n";

/* 62.  An end was refused, and is to be asked for again, while the provider launches all
 * the time: whether its id was given again is known from a list without a launch beside
 * it, for which launches leave room. */
const char *ends_among_launches(void)
{
    struct world *w = at_once(two_types);
    uint32_t before;

    world_ask(w, 0, "{\"num_cpus\": 16}");
    world_run(w, MINUTE);
    world_ask(w, 0, "{\"bundles\": []}");
    weather(w, 0, (struct cloud_weather){.auth_ends = true});
    world_run(w, 61 * SECOND);
    if (alive(w) != 1 || w->ended)
        return wrong("%u machines, %u ended: the test tests nothing", alive(w),
                     w->ended);
    launch_all_the_time(w, 0, 90);
    before = w->launched;
    launch_all_the_time(w, 90, 60);
    if (w->launched < before + 10)
        return wrong("%u launches in two minutes", w->launched - before);
    return w->ended == 1 ? NULL : wrong("%u machines were ended", w->ended);
}

/* 55.  A host dies two seconds before its machine is to end, which no list has told yet,
 * and its name is given to a launch that is under way.  The first end does not leave
 * before a list tells whose it is. */
const char *host_given_again_before_a_first_end(void)
{
    struct world *w = world_of(two_types, false, false, 1);
    struct cloud *c;

    world_ask(w, 0, GPUS(1));
    world_run(w, 2 * MINUTE);
    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, 58 * SECOND);
    weather(w, 0,
            (struct cloud_weather){.hangs = 1000, .hang_ms = 30 * SECOND});
    cloud_kill(w->clouds[0], world_machine(w, 0, &c));
    world_ask(w, 1, "{\"bundles\": [{\"resources\": {\"CPU\": 16}}]}");
    world_run(w, 25 * SECOND);
    if (w->launched != 2)
        return wrong("%u launches: the test tests nothing", w->launched);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 20 * MINUTE);
    return !w->ended && alive(w) == 1
               ? NULL
               : wrong("%u ends, %u machines, not 0 and 1", w->ended, alive(w));
}

/* ---- what was agreed is looked up */

static bool until_agreed(struct world *w, struct head_node *n)
{
    struct cloud_machine *m;
    struct cloud *c;

    for (int i = 0; i < 10 * 1200; i++) {
        world_run(w, 100);
        m = world_machine(w, 0, &c);
        if (m && head_node_of(w->head, m->id, n) && n->agreed_ms)
            return true;
    }
    return false;
}

/* 56.  The head agrees that an idle node goes, and forgets it; work comes. */
const char *head_forgets_idle_drain(void)
{
    struct world *w = world_of(
        CLUSTER HEAD LIMITS("6", "1m") ONE_CLOUD T4("a", "6"), true, false, 0);
    struct head_node n;

    world_tasks(w, "GPU", 1, 1, false, MINUTE);
    if (!until_agreed(w, &n))
        return "no drain was agreed to";
    head_forget_drains(w->head, 0);
    world_tasks(w, "GPU", 1, 1, true, 4 * HOUR);
    world_run(w, 3 * HOUR);
    if (w->launched != 1)
        return wrong("%u machines were bought, not 1", w->launched);
    return work_goes_on(w, 1);
}

/* 56.  A person drains a busy node; the head agrees, gives it an hour, and forgets
 * it: it is asked again, so its work has an hour from then. */
const char *head_forgets_drain(void)
{
    struct world *w = busy(false, 1);
    struct cloud *c;
    struct head_node n;

    world_drain(w, world_machine(w, 0, &c)->id);
    if (!until_agreed(w, &n))
        return "no drain was agreed to";
    world_run(w, MINUTE);
    head_forget_drains(w->head, 0);
    world_run(w, 2 * MINUTE);
    if (!world_machine(w, 0, &c) ||
        !head_node_of(w->head, world_machine(w, 0, &c)->id, &n) || !n.agreed_ms)
        return "it was not asked again";
    world_run(w, 3 * HOUR);
    return NULL; /* the observer sees what is ended */
}

/* A second before the time that its work was given is over, and five minutes: until then
 * the node stays as long as its work does.  It may be in no view from then on. */
static const char *forgets_at_the_last_moment(bool vanishes)
{
    struct world *w = busy(false, 1);
    struct cloud *c;
    struct head_node n;

    head_patient(w->head, true);
    world_drain(w, world_machine(w, 0, &c)->id);
    if (!until_agreed(w, &n))
        return "no drain was agreed to";
    world_run(w, n.agreed_ms + 65 * MINUTE - SECOND - world_now(w));
    if (w->ended || head_running(w->head) != 1)
        return wrong("%u ended, %u tasks: the test tests nothing", w->ended,
                     head_running(w->head));
    head_forget_drains(w->head, 0);
    if (vanishes)
        head_names(w->head, world_machine(w, 0, &c)->id, NAMES_NONE,
                   10 * MINUTE);
    world_run(w, 30 * MINUTE);
    return work_goes_on(w, 1);
}

/* 56.  The head forgets what it agreed to, as late as can be. */
const char *head_forgets_at_the_last_moment(void)
{
    return forgets_at_the_last_moment(false);
}

/* 56.  And the node's name vanishes at once: what is in no view any more may work. */
const char *head_forgets_and_the_name_vanishes(void)
{
    return forgets_at_the_last_moment(true);
}

/* ---- one reading is not final */

static struct world *needed(uint32_t n)
{
    struct world *w = world_of(rest, false, false, 0);
    char text[120];

    snprintf(text, sizeof text,
             "{\"bundles\": [{\"resources\": {\"GPU\": 1}, \"count\": %u}]}",
             n);
    world_ask(w, 0, text);
    world_run(w, 5 * MINUTE);
    return w;
}

/* One list says it of all machines. */
static const char *said_once(struct world *w, int phase, uint32_t n)
{
    cloud_say(w->clouds[0], phase, 1);
    world_run(w, 30 * MINUTE);
    if (w->ended || w->launched != n)
        return wrong("%u of %u needed machines were ended, %u were bought",
                     w->ended, n, w->launched);
    return w->head ? work_goes_on(w, n) : NULL;
}

/* 57.  One list says of three needed machines that they failed. */
const char *failed_once(void)
{
    return said_once(needed(3), CLOUD_SAYS_FAILED, 3);
}

const char *failed_once_with_ray(void)
{
    return said_once(busy(false, 3), CLOUD_SAYS_FAILED, 3);
}

/* 57.  One list says that they are being ended. */
const char *stopping_once(void)
{
    return said_once(needed(3), CLOUD_SAYS_STOPPING, 3);
}

const char *stopping_once_with_ray(void)
{
    return said_once(busy(false, 3), CLOUD_SAYS_STOPPING, 3);
}

/* 57.  Two lists say so, and no other: they failed after all, and do not.  What the
 * brake let go is gone; the rest is of use again. */
const char *failed_and_back(void)
{
    struct world *w = needed(3);

    cloud_say(w->clouds[0], CLOUD_SAYS_FAILED, 2);
    world_run(w, 30 * MINUTE);
    if (alive(w) != 3 || w->ended > 3 || is_stopped(w, "ends_held"))
        return wrong("%u machines are there, %u were ended", alive(w),
                     w->ended);
    return NULL;
}

/* 57.  Six machines whose end was accepted are in so many lists no more, and run
 * on. */
static const char *dropped(uint32_t lists)
{
    struct world *w = needed(6);
    struct cloud *c;

    weather(w, 0, (struct cloud_weather){.refuses_end = 1000});
    for (uint32_t i = 0; i < 6; i++)
        world_machine(w, i, &c)->refuses_end = true;
    world_ask(w, 0, "{\"bundles\": []}");
    world_run(w, 3 * MINUTE);
    cloud_say(w->clouds[0], CLOUD_SAYS_NOTHING, lists);
    world_run(w, 2 * MINUTE);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 30 * MINUTE);
    return alive(w) ? wrong("%u of 6 machines stay", alive(w)) : NULL;
}

const char *drops_off_a_list(void)
{
    return dropped(1);
}

const char *drops_off_two_lists(void)
{
    return dropped(3);
}

/* 57.  The only machine that there may be takes five minutes to end, and a list lacks it
 * as soon as that was accepted, while another one is asked for. */
const char *drops_off_as_it_ends(void)
{
    struct world *w = begin(&(struct world_opts){
        .seed = 5,
        .settings = CLUSTER LIMITS("1", "1m") ONE_CLOUD T4("a", "1"),
        .boot_least_ms = SECOND,
        .boot_most_ms = 2 * SECOND,
        .end_most_ms = 10 * MINUTE,
        .clouds = 1});
    struct cloud *c;

    world_run(w, MINUTE);
    world_ask(w, 0, GPUS(1));
    world_run(w, 2 * MINUTE);
    world_ask(w, 0, "{\"bundles\": []}");
    for (int i = 0; i < 120 && world_machine(w, 0, &c) &&
                    !world_machine(w, 0, &c)->asked_ms;
         i++)
        world_run(w, SECOND);
    if (!world_machine(w, 0, &c))
        return "it is gone at once: the test tests nothing";
    cloud_say(w->clouds[0], CLOUD_SAYS_NOTHING, 1);
    world_ask(w, 0, GPUS(1));
    world_run(w, 30 * MINUTE);
    return alive(w) == 1 && w->launched == 2
               ? NULL
               : wrong("%u machines, %u launched", alive(w), w->launched);
}

/* ---- other ids */

/* 58.  Answers of launches have ids, and machines that run, that no list has. */
static const char *other_ids_when(uint32_t list_lag_ms)
{
    struct world *w = at_once(CLUSTER LIMITS("6", "1m") ONE_CLOUD T4("a", "2"));
    struct status_page *page;
    uint32_t known;

    weather(
        w, 0,
        (struct cloud_weather){.other_ids = true, .list_lag_ms = list_lag_ms});
    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * SECOND);
    page = status_get(control_board(first(w)->control));
    known = page ? page->snapshot->n_nodes : 0;
    status_unref(page);
    if (known != 2)
        return wrong("%u machines are known, not 2", known);
    world_run(w, 30 * MINUTE);
    if (w->ended || w->launched != 2)
        return wrong("%u machines were ended, %u bought for 2", w->ended,
                     w->launched);
    return NULL;
}

/* The list comes before the answer. */
const char *other_ids(void)
{
    return other_ids_when(0);
}

/* The answer comes first. */
const char *other_ids_before_a_list(void)
{
    return other_ids_when(3 * SECOND);
}
