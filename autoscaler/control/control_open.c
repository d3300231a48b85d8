/*
 * control_open.c - the steps of the loop: opened, joined, closed.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/ending.h"
#include "../base/log.h"
#include "control_inside.h"
#include "ours.h"
#include "prices/agreed.h"
#include "type_names.h"

enum {
    WORKERS = 16,
    WORKERS_STUCK = 256, /* all that may hang (providers/calls.c) of eight */
    STOP_MS = 5000,
    GOODBYE_MS = 1000, /* for the last lines of the log */
};

static struct traffic *traffic_open(const struct control_opts *o)
{
    if (o->replay_http_dir)
        return traffic_new(TRAFFIC_REPLAY, o->replay_http_dir);
    return traffic_new(o->record_http_dir ? TRAFFIC_RECORD : TRAFFIC_LIVE,
                       o->record_http_dir);
}

static void event_emitted(void *arg, const struct event *e)
{
    kube_texts_event(arg, e);
}

/* Gives each step its pointers; its header says what it reads and changes. */
static void join(struct control *c)
{
    struct env *env = &c->env;
    struct ledger *l = &c->ledger;
    struct configuration *conf = &c->configuration;

    c->commands = (struct commands){env,          l,           conf,
                                    &c->requests, &c->board,   &c->providers,
                                    &c->ends,     &c->sources, NULL};
    c->reloading = (struct reloading){conf, &c->providers, &c->sources,
                                      &c->ends, &c->known};
    c->observe = (struct observe){env, l, conf, &c->providers, &c->sources, 0};
    c->improvement = (struct improvement){.env = env, .conf = conf};
    c->known = (struct known){env,          l,
                              conf,         &c->providers,
                              &c->sources,  &c->requests,
                              &c->previous, &c->improvement};
    c->ends = (struct ends){env, l, conf, &c->sources, .held = 0};
    c->displacing = (struct displacing){.env = env};
    c->certificate = (struct certificate){.env = env};
    c->act = (struct act){env,         l,        conf,           &c->providers,
                          &c->sources, &c->ends, &c->displacing, &c->decisions};
    c->send = (struct send){env,           l,          conf, &c->requests,
                            &c->providers, &c->sources};
    c->unplaced.env = env;
    c->kube_texts = (struct kube_texts){.env = env,
                                        .ledger = l,
                                        .providers = &c->providers,
                                        .sources = &c->sources,
                                        .conf = conf};
}

static enum status stored_open(struct control *c, struct buf *errors)
{
    const char *path = JOURNAL_IN_MEMORY;
    struct err err;
    enum status s = ST_OK;

    c->journal_elsewhere = "";
    if (!c->opts.outside.in_memory)
        s = config_journal_path(c->configuration.now, &c->opened, &path,
                                &c->journal_elsewhere, &err);

    if (s != ST_OK) {
        buf_printf(errors, "%s: %s\n", c->configuration.path, err.text);
        return s;
    }
    s = ledger_open(&c->ledger, &c->env, c->opts.ha, path, &err);
    if (s == ST_OK)
        s = requests_open(&c->requests, &c->env, &c->ledger, &c->configuration,
                          &err);
    if (s == ST_OK)
        s = ours_cluster(&c->ledger, c->configuration.now->cluster,
                         c->ledger.fleet.n || c->requests.all.n, &err);
    if (s == ST_OK) {
        env_load_events(&c->env);
        history_load(&c->history);
        ends_open(&c->ends);
        spending_open(&c->spending, &c->env);
        if (c->env.shadow)
            shadow_restore(c->env.shadow, &c->ledger.fleet, c->env.journal);
    } else {
        buf_printf(errors, "%s: %s\n", path, err.text);
    }
    return s;
}

/* The providers and sources of the configuration. */
static enum status outside_open(struct control *c, struct buf *errors)
{
    struct provider_set set;
    struct err err;
    enum status s;

    s = providers_open(&c->providers, c->configuration.now, &set, errors);
    if (s != ST_OK)
        return s;
    providers_replace(&c->providers, &set, FORGETS_ALL);
    c->env.workers = env_workers(&c->env, WORKERS, WORKERS_STUCK);
    c->writes = !c->opts.ha && !c->opts.outside.in_memory;
    if (c->writes)
        c->ledger.writer = env_workers(&c->env, 1, 0);
    s = sources_open(&c->sources, &c->env, &c->ledger, &c->configuration, &err);
    if (s != ST_OK)
        buf_printf(errors, "head: %s\n", err.text);
    c->providers.join_elsewhere = c->sources.n > 0;
    providers_check_places(&c->providers, false);
    type_names_settle(&c->ledger, c->configuration.now);
    agreed_file(&c->ledger, c->configuration.now);
    return s;
}

static enum status all_open(struct control *c, struct buf *errors)
{
    struct err err;
    enum status s = stored_open(c, errors);

    if (s == ST_OK)
        s = outside_open(c, errors);
    if (s != ST_OK)
        return s;
    kube_texts_open(&c->kube_texts);
    if (c->opts.record_dir &&
        (s = record_open(c->opts.record_dir, &c->record, &err)) != ST_OK)
        buf_printf(errors, "--record: %s\n", err.text);
    return s;
}

static void started_emit(struct control *c)
{
    const struct config *conf = c->configuration.now;

    if (*c->journal_elsewhere)
        emit(&c->env, "journal.elsewhere", c->ledger.path, "",
             "the journal is where davit was started, as in earlier versions, "
             "since %s: write its whole path under state:",
             c->journal_elsewhere);
    emit(
        &c->env, "daemon.started", conf->cluster, "",
        "davit %s, %u node type%s, %u machine%s and %u request%s from the journal",
        DAVIT_VERSION, conf->n_types, conf->n_types == 1 ? "" : "s",
        c->ledger.fleet.n, c->ledger.fleet.n == 1 ? "" : "s", c->requests.all.n,
        c->requests.all.n == 1 ? "" : "s");
    if (c->env.shadow)
        emit(&c->env, "shadow.started", conf->cluster, "",
             "this is a shadow: no machine is launched or ended, nothing is "
             "drained, nothing is written anywhere but to %s",
             c->ledger.path);
    if (c->opts.replay_http_dir)
        emit(&c->env, "http.replayed", conf->cluster, "",
             "no cloud is asked: answers come from %s",
             c->opts.replay_http_dir);
}

/* Rows of the journal that are kept, and not or not wholly understood. */
static void unread_tell(struct control *c)
{
    const struct journal_odd *v;
    uint32_t n, all = journal_odds(c->env.journal, &v, &n);

    for (uint32_t i = 0; i < n; i++)
        emit(&c->env, "journal.unread", v[i].id, "", "%s: %s", v[i].kind,
             v[i].text);
    if (all > n)
        emit(&c->env, "journal.unread", c->configuration.now->cluster, "",
             "and %u rows more", all - n);
    requests_tell(&c->requests);
}

enum status control_new(const struct control_opts *o, struct config *conf,
                        struct control **ret, struct buf *errors)
{
    struct control *c = MEM_NEW(struct control);
    enum status s;

    *ret = NULL;
    c->opts = *o;
    c->env.outside = &c->opts.outside;
    c->env.shadow = o->shadow;
    env_begin(&c->env);
    c->env.started_ms = c->env.now_ms;
    mailbox_init(&c->env.inbox, NULL, NULL);
    event_ring_init(&c->env.events, 1);
    history_init(&c->history, &c->env);
    decisions_init(&c->decisions);
    status_board_init(&c->board);
    configuration_open(&c->configuration, &c->env, o->config_path, o->source,
                       conf);
    c->configuration.wanted = o->ha; /* a standby may have waited long */
    providers_init(&c->providers, &c->env, &c->ledger, &c->configuration,
                   traffic_open(o));
    join(c);
    s = all_open(c, errors);
    if (s != ST_OK) {
        control_free(c);
        return s;
    }
    c->env.on_event = event_emitted;
    c->env.arg = &c->kube_texts;
    started_emit(c);
    unread_tell(c);
    *ret = c;
    return ST_OK;
}

void control_stop(struct control *c)
{
    c->told_to_stop = c->env.stopping = true;
}

void control_reload(struct control *c, int64_t settle_ms)
{
    configuration_reload(&c->configuration, settle_ms);
}

void control_unwatched(struct control *c)
{
    emit(&c->env, "config.unwatched", c->opts.config_path, "",
         "changes are seen on SIGHUP only");
}

/* What was promised is on disk, and the next start asks again with the same request
 * ids. */
static void leave(void)
{
    char what[256];
    int64_t ms;

    ending_waited(what, sizeof what, &ms);
    log_warn("still under way: %s; leaving without its answer", what);
    log_stop(GOODBYE_MS);
    _exit(0);
}

/* The writer has nothing more to do, or its disk takes too long for it. */
static void commit_end(struct control *c)
{
    ending_waits("the commit of the journal %s", c->ledger.path);
    if (c->ledger.writer && !ledger_writer_stop(&c->ledger, STOP_MS))
        leave();
    control_commit_fold(c);
}

/* The last batch.  False: it is not on disk. */
static bool commit_last(struct control *c)
{
    if (!c->writes)
        return send_commit(&c->send);
    if (!c->ledger.writer)
        c->ledger.writer = env_workers(&c->env, 1, 0);
    send_commit_begin(&c->send);
    commit_end(c);
    return c->ledger.journal_ok;
}

/* A plug-in or a source hangs. */
static void leave_calls(struct control *c)
{
    char what[256];
    int64_t ms;

    ending_waited(what, sizeof what, &ms);
    record_close(c->record);
    commit_last(c);
    ending_waits("%s", what);
    leave();
}

/* What others were asked has its time to be answered. */
static bool asked_stop(struct control *c)
{
    calls_ending_tell(&c->providers);
    return workers_free(c->env.workers, STOP_MS) &&
           sources_stop(&c->sources, STOP_MS) &&
           (!c->opts.ha || ha_stop(c->opts.ha));
}

/* Of a longer look that is under way when the process ends: its page stays, and the
 * inbox for its answer. */
void control_free(struct control *c)
{
    bool quiet;

    if (!c)
        return;
    c->env.stopping = true;
    calls_cancel_reads(&c->providers);
    commit_end(c);
    if (c->told_to_stop)
        emit(&c->env, "daemon.stopping", c->configuration.now->cluster, "",
             "stopping; machines are left as they are");
    if (!asked_stop(c))
        leave_calls(c);
    ending_waits("a longer look at what the fleet must cost");
    quiet = certificate_stop(&c->certificate);
    control_fold(c); /* frees what was still under way */
    if (c->env.journal)
        history_end(&c->history);
    spending_close(&c->spending);
    if (c->env.shadow && c->env.journal)
        shadow_save(c->env.shadow, c->env.journal, c->env.mono_ms);
    /* What came last is promised only when it is on disk. */
    if (c->env.journal && commit_last(c) && c->opts.ha)
        ha_copy_rest(c->opts.ha, c->env.journal);
    commands_answer(&c->commands, c->planned);
    c->env.on_event = NULL;
    kube_texts_close(&c->kube_texts);
    improvement_close(&c->improvement);
    certificate_close(&c->certificate);
    previous_close(&c->previous);
    requests_close(&c->requests);
    sources_close(&c->sources);
    ends_close(&c->ends);
    providers_close(&c->providers);
    ending_waits("the journal %s, to be closed", c->ledger.path);
    ledger_close(&c->ledger);
    record_close(c->record);
    status_board_done(&c->board);
    event_ring_done(&c->env.events);
    history_done(&c->history);
    decisions_done(&c->decisions);
    figures_done(&c->env.metrics.figures);
    configuration_close(&c->configuration);
    memory_done(&c->memory);
    arena_done(&c->opened);
    if (!quiet)
        return;
    mailbox_done(&c->env.inbox);
    free(c);
}

struct mailbox *control_mailbox(struct control *c)
{
    return &c->env.inbox;
}

struct status_board *control_board(struct control *c)
{
    return &c->board;
}

struct event_ring *control_events(struct control *c)
{
    return &c->env.events;
}

struct history *control_history(struct control *c)
{
    return &c->history;
}

struct decisions *control_decisions(struct control *c)
{
    return &c->decisions;
}

struct shadow *control_shadow(struct control *c)
{
    return c->env.shadow;
}

struct metrics *control_metrics(struct control *c)
{
    return &c->env.metrics;
}
