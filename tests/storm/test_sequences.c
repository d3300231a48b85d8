/*
 * test_sequences.c - bad days, each as a named test in played time.
 *
 * Each was seen on real daemons before the ledger knew "maybe".  A test says
 * what went wrong, or nothing; the observer's laws hold beside it.  Each runs in
 * a process of its own.  expected.h lists those that are known to fail.
 *
 * Played elsewhere, as they need a real server: KubeRay's operator down (8), a
 * ConfigMap that is full (18), bodies of megabytes (19), AKS's and GKE's own
 * lists, a lease on a computer that sleeps (21).
 *
 * usage: test_sequences [NAME]   (one alone, with all of its events)
 */
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "expected.h"
#include "observer.h"
#include "sequences.h"

static bool trace;
struct world the_world;

const char *wrong(const char *fmt, ...)
{
    static char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text;
}

struct world *begin(const struct world_opts *o)
{
    world_begin(&the_world, o);
    the_world.trace = trace;
    return &the_world;
}

struct world *calm(const char *settings, bool head, uint32_t clouds)
{
    struct world *w = begin(&(struct world_opts){.seed = 1,
                                                 .settings = settings,
                                                 .head = head,
                                                 .waits = true,
                                                 .boot_least_ms = 10 * SECOND,
                                                 .boot_most_ms = 20 * SECOND,
                                                 .end_most_ms = 10 * SECOND,
                                                 .clouds = clouds});
    world_run(w, MINUTE);
    return w;
}

void weather(struct world *w, uint32_t cloud, struct cloud_weather now)
{
    cloud_weather(w->clouds[cloud], &now);
}

uint32_t alive(struct world *w)
{
    return world_alive(w);
}

struct daemon *first(struct world *w)
{
    return &w->daemons[0];
}

/* Nodes of the head that were told to go. */
static uint32_t drained(struct world *w)
{
    uint32_t n = 0;
    struct cloud_machine *m;
    struct cloud *c;
    struct head_node x;

    for (uint32_t i = 0; (m = world_machine(w, i, &c)); i++)
        n += head_node_of(w->head, m->id, &x) && x.agreed_ms;
    return n;
}

static uint32_t running(const struct world *w)
{
    return head_running(w->head);
}

/* ---- live work ended, or ended without being asked */

static const char max4[] = CLUSTER HEAD
    "limits: {max_nodes: 4, idle_timeout: 5m, start_timeout: 5m}\n" ONE_CLOUD T4(
        "a", "4");

/* 1a.  The launch's reply is lost, then the cloud does not answer for 65 s;
 * meanwhile four machines come up, join, and get work. */
static const char *lost_reply_then_outage(void)
{
    struct world *w = calm(max4, true, 1);

    weather(w, 0, (struct cloud_weather){.lost_reply = 1000});
    world_tasks(w, "GPU", 1, 4, false, 2 * HOUR);
    world_run(w, 2 * SECOND);
    weather(w, 0, (struct cloud_weather){.down = true});
    world_run(w, 75 * SECOND);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 30 * MINUTE);
    if (running(w) != 4 || w->ended)
        return wrong("%u of 4 tasks run, %u machines were ended", running(w),
                     w->ended);
    return NULL;
}

/* 1b.  Four busy nodes at max 4, and the provider is renamed in the file. */
static const char *provider_renamed(void)
{
    struct world *w = calm(max4, true, 1);

    world_tasks(w, "GPU", 1, 4, false, 2 * HOUR);
    world_run(w, 5 * MINUTE);
    daemon_reload(
        first(w), CLUSTER HEAD
        "limits: {max_nodes: 4, idle_timeout: 5m}\n"
        "providers: {a-prod: {plugin: played, cloud: a}}\n" T4("a-prod", "4"));
    world_run(w, 30 * MINUTE);
    if (running(w) != 4 || w->ended || drained(w))
        return wrong("%u of 4 tasks run, %u machines were ended, %u drained",
                     running(w), w->ended, drained(w));
    return NULL;
}

#define EIGHT(head, max) \
    CLUSTER head \
        "limits: {max_nodes: 20, idle_timeout: 5m}\n" ONE_CLOUD T4("a", max)

/* 2a.  max 8 becomes 1 by a slip; the demand is a request. */
static const char *typo_in_max(void)
{
    struct world *w = calm(EIGHT("", "8"), false, 1);

    world_ask(w, 0, GPUS(8));
    world_run(w, 5 * MINUTE);
    daemon_reload(first(w), EIGHT("", "1"));
    world_run(w, 5 * MINUTE);
    if (w->ended > 1)
        return wrong("%u of 8 needed machines were ended", w->ended);
    daemon_reload(first(w), EIGHT("", "8"));
    world_run(w, 10 * MINUTE);
    return alive(w) == 8 ? NULL : wrong("%u machines, not 8", alive(w));
}

/* 2b.  The same with work on Ray's nodes: no drain that cannot be taken back. */
static const char *typo_in_max_with_ray(void)
{
    struct world *w = calm(EIGHT(HEAD, "8"), true, 1);

    world_tasks(w, "GPU", 1, 8, false, 4 * HOUR);
    world_run(w, 5 * MINUTE);
    daemon_reload(first(w), EIGHT(HEAD, "1"));
    world_run(w, 5 * MINUTE);
    if (drained(w) + w->ended > 1)
        return wrong("%u of 8 busy nodes were told to go", drained(w));
    return NULL;
}

/* 3.  The journal is lost; the demand is a request. */
static const char *journal_lost(void)
{
    struct world *w = calm(EIGHT("", "8"), false, 1);

    world_ask(w, 0, GPUS(8));
    world_run(w, 5 * MINUTE);
    daemon_stop(first(w));
    daemon_reload(
        first(w),
        "cluster: played\nstate: /elsewhere/davit.db\n"
        "limits: {max_nodes: 20, idle_timeout: 5m}\n" ONE_CLOUD T4("a", "8"));
    memset(w->owners, 0, sizeof w->owners); /* nobody was told otherwise */
    if (!daemon_start(first(w)))
        return "it does not start without its journal";
    w->daemons[0].number = 1; /* whose machines they are is to be seen */
    world_run(w, 30 * MINUTE);
    w->daemons[0].number = 0;
    if (w->ended)
        return wrong("%u of 8 machines were ended", w->ended);
    return NULL;
}

/* 4.  A second daemon of the same cluster, with a journal of its own. */
static const char *second_daemon(void)
{
    struct world *w = calm(EIGHT("", "8"), false, 1);

    world_ask(w, 0, GPUS(8));
    world_run(w, 5 * MINUTE);
    daemon_reload(
        &w->daemons[1],
        "cluster: played\nstate: /b/davit.db\n"
        "limits: {max_nodes: 20, idle_timeout: 5m}\n" ONE_CLOUD T4("a", "8"));
    if (!daemon_start(&w->daemons[1]))
        return NULL; /* it says so, and does nothing */
    world_run(w, 30 * MINUTE);
    if (w->ended || alive(w) != 8)
        return wrong("%u machines were ended, %u are there", w->ended,
                     alive(w));
    return NULL;
}

/* 5.  The cloud takes a machine back, with two minutes' notice: the head is told,
 * and another is bought at once. */
static const char *taken_back(void)
{
    struct world *w = calm(max4, true, 1);
    struct cloud_machine *m;
    struct cloud *c;
    struct head_node n;

    world_tasks(w, "GPU", 1, 1, false, 4 * HOUR);
    world_run(w, 5 * MINUTE);
    m = world_machine(w, 0, &c);
    cloud_take_back(c, m, 2 * MINUTE);
    world_run(w, 100 * SECOND);
    if (!head_node_of(w->head, m->id, &n) || !n.agreed_ms)
        return "the head was not told that the node will go";
    if (cloud_launched(c) < 2)
        return "no machine was bought in its place";
    return NULL;
}

/* 5b.  The head is silent while a machine joins and gets work; the cloud takes
 * the machine back meanwhile: it is asked all the same. */
static const char *taken_back_while_silent(void)
{
    struct world *w = calm(max4, true, 1);
    struct cloud_machine *m = NULL;
    struct cloud *c;

    world_tasks(w, "GPU", 1, 1, false, 4 * HOUR);
    for (int i = 0; i < 100 && !(m = world_machine(w, 0, &c)); i++)
        world_run(w, 100);
    if (!m)
        return "no machine was bought";
    head_trouble(w->head, HEAD_DOWN);
    world_run(w, 30 * SECOND);
    cloud_take_back(c, m, 2 * MINUTE);
    world_run(w, 30 * SECOND);
    head_trouble(w->head, HEAD_WELL);
    world_run(w, 5 * MINUTE);
    if (cloud_launched(c) != 2)
        return wrong("%u machines were bought, not 2", cloud_launched(c));
    return NULL; /* the observer sees what is ended */
}

/* ---- money */

static const char max1[] = CLUSTER HEAD
    "limits: {max_nodes: 4, idle_timeout: 1m}\n" ONE_CLOUD T4("a", "1");

/* 6a.  A machine takes ten minutes to end, and new work comes. */
static const char *slow_end(void)
{
    struct world *w = begin(&(struct world_opts){.seed = 1,
                                                 .settings = max1,
                                                 .head = true,
                                                 .waits = true,
                                                 .boot_least_ms = 10 * SECOND,
                                                 .boot_most_ms = 20 * SECOND,
                                                 .end_most_ms = HOUR,
                                                 .clouds = 1});
    for (int i = 0; i < 6 && !w->law; i++) {
        world_tasks(w, "GPU", 1, 1, false, MINUTE);
        world_run(w, 5 * MINUTE);
    }
    return NULL; /* the observer counts */
}

/* 6c.  The reply of a launch is lost, and when a list shows its machine, the
 * cloud takes that back: it is on the bill until it is gone. */
static const char *taken_back_unseen(void)
{
    struct world *w = calm(max1, true, 1);
    struct cloud *c;

    weather(w, 0, (struct cloud_weather){.lost_reply = 1000});
    world_tasks(w, "GPU", 1, 1, false, 4 * HOUR);
    for (int i = 0; i < 100 && !world_machine(w, 0, &c); i++)
        world_run(w, 50);
    if (!world_machine(w, 0, &c))
        return "no machine was bought";
    cloud_take_back(c, world_machine(w, 0, &c), 5 * MINUTE);
    world_run(w, 400);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 4 * MINUTE);
    return NULL; /* the observer counts */
}

static const char max2[] = CLUSTER HEAD
    "limits: {max_nodes: 2, idle_timeout: 1m, max_cost_per_hour: 2}\n" ONE_CLOUD
        T4("a", "2");

/* Demand comes and goes while machines cannot be ended. */
static const char *cycles(struct cloud_weather now)
{
    struct world *w = calm(max2, true, 1);

    weather(w, 0, now);
    for (int i = 0; i < 6 && !w->law; i++) {
        world_tasks(w, "GPU", 1, 2, false, MINUTE);
        world_run(w, 10 * MINUTE);
    }
    return NULL;
}

/* 6b.  Machines are not ended: the daemon has no right to. */
static const char *no_right_to_end(void)
{
    return cycles((struct cloud_weather){.auth_ends = true});
}

/* 17.  Machines are not ended: the group's least size is above ours. */
static const char *below_least_size(void)
{
    return cycles((struct cloud_weather){.invalid_ends = true});
}

/* From half an hour after the beginning to four hours after it. */
static const char block[] = CLUSTER HEAD
    "limits: {max_nodes: 20, idle_timeout: 30m}\n" ONE_CLOUD T4(
        "a",
        "10") "  block: {provider: a, resources: {CPU: 8, GPU: 1}, accelerator_type: T4,"
              " market: reserved, reserved: {count: 2, from: \"2026-09-21T15:00:00Z\","
              " until: \"2026-09-21T18:30:00Z\", drain_before: 1h}}\n";

static uint32_t alive_of(struct world *w, const char *type)
{
    uint32_t n = 0;
    struct cloud_machine *m;
    struct cloud *c;

    for (uint32_t i = 0; (m = world_machine(w, i, &c)); i++)
        n += strcmp(m->type, type) == 0;
    return n;
}

/* 52c.  Reserved machines cost nothing: they are used first, as soon as they are
 * to be had, and left in time, with others in their place. */
static const char *reserved(void)
{
    struct world *w = calm(block, true, 1);

    world_ask(w, 0, GPUS(3));
    world_run(w, 20 * MINUTE);
    if (alive_of(w, "block") != 0 || alive_of(w, "t4") != 3)
        return wrong("%u reserved and %u others before it begins",
                     alive_of(w, "block"), alive_of(w, "t4"));
    world_ask(w, 1, GPUS(5));
    world_run(w, 30 * MINUTE);
    if (alive_of(w, "block") != 2)
        return wrong("%u of 2 reserved machines are used",
                     alive_of(w, "block"));
    world_run(w, 150 * MINUTE); /* 3 h 20: it is to be left at 3 h */
    if (alive_of(w, "block") != 0 || alive_of(w, "t4") < 5)
        return wrong("%u reserved and %u others when it ends",
                     alive_of(w, "block"), alive_of(w, "t4"));
    return NULL;
}

static const char many[] = CLUSTER HEAD
    "limits: {max_nodes: 40, idle_timeout: 10m}\n" ONE_CLOUD T4("a", "40");

/* 52b.  A wave takes twelve of twenty machines at once: the head says so too
 * within its half minute, and others are bought at once.  A list that lacks as
 * many while they work ends nothing and buys nothing. */
static const char *wave(void)
{
    struct world *w = calm(many, true, 1);
    struct cloud_machine *m;
    struct cloud *c;
    uint32_t before;

    world_ask(w, 0, GPUS(20));
    world_run(w, 10 * MINUTE);
    before = w->launched;
    weather(w, 0, (struct cloud_weather){.cut_list = 1000});
    world_run(w, 2 * MINUTE);
    if (w->launched != before || w->ended)
        return wrong("%u were bought and %u ended for a broken list",
                     w->launched - before, w->ended);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 2 * MINUTE);
    head_trouble(w->head, HEAD_DOWN); /* it takes its time to miss them */
    for (int i = 0; i < 12 && (m = world_machine(w, 0, &c)); i++)
        cloud_kill(c, m);
    world_run(w, 50 * SECOND);
    head_trouble(w->head, HEAD_WELL);
    world_run(w, 5 * SECOND);
    if (w->launched < before + 12)
        return wrong("%u of 12 were replaced at the head's word",
                     w->launched - before);
    return NULL;
}

/* 52a.  A zone lacks what a machine is made of: it is not asked for at once again,
 * and again. */
static const char *not_there(void)
{
    struct world *w = calm(max2, true, 1);
    uint32_t asked;

    weather(w, 0, (struct cloud_weather){.lacks = true});
    world_tasks(w, "GPU", 1, 2, false, 2 * HOUR);
    world_run(w, HOUR);
    asked = cloud_changes(w->clouds[0]);
    if (asked < 2 || asked > 12)
        return wrong("it was asked %u times in an hour, not 2 to 12", asked);
    return NULL;
}

static const char rest4[] = CLUSTER
    "limits: {max_nodes: 20, idle_timeout: 5m, start_timeout: 15m}\n" ONE_CLOUD
        T4("a", "4");

/* 7.  Lists lag six seconds behind launches. */
static const char *lists_lag(void)
{
    struct world *w = calm(rest4, false, 1);

    weather(w, 0, (struct cloud_weather){.list_lag_ms = 6 * SECOND});
    world_ask(w, 0, GPUS(3));
    world_run(w, 10 * MINUTE);
    if (w->launched != 3)
        return wrong("%u machines were bought, not 3", w->launched);
    return NULL;
}

/* 8a.  The reply is lost, and then 45 s of outage. */
static const char *lost_reply(void)
{
    struct world *w = calm(rest4, false, 1);

    weather(w, 0, (struct cloud_weather){.lost_reply = 1000});
    world_ask(w, 0, GPUS(4));
    world_run(w, 2 * SECOND);
    weather(w, 0, (struct cloud_weather){.down = true});
    world_run(w, 45 * SECOND);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 10 * MINUTE);
    if (w->launched != 4)
        return wrong("%u machines were bought, not 4", w->launched);
    return NULL;
}

/* 8b.  The same, and the launch hangs for half an hour. */
static const char *launch_hangs(void)
{
    struct world *w = calm(rest4, false, 1);

    weather(w, 0,
            (struct cloud_weather){.hangs = 1000, .hang_ms = 30 * MINUTE});
    world_ask(w, 0, GPUS(4));
    world_run(w, 20 * SECOND);
    weather(w, 0, (struct cloud_weather){.lists_fail = true});
    world_run(w, 10 * MINUTE);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, HOUR);
    if (w->launched != 4)
        return wrong("%u machines were bought, not 4", w->launched);
    return NULL;
}

/* 9a.  Nodes join without their GPU. */
static const char *without_gpu(void)
{
    struct world *w = calm(max2, true, 1);

    weather(w, 0, (struct cloud_weather){.no_gpu = 1000});
    world_tasks(w, "GPU", 1, 2, false, HOUR);
    world_run(w, 6 * HOUR);
    if (w->launched > 24)
        return wrong("%u machines were bought in six hours", w->launched);
    return NULL;
}

/* 9b.  Nodes never join. */
static const char *never_joins(void)
{
    struct world *w = calm(max2, true, 1);

    weather(w, 0, (struct cloud_weather){.never_joins = 1000});
    world_tasks(w, "GPU", 1, 2, false, HOUR);
    world_run(w, 24 * HOUR);
    if (w->launched > 48)
        return wrong("%u machines were bought in a day", w->launched);
    return NULL;
}

/* 10a.  A node type is renamed; its pool is the same. */
static const char *type_renamed(void)
{
    struct world *w = calm(rest4, false, 1);

    world_ask(w, 0, GPUS(4));
    world_run(w, 5 * MINUTE);
    daemon_reload(first(w), CLUSTER
                  "limits: {max_nodes: 20, idle_timeout: 5m}\n" ONE_CLOUD
                  "node_types:\n  t4-new: {provider: a, resources: {CPU: 8, "
                  "GPU: 1}, accelerator_type: T4, price: 1, max: 4}\n");
    world_run(w, 20 * MINUTE);
    if (w->launched > 4 || w->ended)
        return wrong("%u machines were bought in all, %u ended", w->launched,
                     w->ended);
    return NULL;
}

/* 10b.  One machine that never becomes ready keeps its provider busy. */
static const char *lists_without_end(void)
{
    struct world *w = calm(
        CLUSTER HEAD
        "limits: {max_nodes: 4, start_timeout: 24h}\n" ONE_CLOUD T4("a", "2"),
        true, 1);
    uint32_t before;

    weather(w, 0, (struct cloud_weather){.never_joins = 1000});
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    world_run(w, HOUR);
    before = cloud_calls(w->clouds[0]);
    world_run(w, 6 * HOUR);
    before = cloud_calls(w->clouds[0]) - before;
    if (before > 4000)
        return wrong("%u calls in six hours for one machine", before);
    return NULL;
}

/* 11.  What is asked for shrinks from 19 GPUs to 16: the free ones go after
 * their idle timeout. */
static const char *asked_for_less(void)
{
    struct world *w = calm(
        CLUSTER
        "limits: {max_nodes: 20, idle_timeout: 1m}\n" ONE_CLOUD "node_types:\n"
        "  t4: {provider: a, resources: {CPU: 8, GPU: 1}, price: 1, max: 3}\n"
        "  v100: {provider: a, resources: {CPU: 32, GPU: 4}, price: 9, max: 4}"
        "\n",
        false, 1);

    world_ask(w, 0, GPUS(19));
    world_run(w, 5 * MINUTE);
    if (alive(w) != 7)
        return wrong("%u machines for 19 GPUs", alive(w));
    world_ask(w, 0, GPUS(16));
    world_run(w, 4 * MINUTE);
    if (alive(w) > 6)
        return wrong("%u machines for 16 GPUs after four minutes", alive(w));
    return NULL;
}

/* ---- wedged for ever */

/* 12.  A provider is taken out of the file, and its machines end: what was asked
 * for is had again. */
static const char *provider_removed(void)
{
    struct world *w = calm(
        CLUSTER "limits: {max_nodes: 2, idle_timeout: 5m}\n"
                "providers: {a: {plugin: played, cloud: a}}\n" T4("a", "2"),
        false, 2);
    struct cloud_machine *m;
    struct cloud *c;

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    daemon_reload(first(w), CLUSTER
                  "limits: {max_nodes: 2, idle_timeout: 5m}\n"
                  "providers: {b: {plugin: played, cloud: b}}\n" T4("b", "2"));
    world_run(w, 5 * MINUTE);
    while ((m = world_machine(w, 0, &c)) && c == w->clouds[0])
        cloud_kill(c, m);
    world_run(w, 30 * MINUTE);
    if (alive(w) != 2)
        return wrong("%u machines for a request of 2, half an hour later",
                     alive(w));
    return NULL;
}

/* 13.  One launch is answered with AUTH; then all is well. */
static const char *one_auth(void)
{
    struct world *w = calm(rest4, false, 1);

    weather(w, 0, (struct cloud_weather){.auth = true});
    world_ask(w, 0, GPUS(2));
    world_run(w, 3 * MINUTE);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 2 * HOUR);
    if (alive(w) != 2)
        return wrong("%u machines two hours after the token was good again",
                     alive(w));
    return NULL;
}

static bool journal_change(const char *sql)
{
    sqlite3 *db;
    char *text = NULL;
    bool ok = sqlite3_open_v2("/a/davit.db", &db, SQLITE_OPEN_READWRITE,
                              "played") == SQLITE_OK &&
              sqlite3_exec(db, sql, NULL, NULL, &text) == SQLITE_OK;

    if (!ok)
        fprintf(stderr, "%s: %s\n", sql, text ? text : sqlite3_errmsg(db));
    sqlite3_free(text);
    sqlite3_close(db);
    return ok;
}

/* Another version wrote something that this one does not know. */
static const char *starts_with(const char *sql)
{
    struct world *w = calm(rest4, false, 1);

    world_ask(w, 0, GPUS(2));
    world_run(w, 5 * MINUTE);
    daemon_stop(first(w));
    if (!journal_change(sql))
        return "the journal cannot be changed";
    if (!daemon_start(first(w)))
        return wrong("it does not start: %.150s", w->trouble);
    world_run(w, 30 * MINUTE);
    if (alive(w) != 2 || w->ended)
        return wrong("%u machines, %u ended", alive(w), w->ended);
    return NULL;
}

/* 14a. */
static const char *unknown_reason(void)
{
    return starts_with("UPDATE machine SET why = 'a_new_word'");
}

/* 14b. */
static const char *unknown_request(void)
{
    return starts_with("INSERT INTO request VALUES('other', "
                       "'{\"bundles\":[{\"novel\":{\"GPU\":1}}]}', 1, 0)");
}

/* 15a.  An end's call never returns, past a reload. */
static const char *end_hangs(void)
{
    struct world *w = calm(max1, true, 1);

    world_tasks(w, "GPU", 1, 1, false, 2 * MINUTE);
    world_run(w, 2 * MINUTE);
    weather(w, 0,
            (struct cloud_weather){.end_hangs = 1000, .hang_ms = 12 * HOUR});
    world_run(w, 10 * MINUTE);
    weather(w, 0, (struct cloud_weather){0});
    daemon_reload(first(w), max1);
    world_run(w, HOUR);
    return alive(w) ? "the machine is still there an hour later" : NULL;
}

static uint32_t told;
static char told_of[64];

static void hears(void *arg, const struct event *e)
{
    (void)arg;
    told += strcmp(e->subject, told_of) == 0;
}

/* 15b.  A machine accepts its end and does not die: somebody is told. */
static const char *end_without_effect(void)
{
    struct world *w = calm(max1, true, 1);
    struct cloud *c;

    weather(w, 0, (struct cloud_weather){.refuses_end = 1000});
    world_tasks(w, "GPU", 1, 1, false, 2 * MINUTE);
    world_run(w, 10 * MINUTE);
    for (uint32_t i = 0;; i++) { /* what the ledger calls it */
        struct status_page *page = status_get(control_board(first(w)->control));
        bool found = i < page->snapshot->n_nodes &&
                     !page->snapshot->nodes[i].unmanaged;

        if (found)
            snprintf(told_of, sizeof told_of, "%s",
                     page->snapshot->nodes[i].id);
        found = found || i >= page->snapshot->n_nodes;
        status_unref(page);
        if (found)
            break;
    }
    if (!world_machine(w, 0, &c) || !*told_of)
        return "there is no machine";
    w->on_event = hears;
    world_run(w, HOUR);
    return told ? NULL : "no event told of it for an hour";
}

/* 16a.  A provider's settings point to another place. */
static const char *another_place(void)
{
    struct world *w = calm(
        CLUSTER "limits: {max_nodes: 8, idle_timeout: 5m}\n"
                "providers: {x: {plugin: played, cloud: a}}\n" T4("x", "4"),
        false, 2);

    world_ask(w, 0, GPUS(4));
    world_run(w, 5 * MINUTE);
    daemon_reload(first(w), CLUSTER
                  "limits: {max_nodes: 8, idle_timeout: 5m}\n"
                  "providers: {x: {plugin: played, cloud: b}}\n" T4("x", "4"));
    world_run(w, 30 * MINUTE);
    if (w->launched > 4)
        return wrong("%u machines were bought, 4 of them again", w->launched);
    return NULL;
}

/* 16b.  The journal is of another cluster. */
static const char *another_cluster(void)
{
    struct world *w = calm(rest4, false, 1);

    world_ask(w, 0, GPUS(4));
    world_run(w, 5 * MINUTE);
    daemon_stop(first(w));
    daemon_reload(
        first(w),
        "cluster: another\nstate: /a/davit.db\n"
        "limits: {max_nodes: 20, idle_timeout: 5m}\n" ONE_CLOUD T4("a", "4"));
    if (!daemon_start(first(w)))
        return NULL; /* it says why */
    first(w)->number = 1;
    world_run(w, 30 * MINUTE);
    first(w)->number = 0;
    if (w->launched > 4 || w->ended)
        return wrong("%u machines were bought, 4 of them again, %u ended",
                     w->launched, w->ended);
    return NULL;
}

/* 20a.  The journal is damaged in a place that is not needed at once: that is
 * said at the start, not found later. */
static const char *journal_damaged(void)
{
    struct world *w = calm(rest4, false, 1);
    int64_t at = 0;

    world_ask(w, 0, GPUS(4));
    world_run(w, 2 * HOUR);
    daemon_stop(first(w));
    while (disk_damage(w->disk, "/a/davit.db", at)) {
        disk_damage(w->disk, "/a/davit.db", at); /* as it was */
        at += 4096;
    }
    for (int i = 0; i < 8; i++)
        disk_damage(w->disk, "/a/davit.db", at - 4096 + i);
    if (!daemon_start(first(w)))
        return NULL;
    snprintf(told_of, sizeof told_of, "/a/davit.db");
    w->on_event = hears;
    world_run(w, MINUTE);
    return told ? NULL : "it starts on a page of garbage and says nothing";
}

/* 21.  One bad list, from a cache, is seen for half a minute. */
static const char *one_bad_list(void)
{
    struct world *w = calm(EIGHT("", "8"), false, 1);

    world_ask(w, 0, GPUS(8));
    world_run(w, 5 * MINUTE);
    weather(w, 0, (struct cloud_weather){.cut_list = 1000});
    world_run(w, 31 * SECOND);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 20 * MINUTE);
    if (w->launched != 8 || w->ended)
        return wrong("%u machines were bought, not 8, and %u ended",
                     w->launched, w->ended);
    return NULL;
}

/* Does the first daemon keep a machine for that reason? */
static bool keeps_for(struct world *w, enum reason why)
{
    struct status_page *page = status_get(control_board(first(w)->control));
    bool found = false;

    for (uint32_t i = 0; page && page->plan && i < page->now->n_nodes; i++)
        found = found || page->plan->nodes[i].why == why;
    status_unref(page);
    return found;
}

/* 22a.  In a pool that is shared somebody else's machine comes up, which knows
 * nothing of our Ray head. */
static const char *stranger_never_joins(void)
{
    struct world *w = calm(max4, true, 1);
    struct cloud *c;
    struct cloud_machine *one, *stranger;

    world_tasks(w, "GPU", 1, 1, false, 12 * HOUR);
    world_run(w, 5 * MINUTE);
    one = world_machine(w, 0, &c);
    weather(w, 0, (struct cloud_weather){.never_joins = 1000});
    stranger = cloud_add(c, one, NULL);
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 2 * HOUR);
    if (w->ended || stranger->asked_ms)
        return wrong("a machine that is not ours was ended");
    if (!keeps_for(w, REASON_KEEP_UNJOINED))
        return wrong("nothing is told of it");
    world_tasks(w, "GPU", 1, 1, false, 6 * HOUR);
    world_run(w, 10 * MINUTE);
    if (running(w) != 2)
        return wrong("work was planned on it");
    world_person(w, COMMAND_ADOPT);
    world_run(w, 10 * MINUTE);
    if (alive(w) != 2 || running(w) != 2)
        return wrong("adopted, it was not ended: %u machines", alive(w));
    return NULL;
}

/* 22b.  The raylet on our machine calls itself by its pod's name: to the ledger
 * the machine never joins. */
static const char *raylet_of_another_name(void)
{
    struct world *w = calm(max4, true, 1);
    const struct qty has[] = {{"CPU", 80000}, {"GPU", 10000}};
    struct cloud *c;
    struct cloud_machine *m;

    weather(w, 0, (struct cloud_weather){.never_joins = 1000});
    world_tasks(w, "GPU", 1, 1, false, 2 * HOUR);
    world_run(w, MINUTE);
    m = world_machine(w, 0, &c);
    head_machine_up(
        w->head,
        &(struct head_machine){
            .id = "pod-1", .type = "t4", .accel = "T4", .has = {has, 2}});
    world_run(w, HOUR);
    if (running(w) != 1)
        return wrong("the pod has no work: the test tests nothing");
    if (m->asked_ms || w->ended)
        return wrong("the machine was ended with the work on it");
    if (!keeps_for(w, REASON_KEEP_UNMATCHED))
        return wrong("nothing is told of it");
    head_machine_down(w->head, "pod-1");
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, HOUR);
    if (!w->ended)
        return wrong("nobody runs there any more, and it stays");
    return NULL;
}

/* 24.  A spot market takes back machine after machine: on-demand is bought once
 * that is what it comes to, and spot again when an hour has passed. */
static const char *spot_market_dries_up(void)
{
    struct world *w = calm(
        CLUSTER HEAD
        "limits: {idle_timeout: 2m}\n" ONE_CLOUD
        "node_types:\n  t4: {provider: a, resources: {CPU: 8, GPU: 1}, "
        "accelerator_type: T4, price: 3, spot_price: 1, market: [on-demand, "
        "spot], max: 4}\n",
        true, 1);
    struct cloud_machine *m;
    uint32_t taken = 0;
    struct cloud *c;

    for (; taken < 12; taken++) {
        world_tasks(w, "GPU", 1, 1, false, HOUR); /* lost with its node */
        world_run(w, 3 * MINUTE);
        m = world_machine(w, 0, &c);
        if (!m || !m->spot)
            break;
        cloud_take_back(c, m, 10 * SECOND);
        if (taken == 2) {
            daemon_stop(first(w)); /* it is remembered */
            daemon_start(first(w));
        }
    }
    /* 1 $/h counts as 1.5, 2, 2.5, 3, 3.5 */
    if (!m || m->spot || taken < 4 || taken > 5)
        return wrong("%u spot machines were bought and taken back", taken);
    world_run(w, 2 * HOUR);
    if (alive(w))
        return wrong("the work is done, and a machine stays");
    world_tasks(w, "GPU", 1, 1, false, HOUR);
    world_run(w, 3 * MINUTE);
    m = world_machine(w, 0, &c);
    if (!m || !m->spot)
        return wrong("it does not go back to spot");
    return NULL;
}

/* 25.  Work is to move from a dear node to a cheap one, which is bought for it.
 * Its task goes on where it is for an hour, and the cheap node is idle. */
static const char *moved_work_has_a_place(void)
{
    struct world *w = calm(
        CLUSTER HEAD
        "limits: {consolidate: {mode: on, older_than: 1m}, idle_timeout: 2m}\n" ONE_CLOUD
        "node_types:\n"
        "  big: {provider: a, resources: {CPU: 32}, price: 4, max: 2}\n"
        "  small: {provider: a, resources: {CPU: 16}, price: 1, max: 2}\n",
        true, 1);

    world_tasks(w, "CPU", 24, 1, false, 10 * MINUTE);
    world_run(w, 5 * MINUTE);
    world_tasks(w, "CPU", 8, 1, false, 5 * HOUR);
    world_run(w, 30 * MINUTE);
    if (w->launched != 2 || drained(w) != 1)
        return wrong("%u machines, %u drained: the test tests nothing",
                     w->launched, drained(w));
    if (alive(w) != 2)
        return wrong("the node that its work is to move to was ended");
    world_run(w, 36 * MINUTE);
    if (alive(w) != 1)
        return wrong("its time is over, and where it may begin anew was ended");
    world_run(w, HOUR);
    if (alive(w))
        return wrong("nothing came, and %u machines stay", alive(w));
    return NULL;
}

/* 26.  An idle machine is lost to lists that are cut short, and found again when
 * no file has its node type's name any more: the budget still knows its price. */
static const char *found_under_old_name(const char *types, uint32_t want)
{
    static const char start[] = CLUSTER
        "limits: {max_cost_per_hour: 11, idle_timeout: 3h}\n" ONE_CLOUD
        "node_types:\n"
        "  cpu: {provider: a, resources: {CPU: 48}, price: 1, max: 1}\n";
    static const char v100[] =
        "  v100: {provider: a, resources: {CPU: 32, GPU: "
        "4}, price: 5, max: 3}\n";
    static char file[1024], later[1024];
    struct world *w;

    snprintf(file, sizeof file, "%s%s", start, v100);
    w = calm(file, false, 1);
    world_ask(w, 0, "{\"num_cpus\": 48}");
    world_run(w, MINUTE);
    world_ask(w, 1, "{\"bundles\": [{\"GPU\": 4}], \"ttl\": \"3m\"}");
    world_run(w, 5 * MINUTE);
    weather(w, 0, (struct cloud_weather){.cut_list = 1000});
    world_run(w, 5 * MINUTE);
    if (w->launched != 2 || w->ended)
        return wrong("%u machines launched", w->launched);
    snprintf(later, sizeof later, "%s%s", start, types);
    daemon_reload(first(w), later);
    daemon_stop(first(w)); /* it is in the journal */
    daemon_start(first(w));
    weather(w, 0, (struct cloud_weather){0});
    world_run(w, 5 * MINUTE);
    world_ask(w, 1, GPUS(4));
    world_ask(w, 2, GPUS(4));
    world_ask(w, 3, GPUS(4));
    world_run(w, 5 * MINUTE);
    if (alive(w) != want)
        return wrong("%u machines, not %u, for 11 $/h", alive(w), want);
    return NULL;
}

static const char *type_renamed_then_found(void)
{
    return found_under_old_name("  v100-new: {provider: a, resources: {CPU: "
                                "32, GPU: 4}, price: 5, max: 3}\n",
                                3);
}

static const char *type_dropped_then_found(void)
{
    return found_under_old_name("  v101: {provider: a, resources: {CPU: 48, "
                                "GPU: 4}, price: 2, max: 3}\n",
                                4);
}

/* ---- all of them */

/*   number, test */
#define SEQUENCES(X) \
    X(1, lost_reply_then_outage) \
    X(1, provider_renamed) \
    X(2, typo_in_max) \
    X(2, typo_in_max_with_ray) \
    X(3, journal_lost) \
    X(4, second_daemon) \
    X(5, taken_back) \
    X(5, taken_back_while_silent) \
    X(6, slow_end) \
    X(6, no_right_to_end) \
    X(6, taken_back_unseen) \
    X(7, lists_lag) \
    X(8, lost_reply) \
    X(8, launch_hangs) \
    X(9, without_gpu) \
    X(9, never_joins) \
    X(10, type_renamed) \
    X(10, lists_without_end) \
    X(11, asked_for_less) \
    X(12, provider_removed) \
    X(13, one_auth) \
    X(14, unknown_reason) \
    X(14, unknown_request) \
    X(15, end_hangs) \
    X(15, end_without_effect) \
    X(16, another_place) \
    X(16, another_cluster) \
    X(17, below_least_size) \
    X(52, not_there) \
    X(52, wave) \
    X(52, reserved) \
    X(20, journal_damaged) \
    X(21, one_bad_list) \
    X(22, stranger_never_joins) \
    X(22, raylet_of_another_name) \
    X(24, spot_market_dries_up) \
    X(25, moved_work_has_a_place) \
    X(26, type_renamed_then_found) \
    X(26, type_dropped_then_found) \
    EDITED(X) \
    LATE(X) \
    BY_IDS(X) \
    LED(X) \
    TIMED(X) \
    VAIN(X) \
    ASKED(X) \
    IN_CLUSTER(X) \
    KEPT(X)

static const struct sequence {
    int number;
    const char *name;
    const char *(*run)(void);
} sequences[] = {
#define SEQUENCE_(n, f) {n, #f, f},
    SEQUENCES(SEQUENCE_)
#undef SEQUENCE_
};

static const char *const expected[] = {
#define EXPECTED_(n, f) #f,
    EXPECTED_TO_FAIL(EXPECTED_)
#undef EXPECTED_
        NULL};

static bool is_expected(const char *name)
{
    for (int i = 0; expected[i]; i++)
        if (strcmp(expected[i], name) == 0)
            return true;
    return false;
}

/* In a process of its own.  What went wrong goes to the file. */
static int play(const struct sequence *s, FILE *out)
{
    const char *text = s->run();
    struct world *w = &the_world;

    if (w->law)
        fprintf(out, "law %d: %s", w->law, w->violation);
    else if (text)
        fprintf(out, "%s", text);
    fflush(NULL);
    if (w->law || text)
        return 1;
    world_end(w);
    return 0;
}

/* "" : it passed. */
static void run_apart(const struct sequence *s, char *ret, size_t n)
{
    FILE *f = tmpfile();
    int status;
    pid_t child;
    size_t got;

    fflush(NULL); /* what is printed already, is not the child's to print */
    child = fork();
    if (child == 0)
        _exit(play(s, f));
    waitpid(child, &status, 0);
    rewind(f);
    got = fread(ret, 1, n - 1, f);
    ret[got] = '\0';
    fclose(f);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) && !got))
        snprintf(ret, n, "it ended with status %d", status);
}

int main(int argc, char **argv)
{
    uint32_t failed = 0, passed = 0, known = 0;
    char text[600];

    log_setup(LOG_ERROR, false);
    trace = argc > 1;
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        const struct sequence *s = &sequences[i];
        bool bad, wanted = is_expected(s->name);

        if (argc > 1 && strcmp(argv[1], s->name) != 0)
            continue;
        run_apart(s, text, sizeof text);
        bad = *text;
        printf(
            "%s %2d %-24s %s%s\n",
            bad && wanted ? "known "
            : bad         ? "FAILED"
            : wanted      ? "PASSES"
                          : "ok    ",
            s->number, s->name, text,
            wanted && !bad ? "take its row out of tests/storm/expected.h" : "");
        known += bad && wanted;
        failed += bad && !wanted;
        passed += !bad;
    }
    printf("%u sequences are known to fail\n%u passed, %u failed\n", known,
           passed, failed);
    return failed != 0;
}
