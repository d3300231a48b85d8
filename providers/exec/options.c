/*
 * options.c - the settings of one `exec` provider: what is run, and the
 * greeting it gets, made once at open() so that starting the child again
 * needs nothing of the configuration, which is gone by then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"

#define PROTOCOL 1

extern char **environ;

const struct davit_kv exec_options[] = {
    { "command", "the program: a list of its words, or a line for /bin/sh" },
    { "cwd", "directory it runs in (default: the daemon's)" },
    { "env.*", "its environment, on top of the daemon's: env.NAME: value" },
    { "timeout", "the most one request may take (default: the daemon's own"
                 " limits)" },
    { "grace", "how long it has to wind up: past a deadline, after its stdin"
               " is closed, after SIGTERM (default: 2s, at most 10s)" },
    { "max_reply", "bytes of one whole answer (default: 67108864)" },
    { "options.*", "handed to the program as they are" },
    { "types.*", "handed to the program with the node type" },
    { NULL, NULL },
};

struct list { char **v; size_t n; };

static void add(struct list *l, char *s)
{
    l->v = realloc(l->v, (l->n + 2) * sizeof *l->v);
    if (l->v == NULL || s == NULL)
        abort();
    l->v[l->n++] = s;
    l->v[l->n] = NULL;
}

static char *joined(const char *a, const char *between, const char *b)
{
    char *s;

    if (asprintf(&s, "%s%s%s", a, between, b) < 0)
        abort();
    return s;
}

static char *copied(const char *s)
{
    return joined(s, "", "");
}

static void free_list(char **v)
{
    for (char **s = v; s != NULL && *s != NULL; s++)
        free(*s);
    free(v);
}

void options_done(struct exec *x)
{
    free_list(x->argv);
    free_list(x->env);
    free(x->cwd);
    free(x->hello);
    free(x->shown);
}

/* ---- the program */

static int read_command(struct exec *x, const struct davit_setup *s,
                        struct davit_error *e)
{
    const char *line = kit_find(s->options, s->n_options, "command");
    struct list argv = { 0 };
    const char *word, *base;
    char key[32];

    if (line != NULL && line[0] != '\0') {
        /* exec: the shell gives its place to the program where it can, so
         * that signals and the end of stdin meet the program itself. */
        add(&argv, copied("/bin/sh"));
        add(&argv, copied("-c"));
        add(&argv, copied(line));
        x->shown = joined("", "", line);
        x->shown[strcspn(x->shown, " ")] = '\0';
    }
    for (size_t i = 0; line == NULL; i++) {
        snprintf(key, sizeof key, "command.%zu", i);
        word = kit_find(s->options, s->n_options, key);
        if (word == NULL)
            break;
        add(&argv, copied(word));
    }
    x->argv = argv.v;
    if (argv.n == 0 || argv.v[0][0] == '\0')
        return kit_error(e, DAVIT_INVALID, "command",
                         "command is needed: the program to run, as a list"
                         " such as [python3, cloud.py] or as a line for the"
                         " shell");
    if (x->shown == NULL)
        x->shown = copied(argv.v[0]);
    base = strrchr(x->shown, '/');
    if (base != NULL && base[1] != '\0')
        memmove(x->shown, base + 1, strlen(base));
    return DAVIT_OK;
}

/* Speaks of the daemon itself to its service manager. */
static bool daemons_own(const char *v)
{
    static const char *const names[] = {
        "NOTIFY_SOCKET=", "LISTEN_FDS=", "LISTEN_PID=", "LISTEN_FDNAMES=",
        "WATCHDOG_USEC=", "WATCHDOG_PID=", "INVOCATION_ID=",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(v, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int read_env(struct exec *x, const struct davit_setup *s,
                    struct davit_error *e)
{
    struct list env = { 0 };

    env.v = calloc(1, sizeof *env.v);
    for (size_t i = 0; i < s->n_options; i++) {
        const struct davit_kv *o = &s->options[i];

        if (strncmp(o->key, "env.", 4) != 0)
            continue;
        if (o->key[4] == '\0' || strchr(o->key, '=') != NULL) {
            x->env = env.v;
            return kit_error(e, DAVIT_INVALID, o->key,
                             "%.60s: an environment variable's name is not"
                             " empty and has no =", o->key);
        }
        add(&env, joined(o->key + 4, "=", o->value));
    }
    for (char **v = environ; v != NULL && *v != NULL; v++) {
        size_t name = strcspn(*v, "=") + 1;
        bool drop = daemons_own(*v);

        for (size_t i = 0; i < env.n && !drop; i++)
            drop = strncmp(env.v[i], *v, name) == 0;
        if (!drop)
            add(&env, copied(*v));
    }
    x->env = env.v;
    return DAVIT_OK;
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
    json_object_set_new(o, "max", t->max == UINT32_MAX
                                      ? json_null()
                                      : json_integer(t->max));
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
    return x->hello != NULL
               ? DAVIT_OK
               : kit_error(e, DAVIT_INVALID, wrong,
                           "%.60s: a name or value handed to the program is"
                           " not UTF-8", wrong);
}

int options_read(struct exec *x, const struct davit_setup *s,
                 struct davit_error *e)
{
    const struct davit_kv *o = s->options;
    uint32_t max = 64u << 20;
    const char *cwd = kit_find(o, s->n_options, "cwd");
    int status = read_command(x, s, e);

    x->grace_ms = 2000;
    if (status == DAVIT_OK)
        status = read_env(x, s, e);
    if (status == DAVIT_OK)
        status = kit_duration_option(o, s->n_options, "timeout",
                                     &x->timeout_ms, e);
    if (status == DAVIT_OK)
        status = kit_duration_option(o, s->n_options, "grace", &x->grace_ms,
                                     e);
    if (status == DAVIT_OK && (x->grace_ms < 1 || x->grace_ms > 10000))
        status = kit_error(e, DAVIT_INVALID, "grace",
                           "grace must be between 1ms and 10s: a reload may"
                           " wait for it");
    if (status == DAVIT_OK)
        status = kit_number_option(o, s->n_options, "max_reply", 1u << 30,
                                   &max, e);
    if (status == DAVIT_OK && max < 1024)
        status = kit_error(e, DAVIT_INVALID, "max_reply",
                           "max_reply must be at least 1024 bytes");
    x->max_reply = max;
    if (cwd != NULL && cwd[0] != '\0')
        x->cwd = copied(cwd);
    return status == DAVIT_OK ? make_hello(x, s, e) : status;
}
