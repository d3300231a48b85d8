/*
 * world.c - see world.h.
 */
#include "world.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/request.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "codec/codec.h"
#include "history.h"
#include "model/amount.h"
#include "observer.h"

/* ---- what takes its time */

enum { SLOW_MOST_MS = 60 * SECOND };

static int64_t time_draw(struct world *w, uint32_t of_1000)
{
    if (!of_1000 || w->crashing || player_chance(w->player, 1000) >= of_1000)
        return 0;
    w->faults++;
    return 1 + player_chance(w->player, SLOW_MOST_MS);
}

/* What a sequence has asked for, of the n-th from now; else by chance. */
static int64_t time_of(struct world *w, uint32_t *nth, uint32_t of_1000)
{
    if (*nth && --*nth == 0)
        return w->stall_ms;
    return time_draw(w, of_1000);
}

static void pass(struct world *w, int64_t ms)
{
    if (ms)
        player_pass(w->player, ms);
}

static void sync_takes(void *arg)
{
    struct world *w = arg;

    pass(w, time_of(w, &w->stall_sync, w->slow_syncs));
}

/* Nobody reads them, and who would may take his time. */
static void line_takes(void *arg, const char *line, size_t n)
{
    struct world *w = arg;

    (void)line;
    (void)n;
    w->line_ms = time_of(w, &w->stall_line, w->slow_lines);
    if (!w->in_writer) /* who has a line to say writes it himself */
        pass(w, w->line_ms);
}

static void lines_leave(void *arg)
{
    struct world *w = arg;

    w->line_ms = 0;
    w->in_writer = true;
    w->writing = log_turn() || w->line_ms;
    w->in_writer = false;
    if (w->writing)
        player_after(w->player, 1 + w->line_ms, lines_leave, w);
}

/* The log's thread. */
static void line_waits(void *arg)
{
    struct world *w = arg;

    if (w->writing)
        return;
    w->writing = true;
    player_after(w->player, 1, lines_leave, w);
}

static void closing_takes(void *arg)
{
    struct world *w = arg;

    pass(w, time_of(w, &w->stall_closing, w->slow_closings));
}

/* ---- processes */

static enum status settings_read(void *arg, const char *path,
                                 struct config **ret, struct buf *errors)
{
    const struct daemon *d = arg;

    return config_parse(path, d->settings, strlen(d->settings), ret, errors);
}

static struct workers *workers(void *arg, unsigned n, unsigned stuck,
                               struct mailbox *answers)
{
    return player_workers(((struct daemon *)arg)->world->player, n, stuck,
                          answers);
}

static enum status sources(void *arg, const struct config *c,
                           struct source_opened *ret, uint32_t *ret_n,
                           struct err *err)
{
    const struct daemon *d = arg;

    (void)c;
    (void)err;
    *ret_n = d->world->head ? 1 : 0;
    if (d->world->head)
        ret[0] = head_open(d->world->head);
    return ST_OK;
}

/* What the file says, for the observer; a mistake says nothing. */
static void settings_note(struct world *w, const char *text)
{
    struct config *conf;
    struct buf errors;

    buf_init(&errors, 4096);
    if (config_parse("played.yaml", text, strlen(text), &conf, &errors) ==
        ST_OK)
        history_saved(w, conf);
    buf_done(&errors);
}

/* The oldest makes room: there are never so many at once. */
static void unsure_add(struct owner *o)
{
    if (o->n_unsure == UNSURE)
        memmove(o->unsure, o->unsure + 1, --o->n_unsure * sizeof o->unsure[0]);
    o->unsure[o->n_unsure++] = o->asked;
}

/* Nobody knows what came of what is being asked. */
static void asks_unsure(struct world *w)
{
    for (int i = 0; i < OWNERS; i++) {
        struct owner *o = &w->owners[i];

        if (o->asking)
            unsure_add(o);
        o->asking = false;
    }
}

static void lease_over(struct daemon *d, bool released)
{
    if (d->ha)
        lease_leave(d->ha, released);
    d->ha = NULL;
}

/* A clock that was set back: it lives from the next start for as long as it was
 * asked for. */
static void ttl_anew(struct promise *p, int64_t now)
{
    int64_t ahead = p->made_ms - now;

    if (!p->expires_ms || ahead <= 0)
        return;
    p->made_ms -= ahead;
    p->expires_ms -= ahead;
}

static void ttls_anew(struct world *w)
{
    int64_t now = clock_steady_ms();

    for (int i = 0; i < OWNERS; i++) {
        struct owner *o = &w->owners[i];

        ttl_anew(&o->kept, now);
        ttl_anew(&o->asked, now);
        for (uint32_t k = 0; k < UNSURE; k++) {
            ttl_anew(&o->refused[k], now);
            ttl_anew(&o->unsure[k], now);
        }
    }
}

bool daemon_start(struct daemon *d)
{
    struct control_opts o = {.config_path = "played.yaml",
                             .outside = {.arg = d,
                                         .workers = workers,
                                         .vfs = "played",
                                         .pause_ms = d->world->pause_ms,
                                         .config = settings_read,
                                         .sources = sources}};
    struct config *conf;
    struct buf errors;
    enum status s;

    d->world->trouble[0] = '\0';
    if (d->number == 0 && d->world->lease) {
        d->ha = lease_take(d->world->lease);
        if (!d->ha)
            return false;
        o.ha = d->ha;
        d->world->leaders++;
        asks_unsure(d->world); /* what the one before was asked */
    }
    if (!d->world->daemons[1 - d->number].control && !d->world->frozen.control)
        player_process_new(d->world->player);
    player_as(d->world->player, d->number);
    buf_init(&errors, 65536);
    s = settings_read(d, "played.yaml", &conf, &errors);
    if (s == ST_OK)
        s = control_new(&o, conf, &d->control, &errors);
    if (s != ST_OK) {
        snprintf(d->world->trouble, sizeof d->world->trouble, "%.500s",
                 errors.s);
        d->control = NULL;
        lease_over(d, true);
    }
    buf_done(&errors);
    if (d->number == 0)
        ttls_anew(d->world);
    if (d->number == 0 && s == ST_OK)
        store_starts(d->world);
    d->started_ms = world_now(d->world);
    d->event = 0;
    d->tick = 0;
    d->loaded_ms = 0;
    d->starts++;
    return s == ST_OK;
}

void daemon_stop(struct daemon *d)
{
    if (!d->control)
        return;
    control_stop(d->control);
    control_free(d->control);
    d->control = NULL;
    lease_over(d, true);
}

/* Its memory is given back; what it still does reaches nobody. */
static void daemon_killed(struct daemon *d)
{
    bool crashing = d->world->crashing;

    if (!d->control)
        return;
    d->world->crashing = true;
    if (d->ha)
        lease_killed(d->ha);
    control_free(d->control);
    d->control = NULL;
    lease_over(d, false);
    d->world->crashing = crashing;
}

/* What the processes still do while their memory is given back reaches nobody:
 * their disk is dead, and answers come to no one. */
void world_crash(struct world *w, bool power, uint64_t survives)
{
    w->crashing = true;
    if (power)
        disk_power_loss(w->disk, survives);
    else
        disk_process_gone(w->disk);
    for (int i = 0; i < DAEMONS; i++)
        daemon_killed(&w->daemons[i]);
    daemon_killed(&w->frozen);
    disk_power_on(w->disk);
    w->crashing = false;
    asks_unsure(w);
}

void world_freeze(struct world *w, int64_t ms)
{
    struct daemon *d = &w->daemons[0];

    if (!d->ha || w->frozen.control)
        return;
    w->frozen = *d;
    d->control = NULL;
    d->ha = NULL;
    lease_freeze(w->frozen.ha);
    w->thaws_ms = world_now(w) + ms;
}

/* It goes on where it stood; when nobody else led meanwhile it still does. */
static void thaw(struct world *w)
{
    lease_thaw(w->frozen.ha);
    w->thaws_ms = INT64_MAX;
    if (w->daemons[0].control || !lease_was_last(w->frozen.ha))
        return;
    w->frozen.settings = w->daemons[0].settings;
    w->daemons[0] = w->frozen;
    w->frozen = (struct daemon){.world = w};
    w->slept_ms = w->asleep_ms = world_now(
        w);                                   /* to it, that is what happened */
    control_reload(w->daemons[0].control, 0); /* it may be another file */
}

int64_t world_leads(struct world *w, int64_t ms)
{
    int64_t least = ms;

    if (!w->lease)
        return ms;
    if (w->frozen.control && w->thaws_ms <= world_now(w))
        thaw(w);
    if (w->frozen.control && w->thaws_ms == INT64_MAX &&
        lease_lost(w->frozen.ha)) {
        daemon_killed(&w->frozen);
        if (!w->daemons[0].control)
            asks_unsure(w);
    }
    if (w->daemons[0].control && lease_lost(w->daemons[0].ha)) {
        daemon_killed(&w->daemons[0]);
        asks_unsure(w);
    }
    if (w->frozen.control && w->thaws_ms != INT64_MAX)
        least = w->thaws_ms - world_now(w);
    else if (w->frozen.control || !w->daemons[0].control)
        least = SECOND;
    else if (lease_is_silent(w->lease))
        least = LEASE_MS / 5;
    return least < ms ? least : ms;
}

void daemon_reload(struct daemon *d, const char *settings)
{
    free(d->settings);
    d->settings = mem_strdup(settings);
    if (d->number == 0)
        settings_note(d->world, settings);
    if (d->control)
        control_reload(d->control, 0);
}

void daemon_touch(struct daemon *d)
{
    if (d->control)
        control_reload(d->control, 0);
}

void world_other_version(struct world *w, bool older)
{
    /* 0.1 writes the reasons that it knows; what is later has more. */
    const char *sql =
        older ? "UPDATE machine SET why = 'none' WHERE seq % 2"
              : "ALTER TABLE machine ADD later TEXT NOT NULL DEFAULT '';"
                "CREATE TABLE later(x);"
                "UPDATE machine SET why = 'later_reason' WHERE seq % 2";
    sqlite3 *db;

    (void)w;
    if (sqlite3_open_v2("/a/davit.db", &db, SQLITE_OPEN_READWRITE, "played") ==
        SQLITE_OK)
        sqlite3_exec(db, sql, NULL, NULL, NULL); /* the disk may be full */
    sqlite3_close(db);
}

static bool stepped(void *arg)
{
    struct world *w = arg;

    for (int i = 0; i < DAEMONS; i++)
        if (w->daemons[i].control)
            observer_step(&w->daemons[i]);
    return w->law || disk_is_dead(w->disk) ||
           (w->daemons[0].ha && lease_lost(w->daemons[0].ha));
}

void world_run(struct world *w, int64_t ms)
{
    int64_t until = world_now(w) + ms;
    struct control *v[DAEMONS + 1];
    uint32_t n = 0;

    for (int i = 0; i < DAEMONS; i++)
        if (w->daemons[i].control)
            v[n++] = w->daemons[i].control;
    if (w->frozen.control && w->thaws_ms == INT64_MAX)
        v[n++] = w->frozen.control;
    if (w->law)
        return;
    w->steps += player_run_all(w->player, v, n, ms, stepped, w);
    if (!w->law && !disk_is_dead(w->disk) && world_now(w) < until && n == 0)
        clock_sleep_ms(until - world_now(w));
}

int64_t world_now(const struct world *w)
{
    return player_now_ms(w->player);
}

/* ---- users */

struct ask {
    struct command cmd; /* first */
    struct world *world;
    struct owner *owner;
    uint32_t leader, number; /* of whom it was asked; of its owner's asks */
    struct promise promise;
};

/* By a leader that stood still meanwhile: what it promises stands, unless its
 * owner has asked for something else since. */
static void answered_late(const struct ask *a)
{
    struct owner *o = a->owner;

    if (a->cmd.status != ST_OK || o->asks != a->number)
        return;
    o->kept = a->promise;
    o->n_unsure = 0;
    a->world->acknowledged++;
}

static void ask_refused(struct owner *o)
{
    if (o->n_refused < UNSURE)
        o->refused[o->n_refused++] = o->asked;
    else
        o->refused_more = true;
    if (promise_count(&o->asked) > o->refused_most)
        o->refused_most = promise_count(&o->asked);
}

static void ask_done(struct command *cmd)
{
    struct ask *a = (struct ask *)cmd;
    struct world *w = a->world;

    struct owner *o = a->owner;

    if (!w->crashing && a->leader != w->leaders) {
        answered_late(a);
    } else if (!w->crashing) {
        o->asking = false;
        if (cmd->status == ST_OK || cmd->status == ST_NOT_FOUND) {
            o->kept = o->asked;
            o->n_unsure = 0;
            o->n_refused = 0;
            o->refused_more = false;
            o->refused_most = 0;
            w->acknowledged++;
            w->told += cmd->seen ? cmd->seen->plan->n_launches : 0;
        } else {
            ask_refused(o);
        }
    }
    status_unref(cmd->seen);
    arena_done(&cmd->arena);
    free(a);
}

void world_ask(struct world *w, uint32_t owner, const char *text)
{
    struct owner *o = &w->owners[owner];
    int64_t now = clock_steady_ms();
    struct request_in r;
    struct ask *a;
    json_t *body;
    char name[16];

    if (!w->daemons[0].control || o->asking)
        return;
    a = MEM_NEW(struct ask);
    snprintf(name, sizeof name, "owner-%02u", owner);
    if (codec_parse(text, strlen(text), &body, NULL) != ST_OK ||
        request_read(body, name, now, &a->cmd.arena, &r, NULL) != ST_OK)
        abort(); /* ours are right */
    json_decref(body);
    a->cmd.mail.kind = COMMAND_MAIL;
    a->cmd.kind = r.clear ? COMMAND_REQUEST_DROP : COMMAND_REQUEST_PUT;
    a->cmd.owner = r.owner;
    a->cmd.body = r.body;
    a->cmd.demand = r.demand;
    a->cmd.asked_ms = now;
    a->cmd.expires_ms = r.ttl_ms ? now + r.ttl_ms : 0;
    a->cmd.done = ask_done;
    a->world = w;
    a->owner = o;
    o->asking = true;
    o->asked = (struct promise){.made_ms = now,
                                .expires_ms = a->cmd.expires_ms};
    if (!r.clear)
        snprintf(o->asked.body, sizeof o->asked.body, "%s", r.body);
    a->leader = w->leaders;
    a->number = ++o->asks;
    a->promise = o->asked;
    mailbox_post(control_mailbox(w->daemons[0].control), &a->cmd.mail);
}

void world_tasks(struct world *w, const char *resource, int64_t amount,
                 uint32_t tasks, bool together, int64_t runs_ms)
{
    struct qty need[1] = {{resource, amount * AMOUNT_ONE}};

    head_submit(w->head, &(struct head_work){.need = {need, 1},
                                             .tasks = tasks,
                                             .together = together,
                                             .once = true,
                                             .runs_ms = runs_ms});
}

/* ---- the person who looks after it */

static void person_done(struct command *cmd)
{
    struct world *w = cmd->arg;

    w->said = cmd->status;
    if (cmd->kind == COMMAND_RELEASE && cmd->status == ST_NOT_FOUND)
        w->released = cmd->on; /* nothing was held */
    status_unref(cmd->seen);
    arena_done(&cmd->arena);
    free(cmd);
}

static struct command *command_new(struct world *w, enum command_kind kind)
{
    struct command *cmd = MEM_NEW(struct command);

    cmd->mail.kind = COMMAND_MAIL;
    cmd->kind = kind;
    cmd->machine = "";
    cmd->done = person_done;
    cmd->arg = w;
    return cmd;
}

void world_person(struct world *w, enum command_kind kind)
{
    struct command *cmd;

    if (!w->daemons[0].control)
        return;
    cmd = command_new(w, kind);
    if (kind == COMMAND_RELEASE) { /* the ends come before its answer */
        cmd->on = w->released;
        w->released = true;
    }
    if (kind == COMMAND_ADOPT)
        w->adopters |= UINT32_C(1) << w->daemons[0].number;
    mailbox_post(control_mailbox(w->daemons[0].control), &cmd->mail);
}

static bool is_lost(const struct snap_node *n)
{
    return n->hold == REASON_KEEP_MISSING && n->state == STATE_STOPPING;
}

/* NULL: of all that have been missing for long. */
static void drain(struct world *w, const char *cloud_id)
{
    struct control *c = w->daemons[0].control;
    struct status_page *page = c ? status_get(control_board(c)) : NULL;

    for (uint32_t i = 0; page && i < page->snapshot->n_nodes; i++) {
        const struct snap_node *n = &page->snapshot->nodes[i];
        struct command *cmd;

        if (n->unmanaged ||
            !(cloud_id ? strcmp(n->cloud_id, cloud_id) == 0 : is_lost(n)))
            continue;
        cmd = command_new(w, COMMAND_DRAIN);
        cmd->machine = arena_strdup(&cmd->arena, n->id);
        cmd->on = true;
        mailbox_post(control_mailbox(c), &cmd->mail);
    }
    status_unref(page);
}

void world_drain(struct world *w, const char *cloud_id)
{
    drain(w, cloud_id);
}

void world_drain_missing(struct world *w)
{
    drain(w, NULL);
}

/* ---- what is true */

static uint32_t machines_of(const struct world *w, bool gone_too)
{
    uint32_t n, all = 0;

    for (uint32_t i = 0; i < w->n_clouds; i++) {
        if (i + 1 == w->gone && !gone_too)
            continue;
        cloud_machines(w->clouds[i], &n);
        all += n;
    }
    return all;
}

uint32_t world_alive(const struct world *w)
{
    return machines_of(w, true);
}

uint32_t world_reached(const struct world *w)
{
    return machines_of(w, false);
}

void world_cloud_gone(struct world *w, uint32_t cloud)
{
    w->gone = cloud;
    cloud_weather(w->clouds[cloud - 1], &(struct cloud_weather){.down = true});
}

struct cloud_machine *world_machine(const struct world *w, uint32_t at,
                                    struct cloud **ret)
{
    for (uint32_t i = 0; i < w->n_clouds; i++) {
        uint32_t n;
        struct cloud_machine *const *v = cloud_machines(w->clouds[i], &n);

        *ret = w->clouds[i];
        if (at < n)
            return v[at];
        at -= n;
    }
    return NULL;
}

bool world_expects(struct world *w)
{
    struct control *c = w->daemons[0].control;
    struct status_page *page = c ? status_get(control_board(c)) : NULL;
    bool any = false;

    for (uint32_t i = 0; page && i < page->n_requests; i++)
        any = any || page->requests[i].expires_ms;
    status_unref(page);
    return any;
}

bool world_asks(struct world *w)
{
    struct status_page *page = status_get(control_board(w->daemons[0].control));
    bool any = !page || page->n_requests ||
               (w->head && (head_running(w->head) || head_waiting(w->head)));

    status_unref(page);
    return any;
}

uint32_t world_changes(const struct world *w)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->n_clouds; i++)
        n += i + 1 == w->gone ? 0 : cloud_changes(w->clouds[i]);
    return n;
}

uint64_t world_faults(const struct world *w)
{
    uint64_t n = w->head ? head_faults(w->head) : 0;

    n += w->lease ? lease_faults(w->lease) : 0;

    for (uint32_t i = 0; i < w->n_clouds; i++)
        n += cloud_faults(w->clouds[i]);
    return n;
}

double world_bill(const struct world *w)
{
    double sum = 0;

    for (uint32_t i = 0; i < w->n_clouds; i++)
        sum += cloud_bill(w->clouds[i]);
    return sum;
}

/* ---- begin, end */

void world_begin(struct world *w, const struct world_opts *o)
{
    static const char *const names[] = {"a", "b", "c"};

    memset(w, 0, sizeof *w);
    w->digest = HASH_SEED;
    w->pause_ms = o->pause_ms;
    w->player = player_new(o->seed, BEGIN_MS);
    rare_begin(&o->rare, o->seed);
    player_busy(w->player, o->busy);
    w->disk = disk_new("played");
    w->slow_syncs = o->slow_syncs;
    w->slow_lines = o->slow_lines;
    w->slow_closings = o->slow_closings;
    disk_waits(w->disk, sync_takes, w);
    if (w->slow_lines) {
        log_setup(LOG_INFO, false);
        log_start(&(struct outbox_ops){line_takes, line_waits, w});
    }
    if (o->head)
        w->head = head_new(w->player,
                           &(struct head_opts){.waits = o->waits,
                                               .addressed = o->addressed,
                                               .kube = o->kube,
                                               .round_ms = 1000,
                                               .join_least_ms = 2 * SECOND,
                                               .join_most_ms = 10 * SECOND});
    for (uint32_t i = 0; i < o->clouds; i++)
        w->clouds[w->n_clouds++] = cloud_new(
            w->player, &(struct cloud_opts){.name = names[i],
                                            .boot_least_ms = o->boot_least_ms,
                                            .boot_most_ms = o->boot_most_ms,
                                            .queue_most_ms = o->queue_most_ms,
                                            .end_most_ms = o->end_most_ms,
                                            .hosts = o->hosts,
                                            .finds = o->finds,
                                            .head = w->head,
                                            .closes = closing_takes,
                                            .arg = w});
    for (uint32_t i = 0; i < DAEMONS; i++)
        w->daemons[i] = (struct daemon){.world = w,
                                        .number = i,
                                        .state = i ? "/b/davit.db" : "",
                                        .settings = mem_strdup("")};
    w->frozen.world = w;
    if (o->ha)
        w->lease = lease_new(w->player);
    observer_joins(w);
    daemon_reload(&w->daemons[0], o->settings);
    if (!daemon_start(&w->daemons[0]))
        law_broken(w, LAW_STARTS, "the first start: %s", w->trouble);
}

void world_end(struct world *w)
{
    w->crashing = true;
    for (int i = 0; i < DAEMONS; i++) {
        daemon_killed(&w->daemons[i]);
        free(w->daemons[i].settings);
    }
    daemon_killed(&w->frozen);
    lease_free(w->lease);
    for (uint32_t i = 0; i < w->n_clouds; i++)
        cloud_free(w->clouds[i]);
    if (w->head)
        head_free(w->head);
    history_free(w);
    if (w->slow_lines)
        log_setup(LOG_ERROR, false);
    log_stop(0);
    free(w->vain.v);
    free(w->truth.nodes.v);
    free(w->truth.offers.v);
    free(w->truth.ready.v);
    free(w->truth.coming.v);
    free(w->truth.came.v);
    free(w->of_use.v);
    disk_free(w->disk);
    player_free(w->player);
}
