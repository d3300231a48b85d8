/*
 * ray.c - what KubeRay's worker pods will be as Ray nodes.  See
 * inside.h.
 *
 * Ray looks at the first container: its command line (which KubeRay leaves in
 * an environment variable), its limits, its requests, in this order.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"

enum { COMMAND_MAX = 8192 };

const char *pods_ray_command(const json_t *meta, const json_t *spec)
{
    const json_t *c = json_array_get(json_object_get(spec, "containers"), 0);
    const json_t *env = json_object_get(c, "env");

    if (!*pods_text(meta, "labels", "ray.io/cluster", NULL))
        return NULL;
    for (size_t i = 0; i < json_array_size(env) && i < PODS_MAX_LIST; i++) {
        const json_t *e = json_array_get(env, i);
        const char *v = json_string_value(json_object_get(e, "value"));
        if (v && strlen(v) < COMMAND_MAX &&
            strcmp(pods_text(e, "name", NULL), "KUBERAY_GEN_RAY_START_CMD") ==
                0)
            return v;
    }
    return "";
}

static void list_read(struct pods_sum *sum, struct arena *a, const json_t *list)
{
    const char *name, *vendor;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)list, name, v) {
        const char *resource;
        int64_t amount;
        if (strlen(name) > PODS_MAX_TEXT || !pods_quantity(v, false, &amount))
            continue;
        resource = pods_resource(pods_clean(a, name), &vendor);
        if (strcmp(resource, "CPU") == 0) /* Ray counts whole ones */
            amount = (amount + AMOUNT_ONE - 1) / AMOUNT_ONE * AMOUNT_ONE;
        *pods_sum_of(sum, a, resource) = amount;
    }
}

/* --resources="{\"Custom\": 1}" in any quoting. */
static void custom_read(struct pods_sum *sum, struct arena *a, const char *text)
{
    char *json = arena_strdup(a, text), *to = json;
    json_t *o;
    const char *name;
    json_t *v;

    for (const char *c = json; *c && (to == json || to[-1] != '}'); c++)
        if (*c != '\\' && (to != json || *c == '{'))
            *to++ = *c;
    *to = '\0';
    o = json_loads(json, 0, NULL);
    json_object_foreach(o, name, v) {
        int64_t amount;
        if (strlen(name) <= PODS_MAX_TEXT && json_is_number(v) &&
            amount_from_double(json_number_value(v), &amount))
            *pods_sum_of(sum, a, pods_clean(a, name)) = amount;
    }
    json_decref(o);
}

static void command_read(struct pods_sum *sum, struct arena *a,
                         const char *command)
{
    static const struct {
        const char *flag, *name;
    } flags[] = {
        {"--num-cpus=", "CPU"},
        {"--num-gpus=", "GPU"},
        {"--memory=", "memory"},
    };
    const char *at;

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char *end;
        int64_t amount;
        at = strstr(command, flags[i].flag);
        if (!at)
            continue;
        at += strlen(flags[i].flag);
        at += *at == '"' || *at == '\'';
        if (amount_from_double(strtod(at, &end), &amount) && end != at)
            *pods_sum_of(sum, a, flags[i].name) = amount;
    }
    at = strstr(command, "--resources=");
    if (at)
        custom_read(sum, a, at);
}

void pods_ray_read(const json_t *spec, const char *command, struct pod_shape *s)
{
    const json_t *c = json_array_get(json_object_get(spec, "containers"), 0);
    struct pods_sum sum = {0};

    list_read(&sum, &s->arena, pods_at(c, "resources", "requests", NULL));
    list_read(&sum, &s->arena, pods_at(c, "resources", "limits", NULL));
    command_read(&sum, &s->arena, command);
    s->offers = pods_sum_qtys(&sum, &s->arena);
}

/* ---- the view */

/* What its node selector says of the node, under our names too. */
static struct pairs labels_of(struct builder *m, const struct pod_shape *s,
                              const struct knode *on)
{
    uint32_t most = s->n_alts == 1 ? s->alts[0].n : 0, n = 0;
    struct pair *v = ARENA_ARRAY(m->arena, struct pair, most + 1);
    const char *accel = on ? pairs_value(&on->labels, ACCEL_LABEL) : NULL;

    for (uint32_t i = 0; i < most; i++) {
        const struct req *r = &s->alts[0].v[i];
        if (r->op != REQ_IN || r->values.n != 1 ||
            strcmp(r->key, ACCEL_LABEL) == 0)
            continue;
        v[n++] = (struct pair){arena_strdup(m->arena, r->key),
                               arena_strdup(m->arena, r->values.v[0])};
        if (!accel || !*accel)
            accel = accel_type_of_label(r->key, r->values.v[0]);
    }
    for (uint32_t i = 0; i < most; i++)
        if (strcmp(s->alts[0].v[i].key, ACCEL_LABEL) == 0 &&
            s->alts[0].v[i].op == REQ_IN && s->alts[0].v[i].values.n == 1)
            accel = s->alts[0].v[i].values.v[0];
    if (accel && *accel)
        v[n++] = (struct pair){ACCEL_LABEL, arena_strdup(m->arena, accel)};
    return (struct pairs){v, n};
}

static int by_name(const void *a, const void *b)
{
    const struct source_hosted *x = a, *y = b;
    int d = strcmp(x->cluster, y->cluster);

    return d ? d : strcmp(x->name, y->name);
}

const struct source_hosted *pods_rays(struct builder *m, uint32_t *ret_n)
{
    const struct pods_store *s = m->in->store;
    VEC(struct source_hosted) all = {0};
    const struct pod *p;

    for (uint32_t at = 0; (p = hash_each(&s->pods.by_id, &at));) {
        const struct knode *on;
        const char *role;

        if (!p->ray || p->ending)
            continue;
        on = (const struct knode *)records_find(&s->nodes, p->node);
        role = pairs_value(&p->labels->pairs, "ray.io/node-type");
        if (!role)
            continue;
        VEC_PUSH(
            m->arena, &all,
            ((struct source_hosted){
                arena_strdup(m->arena, p->name),
                arena_printf(m->arena, "%s/%s", p->space,
                             pairs_value(&p->labels->pairs, "ray.io/cluster")),
                strcmp(role, "worker") == 0,
                arena_strdup(m->arena, on ? on->zone : ""),
                pods_qtys_copy(m->arena, p->shape->offers),
                labels_of(m, p->shape, on)}));
    }
    if (all.n > 1)
        qsort(all.v, all.n, sizeof *all.v, by_name);
    *ret_n = all.n;
    return all.v;
}
