/*
 * dialect.c - what the dialects of others share; see raw.h.
 *
 * What Kubernetes' and Ray's own readers accept is accepted here: keys of
 * theirs that we do not use are passed over, one that is unknown is a warning
 * (unknown.c), a wrong type in one we use is a mistake.
 */
#include <string.h>

#include "../model/accel.h"
#include "../model/amount.h"
#include "../model/meant.h"
#include "raw.h"

enum { MOST_MINUTES = 43200 }; /* 30 days */

const char *dialect_text(const struct ynode *v)
{
    return v && v->kind == YNODE_TEXT ? v->text : "";
}

void dialect_minutes(struct reader *r, const struct ynode *v, const char *where,
                     void *target)
{
    struct config *c = target;
    int64_t a;

    if (v->kind == YNODE_TEXT && amount_parse(v->text, &a) &&
        a <= MOST_MINUTES * AMOUNT_ONE)
        c->limits.idle_timeout_ms = a * 60000 / AMOUNT_ONE;
    else
        diag_add(r->diag, v, "%s must be minutes between 0 and %d, got %s",
                 where, MOST_MINUTES, ynode_shown(r->arena, v));
}

void dialect_resources(struct reader *r, const struct ynode *v,
                       const char *where, void *target)
{
    if (!grammar_map(r, v, where, " such as {CPU: 4, memory: 16Gi, GPU: 1}"))
        return;
    for (uint32_t i = 0; i < v->n; i++)
        shape_put(r->ctx, target, v->pairs[i].key, v->pairs[i].value, where);
}

void dialect_labels(struct reader *r, const struct ynode *v, const char *where,
                    void *target)
{
    shape_labels_read(r->ctx, target, v, where);
}

const char *dialect_provider(struct raw *d, const struct ynode *block,
                             const struct ynode *at, const char *usual)
{
    if (block)
        davit_block_read(d, block);
    for (uint32_t i = 0; i < d->providers.n; i++)
        if (strcmp(d->providers.v[i].name, usual) == 0)
            return usual;
    if (d->providers.n)
        return d->providers.v[0].name;
    if (provider_shipped(usual)) {
        raw_provider_add(d, usual, at);
        return usual;
    }
    diag_warn(
        d->r.diag, at,
        "there is no provider %s: machines are simulated (sim), nothing is "
        "launched in a cloud; name the provider to use in a block \"davit: "
        "{providers: {NAME: {...}}}\"",
        diag_quote(d->r.arena, usual));
    raw_provider_add(d, "sim", at);
    return "sim";
}

struct raw_type *dialect_type(struct raw *d, const struct ynode *name,
                              const char *where, const struct ynode *map)
{
    static const struct key key = {.type = KEY_NAME};
    const char *value = NULL;

    grammar_value(&d->r, &key, name, grammar_where(&d->r, where, "name"),
                  &value);
    if (!value)
        return NULL;
    for (uint32_t i = 0; i < d->types.n; i++)
        if (strcmp(d->types.v[i]->name, value) == 0) {
            diag_add(d->r.diag, name,
                     "%s is the name of two node types, first on line %u",
                     value, d->types.v[i]->key->line);
            return NULL;
        }
    return raw_type_new(d, value, grammar_where(&d->r, where, value), name,
                        map);
}

void dialect_priority(struct raw *d, const struct raw_type *t,
                      const struct ynode *block)
{
    if (t->priority && !ynode_path(block, "limits", "policy", NULL))
        d->c->limits.policy = POLICY_PRIORITY;
}

void dialect_selector(struct raw *d, struct raw_type *t,
                      const struct ynode *map, const char *where)
{
    struct pairs p = grammar_pairs(&d->r, map, where);

    for (uint32_t i = 0; i < p.n; i++) {
        const char *type = shape_selector_accelerator(p.v[i].key, p.v[i].value);
        if (*type)
            t->accelerator = type;
        if (strcmp(p.v[i].key, "node.kubernetes.io/instance-type") == 0) {
            t->machine = p.v[i].value;
            t->pod = true;
        }
        if (strcmp(p.v[i].key, ACCEL_LABEL) != 0)
            shape_label(d, t, p.v[i].key, p.v[i].value);
    }
}

/* Does Kubernetes refuse what we would read, "4GB"?  Its quantities end in n, u,
 * m, k, M, G, T, P, E or Ki to Ei (apimachinery, resource.Quantity). */
static bool bytes_unit(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && text[n - 1] == 'B';
}

bool dialect_whole(struct raw *d, const struct ynode *v, const char *where,
                   int64_t *ret)
{
    int64_t a;

    if (v->kind != YNODE_TEXT || !amount_parse(v->text, &a)) {
        diag_add(d->r.diag, v,
                 "%s must be a quantity such as 4, 500m or 50Gi, got %s", where,
                 ynode_shown(d->r.arena, v));
        return false;
    }
    if (bytes_unit(v->text)) {
        diag_add(d->r.diag, v,
                 "%s must be a quantity of Kubernetes such as 4, 500m or 50Gi, "
                 "got %s; did you mean \"%.*s\"?",
                 where, ynode_shown(d->r.arena, v), (int)strlen(v->text) - 1,
                 v->text);
        return false;
    }
    *ret = (a + AMOUNT_ONE - 1) / AMOUNT_ONE * AMOUNT_ONE;
    return true;
}

/* False: the API server refuses it.  It takes any name of a vendor's. */
static bool quantity_check(struct raw *d, const struct ynode *key,
                           const struct ynode *v, const char *where)
{
    const char *name = key->text, *right = k8s_meant(name);
    int64_t amount;

    if (right)
        (strchr(name, '/') ? diag_warn : diag_add)(
            d->r.diag, key, "unknown resource %s in %s; did you mean \"%s\"?",
            diag_quote(d->r.arena, name), where, right);
    if (right && !strchr(name, '/'))
        return false;
    if (strchr(name, '/') && v->kind == YNODE_TEXT &&
        amount_parse(v->text, &amount) && amount % AMOUNT_ONE)
        diag_add(d->r.diag, v,
                 "%s.%s must be a whole number, as Kubernetes wants it of a "
                 "device, got %s",
                 where, name, ynode_shown(d->r.arena, v));
    else
        return true;
    return false;
}

/* Ray's name for a container's resource, NULL when Ray knows none. */
static const char *ray_name(const char *k8s)
{
    if (strcmp(k8s, "cpu") == 0)
        return "CPU";
    if (strcmp(k8s, "memory") == 0)
        return "memory";
    return accel_from_k8s(k8s);
}

static void quantities_read(struct raw *d, struct raw_type *t,
                            const struct ynode *map, const char *where)
{
    int64_t amount;

    if (!grammar_map(&d->r, map, where, ""))
        return;
    for (uint32_t i = 0; i < map->n; i++) {
        const char *k = map->pairs[i].key->text, *name = ray_name(k);
        if (!quantity_check(d, map->pairs[i].key, map->pairs[i].value, where))
            continue;
        if (!name || map->pairs[i].value->kind == YNODE_NULL ||
            !dialect_whole(d, map->pairs[i].value,
                           grammar_where(&d->r, where, k), &amount))
            continue;
        /* The first value wins; a first GPU key of 0 counts for nothing. */
        if (raw_given(t, name) < 0 && (amount || !accel_is_device(name)))
            shape_set(d, t, name, amount);
    }
}

/* KubeRay's GPU guide writes the limits beside `resources`, and quantities
 * right under it: a misplaced block is read where it is, and reported. */
static void misplaced_read(struct raw *d, struct raw_type *t,
                           const struct ynode *container, const char *key,
                           const char *where)
{
    const struct ynode *v = ynode_get(container, key);

    if (!v || v->kind == YNODE_NULL)
        return;
    diag_warn(
        d->r.diag, v,
        "%s.%s stands beside resources: Kubernetes wants it inside; it is read "
        "as resources.%s",
        where, key, key);
    quantities_read(d, t, v, grammar_where(&d->r, where, key));
}

void dialect_container(struct raw *d, struct raw_type *t,
                       const struct ynode *container, const char *where)
{
    const struct ynode *v = ynode_get(container, "resources");
    const char *in = grammar_where(&d->r, where, "resources");

    quantities_read(d, t, ynode_get(v, "limits"),
                    grammar_where(&d->r, in, "limits"));
    misplaced_read(d, t, container, "limits", where);
    quantities_read(d, t, ynode_get(v, "requests"),
                    grammar_where(&d->r, in, "requests"));
    misplaced_read(d, t, container, "requests", where);
    for (uint32_t i = 0; v && v->kind == YNODE_MAP && i < v->n; i++)
        if (ray_name(v->pairs[i].key->text)) {
            diag_warn(
                d->r.diag, v->pairs[i].key,
                "%s.%s: Kubernetes wants quantities under limits or requests; "
                "they are read after both",
                in, v->pairs[i].key->text);
            quantities_read(d, t, v, in);
            break;
        }
}

void dialect_check(struct raw *d)
{
    if (!d->types.n)
        diag_warn(d->r.diag, NULL,
                  "there is no node type that could be launched");
    if (!*d->c->ray_address)
        diag_warn(
            d->r.diag, NULL,
            "this file does not say where the Ray head is: demand comes by "
            "REST only; add \"davit: {head: {ray: {address: HOST:6379}}}\"");
}
