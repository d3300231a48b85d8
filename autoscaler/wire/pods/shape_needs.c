/*
 * shape_needs.c - the resources a pod needs.  See inside.h.
 *
 * By the scheduler's own rule: containers and sidecars together, or what the
 * largest init container needs beside the sidecars started before it, whichever
 * is more; the pod's overhead on top.
 */
#include "inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../model/amount.h"

void pods_refuse(struct pod_shape *s, const char *code, const char *fmt, ...)
{
    char text[PODS_MAX_TEXT + 128];
    va_list args;

    if (s->code)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    s->code = code;
    s->text = arena_strdup(&s->arena, text);
}

bool pods_is_extended(const char *name)
{
    return strchr(name, '/') && strncmp(name, "kubernetes.io/", 14) != 0 &&
           !strstr(name, ".kubernetes.io/");
}

struct needs {
    struct pod_shape *shape;
    const char *vendor; /* of its GPUs; NULL: it asks for none */
};

/* One list of quantities onto sum. */
static void list_add(struct needs *x, const json_t *list, struct pods_sum *sum)
{
    struct arena *a = &x->shape->arena;
    const char *name, *vendor;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)list, name, v) {
        int64_t amount, *to;
        const char *clean = strlen(name) <= PODS_MAX_TEXT ? pods_clean(a, name)
                                                          : "";
        if (!*clean || !pods_quantity(v, true, &amount)) {
            pods_refuse(x->shape, "BadQuantity",
                        "its request of %s is no quantity",
                        *clean ? clean : "a resource");
            continue;
        }
        if (pods_is_extended(clean) && amount % AMOUNT_ONE)
            pods_refuse(
                x->shape, "ExtendedResource",
                "it asks a part of one %s: extended resources are whole "
                "numbers",
                clean);
        to = pods_sum_of(sum, a, pods_resource(clean, &vendor));
        *to = amount_add(*to, amount);
        if (amount && strcmp(pods_resource(clean, &vendor), "GPU") == 0) {
            if (x->vendor && strcmp(x->vendor, vendor) != 0)
                pods_refuse(x->shape, "TwoVendors",
                            "it asks for GPUs of two vendors: no node type has "
                            "both");
            x->vendor = vendor;
        }
    }
}

/* Requests; where there is a limit and no request, the limit.  Extended
 * resources: both, and equal. */
static void container_add(struct needs *x, const json_t *c,
                          struct pods_sum *sum)
{
    const json_t *requests = pods_at(c, "resources", "requests", NULL);
    const json_t *limits = pods_at(c, "resources", "limits", NULL);
    struct arena *a = &x->shape->arena;
    json_t *own = json_object();
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)limits, name, v) {
        const json_t *r = json_object_get(requests, name);
        int64_t asked, limit;
        if (!r)
            json_object_set(own, name, v);
        else if (pods_is_extended(name) && pods_quantity(r, true, &asked) &&
                 pods_quantity(v, true, &limit) && asked != limit)
            pods_refuse(
                x->shape, "ExtendedResource",
                "its request and its limit of %.100s differ: for extended "
                "resources they must be equal",
                pods_clean(a, name));
    }
    json_object_foreach((json_t *)(uintptr_t)requests, name, v) {
        int64_t asked;
        if (pods_is_extended(name) && !json_object_get(limits, name) &&
            pods_quantity(v, true, &asked) && asked)
            pods_refuse(x->shape, "ExtendedResource",
                        "it requests %.100s without a limit: for extended "
                        "resources both must be given and equal",
                        pods_clean(a, name));
        json_object_set(own, name, v);
    }
    list_add(x, own, sum);
    json_decref(own);
}

static void sum_add(struct pods_sum *to, const struct pods_sum *from,
                    struct arena *a)
{
    for (uint32_t i = 0; i < from->n; i++) {
        int64_t *v = pods_sum_of(to, a, from->v[i].name);
        *v = amount_add(*v, from->v[i].amount);
    }
}

static void sum_max(struct pods_sum *to, const struct pods_sum *from,
                    struct arena *a)
{
    for (uint32_t i = 0; i < from->n; i++) {
        int64_t *v = pods_sum_of(to, a, from->v[i].name);
        if (from->v[i].amount > *v)
            *v = from->v[i].amount;
    }
}

const char *pods_needs_read(struct pod_shape *s, const json_t *spec)
{
    struct needs needs = {.shape = s}, *x = &needs;
    struct arena *a = &s->arena;
    const json_t *init = json_object_get(spec, "initContainers");
    const json_t *main = json_object_get(spec, "containers");
    const json_t *whole = pods_at(spec, "resources", "requests", NULL);
    struct pods_sum all = {0}, sidecars = {0}, peak = {0}, own = {0};
    const char *name, *vendor;
    json_t *v;

    for (size_t i = 0; i < json_array_size(init) && i < PODS_MAX_LIST; i++) {
        const json_t *c = json_array_get(init, i);
        struct pods_sum now = {0};
        container_add(x, c, &now);
        if (strcmp(pods_text(c, "restartPolicy", NULL), "Always") == 0) {
            sum_add(&sidecars, &now, a);
            sum_max(&peak, &sidecars, a);
        } else {
            sum_add(&now, &sidecars, a);
            sum_max(&peak, &now, a);
        }
    }
    for (size_t i = 0; i < json_array_size(main) && i < PODS_MAX_LIST; i++)
        container_add(x, json_array_get(main, i), &all);
    sum_add(&all, &sidecars, a);
    sum_max(&all, &peak, a);
    /* a pod's own requests stand for those of its containers */
    if (json_is_object(whole)) {
        list_add(x, whole, &own);
        json_object_foreach((json_t *)(uintptr_t)whole, name, v)
            *pods_sum_of(&all, a, pods_resource(name, &vendor)) = *pods_sum_of(
                &own, a, pods_resource(name, &vendor));
    }
    list_add(x, json_object_get(spec, "overhead"), &all);
    *pods_sum_of(&all, a, "pods") = AMOUNT_ONE;
    if (all.full || json_array_size(init) > PODS_MAX_LIST ||
        json_array_size(main) > PODS_MAX_LIST)
        pods_refuse(x->shape, "TooLarge",
                    "it has more than %d containers or %d resources",
                    PODS_MAX_LIST, PODS_MAX_NEEDS);
    s->needs = pods_sum_qtys(&all, a);
    return x->vendor;
}
