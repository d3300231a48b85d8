/*
 * gke.c - Google Kubernetes Engine: node pools, one machine at a time.
 *
 * A node type is a node pool.  Its machines are those of the pool's instance
 * groups, whoever made them; they are made by createInstances and ended by
 * deleteInstances, both by name, in the group of one zone.  See README.md.
 */
#include <stdlib.h>

#include "gke.h"

static void gke_close(void *self)
{
    struct gke *g = self;
    gcp_done(&g->gcp);
    pthread_mutex_destroy(&g->lock);
    json_decref(g->pools);
    json_decref(g->addresses);
    json_decref(g->left);
    kit_keep_done(&g->keep);
    free(g);
}

static int gke_open(const struct davit_host *host,
                    const struct davit_setup *setup, void **ret_self,
                    struct davit_error *e)
{
    struct gke *g = kit_zeroed(1, sizeof *g);
    g->host = host;
    gcp_init(&g->gcp, host, &g->keep);
    pthread_mutex_init(&g->lock, NULL);
    g->addresses = json_object();
    name_tag(g->tag, setup->cluster);
    int s = options_read(g, setup, e);
    if (s == DAVIT_OK)
        *ret_self = g;
    else
        gke_close(g);
    return s;
}

/* Two lists a settle time apart must not come of one answer that is held. */
static uint32_t gke_settle_ms(void *self)
{
    (void)self;
    return POOLS_HOLD_MS + SETTLE_MS;
}

static const char *const places[] = {"project", "location", "cluster", NULL};

static struct davit_provider gke = {.size = sizeof gke,
                                    .name = "gke",
                                    .version = "1",
                                    .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT,
                                    .open = gke_open,
                                    .close = gke_close,
                                    .list = gke_list,
                                    .launch = gke_launch,
                                    .terminate = gke_terminate,
                                    .offers = gke_offers,
                                    .settle_ms = gke_settle_ms,
                                    .places = places,
                                    .launch_most = LAUNCH_MAX,
                                    .find = gke_find};

const struct davit_provider *davit_provider_v1(void)
{
    gke.options = kit_options_help(gke_options);
    return &gke;
}
