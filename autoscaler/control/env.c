/*
 * env.c - see env.h.
 */
#include "env.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/log.h"

void env_begin(struct env *e)
{
    e->now_ms = clock_steady_ms();
    e->mono_ms = clock_mono_ms();
    e->slept_ms = clock_boot_ms() - e->mono_ms;
    e->due_ms = INT64_MAX;
}

void env_wake_mono(struct env *e, int64_t mono_ms)
{
    if (mono_ms < e->due_ms)
        e->due_ms = mono_ms;
}

void env_wake_wall(struct env *e, int64_t wall_ms)
{
    if (wall_ms != INT64_MAX)
        env_wake_mono(e, e->mono_ms + (wall_ms - e->now_ms));
}

struct workers *env_workers(struct env *e, unsigned n_threads,
                            unsigned max_stuck)
{
    const struct outside *o = e->outside;

    return o->workers ? o->workers(o->arg, n_threads, max_stuck, &e->inbox)
                      : workers_new(n_threads, max_stuck, &e->inbox);
}

static enum log_level level_of(const char *kind)
{
    static const char *const bad[] = {
        "launch.failed",     "node.failed",       "node.lost",
        "source.down",       "head.v1",           "provider.simulated",
        "provider.down",     "config.refused",    "demand.infeasible",
        "type.differs",      "journal.unread",    "journal.elsewhere",
        "journal.filling",   "journal.rewritten", "offer.closed",
        "request.unread",    "config.held",       "node.held",
        "node.lacks",        "node.claimed",      "request.set_aside",
        "demand.set_aside",  "node.leaving",      "head.crowded",
        "ends.held",         "end.late",          "end.failed",
        "launch.unanswered", "demand.unhelped",   "request.undone",
        "node.undone",       "journal.copied",    "daemon.beside"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strcmp(kind, bad[i]) == 0)
            return LOG_WARN;
    return LOG_INFO;
}

void emit_text(struct env *e, const char *kind, const char *subject,
               const char *reason, const char *text)
{
    struct event ev = {.at_ms = clock_wall_ms(),
                       .kind = kind,
                       .subject = subject,
                       .reason = reason,
                       .text = text};
    struct journal_event row = {.at_ms = ev.at_ms,
                                .kind = kind,
                                .subject = subject,
                                .reason = reason,
                                .text = text,
                                .data = ""};

    log_line(level_of(kind), "%s %s: %s%s%s%s", kind, subject, text,
             *reason ? " [" : "", reason, *reason ? "]" : "");
    row.id = event_add_of(&e->events, event_cause(e->caller), &ev);
    if (e->on_event)
        e->on_event(e->arg, &ev);
    if (e->journal)
        journal_put_event(e->journal, &row, NULL);
}

void emit(struct env *e, const char *kind, const char *subject,
          const char *reason, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    emit_text(e, kind, subject, reason, text);
}

/* Listeners may ask for what happened before this start.  A full disk may have
 * lost some: the ring has no holes, so it begins behind the last of them. */
void env_load_events(struct env *e)
{
    int64_t next = journal_next_event(e->journal);
    struct journal_event *v;
    struct arena arena = {0};
    uint32_t n = 0, first;

    if (journal_load_events(e->journal, next - EVENT_RING, EVENT_RING, &arena,
                            &v, &n, NULL) != ST_OK)
        n = 0;
    for (first = n; first > 0 && v[first - 1].id == next - (n - first) - 1;)
        first--;
    event_ring_init(&e->events, next - (n - first));
    for (uint32_t i = first; i < n; i++)
        event_add(&e->events, v[i].at_ms, v[i].kind, v[i].subject, v[i].reason,
                  v[i].text);
    arena_done(&arena);
}
