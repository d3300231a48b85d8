/*
 * options.c - the provider's settings, and each node type turned into the
 * arguments of `ray start`, once, at open(): a mistake is reported before anything
 * is launched, and launching only copies strings.
 */
#include "kit/child_env.h"
#include "local.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCELERATOR_LABEL "ray.io/accelerator-type"
#define STORE_MIN (75.0 * 1024 * 1024) /* below it Ray refuses to start */

/* "4", "0.5", "500m", "8Gi", "100M" */
static bool quantity(const char *text, double *ret)
{
    static const struct {
        const char *end;
        double times;
    } units[] = {
        {"", 1},
        {"m", 1e-3},
        {"k", 1e3},
        {"K", 1e3},
        {"M", 1e6},
        {"G", 1e9},
        {"T", 1e12},
        {"Ki", 1024.0},
        {"Mi", 1048576.0},
        {"Gi", 1073741824.0},
        {"Ti", 1099511627776.0},
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

static int bad(struct kit_reading *r, const char *key, const char *allowed,
               const char *value)
{
    return kit_error(r->error, DAVIT_INVALID, key,
                     "%.40s: must be %s, got \"%.60s\"", key, allowed, value);
}

static int take_env(struct kit_reading *r, const char *rest, const char *value)
{
    struct local *l = r->into;
    struct type *t = r->into;

    if (rest[0] == '\0' || strchr(rest, '='))
        return bad(r, "env", "named env.NAME", value);
    kit_list_add(r->keep, r->type ? &t->env : &l->env,
                 kit_keep_print(r->keep, "%s=%s", rest, value));
    return DAVIT_OK;
}

static int take_args(struct kit_reading *r, const char *rest, const char *value)
{
    struct local *l = r->into;

    if (rest[0] != '\0') { /* of a list */
        kit_list_add(r->keep, &l->args, value);
        return DAVIT_OK;
    }
    for (const char *p = value + strspn(value, " "); *p != '\0';) {
        size_t n = strcspn(p, " ");

        kit_list_add(r->keep, &l->args,
                     kit_keep_print(r->keep, "%.*s", (int)n, p));
        p += n;
        p += strspn(p, " ");
    }
    return DAVIT_OK;
}

static int take_address(struct kit_reading *r, const char *rest,
                        const char *value)
{
    struct local *l = r->into;
    struct in_addr a;

    (void)rest;
    if (inet_pton(AF_INET, value, &a) != 1 || ntohl(a.s_addr) >> 24 != 127 ||
        ntohl(a.s_addr) < 0x7f000002)
        return bad(r, "base_address", "in 127.0.0.2 .. 127.255.255.254", value);
    l->base_address = ntohl(a.s_addr);
    return DAVIT_OK;
}

static int take_store(struct kit_reading *r, const char *rest,
                      const char *value)
{
    struct local *l = r->into;

    (void)rest;
    return quantity(value, &l->store) && l->store >= STORE_MIN
               ? DAVIT_OK
               : bad(r, "object_store_memory", "at least 75Mi", value);
}

/* Ray puts sockets below it; their paths end at 107 bytes. */
static int take_temp(struct kit_reading *r, const char *rest, const char *value)
{
    struct local *l = r->into;

    (void)rest;
    if (value[0] != '/' || strlen(value) > 32)
        return bad(r, "temp_dir", "an absolute path of at most 32 bytes",
                   value);
    l->temp = kit_keep_text(r->keep, value);
    return DAVIT_OK;
}

__attribute__((format(printf, 3, 4))) static void add(struct local *l,
                                                      struct type *t,
                                                      const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *text = kit_vprint(fmt, ap);
    va_end(ap);
    kit_list_add(&l->keep, &t->args, text);
    free(text);
}

static int add_resources(struct local *l, struct type *t,
                         const struct davit_node_type *in,
                         struct davit_error *e)
{
    double cpus = 0, gpus = 0, memory = -1, store = l->store, v;
    json_t *custom = json_object();
    char *text;
    int status = DAVIT_OK;

    for (size_t i = 0; i < in->n_resources && status == DAVIT_OK; i++) {
        const struct davit_kv *r = &in->resources[i];

        if (!quantity(r->value, &v))
            status = kit_type_error(
                e, in, "", "a resource must be a number, got \"%.60s\"",
                r->value);
        else if (strcmp(r->key, "CPU") == 0)
            cpus = v;
        else if (strcmp(r->key, "GPU") == 0)
            gpus = v;
        else if (strcmp(r->key, "memory") == 0)
            memory = v;
        else if (strcmp(r->key, "object_store_memory") == 0)
            store = v;
        else if (json_object_set_new(custom, r->key, json_real(v)) != 0)
            status = kit_type_error(
                e, in, "", "a resource's name must be UTF-8, got \"%.60s\"",
                r->key);
        if (status == DAVIT_OK && (cpus != floor(cpus) || gpus != floor(gpus)))
            status = kit_type_error(
                e, in, "", "Ray takes whole CPUs and GPUs only, got \"%.60s\"",
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
        add(l, t, "--num-cpus=%.0f", cpus);
        add(l, t, "--num-gpus=%.0f", gpus);
        if (memory >= 0)
            add(l, t, "--memory=%.0f", memory);
        add(l, t, "--object-store-memory=%.0f", store);
        text = json_dumps(
            custom, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(12));
        if (json_object_size(custom) > 0 && text)
            add(l, t, "--resources=%s", text);
        free(text);
    }
    json_decref(custom);
    return status;
}

static int take_pass(struct kit_reading *r, const char *rest, const char *value)
{
    return kit_pass_env_read(r, &((struct local *)r->into)->pass, rest, value);
}

static int add_labels(struct local *l, struct type *t,
                      const struct davit_node_type *in, struct davit_error *e)
{
    char *line = kit_keep_text(&l->keep, "");

    for (size_t i = 0; i < in->n_labels; i++) {
        const struct davit_kv *p = &in->labels[i];

        if (strpbrk(p->key, ",=") || strpbrk(p->value, ",="))
            return kit_type_error(e, in, "",
                                  "a label may hold no comma and no `=`, got "
                                  "\"%.60s\"",
                                  p->value);
        line = kit_keep_print(&l->keep, "%s%s%s=%s", line, i > 0 ? "," : "",
                              p->key, p->value);
    }
    if (line[0] != '\0')
        add(l, t, "--labels=%s", line);
    return DAVIT_OK;
}

static int read_type(struct local *l, struct type *t,
                     const struct davit_node_type *in, struct davit_error *e)
{
    int status;

    t->name = kit_keep_text(&l->keep, in->name);
    t->machine = kit_keep_text(&l->keep, in->machine);
    if (strlen(in->name) >= sizeof((struct record *)0)->type)
        return kit_type_error(e, in, "", "a name has at most 63 bytes");
    status = kit_options_read(local_options, in->options, in->n_options, in, t,
                              &l->keep, e);
    if (status == DAVIT_OK)
        status = add_resources(l, t, in, e);
    return status == DAVIT_OK ? add_labels(l, t, in, e) : status;
}

/* DIR/CLUSTER, absolute: a daemon started elsewhere with the same absolute
 * path must find the same machines, and nothing may depend on chdir(). */
static void finish_dir(struct local *l)
{
    char cwd[2048], *safe = kit_keep_text(&l->keep, l->cluster);

    for (char *p = safe; *p != '\0'; p++)
        if (*p == '/' || (*p == '.' && p == safe))
            *p = '_';
    if (l->dir[0] == '/' || !getcwd(cwd, sizeof cwd))
        cwd[0] = '\0';
    l->dir = kit_keep_print(&l->keep, "%s%s%s/%s", cwd, cwd[0] ? "/" : "",
                            l->dir, safe);
}

#define AT(field) KIT_AT(struct local, field)
const struct kit_option local_options[] = {
    {"ray", "the ray program, looked for in PATH", KIT_TEXT, AT(ray),
     .fallback = "ray"},
    {"dir", "where machines are remembered", KIT_TEXT, AT(dir),
     .fallback = "davit-local"},
    {"temp_dir",
     "parent of the raylets' temp directories, a short path (default: "
     "/tmp/davit-UID)",
     KIT_READ, .read = take_temp},
    {"base_address", "first loopback address for a raylet", KIT_READ,
     .read = take_address, .fallback = "127.0.0.2"},
    {"object_store_memory", "of each raylet, at least 75Mi", KIT_READ,
     .read = take_store, .fallback = "100Mi"},
    {"max", "machines at once", KIT_NUMBER, AT(max), .fallback = "32", .min = 1,
     .max = 1000},
    {"args", "more arguments for ray start, separated by blanks", KIT_READ,
     .read = take_args},
    {"env.*", "environment of the raylets: env.NAME: value", KIT_READ,
     .read = take_env},
    {"pass_env.*",
     "variables of the daemon's environment that they get too, beside Ray's "
     "and CUDA's: names, AWS_*",
     KIT_READ, .read = take_pass},
    {"pass_env", "the same, one name", KIT_READ, .read = take_pass},
    {"types.env.*", "environment of this type's raylets", KIT_READ,
     .read = take_env},
    {0},
};

int options_read(struct local *l, const struct davit_setup *s,
                 struct davit_error *e)
{
    const char *head = s->head;
    int status;

    if (strncmp(head, "https://", 8) == 0)
        return kit_error(e, DAVIT_INVALID, "",
                         "ray start cannot join \"%.100s\": it takes host:port",
                         head);
    if (strncmp(head, "http://", 7) == 0)
        head += 7;
    if (head[0] == '\0')
        return kit_error(e, DAVIT_INVALID, "",
                         "provider local starts raylets that join a head: give "
                         "head: {ray: {address: host:port}}");
    l->head = kit_keep_text(&l->keep, head);
    l->cluster = kit_keep_text(&l->keep, s->cluster);
    l->temp = kit_keep_print(&l->keep, "/tmp/davit-%lu",
                             (unsigned long)geteuid());
    status = kit_options_read(local_options, s->options, s->n_options, NULL, l,
                              &l->keep, e);
    if (status != DAVIT_OK)
        return status;
    finish_dir(l);
    l->types = kit_keep(&l->keep, (s->n_types + 1) * sizeof *l->types);
    for (size_t i = 0; i < s->n_types && status == DAVIT_OK; i++)
        status = read_type(l, &l->types[l->n_types++], s->types[i], e);
    return status;
}
