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
static int say_each(struct client *c, char **nodes, int n, const char *what)
{
    struct arena a = {0};
    int worst = EXIT_OK;

    for (int i = 0; i < n; i++) {
        int rc = say(c, arena_printf(&a, "/v1/nodes/%s/%s",
                                     text_encode(&a, nodes[i]), what));

        worst = worst == EXIT_OK ? rc : worst;
    }
    arena_done(&a);
    return worst;
}

static int no_words(int argc, char **argv, const struct cli_command *cmd,
                    const char *path)
{
    struct client c;
    int rc;

    if (!client_open(&c, &argc, argv))
        return EXIT_USAGE;
    rc = argc > 1 ? cli_usage(cmd, "unknown word %s", argv[1]) : say(&c, path);
    client_done(&c);
    return rc;
}

static int apply_run(int argc, char **argv)
{
    return no_words(argc, argv, &cli_apply, "/v1/apply");
}

static int release_run(int argc, char **argv)
{
    return no_words(argc, argv, &cli_release, "/v1/release");
}

/* A word that begins with a dash is no node. */
static const char *option_in(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-')
            return argv[i];
    return NULL;
}

static int adopt_run(int argc, char **argv)
{
    const char *unknown;
    struct client c;
    bool all;
    int rc;

    if (!client_open(&c, &argc, argv))
        return EXIT_USAGE;
    all = argc == 1 || (argc == 2 && strcmp(argv[1], "--all") == 0);
    unknown = all ? NULL : option_in(argc, argv);
    rc = unknown ? cli_usage(&cli_adopt, "%s does not go here", unknown)
         : all   ? say(&c, "/v1/adopt")
                 : say_each(&c, argv + 1, argc - 1, "adopt");
    client_done(&c);
    return rc;
}

static int forget_run(int argc, char **argv)
{
    const char *unknown;
    struct client c;
    int rc;

    if (!client_open(&c, &argc, argv))
        return EXIT_USAGE;
    unknown = option_in(argc, argv);
    rc = unknown    ? cli_usage(&cli_forget, "%s does not go here", unknown)
         : argc < 2 ? cli_usage(&cli_forget, "at least one node is needed")
                    : say_each(&c, argv + 1, argc - 1, "forget");
    client_done(&c);
    return rc;
}

const struct cli_command cli_apply = {
    "apply", "[--json]", "takes a configuration over that is held", apply_run,
    "Held is one that drops a provider with machines or moves it, or whose first\n"
    "plan would end more machines than limits.max_ends; `davit status` shows what\n"
    "it would do. The old file, saved again, drops it.\n\n" CLIENT_HELP};

const struct cli_command cli_release = {
    "release", "[--json]", "lets ends go on that are held, and short lists",
    release_run,
    "Held are ends that nobody confirmed, above limits.max_ends in ten minutes, and\n"
    "lists of a provider in which many machines are missing at once.\n\n" CLIENT_HELP};

const struct cli_command cli_adopt = {
    "adopt", "[--json] [NODE... | --all]",
    "says that held machines are ours, all without a NODE", adopt_run,
    "Held are machines of another journal or another daemon (`davit nodes`: "
    "not_ours).\n"
    "From now on they are ended when idle, as any other.\n\n" CLIENT_HELP};

const struct cli_command cli_forget = {
    "forget", "[--json] NODE...",
    "drops the records of machines, and leaves the machines alone", forget_run,
    "For machines of a provider that is no longer configured, and launches that\n"
    "nobody answered. What a provider lists comes back.\n\n" CLIENT_HELP};
