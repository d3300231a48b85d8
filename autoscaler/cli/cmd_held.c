/*
 * cmd_held.c - a person's word on what is held: apply, release, adopt, forget.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/text.h"
#include "client.h"

/* One POST, its text printed. */
static int say(struct client *c, const char *path)
{
    json_t *reply;
    int rc = client_call(c, "POST", path, NULL, &reply);

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
        int rc = say(c, arena_printf(&a, "/v1/nodes/%s/%s",
                                     text_encode(&a, nodes->v[i]), what));

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
    rc = say(&c, path);
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

static size_t held_print(const json_t *nodes)
{
    const json_t *n;
    size_t i, held = 0;

    json_array_foreach(json_object_get(nodes, "nodes"), i, n) {
        if (!is_asked_for(n) || held++ >= LISTED_MAX)
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

static int adopt_ask(struct client *c)
{
    json_t *nodes = NULL, *status = NULL;
    int rc = client_call(c, "GET", "/v1/nodes", NULL, &nodes);
    bool copied;
    size_t held;

    if (rc == EXIT_OK)
        rc = client_call(c, "GET", "/v1/status", NULL, &status);
    if (rc == EXIT_OK) {
        copied = !args.nodes.n && stops_print(status, "journal_copied");
        stops_print(status, "machines_held");
        stops_print(status, "machines_unjoined");
        held = held_print(nodes);
        /* Nothing: the daemon says so. */
        if (copied &&
            !is_agreed("The other daemon of this journal is stopped?"))
            rc = EXIT_NO;
        else if (held &&
                 !is_agreed("They are ours from now on, and ended when idle?"))
            rc = EXIT_NO;
    }
    json_decref(nodes);
    json_decref(status);
    return rc;
}

static int adopt_run(void)
{
    struct client c;
    int rc;

    if (args.all && args.nodes.n)
        return cli_usage(&cli_adopt, "--all, or some nodes");
    if (!client_open(&c))
        return EXIT_USAGE;
    rc = args.yes ? EXIT_OK : adopt_ask(&c);
    if (rc == EXIT_OK)
        rc = args.nodes.n ? say_each(&c, &args.nodes, "adopt")
                          : say(&c, "/v1/adopt");
    client_done(&c);
    return rc;
}

static int forget_run(void)
{
    return say_of_nodes("forget");
}

const struct cli_command cli_apply = {
    .name = "apply",
    .help = "takes a configuration over that is held",
    .common = client_options,
    .run = apply_run,
    .details = "Held is one that drops a provider with machines or moves it, "
               "or whose first plan would end more machines than "
               "limits.max_ends; `davit status` shows what it would do. The "
               "old file, saved again, drops it.\n"};

const struct cli_command cli_release = {
    .name = "release",
    .help = "lets ends go on that are held, and short lists",
    .common = client_options,
    .run = release_run,
    .details = "Held are ends that nobody confirmed, above limits.max_ends in "
               "ten minutes, and lists of a provider in which many machines "
               "are missing at once.\n"};

static const struct cli_option adopt_options[] = {
    {"all", .flag = &args.all, .help = "all of them, as without a NODE"},
    {"yes", .flag = &args.yes, .help = "without a question"},
    {0}};

static const struct cli_option adopt_words[] = {
    {"NODE", .many = &args.nodes, .takes = TAKES_NODE, .optional = true,
     .help = "which of them"},
    {0}};

const struct cli_command cli_adopt = {
    .name = "adopt",
    .help = "says that held machines are ours, all without a NODE",
    .options = adopt_options,
    .common = client_options,
    .words = adopt_words,
    .run = adopt_run,
    .details = "Held are machines of another journal or another daemon "
               "(`davit nodes`: not_ours). It shows whose they are and asks. "
               "If another daemon of this cluster runs, they are taken from "
               "it: find out first. From now on they are ended when "
               "idle, without a demand source as many at once as "
               "limits.max_ends lets go.\n"};

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
