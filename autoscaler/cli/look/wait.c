/*
 * wait.c - see wait.h.
 */
#include "wait.h"

#include <stdio.h>
#include <string.h>

#include "../client.h"
#include "../table.h"

enum { BAR = 20, NODES_SHOWN = 20 };

static bool is_for(const json_t *node, const char *owner)
{
    const json_t *f;
    size_t i;

    json_array_foreach(json_object_get(node, "for"), i, f)
        if (strcmp(text_of(f, "owner"), owner) == 0)
            return true;
    return false;
}

/* How long nodes of its type usually take, in seconds; 0: not known. */
static double usual(const json_t *status, const json_t *node)
{
    const json_t *type;
    size_t i;

    json_array_foreach(json_object_get(status, "types"), i, type)
        if (strcmp(text_of(type, "name"), text_of(node, "type")) == 0)
            return number_of(type, "boot_s");
    return 0;
}

static bool is_ready(const json_t *node)
{
    return strcmp(text_of(node, "state"), "ready") == 0;
}

/* A bar never says that it is done before it is. */
static const char *bar(struct arena *a, double part)
{
    int n = part >= 1 ? BAR : part > 0 ? (int)(part * BAR) : 0;
    const char *text = "[";

    for (int i = 0; i < BAR; i++)
        text = arena_printf(a, "%s%s", text, i < n ? "#" : ".");
    return arena_printf(a, "%s]", text);
}

/* "45s of about 1m30s", "2m10s, longer than the usual 1m30s". */
static const char *how_long(struct arena *a, const json_t *node, double takes)
{
    double age = number_of(node, "age_s");
    const char *note = text_of(node, "note");
    const char *so_far = takes <= 0 ? span(a, age)
                         : age <= takes
                             ? arena_printf(a, "%s of about %s", span(a, age),
                                            span(a, takes))
                             : arena_printf(a, "%s, longer than the usual %s",
                                            span(a, age), span(a, takes));

    return *note ? arena_printf(a, "%s: %s", so_far, note) : so_far;
}

static void line_put(const char *line, enum colour c)
{
    unsigned room = terminal_width();
    size_t n = strlen(line);

    if (room)
        n = terminal_cut(line, n, room);
    printf("%s%.*s%s\n", colour(c), (int)n, line, colour(PLAIN));
}

static const json_t *request_of(const json_t *status, const char *owner)
{
    const json_t *r;
    size_t i;

    json_array_foreach(json_object_get(status, "requests"), i, r)
        if (strcmp(text_of(r, "owner"), owner) == 0)
            return r;
    return NULL;
}

static void node_print(const json_t *status, const json_t *node,
                       struct arena *a)
{
    double takes = usual(status, node), age = number_of(node, "age_s");
    /* short of the end until it is ready, however long it takes */
    double part = is_ready(node)                    ? 1
                  : takes > 0 && age < takes * 0.95 ? age / takes
                  : takes > 0                       ? 0.95
                                                    : 0;

    line_put(arena_printf(a, "  %-28s %-9s %s %s", text_of(node, "id"),
                          text_of(node, "state"), bar(a, part),
                          is_ready(node) ? "" : how_long(a, node, takes)),
             is_ready(node) ? GREEN : YELLOW);
}

uint32_t wait_print(const json_t *status, const json_t *nodes,
                    const char *owner, struct arena *a)
{
    const json_t *r = request_of(status, owner), *node;
    uint32_t lines = 1, more = 0;
    size_t i;

    line_put(arena_printf(a, "%s: %s", owner, text_of(r, "text")), BOLD);
    json_array_foreach(json_object_get(nodes, "nodes"), i, node) {
        if (!is_for(node, owner))
            continue;
        if (lines > NODES_SHOWN) {
            more++;
            continue;
        }
        node_print(status, node, a);
        lines++;
    }
    if (more) {
        line_put(arena_printf(a, "  and %u nodes more", more), DIM);
        lines++;
    }
    return lines;
}

void wait_changes(const json_t *status, const json_t *nodes, const char *owner,
                  json_t *seen, struct arena *a)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(nodes, "nodes"), i, node) {
        const char *id = text_of(node, "id"), *state = text_of(node, "state");
        double takes = usual(status, node);

        if (!is_for(node, owner) || strcmp(text_of(seen, id), state) == 0)
            continue;
        json_object_set_new(seen, id, json_string(state));
        if (is_ready(node))
            printf("%s ready, made %s ago\n", id,
                   span(a, number_of(node, "age_s")));
        else
            printf("%s %s%s%s\n", id, state,
                   takes > 0 ? ", usually ready after " : "",
                   takes > 0 ? span(a, takes) : "");
    }
}
