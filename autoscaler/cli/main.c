/*
 * main.c - picks the command.
 */
#include <stdio.h>
#include <string.h>

#include "../base/harden.h"
#include "cli.h"
#include "line/help.h"
#include "line/parse.h"
#include "terminal.h"

static bool asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help(int argc, char **argv)
{
    const struct cli_command *c;
    char *words[] = {NULL, "--help"};
    int used;

    if (argc < 2 || asks_help(argv[1])) {
        help_list(stdout);
        return EXIT_OK;
    }
    /* "help journal" is of all its commands. */
    words[0] = argv[1];
    if (argc > 2)
        words[1] = argv[2];
    c = cli_find(2, words, &used);
    if (!c)
        return EXIT_USAGE;
    help_command(stdout, c);
    return EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
    const struct cli_command *c;
    int used, rc;

    if (argc < 2) {
        help_list(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (asks_help(argv[1]))
        return help(1, argv + 1);
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = "version";
    c = cli_find(argc - 1, argv + 1, &used);
    if (!c)
        return EXIT_USAGE;
    rc = c->subs ? CLI_ASKS_HELP : cli_parse(c, argc - used, argv + used);
    if (rc == CLI_ASKS_HELP) {
        help_command(stdout, c);
        return EXIT_OK;
    }
    return rc == EXIT_OK ? c->run() : rc;
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
