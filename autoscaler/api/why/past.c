/*
 * past.c - what happened to a node that is no more, and what a machine that did
 * not join had on its console: out of the newest events.
 */
#include <string.h>

#include "../../cloud/console.h"
#include "../../control/event.h"
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
