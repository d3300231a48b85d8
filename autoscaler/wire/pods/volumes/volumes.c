/*
 * volumes.c - where the claims of waiting pods let them run, and how many
 * volumes a node can attach.  See inside.h.
 *
 * By the rules of kube-scheduler's plug-ins VolumeBinding, VolumeZone,
 * VolumeRestrictions and NodeVolumeLimits (volumebinding/binder.go,
 * FindPodVolumes).  What we may not read is left to the scheduler's word.
 */
#include "../inside.h"

#include <string.h>

#include "../../../base/buf.h"
#include "../../../model/amount.h"

#define MANY (INT64_C(1000000) * AMOUNT_ONE)

struct places { /* alternatives; n 0 and !any: nowhere */
    VEC(struct reqs) all;
    bool any; /* everywhere */
};

struct found { /* of one pod */
    struct builder *m;
    struct hash *wanted; /* claims for one pod that another one waits for */
    struct places at;
    struct pods_sum needs;
    const char *code, *text;
};

static void no_help(struct found *f, const char *code, const char *text)
{
    if (f->code)
        return;
    f->code = code;
    f->text = text;
}

struct use {
    uint32_t node;
    const char *id;
};

static uint64_t use_hash(uint32_t node, const char *id)
{
    return hash_text(hash_number(HASH_SEED, node), id);
}

static bool use_known(const struct hash *seen, uint32_t node, const char *id)
{
    const struct use *x;

    for (uint32_t pos = 0; (x = hash_next(seen, use_hash(node, id), &pos));)
        if (x->node == node && strcmp(x->id, id) == 0)
            return true;
    return false;
}

static bool use_new(struct arena *a, struct hash *seen, uint32_t node,
                    const char *id)
{
    struct use *x;

    if (use_known(seen, node, id))
        return false;
    x = ARENA_NEW(a, struct use);
    *x = (struct use){node, id};
    hash_add(seen, use_hash(node, id), x);
    return true;
}

static const void *named(const struct records *r, const char *id)
{
    return records_find(r, id);
}

/* Each of what it was with each of these. */
static void both(struct found *f, const struct places *with)
{
    struct arena *a = f->m->arena;
    struct places to = {{0}, false};

    if (with->any)
        return;
    for (uint32_t i = 0; i < f->at.all.n; i++)
        for (uint32_t k = 0; k < with->all.n; k++) {
            const struct reqs *x = &f->at.all.v[i], *y = &with->all.v[k];
            struct req *v = ARENA_ARRAY(a, struct req, x->n + y->n);

            if (to.all.n == PODS_MAX_ALTS)
                break;
            if (x->n)
                memcpy(v, x->v, x->n * sizeof *v);
            if (y->n)
                memcpy(v + x->n, y->v, y->n * sizeof *v);
            VEC_PUSH(a, &to.all, ((struct reqs){v, x->n + y->n}));
        }
    f->at = to;
}

static void places_add(struct found *f, struct places *to,
                       const struct reqs *alts, uint32_t n)
{
    to->any = to->any || n == 0;
    for (uint32_t i = 0; i < n; i++) {
        if (alts[i].n == 0)
            to->any = true;
        VEC_PUSH(f->m->arena, &to->all, alts[i]);
    }
}

static bool volume_fits(const struct volume *v, const struct claim *c)
{
    if (v->claim)
        return strcmp(v->claim, c->object.item.id) == 0;
    return v->free && strcmp(v->class, c->class) == 0 &&
           (v->modes & c->modes) == c->modes && v->block == c->block &&
           v->size >= c->size && pods_reqs_hold(&c->reqs, &v->labels);
}

/* Volumes that are there and fit; on hosts only: no new node helps. */
static void volumes_find(struct found *f, const struct claim *c,
                         struct places *to, bool *ret_of_host)
{
    const struct hash *all = &f->m->in->store->volumes.by_id;
    const struct volume *v;

    for (uint32_t at = 0; (v = hash_each(all, &at));) {
        if (!volume_fits(v, c))
            continue;
        if (v->of_host)
            *ret_of_host = true;
        else
            places_add(f, to, v->alts, v->n_alts);
    }
}

static void attach(struct found *f, const char *driver)
{
    int64_t *to;

    if (!*driver)
        return;
    to = pods_sum_of(&f->needs, f->m->arena, driver);
    *to = amount_add(*to, AMOUNT_ONE);
}

/* Not bound yet. */
static void unbound(struct found *f, const struct claim *c)
{
    const struct storage_class *k = named(&f->m->in->store->classes, c->class);
    struct places to = {{0}, false};
    bool of_host = false;

    if (!k || !k->waits) {
        no_help(f, "VolumeUnbound",
                "a volume it claims is not there yet: a new node is no help");
        return;
    }
    volumes_find(f, c, &to, &of_host);
    if (k->provisions && !c->selects)
        places_add(f, &to, k->alts, k->n_alts);
    if (!to.any && !to.all.n)
        no_help(f, of_host ? "VolumeOfHost" : "VolumeUnbound",
                of_host ? "the volumes that its claim fits lie on hosts that "
                          "are there: a new node is no help"
                        : "no volume is there that its claim fits, and none "
                          "is made: a new node is no help");
    both(f, &to);
    attach(f, k->driver);
}

static bool one_pod_only(const struct claim *c)
{
    return c->modes == MODE_ONE_POD;
}

/* Does a pod that has a node use it? */
static bool is_used(const struct builder *m, const char *id)
{
    for (uint32_t i = 0; i < m->n_bound; i++) {
        const struct pod *p = m->bound[i];
        size_t n = strlen(p->space);
        const char *name = id + n + 1;

        if (!*p->claims || strncmp(id, p->space, n) != 0 || id[n] != '/')
            continue;
        for (const char *at = p->claims; *at; at = strchr(at, '\n') + 1)
            if (strncmp(at, name, strlen(name)) == 0 &&
                at[strlen(name)] == '\n')
                return true;
    }
    return false;
}

static void claim_add(struct found *f, const char *id)
{
    const struct pods_store *s = f->m->in->store;
    const struct claim *c = named(&s->claims, id);
    const struct volume *v;
    struct places to = {{0}, false};

    if (!c || c->ending || c->lost) {
        no_help(f, "VolumeUnbound",
                !c ? "a volume claim of it does not exist: a new node is no "
                     "help"
                : c->ending ? "a volume claim of it is being deleted: a new "
                              "node is no help"
                            : "the volume of its claim is lost: a new node is "
                              "no help");
        return;
    }
    if (one_pod_only(c) && (is_used(f->m, id) || use_known(f->wanted, 0, id)))
        no_help(f, "VolumeInUse",
                "its volume is for one pod, and another one uses it or waits "
                "for it: a new node is no help");
    if (!*c->volume) {
        unbound(f, c);
        return;
    }
    v = named(&s->volumes, c->volume);
    if (!v) {
        no_help(f, "VolumeUnbound",
                "the volume of its claim does not exist: a new node is no "
                "help");
        return;
    }
    if (v->of_host)
        no_help(f, "VolumeOfHost",
                "its volume lies on a host that is there: a new node is no "
                "help");
    places_add(f, &to, v->alts, v->n_alts);
    both(f, &to);
    attach(f, v->driver);
}

/* ---- of one pod */

static const char *key_of(struct found *f)
{
    struct arena *a = f->m->arena;
    const char *s;
    struct buf b;

    if (f->code)
        return f->text;
    buf_init(&b, (size_t)1 << 20);
    for (uint32_t i = 0; i < f->at.all.n; i++) {
        for (uint32_t k = 0; k < f->at.all.v[i].n; k++) {
            buf_str(&b, pods_req_text(&f->at.all.v[i].v[k], a));
            buf_str(&b, ",");
        }
        buf_str(&b, ";");
    }
    for (uint32_t i = 0; i < f->needs.n; i++)
        buf_printf(&b, "%s=%lld;", f->needs.v[i].name,
                   (long long)f->needs.v[i].amount);
    s = arena_strndup(a, b.s, b.n);
    buf_done(&b);
    return s;
}

static const char *claim_id(struct builder *m, const struct pod *p,
                            const char *at)
{
    return arena_printf(m->arena, "%s/%.*s", p->space,
                        (int)(strchr(at, '\n') - at), at);
}

static struct pod_volumes *volumes_of(struct builder *m, const struct pod *p,
                                      struct hash *wanted)
{
    struct found f = {.m = m, .wanted = wanted};
    struct pod_volumes *v = ARENA_NEW(m->arena, struct pod_volumes);

    VEC_PUSH(m->arena, &f.at.all, ((struct reqs){NULL, 0}));
    for (const char *at = p->claims; *at; at = strchr(at, '\n') + 1)
        claim_add(&f, claim_id(m, p, at));
    for (const char *at = p->claims; *at && !f.code;
         at = strchr(at, '\n') + 1) {
        const struct claim *c = named(&m->in->store->claims,
                                      claim_id(m, p, at));

        if (one_pod_only(c))
            use_new(m->arena, wanted, 0, c->object.item.id);
    }
    *v = (struct pod_volumes){.key = key_of(&f),
                              .alts = f.at.all.v,
                              .n_alts = f.at.all.n,
                              .needs = pods_sum_qtys(&f.needs, m->arena),
                              .code = f.code,
                              .text = f.text};
    return v;
}

/* ---- how many a node can attach */

static const char *column_of(struct builder *m, const char *driver)
{
    const char *name = arena_printf(m->arena, "volumes of %s", driver);

    for (uint32_t i = 0; i < m->columns.n; i++)
        if (strcmp(m->columns.v[i].name, name) == 0)
            return m->columns.v[i].name;
    return NULL;
}

static const char *driver_of(const struct pods_store *s, const char *id)
{
    const struct claim *c = named(&s->claims, id);
    const struct volume *v = c ? named(&s->volumes, c->volume) : NULL;

    return v ? v->driver : "";
}

/* By node: each claim once, however many pods of the node have it. */
static int64_t *attached(struct builder *m, const char *driver)
{
    int64_t *used = ARENA_ARRAY(m->arena, int64_t, m->n_nodes);
    struct hash seen;

    hash_init(&seen, m->arena, 0);
    for (uint32_t i = 0; i < m->n_bound; i++) {
        const struct pod *p = m->bound[i];
        const struct knode *k;

        if (!*p->claims)
            continue;
        k = named(&m->in->store->nodes, p->node);
        for (const char *at = p->claims; k && *at; at = strchr(at, '\n') + 1) {
            const char *id = claim_id(m, p, at);

            if (strcmp(driver_of(m->in->store, id), driver) == 0 &&
                use_new(m->arena, &seen, k->ix, id))
                used[k->ix] += AMOUNT_ONE;
        }
    }
    return used;
}

/* A driver that no CSINode limits bounds nothing. */
static bool is_limited(const struct builder *m, const char *driver)
{
    const struct hash *all = &m->in->store->csi.by_id;
    const struct csi_node *c;

    for (uint32_t at = 0; (c = hash_each(all, &at));)
        for (uint32_t i = 0; i < c->limits.n; i++)
            if (strcmp(c->limits.v[i].name, driver) == 0)
                return true;
    return false;
}

static void column_make(struct builder *m, const char *driver)
{
    struct column c = {.name = arena_printf(m->arena, "volumes of %s", driver),
                       .fresh = MANY,
                       .learned = true};

    const int64_t *all = attached(m, driver);

    VEC_PUSH(m->arena, &m->columns, c);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct csi_node *n = named(&m->in->store->csi,
                                         m->nodes[i].k->item.id);
        int64_t total = MANY, used = all[i];

        for (uint32_t k = 0; n && k < n->limits.n; k++)
            if (strcmp(n->limits.v[k].name, driver) == 0)
                total = n->limits.v[k].amount;
        VEC_PUSH(
            m->arena, &m->nodes[i].more,
            ((struct more){c.name, total > used ? total - used : 0, total}));
    }
}

/* Needs by the columns' names, without those that nothing limits. */
static void needs_name(struct builder *m, struct pod_volumes *v)
{
    struct qty *to = ARENA_ARRAY(m->arena, struct qty, v->needs.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->needs.n; i++) {
        const char *driver = v->needs.v[i].name;

        if (!is_limited(m, driver))
            continue;
        if (!column_of(m, driver))
            column_make(m, driver);
        to[n++] = (struct qty){column_of(m, driver), v->needs.v[i].amount};
    }
    v->needs = (struct qtys){to, n};
}

/* What we may not read: by the scheduler's sentence. */
static const struct pod_volumes *by_sentence(const struct pod *p)
{
    static const struct reqs anywhere;
    static const struct pod_volumes missing = {
        .key = "missing",
        .alts = &anywhere,
        .n_alts = 1,
        .code = "VolumeUnbound",
        .text = "a volume it claims is not there yet: a new node is no help"};
    const char *said = p->shape->said ? p->shape->said : "";

    return strstr(said, "unbound immediate PersistentVolumeClaims") ||
                   (strstr(said, "persistentvolumeclaim \"") &&
                    strstr(said, "not found"))
               ? &missing
               : NULL;
}

void volumes_begin(struct builder *m, struct pod **open, uint32_t n)
{
    struct hash wanted;

    hash_init(&wanted, m->arena, 0);
    for (uint32_t i = 0; i < n; i++) {
        struct pod *p = open[i];
        struct pod_volumes *v;

        if (p->state != POD_DEMAND || (!*p->claims && !p->shape->said))
            continue;
        if (m->in->store->hides_volumes) {
            p->volumes = by_sentence(p);
        } else if (*p->claims) {
            v = volumes_of(m, p, &wanted);
            needs_name(m, v);
            p->volumes = v;
        }
    }
}
