/*
 * cmd_validate.c - is this file a configuration, and do its plug-ins agree?
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "../cloud/cloud.h"
#include "../config/catalogue.h"
#include "cli.h"

static const char *const dialects[] = {"davit", "Ray cluster YAML",
                                       "podTypes list", "KubeRay RayCluster"};

struct verdict {
    const char *path, *kind;
    uint32_t n_types, n_providers;
    bool plugins; /* load those that the file names */
    struct buf errors, plugin_errors, warnings; /* a line each */
};

/* Is there a mistake already on the line that this one begins with? */
static bool line_known(const struct buf *errors, const char *line)
{
    const char *row = strchr(line, ':'),
               *end = row ? strchr(row + 1, ':') : NULL;
    size_t n = end ? (size_t)(end - line) + 1 : 0;

    for (const char *p = errors->s; n && p && *p; p = strchr(p, '\n') + 1)
        if (strncmp(p, line, n) == 0)
            return true;
    return false;
}

/* What a plug-in says of lines that are wrong anyway would only follow from
 * that. */
static void mistakes_take(struct verdict *v, char *lines)
{
    char *save = NULL;

    for (char *line = strtok_r(lines, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (!line_known(&v->errors, line))
            buf_printf(&v->plugin_errors, "%s\n", line);
}

/* Providers whose plug-in is here check their own options.  One of ours that is
 * not here is worth a warning, for the file may be meant for another machine. */
static void provider_check(const struct config *conf, bool folder_skipped,
                           const struct conf_provider *p, struct verdict *v)
{
    const char *plugin = *p->plugin ? p->plugin : p->name;
    struct provider *opened;
    struct buf one;
    enum status s;

    buf_init(&one, 1 << 20);
    s = provider_open(conf, p, &opened, &one);
    if (s == ST_OK)
        provider_close(opened);
    else if (s == ST_NOT_FOUND && (provider_shipped(plugin) || folder_skipped))
        buf_str(&v->warnings, one.s);
    else
        mistakes_take(v, one.s);
    buf_done(&one);
}

/* A stranger's file must not choose the code that judges it: a plug-in that it
 * brings by path, or by a folder of its own, is not loaded unless asked for. */
static void providers_check(const struct config *conf, struct verdict *v)
{
    struct config trusted = *conf;

    if (!v->plugins) {
        trusted.plugin_dir = "";
        if (*conf->plugin_dir)
            buf_printf(&v->warnings,
                       "%s: plugin_dir %s is not looked at; --plugins does, "
                       "and runs code that is there\n",
                       v->path, conf->plugin_dir);
    }
    for (uint32_t i = 0; i < conf->n_providers; i++) {
        const struct conf_provider *p = &conf->providers[i];

        if (v->plugins || !provider_names_file(p))
            provider_check(&trusted, !v->plugins && *conf->plugin_dir, p, v);
        else
            buf_printf(&v->warnings,
                       "%s:%u:%u: provider %s: its options are not checked: "
                       "--plugins loads %s, which runs its code\n",
                       v->path, p->line, p->column, p->name, p->plugin);
    }
}

/* Is there a line that says the schema of a catalogue? */
static bool is_catalogue(const char *text)
{
    static const char says[] = "schema: davit-catalogue/";

    return strncmp(text, says, sizeof says - 1) == 0 ||
           strstr(text, "\nschema: davit-catalogue/");
}

static void catalogue_judge(struct verdict *v)
{
    struct arena a = {0};
    struct catalogue *c;

    v->kind = "machine catalogue";
    catalogue_load(&a, v->path, &c, &v->errors);
    arena_done(&a);
}

static void config_check(struct verdict *v, const char *text, size_t n)
{
    struct config *conf;
    bool good = config_judge(v->path, text, n, &conf, &v->errors) == ST_OK;

    if (!conf)
        return;
    providers_check(conf, v);
    buf_str(&v->errors, v->plugin_errors.s);
    for (uint32_t i = 0; i < conf->n_warnings; i++)
        buf_printf(&v->warnings, "%s\n", conf->warnings[i]);
    if (good)
        v->kind = dialects[conf->dialect];
    v->n_types = conf->n_types;
    v->n_providers = conf->n_providers;
    config_free(conf);
}

static void judge(struct verdict *v)
{
    struct arena a = {0};
    struct err err;
    char *text;
    size_t n;

    if (cli_read(v->path, &a, &text, &n, &err) != ST_OK)
        buf_printf(&v->errors, "%s\n", err.text);
    else if (strcmp(v->path, "-") != 0 && is_catalogue(text))
        catalogue_judge(v);
    else
        config_check(v, text, n);
    arena_done(&a);
}

/* "FILE:3:7: text" as an object; a line of another form is all text. */
static json_t *remark(const char *line, size_t n)
{
    json_t *o = json_object();

    for (const char *p = memchr(line, ':', n); p && p < line + n;
         p = memchr(p + 1, ':', (size_t)(line + n - p - 1))) {
        unsigned row, column;
        int used = 0;

        if (sscanf(p, ":%u:%u: %n", &row, &column, &used) != 2 || !used)
            continue;
        json_object_set_new(o, "file", json_stringn(line, (size_t)(p - line)));
        json_object_set_new(o, "line", json_integer(row));
        json_object_set_new(o, "column", json_integer(column));
        n -= (size_t)(p + used - line);
        line = p + used;
        break;
    }
    json_object_set_new(o, "text", json_stringn(line, n));
    return o;
}

static json_t *remarks(const struct buf *lines)
{
    json_t *list = json_array();
    size_t n;

    for (const char *p = lines->s; p && *p; p += n + (p[n] == '\n')) {
        n = strcspn(p, "\n");
        json_array_append_new(list, remark(p, n));
    }
    return list;
}

static json_t *verdict_json(const struct verdict *v)
{
    json_t *o = json_pack("{ss sb so so}", "file", v->path, "valid",
                          !v->errors.n, "errors", remarks(&v->errors),
                          "warnings", remarks(&v->warnings));

    if (v->kind) {
        json_object_set_new(o, "kind", json_string(v->kind));
        json_object_set_new(o, "node_types", json_integer(v->n_types));
        json_object_set_new(o, "providers", json_integer(v->n_providers));
    }
    return o;
}

static void print_people(const struct verdict *v)
{
    size_t n;

    for (const char *p = v->warnings.s; p && *p; p += n + (p[n] == '\n')) {
        n = strcspn(p, "\n");
        fprintf(stderr, "warning: %.*s\n", (int)n, p);
    }
    if (v->errors.n)
        fputs(v->errors.s, stderr);
    else if (v->n_types || v->n_providers)
        printf("%s: valid (%s), %u node type%s, %u provider%s\n", v->path,
               v->kind, v->n_types, v->n_types == 1 ? "" : "s", v->n_providers,
               v->n_providers == 1 ? "" : "s");
    else
        printf("%s: valid (%s)\n", v->path, v->kind);
}

static struct {
    struct cli_list files;
    bool json, plugins;
} args;

/* Adds the file's verdict to the list, or prints it; is it valid? */
static bool file_judge(const char *path, bool plugins, json_t *list)
{
    struct verdict v = {.path = path, .plugins = plugins};
    bool valid;

    buf_init(&v.errors, 1 << 20);
    buf_init(&v.plugin_errors, 1 << 20);
    buf_init(&v.warnings, 1 << 20);
    judge(&v);
    if (list)
        json_array_append_new(list, verdict_json(&v));
    else
        print_people(&v);
    valid = !v.errors.n;
    buf_done(&v.errors);
    buf_done(&v.plugin_errors);
    buf_done(&v.warnings);
    return valid;
}

/* One file's verdict alone, several in a list. */
static void print_json(json_t *list, bool valid)
{
    json_t *all;

    if (json_array_size(list) == 1) {
        cli_json(json_array_get(list, 0));
        return;
    }
    all = json_pack("{s:b,s:O}", "valid", valid, "files", list);
    cli_json(all);
    json_decref(all);
}

static int run(void)
{
    json_t *list = args.json ? json_array() : NULL;
    bool valid = true;

    for (uint32_t i = 0; i < args.files.n; i++)
        valid = file_judge(args.files.v[i], args.plugins, list) && valid;
    if (args.json)
        print_json(list, valid);
    json_decref(list);
    return valid ? EXIT_OK : EXIT_INPUT;
}

static const struct cli_option options[] = {
    {"json", 'j', .flag = &args.json, .help = "for programs"},
    {"plugins", .flag = &args.plugins,
     .help = "also loads plug-ins that the file brings by path or plugin_dir: "
             "for files that you trust, for this runs their code"},
    {0}};

static const struct cli_option words[] = {
    {"FILE", .many = &args.files, .takes = TAKES_FILE,
     .help = "configurations; - is standard input"},
    {0}};

const struct cli_command cli_validate = {
    .name = "validate",
    .help = "checks configurations and reports every mistake",
    .options = options,
    .words = words,
    .run = run,
    .details =
        "Davit's own YAML, a Ray cluster YAML (available_node_types), a "
        "podTypes list, a KubeRay RayCluster manifest, or a machine catalogue. "
        "Each mistake is reported with file, line and column: all that `davit "
        "run` would refuse, in one run, of the file and of all plug-ins.\n"};
