/*
 * cmd_shadow.c - what a shadow has added up: the present autoscaler beside Davit.
 */
#include <stdio.h>

#include "cli.h"
#include "client.h"

enum { HOUR_MS = 3600000 };
#define SINCE_MOST_MS (INT64_C(31) * 24 * HOUR_MS)

static struct {
    int64_t since_ms;
} args;

static void row(const char *what, const char *fmt, double present, double davit)
{
    char a[32], b[32];

    snprintf(a, sizeof a, fmt, present);
    snprintf(b, sizeof b, fmt, davit);
    printf("  %-22s %16s %16s\n", what, a, b);
}

static void report_show(const json_t *r)
{
    const json_t *p = json_object_get(r, "present"),
                 *d = json_object_get(r, "davit"), *note;
    double looked = number_of(r, "looked_at_s");
    size_t i;

    printf("SHADOW: nothing is launched or ended. Looked at for %.1f hours "
           "since %s.\n\n",
           looked / 3600, text_of(r, "since_at"));
    printf("  %-22s %16s %16s\n", "", "present", "Davit would");
    row("nodes now", "%.0f", number_of(p, "nodes"), number_of(d, "nodes"));
    row("$ an hour now", "%.2f", number_of(p, "cost_per_hour"),
        number_of(d, "cost_per_hour"));
    row("$ in all", "%.2f", number_of(p, "spent"), number_of(d, "spent"));
    row("node hours", "%.2f", number_of(p, "node_hours"),
        number_of(d, "node_hours"));
    row("bundles waiting now", "%.0f", number_of(p, "waiting_bundles"),
        number_of(d, "waiting_bundles"));
    row("bundle hours waited", "%.2f", number_of(p, "waited_bundle_s") / 3600,
        number_of(d, "waited_bundle_s") / 3600);
    printf("\n  Davit would have launched %lld machines and ended %lld",
           (long long)count_of(r, "would_launch"),
           (long long)count_of(r, "would_end"));
    if (json_is_number(json_object_get(r, "saved_ratio")))
        printf(", and %s $%.2f (%.0f %%)",
               number_of(r, "saved") < 0 ? "cost more by" : "saved",
               number_of(r, "saved") < 0 ? -number_of(r, "saved")
                                         : number_of(r, "saved"),
               number_of(r, "saved_ratio") *
                   (number_of(r, "saved") < 0 ? -100 : 100));
    printf(".\n\n");
    json_array_foreach(json_object_get(r, "notes"), i, note)
        printf("  - %s\n", json_string_value(note));
}

static int report_run(void)
{
    struct client c;
    json_t *r;
    char path[64] = "/v1/shadow";
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    if (args.since_ms)
        snprintf(path, sizeof path, "/v1/shadow?hours=%lld",
                 (long long)((args.since_ms + HOUR_MS - 1) / HOUR_MS));
    rc = client_call(&c, "GET", path, NULL, &r);
    if (rc == EXIT_OK) {
        if (c.json)
            cli_json(r);
        else
            report_show(r);
        json_decref(r);
    }
    client_done(&c);
    return rc;
}

static const struct cli_option report_options[] = {
    {"since", .time_ms = &args.since_ms, .least = 1, .most = SINCE_MOST_MS,
     .help = "the last 24h or 7d alone, whole hours (default: all there is, 31 "
             "days at most)"},
    {0}};

static const struct cli_command cli_shadow_report = {
    .name = "shadow report",
    .help = "what the present autoscaler cost, and what Davit would have",
    .options = report_options,
    .common = client_options,
    .run = report_run,
    .details = "Of a daemon that runs with `davit run --shadow`. Prices are "
               "those of the node types, on both sides.\n",
    .examples = (const struct cli_example[]){
        {"davit shadow report --since 24h", "a day"}, {0}}};

static const struct cli_command *const subs[] = {&cli_shadow_report, NULL};

const struct cli_command cli_shadow = {
    .name = "shadow",
    .help = "what a daemon with --shadow has counted: both costs, both waits",
    .subs = subs};
