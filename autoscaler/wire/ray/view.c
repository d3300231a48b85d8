/*
 * view.c - a GetClusterResourceState reply to a view: nodes.c and demand.c fill
 * it.
 *
 * Map order on the wire is random and changes from read to read, so all that
 * is a set is sorted: the same state gives the same view.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "inside.h"
#include "ray.pb-c.h"

/* Which labels keep groups apart that may be held by a node already. */
static void find_held(const PB(ClusterResourceState) * s, struct ray_strings *w,
                      struct ray_demand_input *in)
{
    size_t n = s->n_pending_gang_resource_requests;
    const char **v = ARENA_ARRAY(w->scratch, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *label = ray_gang_anti_affinity(
            s->pending_gang_resource_requests[i]);
        if (label)
            v[in->n_held++] = ray_intern(w, label);
    }
    in->held = v;
}

enum status ray_view_parse(const void *bytes, size_t n, struct arena *scratch,
                           struct source_view *view, struct err *err)
{
    /* a real reply takes some 8 times its size unpacked; the most there is in
     * hostile bytes is far more */
    PB(GetClusterResourceStateReply) *reply = ray_unpacked(
        scratch,
        &ray__rpc__autoscaler__get_cluster_resource_state_reply__descriptor,
        bytes, n, n * 40 + ((size_t)1 << 20));
    if (!reply)
        return err_set(err, ST_BROKEN,
                       "the %zu bytes that were answered are no "
                       "GetClusterResourceStateReply",
                       n);
    PB(ClusterResourceState)
    empty = RAY__RPC__AUTOSCALER__CLUSTER_RESOURCE_STATE__INIT;
    const PB(ClusterResourceState) *s = reply->cluster_resource_state
                                            ? reply->cluster_resource_state
                                            : &empty;
    struct ray_strings strings = {.scratch = scratch, .arena = &view->arena};
    struct ray_demand_input in = {.strings = &strings};
    hash_init(&strings.known, scratch, 256);
    find_held(s, &strings, &in);
    bool *held = ARENA_ARRAY(scratch, bool, in.n_held);

    ray_nodes_read(&in, s, held, view);
    view->version = s->cluster_resource_state_version;
    view->session = ray_intern(&strings, s->cluster_session_name);

    uint32_t left = 0; /* only the labels that some node really carries */
    const char **found = ARENA_ARRAY(scratch, const char *, in.n_held);
    for (uint32_t k = 0; k < in.n_held; k++)
        if (held[k])
            found[left++] = in.held[k];
    in.held = found;
    in.n_held = left;
    ray_demands_read(&in, s, view);
    ray_crowd_limit(scratch, view);
    return ST_OK;
}

/* A session we have not seen: what was written there is gone. */
static void another_source(struct ray_head *h, const char *session,
                           int64_t deadline_mono_ms)
{
    const char *v2;
    free(h->session);
    free(h->note);
    h->note = NULL;
    h->session = NULL;
    h->v2 = true; /* if the answer does not come: asked again next time */
    if (ray_kv_get(h, "__autoscaler", "__autoscaler_v2_enabled",
                   deadline_mono_ms, &v2, NULL))
        return;
    h->v2 = strcmp(v2, "1") == 0;
    h->session = mem_strdup(session);
}

enum status ray_head_read(struct ray_head *h, int64_t deadline_mono_ms,
                          struct source_view **ret, struct err *err)
{
    const void *bytes;
    size_t n;
    int64_t start = clock_mono_us();

    *ret = NULL;
    ray_call_begin(h);
    enum status s = ray_call(h, RAY_AUTOSCALER "GetClusterResourceState", "", 0,
                             deadline_mono_ms, &bytes, &n, err);
    if (s)
        return s;
    struct source_view *view = source_view_new();
    s = ray_view_parse(bytes, n, &h->scratch, view, err);
    if (s) {
        source_view_unref(view);
        return err_prefix(err, "%s", h->label);
    }
    if (!h->session || strcmp(h->session, view->session) != 0)
        another_source(h, view->session, deadline_mono_ms);
    view->v2 = h->v2;
    view->read_mono_ms = start / 1000;
    view->took_us = clock_mono_us() - start;
    *ret = view;
    return ST_OK;
}
