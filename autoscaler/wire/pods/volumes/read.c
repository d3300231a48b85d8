/*
 * read.c - PersistentVolumes, claims, StorageClasses, CSINodes and
 * namespaces to records.  See inside.h.
 */
#include "../inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../../base/alloc.h"
#include "../../../model/amount.h"

#define ZONE "topology.kubernetes.io/zone"

void *object_new(const json_t *o, size_t size, struct arena **ret)
{
    const json_t *meta = json_object_get(o, "metadata");
    const char *name = pods_text(meta, "name", NULL);
    const char *space = pods_text(meta, "namespace", NULL);
    struct object *x;

    if (!*name)
        return NULL;
    x = mem_zeroed(1, size);
    x->item.id = *space ? arena_printf(&x->arena, "%s/%s", space, name)
                        : arena_strdup(&x->arena, name);
    *ret = &x->arena;
    return x;
}

void object_free(struct item *x)
{
    struct object *o = (struct object *)x;

    arena_done(&o->arena);
    free(o);
}

/* Disks' own names of a zone, which nodes have once the driver runs there. */
static const char *zone_key(const char *key)
{
    static const char *const keys[] = {
        "topology.gke.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.disk.csi.azure.com/zone",
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return ZONE;
    return key;
}

static void keys_rename(struct req_vec *v)
{
    for (uint32_t i = 0; i < v->all.n; i++)
        v->all.v[i].key = zone_key(v->all.v[i].key);
}

struct alt_vec {
    VEC(struct reqs) all;
};

static void alt_add(struct arena *a, struct req_vec *v, struct alt_vec *to)
{
    keys_rename(v);
    if (to->all.n < PODS_MAX_ALTS)
        VEC_PUSH(a, &to->all, ((struct reqs){v->all.v, v->all.n}));
}

/* ---- PersistentVolumes */

static uint32_t modes_read(const json_t *list)
{
    static const char *const names[] = {"ReadWriteOnce", "ReadOnlyMany",
                                        "ReadWriteMany", "ReadWriteOncePod"};
    uint32_t modes = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        for (uint32_t k = 0; k < 4; k++) {
            const char *s = json_string_value(json_array_get(list, i));

            if (s && strcmp(s, names[k]) == 0)
                modes |= 1u << k;
        }
    return modes;
}

static bool is_block(const json_t *spec)
{
    return strcmp(pods_text(spec, "volumeMode", NULL), "Block") == 0;
}

/* Labels of zone and region bind it as well; several values are joined by "__". */
static void labels_bind(struct arena *a, const json_t *labels,
                        struct req_vec *to)
{
    static const char *const keys[] = {
        ZONE, "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *s = pods_text(labels, keys[i], NULL);
        struct {
            VEC(const char *) all;
        } v = {{0}};

        while (*s) {
            const char *end = strstr(s, "__");
            size_t n = end ? (size_t)(end - s) : strlen(s);

            if (n)
                VEC_PUSH(a, &v.all, arena_strndup(a, s, n));
            s += n + (end ? 2 : 0);
        }
        if (v.all.n)
            VEC_PUSH(a, &to->all,
                     ((struct req){keys[i & 1], REQ_IN, {v.all.v, v.all.n}}));
    }
}

static bool names_host(const struct reqs *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->v[i].op == REQ_IN &&
            (strcmp(r->v[i].key, "kubernetes.io/hostname") == 0 ||
             strcmp(r->v[i].key, "metadata.name") == 0))
            return true;
    return false;
}

struct volume *pods_volume_read(const json_t *o)
{
    const json_t *spec = json_object_get(o, "spec");
    const json_t *terms = pods_at(spec, "nodeAffinity", "required",
                                  "nodeSelectorTerms", NULL);
    const json_t *labels = pods_at(o, "metadata", "labels", NULL);
    struct req_vec base = {{0}};
    struct alt_vec alts = {{0}};
    struct arena *a;
    struct volume *v = object_new(o, sizeof *v, &a);

    if (!v)
        return NULL;
    labels_bind(a, labels, &base);
    for (size_t i = 0; i < json_array_size(terms) && i < PODS_MAX_ALTS; i++) {
        const json_t *t = json_array_get(terms, i);
        struct req_vec to = {{0}};

        for (uint32_t k = 0; k < base.all.n; k++)
            VEC_PUSH(a, &to.all, base.all.v[k]);
        if (pods_expressions(json_object_get(t, "matchExpressions"), a, &to) &&
            pods_expressions(json_object_get(t, "matchFields"), a, &to))
            alt_add(a, &to, &alts);
    }
    if (!json_array_size(terms))
        alt_add(a, &base, &alts);
    v->alts = alts.all.v;
    v->n_alts = alts.all.n;
    v->of_host = v->n_alts > 0;
    for (uint32_t i = 0; i < v->n_alts; i++)
        v->of_host = v->of_host && names_host(&v->alts[i]);
    v->class = arena_strdup(a, pods_text(spec, "storageClassName", NULL));
    v->driver = arena_strdup(a, pods_text(spec, "csi", "driver", NULL));
    v->modes = modes_read(json_object_get(spec, "accessModes"));
    v->block = is_block(spec);
    v->free = strcmp(pods_text(o, "status", "phase", NULL), "Available") == 0;
    if (pods_at(spec, "claimRef", "name", NULL))
        v->claim = arena_printf(a, "%s/%s",
                                pods_text(spec, "claimRef", "namespace", NULL),
                                pods_text(spec, "claimRef", "name", NULL));
    pods_quantity(pods_at(spec, "capacity", "storage", NULL), false, &v->size);
    v->labels = pods_pairs_copy(a, labels);
    return v;
}

/* ---- claims */

struct claim *pods_claim_read(const json_t *o)
{
    const json_t *spec = json_object_get(o, "spec");
    const json_t *sel = json_object_get(spec, "selector");
    struct req_vec reqs = {{0}};
    struct arena *a;
    struct claim *c = object_new(o, sizeof *c, &a);

    if (!c)
        return NULL;
    c->ending = pods_at(o, "metadata", "deletionTimestamp", NULL);
    c->volume = arena_strdup(a, pods_text(spec, "volumeName", NULL));
    c->class = arena_strdup(a, pods_text(spec, "storageClassName", NULL));
    c->modes = modes_read(json_object_get(spec, "accessModes"));
    c->block = is_block(spec);
    c->lost = strcmp(pods_text(o, "status", "phase", NULL), "Lost") == 0;
    pods_quantity(pods_at(spec, "resources", "requests", "storage", NULL), true,
                  &c->size);
    pods_pairs(json_object_get(sel, "matchLabels"), a, &reqs);
    pods_expressions(json_object_get(sel, "matchExpressions"), a, &reqs);
    c->reqs = (struct reqs){reqs.all.v, reqs.all.n};
    c->selects = json_is_object(sel);
    return c;
}

/* ---- StorageClasses */

struct storage_class *pods_class_read(const json_t *o)
{
    const json_t *list = json_object_get(o, "allowedTopologies");
    const char *provisioner = pods_text(o, "provisioner", NULL);
    struct alt_vec alts = {{0}};
    struct arena *a;
    struct storage_class *c = object_new(o, sizeof *c, &a);

    if (!c)
        return NULL;
    c->waits = strcmp(pods_text(o, "volumeBindingMode", NULL),
                      "WaitForFirstConsumer") == 0;
    c->driver = arena_strdup(a, provisioner);
    c->provisions = *provisioner &&
                    strcmp(provisioner, "kubernetes.io/no-provisioner") != 0;
    for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_ALTS; i++) {
        const json_t *e = json_object_get(json_array_get(list, i),
                                          "matchLabelExpressions");
        struct req_vec to = {{0}};

        for (size_t k = 0; k < json_array_size(e) && k < PODS_MAX_LIST; k++) {
            json_t *in = json_deep_copy(json_array_get(e, k)), *one;

            json_object_set_new(in, "operator", json_string("In"));
            one = json_pack("[O]", in);
            pods_expressions(one, a, &to);
            json_decref(one);
            json_decref(in);
        }
        alt_add(a, &to, &alts);
    }
    c->alts = alts.all.v;
    c->n_alts = alts.all.n;
    return c;
}

/* ---- CSINodes and namespaces */

struct csi_node *pods_csi_read(const json_t *o)
{
    const json_t *list = pods_at(o, "spec", "drivers", NULL);
    size_t n = json_array_size(list);
    struct arena *a;
    struct csi_node *c = object_new(o, sizeof *c, &a);
    struct qty *v;

    if (!c)
        return NULL;
    n = n < PODS_MAX_NEEDS ? n : PODS_MAX_NEEDS;
    v = ARENA_ARRAY(a, struct qty, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *d = json_array_get(list, i);
        const json_t *count = pods_at(d, "allocatable", "count", NULL);
        const char *name = pods_text(d, "name", NULL);
        json_int_t most = json_integer_value(count);

        if (*name && json_is_integer(count) && most >= 0 && most <= 1000000)
            v[c->limits.n++] = (struct qty){pods_clean(a, name),
                                            most * AMOUNT_ONE};
    }
    c->limits.v = v;
    return c;
}

struct space *pods_space_read(const json_t *o)
{
    struct arena *a;
    struct space *s = object_new(o, sizeof *s, &a);

    if (!s)
        return NULL;
    s->labels = pods_pairs_copy(a, pods_at(o, "metadata", "labels", NULL));
    s->uid = pods_clean(a, pods_text(o, "metadata", "uid", NULL));
    return s;
}
