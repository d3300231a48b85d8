/*
 * past.c - what happened to a node that is no more, and what a machine that did
 * not join had on its console: out of the newest events.
 */
#include <string.h>

#include "../../cloud/console.h"
#include "../../control/event.h"
#include "../door/access.h"
#include "../view.h"

enum { TOLD_MAX = 16, LINES_MAX = 40 };

static uint32_t events_of(struct view *v, struct event_ring *r,
                          const char *name, struct event *ret[EVENT_RING])
{
    struct event *all;
    uint32_t n = event_read(r, 0, EVENT_RING, &v->arena, &all), found = 0;

    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].subject, name) == 0)
            ret[found++] = &all[i];
    return found;
}

static bool is_console(const struct event *e)
{
    return strcmp(e->kind, "node.console") == 0;
}

static void console_lines(struct out *o, struct view *v, const struct event *e)
{
    const char *at = e->text;

    out_str(o, NULL, "The end of its console:");
    for (uint32_t i = 0; *at && i < LINES_MAX; i++) {
        const char *end = strstr(at, CONSOLE_LINES);
        size_t n = end ? (size_t)(end - at) : strlen(at);
        out_strf(o, NULL, "  %s", arena_strndup(&v->arena, at, n));
        at += n + (end ? strlen(CONSOLE_LINES) : 0);
    }
}

void why_end_refused(struct out *o, struct view *v, struct event_ring *r,
                     const struct snap_node *n)
{
    struct event **found = ARENA_ARRAY(&v->arena, struct event *, EVENT_RING);
    uint32_t all = events_of(v, r, n->provider, found);

    for (uint32_t i = all; i-- > 0;)
        if (strcmp(found[i]->kind, "end.failed") == 0 &&
            found[i]->at_ms >= n->since_ms) {
            out_strf(o, NULL, "Its cloud refused to end it at %s: %s (%s).",
                     view_time(v, found[i]->at_ms), found[i]->text,
                     found[i]->reason);
            return;
        }
}

void why_console(struct out *o, struct view *v, struct event_ring *r,
                 const char *name)
{
    struct event **found = ARENA_ARRAY(&v->arena, struct event *, EVENT_RING);
    uint32_t n = events_of(v, r, name, found);

    for (uint32_t i = n; i-- > 0;)
        if (is_console(found[i])) {
            console_lines(o, v, found[i]);
            return;
        }
}

/* What is about one owner, who is its subject. */
static const char *const about_owner[] = {
    "request.set",      "request.cleared",   "request.expired",
    "request.undone",   "request.unread",    "request.set_aside",
    "demand.waits",     "demand.infeasible", "demand.placed",
    "demand.displaced", "demand.unhelped",
};

/* "2 from sim for train": whom it is for, where that is one owner. */
static const char *launched_for(const struct event *e)
{
    const char *at = e->text, *owner = "";

    if (strcmp(e->kind, "launch") != 0 && strcmp(e->kind, "would.launch") != 0)
        return "";
    for (; (at = strstr(at, " for ")); at += strlen(" for "))
        owner = at + strlen(" for ");
    return strpbrk(owner, " ,;") ? "" : owner;
}

const char *event_told(const struct event *e, const struct principal *reader,
                       struct arena *a)
{
    const char *owner = launched_for(e), *rest = strchr(e->text, ' ');
    const char *by;

    if (!reader)
        return e->text;
    for (size_t i = 0; i < sizeof about_owner / sizeof *about_owner; i++)
        if (strcmp(e->kind, about_owner[i]) == 0)
            owner = e->subject;
    if (!*owner || !principal_asks(reader, owner))
        return NULL;
    if (strcmp(e->kind, "demand.displaced") != 0)
        return e->text;
    if (!rest)
        return NULL;
    by = arena_strndup(a, e->text, (size_t)(rest - e->text));
    return principal_asks(reader, by)
               ? e->text
               : arena_printf(a, "another owner%s", rest);
}

/* What became of a request, in words; NULL: it is not about one. */
static const char *request_word(const struct event *e)
{
    static const char *const words[][2] = {
        {"request.set", "it was asked for"},
        {"request.cleared", "it was cleared"},
        {"request.expired", "it ended"},
        {"request.undone", "its change was refused"},
        {"request.set_aside", "it was set aside"},
        {"demand.placed", "all of it had its place"},
        {"demand.waits", "it waited"},
        {"demand.infeasible", "some of it could never be placed"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], e->kind) == 0)
            return words[i][1];
    return strncmp(e->kind, "demand.", 7) == 0 ? e->kind : NULL;
}

bool why_request_past(struct out *o, struct view *v, struct event_ring *r,
                      const char *owner)
{
    struct event **found = ARENA_ARRAY(&v->arena, struct event *, EVENT_RING);
    uint32_t n = events_of(v, r, owner, found), asked = 0;

    for (uint32_t i = 0; i < n; i++)
        asked += strncmp(found[i]->kind, "request.", 8) == 0;
    if (!asked)
        return false;
    out_object(o, NULL);
    out_str(o, "name", owner);
    out_uint(o, "tick", v->page ? v->page->tick : 0);
    out_seconds(o, "age_s", view_age_ms(v));
    out_array(o, "text");
    out_strf(o, NULL,
             "%s asks for nothing now. What became of its request, the newest "
             "first:",
             owner);
    for (uint32_t i = n, told = 0; i-- > 0 && told < TOLD_MAX;) {
        const char *word = request_word(found[i]);
        const char *text = event_told(found[i], v->reader, &v->arena);

        if (!word || !text)
            continue;
        told++;
        out_strf(o, NULL, "%s %s%s%s", view_time(v, found[i]->at_ms), word,
                 strncmp(text, "by ", 3) == 0 ? " " : ": ", text);
    }
    out_close(o);
    out_close(o);
    return true;
}

/* "ops (token)" of "{...} by ops (token)"; "". */
static const char *asked_by(const struct event *e)
{
    const char *by = "", *at = e->text;

    for (; (at = strstr(at, " by ")); at += 4)
        by = at + 4;
    return by;
}

void why_request_changed(struct out *o, struct view *v, struct event_ring *r,
                         const char *owner)
{
    struct event **found = ARENA_ARRAY(&v->arena, struct event *, EVENT_RING);
    uint32_t n = events_of(v, r, owner, found);
    const struct event *newest = NULL;

    for (uint32_t i = n; i-- > 0;) {
        if (strcmp(found[i]->kind, "request.cleared") == 0)
            return; /* begun anew since */
        if (strcmp(found[i]->kind, "request.set") != 0)
            continue;
        if (newest && strcmp(asked_by(newest), asked_by(found[i])) != 0) {
            out_strf(o, NULL,
                     "It was changed at %s by %s; %s had asked for it.",
                     view_time(v, newest->at_ms), asked_by(newest),
                     asked_by(found[i]));
            return;
        }
        newest = found[i];
    }
}

bool why_past(struct out *o, struct view *v, struct event_ring *r,
              const char *name)
{
    struct event **found = ARENA_ARRAY(&v->arena, struct event *, EVENT_RING);
    uint32_t n = events_of(v, r, name, found);
    bool was = false;

    for (uint32_t i = 0; i < n; i++)
        was = was || strncmp(found[i]->kind, "node.", 5) == 0;
    if (!was)
        return false;
    out_object(o, NULL);
    out_str(o, "name", name);
    out_uint(o, "tick", v->page ? v->page->tick : 0);
    out_seconds(o, "age_s", view_age_ms(v));
    out_array(o, "text");
    out_strf(o, NULL, "%s is there no more. What happened to it:", name);
    for (uint32_t i = n > TOLD_MAX ? n - TOLD_MAX : 0; i < n; i++)
        if (!is_console(found[i]))
            out_strf(o, NULL, "%s %s%s%s: %s", view_time(v, found[i]->at_ms),
                     found[i]->kind, *found[i]->reason ? " " : "",
                     found[i]->reason, found[i]->text);
    why_console(o, v, r, name);
    out_close(o);
    out_close(o);
    return true;
}
