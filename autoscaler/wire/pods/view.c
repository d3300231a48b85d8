/*
 * view.c - the store to a view.  See inside.h.
 *
 * Made under the store's lock and wholly copied, so that events go on while
 * the view is used.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"

enum {
    TOLD_PODS = 3,        /* of a node's activity */
    /* So long after a node became ready, or ceased to be, it may still be
     * coming up, or come back: as long as pods stay on one that is lost. */
    PASSING_MS = 300000,
};

void making_due(struct making *m, int64_t ms)
{
    int64_t due = m->in->now_mono_ms + ms;

    if (!m->due_mono_ms || due < m->due_mono_ms)
        m->due_mono_ms = due;
}

/* ---- nodes */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct view_node *)a)->k->item.id,
                  ((const struct view_node *)b)->k->item.id);
}

/* Its state of now may pass; when it has lasted, there is another view. */
static bool is_passing(struct making *m, const struct knode *k)
{
    int64_t left = k->changed_ms + PASSING_MS - m->in->now_wall_ms;

    if (left > 0 && (!k->ready || k->n_lasting < k->taints.n))
        making_due(m, left);
    return left > 0;
}

static void nodes_begin(struct making *m)
{
    const struct table *t = &m->in->store->nodes;

    m->nodes = ARENA_ARRAY(m->arena, struct view_node, t->n);
    for (uint32_t i = 0; i < t->cap; i++)
        for (struct item *x = t->slot[i]; x; x = x->next)
            m->nodes[m->n_nodes++].k = (struct knode *)x;
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
static void use(struct view_node *n, const struct qtys *needs)
{
    const struct qtys *has = &n->k->total;

    for (uint32_t i = 0, k = 0; i < needs->n; i++) {
        while (k < has->n && strcmp(has->v[k].name, needs->v[i].name) < 0)
            k++;
        if (k == has->n)
            return;
        if (strcmp(has->v[k].name, needs->v[i].name) == 0)
            n->left[k] -= needs->v[i].amount < n->left[k]
                              ? needs->v[i].amount : n->left[k];
    }
}

static int by_name(const void *a, const void *b)
{
    const struct pod *x = *(struct pod *const *)a;
    const struct pod *y = *(struct pod *const *)b;
    int d = strcmp(x->space, y->space);

    return d ? d : strcmp(x->name, y->name);
}

static void pods_place(struct making *m)
{
    for (uint32_t i = 0; i < m->n_bound; i++) {
        const struct pod *p = m->bound[i];
        struct knode *k = (struct knode *)table_find(&m->in->store->nodes,
                                                     p->node);
        struct view_node *n;

        if (!k)
            continue;
        n = &m->nodes[k->ix];
        use(n, &p->shape->needs);
        n->n_pods++;
        if (p->daemon || p->fixed || (p->ending && n->lost))
            continue;
        n->busy++;
        if (p->ray)
            VEC_PUSH(m->arena, &n->hosted, arena_strdup(m->arena, p->name));
        if (n->pods.n < TOLD_PODS)
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

static struct machine *machine_of(struct making *m, const char *name)
{
    for (uint32_t i = 0; i < m->machines.n; i++)
        if (strcmp(m->machines.v[i]->name, name) == 0)
            return m->machines.v[i];
    return NULL;
}

static void machines_begin(struct making *m)
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
static const struct qty *lacks(struct making *m, const struct knode *k)
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
    const char *present = pods_value(&k->labels, "nvidia.com/gpu.present");

    if (!pods_value(&k->labels, ACCEL_LABEL) &&
        !(present && strcmp(present, "true") == 0))
        return false;
    for (uint32_t r = 0; r < k->total.n; r++)
        if (is_device(k->total.v[r].name))
            return false;
    return true;
}

static void settling_check(struct making *m, const struct view_node *n,
                           struct source_node *h)
{
    const struct knode *k = n->k;
    const struct qty *other = k->ready ? lacks(m, k) : NULL;

    if (other) {
        h->settling = true;
        h->note = arena_printf(m->arena, "waits for its device plug-in: no "
                               "%s yet", other->name);
        h->total.v = memcpy(ARENA_ARRAY(m->arena, struct qty, h->total.n + 1),
                            h->total.v, h->total.n * sizeof *h->total.v);
        h->available.v = memcpy(ARENA_ARRAY(m->arena, struct qty,
                                            h->available.n + 1),
                                h->available.v,
                                h->available.n * sizeof *h->available.v);
        struct qty more = { arena_strdup(m->arena, other->name),
                            other->amount };
        ((struct qty *)(uintptr_t)h->total.v)[h->total.n++] = more;
        ((struct qty *)(uintptr_t)h->available.v)[h->available.n++] = more;
    } else if (k->ready && label_lacks(k)) {
        h->settling = true;
        h->note = "waits for its device plug-in: no accelerator yet";
    }
}

/* ---- one node of the view */

static const char *activity_of(struct making *m, const struct view_node *n)
{
    const char *text;

    if (!n->busy)
        return "";
    text = arena_printf(m->arena, "%u pod%s: %s", n->busy,
                        n->busy == 1 ? "" : "s", n->pods.v[0]);
    for (uint32_t i = 1; i < n->pods.n; i++)
        text = arena_printf(m->arena, "%s, %s", text, n->pods.v[i]);
    return n->busy > n->pods.n ? arena_printf(m->arena, "%s, ...", text)
                               : text;
}

static struct pairs labels_make(struct making *m, const struct knode *k)
{
    struct arena *a = m->arena;
    struct pair *v = ARENA_ARRAY(a, struct pair, k->labels.n + m->probes.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < k->labels.n; i++)
        v[n++] = (struct pair){ arena_strdup(a, k->labels.v[i].key),
                                arena_strdup(a, k->labels.v[i].value) };
    for (uint32_t i = 0; i < m->probes.n; i++)
        if (pods_req_holds(&m->probes.v[i].req, &k->labels))
            v[n++] = (struct pair){ m->probes.v[i].name, "true" };
    return (struct pairs){ v, n };
}

static struct taints taints_make(struct arena *a, const struct view_node *x)
{
    const struct taints *t = &x->k->taints;
    uint32_t n = x->passing ? x->k->n_lasting : t->n;
    struct taint *v = ARENA_ARRAY(a, struct taint, n);

    for (uint32_t i = 0; i < n; i++)
        v[i] = (struct taint){ arena_strdup(a, t->v[i].key),
                               arena_strdup(a, t->v[i].value),
                               t->v[i].effect };
    return (struct taints){ v, n };
}

static void resources_make(struct making *m, const struct view_node *n,
                           struct source_node *h)
{
    const struct qtys *q = &n->k->total;
    struct qty *total = ARENA_ARRAY(m->arena, struct qty, q->n + n->more.n);
    struct qty *left = ARENA_ARRAY(m->arena, struct qty, q->n + n->more.n);
    uint32_t at = 0;

    for (; at < q->n; at++) {
        total[at] = (struct qty){ arena_strdup(m->arena, q->v[at].name),
                                  q->v[at].amount };
        left[at] = (struct qty){ total[at].name, n->left[at] };
    }
    for (uint32_t i = 0; i < n->more.n; i++, at++) {
        int64_t most = n->more.v[i].amount;
        for (uint32_t c = 0; c < m->columns.n; c++)
            if (m->columns.v[c].name == n->more.v[i].name &&
                m->columns.v[c].fresh > most)
                most = m->columns.v[c].fresh;
        total[at] = (struct qty){ n->more.v[i].name, most };
        left[at] = n->more.v[i];
    }
    h->total = (struct qtys){ total, at };
    h->available = (struct qtys){ left, at };
}

static void node_make(struct making *m, const struct view_node *n,
                      struct source_node *h)
{
    const struct knode *k = n->k;
    struct arena *a = m->arena;

    *h = (struct source_node){
        .node_id = arena_strdup(a, k->item.id),
        .instance_id = arena_strdup(a, k->provider_id),
        .aliases = pods_names_copy(a, k->aliases),
        .type = arena_strdup(a, k->type),
        .machine = arena_strdup(a, k->machine),
        .zone = arena_strdup(a, k->zone),
        .address = arena_strdup(a, k->address),
        .activity = activity_of(m, n),
        .note = arena_strdup(a, k->note),
        .unschedulable = k->unschedulable,
        .status = k->draining ? SOURCE_DRAINING
                  : !k->ready ? SOURCE_UNREADY
                  : n->busy   ? SOURCE_RUNNING : SOURCE_IDLE,
        .idle_ms = -1,
        .labels = labels_make(m, k),
        .taints = taints_make(a, n),
        .hosted = { n->hosted.v, n->hosted.n },
    };
    /* One that is not ready and holds nothing is of no more use than that. */
    if (h->status == SOURCE_IDLE || (h->status == SOURCE_UNREADY && !n->busy))
        h->idle_ms = m->in->now_mono_ms - k->idle_since_ms;
    resources_make(m, n, h);
    settling_check(m, n, h);
    if (n->lost)
        h->available = (struct qtys){0};
}

/* ---- the whole */

static const struct daemon_need *daemons_make(struct making *m, uint32_t *ret)
{
    const struct table *t = &m->in->store->daemons;
    struct daemon_need *v = ARENA_ARRAY(m->arena, struct daemon_need, t->n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->cap; i++)
        for (struct item *x = t->slot[i]; x; x = x->next) {
            const struct pod_shape *s = ((struct daemon *)x)->shape;
            struct reqs *alts = ARENA_ARRAY(m->arena, struct reqs, s->n_alts);
            struct toleration *tol = ARENA_ARRAY(m->arena, struct toleration,
                                                 s->tolerations.n);
            for (uint32_t k = 0; k < s->tolerations.n; k++) {
                tol[k] = s->tolerations.v[k];
                tol[k].key = arena_strdup(m->arena, tol[k].key);
                tol[k].value = arena_strdup(m->arena, tol[k].value);
            }
            for (uint32_t k = 0; k < s->n_alts; k++) {
                struct req *r = ARENA_ARRAY(m->arena, struct req,
                                            s->alts[k].n);
                for (uint32_t j = 0; j < s->alts[k].n; j++)
                    r[j] = (struct req){
                        arena_strdup(m->arena, s->alts[k].v[j].key),
                        s->alts[k].v[j].op,
                        pods_names_copy(m->arena, s->alts[k].v[j].values) };
                alts[k] = (struct reqs){ r, s->alts[k].n };
            }
            v[n++] = (struct daemon_need){
                alts, s->n_alts, { tol, s->tolerations.n },
                pods_qtys_copy(m->arena, s->needs) };
        }
    *ret = n;
    return v;
}

/* Bound pods, and those that are demand or of a gang. */
static struct pod **pods_sort_out(struct making *m, uint32_t *ret_n)
{
    const struct table *t = &m->in->store->pods;
    struct pod **open = ARENA_ARRAY(m->arena, struct pod *, t->n);
    uint32_t n = 0;

    m->bound = ARENA_ARRAY(m->arena, struct pod *, t->n);
    for (uint32_t i = 0; i < t->cap; i++)
        for (struct item *x = t->slot[i]; x; x = x->next) {
            struct pod *p = (struct pod *)x;
            if (*p->node)
                m->bound[m->n_bound++] = p;
            if (p->state == POD_DEMAND || *p->gang)
                open[n++] = p;
            if (p->state == POD_WAITS && *p->code) {
                pods_note(m, p, p->code, p->text);
                if (p->shape->code)
                    m->n_garbled++;
                else
                    m->n_elsewhere++;
            }
        }
    if (m->n_bound > 1)
        qsort(m->bound, m->n_bound, sizeof *m->bound, by_name);
    *ret_n = n;
    return open;
}

struct source_view *pods_view_make(const struct pods_view_in *in,
                                   int64_t *ret_due)
{
    struct source_view *view = source_view_new();
    struct arena *arena = &view->arena;
    struct pods_view *extra = ARENA_NEW(arena, struct pods_view);
    struct making m = { .in = in, .arena = arena };
    struct source_node *nodes;
    struct pod **open;
    uint32_t n;

    in->store->views++;
    nodes_begin(&m);
    open = pods_sort_out(&m, &n);
    pods_place(&m);
    machines_begin(&m);
    pods_near_begin(&m, open, n);
    pods_demands(&m, open, n);
    nodes = ARENA_ARRAY(arena, struct source_node, m.n_nodes);
    for (uint32_t i = 0; i < m.n_nodes; i++)
        node_make(&m, &m.nodes[i], &nodes[i]);
    *extra = (struct pods_view){
        .probes = m.probes.v, .n_probes = m.probes.n,
        .columns = m.columns.v, .n_columns = m.columns.n,
        .reserve = in->reserve, .refs = m.refs.v,
    };
    extra->daemons = daemons_make(&m, &extra->n_daemons);
    view->version = (int64_t)in->store->version;
    view->session = "kubernetes";
    view->v2 = true;
    view->read_mono_ms = in->now_mono_ms;
    view->nodes = nodes;
    view->n_nodes = m.n_nodes;
    view->demands = m.demands.v;
    view->n_demands = m.demands.n;
    view->n_elsewhere = m.n_elsewhere;
    view->n_garbled = m.n_garbled;
    view->notes = m.notes.v;
    view->n_notes = m.notes.n;
    view->pods = extra;
    view->rays = pods_rays(&m, &view->n_rays);
    *ret_due = m.due_mono_ms;
    return view;
}

const struct pods_ref *pods_of(const struct source_view *view, uint32_t demand,
                               uint32_t *ret_n)
{
    *ret_n = 0;
    if (!view->pods || demand >= view->n_demands)
        return NULL;
    *ret_n = view->pods->refs[demand].n;
    return view->pods->refs[demand].v;
}
