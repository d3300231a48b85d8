/*
 * cmd_marks.c - what a user says of nodes: protect, cordon, drain, and back.
 *
 * Each node is tried, and the first that fails gives the exit code.
 */
#include <stdio.h>

#include "../../base/text.h"
#include "../cli.h"
#include "../client.h"

static struct {
    struct cli_list nodes;
} args;

static const struct cli_option words[] = {
    {"NODE", .many = &args.nodes, .takes = TAKES_NODE,
     .help = "its name, Ray's or the cloud's id of it"},
    {0}};

static int marks_send(const char *method, const char *mark)
{
    struct arena a = {0};
    struct client c;
    int rc = EXIT_OK;

    if (!client_open(&c))
        return EXIT_USAGE;
    for (uint32_t i = 0; i < args.nodes.n; i++) {
        json_t *reply;
        int one = client_call(
            &c, method,
            arena_printf(&a, "/v1/nodes/%s/%s",
                         text_encode(&a, args.nodes.v[i]), mark),
            NULL, &reply);

        rc = rc == EXIT_OK ? one : rc;
        if (one != EXIT_OK)
            continue;
        if (c.json)
            cli_json(reply);
        else
            puts(text_of(reply, "text"));
        json_decref(reply);
    }
    arena_done(&a);
    client_done(&c);
    return rc;
}

static int protect_run(void)
{
    return marks_send("POST", "protect");
}

static int unprotect_run(void)
{
    return marks_send("DELETE", "protect");
}

static int cordon_run(void)
{
    return marks_send("POST", "cordon");
}

static int uncordon_run(void)
{
    return marks_send("DELETE", "cordon");
}

static int drain_run(void)
{
    return marks_send("POST", "drain");
}

const struct cli_command cli_protect = {
    .name = "protect",
    .help = "forbids to end nodes",
    .common = client_options,
    .words = words,
    .run = protect_run,
    .details = "Whatever the planner, a limit or another user wants: the node "
               "stays until `davit unprotect`. What the cloud takes back, or "
               "somebody ends there, is gone all the same.\n",
    .examples = (const struct cli_example[]){
        {"davit protect t4-1c9e02ab-0", "a machine that is being looked into"},
        {0}}};

const struct cli_command cli_unprotect = {.name = "unprotect",
                                          .help = "allows to end nodes again",
                                          .common = client_options,
                                          .words = words,
                                          .run = unprotect_run};

const struct cli_command cli_cordon = {
    .name = "cordon",
    .help = "plans nothing new onto nodes",
    .common = client_options,
    .words = words,
    .run = cordon_run,
    .details = "What is in use there goes on counting; the rest of it is no "
               "room any more, and others are bought where that is needed. "
               "When it is idle it is ended, like any other. A Kubernetes "
               "node is made unschedulable, as by `kubectl cordon`, until "
               "`davit uncordon`; one that somebody else had cordoned stays "
               "so. Ray has no such thing: it may still start work there, "
               "which keeps the node. `davit drain` is for that.\n",
    .examples = (const struct cli_example[]){
        {"davit cordon t4-1c9e02ab-0", "a machine that is to run empty"}, {0}}};

const struct cli_command cli_uncordon = {
    .name = "uncordon",
    .help = "uses nodes again; a drain that was not accepted yet is taken back",
    .common = client_options,
    .words = words,
    .run = uncordon_run};

const struct cli_command cli_drain = {
    .name = "drain",
    .help = "drains nodes and ends them",
    .common = client_options,
    .words = words,
    .run = drain_run,
    .details =
        "As Davit drains what must go: Ray is asked with a reason that it "
        "cannot refuse, pods are evicted as their budgets allow. What ran "
        "there is placed elsewhere, also when that has to be bought. A "
        "protected node is not drained.\n",
    .examples = (const struct cli_example[]){
        {"davit drain t4-1c9e02ab-0", "a machine that misbehaves"}, {0}}};
