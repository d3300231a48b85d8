/*
 * main.c - picks the command.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../base/harden.h"
#include "cli.h"
#include "terminal.h"

static const struct cli_command *const commands[] = {
    &cli_run,      &cli_plan,     &cli_request,   &cli_status,    &cli_nodes,
    &cli_why,      &cli_apply,    &cli_release,   &cli_adopt,     &cli_forget,
    &cli_validate, &cli_doctor,   &cli_providers, &cli_catalogue, &cli_journal,
    &cli_sidecar,  &cli_simulate, &cli_token,     &cli_version,
};

#define COUNT(v) (sizeof(v) / sizeof *(v))

static void list(FILE *out)
{
    fprintf(out, "davit - raises and lowers GPU machines\n\n"
                 "usage: davit COMMAND [...]\n\n");
    for (size_t i = 0; i < COUNT(commands); i++)
        fprintf(out, "  %-10s %-36s %s\n", commands[i]->name, commands[i]->args,
                commands[i]->help);
    fprintf(out, "\n`davit help COMMAND` says more.\n");
}

static const struct cli_command *find(const char *name)
{
    for (size_t i = 0; i < COUNT(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void describe(FILE *out, const struct cli_command *c)
{
    fprintf(out, "usage: davit %s %s\n\n%s.\n%s%s", c->name, c->args, c->help,
            c->details ? "\n" : "", c->details ? c->details : "");
}

int cli_usage(const struct cli_command *c, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "davit %s: ", c->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nusage: davit %s %s\n", c->name, c->args);
    return EXIT_USAGE;
}

static int unknown(const char *name)
{
    fprintf(stderr, "davit: there is no command \"%s\"\n\n", name);
    list(stderr);
    return EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
    const struct cli_command *c;

    if (argc < 2 || strcmp(argv[1], "help") == 0 ||
        strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        if (argc > 2)
            return (c = find(argv[2])) ? describe(stdout, c),
                   EXIT_OK             : unknown(argv[2]);
        list(argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0)
        return cli_version.run(1, argv + 1);
    c = find(argv[1]);
    if (!c)
        return unknown(argv[1]);
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            describe(stdout, c);
            return EXIT_OK;
        }
    return c->run(argc - 1, argv + 1);
}

/* KubeRay starts its autoscaler as `ray kuberay-autoscaler`: in our image
 * `ray` is a link to this program, which is no Ray in any other way. */
static int as_ray(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], cli_sidecar.name) == 0)
        return dispatch(argc, argv);
    fprintf(
        stderr,
        "ray: this is Davit in the place of Ray's autoscaler; it does `ray %s "
        "--cluster-name X --cluster-namespace Y` and nothing else%s%s. Ray "
        "itself is in the containers of the head and the workers.\n",
        cli_sidecar.name, argc > 1 ? ", not " : "", argc > 1 ? argv[1] : "");
    return EXIT_USAGE;
}

static bool called_ray(const char *name)
{
    const char *slash = strrchr(name ? name : "", '/');

    return strcmp(slash ? slash + 1 : name ? name : "", "ray") == 0;
}

int main(int argc, char **argv)
{
    int rc;

    harden();
    terminal_open();
    rc = called_ray(argv[0]) ? as_ray(argc, argv) : dispatch(argc, argv);
    /* What could not be written did not reach anybody. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && rc == EXIT_OK) {
        fprintf(stderr, "davit: the output could not be written\n");
        rc = EXIT_REFUSED;
    }
    return rc;
}
