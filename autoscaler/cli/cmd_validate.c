/*
 * cmd_validate.c - is this file a configuration, and do its plug-ins agree?
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "../cloud/cloud.h"
#include "cli.h"

static const char *const dialects[] = {"davit", "Ray cluster YAML",
                                       "podTypes list", "KubeRay RayCluster"};

/* Providers whose plug-in is here check their own options; one that is not
 * here is worth a warning, for the file may be meant for another machine.  A
 * plug-in named by its path must be there. */
static bool providers_check(const struct config *conf, struct buf *errors,
                            struct buf *warnings)
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
            buf_printf(warnings, "warning: %s", one.s);
        else {
            buf_str(errors, one.s);
            good = false;
        }
        buf_done(&one);
    }
    return good;
}

/* Messages, one a line, as a list. */
static json_t *lines_json(const char *text)
{
    json_t *v = json_array();

    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n)
            json_array_append_new(v, json_stringn(text, n));
        text += n + (text[n] == '\n');
    }
    return v;
}

static void tell_json(const char *path, const struct config *conf, bool good,
                      const struct buf *errors, const struct buf *warnings)
{
    json_t *o = json_pack("{sssbsoso}", "file", path, "valid", (int)good,
                          "errors", lines_json(errors->s), "warnings",
                          lines_json(warnings->s));

    if (conf) {
        json_object_set_new(o, "dialect", json_string(dialects[conf->dialect]));
        json_object_set_new(o, "node_types", json_integer(conf->n_types));
        json_object_set_new(o, "providers", json_integer(conf->n_providers));
    }
    json_dumpf(o, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(o);
}

static void tell_people(const char *path, const struct config *conf, bool good,
                        const struct buf *errors, const struct buf *warnings)
{
    fputs(warnings->s, stderr);
    fputs(errors->s, stderr);
    if (good)
        printf("%s: valid (%s), %u node types, %u providers\n", path,
               dialects[conf->dialect], conf->n_types, conf->n_providers);
}

static int run(int argc, char **argv)
{
    struct config *conf = NULL;
    struct buf errors, warnings;
    const char *path = NULL;
    bool good, json = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (path || (argv[i][0] == '-' && argv[i][1]))
            return cli_usage(&cli_validate, "one file is needed");
        else
            path = argv[i];
    }
    if (!path)
        return cli_usage(&cli_validate, "one file is needed");
    buf_init(&errors, 1 << 20);
    buf_init(&warnings, 1 << 20);
    good = config_load(path, &conf, &errors) == ST_OK;
    if (!good)
        conf = NULL;
    if (good) {
        good = providers_check(conf, &errors, &warnings);
        for (uint32_t i = 0; i < conf->n_warnings; i++)
            buf_printf(&warnings, "warning: %s\n", conf->warnings[i]);
    }
    (json ? tell_json : tell_people)(path, conf, good, &errors, &warnings);
    config_free(conf);
    buf_done(&errors);
    buf_done(&warnings);
    return good ? EXIT_OK : EXIT_INPUT;
}

const struct cli_command cli_validate = {
    "validate", "[--json] FILE", "checks a configuration and tells every mistake", run,
    "Davit's own YAML, a Ray cluster YAML (available_node_types), a podTypes\n"
    "list or a KubeRay RayCluster manifest.  Each mistake is told with file,\n"
    "line and column.\n"};
