/*
 * fuzz_kube.c - what an API server sends, taken apart: see replay.c.
 *
 * The bytes are a watch's: one event after the other.  Besides not crashing:
 * a view is whole, and the same bytes in other pieces give the same view.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/wire/kube/split.h"
#include "../../autoscaler/wire/pods/inside.h"

static const char *const schedulers[] = {"default-scheduler"};
static const char *const zones[] = {"z1", "z2"};
static const struct pods_rules rules = {.schedulers = {schedulers, 1},
                                        .label = "davit.io/machine"};

/* Each object is tried as everything there is: its kind may lie. */
static bool object(void *ctx, const char *text, size_t n)
{
    struct pods_store *s = ctx;
    json_t *e = json_loadb(text, n, 0, NULL);
    const json_t *o = json_object_get(e, "object");

    if (!o)
        o = e;
    if (json_is_object(o)) {
        pods_put(&s->pods, o, false);
        nodes_put(&s->nodes, o, false);
        daemons_put(&s->daemons, o, false);
        groups_put(&s->groups, o, false);
    }
    json_decref(e);
    return true;
}

static uint64_t check(const struct source_view *v)
{
    uint64_t h = v->n_nodes;

    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct source_node *n = &v->nodes[i];
        bool lost = !n->available.n && n->status != SOURCE_IDLE &&
                    n->status != SOURCE_RUNNING;
        assert(lost || n->total.n == n->available.n);
        assert(n->idle_ms == -1 || n->status == SOURCE_IDLE ||
               n->status == SOURCE_UNREADY);
        h = hash_text(h, n->node_id);
        for (uint32_t k = 0; k < n->available.n; k++) {
            assert(n->available.v[k].amount >= 0);
            assert(n->available.v[k].amount <= n->total.v[k].amount);
        }
    }
    for (uint32_t d = 0; d < v->n_demands; d++) {
        h = hash_text(h, v->demands[d].id);
        assert(v->demands[d].n_bundles);
        for (uint32_t b = 0; b < v->demands[d].n_bundles; b++) {
            const struct snap_bundle *x = &v->demands[d].bundles[b];
            assert(x->n_alts && x->count);
            h = h * 31 + x->count;
            for (uint32_t k = 0; k < x->n_alts; k++)
                for (uint32_t r = 0; r < x->alts[k].resources.n; r++)
                    assert(x->alts[k].resources.v[r].amount > 0);
        }
    }
    for (uint32_t i = 0; i < v->n_rays; i++) {
        const struct source_hosted *g = &v->rays[i];
        h = hash_text(hash_text(h, g->name), g->cluster);
        for (uint32_t k = 0; k < g->offers.n; k++)
            h = hash_text(h, g->offers.v[k].name) +
                (uint64_t)g->offers.v[k].amount;
        for (uint32_t k = 0; k < g->labels.n; k++)
            h = hash_text(hash_text(h, g->labels.v[k].key),
                          g->labels.v[k].value);
    }
    for (uint32_t i = 0; i < v->n_notes; i++)
        assert(*v->notes[i].code && *v->notes[i].text);
    return h;
}

static uint64_t run(const char *data, size_t n, size_t step)
{
    struct kube_split split;
    struct pods_store store;
    struct err err = {0};
    struct qty own = {"CPU", 80000};
    struct snap_type t = {.name = "t", .resources = {&own, 1}};
    enum status s = ST_OK;
    int64_t due;
    uint64_t h;

    pods_store_init(&store, &rules);
    kube_split_init(&split, SPLIT_WATCH, object, &store);
    for (size_t i = 0; i < n && s == ST_OK; i += step)
        s = kube_split_feed(&split, data + i, n - i < step ? n - i : step,
                            &err);
    kube_split_done(&split);
    struct pods_view_in in = {.store = &store,
                              .zones = {zones, 2},
                              .reserve = true,
                              .now_mono_ms = 100000,
                              .now_wall_ms = INT64_C(1800000000000)};
    struct source_view *v = pods_view_make(&in, &due);
    h = check(v);
    pods_type_fit(v, NULL, 0, (struct pods_cloud){.labels = {0}}, &v->arena,
                  &t);
    pods_store_done(&store);
    assert(check(v) == h); /* it needs the store no more */
    source_view_unref(v);
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint64_t whole = run((const char *)data, n, n ? n : 1);

    assert(run((const char *)data, n, 7) == whole);
    return 0;
}
