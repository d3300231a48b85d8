/*
 * cmd_providers.c - the plug-ins that are found, and their options; and the
 * version of this binary.
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "../cloud/cloud.h"
#include "cli.h"

struct listing {
    json_t *json;
    uint32_t n, broken;
};

static void print_one(const struct plugin_info *i)
{
    printf("%s %s  (%s)\n", i->name, i->version, i->path);
    for (const struct davit_kv *o = i->options; o && o->key; o++)
        printf("  %-24s %s\n", o->key, o->value);
}

static void each(void *arg, const struct plugin_info *i, const char *path,
                 const char *problem)
{
    struct listing *l = arg;
    json_t *o, *options;

    l->n++;
    l->broken += !i;
    if (!l->json) {
        if (i)
            print_one(i);
        else
            fprintf(stderr, "%s: %s\n", path, problem);
        return;
    }
    if (!i) {
        json_array_append_new(
            l->json, json_pack("{ssss}", "path", path, "problem", problem));
        return;
    }
    options = json_object();
    for (const struct davit_kv *k = i->options; k && k->key; k++)
        json_object_set_new(options, k->key, json_string(k->value));
    o = json_pack("{ssssssso}", "name", i->name, "version", i->version, "path",
                  path, "options", options);
    json_array_append_new(l->json, o);
}

static struct {
    const char *dir;
    bool json;
} args = {.dir = ""};

static int run(void)
{
    struct listing l = {.json = args.json ? json_array() : NULL};

    plugins_each(args.dir, each, &l);
    if (l.json) {
        cli_json(l.json);
        json_decref(l.json);
    }
    return l.n && !l.broken ? EXIT_OK : EXIT_NO;
}

static const struct cli_option options[] = {
    {"json", 'j', .flag = &args.json, .help = "for programs"}, {0}};

static const struct cli_option words[] = {
    {"DIR", .text = &args.dir, .takes = TAKES_FOLDER, .optional = true,
     .help = "looked into first"},
    {0}};

const struct cli_command cli_providers = {
    .name = "providers",
    .help = "lists the provider plug-ins found",
    .options = options,
    .words = words,
    .run = run,
    .details = "Looked for as davit-NAME.so in DIR, $DAVIT_PLUGIN_DIR, "
               "plugins/ and ../lib/davit beside the binary, and the "
               "directory compiled in. "
               "The exit code is 1 when there is none, or one that cannot be "
               "loaded.\n"};

static int version(void)
{
    printf(args.json ? "{\"version\":\"%s\",\"plugin_abi\":1}\n" : "davit %s\n",
           DAVIT_VERSION);
    return EXIT_OK;
}

const struct cli_command cli_version = {.name = "version",
                                        .help = "prints the version",
                                        .options = options,
                                        .run = version};
