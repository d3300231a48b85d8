/*
 * type.c - what a new node of a configured type will offer pods.  See
 * pods.h.
 *
 * Learned from living nodes of the type where there are some.  Without one
 * the system's share follows the rule that GKE publishes (EKS and AKS keep
 * less): a quarter of the first 4 GiB and so on, 6 % of the first core.
 */
#include <string.h>

#include "../../model/accel.h"
#include "../../model/amount.h"
#include "inside.h"

#define GIB (INT64_C(10000) << 30)
#define DEFAULT_PODS (110 * AMOUNT_ONE)
#define DEFAULT_DISK (40 * GIB)

struct fit {
    struct arena *arena;
    const struct pods_view *view;
    const struct source_node *const *like;
    uint32_t n_like;
    struct snap_type *t;
    VEC(struct pair) labels;
    VEC(struct qty) resources;
    VEC(struct pair) origins; /* see snap_type.origins */
};

#define OF_NODES "living nodes of the type"
#define OF_CLOUD "its provider"
#define OF_FILE "the configuration"
#define OF_CATALOGUE "the catalogue"
#define OF_MACHINE "the machine type's name"
#define OF_USUAL "a guess: what is usual"
#define OF_FIRST "unknown until a node of the type lives"

static void origin(struct fit *f, const char *what, const char *from)
{
    for (uint32_t i = 0; i < f->origins.n; i++)
        if (strcmp(f->origins.v[i].key, what) == 0) {
            f->origins.v[i].value = from;
            return;
        }
    VEC_PUSH(f->arena, &f->origins, ((struct pair){what, from}));
}

static int64_t *amount_of(struct fit *f, const char *name)
{
    for (uint32_t i = 0; i < f->resources.n; i++)
        if (strcmp(f->resources.v[i].name, name) == 0)
            return &f->resources.v[i].amount;
    return NULL;
}

static void set_amount(struct fit *f, const char *name, int64_t amount)
{
    int64_t *there = amount_of(f, name);

    if (there)
        *there = amount;
    else
        VEC_PUSH(f->arena, &f->resources,
                 ((struct qty){arena_strdup(f->arena, name), amount}));
}

static void set_label(struct fit *f, const char *key, const char *value,
                      bool over, const char *from)
{
    const char *what = arena_printf(f->arena, "label %s", key);

    for (uint32_t i = 0; i < f->labels.n; i++)
        if (strcmp(f->labels.v[i].key, key) == 0) {
            if (over) {
                f->labels.v[i].value = arena_strdup(f->arena, value);
                origin(f, what, from);
            }
            return;
        }
    if (from)
        origin(f, what, from);
    VEC_PUSH(f->arena, &f->labels,
             ((struct pair){arena_strdup(f->arena, key),
                            arena_strdup(f->arena, value)}));
}

static const char *label(const struct fit *f, const char *key)
{
    struct pairs p = {f->labels.v, f->labels.n};

    return pairs_value(&p, key);
}

/* ---- what the system keeps */

/* Steps: so much of the first ones, then so much of the next. */
struct step {
    int64_t size, per_10000;
};

static int64_t kept_of(int64_t amount, const struct step *v, size_t n)
{
    int64_t kept = 0;

    for (size_t i = 0; i < n && amount > 0; i++) {
        int64_t part = i + 1 < n && amount > v[i].size ? v[i].size : amount;
        kept += part / 10000 * v[i].per_10000;
        amount -= part;
    }
    return kept;
}

static void reserve(struct fit *f)
{
    static const struct step memory[] = {
        {4 * GIB, 2500},  {4 * GIB, 2000}, {8 * GIB, 1000},
        {112 * GIB, 600}, {0, 200},
    };
    static const struct step cpu[] = {
        {AMOUNT_ONE, 600},
        {AMOUNT_ONE, 100},
        {2 * AMOUNT_ONE, 50},
        {0, 25},
    };
    int64_t *m = amount_of(f, "memory"), *c = amount_of(f, "CPU");

    if (m)
        *m -= kept_of(*m, memory, 5) + GIB / 10;
    if (m && *m < 0)
        *m = 0;
    if (c)
        *c -= kept_of(*c, cpu, 4);
}

/* As its owner has set up the kubelet. */
static void kept_take(struct fit *f, const struct qtys *kept)
{
    for (uint32_t i = 0; i < kept->n; i++) {
        int64_t *has = amount_of(f, kept->v[i].name);

        if (has)
            *has -= kept->v[i].amount < *has ? kept->v[i].amount : *has;
    }
}

/* ---- what living nodes of the type show */

static bool is_column(const struct fit *f, const char *name)
{
    for (uint32_t i = 0; i < f->view->n_columns; i++)
        if (strcmp(f->view->columns[i].name, name) == 0)
            return !f->view->columns[i].learned;
    return false;
}

static void learn_resources(struct fit *f)
{
    const struct source_node *first = f->like[0];

    for (uint32_t r = 0; r < first->total.n; r++) {
        const char *name = first->total.v[r].name;
        int64_t least = first->total.v[r].amount, *own = amount_of(f, name);

        if (is_column(f, name))
            continue;
        for (uint32_t i = 1; i < f->n_like; i++) {
            int64_t has = pods_amount(&f->like[i]->total, name);
            if (has < least)
                least = has;
        }
        /* a device that is not there yet, or is broken, will be there */
        if (own && accel_is_device(name) && *own > least)
            continue;
        if (least > 0) {
            set_amount(f, name, least);
            origin(f, name, OF_NODES);
        }
    }
}

static bool of_one_node(const char *key)
{
    static const char *const keys[] = {
        "kubernetes.io/hostname",
        "metadata.name",
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/zone",
        "topology.gke.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "topology.disk.csi.azure.com/zone",
        "ray.io/market-type",
        "topology.k8s.aws/zone-id",
    };
    const char *last = strrchr(key, '/');

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    last = last ? last + 1 : key;
    return strstr(last, "instance-id") || strstr(last, "node-id") ||
           strstr(last, "node-name") || strstr(last, "nodename") ||
           strstr(last, "hostname");
}

static bool is_probe(const struct fit *f, const char *key)
{
    for (uint32_t i = 0; i < f->view->n_probes; i++)
        if (strcmp(f->view->probes[i].name, key) == 0)
            return true;
    return false;
}

/* Labels of a node's image, and one that such a node has besides.  An upgrade
 * changes those of new nodes only, so here the cloud goes before living nodes. */
static const struct {
    const char *key, *of;
} images[] = {
    {"eks.amazonaws.com/nodegroup-image", "eks.amazonaws.com/nodegroup"},
    {"kubernetes.azure.com/node-image-version",
     "kubernetes.azure.com/agentpool"},
};

static bool is_of_image(const char *key)
{
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        if (strcmp(images[i].key, key) == 0)
            return true;
    return false;
}

/* What the cloud has not told and a first node will. */
static void images_unknown(struct fit *f)
{
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        if (label(f, images[i].of) && !label(f, images[i].key))
            origin(f, arena_printf(f->arena, "label %s", images[i].key),
                   OF_FIRST);
}

static void learn_labels(struct fit *f)
{
    const struct source_node *first = f->like[0];

    for (uint32_t k = 0; k < first->labels.n; k++) {
        const struct pair *p = &first->labels.v[k];
        bool same = !of_one_node(p->key) && !is_probe(f, p->key) &&
                    strcmp(p->value, first->node_id) != 0;
        for (uint32_t i = 1; i < f->n_like && same; i++) {
            const char *v = pairs_value(&f->like[i]->labels, p->key);
            same = v && strcmp(v, p->value) == 0;
        }
        for (uint32_t i = 0; i < first->aliases.n && same; i++)
            same = strcmp(first->aliases.v[i], p->value) != 0;
        if (same)
            set_label(f, p->key, p->value,
                      strcmp(p->key, ACCEL_LABEL) != 0 && !is_of_image(p->key),
                      OF_NODES);
    }
}

/* ---- labels that every such node has */

static void gpu_labels(struct fit *f)
{
    int64_t *gpus = amount_of(f, "GPU");
    const char *accel = label(f, ACCEL_LABEL);

    if (accel && strncmp(accel, "AMD-", 4) == 0)
        set_label(f, GPU_LABEL, "amd.com.gpu", false, NULL);
    if (gpus && *gpus > 0 && !label(f, GPU_LABEL)) {
        set_label(f, "nvidia.com/gpu.present", "true", false, OF_USUAL);
        set_label(
            f, "nvidia.com/gpu.count",
            arena_printf(f->arena, "%lld", (long long)(*gpus / AMOUNT_ONE)),
            false, OF_USUAL);
    }
}

/* The same for all of its offers, by the zones' names. */
static void region_label(struct fit *f)
{
    const char *all = NULL;

    for (uint32_t i = 0; i < f->t->n_offers; i++) {
        const char *r = machine_region(f->arena, f->t->offers[i].zone);

        if (!*r || (all && strcmp(all, r) != 0))
            return;
        all = r;
    }
    if (all)
        set_label(f, "topology.kubernetes.io/region", all, false,
                  "the zone's name");
}

/* In this order: its provider, the configuration, the catalogue, the machine
 * type's name, a guess.  Living nodes of the type come last and go over all. */
static void labels_begin(struct fit *f, struct pairs cloud)
{
    const struct snap_type *t = f->t;
    const char *arch = t->machine ? machine_arch(t->machine) : "";

    for (uint32_t i = 0; i < cloud.n; i++)
        if (!of_one_node(cloud.v[i].key))
            set_label(f, cloud.v[i].key, cloud.v[i].value, true, OF_CLOUD);
    for (uint32_t i = 0; i < t->labels.n; i++)
        set_label(f, t->labels.v[i].key, t->labels.v[i].value,
                  strcmp(t->labels.v[i].key, ACCEL_LABEL) == 0, OF_FILE);
    if (t->machine && *t->machine)
        set_label(f, "node.kubernetes.io/instance-type",
                  arena_strndup(f->arena, t->machine, strcspn(t->machine, "+")),
                  false, OF_FILE);
    if (t->arch && *t->arch)
        set_label(f, "kubernetes.io/arch", t->arch, false, OF_CATALOGUE);
    if (*arch)
        set_label(f, "kubernetes.io/arch", arch, false, OF_MACHINE);
    region_label(f);
    set_label(f, "kubernetes.io/os", "linux", false, OF_USUAL);
    set_label(f, "kubernetes.io/arch", "amd64", false, OF_USUAL);
    gpu_labels(f);
}

/* A new node has a name, which nobody knows yet. */
static void probes_answer(struct fit *f)
{
    uint32_t n = f->labels.n;
    const char *zone = f->t->n_offers ? f->t->offers[0].zone : "";
    struct pair *v = ARENA_ARRAY(f->arena, struct pair, n + 3);
    struct pairs all = {v, n};

    memcpy(v, f->labels.v, n * sizeof *v);
    v[all.n++] = (struct pair){"kubernetes.io/hostname", "(new)"};
    v[all.n++] = (struct pair){"metadata.name", "(new)"};
    if (zone && *zone)
        v[all.n++] = (struct pair){"topology.kubernetes.io/zone", zone};
    for (uint32_t i = 0; i < f->view->n_probes; i++)
        if (pods_req_holds(&f->view->probes[i].req, &all))
            set_label(f, f->view->probes[i].name, "true", true, NULL);
}

/* ---- DaemonSets */

static void daemon_take(struct fit *f, const struct daemon_need *d)
{
    for (uint32_t r = 0; r < d->needs.n; r++) {
        int64_t *has = amount_of(f, d->needs.v[r].name);
        if (has)
            *has -= d->needs.v[r].amount < *has ? d->needs.v[r].amount : *has;
    }
}

/* Static pods that each node of its like has, a new one has too. */
static void fixed_take(struct fit *f)
{
    const struct qtys *first = &f->like[0]->fixed;

    for (uint32_t r = 0; r < first->n; r++) {
        const char *name = first->v[r].name;
        int64_t least = first->v[r].amount, *has = amount_of(f, name);

        for (uint32_t i = 1; i < f->n_like; i++) {
            int64_t x = pods_amount(&f->like[i]->fixed, name);

            least = x < least ? x : least;
        }
        if (has && least > 0)
            *has -= least < *has ? least : *has;
    }
}

/* What a column has left where these pods run. */
static int64_t column_left(const struct column *c, uint8_t bits, int64_t left)
{
    switch (c->rule) {
    case COLUMN_PLAIN: break;
    case COLUMN_SELF:
        return bits & DAEMON_CARRIES                         ? 0
               : (bits & DAEMON_MEANT) && left == AMOUNT_ONE ? left - 1
                                                             : left;
    case COLUMN_NONE_MEANT: return bits & DAEMON_MEANT ? 0 : left;
    case COLUMN_NO_CARRIER: return bits & DAEMON_CARRIES ? 0 : left;
    case COLUMN_BESIDE: return bits & DAEMON_MEANT ? AMOUNT_ONE : left;
    case COLUMN_SPREAD:
        return bits & DAEMON_MEANT && left >= AMOUNT_ONE ? left - AMOUNT_ONE
                                                         : left;
    }
    return left;
}

/* Does it run on a node with these labels, in that zone? */
static bool daemon_runs(const struct fit *f, const struct daemon_need *d,
                        const char *zone)
{
    struct pair *v = ARENA_ARRAY(f->arena, struct pair, f->labels.n + 1);
    struct pairs labels = {v, f->labels.n};

    if (labels.n)
        memcpy(v, f->labels.v, labels.n * sizeof *v);
    if (*zone)
        v[labels.n++] = (struct pair){"topology.kubernetes.io/zone", zone};
    if (!pods_tolerated(&d->tolerations, &f->t->taints))
        return false;
    for (uint32_t k = 0; k < d->n_alts; k++)
        if (pods_reqs_hold(&d->alts[k], &labels))
            return true;
    return false;
}

/* In all zones of its offers, or in some only. */
static void daemons_find(const struct fit *f, uint32_t daemon, bool *ret_all,
                         bool *ret_any)
{
    const struct daemon_need *d = &f->view->daemons[daemon];

    *ret_all = true;
    *ret_any = false;
    for (uint32_t i = 0; i < f->t->n_offers; i++) {
        const char *zone = f->t->offers[i].zone ? f->t->offers[i].zone : "";
        bool runs = daemon_runs(f, d, zone);

        *ret_all = *ret_all && runs;
        *ret_any = *ret_any || runs;
    }
    if (!f->t->n_offers)
        *ret_all = *ret_any = daemon_runs(f, d, "");
}

/* What is left where the DaemonSets of one zone only run: the offers of that
 * zone are marked by a taint, and who fits there tolerates it (topology.c). */
static void offer_mark(struct fit *f, struct snap_offer *o, struct qtys less)
{
    struct taint *x;

    if (!o->less.n) {
        x = ARENA_ARRAY(f->arena, struct taint, o->taints.n + 1);
        if (o->taints.n)
            memcpy(x, o->taints.v, o->taints.n * sizeof *x);
        x[o->taints.n] = (struct taint){
            arena_printf(f->arena, LESS_ROOM "%s-%s", f->t->name, o->zone), "",
            EFFECT_NO_SCHEDULE};
        o->taints = (struct taints){x, o->taints.n + 1};
    }
    o->less = pods_qtys_join(f->arena, o->less, less);
}

/* What the DaemonSet takes, of columns too. */
static struct qtys daemon_less(struct fit *f, uint32_t daemon)
{
    const struct pods_view *w = f->view;
    const struct qtys *needs = &w->daemons[daemon].needs;
    struct qty *v = ARENA_ARRAY(f->arena, struct qty, needs->n + w->n_columns);
    uint32_t n = needs->n;

    memcpy(v, needs->v, n * sizeof *v);
    for (uint32_t c = 0; c < w->n_columns; c++) {
        const struct column *x = &w->columns[c];
        int64_t left = x->daemons ? column_left(x, x->daemons[daemon], x->fresh)
                                  : x->fresh;

        if (left < x->fresh)
            v[n++] = (struct qty){x->name, x->fresh - left};
    }
    return (struct qtys){v, n};
}

static void offers_mark(struct fit *f, uint32_t daemon,
                        struct snap_offer *offers)
{
    struct qtys less = daemon_less(f, daemon);

    for (uint32_t i = 0; i < f->t->n_offers; i++)
        if (daemon_runs(f, &f->view->daemons[daemon], offers[i].zone))
            offer_mark(f, &offers[i], less);
}

/* Columns of a new node without them, then what each makes of these. */
static void daemons_take(struct fit *f)
{
    const struct pods_view *w = f->view;
    int64_t *left = ARENA_ARRAY(f->arena, int64_t, w->n_columns);
    struct snap_offer *offers = NULL;

    for (uint32_t c = 0; c < w->n_columns; c++)
        left[c] = w->columns[c].fresh;
    for (uint32_t i = 0; i < w->n_daemons; i++) {
        bool all, any;

        daemons_find(f, i, &all, &any);
        if (any && !all) {
            if (!offers)
                offers = arena_copy(f->arena, f->t->offers,
                                    f->t->n_offers * sizeof *offers);
            f->t->offers = offers;
            offers_mark(f, i, offers);
        }
        if (!all)
            continue;
        daemon_take(f, &w->daemons[i]);
        for (uint32_t c = 0; c < w->n_columns; c++)
            if (w->columns[c].daemons)
                left[c] = column_left(&w->columns[c], w->columns[c].daemons[i],
                                      left[c]);
    }
    for (uint32_t c = 0; c < w->n_columns; c++)
        if (left[c] > 0 &&
            !(w->columns[c].learned && amount_of(f, w->columns[c].name)))
            set_amount(f, w->columns[c].name, left[c]);
}

static void amount_usual(struct fit *f, const char *name, int64_t amount)
{
    if (amount_of(f, name))
        return;
    set_amount(f, name, amount);
    origin(f, name, OF_USUAL);
}

void pods_type_fit(const struct source_view *view,
                   const struct source_node *const *like, uint32_t n_like,
                   struct pods_cloud cloud, struct arena *arena,
                   struct snap_type *t)
{
    struct fit f = {.arena = arena,
                    .view = view->pods,
                    .like = like,
                    .n_like = n_like,
                    .t = t};

    if (!view->pods)
        return;
    for (uint32_t i = 0; i < t->resources.n; i++) {
        set_amount(&f, t->resources.v[i].name, t->resources.v[i].amount);
        origin(&f, t->resources.v[i].name,
               t->machine && *t->machine ? "the configuration or the catalogue"
                                         : OF_FILE);
    }
    for (uint32_t i = 0; i < cloud.resources.n; i++) {
        set_amount(&f, cloud.resources.v[i].name, cloud.resources.v[i].amount);
        origin(&f, cloud.resources.v[i].name, OF_CLOUD);
    }
    if (!n_like)
        kept_take(&f, &cloud.kept);
    labels_begin(&f, cloud.labels);
    amount_usual(&f, "pods", DEFAULT_PODS);
    amount_usual(&f, "ephemeral-storage", DEFAULT_DISK);
    if (n_like) {
        learn_resources(&f);
        learn_labels(&f);
        fixed_take(&f);
    } else if (view->pods->reserve && !cloud.kept.n) {
        reserve(&f);
    }
    images_unknown(&f);
    probes_answer(&f);
    daemons_take(&f);
    t->resources = (struct qtys){f.resources.v, f.resources.n};
    t->labels = (struct pairs){f.labels.v, f.labels.n};
    t->origins = (struct pairs){f.origins.v, f.origins.n};
}
