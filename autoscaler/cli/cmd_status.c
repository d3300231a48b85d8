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

static struct {
    bool watch;
    const char *name;
} args;

/* ---- status */

static const struct cli_option status_options[] = {
    {"watch", 'w', .flag = &args.watch, .help = "repaints until interrupted"},
    {0}};

static int status_run(void)
{
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    rc = args.watch ? watch(&c, NULL, 0) : view(&c, "/v1/status", status_print);
    client_done(&c);
    return rc;
}

const struct cli_command cli_status = {
    .name = "status",
    .help = "what is, what is asked for, what is planned",
    .options = status_options,
    .common = client_options,
    .run = status_run};

/* ---- nodes */

static int nodes_run(void)
{
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    rc = view(&c, "/v1/nodes", nodes_print);
    client_done(&c);
    return rc;
}

const struct cli_command cli_nodes = {
    .name = "nodes",
    .help = "every node, and why it is kept or ended",
    .common = client_options,
    .run = nodes_run};

/* ---- why */

static const struct cli_option why_words[] = {
    {"NODE|OWNER", .text = &args.name, .takes = TAKES_SUBJECT,
     .help = "a node's name, or whose request it is; the owner \"ray\" is "
             "what the Ray head asks for"},
    {0}};

static int why_run(void)
{
    struct arena a = {0};
    struct client c;
    int rc;

    if (!client_open(&c))
        return EXIT_USAGE;
    rc = view(&c, arena_printf(&a, "/v1/why/%s", text_encode(&a, args.name)),
              why_print);
    arena_done(&a);
    client_done(&c);
    return rc;
}

const struct cli_command cli_why = {
    .name = "why",
    .help = "why a node is there, or why a request is not satisfied",
    .common = client_options,
    .words = why_words,
    .run = why_run,
    .examples = (const struct cli_example[]){
        {"davit why ray", "what Ray's work waits for"}, {0}}};
