/*
 * cmd_request.c - requests resources, and waits for them with --wait.
 */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "bundle.h"
#include "look/text.h"
#include "table.h"
#include "watch.h"

static void reply_print(const json_t *r, struct arena *a)
{
    static const char *const columns[] = {">COUNT", "TYPE", "PROVIDER", "ZONE",
                                          "MARKET", ">$/H", "WHY",      NULL};
    const json_t *v;
    struct table t;
    size_t i;

    printf("%s%s%s\n",
           colour(!flag_of(r, "feasible")   ? RED
                  : flag_of(r, "satisfied") ? GREEN
                                            : YELLOW),
           text_of(r, "text"), colour(PLAIN));
    if (json_array_size(json_object_get(r, "launches"))) {
        table_init(&t, a, columns);
        json_array_foreach(json_object_get(r, "launches"), i, v)
            table_row(
                &t, PLAIN,
                (const char *[]){
                    arena_printf(a, "%lld", (long long)count_of(v, "count")),
                    text_of(v, "type"), text_of(v, "provider"),
                    text_of(v, "zone"),
                    flag_of(v, "spot") ? "spot" : "on-demand",
                    arena_printf(a, "%s%s",
                                 flag_of(v, "price_estimated") ? "~" : "",
                                 dollars(a, number_of(v, "price_per_hour"))),
                    text_of(v, "why")});
        table_print(&t, stdout, 2);
    }
    if (json_array_size(json_object_get(r, "infeasible")) +
            json_array_size(json_object_get(r, "waiting_for")) <
        2)
        return; /* the first line has it */
    json_array_foreach(json_object_get(r, "infeasible"), i, v)
        printf("%sinfeasible%s %s\n", colour(RED), colour(PLAIN),
               text_of(v, "text"));
    json_array_foreach(json_object_get(r, "waiting_for"), i, v)
        printf("%swaiting%s %s\n", colour(YELLOW), colour(PLAIN),
               text_of(v, "text"));
}

static struct {
    const char *owner, *ttl, *strategy, *queue;
    int64_t cpus, priority, wait_ms;
    struct cli_list bundles;
    bool clear, dry, yes;
} args = {.owner = "default"};

/* For programs: waits without output, then prints the state of the request. */
static int wait_json(struct client *c, struct arena *a)
{
    json_t *reply;
    int rc = watch(c, args.owner, (double)args.wait_ms / 1000), got;

    if (rc != EXIT_OK && rc != EXIT_NO)
        return rc;
    got = client_call(
        c, "GET",
        arena_printf(a, "/v1/request_resources/%s", text_encode(a, args.owner)),
        NULL, &reply);
    if (got != EXIT_OK)
        return got;
    cli_json(reply);
    json_decref(reply);
    return rc;
}

static json_t *body_of(json_t *bundles)
{
    json_t *body = json_pack("{s:s,s:O,s:s*,s:s*,s:s*}", "owner", args.owner,
                             "bundles", bundles, "ttl", args.ttl, "strategy",
                             args.strategy, "queue", args.queue);

    if (args.priority)
        json_object_set_new(body, "priority", json_integer(args.priority));
    if (args.cpus)
        json_object_set_new(body, "num_cpus", json_integer(args.cpus));
    return body;
}

/* ---- what would be bought, before anything is */

static void candidates_print(const json_t *list, struct arena *a)
{
    static const char *const columns[] = {
        ">NODES", "TYPE", "ZONE", "MARKET", ">$/H", ">BOOT", "WHY NOT", NULL};
    const json_t *v;
    struct table t;
    size_t i;

    table_init(&t, a, columns);
    json_array_foreach(list, i, v) {
        long long nodes = (long long)count_of(v, "nodes");

        table_row(
            &t, nodes ? GREEN : PLAIN,
            (const char *[]){
                nodes ? arena_printf(a, "%lld", nodes) : "", text_of(v, "type"),
                text_of(v, "zone"), flag_of(v, "spot") ? "spot" : "on-demand",
                arena_printf(a, "%s%s",
                             flag_of(v, "price_estimated") ? "~" : "",
                             dollars(a, number_of(v, "price_per_hour"))),
                json_is_number(json_object_get(v, "boot_s"))
                    ? span(a, number_of(v, "boot_s"))
                    : "?",
                text_of(v, "why_not")});
    }
    table_print(&t, stdout, 2);
}

/* EXIT_OK: it could be served. */
static int try_it(struct client *c, json_t *bundles)
{
    json_t *body = body_of(bundles), *reply;
    const json_t *request;
    struct arena a = {0};
    int rc = client_call(c, "POST", "/v1/plan", body, &reply);

    json_decref(body);
    if (rc != EXIT_OK)
        return rc;
    request = json_object_get(reply, "request");
    rc = flag_of(request, "feasible") ? EXIT_OK : EXIT_NO;
    if (c->json && !args.yes) {
        cli_json(reply);
    } else if (!c->json) {
        printf("%s: %s\n", args.owner, text_of(request, "text"));
        candidates_print(json_object_get(reply, "candidates"), &a);
        if (!args.yes)
            printf("nothing was asked for: --yes asks for it\n");
    }
    json_decref(reply);
    arena_done(&a);
    return rc;
}

static int request_send(struct client *c, json_t *bundles)
{
    json_t *body = body_of(bundles), *reply;
    struct arena a = {0};
    bool wait;
    int rc;

    rc = client_call(c, "POST", "/v1/request_resources", body, &reply);
    json_decref(body);
    if (rc != EXIT_OK)
        return rc;
    rc = flag_of(reply, "feasible") ? EXIT_OK : EXIT_NO;
    if (args.clear && json_is_false(json_object_get(reply, "existed")))
        rc = EXIT_NO; /* of a daemon that says so: since 0.2 */
    wait = rc == EXIT_OK && args.wait_ms > 0 && !flag_of(reply, "cleared");
    if (!c->json)
        reply_print(reply, &a);
    else if (!wait)
        cli_json(reply);
    json_decref(reply);
    if (wait)
        rc = c->json ? wait_json(c, &a)
                     : watch(c, args.owner, (double)args.wait_ms / 1000);
    arena_done(&a);
    return rc;
}

static int bundles_read(struct arena *a, json_t *to)
{
    for (uint32_t i = 0; i < args.bundles.n; i++) {
        json_t *b = bundle_parse(args.bundles.v[i], a);

        if (!b)
            return EXIT_INPUT;
        json_array_append_new(to, b);
    }
    return EXIT_OK;
}

static int run(void)
{
    json_t *bundles;
    struct arena a = {0};
    struct client c;
    int rc;

    if ((args.bundles.n > 0 || args.cpus) == args.clear)
        return cli_usage(&cli_request,
                         args.clear
                             ? "--clear takes no bundles"
                             : "bundles, --num-cpus or --clear are needed");
    if (args.clear && args.dry)
        return cli_usage(&cli_request, "--clear or --dry-run, not both");
    if (!client_open(&c))
        return EXIT_USAGE;
    bundles = json_array();
    rc = bundles_read(&a, bundles);
    if (rc == EXIT_OK && args.dry)
        rc = try_it(&c, bundles);
    if (rc == EXIT_OK && (!args.dry || args.yes))
        rc = request_send(&c, bundles);
    json_decref(bundles);
    arena_done(&a);
    client_done(&c);
    return rc;
}

static const char *const strategies[] = {"PACK", "SPREAD", "STRICT_PACK",
                                         "STRICT_SPREAD", NULL};

static const struct cli_option options[] = {
    {"owner", 'o', "NAME", .text = &args.owner, .takes = TAKES_OWNER,
     .help = "whose request (default \"default\")"},
    {"num-cpus", 'n', .number = &args.cpus, .least = 1, .most = INT64_MAX,
     .help = "N bundles of one CPU more"},
    {"strategy", 's', .text = &args.strategy, .choices = strategies,
     .help = "how its bundles are placed: all of them or none"},
    {"queue", 'q', "NAME", .text = &args.queue,
     .help = "the queue it goes to (queues: in the configuration)"},
    {"priority", 'p', .number = &args.priority,
     .help = "higher is served first (default 0)"},
    {"ttl", 't', "TIME", .text = &args.ttl, .help = "ends by itself (30m, 2h)"},
    {"clear", 'c', .flag = &args.clear, .help = "asks for nothing any more"},
    {"dry-run", 'd', .flag = &args.dry,
     .help = "shows what would be bought, at what price, and what else there "
             "is and why not; asks for nothing"},
    {"yes", 'y', .flag = &args.yes,
     .help = "with --dry-run: asks for it after that, if it can be had"},
    {"wait", 'w', .time_ms = &args.wait_ms,
     .help = "shows the nodes come until all is there; exit code 1 when it is "
             "not by then"},
    {0}};

static const struct cli_option words[] = {
    {"BUNDLE", .many = &args.bundles, .optional = true,
     .help = "JSON as in the API, or a short form, with a count behind a star"},
    {0}};

static const struct cli_example examples[] = {
    {"davit request --owner train-42 --ttl 30m GPU=1,accelerator_type=T4*2",
     "two T4s for half an hour"},
    {"davit request '{\"GPU\": 1, \"accelerator_type\": \"T4\"}*2' --wait 10m",
     "the same as JSON, and waits until they are there"},
    {"davit request --dry-run GPU=1*4", "which machines that would be"},
    {"davit request --owner train-42 --clear", "nothing any more"},
    {0}};

const struct cli_command cli_request = {
    .name = "request",
    .help = "asks for resources; replaces the owner's earlier request",
    .options = options,
    .common = client_options,
    .words = words,
    .run = run,
    .details = "A request is a total that running work counts towards; it "
               "stays until it is replaced, cleared or its ttl is over.\n",
    .examples = examples};
