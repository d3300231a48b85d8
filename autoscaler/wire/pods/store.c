/*
 * store.c - what is known of the cluster, kept as events come.  See inside.h.
 *
 * Work that came, or room that came or went, is urgent.  The rest (pods that
 * were bound or ended, changed labels) may wait for a fraction of a second, and
 * then makes one view together.
 */
#include "inside.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/thread.h"
#include "profiles/selectors.h"

/* ---- records of one kind, by id */

struct item *records_find(const struct records *r, const char *id)
{
    uint64_t h = hash_text(HASH_SEED, id);
    struct item *x;

    for (uint32_t at = 0; (x = hash_next(&r->by_id, h, &at));)
        if (strcmp(x->id, id) == 0)
            return x;
    return NULL;
}

/* Takes out the one with this id; NULL: there is none. */
static struct item *records_take(struct records *r, const char *id)
{
    struct item *x = records_find(r, id);

    if (x)
        hash_remove(&r->by_id, hash_text(HASH_SEED, id), x);
    return x;
}

static void records_put(struct records *r, struct item *x)
{
    x->mark = r->mark;
    hash_add(&r->by_id, hash_text(HASH_SEED, x->id), x);
}

/* Those that were not in the last list, or all. */
static void records_sweep(struct pods_store *s, struct records *r, bool all)
{
    struct item *x;

    for (uint32_t at = 0; (x = hash_each(&r->by_id, &at));)
        if (all || x->mark != r->mark) {
            hash_remove(&r->by_id, hash_text(HASH_SEED, x->id), x);
            r->free(s, x);
        }
}

void records_list_begin(void *records)
{
    struct records *r = records;

    pthread_mutex_lock(&r->store->lock);
    r->mark++;
    pthread_mutex_unlock(&r->store->lock);
}

/* ---- changes */

static void changed(struct pods_store *s, bool urgent)
{
    s->version++;
    if (!s->changed_mono_ms)
        s->changed_mono_ms = clock_mono_ms();
    if (!s->urgent && urgent)
        pthread_cond_broadcast(&s->wake);
    s->urgent = s->urgent || urgent;
}

void records_list_end(void *records)
{
    struct records *r = records;

    pthread_mutex_lock(&r->store->lock);
    records_sweep(r->store, r, false);
    changed(r->store, true);
    pthread_mutex_unlock(&r->store->lock);
}

void records_changed(void *records)
{
    struct pods_store *s = ((struct records *)records)->store;

    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

static bool pod_same(const struct pod *a, const struct pod *b)
{
    return a->state == b->state && a->shape == b->shape &&
           a->labels == b->labels && a->priority == b->priority &&
           a->ending == b->ending && a->gang_size == b->gang_size &&
           strcmp(a->node, b->node) == 0 && strcmp(a->owner, b->owner) == 0 &&
           strcmp(a->gang, b->gang) == 0 && strcmp(a->queue, b->queue) == 0 &&
           strcmp(a->code, b->code) == 0 &&
           (a->state != POD_WAITS || strcmp(a->aside, b->aside) == 0);
}

/* Room came or went there: what the scheduler said of it is old. */
static void touch(struct pods_store *s, const char *node)
{
    struct knode *k = *node ? (struct knode *)records_find(&s->nodes, node)
                            : NULL;

    if (k)
        k->touched_ms = clock_mono_ms();
}

/* Since when there has been this pod, and the node's room for it. */
static int64_t could_be_bound(struct pods_store *s, const struct pod *p,
                              const char *node)
{
    const struct knode *k = (const struct knode *)records_find(&s->nodes, node);
    int64_t age = clock_wall_ms() - p->created_ms;
    int64_t since = clock_mono_ms() - (age > 0 ? age : 0);

    return k && k->touched_ms > since ? k->touched_ms : since;
}

void pods_put(void *records, const json_t *o, bool gone)
{
    struct records *r = records;
    struct pods_store *s = r->store;
    struct pod *p, *old;

    pthread_mutex_lock(&s->lock);
    p = pods_pod_read(o, s->rules, s);
    if (!p) {
        s->garbled++;
        pthread_mutex_unlock(&s->lock);
        return;
    }
    old = (struct pod *)records_take(r, p->item.id);
    if (old && !*old->node && *p->node)
        scheduler_bound(s, could_be_bound(s, old, p->node), clock_mono_ms());
    if (gone || p->state == POD_OVER) {
        if (old) {
            touch(s, old->node);
            changed(s, false);
        }
        pods_pod_free(s, p);
    } else {
        records_put(r, &p->item);
        if (!old || !pod_same(old, p)) {
            touch(s, p->node);
            if (old && strcmp(old->node, p->node) != 0)
                touch(s, old->node);
            changed(s, p->state == POD_DEMAND);
        }
    }
    pods_pod_free(s, old);
    pthread_mutex_unlock(&s->lock);
}

/* So long it has been as it is when it is first seen. */
static int64_t age_of(const struct knode *n)
{
    int64_t since = n->created_ms > n->changed_ms ? n->created_ms
                                                  : n->changed_ms;
    int64_t age = clock_wall_ms() - since;

    return since > 0 && age > 0 ? age : 0;
}

void nodes_put(void *records, const json_t *o, bool gone)
{
    struct records *r = records;
    struct pods_store *s = r->store;
    struct knode *n, *old;

    pthread_mutex_lock(&s->lock);
    n = pods_node_read(o, s->rules); /* the rules may change */
    if (!n) {
        s->garbled++;
        pthread_mutex_unlock(&s->lock);
        return;
    }
    old = (struct knode *)records_take(r, n->item.id);
    if (gone) {
        if (old)
            changed(s, true);
        pods_node_free(n);
    } else {
        n->touched_ms = clock_mono_ms();
        n->came_ms = n->touched_ms - (old ? 0 : age_of(n));
        if (old) {
            n->idle_since_ms = old->idle_since_ms;
            /* since it became Ready the last time */
            n->up = n->up || (old->up && old->ready && n->ready &&
                              old->changed_ms == n->changed_ms);
        }
        if (old && old->hash == n->hash) {
            n->touched_ms = old->touched_ms;
            n->came_ms = old->came_ms;
            n->version = old->version;
        }
        records_put(r, &n->item);
        if (!old || old->hash != n->hash)
            changed(s, true);
    }
    pods_node_free(old);
    pthread_mutex_unlock(&s->lock);
}

/* Of a kind of which every event counts as a change; x: NULL when the object
 * was none. */
static void item_put(struct records *r, struct item *x, bool gone, bool urgent)
{
    struct pods_store *s = r->store;

    pthread_mutex_lock(&s->lock);
    if (x) {
        struct item *old = records_take(r, x->id);

        if (old)
            r->free(s, old);
        if (gone)
            r->free(s, x);
        else
            records_put(r, x);
        changed(s, urgent);
    } else {
        s->garbled++;
    }
    pthread_mutex_unlock(&s->lock);
}

void daemons_put(void *records, const json_t *o, bool gone)
{
    struct daemon *d = pods_daemon_read(o);

    item_put(records, d ? &d->item : NULL, gone, false);
}

#define OBJECTS_PUT(kind, read, urgent) \
    void kind##_put(void *records, const json_t *o, bool gone) \
    { \
        struct item *x = (struct item *)read(o); \
\
        item_put(records, x, gone, urgent); \
    }

OBJECTS_PUT(groups, pods_group_read, true)
OBJECTS_PUT(queues, pods_queue_read, true)
OBJECTS_PUT(volumes, pods_volume_read, true)
OBJECTS_PUT(claims, pods_claim_read, true)
OBJECTS_PUT(classes, pods_class_read, true)
OBJECTS_PUT(csi, pods_csi_read, true)
OBJECTS_PUT(spaces, pods_space_read, false)
OBJECTS_PUT(services, pods_service_read, false)
OBJECTS_PUT(controllers, pods_controller_read, false)
OBJECTS_PUT(replicas, pods_replicas_read, false)
OBJECTS_PUT(stateful, pods_stateful_read, false)

/* The ConfigMap that the scheduler's settings are in: they hold as long as it is
 * there, whether its end is an event or it is not in the next list. */
static void settings_set(struct pods_store *s, struct profiles *p, char *text,
                         const char *wrong)
{
    profiles_free(s->profiles);
    free(s->profiles_text);
    free(s->profiles_wrong);
    s->profiles = p;
    s->profiles_text = text;
    s->profiles_wrong = p ? NULL : mem_strdup(wrong);
    s->relist_pods = true; /* they are read by them */
    changed(s, true);
}

static void map_free(struct pods_store *s, struct item *x)
{
    settings_set(s, NULL, NULL, "it is gone");
    object_free(x);
}

void maps_put(void *records, const json_t *o, bool gone)
{
    struct records *r = records;
    struct pods_store *s = r->store;
    struct arena *a;
    struct item *x = object_new(o, sizeof(struct object), &a), *old;
    struct err err = {0};
    struct profiles *p = gone || !x ? NULL : profiles_of_map(o, &err);
    char *text = json_dumps(json_object_get(o, "data"),
                            JSON_COMPACT | JSON_SORT_KEYS);

    pthread_mutex_lock(&s->lock);
    old = x ? records_take(r, x->id) : NULL;
    if (gone || !x) {
        s->garbled += !x;
        if (old)
            map_free(s, old);
        if (x)
            object_free(x);
        free(text);
    } else {
        if (old)
            object_free(old);
        records_put(r, x);
        if (text && s->profiles_text && strcmp(text, s->profiles_text) == 0) {
            free(text); /* listed again */
            profiles_free(p);
        } else {
            settings_set(s, p, text, err.text);
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- the whole */

static void records_object_free(struct pods_store *s, struct item *x)
{
    (void)s;
    object_free(x);
}

static void pod_free(struct pods_store *s, struct item *x)
{
    pods_pod_free(s, (struct pod *)x);
}

static void node_free(struct pods_store *s, struct item *x)
{
    (void)s;
    pods_node_free((struct knode *)x);
}

static void daemon_free(struct pods_store *s, struct item *x)
{
    (void)s;
    pods_shape_free(((struct daemon *)x)->shape);
    free(x);
}

static const struct {
    size_t at; /* its struct records in the store */
    void (*free)(struct pods_store *s, struct item *x);
} kinds[] = {
#define KIND(name, free) \
    { \
        offsetof(struct pods_store, name), free \
    }
    KIND(pods, pod_free),
    KIND(nodes, node_free),
    KIND(daemons, daemon_free),
    KIND(groups, records_object_free),
    KIND(volcano, records_object_free),
    KIND(queues, records_object_free),
    KIND(volumes, records_object_free),
    KIND(claims, records_object_free),
    KIND(classes, records_object_free),
    KIND(csi, records_object_free),
    KIND(spaces, records_object_free),
    KIND(services, records_object_free),
    KIND(controllers, records_object_free),
    KIND(replicas, records_object_free),
    KIND(stateful, records_object_free),
    KIND(maps, map_free),
#undef KIND
};

static struct records *records_of(struct pods_store *s, size_t kind)
{
    return (struct records *)((char *)s + kinds[kind].at);
}

void pods_store_init(struct pods_store *s, const struct pods_rules *rules)
{
    *s = (struct pods_store){.rules = rules};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        *records_of(s, i) = (struct records){.store = s, .free = kinds[i].free};
    pthread_mutex_init(&s->lock, NULL);
    thread_cond_init(&s->wake);
}

void pods_store_done(struct pods_store *s)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        records_sweep(s, records_of(s, i), true);
        hash_done(&records_of(s, i)->by_id);
    }
    hash_done(&s->shapes);
    hash_done(&s->labels);
    profiles_free(s->profiles);
    free(s->profiles_wrong);
    free(s->profiles_text);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
}
