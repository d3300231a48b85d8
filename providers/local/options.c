/*
 * options.c - the provider's settings, and each node type turned into the
 * arguments of `ray start`, once, at open(): a mistake is told before anything
 * is launched, and launching only copies strings.
 */
#include "local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCELERATOR_LABEL "ray.io/accelerator-type"
#define STORE_MIN (75.0 * 1024 * 1024) /* below it Ray refuses to start */

const struct davit_kv local_options[] = {
    { "ray", "the ray program (default: `ray`, looked for in PATH)" },
    { "dir", "where machines are remembered (default: ./davit-local)" },
    { "temp_dir", "parent of the raylets' temp directories, a short path"
                  " (default: /tmp/davit-UID)" },
    { "base_address", "first loopback address for a raylet (default:"
                      " 127.0.0.2)" },
    { "object_store_memory", "of each raylet, at least 75Mi (default: 100Mi)" },
    { "max", "machines at once (default: 32)" },
    { "args", "more arguments for ray start, separated by blanks" },
    { "env.*", "environment of the raylets: env.NAME: value" },
    { "types.env.*", "environment of this type's raylets" },
    { NULL, NULL },
};

char *text_copy(const char *s)
{
    char *p = strdup(s != NULL ? s : "");

    if (p == NULL)
        abort();
    return p;
}

void strings_add(struct strings *s, const char *fmt, ...)
{
    va_list ap;
    char *text;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    s->v = realloc(s->v, (s->n + 2) * sizeof *s->v);
    if (n < 0 || s->v == NULL)
        abort();
    s->v[s->n++] = text;
    s->v[s->n] = NULL;
}

void strings_done(struct strings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    *s = (struct strings){ 0 };
}

/* "4", "0.5", "500m", "8Gi", "100M" */
static bool quantity(const char *text, double *ret)
{
    static const struct { const char *end; double times; } units[] = {
        { "", 1 }, { "m", 1e-3 }, { "k", 1e3 }, { "K", 1e3 }, { "M", 1e6 },
        { "G", 1e9 }, { "T", 1e12 }, { "Ki", 1024.0 }, { "Mi", 1048576.0 },
        { "Gi", 1073741824.0 }, { "Ti", 1099511627776.0 },
    };
    char *end;
    double v;

    if (text[0] < '0' || text[0] > '9')
        return false;
    v = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].end) == 0) {
            *ret = v * units[i].times;
            return isfinite(*ret) && *ret <= 1e15;
        }
    return false;
}

static int bad_option(struct davit_error *e, const struct davit_kv *o,
                      const char *allowed)
{
    /* The code names the option, so that the daemon can point at its line. */
    return fail(e, DAVIT_INVALID, o->key, "%.40s: must be %s, got \"%.60s\"",
                o->key, allowed, o->value);
}

static int read_option(struct local *l, const struct davit_kv *o, double *store,
                       struct davit_error *e)
{
    struct in_addr a;
    double v;

    if (strncmp(o->key, "env.", 4) == 0) {
        if (o->key[4] == '\0' || strchr(o->key, '=') != NULL)
            return bad_option(e, o, "named env.NAME");
        strings_add(&l->env, "%s=%s", o->key + 4, o->value);
    } else if (strcmp(o->key, "ray") == 0) {
        if (o->value[0] == '\0')
            return bad_option(e, o, "a program");
        free(l->ray);
        l->ray = text_copy(o->value);
    } else if (strcmp(o->key, "dir") == 0) {
        if (o->value[0] == '\0' || strlen(o->value) > 2000)
            return bad_option(e, o, "a directory");
        free(l->dir);
        l->dir = text_copy(o->value);
    } else if (strcmp(o->key, "temp_dir") == 0) {
        /* Ray puts sockets below it; their paths end at 107 bytes. */
        if (o->value[0] != '/' || strlen(o->value) > 32)
            return bad_option(e, o, "an absolute path of at most 32 bytes");
        free(l->temp);
        l->temp = text_copy(o->value);
    } else if (strcmp(o->key, "base_address") == 0) {
        if (inet_pton(AF_INET, o->value, &a) != 1 ||
            ntohl(a.s_addr) >> 24 != 127 || ntohl(a.s_addr) < 0x7f000002)
            return bad_option(e, o, "in 127.0.0.2 .. 127.255.255.254");
        l->base_address = ntohl(a.s_addr);
    } else if (strcmp(o->key, "object_store_memory") == 0) {
        if (!quantity(o->value, store) || *store < STORE_MIN)
            return bad_option(e, o, "at least 75Mi");
    } else if (strcmp(o->key, "args") == 0) {
        for (const char *p = o->value + strspn(o->value, " "); *p != '\0';) {
            size_t n = strcspn(p, " ");

            strings_add(&l->args, "%.*s", (int)n, p);
            p += n;
            p += strspn(p, " ");
        }
    } else if (strncmp(o->key, "args.", 5) == 0) { /* of a list */
        strings_add(&l->args, "%s", o->value);
    } else if (strcmp(o->key, "max") == 0) {
        if (!quantity(o->value, &v) || v < 1 || v > 1000 || v != floor(v))
            return bad_option(e, o, "between 1 and 1000");
        l->max = (uint32_t)v;
    } else {
        return fail(e, DAVIT_INVALID, "", "unknown option \"%.60s\"",
                    o->key);
    }
    return DAVIT_OK;
}

static int type_fail(struct davit_error *e, const struct type *t,
                     const char *what, const char *value)
{
    return fail(e, DAVIT_INVALID, t->name,
                "node type %.60s: %.60s, got \"%.60s\"", t->name, what, value);
}

static int add_resources(struct type *t, const struct davit_node_type *in,
                         double store, struct davit_error *e)
{
    double cpus = 0, gpus = 0, memory = -1, v;
    json_t *custom = json_object();
    char *text;
    int status = DAVIT_OK;

    for (size_t i = 0; i < in->n_resources && status == DAVIT_OK; i++) {
        const struct davit_kv *r = &in->resources[i];

        if (!quantity(r->value, &v))
            status = type_fail(e, t, "a resource must be a number", r->value);
        else if (strcmp(r->key, "CPU") == 0)
            cpus = v;
        else if (strcmp(r->key, "GPU") == 0)
            gpus = v;
        else if (strcmp(r->key, "memory") == 0)
            memory = v;
        else if (strcmp(r->key, "object_store_memory") == 0)
            store = v;
        else if (json_object_set_new(custom, r->key, json_real(v)) != 0)
            status = type_fail(e, t, "a resource's name must be UTF-8", r->key);
        if (status == DAVIT_OK && (cpus != floor(cpus) || gpus != floor(gpus)))
            status = type_fail(e, t, "Ray takes whole CPUs and GPUs only",
                               r->value);
    }
    for (size_t i = 0; i < in->n_labels; i++) {
        char name[128];

        /* What a real accelerator would have told Ray by itself. */
        if (strcmp(in->labels[i].key, ACCELERATOR_LABEL) != 0)
            continue;
        snprintf(name, sizeof name, "accelerator_type:%.100s",
                 in->labels[i].value);
        json_object_set_new(custom, name, json_integer(1));
    }
    if (status == DAVIT_OK) {
        strings_add(&t->args, "--num-cpus=%.0f", cpus);
        strings_add(&t->args, "--num-gpus=%.0f", gpus);
        if (memory >= 0)
            strings_add(&t->args, "--memory=%.0f", memory);
        strings_add(&t->args, "--object-store-memory=%.0f", store);
        text = json_dumps(custom, JSON_COMPACT | JSON_SORT_KEYS |
                                      JSON_REAL_PRECISION(12));
        if (json_object_size(custom) > 0 && text != NULL)
            strings_add(&t->args, "--resources=%s", text);
        free(text);
    }
    json_decref(custom);
    return status;
}

static int add_labels(struct type *t, const struct davit_node_type *in,
                      struct davit_error *e)
{
    char *line = text_copy(""), *more;

    for (size_t i = 0; i < in->n_labels; i++) {
        const struct davit_kv *p = &in->labels[i];

        if (strpbrk(p->key, ",=") != NULL || strpbrk(p->value, ",=") != NULL) {
            free(line);
            return type_fail(e, t, "a label may hold no comma and no `=`",
                             p->value);
        }
        if (asprintf(&more, "%s%s%s=%s", line, i > 0 ? "," : "", p->key,
                     p->value) < 0)
            abort();
        free(line);
        line = more;
    }
    if (line[0] != '\0')
        strings_add(&t->args, "--labels=%s", line);
    free(line);
    return DAVIT_OK;
}

static int read_type(struct type *t, const struct davit_node_type *in,
                     double store, struct davit_error *e)
{
    int status;

    t->name = text_copy(in->name);
    t->machine = text_copy(in->machine);
    if (strlen(in->name) >= sizeof((struct record *)0)->type)
        return type_fail(e, t, "a name has at most 63 bytes", in->name);
    for (size_t i = 0; i < in->n_options; i++) {
        const struct davit_kv *o = &in->options[i];

        if (strncmp(o->key, "env.", 4) == 0 && o->key[4] != '\0')
            strings_add(&t->env, "%s=%s", o->key + 4, o->value);
        else
            return fail(e, DAVIT_INVALID, t->name,
                        "node type %.60s: unknown option \"%.60s\", only"
                        " env.NAME is allowed", t->name, o->key);
    }
    status = add_resources(t, in, store, e);
    return status == DAVIT_OK ? add_labels(t, in, e) : status;
}

/* DIR/CLUSTER, absolute: a daemon started elsewhere with the same absolute
 * path must find the same machines, and nothing may depend on chdir(). */
static void finish_dir(struct local *l)
{
    char cwd[2048], *full, *safe = text_copy(l->cluster);

    for (char *p = safe; *p != '\0'; p++)
        if (*p == '/' || (*p == '.' && p == safe))
            *p = '_';
    if (l->dir[0] == '/' || getcwd(cwd, sizeof cwd) == NULL)
        cwd[0] = '\0';
    if (asprintf(&full, "%s%s%s/%s", cwd, cwd[0] != '\0' ? "/" : "", l->dir,
                 safe) < 0)
        abort();
    free(safe);
    free(l->dir);
    l->dir = full;
}

int options_read(struct local *l, const struct davit_setup *s,
                 struct davit_error *e)
{
    double store = 100.0 * 1024 * 1024;
    const char *head = s->head;
    int status = DAVIT_OK;

    l->ray = text_copy("ray");
    l->dir = text_copy("davit-local");
    l->base_address = 0x7f000002;
    l->max = 32;
    if (asprintf(&l->temp, "/tmp/davit-%lu", (unsigned long)geteuid()) < 0)
        abort();
    if (strncmp(head, "https://", 8) == 0)
        return fail(e, DAVIT_INVALID, "",
                    "ray start cannot join \"%.100s\": it takes host:port",
                    head);
    if (strncmp(head, "http://", 7) == 0)
        head += 7;
    if (head[0] == '\0')
        return fail(e, DAVIT_INVALID, "",
                    "provider local starts raylets that join a head: give"
                    " head: {ray: {address: host:port}}");
    l->head = text_copy(head);
    l->cluster = text_copy(s->cluster);
    for (size_t i = 0; i < s->n_options && status == DAVIT_OK; i++)
        status = read_option(l, &s->options[i], &store, e);
    if (status != DAVIT_OK)
        return status;
    finish_dir(l);
    l->types = calloc(s->n_types + 1, sizeof *l->types);
    if (l->types == NULL)
        abort();
    for (size_t i = 0; i < s->n_types && status == DAVIT_OK; i++) {
        l->n_types++;
        status = read_type(&l->types[i], s->types[i], store, e);
    }
    return status;
}
