/*
 * nodes.c - the nodes of a GetClusterResourceState reply.
 *
 * A number that is none (NaN, negative, too large) counts as not there; a
 * node's is then less than it says, which never buys or ends too much.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"
#include "inside.h"
#include "ray.pb-c.h"

static const char *hex_id(struct ray_strings *w, const ProtobufCBinaryData *id)
{
    static const char digit[] = "0123456789abcdef";
    char buf[2 * 64 + 1];
    size_t n = id->len < 64 ? id->len : 64;
    for (size_t i = 0; i < n; i++) {
        buf[2 * i] = digit[id->data[i] >> 4];
        buf[2 * i + 1] = digit[id->data[i] & 15];
    }
    buf[2 * n] = '\0';
    return arena_strdup(w->arena, buf);
}

/* "Resource: CPU currently in use.; Busy workers on node."  What is said of
 * resources inside groups repeats what is said of the plain ones. */
static const char *activity_of(struct ray_strings *w, const PB(NodeState) * s)
{
    char buf[512];
    size_t at = 0;
    if (s->status == RAY__RPC__AUTOSCALER__NODE_STATUS__IDLE)
        return ""; /* Ray leaves the last one there */
    for (size_t i = 0; i < s->n_node_activity; i++) {
        const char *line = s->node_activity[i];
        if (strstr(line, "_group_") || strstr(line, "Resource: node:"))
            continue;
        int n = snprintf(buf + at, sizeof buf - at, "%s%s", at ? "; " : "",
                         line);
        if (n < 0 || (size_t)n >= sizeof buf - at)
            break;
        at += (size_t)n;
    }
    buf[at < sizeof buf ? at : sizeof buf - 1] = '\0';
    return ray_intern(w, buf);
}

/* The node's own row; *accel gets the type it says it has. */
static struct qtys total_of(struct ray_strings *w, const PB(NodeState) * s,
                            bool *head, const char **accel)
{
    struct qty *v = ARENA_ARRAY(w->arena, struct qty, s->n_total_resources);
    uint32_t n = 0;
    for (size_t i = 0; i < s->n_total_resources; i++) {
        const char *name = s->total_resources[i]->key;
        int64_t amount;
        if (!amount_from_double(s->total_resources[i]->value, &amount) ||
            !amount || !name[0])
            continue;
        switch (ray_resource_kind(name)) {
        case RAY_NODE:
            *head |= strcmp(name, "node:__internal_head__") == 0;
            break;
        case RAY_ACCEL: /* the first in order, whatever the map's order */
            name = accel_type_canonical(accel_type_of_resource(name));
            if (!*accel || strcmp(name, *accel) < 0)
                *accel = name;
            break;
        case RAY_GROUP: break;
        case RAY_PLAIN: v[n++] = (struct qty){ray_intern(w, name), amount};
        }
    }
    return ray_sort_qtys(v, n);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct qty *)a)->name, ((const struct qty *)b)->name);
}

/* One entry for each of total's, so that a node with nothing free is not one
 * of which nothing is known. */
static struct qtys available_of(struct ray_strings *w, const PB(NodeState) * s,
                                struct qtys total)
{
    struct qty *v = ARENA_ARRAY(w->arena, struct qty, total.n);
    for (uint32_t i = 0; i < total.n; i++)
        v[i] = (struct qty){total.v[i].name, 0};
    for (size_t i = 0; i < s->n_available_resources; i++) {
        struct qty key = {s->available_resources[i]->key, 0};
        struct qty *at = total.n ? bsearch(&key, v, total.n, sizeof *v, by_name)
                                 : NULL;
        int64_t amount;
        if (!at ||
            !amount_from_double(s->available_resources[i]->value, &amount))
            continue;
        int64_t most = total.v[at - v].amount;
        at->amount = amount < most ? amount : most;
    }
    return (struct qtys){v, total.n};
}

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int c = strcmp(x->key, y->key);
    return c ? c : strcmp(x->value, y->value);
}

/* Sorted by key; of equal ones the first. */
static struct pairs sort_pairs(struct pair *v, uint32_t n)
{
    uint32_t to = 0;
    if (n > 1)
        qsort(v, n, sizeof *v, by_key);
    for (uint32_t i = 0; i < n; i++)
        if (!to || strcmp(v[to - 1].key, v[i].key) != 0)
            v[to++] = v[i];
    return (struct pairs){v, to};
}

static struct pairs labels_of(struct ray_strings *w, const PB(NodeState) * s,
                              const char *accel,
                              const struct ray_demand_input *in, bool *held)
{
    struct pair *v = ARENA_ARRAY(w->arena, struct pair,
                                 s->n_labels + s->n_dynamic_labels + 1);
    uint32_t n = 0;
    bool has_accel = false;
    for (size_t i = 0; i < s->n_labels; i++) {
        const char *key = s->labels[i]->key, *value = s->labels[i]->value;
        if (!key[0] || strcmp(key, SOURCE_JOIN_LABEL) == 0)
            continue;
        if (strcmp(key, ACCEL_LABEL) == 0) {
            has_accel = true;
            value = accel_type_canonical(value);
        }
        v[n++] = (struct pair){ray_intern(w, key), ray_intern(w, value)};
    }
    if (accel && !has_accel)
        v[n++] = (struct pair){ACCEL_LABEL, ray_intern(w, accel)};
    for (size_t i = 0; in->n_held && i < s->n_dynamic_labels; i++) {
        const char *key = ray_intern(w, s->dynamic_labels[i]->key);
        for (uint32_t k = 0; k < in->n_held; k++)
            if (in->held[k] == key) {
                held[k] = true;
                v[n++] = (struct pair){
                    key, ray_intern(w, s->dynamic_labels[i]->value)};
                break;
            }
    }
    return sort_pairs(v, n);
}

static void node_read(struct ray_strings *w, const PB(NodeState) * s,
                      const struct ray_demand_input *in, bool *held,
                      struct source_node *node)
{
    const char *accel = NULL;
    node->node_id = hex_id(w, &s->node_id);
    node->instance_id = ray_intern(w, s->instance_id);
    node->type = ray_intern(w, s->ray_node_type_name);
    node->machine = ray_intern(w, s->instance_type_name);
    node->address = ray_intern(w, s->node_ip_address);
    node->activity = activity_of(w, s);
    node->zone = node->note = "";
    node->status = (int)s->status >= SOURCE_UNSPECIFIED &&
                           (int)s->status <= SOURCE_DRAINING
                       ? (enum source_status)s->status
                       : SOURCE_UNSPECIFIED;
    node->idle_ms = node->status == SOURCE_IDLE && s->idle_duration_ms >= 0
                        ? s->idle_duration_ms
                        : -1;
    node->total = total_of(w, s, &node->head, &accel);
    node->available = available_of(w, s, node->total);
    node->labels = labels_of(w, s, accel, in, held);
    node->mark = "";
    for (size_t i = 0; i < s->n_labels; i++)
        if (strcmp(s->labels[i]->key, SOURCE_JOIN_LABEL) == 0)
            node->mark = arena_strdup(w->arena, s->labels[i]->value);
}

static int by_ray_id(const void *a, const void *b)
{
    return strcmp(((const struct source_node *)a)->node_id,
                  ((const struct source_node *)b)->node_id);
}

void ray_nodes_read(const struct ray_demand_input *in,
                    const PB(ClusterResourceState) * s, bool *held,
                    struct source_view *view)
{
    struct source_node *v = ARENA_ARRAY(&view->arena, struct source_node,
                                        s->n_node_states);

    for (size_t i = 0; i < s->n_node_states; i++)
        node_read(in->strings, s->node_states[i], in, held, &v[i]);
    if (s->n_node_states > 1)
        qsort(v, s->n_node_states, sizeof *v, by_ray_id);
    view->nodes = v;
    view->n_nodes = (uint32_t)s->n_node_states;
}
