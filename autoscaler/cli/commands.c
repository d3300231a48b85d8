/*
 * commands.c - all commands, in the order of `davit help`.
 */
#include "cli.h"

const struct cli_entry cli_entries[] = {
    {"The daemon", &cli_init},
    {"The daemon", &cli_run},
    {"The daemon", &cli_doctor},
    {"The daemon", &cli_sidecar},
    {"What is, and why", &cli_status},
    {"What is, and why", &cli_nodes},
    {"What is, and why", &cli_why},
    {"Requests and decisions", &cli_request},
    {"Requests and decisions", &cli_apply},
    {"Requests and decisions", &cli_release},
    {"Requests and decisions", &cli_adopt},
    {"Requests and decisions", &cli_forget},
    {"Without a daemon", &cli_validate},
    {"Without a daemon", &cli_settings},
    {"Without a daemon", &cli_plan},
    {"Without a daemon", &cli_simulate},
    {"Without a daemon", &cli_journal},
    {"Without a daemon", &cli_token},
    {"What is here", &cli_catalogue},
    {"What is here", &cli_providers},
    {"What is here", &cli_completion},
    {"What is here", &cli_version},
    {NULL, &cli_complete},
    {NULL, &cli_man},
    {0},
};
