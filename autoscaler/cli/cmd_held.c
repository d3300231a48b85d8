/*
 * cmd_held.c - a person's word on what is held: apply, release, adopt, forget.
 */
#include <stdio.h>
#include <string.h>

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
    bool all;
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

static int adopt_run(void)
{
    if (args.all && args.nodes.n)
        return cli_usage(&cli_adopt, "--all, or some nodes");
    return args.nodes.n ? say_of_nodes("adopt") : say_once("/v1/adopt");
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
    {"all", .flag = &args.all, .help = "all of them, as without a NODE"}, {0}};

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
               "(`davit nodes`: not_ours). From now on they are ended when "
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
