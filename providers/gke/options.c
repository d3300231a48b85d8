/*
 * options.c - the configuration, read once by open(); every mistake names its
 * option, so that the daemon can point at the line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

#define AT(field) KIT_AT(struct gke, field)
#define NAME(field) KIT_NAME, AT(field), .allowed = "a-z 0-9 - . :", .max = 63
#define API(name) \
    KIT_URL, AT(name##_url), \
        .instead = "endpoint", \
        .fallback = "https://" #name "." GCP_UNIVERSE_USUAL
const struct kit_option gke_options[] = {
    {"project", "the Google Cloud project's id", NAME(project), .needed = true},
    {"location", "the cluster's region or zone: us-central1, us-central1-c",
     NAME(location), .needed = true},
    {"cluster", "the GKE cluster's name", NAME(cluster), .needed = true},
    {"credentials",
     "a key or federation file; else GOOGLE_APPLICATION_CREDENTIALS, gcloud's "
     "own, the metadata server",
     KIT_TEXT, AT(gcp.credentials)},
    {"take_over", "switch off GKE's own autoscaling of our pools", KIT_FLAG,
     AT(take_over), .fallback = "false"},
    {"endpoint", "instead of Google's, for both APIs: http://127.0.0.1:8080",
     KIT_URL, AT(container_url)},
    {"container_endpoint", "the same for container.googleapis.com alone",
     API(container)},
    {"compute_endpoint", "the same for compute.googleapis.com alone",
     API(compute)},
    GCP_UNIVERSE(struct gke, gcp),
    {"types.reservation",
     "the reservation that its pool consumes: its name, or "
     "projects/P/reservations/NAME",
     KIT_TEXT, KIT_AT(struct gke_type, reservation)},
    {"types.queue_wait",
     "how long its machines may wait in the queue of a pool with queued "
     "provisioning before another zone or type is tried: 2h",
     KIT_DURATION, KIT_AT(struct gke_type, queue_wait_ms), .min = 60000,
     .fallback = "24h"},
    {"types.spot_pool", "the node pool of a type's spot machines", KIT_NAME,
     KIT_AT(struct gke_type, spot_pool), .allowed = "a-z 0-9 - . :", .max = 63},
    {0}};

static int64_t whole(const struct davit_node_type *t, const char *resource)
{
    const char *v = kit_find(t->resources, t->n_resources, resource);
    return v ? (int64_t)(strtod(v, NULL) + 0.9999) : -1;
}

static int pool_check(const struct gke *g, const struct davit_node_type *t,
                      const char *pool, struct davit_error *e)
{
    if (strspn(pool, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(pool))
        return kit_type_error(e, t, "",
                              "pool must be 1 to 63 of a-z, 0-9, -, got "
                              "\"%.60s\"",
                              pool);
    for (size_t i = 0; i < g->n_types; i++) {
        const struct gke_type *o = &g->types[i];
        if ((o->pool && strcmp(o->pool, pool) == 0) ||
            (o->spot_pool && strcmp(o->spot_pool, pool) == 0))
            return kit_type_error(e, t, "",
                                  "node type %.40s has node pool %.40s too: "
                                  "whose would its machines be?",
                                  o->name, pool);
    }
    return DAVIT_OK;
}

/* A type of spot machines only may name its pool as pool. */
static int type_read(struct gke *g, const struct davit_node_type *t,
                     struct davit_error *e)
{
    struct gke_type *mine = &g->types[g->n_types];
    int s = kit_options_read(gke_options, t->options, t->n_options, t, mine,
                             &g->keep, e);
    const char *pool = t->pool, *spot = mine->spot_pool;
    if (s == DAVIT_OK && pool[0] == '\0' && (!spot || !t->spot))
        s = kit_type_error(e, t, "",
                           "it needs pool: the GKE node pool that makes its "
                           "machines");
    if (s == DAVIT_OK && spot && strcmp(spot, pool) == 0)
        s = kit_type_error(e, t, "spot_pool",
                           "pool and spot_pool must be two pools");
    if (s == DAVIT_OK && pool[0] != '\0')
        s = pool_check(g, t, pool, e);
    if (s == DAVIT_OK && spot)
        s = pool_check(g, t, spot, e);
    if (s != DAVIT_OK)
        return s;
    mine->name = kit_keep_text(&g->keep, t->name);
    mine->pool = pool[0] != '\0' ? kit_keep_text(&g->keep, pool) : NULL;
    mine->cpu = whole(t, "CPU");
    mine->gpus = whole(t, "GPU");
    mine->tpus = whole(t, "TPU");
    mine->hosts = DAVIT_HAS(t, struct davit_node_type, hosts) ? t->hosts : 1;
    mine->max = t->max;
    if (t->spot && !spot) {
        mine->spot_pool = mine->pool;
        mine->pool = NULL;
    }
    mine->zones = kit_keep(&g->keep, (t->n_zones + 1) * sizeof *mine->zones);
    for (size_t i = 0; i < t->n_zones; i++)
        mine->zones[mine->n_zones++] = kit_keep_text(&g->keep, t->zones[i]);
    g->n_types++;
    return DAVIT_OK;
}

int options_read(struct gke *g, const struct davit_setup *setup,
                 struct davit_error *e)
{
    int s = kit_options_read(gke_options, setup->options, setup->n_options,
                             NULL, g, &g->keep, e);
    if (s == DAVIT_OK)
        gcp_universe_url(&g->gcp, &g->keep, "compute", &g->compute_url);
    if (s == DAVIT_OK)
        gcp_universe_url(&g->gcp, &g->keep, "container", &g->container_url);
    g->types = kit_keep(&g->keep, (setup->n_types + 1) * sizeof *g->types);
    for (size_t i = 0; i < setup->n_types && s == DAVIT_OK; i++)
        s = type_read(g, setup->types[i], e);
    return s;
}
