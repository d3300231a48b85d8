/*
 * env.c - see env.h.
 */
#include "env.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
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

/* Whose command an event comes from, in the journal: {"by": "token/ci"}; "" nobody's. */
static char *by_text(const char *caller)
{
    json_t *by = caller && *caller ? json_pack("{s:s}", "by", caller) : NULL;
    char *text = by ? json_dumps(by, JSON_COMPACT) : NULL;

    json_decref(by);
    return text ? text : mem_strdup("");
}

static uint8_t cause_of(const char *data)
{
    json_t *by = *data ? json_loads(data, 0, NULL) : NULL;
    uint8_t cause = event_cause(json_string_value(json_object_get(by, "by")));

    json_decref(by);
    return cause;
}

void emit_text(struct env *e, const char *kind, const char *subject,
               const char *reason, const char *text)
{
    struct event ev = {.at_ms = clock_wall_ms(),
                       .kind = kind,
                       .subject = subject,
                       .reason = reason,
                       .text = text};
    char *by = by_text(e->caller);
    struct journal_event row = {.at_ms = ev.at_ms,
                                .kind = kind,
                                .subject = subject,
                                .reason = reason,
                                .text = text,
                                .data = by};

    log_line(level_of(kind), "%s %s: %s%s%s%s", kind, subject, text,
             *reason ? " [" : "", reason, *reason ? "]" : "");
    row.id = event_add_of(&e->events, event_cause(e->caller), &ev);
    if (e->on_event)
        e->on_event(e->arg, &ev);
    if (e->journal)
        journal_put_event(e->journal, &row, NULL);
    free(by);
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

/* Listeners may ask for what happened before this start: all that the journal has
 * passes the ring, so that a restart forgets nobody's for one who had many.  A full
 * disk may have lost some: the ring has no holes, so it begins behind the last of
 * them. */
void env_load_events(struct env *e)
{
    int64_t next = journal_next_event(e->journal);
    struct journal_event *v;
    struct arena arena = {0};
    uint32_t n = 0, first;

    if (journal_load_events(e->journal, next - JOURNAL_EVENTS, JOURNAL_EVENTS,
                            &arena, &v, &n, NULL) != ST_OK)
        n = 0;
    for (first = n; first > 0 && v[first - 1].id == next - (n - first) - 1;)
        first--;
    event_ring_init(&e->events, next - (n - first));
    for (uint32_t i = first; i < n; i++)
        event_add_of(&e->events, cause_of(v[i].data),
                     &(struct event){.at_ms = v[i].at_ms,
                                     .kind = v[i].kind,
                                     .subject = v[i].subject,
                                     .reason = v[i].reason,
                                     .text = v[i].text});
    arena_done(&arena);
}
