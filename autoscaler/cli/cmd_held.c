/*
 * cmd_held.c - a person's word on what is held: apply, release, adopt, forget.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/text.h"
#include "client.h"
#include "look/text.h"

/* One POST, its text printed.  shown: what the user has seen, and no more is meant;
 * NULL: whatever there is. */
static int say(struct client *c, const char *path, const json_t *shown)
{
    json_t *reply;
    int rc = client_call(c, "POST", path, shown, &reply);

    if (rc != EXIT_OK)
        return rc;
    if (c->json)
        cli_json(reply);
    else
        printf("%s\n", text_of(reply, "text"));
    json_decref(reply);
    return EXIT_OK;
}

/* The first that fails decides the exit code; all are tried. */
static int say_each(struct client *c, const struct cli_list *nodes,
                    const char *what)
{
    struct arena a = {0};
    int worst = EXIT_OK;

    for (uint32_t i = 0; i < nodes->n; i++) {
        int rc = say(c,
                     arena_printf(&a, "/v1/nodes/%s/%s",
                                  text_encode(&a, nodes->v[i]), what),
                     NULL);

        worst = worst == EXIT_OK ? rc : worst;
    }
    arena_done(&a);
    return worst;
}

static struct {
    struct cli_list nodes;
    bool all, yes;
} args;

static int say_once(const char *path)
{
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    rc = say(&c, path, NULL);
    client_done(&c);
    return rc;
}

static int say_of_nodes(const char *what)
{
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    rc = say_each(&c, &args.nodes, what);
    client_done(&c);
    return rc;
}

static int apply_run(void)
{
    return say_once("/v1/apply");
}

static int release_run(void)
{
    return say_once("/v1/release");
}

/* ---- what a person should see before he says yes */

enum { LISTED_MAX = 20 };

static bool is_asked_for(const json_t *node)
{
    static const char *const names[] = {"id", "cloud_id", "ray_id"};
    bool asked = args.nodes.n == 0;

    for (uint32_t i = 0; i < args.nodes.n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            asked = asked ||
                    strcmp(args.nodes.v[i], text_of(node, names[k])) == 0;
    return asked && *text_of(node, "launched_by");
}

/* Each that is asked for is put into names. */
static size_t held_print(const json_t *nodes, json_t *names)
{
    const json_t *n;
    size_t i, held = 0;

    json_array_foreach(json_object_get(nodes, "nodes"), i, n) {
        if (!is_asked_for(n))
            continue;
        json_array_append(names, json_object_get(n, "id"));
        if (held++ >= LISTED_MAX)
            continue;
        printf(
            "  %s %s %s, launched by %s%s%s\n", text_of(n, "id"),
            text_of(n, "type"), text_of(n, "state"), text_of(n, "launched_by"),
            json_array_size(json_object_get(n, "for")) ? ", work counts on it"
                                                       : "",
            flag_of(n, "spot") ? ", spot" : "");
    }
    if (held > LISTED_MAX)
        printf("  and %zu more\n", held - LISTED_MAX);
    return held;
}

static bool stops_print(const json_t *status, const char *kind)
{
    const json_t *s;
    bool any = false;
    size_t i;

    json_array_foreach(json_object_get(status, "stops"), i, s) {
        if (strcmp(text_of(s, "kind"), kind) != 0)
            continue;
        printf("%s.\n", text_of(s, "text"));
        any = true;
    }
    return any;
}

/* Nobody to ask is a no. */
static bool is_agreed(const char *question)
{
    char line[16] = "";

    fflush(stdout);
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        fprintf(stderr, "davit: nothing was done: --yes says that you agree\n");
        return false;
    }
    printf("%s [y/N] ", question);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) && (*line == 'y' || *line == 'Y');
}

/* Into *shown what he was asked about. */
static int adopt_ask(struct client *c, json_t **shown)
{
    json_t *nodes = NULL, *status = NULL;
    int rc = client_call(c, "GET", "/v1/nodes", NULL, &nodes);
    bool copied, at_work;
    size_t held;

    if (rc == EXIT_OK)
        rc = client_call(c, "GET", "/v1/status", NULL, &status);
    if (rc == EXIT_OK) {
        copied = !args.nodes.n && stops_print(status, "journal_copied");
        at_work = stops_print(status, "daemon_beside");
        stops_print(status, "machines_held");
        stops_print(status, "machines_unjoined");
        *shown = json_pack(
            "{s:[], s:O?}", "machines", "journal",
            json_object_get(json_object_get(status, "held"), "journal"));
        held = held_print(nodes, json_object_get(*shown, "machines"));
        /* Nothing: the daemon says so. */
        if (copied &&
            !is_agreed("The other daemon of this journal is stopped?"))
            rc = EXIT_NO;
        else if (held &&
                 !is_agreed(at_work
                                ? "They are taken from a daemon that is at "
                                  "work, and ended when idle?"
                                : "They are ours from now on, and ended when "
                                  "idle?"))
            rc = EXIT_NO;
    }
    json_decref(nodes);
    json_decref(status);
    return rc;
}

static int adopt_run(void)
{
    struct client c;
    json_t *shown = NULL;
    int rc;

    if (args.all && args.nodes.n)
        return cli_usage(&cli_adopt, "--all, or some nodes");
    if (!client_open(&c))
        return EXIT_USAGE;
    rc = args.yes ? EXIT_OK : adopt_ask(&c, &shown);
    if (rc == EXIT_OK)
        rc = args.nodes.n ? say_each(&c, &args.nodes, "adopt")
                          : say(&c, "/v1/adopt", shown);
    json_decref(shown);
    client_done(&c);
    return rc;
}

static int forget_run(void)
{
    return say_of_nodes("forget");
}

/* ---- approve: one word for all three, which shows before it asks */

/* "a; b" as a line each. */
static void clauses_print(const char *text)
{
    while (*text) {
        const char *end = strstr(text, "; ");
        size_t n = end ? (size_t)(end - text) : strlen(text);

        printf("  %.*s\n", (int)n, text);
        text += n + (end ? 2 : 0);
    }
}

static bool is_in(const json_t *names, const char *name)
{
    const json_t *v;
    size_t i;

    json_array_foreach(names, i, v)
        if (strcmp(json_string_value(v), name) == 0)
            return true;
    return false;
}

static void end_print(const json_t *n, struct arena *a)
{
    const json_t *first = json_array_get(json_object_get(n, "for"), 0);

    printf("  %s %s %s/h%s%s%s\n", text_of(n, "id"), text_of(n, "type"),
           dollars(a, number_of(n, "price_per_hour")),
           strcmp(text_of(n, "use"), "busy") == 0 ? ", it has work" : "",
           first ? ", asked for by " : "",
           first ? text_of(first, "owner") : "");
}

static size_t ends_print(const json_t *nodes, const json_t *names)
{
    struct arena a = {0};
    double sum = 0;
    const json_t *n;
    size_t i, found = 0;

    json_array_foreach(json_object_get(nodes, "nodes"), i, n) {
        if (!is_in(names, text_of(n, "id")))
            continue;
        if (found++ < LISTED_MAX)
            end_print(n, &a);
        sum += number_of(n, "price_per_hour");
    }
    if (found > LISTED_MAX)
        printf("  and %zu more\n", found - LISTED_MAX);
    if (found)
        printf("%zu machine%s, %s/h in all, would be ended\n", found,
               found == 1 ? "" : "s", dollars(&a, sum));
    arena_done(&a);
    return found;
}

/* Providers that wait as their machines are in another place. */
static bool places_print(const json_t *status, const json_t *places)
{
    const json_t *p;
    size_t i;

    json_array_foreach(json_object_get(status, "providers"), i, p)
        if (is_in(places, text_of(p, "name")))
            printf("provider %s: %s\n", text_of(p, "name"),
                   text_of(p, "problem"));
    return json_array_size(places) > 0;
}

/* Of what is said yes to, as the daemon wants to have it back. */
static json_t *config_shown(const json_t *status, const json_t *held)
{
    return json_pack(
        "{s:O?, s:O?, s:O?, s:O?}", "config", json_object_get(held, "config"),
        "head", json_object_get(held, "head"), "providers",
        json_object_get(held, "places"), "machines",
        json_object_get(json_object_get(status, "config"), "ends"));
}

static json_t *ends_shown(const json_t *status, const json_t *held)
{
    (void)status;
    return json_pack("{s:O?, s:O?}", "machines", json_object_get(held, "ends"),
                     "providers", json_object_get(held, "lists"));
}

static bool config_print(const json_t *status, const json_t *nodes,
                         const json_t *held)
{
    const json_t *config = json_object_get(status, "config");
    bool any = *text_of(held, "config") != '\0';

    if (any) {
        printf("%s is held:\n", text_of(config, "path"));
        clauses_print(text_of(config, "problem"));
        ends_print(nodes, json_object_get(config, "ends"));
    }
    any = places_print(status, json_object_get(held, "places")) || any;
    return stops_print(status, "another_head") || any;
}

static bool held_ends_print(const json_t *status, const json_t *nodes,
                            const json_t *held)
{
    bool any = stops_print(status, "ends_held");

    any = stops_print(status, "over_budget") || any;
    if (any)
        ends_print(nodes, json_object_get(held, "ends"));
    return stops_print(status, "list_short") || any;
}

/* What is asked about, how it is shown, and where the word goes. */
struct approval {
    const char *what, *question, *path;
    bool (*show)(const json_t *status, const json_t *nodes, const json_t *held);
    json_t *(*shown)(const json_t *status, const json_t *held);
};

static int approve(const struct approval *a)
{
    json_t *status = NULL, *nodes = NULL, *shown = NULL, *held;
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    rc = client_call(&c, "GET", "/v1/status", NULL, &status);
    if (rc == EXIT_OK)
        rc = client_call(&c, "GET", "/v1/nodes", NULL, &nodes);
    held = json_object_get(status, "held");
    if (rc == EXIT_OK && !c.json && !a->show(status, nodes, held)) {
        printf("no %s held\n", a->what);
        rc = EXIT_NO;
    }
    if (rc == EXIT_OK && !args.yes && !is_agreed(a->question))
        rc = EXIT_NO;
    if (rc == EXIT_OK) {
        shown = a->shown(status, held);
        rc = say(&c, a->path, shown);
    }
    json_decref(shown);
    json_decref(status);
    json_decref(nodes);
    client_done(&c);
    return rc;
}

static int approve_config_run(void)
{
    return approve(&(struct approval){"configuration is",
                                      "It is taken over, and they are ended?",
                                      "/v1/apply", config_print, config_shown});
}

static int approve_ends_run(void)
{
    return approve(&(struct approval){"ends are", "They go on?", "/v1/release",
                                      held_ends_print, ends_shown});
}

static const struct cli_option approve_options[] = {
    {"yes", .flag = &args.yes, .help = "without a question"}, {0}};

static const struct cli_command approve_config = {
    .name = "approve config",
    .help = "a held configuration: what it changes, what it would end",
    .options = approve_options,
    .common = client_options,
    .run = approve_config_run};

static const struct cli_command approve_ends = {
    .name = "approve ends",
    .help = "ends that are too many at once, and lists that are short",
    .options = approve_options,
    .common = client_options,
    .run = approve_ends_run};

static const struct cli_option adopt_words[] = {
    {"NODE", .many = &args.nodes, .takes = TAKES_NODE, .optional = true,
     .help = "which of them"},
    {0}};

static const struct cli_command approve_machines = {
    .name = "approve machines",
    .help = "machines of another daemon or journal are ours from now on",
    .options = approve_options,
    .common = client_options,
    .words = adopt_words,
    .run = adopt_run};

const struct cli_command cli_approve = {
    .name = "approve",
    .help = "shows what is held and what would happen, and asks for your word",
    .subs = (const struct cli_command *const[]){&approve_config, &approve_ends,
                                                &approve_machines, NULL}};

const struct cli_command cli_apply = {
    .name = "apply",
    .help = "puts a held configuration in force",
    .common = client_options,
    .run = apply_run,
    .details = "A configuration is held if it drops or moves a provider with "
               "machines, or if its first plan would end more machines than "
               "limits.max_ends. `davit approve config` shows first what it "
               "would do. Save the old file again to drop it.\n"};

const struct cli_command cli_release = {
    .name = "release",
    .help = "lets held ends go on, and believes lists that are short",
    .common = client_options,
    .run = release_run,
    .details = "Ends are held that nobody confirmed, above limits.max_ends in "
               "ten minutes. Lists are held in which many machines of a "
               "provider are missing at once. `davit approve ends` shows them "
               "first.\n"};

static const struct cli_option adopt_options[] = {
    {"all", .flag = &args.all, .help = "all of them, as without a NODE"},
    {"yes", .flag = &args.yes, .help = "without a question"},
    {0}};

const struct cli_command cli_adopt = {
    .name = "adopt",
    .help = "takes held machines over as ours; without a NODE all of them",
    .options = adopt_options,
    .common = client_options,
    .words = adopt_words,
    .run = adopt_run,
    .details = "Machines of another journal or another daemon are held "
               "(`davit nodes`: not_ours). It shows whose they are and asks. "
               "If another daemon of this cluster runs, they are taken from "
               "it: find out first. From now on they are ended when "
               "idle, like any other.\n"};

static const struct cli_option forget_words[] = {
    {"NODE", .many = &args.nodes, .takes = TAKES_NODE,
     .help = "whose record is dropped"},
    {0}};

const struct cli_command cli_forget = {
    .name = "forget",
    .help = "drops the records of machines, and leaves the machines alone",
    .common = client_options,
    .words = forget_words,
    .run = forget_run,
    .details = "For machines of a provider that is no longer configured, and "
               "launches that nobody answered. What a provider lists comes "
               "back.\n"};
