/*
 * offers.c - what each node type is in the cloud: the pool's machine type and
 * accelerators, its labels and taints, and the zones that have both.
 *
 * How many more the quotas allow is Compute's word too (kit/gcp/quota.c).
 * Compute and GKE have no prices; those come from the catalogue.  A pool that
 * has fewer GPUs than its node type promises is not available: what is bought
 * for two GPUs must have two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gke.h"
#include "kit/offer.h"

#define MACHINE_DEFAULT "e2-medium" /* GKE's own, when a pool says none */

struct facts { /* of a machine type in a zone */
    int64_t cpu, memory_mb;
    int64_t cards; /* of the machine: what quotas and zones count */
    int64_t gpus;  /* nvidia.com/gpu of its node */
    int64_t chips; /* google.com/tpu of its node; no quota of Compute's has it */
    const char *partition, *sharing, *clients; /* of the pool's, in it; "" */
    char accelerator[64];
    bool there;
};

/* NOT_FOUND is an answer here: that zone has no such thing. */
static int ask(struct op *op, const char *path, const char *query, json_t **ret,
               bool *there)
{
    int s = api_send(op, &(struct request){"GET", true, path, query, NULL},
                     ret);
    *there = s == DAVIT_OK;
    return s == DAVIT_NOT_FOUND ? DAVIT_OK : s;
}

/* How many a card is cut into: "1g.5gb" takes one of its seven slices, of some
 * cards with a quarter of the memory; "2g..." leaves room for three, "3g..." for
 * two; a larger one has the card alone
 * (docs.nvidia.com/datacenter/tesla/mig-user-guide: supported profiles). */
static int64_t partitions(const char *size)
{
    static const struct {
        const char *begins;
        int64_t n;
    } cut[] = {{"1g.20gb", 4}, {"1g.24gb", 4}, {"1g.35gb", 4}, {"1g.45gb", 4},
               {"1g.47gb", 4}, {"1g.67gb", 4}, {"2g.48gb", 2}, {"1g.", 7},
               {"2g.", 3},     {"3g.", 2}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        if (strncmp(size, cut[i].begins, strlen(cut[i].begins)) == 0)
            return cut[i].n;
    return 1;
}

static int64_t clients(int64_t n)
{
    return n > 0 ? n : 1;
}

static int machine_facts(struct op *op, const struct group *g, struct facts *f)
{
    char path[300];
    json_t *m;
    const char *machine = kit_json_text(g->pool, "config.machineType");
    snprintf(path, sizeof path, "projects/%s/zones/%s/machineTypes/",
             g->project, g->zone);
    if (!kit_url_append(path, sizeof path,
                        *machine != '\0' ? machine : MACHINE_DEFAULT))
        return kit_error(op->e, DAVIT_RETRY, "BadReply",
                         "the machine type of %.60s is no name", g->name);
    int s = ask(op, path, "", &m, &f->there);
    const json_t *own = json_array_get(json_object_get(m, "accelerators"), 0);
    const json_t *more = json_array_get(
        kit_json_at(g->pool, "config.accelerators"), 0);
    f->cpu = kit_json_int(m, "guestCpus", 0);
    f->memory_mb = kit_json_int(m, "memoryMb", 0);
    f->chips = machine_chips(machine);
    if (f->chips > 0)
        own = NULL;
    f->cards = kit_json_int(more, "acceleratorCount",
                            kit_json_int(own, "guestAcceleratorCount", 0));
    f->partition = kit_json_text(more, "gpuPartitionSize");
    f->sharing = kit_json_text(more, "gpuSharingConfig.gpuSharingStrategy");
    f->clients = kit_json_text(more, "gpuSharingConfig.maxSharedClientsPerGpu");
    f->gpus = f->cards * partitions(f->partition) *
              clients(kit_json_int(
                  more, "gpuSharingConfig.maxSharedClientsPerGpu", 1));
    snprintf(f->accelerator, sizeof f->accelerator, "%s",
             more ? kit_json_text(more, "acceleratorType")
                  : kit_json_text(own, "guestAcceleratorType"));
    json_decref(m);
    return s;
}

/* Does the zone have this accelerator, and do so many fit one machine? */
static int accelerator_there(struct op *op, const struct group *g,
                             struct facts *f)
{
    char path[300];
    json_t *reply, *a;
    bool some, has = false;
    size_t i;
    if (f->accelerator[0] == '\0' || !f->there)
        return DAVIT_OK;
    snprintf(path, sizeof path, "projects/%s/zones/%s/acceleratorTypes",
             g->project, g->zone);
    int s = ask(op, path, "", &reply, &some);
    json_array_foreach(json_object_get(reply, "items"), i, a)
        has = has || (strcmp(kit_json_text(a, "name"), f->accelerator) == 0 &&
                      kit_json_int(a, "maximumCardsPerInstance", f->cards) >=
                          f->cards);
    f->there = f->there && has;
    json_decref(reply);
    return s;
}

static void label_add(struct kit_offer *o, const char *key, const char *value)
{
    if (value && *value != '\0')
        kit_fact_set(o, &o->labels, key, value);
}

static bool queued(const struct group *g)
{
    return kit_json_true(g->pool, "queuedProvisioning.enabled");
}

static bool flex(const struct group *g)
{
    return queued(g) || kit_json_true(g->pool, "config.flexStart");
}

/* cloud.google.com/kubernetes-engine/docs/concepts/tpus; docs.cast.ai/docs/tpu has
 * the three labels of a node. */
static void tpu_labels(const struct group *g, const struct facts *f,
                       struct kit_offer *o)
{
    static const char *const kinds[][2] = {
        {"ct4p-", "tpu-v4-podslice"},       {"ct5l-", "tpu-v5-lite-device"},
        {"ct5lp-", "tpu-v5-lite-podslice"}, {"ct5p-", "tpu-v5p-slice"},
        {"ct6e-", "tpu-v6e-slice"},         {"tpu7x-", "tpu7x"}};
    const char *machine = kit_json_text(g->pool, "config.machineType");
    char count[8];
    if (f->chips == 0)
        return;
    snprintf(count, sizeof count, "%d", (int)f->chips);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(machine, kinds[i][0], strlen(kinds[i][0])) == 0)
            label_add(o, "cloud.google.com/gke-tpu-accelerator", kinds[i][1]);
    label_add(o, "cloud.google.com/gke-tpu-topology",
              kit_json_text(g->pool, "placementPolicy.tpuTopology"));
    label_add(o, "cloud.google.com/gke-accelerator-count", count);
}

/* What GKE puts on nodes beside the pool's own taints. */
static void gke_taints(const struct group *g, const struct facts *f,
                       struct kit_offer *o)
{
    if (f->chips > 0)
        kit_fact_taint(o, "google.com/tpu", "present", 7, "NO_SCHEDULE");
    if (queued(g))
        kit_fact_taint(o, "cloud.google.com/gke-queued", "true", 4,
                       "NO_SCHEDULE");
}

/* Of its image: the first part of "COS_CONTAINERD", "UBUNTU_CONTAINERD",
 * "WINDOWS_LTSC_CONTAINERD"; without one it is COS. */
static void image_labels(const struct group *g, struct kit_offer *o)
{
    const char *image = kit_json_text(g->pool, "config.imageType");
    bool windows = strncasecmp(image, "windows", 7) == 0;
    label_add(o, "kubernetes.io/os", windows ? "windows" : "linux");
    if (windows)
        kit_fact_taint(o, "node.kubernetes.io/os", "windows", 7, "NO_SCHEDULE");
    else
        label_add(o, "cloud.google.com/gke-os-distribution",
                  strncasecmp(image, "ubuntu", 6) == 0 ? "ubuntu" : "cos");
    if (image[0] == '\0' || strstr(image, "_CONTAINERD"))
        label_add(o, "cloud.google.com/gke-container-runtime", "containerd");
}

/* What every node has by its machine type and place. */
static void machine_labels(const struct group *g, struct kit_offer *o)
{
    const char *machine = kit_json_text(g->pool, "config.machineType");
    const char *end = strrchr(g->zone, '-');
    label_add(o, "node.kubernetes.io/instance-type", machine);
    label_add(
        o, "cloud.google.com/machine-family",
        kit_keep_print(&o->keep, "%.*s", (int)strcspn(machine, "-"), machine));
    label_add(o, "cloud.google.com/gke-boot-disk",
              kit_json_text(g->pool, "config.diskType"));
    label_add(o, "topology.kubernetes.io/zone", g->zone);
    if (end)
        label_add(
            o, "topology.kubernetes.io/region",
            kit_keep_print(&o->keep, "%.*s", (int)(end - g->zone), g->zone));
}

/* The labels a node of this pool will have, and its taints. */
static void labels_read(const struct group *g, const struct facts *f,
                        struct kit_offer *o)
{
    const char *key;
    const json_t *of = kit_json_at(g->pool, "config.labels");
    json_t *v;
    size_t i;
    json_object_foreach((json_t *)of, key, v)
        label_add(o, key, json_string_value(v));
    machine_labels(g, o);
    image_labels(g, o);
    label_add(o, "cloud.google.com/gke-nodepool",
              kit_json_text(g->pool, "name"));
    label_add(o, "cloud.google.com/gke-provisioning",
              g->spot ? "spot" : "standard");
    label_add(o, "cloud.google.com/gke-accelerator", f->accelerator);
    label_add(o, "cloud.google.com/gke-gpu-partition-size", f->partition);
    if (*f->sharing != '\0') {
        label_add(o, "cloud.google.com/gke-gpu-sharing-strategy",
                  strcmp(f->sharing, "MPS") == 0 ? "mps" : "time-sharing");
        label_add(o, "cloud.google.com/gke-max-shared-clients-per-gpu",
                  f->clients);
    }
    if (g->spot)
        label_add(o, "cloud.google.com/gke-spot", "true");
    if (queued(g))
        label_add(o, "cloud.google.com/gke-queued", "true");
    if (kit_json_true(g->pool, "config.flexStart"))
        label_add(o, "cloud.google.com/gke-flex-start", "true");
    tpu_labels(g, f, o);
    gke_taints(g, f, o);
    json_array_foreach(kit_json_at(g->pool, "config.taints"), i, v) {
        const char *value = kit_json_text(v, "value");
        kit_fact_taint(o, kit_json_text(v, "key"), value, strlen(value),
                       kit_json_text(v, "effect"));
    }
}

/* MiB that have no place in the node's file system, of a boot disk and of SSDs for
 * pods: kubernetes/autoscaler, cluster-autoscaler/cloudprovider/gce/reserved.go,
 * where they were measured on GKE's images. */
static int64_t boot_lost(const struct group *g, int64_t mib)
{
    const char *image = kit_json_text(g->pool, "config.imageType");
    int64_t spare = mib / 1000 < 100 ? mib / 1000 : 100;
    return strncasecmp(image, "ubuntu", 6) == 0
               ? mib * 3083 / 100000 + 176 + spare
               : mib * 15635 / 1000000 + 4248 + spare;
}

static int64_t ssds_lost(int64_t n)
{
    return (n <= 8 ? 10 + 61 * n : n <= 16 ? 510 : 760) * 1024 / 10;
}

/* cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes: a tenth of the
 * file system is kept free, and of the disk the least of half of it, 6 GiB and 35 %
 * of it, and 100 GiB.  With local SSDs for pods these count, and 50, 75, 100 GiB
 * of one, two, more of them are kept. */
static int64_t disk_left(const struct group *g)
{
    int64_t gib = kit_json_int(g->pool, "config.diskSizeGb", 100);
    int64_t ssds = kit_json_int(
        g->pool, "config.ephemeralStorageLocalSsdConfig.localSsdCount", 0);
    int64_t kept = 6 + gib * 35 / 100, mib;
    if (gib <= 0 || gib > 1 << 20 || ssds < 0 || ssds > 64)
        return 0;
    mib = (ssds > 0 ? ssds * 375 : gib) << 10;
    mib -= ssds > 0 ? ssds_lost(ssds) : boot_lost(g, mib);
    kept = kept < gib / 2 ? kept : gib / 2;
    kept = kept < 100 ? kept : 100;
    if (ssds > 0)
        kept = ssds < 3 ? 25 + ssds * 25 : 100;
    return (mib * 9 / 10 - (kept << 10)) << 20;
}

/* Pods, disk and huge pages, as its kubelet will have them. */
static void kubelet_take(const struct group *g, struct kit_offer *o)
{
    int64_t pods = kit_json_int(g->pool, "maxPodsConstraint.maxPodsPerNode", 0);
    int64_t disk = disk_left(g);
    int64_t small = kit_json_int(
        g->pool, "config.linuxNodeConfig.hugepages.hugepageSize2m", 0);
    int64_t large = kit_json_int(
        g->pool, "config.linuxNodeConfig.hugepages.hugepageSize1g", 0);
    if (pods > 0 && pods <= 10000)
        kit_fact_number(o, &o->resources, "pods", pods);
    if (disk > 0)
        kit_fact_number(o, &o->resources, "ephemeral-storage", disk);
    if (small > 0 && small < 1 << 24)
        kit_fact_number(o, &o->resources, "hugepages-2Mi", small << 21);
    if (large > 0 && large < 1 << 14)
        kit_fact_number(o, &o->resources, "hugepages-1Gi", large << 30);
}

static bool pool_usable(const struct group *g)
{
    const char *status = kit_json_text(g->pool, "status");
    return strcmp(status, "STOPPING") != 0 && strcmp(status, "ERROR") != 0;
}

static bool enough(struct op *op, const struct group *g, const struct facts *f)
{
    char line[300];
    const struct gke_type *t = g->type;
    if (!f->there ||
        (t->gpus <= f->gpus && t->tpus <= f->chips && t->cpu <= f->cpu))
        return f->there;
    bool usable = t->gpus <= f->gpus && t->tpus <= f->chips;
    bool tpu = f->chips > 0 || t->tpus > 0;
    int64_t want = tpu ? t->tpus : t->gpus;
    snprintf(line, sizeof line,
             "node type %s promises %lld CPUs and %lld %s, a machine of node "
             "pool %s has %lld and %lld%s",
             t->name, (long long)(t->cpu < 0 ? 0 : t->cpu),
             (long long)(want < 0 ? 0 : want), tpu ? "TPU chips" : "GPUs",
             kit_json_text(g->pool, "name"), (long long)f->cpu,
             (long long)(tpu ? f->chips : f->gpus),
             usable ? "" : ": none will be launched");
    op->g->host->log(usable ? 2 : 1, line);
    return usable;
}

/* A pool of several TPU hosts is one slice: its type must say so. */
static bool slice_fits(const struct group *g, char *note, size_t size)
{
    const struct gke_type *t = g->type;
    if (t->hosts == g->hosts && (g->hosts < 2 || t->max <= g->hosts))
        return true;
    if (g->hosts < 2 &&
        kit_json_text(g->pool, "placementPolicy.tpuTopology")[0] == '\0')
        return true; /* host groups of machines that do not know of it */
    if (g->hosts < 2)
        snprintf(note, size,
                 "node pool %.60s has slices of one machine each: say hosts: 1",
                 kit_json_text(g->pool, "name"));
    else
        snprintf(note, size,
                 "node pool %.60s is one slice of %u machines (%.20s): say "
                 "hosts: %u, max: %u",
                 kit_json_text(g->pool, "name"), g->hosts,
                 kit_json_text(g->pool, "placementPolicy.tpuTopology"),
                 g->hosts, g->hosts);
    return false;
}

/* Does its pool take of the reservation that its type names?  What else it made
 * would be paid for twice. */
static bool consumes(const struct group *g, char *note, size_t size)
{
    const json_t *all = kit_json_at(g->pool,
                                    "config.reservationAffinity.values");
    const char *want = g->type->reservation ? g->type->reservation : "";
    const char *bare = strrchr(want, '/') ? strrchr(want, '/') + 1 : want;
    bool found = *want == '\0';
    size_t i;
    json_t *v;
    json_array_foreach(all, i, v) {
        const char *name = kit_json_string(v), *slash = strrchr(name, '/');
        found = found || strcmp(slash ? slash + 1 : name, bare) == 0;
    }
    if (!found)
        snprintf(note, size,
                 "node pool %.60s does not consume reservation %.80s",
                 kit_json_text(g->pool, "name"), want);
    return found;
}

/* What the quotas allow; where nothing, the note says why. */
static int room_read(struct op *op, const struct group *g,
                     const struct facts *f, json_t *quotas,
                     struct kit_quotas *ret, char *note, size_t size)
{
    const char *machine = kit_json_text(g->pool, "config.machineType");
    int s = gcp_quotas(
        &op->g->gcp, op->call,
        &(struct gcp_place){op->g->compute_url, g->project, g->zone}, quotas,
        op->e);
    gcp_room(quotas, g->zone,
             &(struct gcp_machine){*machine != '\0' ? machine : MACHINE_DEFAULT,
                                   f->accelerator, f->cpu, f->cards,
                                   g->spot || flex(g)},
             ret, note, size);
    return s;
}

static int offer_group(struct op *op, const struct group *g, json_t *quotas,
                       struct davit_sink *sink, davit_put_offer *put)
{
    struct facts f = {.there = false};
    struct kit_offer o = {0};
    char note[200] = "";
    struct kit_quotas room = KIT_QUOTAS_NONE;
    int s = machine_facts(op, g, &f);
    if (s == DAVIT_OK)
        s = accelerator_there(op, g, &f);
    if (s == DAVIT_OK && f.there)
        s = room_read(op, g, &f, quotas, &room, note, sizeof note);
    if (s != DAVIT_OK)
        return s;
    bool taken = consumes(g, note, sizeof note) &&
                 slice_fits(g, note, sizeof note);
    if (g->held)
        group_work(g, note, sizeof note);
    labels_read(g, &f, &o);
    kit_fact_number(&o, &o.resources, "CPU", f.cpu);
    kit_fact_number(&o, &o.resources, "memory", f.memory_mb << 20);
    if (f.gpus > 0)
        kit_fact_number(&o, &o.resources, "GPU", f.gpus);
    if (f.chips > 0)
        kit_fact_number(&o, &o.resources, "TPU", f.chips);
    kubelet_take(g, &o);
    struct davit_offer offer = {.name = g->type->name,
                                .zone = g->zone,
                                .price_micros_hour = -1,
                                .spot = g->spot,
                                .note = note,
                                .available = taken && pool_usable(g) &&
                                             !g->leaving && enough(op, g, &f)};
    kit_quotas_set(&room, &offer);
    kit_offer_put(&o, &offer, sink, put);
    kit_keep_done(&o.keep);
    return DAVIT_OK;
}

static bool in_zone(const struct groups *gs, const struct gke_type *t,
                    const char *zone, bool spot)
{
    for (size_t i = 0; i < gs->n; i++)
        if (gs->v[i].type == t && gs->v[i].spot == spot &&
            strcmp(gs->v[i].zone, zone) == 0)
            return true;
    return false;
}

/* A configured zone that the pool is not in. */
static void offer_missing(const struct groups *gs, const struct gke_type *t,
                          struct davit_sink *sink, davit_put_offer *put)
{
    for (int spot = 0; spot < 2; spot++)
        for (size_t k = 0; k < t->n_zones; k++)
            if ((spot ? t->spot_pool : t->pool) &&
                !in_zone(gs, t, t->zones[k], spot != 0))
                put(sink,
                    &(struct davit_offer){.size = sizeof(struct davit_offer),
                                          .name = t->name,
                                          .zone = t->zones[k],
                                          .price_micros_hour = -1,
                                          .spot = spot != 0,
                                          .available = false});
}

static bool zone_wanted(const struct group *g)
{
    const struct gke_type *t = g->type;
    for (size_t k = 0; t && k < t->n_zones; k++)
        if (strcmp(t->zones[k], g->zone) == 0)
            return true;
    return t && t->n_zones == 0;
}

/* The half that goes of a blue-green upgrade, where the other one is there. */
static bool replaced(const struct groups *gs, const struct group *g)
{
    for (size_t i = 0; i < gs->n && g->leaving; i++)
        if (gs->v[i].pool == g->pool && !gs->v[i].leaving &&
            strcmp(gs->v[i].zone, g->zone) == 0)
            return true;
    return false;
}

int gke_offers(void *self, struct davit_call *call, struct davit_sink *sink,
               davit_put_offer *put, struct davit_error *e)
{
    struct op op = {self, call, e};
    struct groups gs;
    json_t *quotas = kit_must(json_object());
    int s = pools_get(&op, 0, &gs);
    for (size_t i = 0; i < gs.n && s == DAVIT_OK; i++)
        if (zone_wanted(&gs.v[i]) && !replaced(&gs, &gs.v[i]))
            s = offer_group(&op, &gs.v[i], quotas, sink, put);
    for (size_t i = 0; i < op.g->n_types && s == DAVIT_OK; i++)
        offer_missing(&gs, &op.g->types[i], sink, put);
    pools_done(&gs);
    json_decref(quotas);
    return s;
}
