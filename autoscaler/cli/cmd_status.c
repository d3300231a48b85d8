/*
 * cmd_status.c - status, nodes and why, for people.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "show.h"
#include "watch.h"

/* One GET, printed as it came or as a table. */
static int view(struct client *c, const char *path,
                uint32_t (*print)(const json_t *reply, struct arena *a))
{
    struct arena a = {0};
    json_t *reply;
    int rc = client_call(c, "GET", path, NULL, &reply);

    if (rc != EXIT_OK)
        return rc;
    if (c->json)
        cli_json(reply);
    else
        print(reply, &a);
    json_decref(reply);
    arena_done(&a);
    return EXIT_OK;
}

static int status_run(int argc, char **argv)
{
    struct client c;
    int rc;

    if (!client_open(&c, &argc, argv))
        return EXIT_USAGE;
    if (argc == 2 && strcmp(argv[1], "--watch") == 0)
        rc = watch(&c, NULL, 0);
    else if (argc > 1)
        rc = cli_usage(&cli_status, "unknown word %s", argv[1]);
    else
        rc = view(&c, "/v1/status", status_print);
    client_done(&c);
    return rc;
}

static int nodes_run(int argc, char **argv)
{
    struct client c;
    int rc;

    if (!client_open(&c, &argc, argv))
        return EXIT_USAGE;
    rc = argc > 1 ? cli_usage(&cli_nodes, "unknown word %s", argv[1])
                  : view(&c, "/v1/nodes", nodes_print);
    client_done(&c);
    return rc;
}

static int why_run(int argc, char **argv)
{
    struct arena a = {0};
    struct client c;
    int rc;

    if (!client_open(&c, &argc, argv))
        return EXIT_USAGE;
    rc = argc != 2
             ? cli_usage(&cli_why, "one node or owner is needed")
             : view(&c,
                    arena_printf(&a, "/v1/why/%s", text_encode(&a, argv[1])),
                    why_print);
    arena_done(&a);
    client_done(&c);
    return rc;
}

const struct cli_command cli_status = {
    "status", "[--watch] [--json]",
    "what is, what is asked for, what is planned", status_run,
    "  --watch            repaints until interrupted\n" CLIENT_HELP};

const struct cli_command cli_nodes = {"nodes", "[--json]",
                                      "every node, and why it is kept or ended",
                                      nodes_run, CLIENT_HELP};

const struct cli_command cli_why = {
    "why", "[--json] NODE|OWNER",
    "why a node is there, or why a request is not satisfied", why_run,
    "OWNER \"ray\" is what the Ray head asks for.\n\n" CLIENT_HELP};
