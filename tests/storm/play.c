/*
 * play.c - a script is played: first the storm, in which the laws hold at every
 * step; then calm, in which all must settle and come to rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "observer.h"
#include "script.h"

enum {
    CALM_MOST_MS = 30 * HOUR, /* so long it may take to settle */
    PIECE_MS = 5 * MINUTE,    /* between two looks */
    LOOKS = 6,                /* that must find it settled */
    REST_MS = 45 * MINUTE,    /* so long nothing may change then */
};

/* ---- what happens */

static struct cloud_machine *chosen(const struct world *w, uint32_t a,
                                    struct cloud **c)
{
    uint32_t n = world_alive(w);

    return n ? world_machine(w, a % n, c) : NULL;
}

static void to_machine(struct world *w, const struct happening *h)
{
    struct cloud *c;
    struct cloud_machine *m = chosen(w, h->a, &c);

    if (!m)
        return;
    if (h->kind == HAPPENS_DIES)
        cloud_kill(c, m);
    else if (h->kind == HAPPENS_TAKEN)
        cloud_take_back(c, m, h->b);
    else if (h->kind == HAPPENS_REBOOTS)
        cloud_reboot(c, m, h->b);
    else if (h->kind == HAPPENS_RAYLET && w->head)
        head_node_restart(w->head, m->id);
    else if (h->kind == HAPPENS_NAMES && w->head)
        head_names(w->head, m->id, h->b, h->c);
    else if (h->kind == HAPPENS_ADDED)
        cloud_add(c, m, NULL);
}

/* A daemon that will not start is looked at again later: its disk may be full. */
static void start(struct world *w)
{
    if (w->daemons[0].control || daemon_start(&w->daemons[0]) ||
        disk_is_bad(w->disk) || disk_is_dead(w->disk) ||
        (w->lease && !*w->trouble))
        return; /* or the lease is not to be had yet */
    law_broken(w, LAW_STARTS, "%s", w->trouble);
}

static void killed(struct world *w, bool power, uint32_t survives)
{
    world_crash(w, power, survives);
    start(w);
}

static void calm(struct world *w)
{
    for (uint32_t i = 0; i < w->n_clouds; i++)
        cloud_weather(w->clouds[i], &(struct cloud_weather){0});
    if (w->head) {
        head_trouble(w->head, HEAD_WELL);
        head_lossy(w->head, 0);
        head_names_right(w->head);
    }
    disk_full(w->disk, false);
    disk_readonly(w->disk, false);
    disk_fault_at(w->disk, 0, DISK_WELL);
    if (w->lease)
        lease_trouble(w->lease, LEASE_WELL);
    daemon_stop(&w->daemons[1]);
    start(w);
    store_calm(w);
}

static void disk_happens(struct world *w, const struct happening *h)
{
    uint64_t at = disk_changes(w->disk) + 1 + h->a;

    if (h->kind == HAPPENS_FULL)
        disk_full(w->disk, h->a);
    else if (h->kind == HAPPENS_READONLY)
        disk_readonly(w->disk, h->a);
    else if (h->kind == HAPPENS_DISK_FAILS)
        disk_fault_at(w->disk, at, DISK_FAILS);
    else
        disk_fault_at(w->disk, at, DISK_DIES);
    w->survives = h->b;
}

static void second(struct world *w, const struct script *s, bool on)
{
    struct daemon *d = &w->daemons[1];
    char *text, *at;

    daemon_stop(d);
    if (!on)
        return;
    text = strdup(s->files[0]);
    at = strstr(text, "/a/davit.db");
    at[1] = 'b'; /* a journal of its own */
    daemon_reload(d, text);
    free(text);
    daemon_start(d);
}

static void leader_happens(struct world *w, const struct happening *h)
{
    if (w->lease && h->a)
        lease_trouble(w->lease, h->a - 1);
    else if (w->lease)
        world_freeze(w, h->b);
}

static void live_until(struct world *w, int64_t at_ms);

static void happens(struct world *w, const struct script *s,
                    const struct happening *h)
{
    switch (h->kind) {
    case HAPPENS_WEATHER:
        cloud_weather(w->clouds[h->a % w->n_clouds], &h->weather);
        break;
    case HAPPENS_SPOILS:
        cloud_spoil(w->clouds[h->a % w->n_clouds], h->b, &h->weather);
        break;
    case HAPPENS_HEAD:
        if (w->head)
            head_trouble(w->head, h->a);
        break;
    case HAPPENS_LOSSY:
        if (w->head)
            head_lossy(w->head, h->a);
        break;
    case HAPPENS_SESSION:
        if (w->head)
            head_restart(w->head);
        break;
    case HAPPENS_FORGETS:
        if (w->head)
            head_forget_drains(w->head, h->a);
        break;
    case HAPPENS_DIES:
        for (uint32_t i = 0; i < h->b; i++)
            to_machine(w, h);
        break;
    case HAPPENS_TAKEN:
    case HAPPENS_REBOOTS:
    case HAPPENS_NAMES:
    case HAPPENS_RAYLET:
    case HAPPENS_ADDED: to_machine(w, h); break;
    case HAPPENS_ASKS: world_ask(w, h->a, h->text); break;
    case HAPPENS_TASKS:
        if (w->head)
            world_tasks(w, h->text, 1, h->a, h->b, h->c);
        break;
    case HAPPENS_FILE:
        w->edits++;
        daemon_reload(&w->daemons[0], s->files[h->a % s->n_files]);
        break;
    case HAPPENS_KILLED: killed(w, h->a, h->b); break;
    case HAPPENS_RESTARTS:
        daemon_stop(&w->daemons[0]);
        start(w);
        break;
    case HAPPENS_FULL:
    case HAPPENS_READONLY:
    case HAPPENS_DISK_FAILS:
    case HAPPENS_KILLED_AT: disk_happens(w, h); break;
    case HAPPENS_CLOCK:
        player_wall_step(w->player, h->b ? -(int64_t)h->a : h->a);
        break;
    case HAPPENS_SECOND: second(w, s, h->a); break;
    case HAPPENS_VERSION:
        daemon_stop(&w->daemons[0]);
        world_other_version(w, h->a);
        start(w);
        break;
    case HAPPENS_SLEEPS:
        w->asleep_ms = world_now(w);
        player_sleep(w->player, h->a);
        w->slept_ms = world_now(w);
        break;
    case HAPPENS_CALM: calm(w); break;
    case HAPPENS_TOUCHED:
        for (uint32_t i = 0; i < h->a && !w->law; i++) {
            daemon_touch(&w->daemons[0]);
            live_until(w, world_now(w) + h->b);
        }
        break;
    case HAPPENS_LEADER: leader_happens(w, h); break;
    case HAPPENS_STORE:
        store_happens(w, h->a);
        start(w);
        break;
    case HAPPENINGS: break;
    }
}

/* ---- a life */

/* Until then; a power loss that was waiting for a write comes in between. */
static void live_until(struct world *w, int64_t at_ms)
{
    while (!w->law && world_now(w) < at_ms) {
        int64_t piece = world_leads(w, at_ms - world_now(w));

        if (!w->daemons[0].control) {
            start(w); /* whoever looks after it tries now and then */
            piece = piece < MINUTE ? piece : MINUTE;
        }
        world_run(w, piece);
        if (disk_is_dead(w->disk)) {
            w->faults++;
            killed(w, true, w->survives);
        }
    }
}

/* It has settled when several looks in a row find nothing open and nothing
 * changed: longer than any idle timeout there is. */
static const char *settles(struct world *w)
{
    const char *open = "nothing was looked at";
    int64_t until = world_now(w) + CALM_MOST_MS;
    uint32_t changes = world_changes(w), quiet = 0;

    while (!w->law && quiet < LOOKS && world_now(w) < until) {
        world_person(w, COMMAND_RELEASE); /* what asks is answered */
        world_person(w, COMMAND_APPLY);
        world_person(w, COMMAND_ADOPT);
        world_drain_missing(w);
        live_until(w, world_now(w) + PIECE_MS);
        open = world_unsettled(w);
        if (!open && world_changes(w) != changes)
            open = "it ends and buys machines in turn";
        quiet = open ? 0 : quiet + 1;
        changes = world_changes(w);
    }
    return quiet < LOOKS ? open ? open : "it was not quiet for long" : NULL;
}

/* Requests with a time to live end by themselves: that is no unrest. */
static void requests_end(struct world *w)
{
    for (int i = 0; i < 72 && world_expects(w); i++)
        live_until(w, world_now(w) + 10 * MINUTE);
}

static void must_settle(struct world *w)
{
    const char *open;
    uint32_t changes;

    live_until(w, world_now(w) + MINUTE);
    requests_end(w);
    open = settles(w);
    changes = world_changes(w);

    if (w->law)
        return;
    if (open) {
        law_broken(w, LAW_SETTLES, "%d hours after the last fault: %s",
                   CALM_MOST_MS / HOUR, open);
        return;
    }
    if (observer_over(w))
        law_broken(w, LAW_BILL, "it has settled, and %s", observer_over(w));
    if (!world_asks(w) && world_reached(w))
        law_broken(w, LAW_SETTLES, "nothing is asked for, and %u machines stay",
                   world_reached(w));
    live_until(w, world_now(w) + REST_MS);
    if (world_changes(w) != changes)
        law_broken(w, LAW_SETTLES,
                   "it had settled, and %u calls change things afterwards",
                   world_changes(w) - changes);
}

static bool needs_no_one(enum happening_kind k)
{
    return k == HAPPENS_ASKS || k == HAPPENS_TASKS || k == HAPPENS_CALM;
}

/* ---- law 9: a move costs no more than staying, in dollars; and work loses its node
 * only for dollars */

enum { JUDGED_SHARE = 50, JUDGED_LEAST = 100000 }; /* 2 %, or 0.10 $ */

static void played_once(const struct script *s, const bool *keep, bool trace,
                        struct played *ret);

static char *without_moves(const char *file)
{
    static const char on[] = "consolidate: on", off[] = "consolidate: off";
    const char *at = strstr(file, on);
    struct buf b;

    if (!at)
        return mem_strdup(file);
    buf_init(&b, 65536);
    buf_printf(&b, "%.*s%s%s", (int)(at - file), file, off, at + sizeof on - 1);
    return buf_take(&b);
}

static void moves_judge(const struct script *s, const bool *keep,
                        struct played *ret)
{
    struct script stays = *s;
    struct played p;
    double more;

    for (uint32_t i = 0; i < s->n_files; i++)
        stays.files[i] = without_moves(s->files[i]);
    stays.world.settings = stays.files[0];
    played_once(&stays, keep, false, &p);
    for (uint32_t i = 0; i < s->n_files; i++)
        free(stays.files[i]);
    more = ret->bill - p.bill - p.bill / JUDGED_SHARE - JUDGED_LEAST;
    if (p.law ||
        (more <= 0 && (ret->dropped <= p.dropped || ret->bill < p.bill)))
        return;
    ret->law = LAW_MOVES;
    snprintf(ret->violation, sizeof ret->violation,
             "with consolidation %.2f $ are paid and %u tasks lose their node, "
             "without it %.2f $ and %u",
             ret->bill / 1e6, ret->dropped, p.bill / 1e6, p.dropped);
}

void script_play(const struct script *s, const bool *keep, bool trace,
                 struct played *ret)
{
    played_once(s, keep, trace, ret);
    if (s->judged && !ret->law)
        moves_judge(s, keep, ret);
}

static void played_once(const struct script *s, const bool *keep, bool trace,
                        struct played *ret)
{
    uint32_t calls[WORLD_CLOUDS] = {0};
    static struct world w;

    memset(ret, 0, sizeof *ret);
    world_begin(&w, &s->world);
    w.trace = trace;
    w.plain = s->plain;
    live_until(&w, MINUTE);
    for (uint32_t i = 0; i < w.n_clouds; i++)
        calls[i] = cloud_calls(w.clouds[i]);
    for (uint32_t i = 0; i < s->n && !w.law; i++) {
        if (keep && !keep[i])
            continue;
        live_until(&w, s->v[i].at_ms);
        w.faults += !needs_no_one(s->v[i].kind);
        if (!w.law)
            happens(&w, s, &s->v[i]);
    }
    live_until(&w, s->storm_ms);
    for (uint32_t i = 0; i < w.n_clouds; i++)
        calls[i] = cloud_calls(w.clouds[i]) - calls[i];
    calm(&w);
    if (w.head)
        head_leave(w.head); /* users go home; what runs, runs */
    if (s->gone)
        world_cloud_gone(&w, s->gone);
    if (s->leave)
        for (uint32_t i = 0; i < OWNERS; i++)
            world_ask(&w, i, "{\"bundles\": []}");
    if (w.edits) /* else it heals without a reload */
        daemon_reload(&w.daemons[0], s->files[0]);
    must_settle(&w);
    *ret = (struct played){.law = w.law,
                           .digest = w.digest,
                           .faults = w.faults + world_faults(&w),
                           .steps = w.steps,
                           .ms = world_now(&w),
                           .launched = w.launched,
                           .ended = w.ended,
                           .acknowledged = w.acknowledged,
                           .arrivals = w.truth.arrivals,
                           .dropped = w.head ? head_dropped(w.head) : 0,
                           .bill = world_bill(&w)};
    memcpy(ret->sentences, w.truth.sentences, sizeof ret->sentences);
    memcpy(ret->calls, calls, sizeof calls);
    memcpy(ret->violation, w.violation, sizeof ret->violation);
    world_end(&w);
}
