/*
 * show.c - the tables that status, nodes and the live view print.
 */
#include "show.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "look/rows.h"
#include "look/text.h"
#include "table.h"

static char *number(struct arena *a, int64_t v)
{
    return arena_printf(a, "%lld", (long long)v);
}

static char *limit(struct arena *a, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? arena_printf(a, "%g", json_number_value(v))
                             : arena_strdup(a, "-");
}

static uint32_t types_print(const json_t *status, struct arena *a)
{
    static const char *const columns[] = {"TYPE",     "PROVIDER", ">NODES",
                                          ">PLANNED", ">MIN",     ">MAX",
                                          ">$/H",     "STATES",   NULL};
    struct table t;
    const json_t *type;
    size_t i;

    table_init(&t, a, columns);
    json_array_foreach(json_object_get(status, "types"), i, type) {
        const char *state;
        char *states = arena_strdup(a, "");
        json_t *n;
        json_object_foreach(json_object_get(type, "by_state"), state, n)
            if (json_integer_value(n))
                states = arena_printf(a, "%s%s%lld %s", states,
                                      *states ? ", " : "",
                                      (long long)json_integer_value(n), state);
        if (*text_of(type, "unavailable"))
            states = arena_printf(a, "%s%s%s", states, *states ? ", " : "",
                                  text_of(type, "unavailable"));
        table_row(
            &t, *text_of(type, "unavailable") ? YELLOW : PLAIN,
            (const char *[]){
                text_of(type, "name"), text_of(type, "provider"),
                number(a, count_of(type, "nodes")),
                number(a, count_of(type, "planned")),
                number(a, count_of(type, "min")), limit(a, type, "max"),
                arena_printf(a, "%s%s",
                             flag_of(type, "price_estimated") ? "~" : "",
                             dollars(a, number_of(type, "price_per_hour"))),
                states});
    }
    return table_print(&t, stdout, 2);
}

static uint32_t lines_print(const json_t *list, const char *label,
                            const char *subject, enum colour c)
{
    const json_t *v;
    uint32_t lines = 0;
    size_t i;

    json_array_foreach(list, i, v) {
        printf("%s%s%s %s: %s\n", colour(c), label, colour(PLAIN),
               text_of(v, subject), text_of(v, "text"));
        lines++;
    }
    return lines;
}

/* Providers with a cloud behind HTTP. */
static uint32_t providers_print(const json_t *s)
{
    uint32_t lines = 0;
    const json_t *v;
    size_t i;

    json_array_foreach(json_object_get(s, "providers"), i, v) {
        if (count_of(v, "http_most_a_minute") == 0)
            continue;
        printf(
            "cloud  %s: %lld machines, %lld HTTP requests in the last minute, "
            "%lld at most\n",
            text_of(v, "name"), (long long)count_of(v, "machines"),
            (long long)count_of(v, "http_last_minute"),
            (long long)count_of(v, "http_most_a_minute"));
        lines++;
    }
    return lines;
}

static bool is_stop(const json_t *stops, const char *text)
{
    const json_t *v;
    size_t i;

    json_array_foreach(stops, i, v)
        if (strcmp(text_of(v, "text"), text) == 0)
            return true;
    return false;
}

/* What stops a part of it is among the problems too, and said once. */
uint32_t problems_print(const json_t *s, uint32_t most)
{
    const json_t *stops = json_object_get(s, "stops"), *v;
    uint32_t lines = 0;
    size_t i;

    json_array_foreach(json_object_get(s, "problems"), i, v) {
        if (is_stop(stops, json_string_value(v)) || lines >= most)
            continue;
        printf("%sproblem%s %s\n", colour(RED), colour(PLAIN),
               json_string_value(v));
        lines++;
    }
    json_array_foreach(stops, i, v) {
        if (lines >= most)
            break;
        printf("%sstop%s   %s: %s\n",
               colour(flag_of(v, "failing") ? RED : YELLOW), colour(PLAIN),
               text_of(v, "kind"), text_of(v, "text"));
        lines++;
    }
    return lines;
}

/* "$12.90/h of $25/h, $9,417 a month at this pace" */
static const char *cost_text(const json_t *limits, const json_t *cost,
                             struct arena *a)
{
    const json_t *most = json_object_get(limits, "max_cost_per_hour");
    double now = number_of(cost, "now_per_hour");

    return arena_printf(
        a, "%s/h%s%s, %s a month at this pace", dollars(a, now),
        json_is_number(most) ? " of " : "",
        json_is_number(most)
            ? arena_printf(a, "%s/h", dollars(a, json_number_value(most)))
            : "",
        dollars(a, now * HOURS_A_MONTH));
}

/* "use    3/16 CPU, 1/2 GPU, 20Gi/60Gi memory" of all nodes that have joined. */
static uint32_t usage_print(const json_t *s, struct arena *a)
{
    static const char *const first[] = {"CPU", "GPU", "memory"};
    const json_t *all = json_object_get(s, "resources"), *r;
    const char *name, *line = "";

    for (size_t i = 0; i < 3; i++)
        if ((r = json_object_get(all, first[i])))
            line = arena_printf(a, "%s%s%s/%s %s", line, *line ? ", " : "",
                                quantity(a, first[i], number_of(r, "used")),
                                quantity(a, first[i], number_of(r, "total")),
                                first[i]);
    json_object_foreach((json_t *)all, name, r) {
        if (strcmp(name, "CPU") == 0 || strcmp(name, "GPU") == 0 ||
            strcmp(name, "memory") == 0 || strstr(name, "node:") ||
            strcmp(name, "object_store_memory") == 0)
            continue;
        line = arena_printf(a, "%s%s%s/%s %s", line, *line ? ", " : "",
                            quantity(a, name, number_of(r, "used")),
                            quantity(a, name, number_of(r, "total")), name);
    }
    if (*line)
        printf("use    %s\n", line);
    return *line != '\0';
}

const char *health_text(const json_t *s, struct arena *a)
{
    size_t n = json_array_size(json_object_get(s, "problems"));
    bool ready = flag_of(s, "ready");

    return arena_printf(a, "%s%s%s%s%s, as of %s ago",
                        colour(!ready ? RED
                               : n    ? YELLOW
                                      : GREEN),
                        ready ? "ready" : "not ready",
                        n ? arena_printf(a, ", %zu", n) : "",
                        n == 0   ? ""
                        : n == 1 ? " problem"
                                 : " problems",
                        colour(PLAIN), span(a, number_of(s, "age_s")));
}

uint32_t status_print(const json_t *s, struct arena *a)
{
    const json_t *n = json_object_get(s, "nodes");
    const json_t *d = json_object_get(s, "demand");
    const json_t *head = json_object_get(s, "head");
    const json_t *cost = json_object_get(s, "cost");
    uint32_t lines = 4;

    printf("%s%s%s  %s%s  up %s, davit %s\n", colour(BOLD),
           text_of(s, "cluster"), colour(PLAIN),
           flag_of(s, "shadow") ? "SHADOW, acts on nothing  " : "",
           health_text(s, a), span(a, number_of(s, "uptime_s")),
           text_of(s, "version"));
    lines += problems_print(s, UINT32_MAX);
    if (flag_of(head, "configured")) {
        printf("head   %s  %s\n", text_of(head, "address"),
               flag_of(head, "ok") ? text_of(head, "session")
                                   : text_of(head, "problem"));
        lines++;
    }
    printf(
        "nodes  %lld ready (%lld busy, %lld held, %lld idle), %lld starting, "
        "%lld leaving\n",
        (long long)count_of(n, "ready"), (long long)count_of(n, "busy"),
        (long long)count_of(n, "held"), (long long)count_of(n, "idle"),
        (long long)count_of(n, "starting"), (long long)count_of(n, "leaving"));
    printf("cost   %s\n", cost_text(json_object_get(s, "limits"), cost, a));
    lines += usage_print(s, a);
    printf("demand %lld bundles: %lld on ready nodes, %lld on nodes to come, "
           "%lld waiting, %s%lld infeasible%s\n",
           (long long)count_of(d, "bundles"),
           (long long)(count_of(d, "placed") - count_of(d, "booting")),
           (long long)(count_of(d, "launched") + count_of(d, "booting")),
           (long long)count_of(d, "waiting"),
           count_of(d, "infeasible") ? colour(RED) : "",
           (long long)count_of(d, "infeasible"), colour(PLAIN));
    lines += providers_print(s);
    lines += types_print(s, a);
    lines += lines_print(json_object_get(s, "requests"), "request", "owner",
                         BOLD);
    lines += lines_print(json_object_get(s, "pending"), "pending", "owner",
                         YELLOW);
    lines += lines_print(json_object_get(s, "backoffs"), "back-off", "type",
                         YELLOW);
    lines += lines_print(json_object_get(s, "failures"), "failed", "machine",
                         RED);
    return lines;
}

uint32_t nodes_print(const json_t *nodes, struct arena *a)
{
    const struct rows all = rows_of(nodes, &(struct rows_query){.type = NULL},
                                    a);

    return rows_table(&all, false, a);
}

uint32_t why_print(const json_t *why, struct arena *a)
{
    const json_t *line;
    uint32_t lines = 0;
    size_t i;

    (void)a;
    json_array_foreach(json_object_get(why, "text"), i, line) {
        puts(json_string_value(line));
        lines++;
    }
    return lines;
}
