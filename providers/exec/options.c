/*
 * options.c - the settings of one `exec` provider: what is run, and the
 * greeting it gets, made once at open() so that starting the child again
 * needs nothing of the configuration, which is gone by then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "kit/child_env.h"

#define PROTOCOL 1

extern char **environ;

/* ---- the program */

static int take_command(struct kit_reading *r, const char *rest,
                        const char *value)
{
    struct exec *x = r->into;

    if (rest[0] == '\0' && value[0] != '\0') {
        /* exec: the shell gives its place to the program where it can, so
         * that signals and the end of stdin meet the program itself. */
        kit_list_add(&x->keep, &x->words, "/bin/sh");
        kit_list_add(&x->keep, &x->words, "-c");
        x->shown = kit_keep_text(&x->keep, value);
        x->shown[strcspn(x->shown, " ")] = '\0';
    }
    if (rest[0] != '\0' || value[0] != '\0')
        kit_list_add(&x->keep, &x->words, value);
    return DAVIT_OK;
}

static int check_command(struct exec *x, struct davit_error *e)
{
    const char *base;

    x->argv = x->words.v;
    if (x->words.n == 0 || x->argv[0][0] == '\0')
        return kit_error(e, DAVIT_INVALID, "command",
                         "command is needed: the program to run, as a list "
                         "such as [python3, cloud.py] or as a line for the "
                         "shell");
    if (!x->shown)
        x->shown = kit_keep_text(&x->keep, x->argv[0]);
    base = strrchr(x->shown, '/');
    if (base && base[1] != '\0')
        memmove(x->shown, base + 1, strlen(base));
    return DAVIT_OK;
}

static int take_pass(struct kit_reading *r, const char *rest, const char *value)
{
    return kit_pass_env_read(r, &((struct exec *)r->into)->pass, rest, value);
}

static int take_env(struct kit_reading *r, const char *rest, const char *value)
{
    struct exec *x = r->into;

    if (rest[0] == '\0' || strchr(rest, '='))
        return kit_error(r->error, DAVIT_INVALID, "",
                         "env.%.60s: an environment variable's name is not "
                         "empty and has no =",
                         rest);
    kit_list_add(&x->keep, &x->vars,
                 kit_keep_print(&x->keep, "%s=%s", rest, value));
    return DAVIT_OK;
}

/* The daemon's own behind them, as far as that is a child's business, and but
 * for what they replace. */
static void inherit_env(struct exec *x)
{
    size_t own = x->vars.n;

    for (char **v = environ; v && *v; v++) {
        size_t name = strcspn(*v, "=") + 1;
        bool drop = !kit_child_env_ok(*v, &x->pass);

        for (size_t i = 0; i < own && !drop; i++)
            drop = strncmp(x->vars.v[i], *v, name) == 0;
        if (!drop)
            kit_list_add(&x->keep, &x->vars, *v);
    }
    x->env = x->vars.v;
}

/* ---- the greeting */

/* False when a name or value is not UTF-8. */
static bool put_text(json_t *o, const char *key, const char *value)
{
    return json_object_set_new(o, key, json_string(value)) == 0;
}

static bool put_pairs(json_t *o, const char *name, const struct davit_kv *kv,
                      size_t n, const char *prefix)
{
    json_t *pairs = json_object();
    size_t len = strlen(prefix);
    bool good = true;

    for (size_t i = 0; i < n; i++)
        if (strncmp(kv[i].key, prefix, len) == 0 && kv[i].key[len] != '\0')
            good = put_text(pairs, kv[i].key + len, kv[i].value) && good;
    json_object_set_new(o, name, pairs);
    return good;
}

static json_t *type_json(const struct davit_node_type *t)
{
    json_t *o = json_object(), *zones = json_array();
    bool good = put_text(o, "name", t->name) && put_text(o, "pool", t->pool) &&
                put_text(o, "machine", t->machine) &&
                put_pairs(o, "resources", t->resources, t->n_resources, "") &&
                put_pairs(o, "labels", t->labels, t->n_labels, "") &&
                put_pairs(o, "options", t->options, t->n_options, "");

    for (size_t i = 0; i < t->n_zones; i++)
        good = json_array_append_new(zones, json_string(t->zones[i])) == 0 &&
               good;
    json_object_set_new(o, "zones", zones);
    json_object_set_new(o, "min", json_integer(t->min));
    json_object_set_new(
        o, "max", t->max == UINT32_MAX ? json_null() : json_integer(t->max));
    json_object_set_new(o, "spot", json_boolean(t->spot));
    if (good)
        return o;
    json_decref(o);
    return NULL;
}

static int make_hello(struct exec *x, const struct davit_setup *s,
                      struct davit_error *e)
{
    json_t *o = json_pack("{ss si}", "op", "hello", "protocol", PROTOCOL);
    json_t *types = json_array();
    const char *wrong = "options";
    bool good = put_text(o, "cluster", s->cluster) &&
                put_text(o, "head", s->head) &&
                put_pairs(o, "options", s->options, s->n_options, "options.");

    for (size_t i = 0; i < s->n_types; i++) {
        bool fine = json_array_append_new(types, type_json(s->types[i])) == 0;

        if (!fine && good)
            wrong = s->types[i]->name;
        good = fine && good;
    }
    json_object_set_new(o, "types", types);
    if (good)
        x->hello = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return x->hello
               ? DAVIT_OK
               : kit_error(e, DAVIT_INVALID, wrong,
                           "%.60s: a name or value handed to the program is "
                           "not UTF-8",
                           wrong);
}

#define AT(field) KIT_AT(struct exec, field)
const struct kit_option exec_options[] = {
    {"command", "the program: a list of its words, or a line for /bin/sh",
     KIT_READ, .read = take_command},
    {"cwd", "directory it runs in; else the daemon's", KIT_TEXT, AT(cwd)},
    {"env.*", "its environment: env.NAME: value", KIT_READ, .read = take_env},
    {"pass_env.*",
     "variables of the daemon's environment that it gets too: names, AWS_*",
     KIT_READ, .read = take_pass},
    {"pass_env", "the same, one name", KIT_READ, .read = take_pass},
    {"timeout", "the most one request may take; else the daemon's own limits",
     KIT_DURATION, AT(timeout_ms)},
    {"grace",
     "how long it has to wind up: past a deadline, after its stdin is closed, "
     "after SIGTERM",
     KIT_DURATION, AT(grace_ms), .fallback = "2s", .min = 1, .max = 10000},
    {"settle", "how long its list may lag a launch", KIT_DURATION,
     AT(settle_ms), .fallback = "30s", .max = 3600000},
    {"max_reply", "bytes of one whole answer", KIT_NUMBER, AT(max_reply),
     .fallback = "67108864", .min = 1024, .max = 1 << 30},
    {"options.*", "handed to the program as they are", KIT_READ, .read = NULL},
    {"types.*", "handed to the program with the node type", KIT_READ,
     .read = NULL},
    {0},
};

int options_read(struct exec *x, const struct davit_setup *s,
                 struct davit_error *e)
{
    int status = kit_options_read(exec_options, s->options, s->n_options, NULL,
                                  x, &x->keep, e);

    if (status == DAVIT_OK)
        status = check_command(x, e);
    inherit_env(x);
    return status == DAVIT_OK ? make_hello(x, s, e) : status;
}

void options_done(struct exec *x)
{
    free(x->hello);
    kit_keep_done(&x->keep);
}
