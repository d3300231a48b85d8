/*
 * cmd_events.c - what happened, and with -f what happens.
 *
 * The list is asked for again and again: the daemon keeps the newest 1,024, and
 * says when some were missed in between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/clock.h"
#include "../client.h"
#include "../table.h"
#include "text.h"

enum { EVERY_MS = 500, EVENTS_KEPT = 1024 };

static struct {
    bool follow;
    int64_t from_ms, last; /* wall; -1: the newest */
    const char *since, *kind, *owner, *node, *type, *reason;
} args = {.from_ms = -1, .last = 20};

/* "node.*" stands for all that begin so. */
static bool kind_fits(const char *kind, const char *wanted)
{
    size_t n = strlen(wanted);

    if (n && wanted[n - 1] == '*')
        return strncmp(kind, wanted, n - 1) == 0;
    return strcmp(kind, wanted) == 0;
}

/* Is there such a word in the text? */
static bool names(const char *text, const char *word)
{
    static const char part[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU"
                               "VWXYZ0123456789._:@-";
    size_t n = strlen(word);

    for (const char *p = text; (p = strstr(p, word)); p += n)
        if ((p == text || !strchr(part, p[-1])) &&
            (!p[n] || !strchr(part, p[n]) || strspn(p + n, ".:") > 0))
            return true;
    return false;
}

/* Of a node of the type: "<type>-<8 hex>-<n>", or the type itself. */
static bool of_type(const json_t *e, const char *type)
{
    const char *subject = text_of(e, "subject");
    size_t n = strlen(type);

    if (strncmp(subject, type, n) == 0 &&
        (!subject[n] || (subject[n] == '-' &&
                         strspn(subject + n + 1, "0123456789abcdef") == 8 &&
                         subject[n + 9] == '-')))
        return true;
    return names(text_of(e, "text"), type);
}

static bool fits(const json_t *e)
{
    const char *subject = text_of(e, "subject"), *text = text_of(e, "text");

    return (!args.kind || kind_fits(text_of(e, "kind"), args.kind)) &&
           (!args.reason || strcmp(text_of(e, "reason"), args.reason) == 0) &&
           (!args.owner || strcmp(subject, args.owner) == 0 ||
            names(text, args.owner)) &&
           (!args.node || strcmp(subject, args.node) == 0 ||
            names(text, args.node)) &&
           (!args.type || of_type(e, args.type));
}

static void event_print(const struct client *c, const json_t *e)
{
    if (c->json) {
        json_dumpf(e, stdout, JSON_COMPACT);
        putchar('\n');
        return;
    }
    printf("%.19sZ  %-18s %-24s %s%s%s\n", text_of(e, "at"), text_of(e, "kind"),
           text_of(e, "subject"), text_of(e, "text"),
           *text_of(e, "reason") ? "  " : "", text_of(e, "reason"));
}

/* Those that fit, the newest args.last of them without --since. */
static void list_print(const struct client *c, const json_t *events)
{
    size_t n = json_array_size(events), first = 0;
    int64_t left = args.last;
    const json_t *e;
    size_t i;

    for (i = n; args.from_ms < 0 && i-- > 0 && left > 0;) {
        first = i;
        left -= fits(json_array_get(events, i));
    }
    if (args.from_ms >= 0 && !c->json && n == EVENTS_KEPT &&
        time_ms_of(text_of(json_array_get(events, 0), "at")) > args.from_ms)
        printf("(events before %.19sZ are not kept any more)\n",
               text_of(json_array_get(events, 0), "at"));
    json_array_foreach(events, i, e)
        if (i >= first && fits(e) &&
            (args.from_ms < 0 || time_ms_of(text_of(e, "at")) >= args.from_ms))
            event_print(c, e);
}

static int events_ask(struct client *c, int64_t after, json_t **ret)
{
    struct arena a = {0};
    int rc = client_call(
        c, "GET",
        arena_printf(&a, "/v1/events?format=json&after=%lld", (long long)after),
        NULL, ret);

    arena_done(&a);
    return rc;
}

static int follow(struct client *c, int64_t after)
{
    for (;;) {
        json_t *reply;
        const json_t *e;
        size_t i;
        int rc = events_ask(c, after, &reply);

        if (rc != EXIT_OK)
            return rc;
        if (flag_of(reply, "missed"))
            fputs("davit: some events are no longer kept and were missed\n",
                  stderr);
        json_array_foreach(json_object_get(reply, "events"), i, e)
            if (fits(e))
                event_print(c, e);
        after = count_of(reply, "next");
        json_decref(reply);
        fflush(stdout);
        nanosleep(&(struct timespec){0, EVERY_MS * 1000000L}, NULL);
    }
}

static int run(void)
{
    struct client c;
    json_t *reply;
    int64_t next;
    int rc;

    if (args.since && !since_parse(args.since, clock_wall_ms(), &args.from_ms))
        return cli_usage(&cli_events,
                         "--since takes " SINCE_ALLOWED ", not \"%s\"",
                         args.since);
    if (!client_open(&c))
        return EXIT_USAGE;
    rc = events_ask(&c, 0, &reply);
    if (rc == EXIT_OK) {
        list_print(&c, json_object_get(reply, "events"));
        next = count_of(reply, "next");
        json_decref(reply);
        fflush(stdout);
        if (args.follow)
            rc = follow(&c, next);
    }
    client_done(&c);
    return rc;
}

static const struct cli_option options[] = {
    {"follow", 'f', .flag = &args.follow,
     .help = "goes on until interrupted, an event a line"},
    {"since", 's', "TIME", .text = &args.since,
     .help = "those since " SINCE_ALLOWED "; else the newest 20"},
    {"last", 'n', .number = &args.last, .least = 0, .most = 1024,
     .help = "how many of the newest to begin with (default 20)"},
    {"kind", 'k', "KIND", .text = &args.kind,
     .help = "node.ready, or node.* for all that begin so"},
    {"type", 't', "TYPE", .text = &args.type, .takes = TAKES_TYPE,
     .help = "of this node type and its nodes"},
    {"owner", 'o', "NAME", .text = &args.owner, .takes = TAKES_OWNER,
     .help = "that name this owner"},
    {"node", .value = "NODE", .text = &args.node, .takes = TAKES_NODE,
     .help = "that name this node"},
    {"reason", 'r', "CODE", .text = &args.reason,
     .help = "with this reason (docs/reasons.md)"},
    {0}};

const struct cli_command cli_events = {
    .name = "events",
    .help = "what happened; with --follow what happens",
    .options = options,
    .common = client_options,
    .run = run,
    .details = "All kinds are in docs/events.md. Times are UTC. With --json an "
               "object a line.\n",
    .examples = (const struct cli_example[]){
        {"davit events -f --type t4", "what becomes of the T4 nodes"},
        {"davit events --since 1h --owner train-42",
         "what happened to a request in the last hour"},
        {"davit events -n 1000 -k 'launch*'", "launches"},
        {0}}};
