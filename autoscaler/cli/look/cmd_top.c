/*
 * cmd_top.c - the cluster at a glance, repainted: what is in use, what it costs,
 * what waits, the nodes.
 */
#include <stdio.h>
#include <string.h>

#include "../client.h"
#include "../show.h"
#include "../table.h"
#include "rows.h"
#include "screen.h"
#include "text.h"

enum {
    BAR = 30,
    WAITS_MAX = 5,
    ROWS_DEFAULT = 40,
    HEAD_LINES = 9,
    PROBLEMS_MAX = 3
};

static struct {
    const char *type, *state, *owner, *sort;
    bool reverse, once;
    int64_t every_ms;
} args = {.every_ms = 1000};

/* "CPU    ######............  12/40  30%" */
static void use_print(const json_t *status, const char *name, struct arena *a)
{
    const json_t *r = json_object_get(json_object_get(status, "resources"),
                                      name);
    double total = number_of(r, "total"), used = number_of(r, "used");

    if (total <= 0)
        return;
    printf("%-7s %s  %s/%s  %.0f %%\n", name, bar_text(a, used / total, BAR),
           quantity(a, name, used), quantity(a, name, total),
           used * 100 / total);
}

static void head_print(const json_t *s, struct arena *a)
{
    const json_t *n = json_object_get(s, "nodes"),
                 *cost = json_object_get(s, "cost");
    double now = number_of(cost, "now_per_hour");

    printf("%s%s%s  %s  %lld node%s: %lld busy, %lld asked for, %lld idle, "
           "%lld starting, %lld leaving\n",
           colour(BOLD), text_of(s, "cluster"), colour(PLAIN),
           health_text(s, a), (long long)count_of(n, "total"),
           count_of(n, "total") == 1 ? "" : "s", (long long)count_of(n, "busy"),
           (long long)count_of(n, "held"), (long long)count_of(n, "idle"),
           (long long)count_of(n, "starting"),
           (long long)count_of(n, "leaving"));
    problems_print(s, PROBLEMS_MAX);
    use_print(s, "CPU", a);
    use_print(s, "GPU", a);
    use_print(s, "memory", a);
    printf("%s/hour | %s/month | %s/hour idle\n", dollars(a, now),
           dollars(a, now * HOURS_A_MONTH),
           dollars(a, number_of(cost, "idle_per_hour")));
}

static void waits_print(const json_t *s, struct arena *a)
{
    const json_t *list = json_object_get(s, "pending"), *v;
    const json_t *d = json_object_get(s, "demand");
    size_t i;

    printf("%lld bundle%s: %lld on ready nodes, %lld on nodes to come, %lld "
           "waiting, %lld infeasible\n",
           (long long)count_of(d, "bundles"),
           count_of(d, "bundles") == 1 ? "" : "s",
           (long long)(count_of(d, "placed") - count_of(d, "booting")),
           (long long)(count_of(d, "launched") + count_of(d, "booting")),
           (long long)count_of(d, "waiting"),
           (long long)count_of(d, "infeasible"));
    json_array_foreach(list, i, v) {
        if (i == WAITS_MAX) {
            printf("  and %zu more that wait\n", json_array_size(list) - i);
            break;
        }
        printf("  %s%s%s: %s\n", colour(YELLOW), text_of(v, "owner"),
               colour(PLAIN), text_of(v, "text"));
    }
    (void)a;
}

/* As many as there is room for. */
static uint32_t rows_room(const json_t *s)
{
    size_t waits = json_array_size(json_object_get(s, "pending"));
    size_t problems = json_array_size(json_object_get(s, "problems"));
    unsigned height = terminal_height();
    unsigned taken = HEAD_LINES +
                     (unsigned)(problems > PROBLEMS_MAX ? PROBLEMS_MAX
                                                        : problems) +
                     (unsigned)(waits > WAITS_MAX ? WAITS_MAX + 1 : waits);

    if (!height)
        return args.once ? UINT32_MAX : ROWS_DEFAULT;
    return height > taken + 3 ? height - taken : 3;
}

static int top_print(struct client *c, bool paints)
{
    const struct rows_query q = {.type = args.type,
                                 .state = args.state,
                                 .owner = args.owner,
                                 .sort = args.sort,
                                 .reverse = args.reverse};
    json_t *status, *nodes;
    struct arena a = {0};
    struct rows r;
    int rc = client_call(c, "GET", "/v1/status", NULL, &status);

    if (rc != EXIT_OK)
        return rc;
    rc = client_call(c, "GET", "/v1/nodes", NULL, &nodes);
    if (rc == EXIT_OK) {
        r = rows_of(nodes, &q, &a);
        if (paints)
            screen_begin();
        head_print(status, &a);
        waits_print(status, &a);
        putchar('\n');
        rows_bars(&r, args.once ? UINT32_MAX : rows_room(status), &a);
        if (paints)
            screen_paint();
        json_decref(nodes);
    }
    json_decref(status);
    arena_done(&a);
    return rc;
}

/* Keys choose the order: n(ame), t(ype), s(tate), a(ge), p(rice), u(se); again:
 * the other way round. */
static void key_take(int key)
{
    for (size_t i = 0; rows_sorts[i]; i++)
        if (*rows_sorts[i] == key) {
            args.reverse = args.sort && strcmp(args.sort, rows_sorts[i]) == 0 &&
                           !args.reverse;
            args.sort = rows_sorts[i];
            return;
        }
}

static int live(struct client *c)
{
    int rc, key;

    screen_open();
    while ((rc = top_print(c, true)) == EXIT_OK) {
        key = screen_wait((int)args.every_ms);
        if (key < 0)
            break;
        key_take(key);
    }
    screen_close();
    if (rc != EXIT_OK)
        fputs("davit: the daemon does not answer any more\n", stderr);
    return rc;
}

static int run(void)
{
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    if (c.json)
        rc = cli_usage(&cli_top, "--json: `davit nodes --json` and `davit "
                                 "status --json` are for programs");
    else if (args.once || !terminal())
        rc = top_print(&c, false);
    else
        rc = live(&c);
    client_done(&c);
    return rc;
}

static const struct cli_option options[] = {
    {"sort", 's', .text = &args.sort, .choices = rows_sorts,
     .help = "by what the nodes are sorted; numbers the largest first"},
    {"reverse", .flag = &args.reverse, .help = "the other way round"},
    {"type", 't', "TYPE", .text = &args.type, .takes = TAKES_TYPE,
     .help = "nodes of this type only"},
    {"state", .value = "STATE", .text = &args.state,
     .help = "nodes in this state only"},
    {"owner", 'o', "NAME", .text = &args.owner, .takes = TAKES_OWNER,
     .help = "nodes that hold something of this owner only"},
    {"every", 'e', "TIME", .time_ms = &args.every_ms, .least = 200,
     .most = 60000, .help = "between two looks (default 1s)"},
    {"once", '1', .flag = &args.once,
     .help = "prints one view and ends, as it does without a terminal"},
    {0}};

const struct cli_command cli_top = {
    .name = "top",
    .help = "the cluster at a glance, live: use, cost, what waits, nodes",
    .options = options,
    .common = client_options,
    .run = run,
    .details =
        "A bar is what is in use of a node's GPUs, or of its CPUs where it has "
        "none. Keys: n name, t type, s state, z zone, a age, p price, u use "
        "sort, once more turns the order round; q ends.\n",
    .examples = (const struct cli_example[]){
        {"davit top --sort price", "the dearest nodes first"},
        {"davit top --once --type t4", "one view, of one type"},
        {0}}};
