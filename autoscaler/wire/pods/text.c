/*
 * text.c - texts and quantities as the Kubernetes API writes them.  See
 * inside.h.
 */
#include "inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/text.h"
#include "../../model/accel.h"
#include "../../model/amount.h"

static const json_t *follow(const json_t *o, va_list keys)
{
    const char *key;

    while (o && (key = va_arg(keys, const char *)))
        o = json_object_get(o, key);
    return o;
}

const json_t *pods_at(const json_t *o, ...)
{
    va_list keys;

    va_start(keys, o);
    o = follow(o, keys);
    va_end(keys);
    return o;
}

const char *pods_text(const json_t *o, ...)
{
    va_list keys;
    const char *s;

    va_start(keys, o);
    s = json_string_value(follow(o, keys));
    va_end(keys);
    return s && strlen(s) <= PODS_MAX_TEXT ? s : "";
}

const char *pods_clean(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s);

    text_clean(copy, strlen(copy));
    return copy;
}

/* ---- quantities */

bool pods_quantity(const json_t *v, bool up, int64_t *ret)
{
    const char *s = json_string_value(v);
    char number[32];

    if (json_is_number(v)) {
        snprintf(number, sizeof number, "%.17g", json_number_value(v));
        s = number;
    }
    return s && amount_quantity(s, up ? AMOUNT_UP : AMOUNT_DOWN, ret);
}

/* ---- resources */

const char *pods_resource(const char *k8s, const char **ret_vendor)
{
    const struct accel *v;
    unsigned n;

    *ret_vendor = "";
    if (strcmp(k8s, "cpu") == 0)
        return "CPU";
    v = accel_table(&n);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(v[i].k8s, k8s) == 0) {
            if (strcmp(v[i].resource, "GPU") == 0 && i > 0)
                *ret_vendor = v[i].k8s;
            return v[i].resource;
        }
    /* as the configuration reads it: any key that ends in "gpu" */
    if (strchr(k8s, '/') && accel_from_k8s(k8s) &&
        strcmp(accel_from_k8s(k8s), "GPU") == 0) {
        *ret_vendor = k8s;
        return "GPU";
    }
    return k8s;
}

const char *pods_vendor(struct arena *a, const char *resource)
{
    char *s = arena_strdup(a, pods_clean(a, resource)), *slash = strchr(s, '/');

    if (slash)
        *slash = '.';
    return s;
}

int64_t *pods_sum_of(struct pods_sum *s, struct arena *a, const char *name)
{
    static int64_t nowhere;

    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].name, name) == 0)
            return &s->v[i].amount;
    if (s->n == PODS_MAX_NEEDS) {
        s->full = true;
        nowhere = 0;
        return &nowhere;
    }
    s->v[s->n] = (struct qty){pods_clean(a, name), 0};
    return &s->v[s->n++].amount;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct qty *)a)->name, ((const struct qty *)b)->name);
}

struct qtys pods_sum_qtys(struct pods_sum *s, struct arena *a)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, s->n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].amount > 0)
            v[n++] = s->v[i];
    if (n > 1)
        qsort(v, n, sizeof *v, by_name);
    return (struct qtys){v, n};
}

int64_t pods_amount(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return q->v[i].amount;
    return 0;
}

uint64_t pods_version(const json_t *meta)
{
    const char *s = pods_text(meta, "resourceVersion", NULL);
    char *end;
    uint64_t n = strtoull(s, &end, 10);

    return *s >= '0' && *s <= '9' && !*end ? n : 0;
}
