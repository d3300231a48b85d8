/*
 * shape.c - what a machine of a type offers: resources, labels, accelerator.
 *
 * The names are Ray's; people also write Kubernetes' and get the same.  See
 * raw.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/suggest.h"
#include "../model/accel.h"
#include "../model/amount.h"
#include "../model/meant.h"
#include "raw.h"

#define RESOURCE_UNKNOWN \
    "unknown resource %s in %s; did you mean \"%s\"? Ray's names are CPU, " \
    "GPU, memory, neuron_cores, TPU, HPU and NPU; any other name is a custom " \
    "resource"

/* Beyond this a count is a slip of the keyboard. */
#define MOST_HOST_GROUPS (INT64_C(1000000000) * AMOUNT_ONE)
enum {
    MOST_DEVICES = 1024,
    LABEL_NAME = 63,
    LABEL_PREFIX = 253,
    LONGEST_RESOURCE = 200
};

void shape_set(struct raw *d, struct raw_type *t, const char *name,
               int64_t amount)
{
    for (uint32_t i = 0; i < t->resources.n; i++)
        if (strcmp(t->resources.v[i].name, name) == 0) {
            t->resources.v[i].amount = amount;
            return;
        }
    VEC_PUSH(d->r.arena, &t->resources, ((struct qty){name, amount}));
}

/* What is wrong with an amount of a resource, NULL nothing. */
static const char *amount_wrong(const char *name, const char *text,
                                int64_t *ret)
{
    size_t n = strlen(text);

    if (amount_is_bytes(name))
        return amount_parse(text, ret)
                   ? NULL
                   : "bytes such as 50Gi, 16G or 1073741824";
    if (!n ||
        ((strcmp(name, "CPU") == 0 || accel_is_device(name)) &&
         !(text[n - 1] == 'm' || (text[n - 1] >= '0' && text[n - 1] <= '9') ||
           text[n - 1] == '.')) ||
        !amount_parse(text, ret))
        return "a number such as 4, 0.5 or 500m";
    if (accel_is_device(name) &&
        (*ret % AMOUNT_ONE || *ret > MOST_DEVICES * AMOUNT_ONE))
        return "a whole number of devices between 0 and 1024";
    return NULL;
}

bool shape_name_check(struct raw *d, const struct ynode *at, const char *name,
                      const char *where)
{
    const char *right = resource_meant(name);

    if (!right)
        return true;
    /* In another dialect it is legal, if hardly meant. */
    if (d->c->dialect == DIALECT_DAVIT)
        diag_add(d->r.diag, at, RESOURCE_UNKNOWN, diag_quote(d->r.arena, name),
                 where, right);
    else
        diag_warn(d->r.diag, at, RESOURCE_UNKNOWN, diag_quote(d->r.arena, name),
                  where, right);
    return d->c->dialect != DIALECT_DAVIT;
}

static void accelerator_set(struct raw *d, struct raw_type *t,
                            const struct ynode *at, const char *type)
{
    type = accel_type_canonical(type);
    if (*t->accelerator && strcmp(t->accelerator, type) != 0)
        diag_add(d->r.diag, at,
                 "%s has two accelerator types, %s and %s; a machine has one",
                 t->where, t->accelerator, type);
    t->accelerator = type;
}

void shape_put(struct raw *d, struct raw_type *t, const struct ynode *key,
               const struct ynode *value, const char *where)
{
    const char *name = key->text, *wrong, *type;
    struct arena *a = d->r.arena;
    int64_t amount = 0;

    if (value->kind == YNODE_NULL)
        return;
    if (!*name || strlen(name) > LONGEST_RESOURCE) {
        diag_add(d->r.diag, key,
                 "a resource's name in %s must be 1 to %d letters long, got %s",
                 where, LONGEST_RESOURCE, diag_quote(a, name));
        return;
    }
    if (!shape_name_check(d, key, name, where))
        return;
    if (strchr(name, '/') && accel_from_k8s(name))
        name = accel_from_k8s(name);
    if (value->kind != YNODE_TEXT) {
        diag_add(d->r.diag, value, "%s.%s must be a number, got %s", where,
                 key->text, ynode_shown(a, value));
        return;
    }
    wrong = amount_wrong(name, value->text, &amount);
    if (wrong) {
        diag_add(d->r.diag, value, "%s.%s must be %s, got %s", where, key->text,
                 wrong, ynode_shown(a, value));
        return;
    }
    type = accel_type_of_resource(name);
    if (type) {
        if (amount)
            accelerator_set(d, t, key, type);
        return;
    }
    for (uint32_t i = 0; i < t->resources.n; i++)
        if (strcmp(t->resources.v[i].name, name) == 0)
            diag_add(d->r.diag, key,
                     "%s gives %s twice: %s is another name for it", where,
                     name, diag_quote(a, key->text));
    if (amount_is_bytes(name) && amount && amount < (AMOUNT_ONE << 20))
        diag_warn(d->r.diag, value, "%s.%s is %s bytes; did you mean %sGi?",
                  where, name, value->text, value->text);
    shape_set(d, t, name, amount);
}

/* ---- labels ---- */

static bool label_word(const char *s, size_t n, size_t max)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    if (n > max || !n || !strchr(letters, s[0]) || !strchr(letters, s[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!s[i] || (!strchr(letters, s[i]) && !strchr("-_.", s[i])))
            return false;
    return true;
}

static bool label_key(const char *s)
{
    const char *slash = strchr(s, '/');

    if (!slash)
        return label_word(s, strlen(s), LABEL_NAME);
    return label_word(s, (size_t)(slash - s), LABEL_PREFIX) &&
           label_word(slash + 1, strlen(slash + 1), LABEL_NAME);
}

void shape_label(struct raw *d, struct raw_type *t, const char *key,
                 const char *value)
{
    for (uint32_t i = 0; i < t->labels.n; i++)
        if (strcmp(t->labels.v[i].key, key) == 0) {
            t->labels.v[i].value = value;
            return;
        }
    VEC_PUSH(d->r.arena, &t->labels, ((struct pair){key, value}));
}

void shape_accelerator(struct raw *d, struct raw_type *t, const struct ynode *v,
                       const char *where)
{
    if (v->kind == YNODE_TEXT &&
        label_word(v->text, strlen(v->text), LABEL_NAME))
        accelerator_set(d, t, v, v->text);
    else
        diag_add(d->r.diag, v,
                 "%s must be an accelerator's name such as T4 or A100, got %s",
                 where, ynode_shown(d->r.arena, v));
}

/* A label of Ray's or Kubernetes' own, misspelt, is one that nothing selects. */
static void label_meant(struct raw *d, const struct ynode *at, const char *key,
                        const char *where)
{
    static const char *const words[] = {ACCEL_LABEL,
                                        "ray.io/market-type",
                                        "ray.io/availability-zone",
                                        "ray.io/availability-region",
                                        "topology.kubernetes.io/zone",
                                        "topology.kubernetes.io/region",
                                        "node.kubernetes.io/instance-type",
                                        "cloud.google.com/gke-accelerator",
                                        "nvidia.com/gpu.product"};
    const char *near = suggest_within(key, words, sizeof words / sizeof *words,
                                      2);

    if (near && strcmp(near, key) != 0)
        diag_warn(d->r.diag, at, "%s: label %s: did you mean \"%s\"?", where,
                  diag_quote(d->r.arena, key), near);
}

void shape_labels_read(struct raw *d, struct raw_type *t,
                       const struct ynode *map, const char *where)
{
    struct pairs p = grammar_pairs(&d->r, map, where);

    for (uint32_t i = 0; i < p.n; i++) {
        const char *k = p.v[i].key, *v = p.v[i].value;
        const struct ynode *at = ynode_get(map, k);
        if (strcmp(k, ACCEL_LABEL) == 0)
            shape_accelerator(d, t, at, grammar_where(&d->r, where, k));
        else if (!label_key(k))
            diag_add(
                d->r.diag, at,
                "%s: label %s must be up to 63 letters, digits, \"-\", \"_\" "
                "and \".\", perhaps after a domain and \"/\"",
                where, diag_quote(d->r.arena, k));
        else if (*v && !label_word(v, strlen(v), LABEL_NAME))
            diag_add(d->r.diag, at,
                     "%s.%s must be up to 63 letters, digits, \"-\", \"_\" and "
                     "\".\", got %s",
                     where, k, diag_quote(d->r.arena, v));
        else
            shape_label(d, t, k, v);
        label_meant(d, at, k, where);
    }
}

const char *shape_selector_accelerator(const char *key, const char *value)
{
    return accel_type_of_label(key, value);
}
