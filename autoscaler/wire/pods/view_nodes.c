/*
 * view_nodes.c - the nodes of a view: free resources, running pods, devices
 * that are still missing.  See inside.h.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"

enum {
    NAMED_PODS = 3, /* of a node's activity */
    /* So long after a node became ready, or ceased to be, it may still be
     * coming up, or come back: as long as pods stay on one that is lost. */
    PASSING_MS = 300000,
};

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct view_node *)a)->k->item.id,
                  ((const struct view_node *)b)->k->item.id);
}

/* Its state of now may pass; when it has lasted, there is another view. */
static bool is_passing(struct builder *m, const struct knode *k)
{
    int64_t left = k->changed_ms + PASSING_MS - m->in->now_wall_ms;

    if (left > 0 && (!k->ready || (!k->up && k->n_lasting < k->taints.n)))
        builder_due(m, left);
    return left > 0;
}

void view_nodes_begin(struct builder *m)
{
    const struct hash *all = &m->in->store->nodes.by_id;
    struct knode *k;

    m->nodes = ARENA_ARRAY(m->arena, struct view_node, all->n);
    for (uint32_t at = 0; (k = hash_each(all, &at));)
        m->nodes[m->n_nodes++].k = k;
    if (m->n_nodes > 1)
        qsort(m->nodes, m->n_nodes, sizeof *m->nodes, by_id);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct view_node *n = &m->nodes[i];
        n->k->ix = i;
        n->passing = is_passing(m, n->k);
        n->lost = !n->k->ready && !n->passing;
        n->left = ARENA_ARRAY(m->arena, int64_t, n->k->total.n);
        for (uint32_t r = 0; r < n->k->total.n; r++)
            n->left[r] = n->k->total.v[r].amount;
    }
}

/* Both lists are sorted by name. */
void view_node_use(struct view_node *n, const struct qtys *needs)
{
    const struct qtys *has = &n->k->total;

    for (uint32_t i = 0, k = 0; i < needs->n; i++) {
        while (k < has->n && strcmp(has->v[k].name, needs->v[i].name) < 0)
            k++;
        if (k == has->n)
            return;
        if (strcmp(has->v[k].name, needs->v[i].name) == 0)
            n->left[k] -= needs->v[i].amount < n->left[k] ? needs->v[i].amount
                                                          : n->left[k];
    }
}

bool shape_may_lie(const struct pod_shape *s, const struct knode *k)
{
    for (uint32_t i = 0; i < s->n_alts; i++)
        if (pods_reqs_hold(&s->alts[i], &k->labels))
            return true;
    return false;
}

bool shape_tolerates(const struct pod_shape *s, const struct view_node *n)
{
    struct taints t = n->k->taints;

    if (n->passing && !n->k->up)
        t.n = n->k->n_lasting;
    return pods_tolerated(&s->tolerations, &t);
}

int64_t node_room_for(const struct view_node *n, const struct pod_shape *s)
{
    int64_t most = INT32_MAX;

    if ((!n->k->ready && !n->passing) || n->k->unschedulable ||
        n->k->draining || !shape_may_lie(s, n->k) || !shape_tolerates(s, n))
        return 0;
    for (uint32_t i = 0; i < s->needs.n; i++) {
        int64_t left = 0;

        for (uint32_t r = 0; r < n->k->total.n; r++)
            if (strcmp(n->k->total.v[r].name, s->needs.v[i].name) == 0)
                left = n->left[r];
        if (left / s->needs.v[i].amount < most)
            most = left / s->needs.v[i].amount;
    }
    return most;
}

/* Pods of one shape are counted together. */
static void work_add(struct builder *m, struct view_node *n,
                     struct pod_shape *shape)
{
    for (uint32_t i = 0; i < n->shapes.n; i++)
        if (n->shapes.v[i] == shape) {
            n->works.v[i].count++;
            return;
        }
    VEC_PUSH(m->arena, &n->shapes, shape);
    VEC_PUSH(m->arena, &n->works, ((struct snap_bundle){.count = 1}));
}

/* With more conditions than fit it has none but its tolerations. */
static void work_make(struct builder *m, struct pod_shape *shape,
                      struct snap_bundle *b)
{
    const struct snap_alt *alts = pods_alts(m, shape, false);
    struct snap_alt *plain;

    b->alts = alts;
    b->n_alts = shape->n_alts;
    if (alts)
        return;
    plain = ARENA_NEW(m->arena, struct snap_alt);
    plain->resources = pods_qtys_copy(m->arena, shape->needs);
    plain->tolerations = pods_tolerations_copy(m->arena, shape->tolerations);
    b->alts = plain;
    b->n_alts = 1;
}

void view_works_make(struct builder *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].works.n; k++)
            work_make(m, m->nodes[i].shapes.v[k], &m->nodes[i].works.v[k]);
}

static void fixed_add(struct builder *m, struct view_node *n,
                      const struct qtys *needs)
{
    for (uint32_t i = 0; i < needs->n; i++) {
        int64_t *to = pods_sum_of(&n->fixed, m->arena, needs->v[i].name);

        *to = amount_add(*to, needs->v[i].amount);
    }
}

void view_pods_place(struct builder *m)
{
    for (uint32_t i = 0; i < m->n_bound; i++) {
        const struct pod *p = m->bound[i];
        struct knode *k = (struct knode *)records_find(&m->in->store->nodes,
                                                       p->node);
        struct view_node *n;

        if (!k)
            continue;
        n = &m->nodes[k->ix];
        view_node_use(n, &p->shape->needs);
        n->n_pods++;
        if (p->fixed)
            fixed_add(m, n, &p->shape->needs);
        if (p->daemon || p->fixed || (p->ending && n->lost))
            continue;
        n->busy++;
        if (m->in->works)
            work_add(m, n, p->shape);
        if (p->ray)
            VEC_PUSH(m->arena, &n->hosted, arena_strdup(m->arena, p->name));
        if (n->pods.n < NAMED_PODS)
            VEC_PUSH(m->arena, &n->pods,
                     arena_printf(m->arena, "%s/%s", p->space, p->name));
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct knode *k = m->nodes[i].k;
        if (m->nodes[i].busy)
            k->idle_since_ms = 0;
        else if (!k->idle_since_ms)
            k->idle_since_ms = m->in->now_mono_ms;
    }
}

/* ---- devices that are not there yet */

static bool is_device(const char *name)
{
    return accel_is_device(name) || strncmp(name, "nvidia.com/", 11) == 0;
}

/* What devices the nodes of each machine type have, the most of each. */
struct machine {
    const char *name;
    struct pods_sum devices;
};

static struct machine *machine_of(struct builder *m, const char *name)
{
    for (uint32_t i = 0; i < m->machines.n; i++)
        if (strcmp(m->machines.v[i]->name, name) == 0)
            return m->machines.v[i];
    return NULL;
}

void view_machines_begin(struct builder *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct knode *k = m->nodes[i].k;
        struct machine *x;
        for (uint32_t r = 0; *k->machine && r < k->total.n; r++) {
            int64_t *most;
            if (!is_device(k->total.v[r].name))
                continue;
            x = machine_of(m, k->machine);
            if (!x) {
                x = ARENA_NEW(m->arena, struct machine);
                x->name = k->machine;
                VEC_PUSH(m->arena, &m->machines, x);
            }
            most = pods_sum_of(&x->devices, m->arena, k->total.v[r].name);
            if (k->total.v[r].amount > *most)
                *most = k->total.v[r].amount;
        }
    }
}

/* What others of its machine type have and it lacks. */
static const struct qty *lacks(struct builder *m, const struct knode *k)
{
    const struct machine *x = *k->machine ? machine_of(m, k->machine) : NULL;

    for (uint32_t i = 0; x && i < x->devices.n; i++)
        if (!pods_amount(&k->total, x->devices.v[i].name))
            return &x->devices.v[i];
    return NULL;
}

/* Its labels say that it has an accelerator, and it offers none. */
static bool label_lacks(const struct knode *k)
{
    const char *present = pairs_value(&k->labels, "nvidia.com/gpu.present");

    if (!pairs_value(&k->labels, ACCEL_LABEL) &&
        !(present && strcmp(present, "true") == 0))
        return false;
    for (uint32_t r = 0; r < k->total.n; r++)
        if (is_device(k->total.v[r].name))
            return false;
    return true;
}

bool view_node_settles(struct builder *m, const struct knode *k)
{
    return lacks(m, k) || label_lacks(k);
}

static void settling_check(struct builder *m, const struct view_node *n,
                           struct source_node *h)
{
    const struct knode *k = n->k;
    const struct qty *other = k->ready ? lacks(m, k) : NULL;

    if (other) {
        h->settling = true;
        h->note = arena_printf(
            m->arena, "waits for its device plug-in: no %s yet", other->name);
        struct qtys more = pods_qtys_copy(m->arena, (struct qtys){other, 1});
        h->total = pods_qtys_join(m->arena, h->total, more);
        h->available = pods_qtys_join(m->arena, h->available, more);
    } else if (k->ready && label_lacks(k)) {
        h->settling = true;
        h->note = "waits for its device plug-in: no accelerator yet";
    }
}

/* ---- one node of the view */

static const char *activity_of(struct builder *m, const struct view_node *n)
{
    const char *text;

    if (!n->busy)
        return "";
    text = arena_printf(m->arena, "%u pod%s: %s", n->busy,
                        n->busy == 1 ? "" : "s", n->pods.v[0]);
    for (uint32_t i = 1; i < n->pods.n; i++)
        text = arena_printf(m->arena, "%s, %s", text, n->pods.v[i]);
    return n->busy > n->pods.n ? arena_printf(m->arena, "%s, ...", text) : text;
}

static struct pairs labels_make(struct builder *m, const struct knode *k)
{
    struct arena *a = m->arena;
    struct pair *v = ARENA_ARRAY(a, struct pair, k->labels.n + m->probes.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < k->labels.n; i++)
        v[n++] = (struct pair){arena_strdup(a, k->labels.v[i].key),
                               arena_strdup(a, k->labels.v[i].value)};
    for (uint32_t i = 0; i < m->probes.n; i++)
        if (pods_req_holds(&m->probes.v[i].req, &k->labels))
            v[n++] = (struct pair){m->probes.v[i].name, "true"};
    return (struct pairs){v, n};
}

static struct taints taints_make(struct arena *a, const struct view_node *x)
{
    const struct taints *t = &x->k->taints;
    uint32_t n = x->passing && !x->k->up ? x->k->n_lasting : t->n;
    struct taint *v = ARENA_ARRAY(a, struct taint, n);

    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct taint){arena_strdup(a, t->v[i].key),
                              arena_strdup(a, t->v[i].value), t->v[i].effect};
    return (struct taints){v, n};
}

static void resources_make(struct builder *m, const struct view_node *n,
                           struct source_node *h)
{
    const struct qtys *q = &n->k->total;
    struct qty *total = ARENA_ARRAY(m->arena, struct qty, q->n + n->more.n);
    struct qty *left = ARENA_ARRAY(m->arena, struct qty, q->n + n->more.n);
    uint32_t at = 0;

    for (; at < q->n; at++) {
        total[at] = (struct qty){arena_strdup(m->arena, q->v[at].name),
                                 q->v[at].amount};
        left[at] = (struct qty){total[at].name, n->left[at]};
    }
    for (uint32_t i = 0; i < n->more.n; i++, at++) {
        total[at] = (struct qty){n->more.v[i].name, n->more.v[i].total};
        left[at] = (struct qty){n->more.v[i].name, n->more.v[i].left};
    }
    h->total = (struct qtys){total, at};
    h->available = (struct qtys){left, at};
}

void view_node_make(struct builder *m, const struct view_node *n,
                    struct source_node *h)
{
    const struct knode *k = n->k;
    struct arena *a = m->arena;

    *h = (struct source_node){
        .node_id = arena_strdup(a, k->item.id),
        .uid = arena_strdup(a, k->uid),
        .instance_id = arena_strdup(a, k->provider_id),
        .aliases = pods_names_copy(a, k->aliases),
        .n_vouched = k->n_vouched,
        .n_given = k->n_given,
        .mark = arena_strdup(a, k->mark),
        .type = arena_strdup(a, k->type),
        .machine = arena_strdup(a, k->machine),
        .zone = arena_strdup(a, k->zone),
        .address = arena_strdup(a, k->address),
        .activity = activity_of(m, n),
        .note = arena_strdup(a, k->note),
        .unschedulable = k->unschedulable,
        .cordoned_by_us = k->cordoned,
        .leaving = arena_strdup(a, k->leaving),
        .leaving_ms = k->leaving_ms,
        .status = k->draining ? SOURCE_DRAINING
                  : !k->ready ? SOURCE_UNREADY
                  : n->busy   ? SOURCE_RUNNING
                              : SOURCE_IDLE,
        .idle_ms = -1,
        .labels = labels_make(m, k),
        .taints = taints_make(a, n),
        .hosted = {n->hosted.v, n->hosted.n},
        .works = n->works.v,
        .n_works = n->works.n,
    };
    /* One that is not ready and holds nothing is of no more use than that. */
    if (h->status == SOURCE_IDLE || (h->status == SOURCE_UNREADY && !n->busy))
        h->idle_ms = m->in->now_mono_ms - k->idle_since_ms;
    h->fixed = pods_qtys_copy(
        a, pods_sum_qtys((struct pods_sum *)(uintptr_t)&n->fixed, a));
    resources_make(m, n, h);
    settling_check(m, n, h);
    if (n->lost)
        h->available = (struct qtys){0};
}
