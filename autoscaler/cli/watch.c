/*
 * watch.c - see watch.h.
 */
#include "watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/clock.h"
#include "show.h"
#include "table.h"

enum { EVERY_MS = 500 };

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

int watch(struct client *c, const char *owner, double seconds)
{
    int64_t end = clock_mono_ms() + (int64_t)(seconds * 1000);
    char last[256] = "";
    uint32_t lines = 0;

    for (;;) {
        json_t *status, *nodes;
        struct arena a = {0};
        bool infeasible = false, done;
        int rc = client_call(c, "GET", "/v1/status", NULL, &status);

        if (rc != EXIT_OK)
            return rc;
        rc = client_call(c, "GET", "/v1/nodes", NULL, &nodes);
        if (rc != EXIT_OK) {
            json_decref(status);
            return rc;
        }
        done = owner && satisfied(status, owner, &infeasible);
        if (c->json && owner) {
            ; /* its end is what is asked for */
        } else if (!c->json && terminal()) {
            if (lines)
                terminal_up(lines);
            lines = status_print(status, &a);
            putchar('\n');
            lines += 1 + nodes_print(nodes, &a);
        } else if (strcmp(last, summary(status, &a)) != 0) {
            snprintf(last, sizeof last, "%s", summary(status, &a));
            if (c->json)
                json_dumpf(status, stdout, JSON_COMPACT);
            puts(c->json ? "" : last);
        }
        fflush(stdout);
        json_decref(status);
        json_decref(nodes);
        arena_done(&a);
        if (done)
            return EXIT_OK;
        if (owner && infeasible)
            return EXIT_NO;
        if (seconds > 0 && clock_mono_ms() >= end) {
            fprintf(stderr, "davit: not satisfied within %g s\n", seconds);
            return EXIT_NO;
        }
        nanosleep(&(struct timespec){0, EVERY_MS * 1000000L}, NULL);
    }
}
