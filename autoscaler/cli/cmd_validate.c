/*
 * cmd_validate.c - is this file a configuration, and do its plug-ins agree?
 */
#include <stdio.h>
#include <string.h>

#include "../cloud/cloud.h"
#include "cli.h"

static const char *const dialects[] = {"davit", "Ray cluster YAML",
                                       "podTypes list", "KubeRay RayCluster"};

/* Providers whose plug-in is here check their own options; one that is not
 * here is worth a warning, for the file may be meant for another machine.  A
 * plug-in named by its path must be there. */
static bool providers_check(const struct config *conf, struct buf *errors)
{
    bool good = true;

    for (uint32_t i = 0; i < conf->n_providers; i++) {
        struct provider *p;
        struct buf one;
        enum status s;

        buf_init(&one, 1 << 20);
        s = provider_open(conf, &conf->providers[i], &p, &one);
        if (s == ST_OK)
            provider_close(p);
        else if (s == ST_NOT_FOUND && !*conf->providers[i].plugin)
            fprintf(stderr, "warning: %s", one.s);
        else {
            buf_str(errors, one.s);
            good = false;
        }
        buf_done(&one);
    }
    return good;
}

static int run(int argc, char **argv)
{
    struct config *conf;
    struct buf errors;
    bool good;

    if (argc != 2)
        return cli_usage(&cli_validate, "one file is needed");
    buf_init(&errors, 1 << 20);
    good = config_load(argv[1], &conf, &errors) == ST_OK;
    if (good) {
        good = providers_check(conf, &errors);
        for (uint32_t i = 0; i < conf->n_warnings; i++)
            fprintf(stderr, "warning: %s\n", conf->warnings[i]);
        if (good)
            printf("%s: valid (%s), %u node types, %u providers\n", argv[1],
                   dialects[conf->dialect], conf->n_types, conf->n_providers);
        config_free(conf);
    }
    fputs(errors.s, stderr);
    buf_done(&errors);
    return good ? EXIT_OK : EXIT_INPUT;
}

const struct cli_command cli_validate = {
    "validate", "FILE", "checks a configuration and tells every mistake", run,
    "Davit's own YAML, a Ray cluster YAML (available_node_types), a podTypes\n"
    "list or a KubeRay RayCluster manifest.  Each mistake is told with file,\n"
    "line and column.\n"};
