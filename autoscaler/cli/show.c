/*
 * show.c - the tables that status, nodes and the live view print.
 */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
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

/* The stop that a problem tells of; NULL. */
static const json_t *stop_of(const json_t *stops, const char *text)
{
    const json_t *v;
    size_t i;

    json_array_foreach(stops, i, v)
        if (strcmp(text_of(v, "text"), text) == 0)
            return v;
    return NULL;
}

/* Red: it keeps the daemon from being ready.  The stop's kind, which documents and
 * alerts go by, stands behind the words. */
uint32_t problems_print(const json_t *s, uint32_t most)
{
    const json_t *stops = json_object_get(s, "stops"), *v;
    uint32_t lines = 0;
    size_t i;

    json_array_foreach(json_object_get(s, "problems"), i, v) {
        const json_t *stop = stop_of(stops, json_string_value(v));

        if (lines >= most)
            break;
        printf("%sproblem%s %s%s%s%s\n",
               colour(!stop || flag_of(stop, "failing") ? RED : YELLOW),
               colour(PLAIN), json_string_value(v), stop ? " (" : "",
               stop ? text_of(stop, "kind") : "", stop ? ")" : "");
        lines++;
    }
    return lines;
}

/* ---- requests: those that wait first, those that are served in short */

enum { SERVED_MAX = 5, NAMES_MAX = 8 };

/* Those that wait first; then as people count: b2 before b10. */
static int waiting_first(const void *x, const void *y)
{
    const json_t *a = *(const json_t *const *)x, *b = *(const json_t *const *)y;
    bool served_a = flag_of(a, "satisfied"), served_b = flag_of(b, "satisfied");

    return served_a != served_b
               ? served_a - served_b
               : strverscmp(text_of(a, "owner"), text_of(b, "owner"));
}

struct requests_shown {
    const json_t **v;
    uint32_t n, waiting;
};

static struct requests_shown requests_of(const json_t *s, struct arena *a)
{
    const json_t *list = json_object_get(s, "requests"), *r;
    struct requests_shown all = {
        ARENA_ARRAY(a, const json_t *, json_array_size(list) + 1), 0, 0};
    size_t i;

    json_array_foreach(list, i, r) {
        all.v[all.n++] = r;
        all.waiting += !flag_of(r, "satisfied");
    }
    if (all.n > 1)
        qsort(all.v, all.n, sizeof *all.v, waiting_first);
    return all;
}

/* Its request says all of it: one line a request. */
static bool is_told(const struct requests_shown *all, const json_t *pending,
                    const json_t *of)
{
    const char *owner = text_of(of, "owner");
    uint32_t kinds = 0;
    const json_t *p;
    size_t i;

    if (strcmp(text_of(of, "source"), "request") != 0)
        return false;
    json_array_foreach(pending, i, p)
        kinds += strcmp(text_of(p, "owner"), owner) == 0;
    for (uint32_t k = 0; k < all->waiting; k++)
        if (strcmp(text_of(all->v[k], "owner"), owner) == 0)
            return kinds == 1;
    return false;
}

static uint32_t waits_print(const json_t *s, const struct requests_shown *all)
{
    const json_t *pending = json_object_get(s, "pending"), *p;
    uint32_t lines = all->waiting;
    size_t i;

    for (uint32_t k = 0; k < all->waiting; k++)
        printf("%srequest%s %s: %s\n", colour(BOLD), colour(PLAIN),
               text_of(all->v[k], "owner"), text_of(all->v[k], "text"));
    json_array_foreach(pending, i, p) {
        if (is_told(all, pending, p))
            continue;
        printf("%spending%s %s: %s\n", colour(YELLOW), colour(PLAIN),
               text_of(p, "owner"), text_of(p, "text"));
        lines++;
    }
    return lines;
}

static uint32_t served_print(const struct requests_shown *all, struct arena *a)
{
    uint32_t n = all->n - all->waiting, lines = 0;
    const char *names = "";

    for (uint32_t k = all->waiting; k < all->n; k++) {
        const char *owner = text_of(all->v[k], "owner");

        if (n <= SERVED_MAX) {
            printf("%srequest%s %s: %s\n", colour(BOLD), colour(PLAIN), owner,
                   text_of(all->v[k], "text"));
            lines++;
        } else if (k - all->waiting < NAMES_MAX) {
            names = arena_printf(a, "%s%s%s", names, *names ? ", " : "", owner);
        }
    }
    if (n > SERVED_MAX) {
        printf("%u requests are satisfied: %s", n, names);
        if (n > NAMES_MAX)
            printf(" and %u more", n - NAMES_MAX);
        putchar('\n');
        lines++;
    }
    return lines;
}

/* ---- what went wrong lately */

/* The cloud's words, then when it is tried again. */
static uint32_t backoffs_print(const json_t *s)
{
    const json_t *v;
    uint32_t lines = 0;
    size_t i;

    json_array_foreach(json_object_get(s, "backoffs"), i, v) {
        const char *type = text_of(v, "type"), *zone = text_of(v, "zone");

        printf(
            "%srefused%s %s%s%s%s: %s (%s); the next try is at %.8s UTC\n",
            colour(YELLOW), colour(PLAIN),
            *type ? type : text_of(v, "provider"), *zone ? " in " : "", zone,
            flag_of(v, "spot") ? " (spot)" : "", text_of(v, "text"),
            text_of(v, "status"),
            strlen(text_of(v, "until")) > 11 ? text_of(v, "until") + 11 : "?");
        lines++;
    }
    return lines;
}

static bool same_failure(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "type"), text_of(b, "type")) == 0 &&
           strcmp(text_of(a, "status"), text_of(b, "status")) == 0 &&
           strcmp(text_of(a, "text"), text_of(b, "text")) == 0;
}

/* How many of these there are; 0: an earlier one told of it. */
static uint32_t failures_like(const json_t *list, size_t at)
{
    const json_t *mine = json_array_get(list, at), *v;
    uint32_t n = 0;
    size_t i;

    json_array_foreach(list, i, v) {
        if (!same_failure(v, mine))
            continue;
        if (i < at)
            return 0;
        n++;
    }
    return n;
}

/* The newest first; the same one of several machines once. */
static uint32_t failures_print(const json_t *s)
{
    const json_t *list = json_object_get(s, "failures"), *v;
    uint32_t lines = 0;
    size_t i;

    json_array_foreach(list, i, v) {
        uint32_t n = failures_like(list, i);
        const char *at = text_of(v, "at");

        if (!n)
            continue;
        printf("%sfailed%s ", colour(RED), colour(PLAIN));
        if (n > 1)
            printf("%u machines of %s, the last %s", n, text_of(v, "type"),
                   text_of(v, "machine"));
        else
            printf("%s", text_of(v, "machine"));
        printf(" at %.8s UTC: %s\n", strlen(at) > 11 ? at + 11 : "?",
               text_of(v, "text"));
        lines++;
    }
    return lines;
}

/* "$12.90/h of $25/h, $9,417 a month if it stays so" */
static const char *cost_text(const json_t *limits, const json_t *cost,
                             struct arena *a)
{
    const json_t *most = json_object_get(limits, "max_cost_per_hour");
    double now = number_of(cost, "now_per_hour");

    return arena_printf(
        a, "%s/h%s%s, %s a month if it stays so", dollars(a, now),
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
    size_t n = json_array_size(json_object_get(s, "problems")) +
               (size_t)count_of(s, "problems_more");
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

static void demand_print(const json_t *s)
{
    const json_t *d = json_object_get(s, "demand");

    printf("demand %lld bundle%s: %lld on ready nodes, %lld on nodes to come, "
           "%lld waiting, %s%lld infeasible%s\n",
           (long long)count_of(d, "bundles"),
           count_of(d, "bundles") == 1 ? "" : "s",
           (long long)(count_of(d, "placed") - count_of(d, "booting")),
           (long long)(count_of(d, "launched") + count_of(d, "booting")),
           (long long)count_of(d, "waiting"),
           count_of(d, "infeasible") ? colour(RED) : "",
           (long long)count_of(d, "infeasible"), colour(PLAIN));
}

static uint32_t counts_print(const json_t *s, struct arena *a)
{
    const json_t *n = json_object_get(s, "nodes");
    const json_t *head = json_object_get(s, "head");
    uint32_t lines = 3;

    if (flag_of(head, "configured")) {
        printf("head   %s  %s\n", text_of(head, "address"),
               flag_of(head, "ok") ? text_of(head, "session")
                                   : text_of(head, "problem"));
        lines++;
    }
    printf("nodes  %lld ready (%lld busy, %lld asked for, %lld idle), %lld "
           "starting, %lld leaving\n",
           (long long)count_of(n, "ready"), (long long)count_of(n, "busy"),
           (long long)count_of(n, "held"), (long long)count_of(n, "idle"),
           (long long)count_of(n, "starting"),
           (long long)count_of(n, "leaving"));
    printf("cost   %s\n", cost_text(json_object_get(s, "limits"),
                                    json_object_get(s, "cost"), a));
    lines += usage_print(s, a);
    demand_print(s);
    return lines;
}

/* For who may ask for some owners and read nothing else. */
static uint32_t his_print(const json_t *s, struct arena *a)
{
    printf("cost   %s\n", cost_text(NULL, json_object_get(s, "cost"), a));
    demand_print(s);
    printf("%syours alone: of the rest `%s` sees nothing%s\n", colour(DIM),
           text_of(s, "rights"), colour(PLAIN));
    return 3;
}

/* First what a person must know: what is wrong, and what waits, and why. */
uint32_t status_print(const json_t *s, struct arena *a)
{
    struct requests_shown all = requests_of(s, a);
    uint32_t lines = 1;

    printf("%s%s%s  %s%s  up %s, davit %s\n", colour(BOLD),
           text_of(s, "cluster"), colour(PLAIN),
           flag_of(s, "shadow") ? "SHADOW, acts on nothing  " : "",
           health_text(s, a), span(a, number_of(s, "uptime_s")),
           text_of(s, "version"));
    lines += problems_print(s, UINT32_MAX);
    lines += waits_print(s, &all);
    if (flag_of(s, "own"))
        return lines + his_print(s, a) + served_print(&all, a);
    lines += counts_print(s, a);
    lines += providers_print(s);
    lines += types_print(s, a);
    lines += served_print(&all, a);
    lines += backoffs_print(s);
    lines += failures_print(s);
    return lines;
}

/* For people alone: what reads the rows reads age_s of --json. */
uint32_t age_print(const json_t *reply, struct arena *a)
{
    double age = number_of(reply, "age_s");

    if (!terminal() || age < 1)
        return 0;
    printf("%sas of %s ago%s\n", colour(DIM), span(a, age), colour(PLAIN));
    return 1;
}

uint32_t nodes_print(const json_t *nodes, struct arena *a)
{
    const struct rows all = rows_of(nodes, &(struct rows_query){.type = NULL},
                                    a);

    return rows_table(&all, false, a) + age_print(nodes, a);
}

uint32_t why_print(const json_t *why, struct arena *a)
{
    const json_t *line;
    uint32_t lines = 0;
    size_t i;

    json_array_foreach(json_object_get(why, "text"), i, line) {
        puts(json_string_value(line));
        lines++;
    }
    return lines + age_print(why, a);
}
