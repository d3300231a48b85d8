/*
 * source.c - a Kubernetes API server as a demand source: see pods.h.
 *
 * The reader's handle owns four watches and the store that they fill.  A view is
 * made 5 ms after something urgent (work or nodes came; a burst is one view),
 * and up to 200 ms after anything else.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../kube/nodes.h"
#include "../kube/watch.h"
#include "inside.h"

enum {
    GATHER_MS = 5,
    GATHER_LAZY_MS = 200,
    GATHER_MOST_MS = 35, /* between two views while events come and come */
    STALE_MS = 5000,     /* how long a watch may be broken */
    WATCHES = 10,
};

struct kube_source {
    struct arena arena; /* owns the options' strings */
    struct kube_access *access;
    struct kube *kube; /* drains; the watches have their own */
    struct pods_rules rules;
    struct arena zone_arena;
    struct names zones; /* these three under the store's lock */
    struct qtys most;
    bool works, reserve;
    bool started, viewed; /* viewed: there was a view */
    atomic_bool stop;
    struct pods_store store;
    struct kube_watch *watch[WATCHES];
    uint64_t seen;                 /* the store's version in the last view */
    int64_t due_mono_ms;           /* a view that changes by itself; 0 */
    int64_t took_us, made_mono_ms; /* of the last view */
};

static const struct {
    const char *path, *what;
    bool optional;
    size_t records; /* of the store */
    void (*put)(void *, const json_t *, bool);
} kinds[WATCHES] = {
    {"/api/v1/pods", "pods", false, offsetof(struct pods_store, pods),
     pods_put},
    {"/api/v1/nodes", "nodes", false, offsetof(struct pods_store, nodes),
     nodes_put},
    {"/apis/apps/v1/daemonsets", "daemonsets", false,
     offsetof(struct pods_store, daemons), daemons_put},
    {"/apis/scheduling.x-k8s.io/v1alpha1/podgroups", "podgroups", true,
     offsetof(struct pods_store, groups), groups_put},
    {"/apis/scheduling.volcano.sh/v1beta1/podgroups", "Volcano's podgroups",
     true, offsetof(struct pods_store, volcano), groups_put},
    {"/api/v1/persistentvolumes", "persistentvolumes", true,
     offsetof(struct pods_store, volumes), volumes_put},
    {"/api/v1/persistentvolumeclaims", "persistentvolumeclaims", true,
     offsetof(struct pods_store, claims), claims_put},
    {"/apis/storage.k8s.io/v1/storageclasses", "storageclasses", true,
     offsetof(struct pods_store, classes), classes_put},
    {"/apis/storage.k8s.io/v1/csinodes", "csinodes", true,
     offsetof(struct pods_store, csi), csi_put},
    {"/api/v1/namespaces", "namespaces", true,
     offsetof(struct pods_store, spaces), spaces_put},
};

static void source_configure(void *handle, struct names zones, struct qtys most,
                             bool no_reserve)
{
    struct kube_source *h = handle;

    pthread_mutex_lock(&h->store.lock);
    arena_reset(&h->zone_arena);
    h->zones = pods_names_copy(&h->zone_arena, zones);
    h->most = pods_qtys_copy(&h->zone_arena, most);
    h->reserve = !no_reserve;
    h->viewed = false; /* a view of them is due at once */
    pthread_cond_broadcast(&h->store.wake);
    pthread_mutex_unlock(&h->store.lock);
}

enum status kube_source_new(const struct kube_source_opts *o, void **ret,
                            struct err *err)
{
    static const char *const usual[] = {"default-scheduler"};
    struct names schedulers = o->scheduler_names;
    struct kube_access_opts access = {o->kubeconfig, o->context,
                                      o->cluster_dir};
    struct kube_access *found;
    enum status s = kube_access_find(&access, &found, err);
    struct kube_source *h;

    *ret = NULL;
    if (s != ST_OK)
        return s;
    if (!schedulers.n)
        schedulers = (struct names){usual, 1};
    h = MEM_NEW(struct kube_source);
    h->access = found;
    h->kube = kube_new(found);
    h->rules = (struct pods_rules){
        .namespaces = pods_names_copy(&h->arena, o->namespaces),
        .schedulers = pods_names_copy(&h->arena, schedulers),
        .label = o->label && *o->label ? arena_strdup(&h->arena, o->label)
                                       : "davit.io/machine",
    };
    h->rules.startup = pods_names_copy(&h->arena, o->startup_taints);
    pods_store_init(&h->store, &h->rules);
    h->works = o->works;
    source_configure(h, o->zones, o->most, o->no_reserve);
    *ret = h;
    return ST_OK;
}

static void source_free(void *handle)
{
    struct kube_source *h = handle;

    if (!h)
        return;
    for (int i = 0; i < WATCHES; i++)
        kube_watch_free(h->watch[i]);
    pods_store_done(&h->store);
    kube_free(h->kube);
    kube_access_free(h->access);
    arena_done(&h->zone_arena);
    arena_done(&h->arena);
    free(h);
}

static void source_stop(void *handle)
{
    struct kube_source *h = handle;

    atomic_store(&h->stop, true);
    pthread_mutex_lock(&h->store.lock);
    pthread_cond_broadcast(&h->store.wake);
    pthread_mutex_unlock(&h->store.lock);
}

/* ---- reading */

static void start(struct kube_source *h)
{
    if (h->started)
        return;
    h->started = true;
    for (int i = 0; i < WATCHES; i++) {
        struct kube_watch_opts o = {
            .access = h->access,
            .path = kinds[i].path,
            .what = kinds[i].what,
            .optional = kinds[i].optional,
            .ctx = (char *)&h->store + kinds[i].records,
            .list_begin = records_list_begin,
            .object = kinds[i].put,
            .list_end = records_list_end,
            .changed = records_changed,
        };
        h->watch[i] = kube_watch_new(&o);
    }
}

/* What we may not read is left to the scheduler's word. */
static void hidden_take(struct pods_store *s, size_t records, bool missing)
{
    if (records == offsetof(struct pods_store, volumes) ||
        records == offsetof(struct pods_store, claims) ||
        records == offsetof(struct pods_store, classes))
        s->hides_volumes = s->hides_volumes || missing;
    if (records == offsetof(struct pods_store, spaces))
        s->hides_spaces = missing;
}

/* All watches: complete once, and none broken for long.  *ret_wait: nothing is
 * wrong yet, but not all is there either. */
static enum status watches_ok(struct kube_source *h, bool *ret_wait,
                              struct err *err)
{
    int64_t now = clock_mono_ms();

    *ret_wait = h->store.hides_volumes = false;
    for (int i = 0; i < WATCHES; i++) {
        struct kube_watch_state s;
        enum status failed;
        kube_watch_state(h->watch[i], &s);
        hidden_take(&h->store, kinds[i].records, s.missing);
        if (s.ok)
            continue;
        failed = s.status == ST_OK ? ST_RETRY : s.status;
        if (*s.problem && (s.status == ST_AUTH || s.status == ST_INVALID ||
                           now - s.bad_since_mono_ms > STALE_MS)) {
            err_set(err, failed, "%s", s.problem);
            snprintf(err->code, sizeof err->code, "%s", s.code);
            return failed;
        }
        *ret_wait = *ret_wait || !s.synced;
    }
    return ST_OK;
}

/* When the next view is to be made; INT64_MAX: nothing has changed. */
static int64_t view_due(const struct kube_source *h)
{
    const struct pods_store *s = &h->store;
    int64_t due = INT64_MAX, rest = h->took_us * 10 / 1000;

    if (s->version != h->seen)
        due = s->changed_mono_ms + (s->urgent ? GATHER_MS : GATHER_LAZY_MS);
    /* making views must not take more than a small part of the time */
    if (rest > GATHER_MOST_MS)
        rest = s->urgent ? GATHER_MOST_MS : rest * 2;
    if (due < h->made_mono_ms + rest)
        due = h->made_mono_ms + rest;
    if (h->due_mono_ms && h->due_mono_ms < due)
        due = h->due_mono_ms;
    return h->viewed ? due : 0;
}

static struct source_view *make(struct kube_source *h)
{
    struct pods_view_in in = {
        .store = &h->store,
        .zones = h->zones,
        .most = h->most,
        .reserve = h->reserve,
        .works = h->works,
        .now_mono_ms = clock_mono_ms(),
        .now_wall_ms = clock_wall_ms(),
    };
    int64_t begun = clock_mono_us();
    struct source_view *view = pods_view_make(&in, &h->due_mono_ms);

    h->seen = h->store.version;
    h->store.changed_mono_ms = 0;
    h->store.urgent = false;
    h->viewed = true;
    h->made_mono_ms = clock_mono_ms();
    view->took_us = h->took_us = clock_mono_us() - begun;
    return view;
}

static enum status source_read(void *handle, int64_t deadline_mono_ms,
                               struct source_view **ret, struct err *err)
{
    struct kube_source *h = handle;
    enum status s = ST_OK;
    struct timespec until;
    bool wait;

    *ret = NULL;
    start(h);
    pthread_mutex_lock(&h->store.lock);
    for (;;) {
        int64_t now = clock_mono_ms(), due;
        if (atomic_load(&h->stop)) {
            s = err_set(err, ST_CANCELLED, "the source is being closed");
            break;
        }
        /* the watches' states have locks of their own, never held for ours */
        s = watches_ok(h, &wait, err);
        if (s != ST_OK)
            break;
        due = wait ? INT64_MAX : view_due(h);
        /* that all is as it was is never said of what has changed */
        if (due <= now ||
            (now >= deadline_mono_ms && !wait && h->store.version != h->seen)) {
            *ret = make(h);
            break;
        }
        if (now >= deadline_mono_ms) {
            if (wait)
                s = err_set(err, ST_RETRY,
                            "the first lists of pods and nodes are not "
                            "complete yet");
            break;
        }
        if (due > deadline_mono_ms)
            due = deadline_mono_ms;
        until = clock_wait_until(due - now);
        pthread_cond_timedwait(&h->store.wake, &h->store.lock, &until);
    }
    pthread_mutex_unlock(&h->store.lock);
    return s;
}

/* ---- writing: see kube/nodes.h */

static enum status source_drain_node(void *handle, struct source_drain *d,
                                     int64_t deadline_mono_ms, struct err *err)
{
    struct kube_source *h = handle;

    return kube_nodes_drain(h->kube, d, deadline_mono_ms, err);
}

static enum status source_undrain(void *handle, const char *node_id,
                                  int64_t deadline_mono_ms, struct err *err)
{
    struct kube_source *h = handle;

    return kube_nodes_undrain(h->kube, node_id, deadline_mono_ms, err);
}

static enum status source_cordon(void *handle, const char *node_id, bool on,
                                 int64_t deadline_mono_ms, struct err *err)
{
    struct kube_source *h = handle;

    return kube_nodes_cordon(h->kube, node_id, on, deadline_mono_ms, err);
}

static enum status source_forget(void *handle, const char *node_id,
                                 const char *instance_id,
                                 int64_t deadline_mono_ms, struct err *err)
{
    struct kube_source *h = handle;

    return kube_nodes_forget(h->kube, node_id, instance_id, deadline_mono_ms,
                             err);
}

const struct source_ops kube_source_ops = {
    .kind = "kubernetes",
    .waits = true,
    .by_address = true,
    .drains_in_steps = true,
    .late_devices = true,
    .writers = SOURCE_WRITERS,
    .read = source_read,
    .drain = source_drain_node,
    .undrain = source_undrain,
    .cordon = source_cordon,
    .forget = source_forget,
    .configure = source_configure,
    .stop = source_stop,
    .free = source_free,
};
