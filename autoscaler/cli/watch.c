/*
 * watch.c - see watch.h.
 */
#include "watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/clock.h"
#include "look/screen.h"
#include "look/wait.h"
#include "show.h"
#include "table.h"

enum { EVERY_MS = 500 };

/* Two answers of one moment, and how many lines show them. */
struct look {
    json_t *status, *nodes;
    uint32_t lines;
    char last[256];
    json_t *seen; /* by node: the state that was printed last */
};

static bool satisfied(const json_t *status, const char *owner, bool *infeasible)
{
    const json_t *r;
    size_t i;

    json_array_foreach(json_object_get(status, "requests"), i, r) {
        if (strcmp(text_of(r, "owner"), owner) != 0)
            continue;
        *infeasible = !flag_of(r, "feasible");
        return flag_of(r, "satisfied");
    }
    return true; /* cleared meanwhile */
}

/* Everything that makes a line worth printing again. */
static char *summary(const json_t *status, struct arena *a)
{
    const json_t *n = json_object_get(status, "nodes");
    const json_t *d = json_object_get(status, "demand");

    return arena_printf(
        a,
        "%lld ready, %lld starting, %lld leaving; %lld bundles placed, %lld "
        "waiting, %lld infeasible",
        (long long)count_of(n, "ready"), (long long)count_of(n, "starting"),
        (long long)count_of(n, "leaving"), (long long)count_of(d, "placed"),
        (long long)(count_of(d, "waiting") + count_of(d, "launched")),
        (long long)count_of(d, "infeasible"));
}

static int look_at(struct client *c, struct look *l)
{
    int rc = client_call(c, "GET", "/v1/status", NULL, &l->status);

    if (rc != EXIT_OK)
        return rc;
    if (flag_of(l->status, "own")) { /* nodes are for who may read all */
        l->nodes = json_object();
        return EXIT_OK;
    }
    rc = client_call(c, "GET", "/v1/nodes", NULL, &l->nodes);
    if (rc != EXIT_OK)
        json_decref(l->status);
    return rc;
}

static void look_away(struct look *l)
{
    json_decref(l->status);
    json_decref(l->nodes);
}

static void line_print(const struct client *c, struct look *l, struct arena *a)
{
    const char *now = summary(l->status, a);

    if (strcmp(l->last, now) == 0)
        return;
    snprintf(l->last, sizeof l->last, "%s", now);
    if (c->json)
        json_dumpf(l->status, stdout, JSON_COMPACT);
    puts(c->json ? "" : l->last);
}

/* For an owner that waits. */
static void wait_show(const struct client *c, struct look *l, const char *owner,
                      struct arena *a)
{
    if (c->json)
        return; /* its end is what is asked for */
    if (!terminal()) {
        wait_changes(l->status, l->nodes, owner, l->seen, a);
        return;
    }
    if (l->lines)
        terminal_up(l->lines);
    l->lines = wait_print(l->status, l->nodes, owner, a);
}

static int wait_for(struct client *c, const char *owner, double seconds,
                    struct look *l)
{
    int64_t end = clock_mono_ms() + (int64_t)(seconds * 1000);

    for (;;) {
        struct arena a = {0};
        bool infeasible = false, done;
        int rc = look_at(c, l);

        if (rc != EXIT_OK)
            return rc;
        done = satisfied(l->status, owner, &infeasible);
        wait_show(c, l, owner, &a);
        fflush(stdout);
        look_away(l);
        arena_done(&a);
        if (done)
            return EXIT_OK;
        if (infeasible)
            return EXIT_NO;
        if (seconds > 0 && clock_mono_ms() >= end) {
            fprintf(stderr, "davit: not satisfied within %g s\n", seconds);
            return EXIT_NO;
        }
        nanosleep(&(struct timespec){0, EVERY_MS * 1000000L}, NULL);
    }
}

static int follow(struct client *c, struct look *l, bool paints)
{
    int rc;

    while ((rc = look_at(c, l)) == EXIT_OK) {
        struct arena a = {0};

        if (paints) {
            screen_begin();
            status_print(l->status, &a);
            putchar('\n');
            nodes_print(l->nodes, &a);
            screen_paint();
        } else {
            line_print(c, l, &a);
        }
        fflush(stdout);
        look_away(l);
        arena_done(&a);
        if (paints && screen_wait(EVERY_MS) < 0)
            return EXIT_OK;
        if (!paints)
            nanosleep(&(struct timespec){0, EVERY_MS * 1000000L}, NULL);
    }
    return rc;
}

int watch(struct client *c, const char *owner, double seconds)
{
    struct look l = {.seen = json_object()};
    bool paints = !owner && !c->json && terminal();
    int rc;

    if (paints)
        screen_open();
    rc = owner ? wait_for(c, owner, seconds, &l) : follow(c, &l, paints);
    if (paints)
        screen_close();
    if (paints && rc != EXIT_OK)
        fputs("davit: the daemon does not answer any more\n", stderr);
    json_decref(l.seen);
    return rc;
}
