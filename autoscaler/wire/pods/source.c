/*
 * source.c - a Kubernetes API server as a demand source: see pods.h.
 *
 * The reader's handle owns the watches and the store that they fill.  A view is
 * made 5 ms after something urgent (work or nodes came; a burst is one view),
 * and up to 200 ms after anything else.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../kube/kube.h"
#include "../kube/nodes.h"
#include "../kube/watch.h"
#include "inside.h"

enum {
    GATHER_MS = 5,
    GATHER_LAZY_MS = 200,
    GATHER_MOST_MS = 35, /* between two views while events come and come */
    STALE_MS = 5000,     /* how long a watch may be broken */
    WATCHES = 16,
};

enum when {
    ALWAYS,
    BY_DEFAULTS, /* when a scheduler's default constraints refuse nodes */
    BY_MAP,      /* when its settings are in a ConfigMap */
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
    bool viewed; /* there was a view */
    atomic_bool stop;
    struct pods_store store;
    struct kube_watch *watch[WATCHES]; /* NULL: not wanted (yet) */
    const char *map_path;              /* "": no ConfigMap */
    uint64_t seen;                 /* the store's version in the last view */
    int64_t due_mono_ms;           /* a view that changes by itself; 0 */
    int64_t took_us, made_mono_ms; /* of the last view */
};

static const struct {
    const char *path, *what;
    bool optional;
    size_t records; /* of the store */
    void (*put)(void *, const json_t *, bool);
    enum when when;
} kinds[WATCHES] = {
    {"", "configmaps", true, offsetof(struct pods_store, maps), maps_put,
     BY_MAP}, /* first: pods are read by it */
    {"/api/v1/pods", "pods", false, offsetof(struct pods_store, pods), pods_put,
     ALWAYS},
    {"/api/v1/nodes", "nodes", false, offsetof(struct pods_store, nodes),
     nodes_put, ALWAYS},
    {"/apis/apps/v1/daemonsets", "daemonsets", false,
     offsetof(struct pods_store, daemons), daemons_put, ALWAYS},
    {"/apis/scheduling.x-k8s.io/v1alpha1/podgroups", "podgroups", true,
     offsetof(struct pods_store, groups), groups_put, ALWAYS},
    {"/apis/scheduling.volcano.sh/v1beta1/podgroups", "Volcano's podgroups",
     true, offsetof(struct pods_store, volcano), groups_put, ALWAYS},
    {"/apis/scheduling.volcano.sh/v1beta1/queues", "Volcano's queues", true,
     offsetof(struct pods_store, queues), queues_put, ALWAYS},
    {"/api/v1/persistentvolumes", "persistentvolumes", true,
     offsetof(struct pods_store, volumes), volumes_put, ALWAYS},
    {"/api/v1/persistentvolumeclaims", "persistentvolumeclaims", true,
     offsetof(struct pods_store, claims), claims_put, ALWAYS},
    {"/apis/storage.k8s.io/v1/storageclasses", "storageclasses", true,
     offsetof(struct pods_store, classes), classes_put, ALWAYS},
    {"/apis/storage.k8s.io/v1/csinodes", "csinodes", true,
     offsetof(struct pods_store, csi), csi_put, ALWAYS},
    {"/api/v1/namespaces", "namespaces", true,
     offsetof(struct pods_store, spaces), spaces_put, ALWAYS},
    {"/api/v1/services", "services", true,
     offsetof(struct pods_store, services), services_put, BY_DEFAULTS},
    {"/api/v1/replicationcontrollers", "replicationcontrollers", true,
     offsetof(struct pods_store, controllers), controllers_put, BY_DEFAULTS},
    {"/apis/apps/v1/replicasets", "replicasets", true,
     offsetof(struct pods_store, replicas), replicas_put, BY_DEFAULTS},
    {"/apis/apps/v1/statefulsets", "statefulsets", true,
     offsetof(struct pods_store, stateful), stateful_put, BY_DEFAULTS},
};

static bool pairs_equal(struct pairs a, struct pairs b)
{
    for (uint32_t i = 0; i < a.n && a.n == b.n; i++)
        if (strcmp(a.v[i].key, b.v[i].key) != 0 ||
            strcmp(a.v[i].value, b.v[i].value) != 0)
            return false;
    return a.n == b.n;
}

static struct pairs pairs_copy(struct arena *a, struct pairs p)
{
    struct pair *v = ARENA_ARRAY(a, struct pair, p.n);

    for (uint32_t i = 0; i < p.n; i++)
        v[i] = (struct pair){arena_strdup(a, p.v[i].key),
                             arena_strdup(a, p.v[i].value)};
    return (struct pairs){v, p.n};
}

static void source_configure(void *handle, struct names zones, struct qtys most,
                             struct pairs startup, bool no_reserve)
{
    struct kube_source *h = handle;

    pthread_mutex_lock(&h->store.lock);
    h->store.relist_nodes = h->store.relist_nodes ||
                            !pairs_equal(h->rules.type_startup, startup);
    arena_reset(&h->zone_arena);
    h->rules.type_startup = pairs_copy(&h->zone_arena, startup);
    h->zones = pods_names_copy(&h->zone_arena, zones);
    h->most = pods_qtys_copy(&h->zone_arena, most);
    h->reserve = !no_reserve;
    h->viewed = false; /* a view of them is due at once */
    pthread_cond_broadcast(&h->store.wake);
    pthread_mutex_unlock(&h->store.lock);
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

/* "configmap:space/name", or a file that is read now. */
static enum status profiles_open(struct kube_source *h, const char *from,
                                 struct err *err)
{
    static const char map[] = "configmap:";
    const char *name = from ? from + strlen(map) : NULL, *slash;
    size_t n;
    char *text;

    h->map_path = "";
    if (!from || !*from)
        return ST_OK;
    h->store.profiles_from = arena_strdup(&h->arena, from);
    if (strncmp(from, map, strlen(map)) == 0) {
        slash = strchr(name, '/');
        h->map_path = arena_printf(
            &h->arena,
            "/api/v1/namespaces/%.*s/configmaps?fieldSelector=metadata.name%%3D"
            "%s",
            (int)(slash - name), name, slash + 1);
        return ST_OK;
    }
    text = kube_slurp(&h->arena, from, &n, err);
    h->store.profiles = text ? profiles_read(text, n, err) : NULL;
    return h->store.profiles ? ST_OK
                             : err_prefix(err, "scheduler_config %s", from);
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
    source_configure(h, o->zones, o->most, o->type_startup, o->no_reserve);
    s = profiles_open(h, o->scheduler_config, err);
    if (s != ST_OK)
        source_free(h);
    else
        *ret = h;
    return s;
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

static void watch_begin(struct kube_source *h, int i)
{
    struct kube_watch_opts o = {
        .access = h->access,
        .path = kinds[i].when == BY_MAP ? h->map_path : kinds[i].path,
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

/* The settings of the scheduler are known, or cannot be. */
static bool profiles_there(struct kube_source *h)
{
    struct kube_watch_state s;

    if (!*h->map_path)
        return true;
    if (!h->watch[0])
        return false;
    kube_watch_state(h->watch[0], &s);
    return s.synced || s.missing;
}

/* Those that are wanted and not there yet. */
static void start(struct kube_source *h, bool known, bool defaults)
{
    for (int i = 0; i < WATCHES; i++)
        if (!h->watch[i] &&
            (kinds[i].when == BY_MAP
                 ? *h->map_path != '\0'
                 : known && (kinds[i].when == ALWAYS || defaults)))
            watch_begin(h, i);
}

/* What they are read by is another one: they are read again. */
static void relist(struct kube_source *h,
                   void (*put)(void *, const json_t *, bool))
{
    for (int i = 0; i < WATCHES; i++)
        if (h->watch[i] && kinds[i].put == put) {
            kube_watch_free(h->watch[i]);
            watch_begin(h, i);
        }
}

/* Without the store's lock, which the watches' threads take. */
static void start_wanted(struct kube_source *h)
{
    bool known = profiles_there(h), pods, nodes, defaults;

    pthread_mutex_lock(&h->store.lock);
    pods = h->store.relist_pods;
    nodes = h->store.relist_nodes;
    h->store.relist_pods = h->store.relist_nodes = false;
    defaults = h->store.profiles && h->store.profiles->any_spreads;
    pthread_mutex_unlock(&h->store.lock);
    if (pods)
        relist(h, pods_put);
    if (nodes)
        relist(h, nodes_put);
    start(h, known, defaults);
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

/* It may not be read, or is not there: told by its name.  Of more than HIDDEN_MAX
 * the first. */
static void hidden_add(struct kube_source *h, int i)
{
    struct pods_store *s = &h->store;

    if (s->n_hidden < HIDDEN_MAX)
        s->hidden[s->n_hidden++] = kinds[i].what;
}

/* All watches: complete once, and none broken for long.  *ret_wait: nothing is
 * wrong yet, but not all is there either. */
static enum status watches_ok(struct kube_source *h, bool *ret_wait,
                              struct err *err)
{
    int64_t now = clock_mono_ms();

    *ret_wait = h->store.hides_volumes = false;
    h->store.n_hidden = 0;
    for (int i = 0; i < WATCHES; i++) {
        struct kube_watch_state s;
        enum status failed;

        if (!h->watch[i]) {
            *ret_wait = *ret_wait || kinds[i].when == ALWAYS;
            continue;
        }
        kube_watch_state(h->watch[i], &s);
        hidden_take(&h->store, kinds[i].records, s.missing);
        if (s.hidden)
            hidden_add(h, i);
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
        .map_missing = *h->map_path && !h->store.profiles &&
                       !h->store.profiles_wrong,
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
    start_wanted(h);
    pthread_mutex_lock(&h->store.lock);
    for (;;) {
        int64_t now = clock_mono_ms(), due;

        if (*h->map_path || h->store.relist_nodes) {
            pthread_mutex_unlock(&h->store.lock);
            start_wanted(h);
            pthread_mutex_lock(&h->store.lock);
        }
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
