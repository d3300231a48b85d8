/*
 * pods_world.h - small clusters for the tests of the Kubernetes source.
 */
#ifndef TEST_PODS_WORLD_H
#define TEST_PODS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../autoscaler/base/buf.h"
#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/model/accel.h"
#include "../../autoscaler/model/amount.h"
#include "../../autoscaler/wire/pods/inside.h"

static const char *const schedulers[] = {"default-scheduler"};
static const struct pods_rules rules = {
    .schedulers = {schedulers, 1},
    .label = "davit.io/machine",
};

/* ---- a small cluster */

struct world {
    struct pods_store store;
    struct source_view *view;
    struct names zones;
    bool reserve;
    int64_t now_ms, due;
};

static inline void world_begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->now_ms = 1000000;
    pods_store_init(&w->store, &rules);
}

static inline void world_end(struct world *w)
{
    source_view_unref(w->view);
    pods_store_done(&w->store);
}

static inline json_t *parse(const char *text)
{
    json_error_t e;
    char *copy = strdup(text);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *o = json_loads(copy, 0, &e);
    if (!o)
        fail_msg("%s at %d in %s", e.text, e.position, copy);
    free(copy);
    return o;
}

static inline void put(struct world *w,
                       void (*to)(void *, const json_t *, bool), bool gone,
                       const char *fmt, ...)
{
    char text[8192];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    json_t *o = parse(text);
    to(to == nodes_put      ? &w->store.nodes
       : to == daemons_put  ? &w->store.daemons
       : to == groups_put   ? &w->store.groups
       : to == volumes_put  ? &w->store.volumes
       : to == claims_put   ? &w->store.claims
       : to == classes_put  ? &w->store.classes
       : to == csi_put      ? &w->store.csi
       : to == spaces_put   ? &w->store.spaces
       : to == services_put ? &w->store.services
       : to == replicas_put ? &w->store.replicas
       : to == maps_put     ? &w->store.maps
                            : &w->store.pods,
       o, gone);
    json_decref(o);
}

/* more: of spec, ", ..." ; labels: of metadata, ", ..." */
static inline void pending(struct world *w, const char *name, const char *cpu,
                           const char *labels, const char *more)
{
    put(w, pods_put, false,
        "{'metadata': {'name': '%s', 'uid': 'u-%s', "
        "'namespace': 'ns', 'creationTimestamp': '2026-01-01T00:00:00Z', "
        "'labels': {'x': 'y'%s}}, 'spec': {'containers': [{'resources': "
        "{'requests': {'cpu': '%s'}}}]%s}, 'status': {'phase': 'Pending', "
        "'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': "
        "'Unschedulable', 'message': 'no room'}]}}",
        name, name, labels, cpu, more);
}

static inline void bound(struct world *w, const char *name, const char *node,
                         const char *cpu, const char *labels, const char *more)
{
    put(w, pods_put, false,
        "{'metadata': {'name': '%s', 'uid': 'u-%s', "
        "'namespace': 'ns', 'labels': {'x': 'y'%s}}, 'spec': {'nodeName': "
        "'%s', 'containers': [{'resources': {'requests': {'cpu': '%s'}}}]%s}, "
        "'status': {'phase': 'Running'}}",
        name, name, labels, node, cpu, more);
}

static inline void node(struct world *w, const char *name, const char *cpu,
                        const char *zone, const char *labels, const char *more)
{
    put(w, nodes_put, false,
        "{'metadata': {'name': '%s', 'labels': "
        "{'topology.kubernetes.io/zone': '%s'%s}}, 'spec': {'providerID': "
        "'gce://p/%s/%s'}, 'status': {'allocatable': {'cpu': '%s', 'memory': "
        "'32Gi', 'pods': '110'%s}, 'capacity': {'cpu': '%s'}, 'addresses': "
        "[{'type': 'InternalIP', 'address': '10.0.0.1'}], 'conditions': "
        "[{'type': 'Ready', 'status': 'True'}]}}",
        name, zone, labels, zone, name, cpu, more, cpu);
}

static inline struct source_view *view(struct world *w)
{
    struct pods_view_in in = {
        .store = &w->store,
        .zones = w->zones,
        .reserve = w->reserve,
        .now_mono_ms = w->now_ms,
        .now_wall_ms = clock_wall_ms(),
    };
    source_view_unref(w->view);
    pthread_mutex_lock(&w->store.lock);
    w->view = pods_view_make(&in, &w->due);
    pthread_mutex_unlock(&w->store.lock);
    return w->view;
}

static inline const struct source_node *node_of(const struct source_view *v,
                                                const char *name)
{
    for (uint32_t i = 0; i < v->n_nodes; i++)
        if (strcmp(v->nodes[i].node_id, name) == 0)
            return &v->nodes[i];
    fail_msg("no node %s", name);
    return NULL;
}

static inline double amount(struct qtys q, const char *name)
{
    return amount_to_double(pods_amount(&q, name));
}

/* "2x{CPU 1, pods 1; a in (b)}|..." of a demand, alternatives apart by "/". */
static inline char *demand_text(const struct snap_demand *d, struct buf *b)
{
    char number[32];
    buf_clear(b);
    for (uint32_t i = 0; i < d->n_bundles; i++) {
        const struct snap_bundle *x = &d->bundles[i];
        buf_printf(b, "%s%ux{", i ? "|" : "", x->count);
        for (uint32_t k = 0; k < x->n_alts; k++) {
            buf_str(b, k ? " / " : "");
            for (uint32_t r = 0; r < x->alts[k].resources.n; r++)
                if (strcmp(x->alts[k].resources.v[r].name, UNTRIED_RESOURCE))
                    buf_printf(b, "%s%s %s", r ? ", " : "",
                               x->alts[k].resources.v[r].name,
                               amount_text(x->alts[k].resources.v[r].amount,
                                           number, sizeof number));
            for (uint32_t t = 0; t < x->alts[k].selector.n; t++) {
                const struct term *e = &x->alts[k].selector.v[t];
                buf_printf(b, "; %s%s", e->key,
                           e->op == TERM_IN ? " in" : " not in");
                for (uint32_t n = 0; n < e->values.n; n++)
                    buf_printf(b, " %s", e->values.v[n]);
            }
        }
        buf_str(b, "}");
    }
    return b->s;
}

static inline void assert_demand(const struct source_view *v, uint32_t i,
                                 const char *id, const char *text)
{
    struct buf b;
    assert_true(i < v->n_demands);
    buf_init(&b, 65536);
    assert_string_equal(v->demands[i].id, id);
    assert_string_equal(v->demands[i].owner, "kubernetes");
    assert_string_equal(demand_text(&v->demands[i], &b), text);
    buf_done(&b);
}

#endif
