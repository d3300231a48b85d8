/*
 * cmd_cost.c - what is paid: now, a month at this pace, by owner, type, provider.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../client.h"
#include "../table.h"
#include "text.h"

struct line {
    const char *name;
    int64_t nodes; /* -1: not counted */
    double per_hour;
};

struct lines {
    VEC(struct line) all;
};

static void line_add(struct arena *a, struct lines *l, const char *name,
                     int64_t nodes, double per_hour)
{
    for (uint32_t i = 0; i < l->all.n; i++)
        if (strcmp(l->all.v[i].name, name) == 0) {
            l->all.v[i].nodes += nodes;
            l->all.v[i].per_hour += per_hour;
            return;
        }
    VEC_PUSH(a, &l->all, ((struct line){name, nodes, per_hour}));
}

static int dearest_first(const void *x, const void *y)
{
    const struct line *a = x, *b = y;

    if (a->per_hour != b->per_hour)
        return a->per_hour < b->per_hour ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void lines_print(struct arena *a, struct lines *l, const char *heading,
                        double all)
{
    const char *const columns[] = {heading,    ">NODES", ">$/H",
                                   ">$/MONTH", ">%",     NULL};
    struct table t;

    if (!l->all.n)
        return;
    qsort(l->all.v, l->all.n, sizeof *l->all.v, dearest_first);
    table_init(&t, a, columns);
    for (uint32_t i = 0; i < l->all.n; i++) {
        const struct line *x = &l->all.v[i];

        table_row(
            &t, PLAIN,
            (const char *[]){
                x->name,
                x->nodes < 0 ? ""
                             : arena_printf(a, "%lld", (long long)x->nodes),
                dollars(a, x->per_hour),
                dollars(a, x->per_hour * HOURS_A_MONTH),
                all > 0 ? arena_printf(a, "%.0f", x->per_hour * 100 / all)
                        : ""});
    }
    putchar('\n');
    table_print(&t, stdout, 0);
}

static void head_print(const json_t *status, struct arena *a)
{
    const json_t *cost = json_object_get(status, "cost");
    const json_t *most = json_object_get(json_object_get(status, "limits"),
                                         "max_cost_per_hour");
    double now = number_of(cost, "now_per_hour");
    double then = number_of(cost, "planned_per_hour");

    printf("%s/h now, %s a month if it stays so", dollars(a, now),
           dollars(a, now * HOURS_A_MONTH));
    if (json_is_number(most))
        printf("; %s/h at most", dollars(a, json_number_value(most)));
    putchar('\n');
    if (then != now)
        printf("%s/h once the plan is carried out\n", dollars(a, then));
    printf("%s/h of it is idle\n",
           dollars(a, number_of(cost, "idle_per_hour")));
}

static void cost_print(const json_t *status, struct arena *a)
{
    const json_t *cost = json_object_get(status, "cost"), *v;
    struct lines owners = {{0}}, types = {{0}}, providers = {{0}};
    double now = number_of(cost, "now_per_hour");
    size_t i;

    json_array_foreach(json_object_get(cost, "owners"), i, v)
        line_add(a, &owners, text_of(v, "owner"), count_of(v, "nodes"),
                 number_of(v, "per_hour"));
    json_array_foreach(json_object_get(cost, "offers"), i, v) {
        int64_t n = count_of(v, "nodes");

        line_add(a, &types,
                 flag_of(v, "spot")
                     ? arena_printf(a, "%s (spot)", text_of(v, "type"))
                     : text_of(v, "type"),
                 n, number_of(v, "per_hour"));
        line_add(a, &providers, text_of(v, "provider"), n,
                 number_of(v, "per_hour"));
    }
    if (number_of(cost, "idle_per_hour") > 0)
        line_add(a, &owners, "(idle)", -1, number_of(cost, "idle_per_hour"));
    head_print(status, a);
    lines_print(a, &owners, "OWNER", now);
    lines_print(a, &types, "TYPE", now);
    lines_print(a, &providers, "PROVIDER", now);
}

/* ---- why it is what it is */

static struct {
    const char *since;
    int64_t from_ms; /* wall */
    bool why;
} args = {.since = "24h"};

static const char *signed_dollars(struct arena *a, double v)
{
    return arena_printf(a, "%s%s", v < 0 ? "-" : "+",
                        dollars(a, v < 0 ? -v : v));
}

static void decision_row(struct arena *a, struct table *t, const json_t *d)
{
    double change = number_of(d, "change_per_hour");
    bool launch = strcmp(text_of(d, "what"), "launch") == 0;

    table_row(
        t, PLAIN,
        (const char *[]){
            arena_printf(a, "%.19sZ", text_of(d, "at")),
            signed_dollars(a, change),
            dollars(a, number_of(d, "before_per_hour") + change),
            arena_printf(a, "%s %lld x %s%s", launch ? "launched" : "ended",
                         (long long)count_of(d, "count"), text_of(d, "type"),
                         flag_of(d, "spot") ? " (spot)" : ""),
            text_of(d, "owner"), text_of(d, "text")});
}

/* Decisions are known since the daemon's start: what was before it, nobody says. */
static void then_print(const json_t *status, double now, double before,
                       struct arena *a)
{
    int64_t started = time_ms_of(text_of(status, "started_at"));
    bool later = started > args.from_ms;
    double ago = (double)(clock_wall_ms() - (later ? started : args.from_ms));

    printf("%s/h now, %s/h %s ago%s\n", dollars(a, now), dollars(a, before),
           span(a, ago / 1000),
           later ? ", when davit was started: what was before that is not kept"
                 : "");
}

/* Owners first, by what they added: that is the answer; then each decision. */
static void why_print(const json_t *list, const json_t *status, struct arena *a)
{
    double now = number_of(json_object_get(status, "cost"), "now_per_hour");
    const char *const columns[] = {"AT",    ">CHANGE/H", ">THEN/H", "WHAT",
                                   "OWNER", "WHY",       NULL};
    struct lines owners = {{0}};
    double before = now, sum = 0;
    struct table t;
    const json_t *d;
    bool any = false;
    size_t i;

    table_init(&t, a, columns);
    json_array_foreach(list, i, d) {
        const char *owner = text_of(d, "owner");

        if (time_ms_of(text_of(d, "at")) < args.from_ms)
            continue;
        if (!any)
            before = number_of(d, "before_per_hour");
        any = true;
        sum += number_of(d, "change_per_hour");
        line_add(a, &owners, *owner ? owner : "(nobody: idle, or over a limit)",
                 1, number_of(d, "change_per_hour"));
        decision_row(a, &t, d);
    }
    then_print(status, now, before, a);
    if (!any) {
        printf("nothing was launched or ended since then\n");
        return;
    }
    if (owners.all.n)
        qsort(owners.all.v, owners.all.n, sizeof *owners.all.v, dearest_first);
    for (uint32_t k = 0; k < owners.all.n; k++)
        printf("%s/h by %s\n", signed_dollars(a, owners.all.v[k].per_hour),
               owners.all.v[k].name);
    if (now - before - sum > 5e-7 || before + sum - now > 5e-7)
        printf("%s/h by other things: prices that changed, machines that were "
               "lost, found or have not left yet\n",
               signed_dollars(a, now - before - sum));
    putchar('\n');
    table_print(&t, stdout, 0);
}

static int why_run(struct client *c, const json_t *status, struct arena *a)
{
    json_t *reply;
    int rc = client_call(c, "GET", "/v1/decisions", NULL, &reply);

    if (rc != EXIT_OK)
        return rc;
    if (c->json)
        cli_json(reply);
    else
        why_print(json_object_get(reply, "decisions"), status, a);
    json_decref(reply);
    return EXIT_OK;
}

static int run(void)
{
    struct arena a = {0};
    struct client c;
    json_t *status;
    int rc;

    if (!since_parse(args.since, clock_wall_ms(), &args.from_ms))
        return cli_usage(&cli_cost,
                         "--since takes " SINCE_ALLOWED ", not \"%s\"",
                         args.since);
    if (!client_open(&c))
        return EXIT_USAGE;
    rc = client_call(&c, "GET", "/v1/status", NULL, &status);
    if (rc == EXIT_OK && args.why)
        rc = why_run(&c, status, &a);
    else if (rc == EXIT_OK && c.json)
        cli_json(json_object_get(status, "cost"));
    else if (rc == EXIT_OK)
        cost_print(status, &a);
    json_decref(status);
    arena_done(&a);
    client_done(&c);
    return rc;
}

static const struct cli_option options[] = {
    {"why", .flag = &args.why,
     .help = "which launches and ends made it what it is, and whose"},
    {"since", 's', "TIME", .text = &args.since,
     .help = "with --why: since " SINCE_ALLOWED " (default 24h)"},
    {0}};

const struct cli_command cli_cost = {
    .name = "cost",
    .help = "what is paid, and for whom: by owner, node type and provider",
    .options = options,
    .common = client_options,
    .run = run,
    .details =
        "List prices, of all machines that are not gone. An owner bears what "
        "its bundles take of a node, by the resource of which they take the "
        "largest part; \"running\" is work whose owner Ray and Kubernetes do "
        "not tell. A month has 730 hours. Decisions are kept since the "
        "daemon's start, the last 512.\n",
    .examples = (const struct cli_example[]){
        {"davit cost --why --since 24h", "why the bill doubled"}, {0}}};
