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
    if (flag_of(status, "own")) {
        printf("yours alone: of the rest `%s` sees nothing\n",
               text_of(status, "rights"));
        return;
    }
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
    const char *since, *by;
    int64_t from_ms; /* wall */
    bool why;
} args;

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

/* ---- what it was */

enum { HOUR_MS = 3600000, HOURS_LISTED = 48 };

/* What an hour, or a day, came to. */
struct spell {
    char from[24];
    double spent, seen_s;
    int64_t nodes, launched, ended;
};

static void spell_add(struct spell *s, const json_t *slot)
{
    s->spent += number_of(slot, "spent");
    s->seen_s += number_of(slot, "seen_s");
    s->launched += count_of(slot, "launched");
    s->ended += count_of(slot, "ended");
    if (count_of(slot, "nodes") > s->nodes)
        s->nodes = count_of(slot, "nodes");
}

static void spell_row(struct arena *a, struct table *t, const struct spell *s)
{
    table_row(t, PLAIN,
              (const char *[]){
                  s->from, dollars(a, s->spent),
                  dollars(a, s->seen_s > 0 ? s->spent * 3600 / s->seen_s : 0),
                  arena_printf(a, "%lld", (long long)s->nodes),
                  arena_printf(a, "%lld", (long long)s->launched),
                  arena_printf(a, "%lld", (long long)s->ended)});
}

/* A line for each hour, or for each day (UTC) where that would be many. */
static void past_print(const json_t *slots, struct arena *a)
{
    const char *const columns[] = {"FROM",      ">SPENT", ">$/H", ">NODES",
                                   ">LAUNCHED", ">ENDED", NULL};
    int64_t asked = clock_wall_ms() - args.from_ms;
    int shown = asked > (int64_t)HOURS_LISTED * HOUR_MS ? 10 : 13;
    struct spell all = {.nodes = 0}, now = {.nodes = 0};
    struct table t;
    const json_t *slot;
    size_t i;

    table_init(&t, a, columns);
    json_array_foreach(slots, i, slot) {
        const char *at = text_of(slot, "at");

        if (time_ms_of(at) < args.from_ms)
            continue;
        if (strncmp(now.from, at, (size_t)shown) != 0) {
            if (*now.from)
                spell_row(a, &t, &now);
            now = (struct spell){.nodes = 0};
            snprintf(now.from, sizeof now.from,
                     shown == 10 ? "%.10s" : "%.13s:00Z", at);
        }
        spell_add(&now, slot);
        spell_add(&all, slot);
    }
    if (*now.from)
        spell_row(a, &t, &now);
    printf("%s spent in the last %s, %s/h on average", dollars(a, all.spent),
           span(a, (double)asked / 1000),
           dollars(a, all.seen_s > 0 ? all.spent * 3600 / all.seen_s : 0));
    if (all.seen_s * 1000 < (double)asked * 0.99)
        printf("; davit watched %s of it, and does not know the rest",
               span(a, all.seen_s));
    printf("\n\n");
    if (*now.from)
        table_print(&t, stdout, 0);
}

/* What a path answers, in the caller's form. */
static int answer_print(struct client *c, const char *path, struct arena *a,
                        void (*print)(const json_t *reply, struct arena *a))
{
    json_t *reply;
    int rc = client_call(c, "GET", path, NULL, &reply);

    if (rc != EXIT_OK)
        return rc;
    if (c->json)
        cli_json(reply);
    else
        print(reply, a);
    json_decref(reply);
    return EXIT_OK;
}

static void slots_print(const json_t *reply, struct arena *a)
{
    past_print(json_object_get(reply, "slots"), a);
}

/* Hours are kept for a month, smaller steps for less. */
static int past_run(struct client *c, struct arena *a)
{
    int64_t asked = clock_wall_ms() - args.from_ms;
    const char *step = asked <= 3 * HOUR_MS    ? "60"
                       : asked <= 24 * HOUR_MS ? "300"
                                               : "3600";

    return answer_print(c,
                        arena_printf(a, "/v1/history?step=%s&after=%lld", step,
                                     (long long)args.from_ms / 1000),
                        a, slots_print);
}

/* ---- for whom it was */

static const char *spent_name(const json_t *line, struct arena *a)
{
    if (strcmp(args.by, "owner") == 0)
        return text_of(line, "owner");
    if (strcmp(args.by, "market") == 0)
        return text_of(line, "market");
    return strcmp(text_of(line, "market"), "spot") == 0
               ? arena_printf(a, "%s (spot)", text_of(line, "type"))
               : text_of(line, "type");
}

static void spent_table(const struct lines *l, double sum, double hours,
                        struct arena *a)
{
    const char *const columns[] = {"", ">SPENT", ">$/H", ">%", NULL};
    struct table t;

    table_init(&t, a, columns);
    for (uint32_t i = 0; i < l->all.n; i++) {
        const struct line *x = &l->all.v[i];

        table_row(
            &t, PLAIN,
            (const char *[]){x->name, dollars(a, x->per_hour),
                             dollars(a, x->per_hour / hours),
                             arena_printf(a, "%.0f", x->per_hour * 100 / sum)});
    }
    putchar('\n');
    table_print(&t, stdout, 0);
}

/* Lines hold what was spent in all, not by hour. */
static void spent_print(const json_t *reply, struct arena *a)
{
    bool owners = strcmp(args.by, "owner") == 0;
    const char *since = text_of(reply, "since");
    double sum = 0, hours = (double)(time_ms_of(text_of(reply, "until")) -
                                     time_ms_of(since)) /
                            HOUR_MS;
    struct lines l = {{0}};
    const json_t *x;
    size_t i;

    if (flag_of(reply, "own") && !owners) {
        puts("what was spent by type or market is for who may read; --by owner "
             "is what your owners spent");
        return;
    }
    json_array_foreach(json_object_get(reply, owners ? "owners" : "types"), i,
                       x) {
        line_add(a, &l, spent_name(x, a), -1, number_of(x, "spent"));
        sum += number_of(x, "spent");
    }
    if (owners && number_of(reply, "idle") > 0) {
        line_add(a, &l, "(idle)", -1, number_of(reply, "idle"));
        sum += number_of(reply, "idle");
    }
    printf("%s spent since %.10s %.5s UTC", dollars(a, sum), since, since + 11);
    if (time_ms_of(since) > args.from_ms + HOUR_MS)
        printf("; by %s nothing is kept of what was before", args.by);
    putchar('\n');
    if (!l.all.n)
        return;
    qsort(l.all.v, l.all.n, sizeof *l.all.v, dearest_first);
    spent_table(&l, sum, hours > 0 ? hours : 1, a);
}

static int spent_run(struct client *c, struct arena *a)
{
    return answer_print(
        c,
        arena_printf(a, "/v1/spent?since=%lld", (long long)args.from_ms / 1000),
        a, spent_print);
}

static int run(void)
{
    struct arena a = {0};
    struct client c;
    json_t *status;
    bool past = (args.since || args.by) && !args.why;
    int rc;

    if (args.by && args.why)
        return cli_usage(&cli_cost, "--by, or --why");
    if (!args.since)
        args.since = "24h";
    if (!since_parse(args.since, clock_wall_ms(), &args.from_ms))
        return cli_usage(&cli_cost,
                         "--since takes " SINCE_ALLOWED ", not \"%s\"",
                         args.since);
    if (!client_open(&c))
        return EXIT_USAGE;
    if (past) {
        rc = args.by ? spent_run(&c, &a) : past_run(&c, &a);
        arena_done(&a);
        client_done(&c);
        return rc;
    }
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

static const char *const bys[] = {"owner", "type", "market", NULL};

static const struct cli_option options[] = {
    {"why", .flag = &args.why,
     .help = "which launches and ends made it what it is, and whose"},
    {"by", .text = &args.by, .choices = bys,
     .help = "for whom, or on what, it was spent since then"},
    {"since", 's', "TIME", .text = &args.since,
     .help = "what was spent since " SINCE_ALLOWED
             ", by hour or day; with --why which launches and ends made it "
             "that (default 24h)"},
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
        {"davit cost --since 7d", "what the last seven days came to"},
        {"davit cost --since yesterday --by owner", "and who spent it"},
        {"davit cost --why --since 24h", "why the bill doubled"},
        {0}}};
