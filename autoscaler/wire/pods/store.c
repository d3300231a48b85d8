/*
 * store.c - what is known of the cluster, kept as events come.  See
 * inside.h.
 *
 * Work that came, or room that came or went, is urgent; the rest (pods that
 * were bound or ended, changed labels) may wait for a fraction of a second and
 * is then told together.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"

/* ---- tables */

static void table_grow(struct table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 64;
    struct item **slot = calloc(cap, sizeof *slot);

    if (!slot)
        abort();
    for (uint32_t i = 0; i < t->cap; i++)
        for (struct item *x = t->slot[i], *next; x; x = next) {
            next = x->next;
            x->next = slot[x->hash & (cap - 1)];
            slot[x->hash & (cap - 1)] = x;
        }
    free(t->slot);
    t->slot = slot;
    t->cap = cap;
}

struct item *table_find(const struct table *t, const char *id)
{
    uint64_t h = pods_hash(0, id);

    if (!t->cap)
        return NULL;
    for (struct item *x = t->slot[h & (t->cap - 1)]; x; x = x->next)
        if (x->hash == h && strcmp(x->id, id) == 0)
            return x;
    return NULL;
}

/* Takes out the one with this id. */
static struct item *table_take(struct table *t, const char *id)
{
    uint64_t h = pods_hash(0, id);

    if (!t->cap)
        return NULL;
    for (struct item **x = &t->slot[h & (t->cap - 1)]; *x; x = &(*x)->next)
        if ((*x)->hash == h && strcmp((*x)->id, id) == 0) {
            struct item *found = *x;
            *x = found->next;
            t->n--;
            return found;
        }
    return NULL;
}

static void table_put(struct table *t, struct item *x)
{
    if (t->n >= t->cap)
        table_grow(t);
    x->hash = pods_hash(0, x->id);
    x->mark = t->mark;
    x->next = t->slot[x->hash & (t->cap - 1)];
    t->slot[x->hash & (t->cap - 1)] = x;
    t->n++;
}

/* Takes out one that was not in the last list; NULL: there is none left. */
static struct item *table_stale(struct table *t, uint32_t *at, bool all)
{
    for (; *at < t->cap; ++*at)
        for (struct item **x = &t->slot[*at]; *x; x = &(*x)->next)
            if (all || (*x)->mark != t->mark) {
                struct item *found = *x;
                *x = found->next;
                t->n--;
                return found;
            }
    return NULL;
}

/* ---- what many pods share */

struct pod_shape *pods_shape_intern(struct pods_store *s, const json_t *meta,
                                    const json_t *spec, bool lenient)
{
    char *key = pods_shape_key(meta, spec, lenient);
    uint64_t h = pods_hash(0, key);
    struct pod_shape *x = NULL, **slot;

    if (s->cap_shapes)
        for (x = s->shapes[h & (s->cap_shapes - 1)]; x; x = x->next)
            if (x->hash == h && strcmp(x->key, key) == 0)
                break;
    if (!x) {
        if (s->n_shapes >= s->cap_shapes) {
            uint32_t cap = s->cap_shapes ? s->cap_shapes * 2 : 64;
            slot = calloc(cap, sizeof *slot);
            if (!slot)
                abort();
            for (uint32_t i = 0; i < s->cap_shapes; i++)
                for (struct pod_shape *p = s->shapes[i], *next; p; p = next) {
                    next = p->next;
                    p->next = slot[p->hash & (cap - 1)];
                    slot[p->hash & (cap - 1)] = p;
                }
            free(s->shapes);
            s->shapes = slot;
            s->cap_shapes = cap;
        }
        x = pods_shape_read(meta, spec, lenient);
        x->key = arena_strdup(&x->arena, key);
        x->hash = h;
        x->serial = ++s->serial;
        x->next = s->shapes[h & (s->cap_shapes - 1)];
        s->shapes[h & (s->cap_shapes - 1)] = x;
        s->n_shapes++;
    }
    free(key);
    x->refs++;
    return x;
}

static void shape_leave(struct pods_store *s, struct pod_shape *x)
{
    struct pod_shape **at;

    if (!x || --x->refs)
        return;
    at = &s->shapes[x->hash & (s->cap_shapes - 1)];
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    s->n_shapes--;
    pods_shape_free(x);
}

/* Key, pairs and their words in one block. */
static struct pod_labels *labels_new(const json_t *labels, const char *key)
{
    size_t n = json_object_size(labels), bytes = strlen(key) + 1;
    struct pod_labels *x;
    struct pair *v;
    const char *name;
    char *to;
    json_t *j;

    n = n < PODS_MAX_LIST ? n : PODS_MAX_LIST;
    json_object_foreach((json_t *)(uintptr_t)labels, name, j)
        bytes += strlen(name) + 2 +
                 (json_is_string(j) ? json_string_length(j) : 0);
    x = malloc(sizeof *x + n * sizeof *v + bytes);
    if (!x)
        abort();
    *x = (struct pod_labels){0};
    v = (struct pair *)(x + 1);
    to = (char *)(v + n);
    x->pairs.v = v;
    x->key = memcpy(to, key, strlen(key) + 1);
    to += strlen(key) + 1;
    json_object_foreach((json_t *)(uintptr_t)labels, name, j) {
        const char *s = json_string_value(j);
        if (!s || x->pairs.n == n)
            continue;
        v[x->pairs.n].key = memcpy(to, name, strlen(name) + 1);
        to += strlen(name) + 1;
        v[x->pairs.n++].value = memcpy(to, s, strlen(s) + 1);
        to += strlen(s) + 1;
    }
    return x;
}

struct pod_labels *pods_labels_intern(struct pods_store *s,
                                      const json_t *labels)
{
    char *key = json_is_object(labels)
        ? json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    uint64_t h = pods_hash(0, key ? key : "");
    struct pod_labels *x = NULL;

    if (s->cap_labels)
        for (x = s->labelsets[h & (s->cap_labels - 1)]; x; x = x->next)
            if (x->hash == h && strcmp(x->key, key ? key : "") == 0)
                break;
    if (!x) {
        if (s->n_labels >= s->cap_labels) {
            uint32_t cap = s->cap_labels ? s->cap_labels * 2 : 64;
            struct pod_labels **slot = calloc(cap, sizeof *slot);
            if (!slot)
                abort();
            for (uint32_t i = 0; i < s->cap_labels; i++)
                for (struct pod_labels *p = s->labelsets[i], *next; p;
                     p = next) {
                    next = p->next;
                    p->next = slot[p->hash & (cap - 1)];
                    slot[p->hash & (cap - 1)] = p;
                }
            free(s->labelsets);
            s->labelsets = slot;
            s->cap_labels = cap;
        }
        x = labels_new(labels, key ? key : "");
        x->hash = h;
        x->next = s->labelsets[h & (s->cap_labels - 1)];
        s->labelsets[h & (s->cap_labels - 1)] = x;
        s->n_labels++;
    }
    free(key);
    x->refs++;
    return x;
}

static void labels_leave(struct pods_store *s, struct pod_labels *x)
{
    struct pod_labels **at;

    if (!x || --x->refs)
        return;
    at = &s->labelsets[x->hash & (s->cap_labels - 1)];
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    s->n_labels--;
    free(x);
}

static void pod_free(struct pods_store *s, struct pod *p)
{
    if (!p)
        return;
    shape_leave(s, p->shape);
    labels_leave(s, p->labels);
    free(p);
}

static void daemon_free(struct daemon *d)
{
    if (d)
        pods_shape_free(d->shape);
    free(d);
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

static bool pod_same(const struct pod *a, const struct pod *b)
{
    return a->state == b->state && a->shape == b->shape &&
           a->labels == b->labels && a->priority == b->priority &&
           a->ending == b->ending && a->gang_size == b->gang_size && strcmp(a->node, b->node) == 0 &&
           strcmp(a->owner, b->owner) == 0 && strcmp(a->gang, b->gang) == 0 &&
           strcmp(a->queue, b->queue) == 0 && strcmp(a->code, b->code) == 0;
}

void pods_put(void *store, const json_t *o, bool gone)
{
    struct pods_store *s = store;
    struct pod *p, *old;

    pthread_mutex_lock(&s->lock);
    p = pods_pod_read(o, s->rules, s);
    if (!p) {
        s->garbled++;
        pthread_mutex_unlock(&s->lock);
        return;
    }
    old = (struct pod *)table_take(&s->pods, p->item.id);
    if (gone || p->state == POD_OVER) {
        if (old)
            changed(s, false);
        pod_free(s, p);
    } else {
        table_put(&s->pods, &p->item);
        if (!old || !pod_same(old, p))
            changed(s, p->state == POD_DEMAND);
    }
    pod_free(s, old);
    pthread_mutex_unlock(&s->lock);
}

void nodes_put(void *store, const json_t *o, bool gone)
{
    struct pods_store *s = store;
    struct knode *n = pods_node_read(o, s->rules), *old;

    pthread_mutex_lock(&s->lock);
    if (!n) {
        s->garbled++;
        pthread_mutex_unlock(&s->lock);
        return;
    }
    old = (struct knode *)table_take(&s->nodes, n->item.id);
    if (gone) {
        if (old)
            changed(s, true);
        pods_node_free(n);
    } else {
        if (old)
            n->idle_since_ms = old->idle_since_ms;
        table_put(&s->nodes, &n->item);
        if (!old || old->hash != n->hash)
            changed(s, true);
    }
    pods_node_free(old);
    pthread_mutex_unlock(&s->lock);
}

void daemons_put(void *store, const json_t *o, bool gone)
{
    struct pods_store *s = store;
    struct daemon *d = pods_daemon_read(o);

    pthread_mutex_lock(&s->lock);
    if (d) {
        daemon_free((struct daemon *)table_take(&s->daemons, d->item.id));
        if (gone)
            daemon_free(d);
        else
            table_put(&s->daemons, &d->item);
        changed(s, false);
    } else {
        s->garbled++;
    }
    pthread_mutex_unlock(&s->lock);
}

void groups_put(void *store, const json_t *o, bool gone)
{
    struct pods_store *s = store;
    struct pod_group *g = pods_group_read(o);

    pthread_mutex_lock(&s->lock);
    if (g) {
        free(table_take(&s->groups, g->item.id));
        if (gone)
            free(g);
        else
            table_put(&s->groups, &g->item);
        changed(s, true);
    } else {
        s->garbled++;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- lists */

static void list_begin(struct pods_store *s, struct table *t)
{
    pthread_mutex_lock(&s->lock);
    t->mark++;
    pthread_mutex_unlock(&s->lock);
}

void pods_list_begin(void *store)
{
    list_begin(store, &((struct pods_store *)store)->pods);
}

void nodes_list_begin(void *store)
{
    list_begin(store, &((struct pods_store *)store)->nodes);
}

void daemons_list_begin(void *store)
{
    list_begin(store, &((struct pods_store *)store)->daemons);
}

void groups_list_begin(void *store)
{
    list_begin(store, &((struct pods_store *)store)->groups);
}

static void pods_sweep(struct pods_store *s, bool all)
{
    struct item *x;
    uint32_t at = 0;

    while ((x = table_stale(&s->pods, &at, all)))
        pod_free(s, (struct pod *)x);
}

static void nodes_sweep(struct pods_store *s, bool all)
{
    struct item *x;
    uint32_t at = 0;

    while ((x = table_stale(&s->nodes, &at, all)))
        pods_node_free((struct knode *)x);
}

static void daemons_sweep(struct pods_store *s, bool all)
{
    struct item *x;
    uint32_t at = 0;

    while ((x = table_stale(&s->daemons, &at, all)))
        daemon_free((struct daemon *)x);
}

static void groups_sweep(struct pods_store *s, bool all)
{
    struct item *x;
    uint32_t at = 0;

    while ((x = table_stale(&s->groups, &at, all)))
        free(x);
}

static void list_end(struct pods_store *s,
                     void (*sweep)(struct pods_store *, bool))
{
    pthread_mutex_lock(&s->lock);
    sweep(s, false);
    changed(s, true);
    pthread_mutex_unlock(&s->lock);
}

void pods_list_end(void *store)
{
    list_end(store, pods_sweep);
}

void nodes_list_end(void *store)
{
    list_end(store, nodes_sweep);
}

void daemons_list_end(void *store)
{
    list_end(store, daemons_sweep);
}

void groups_list_end(void *store)
{
    list_end(store, groups_sweep);
}

void pods_store_init(struct pods_store *s, const struct pods_rules *rules)
{
    pthread_condattr_t attr;

    memset(s, 0, sizeof *s);
    s->rules = rules;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
}

void pods_store_done(struct pods_store *s)
{
    pods_sweep(s, true);
    nodes_sweep(s, true);
    daemons_sweep(s, true);
    groups_sweep(s, true);
    free(s->pods.slot);
    free(s->nodes.slot);
    free(s->daemons.slot);
    free(s->groups.slot);
    free(s->shapes);
    free(s->labelsets);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
}
