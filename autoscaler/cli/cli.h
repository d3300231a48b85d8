/*
 * cli.h - the commands of the one binary.
 *
 * A command gets the words after its name and returns the exit code.  Exit
 * codes are part of the interface: docs/cli.md lists them.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>

#include "../base/arena.h"
#include "../model/snapshot.h"

struct config;

enum {
    EXIT_OK = 0,
    EXIT_NO = 1,    /* understood, and the answer is no (infeasible ...) */
    EXIT_USAGE = 2, /* the command line */
    EXIT_INPUT = 3, /* a file or a value is wrong; reported with its place */
    EXIT_NO_DAEMON = 4, /* nobody answers at the address */
    EXIT_REFUSED = 5,   /* the daemon or a provider refused or failed */
};

struct cli_command {
    const char *name, *args, *help;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
    const char *details;               /* shown by `davit help NAME` */
};

extern const struct cli_command cli_run, cli_plan, cli_request, cli_status,
    cli_nodes, cli_why, cli_validate, cli_doctor, cli_providers, cli_catalogue,
    cli_journal, cli_sidecar, cli_simulate, cli_version, cli_apply, cli_release,
    cli_adopt, cli_forget, cli_token;

/* Prints the command's usage to stderr after a message; EXIT_USAGE. */
int cli_usage(const struct cli_command *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a file of at most 256 MiB; "-" is standard input.  The text is in the
 * arena, NUL-terminated. */
enum status cli_read(const char *path, struct arena *a, char **ret, size_t *n,
                     struct err *err);
/* A configuration; NULL after its mistakes were printed to stderr. */
struct config *cli_config(const char *path);
/* A reply for programs, on standard output. */
void cli_json(const json_t *v);

#endif
