/*
 * control.c - the loop.
 *
 * It runs when something happens (an answer, a request, a timer) and is level
 * triggered: every tick looks at all that is known and does what is due, so a
 * lost answer costs one tick and nothing else.  Ending the daemon never
 * touches a machine.
 */
#include "control.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "../plan/planner.h"
#include "kube_events.h"
#include "state.h"

enum { WORKERS = 16, WORKERS_STUCK = 16, LONGEST_REST_MS = 5000,
       STOP_MS = 5000, TRIM_MS = 5000 };

static struct status_page *page_new(void)
{
    struct status_page *page = calloc(1, sizeof *page);

    if (!page)
        abort();
    atomic_init(&page->refs, 1);
    return page;
}

static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* What a standby must know of is promised when a standby would know it. */
static bool command_waits(const struct control *c, const struct command *cmd)
{
    switch (cmd->kind) {
    case COMMAND_REQUEST_PUT:
    case COMMAND_REQUEST_DROP: return act_waits(c, "request", cmd->owner);
    case COMMAND_PROTECT: return act_waits(c, "machine", cmd->machine);
    case COMMAND_RELOAD: break;
    }
    return false;
}

/* Answers the commands of this tick: their effect is on disk and in the plan. */
static void commands_answer(struct control *c)
{
    struct command *cmd = c->waiting, *next, **last = &c->waiting;

    c->waiting = NULL;
    for (; cmd; cmd = next) {
        next = (struct command *)cmd->mail.next;
        if (cmd->status == ST_OK && !c->stopping && command_waits(c, cmd)) {
            cmd->mail.next = NULL;
            *last = cmd;
            last = (struct command **)&cmd->mail.next;
            continue;
        }
        if (cmd->status == ST_OK && !c->journal_ok)
            cmd->status = err_set(&cmd->err, ST_RETRY,
                                  "the journal cannot be written: nothing was "
                                  "promised, try again");
        if (cmd->status == ST_OK && !c->planned)
            cmd->status = err_set(&cmd->err, ST_RETRY,
                                  "kept, but what is known now cannot be "
                                  "planned for; the log says why");
        cmd->seen = cmd->status == ST_OK ? status_get(&c->board) : NULL;
        cmd->done(cmd);
    }
}

static void metrics_count(struct control *c, int64_t plan_us, int64_t tick_us)
{
    struct metrics *m = &c->metrics;

    atomic_fetch_add(&m->ticks, 1);
    atomic_fetch_add(&m->plan_us_sum, (unsigned long long)plan_us);
    atomic_fetch_add(&m->tick_us_sum, (unsigned long long)tick_us);
    if ((unsigned long long)plan_us > atomic_load(&m->plan_us_max))
        atomic_store(&m->plan_us_max, (unsigned long long)plan_us);
}

static void polls(struct control *c)
{
    sites_poll(c);
    config_source_poll(c);
    sources_poll(c);
}

/* What there is to fold; false when it is no news and nothing is due: the last
 * plan stands.  (A wish waits for the next view, whatever that says.) */
static bool look(struct control *c)
{
    uint64_t version = c->fleet.version;

    c->now_ms = clock_steady_ms();
    c->due_ms = clock_mono_ms() + LONGEST_REST_MS;
    reload_if_wanted(c);
    observe_fold(c);                    /* answers become facts; never acts */
    if (!c->changed && c->fleet.version == version && c->n_wishes == 0 &&
        clock_mono_ms() < c->plan_due_ms) {
        control_wake_at(c, c->plan_due_ms);
        polls(c);
        return false;
    }
    c->changed = false;
    return true;
}

/* Lists and plans of a large cluster are megabytes for a moment, in pieces
 * among which something small lives on: the heap would keep the room of all of
 * them for good. */
static void memory_trim(struct control *c)
{
    if (clock_mono_ms() < c->trim_due_ms)
        return;
    malloc_trim(0);
    c->trim_due_ms = clock_mono_ms() + TRIM_MS;
}

static void tick(struct control *c)
{
    struct status_page *page;
    struct problem *now;
    struct snapshot *snapshot;
    struct plan *plan;
    int64_t t0 = cpu_us(), t1;
    struct err err;
    bool waits;

    if (!look(c))
        return;
    c->tick++;
    page = page_new();
    snapshot = snapshot_take(c, &page->arena);
    c->planned = problem_make(snapshot, &page->arena, &now, &err) == ST_OK;
    if (c->planned) {
        plan = ARENA_NEW(&page->arena, struct plan);
        t1 = cpu_us();
        planner_run(now, PLANNER_AT_ONCE, &page->arena, plan);  /* pure */
        page->planned_us = cpu_us() - t1;
        waits = think_waits(c, plan);   /* for a better way to buy it */
        act(c, now, plan, waits);       /* intents into the ledger */
        act_send(c);                    /* journal, then calls */
        requests_fallback(c, now, plan);   /* whose alternatives wait */
        page->snapshot = snapshot;
        page->now = now;
        page->plan = plan;
        publish(c, page);               /* the API reads this, nothing else */
        previous_remember(c, page);        /* the next plan starts from it */
        if (waits)
            think_start(c, page);       /* on a worker */
        if (c->record)
            record_put(c->record, page);
        sources_report(c, page);
        kube_words(c, page);
        unplaced_tell(c, page);
    } else {
        /* Facts come through checked readers: a bug of ours, told loudly;
         * the fleet stays as it is. */
        log_error("no snapshot: %s", err.text);
        act_send(c);
    }
    commands_answer(c);
    c->plan_due_ms = c->due_ms;
    polls(c);
    fleet_sweep(&c->fleet);
    metrics_count(c, page->planned_us, cpu_us() - t0);
    status_unref(page);
    memory_trim(c);
}

void control_wake_at(struct control *c, int64_t mono_ms)
{
    if (mono_ms < c->due_ms)
        c->due_ms = mono_ms;
}

int64_t control_step(struct control *c)
{
    if (c->stopping)
        return INT64_MAX;
    tick(c);
    workers_check(c->workers, clock_mono_ms());
    return c->due_ms;
}

void control_stop(struct control *c)
{
    if (!c->stopping)
        tell(c, "daemon.stopping", c->config->cluster, "",
             "stopping; machines are left as they are");
    c->stopping = true;
    journal_commit(c->journal, NULL);
}

static void machine_written(void *arg, const struct machine *m,
                            enum machine_state from)
{
    struct control *c = arg;

    (void)from;
    journal_put_machine(c->journal, m, NULL);  /* the commit tells */
}

/* Listeners may ask for what happened before this start.  A full disk may have
 * lost some: the ring has no holes, so it begins behind the last of them. */
static void events_load(struct control *c)
{
    int64_t next = journal_next_event(c->journal);
    struct journal_event *v;
    struct arena arena = {0};
    uint32_t n = 0, first;

    if (journal_load_events(c->journal, next - EVENT_RING, EVENT_RING, &arena,
                            &v, &n, NULL) != ST_OK)
        n = 0;
    for (first = n; first > 0 && v[first - 1].id == next - (n - first) - 1;)
        first--;
    event_ring_init(&c->events, next - (n - first));
    for (uint32_t i = first; i < n; i++)
        event_add(&c->events, v[i].at_ms, v[i].kind, v[i].subject, v[i].reason,
                  v[i].text);
    arena_done(&arena);
}

struct workers *control_workers(struct control *c, unsigned n_threads,
                                unsigned max_stuck)
{
    const struct outside *o = &c->opts.outside;

    return o->workers ? o->workers(o->arg, n_threads, max_stuck, &c->inbox)
                      : workers_new(n_threads, max_stuck, &c->inbox);
}

enum status control_new(const struct control_opts *o, struct config *conf,
                        struct control **ret, struct buf *errors)
{
    struct control *c = calloc(1, sizeof *c);
    struct site **sites;
    uint32_t n_sites;
    enum status s;
    struct err err;

    *ret = NULL;
    if (!c)
        abort();
    c->opts = *o;
    c->config = conf;
    c->config_problem = strdup("");
    c->started_ms = c->config_loaded_ms = c->now_ms =
        clock_steady_ms();
    c->journal_ok = c->copy_ok = true;
    c->reload_wanted = o->ha != NULL;  /* a standby may have waited for long */
    mailbox_init(&c->inbox, NULL, NULL);
    fleet_init(&c->fleet);
    status_board_init(&c->board);
    c->backoffs = backoffs_new();
    c->traffic = o->replay_http_dir
                     ? traffic_new(TRAFFIC_REPLAY, o->replay_http_dir)
                     : traffic_new(o->record_http_dir ? TRAFFIC_RECORD
                                                      : TRAFFIC_LIVE,
                                   o->record_http_dir);
    if ((s = journal_open(o->ha ? JOURNAL_IN_MEMORY : conf->state,
                          o->outside.vfs, &c->journal, &err)) != ST_OK ||
        (o->ha && (s = ha_restore(o->ha, c->journal, &c->inbox, &err)) !=
                      ST_OK) ||
        (s = journal_load_fleet(c->journal, &c->fleet, &err)) != ST_OK ||
        (s = requests_load(c, &err)) != ST_OK) {
        buf_printf(errors, "%s: %s\n", conf->state, err.text);
        event_ring_init(&c->events, 1);
        control_free(c);
        return s;
    }
    c->fleet.on_change = machine_written;
    c->fleet.arg = c;
    events_load(c);
    if ((s = sites_open(c, conf, &sites, &n_sites, errors)) != ST_OK) {
        control_free(c);
        return s;
    }
    for (uint32_t i = 0; i < n_sites; i++)
        VEC_PUSH(&c->life, &c->sites, sites[i]);
    free(sites);
    observe_begin(c);
    c->workers = control_workers(c, WORKERS, WORKERS_STUCK);
    if ((s = sources_open(c, &err)) != ST_OK) {
        buf_printf(errors, "head: %s\n", err.text);
        control_free(c);
        return s;
    }
    kube_words_open(c);
    reload_begin(c);
    if (o->record_dir &&
        (s = record_open(o->record_dir, &c->record, &err)) != ST_OK) {
        buf_printf(errors, "--record: %s\n", err.text);
        control_free(c);
        return s;
    }
    tell(c, "daemon.started", conf->cluster, "",
         "davit %s, %u node types, %u machines and %u requests from the journal",
         DAVIT_VERSION, conf->n_types, c->fleet.n, c->n_requests);
    if (o->replay_http_dir)
        tell(c, "http.replayed", conf->cluster, "",
             "no cloud is asked: answers come from %s", o->replay_http_dir);
    *ret = c;
    return ST_OK;
}

void control_free(struct control *c)
{
    if (!c)
        return;
    c->stopping = true;
    calls_cancel_reads(c);
    if (!workers_free(c->workers, STOP_MS) || !sources_stop(c, STOP_MS) ||
        (c->opts.ha && !ha_stop(c->opts.ha, c->journal))) {
        /* A plug-in or the head hangs.  What was promised is on disk, and the
         * next start asks again with the same request ids. */
        log_warn("a call is still under way; leaving without its answer");
        record_close(c->record);
        journal_commit(c->journal, NULL);
        journal_close(c->journal);
        _exit(0);
    }
    observe_fold(c);         /* frees what was still under way */
    commands_answer(c);
    sites_retire(c, c->sites.v, c->sites.n);
    kube_events_free(c->kube_events);
    c->kube_events = NULL;
    sources_close(c);
    requests_done(c);
    if (c->journal) {
        journal_commit(c->journal, NULL);
        journal_close(c->journal);
    }
    fleet_done(&c->fleet);
    backoffs_free(c->backoffs);
    think_done(c);
    status_unref(c->memory);
    traffic_free(c->traffic);
    free(c->told);
    free(c->wishes);
    record_close(c->record);
    status_board_done(&c->board);
    event_ring_done(&c->events);
    mailbox_done(&c->inbox);
    arena_done(&c->life);
    config_free(c->config);
    free(c->config_problem);
    free(c);
}

struct mailbox *control_mailbox(struct control *c)
{
    return &c->inbox;
}

struct status_board *control_board(struct control *c)
{
    return &c->board;
}

struct event_ring *control_events(struct control *c)
{
    return &c->events;
}

struct metrics *control_metrics(struct control *c)
{
    return &c->metrics;
}
