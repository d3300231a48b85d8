/*
 * gce.c - the table of the Compute Engine plug-in.
 */
#include <stdlib.h>

#include "gce.h"

static void gce_close(void *self)
{
    struct gce *g = self;
    gcp_done(&g->gcp);
    options_done(g);
    kit_head_done(&g->head);
    kit_keep_done(&g->keep);
    free(g);
}

static int gce_open(const struct davit_host *host,
                    const struct davit_setup *setup, void **ret,
                    struct davit_error *e)
{
    struct gce *g = kit_zeroed(1, sizeof *g);
    gcp_init(&g->gcp, host, &g->keep);
    kit_head_init(&g->head);
    int s = options_read(g, setup, e);
    if (s == DAVIT_OK)
        *ret = g;
    else
        gce_close(g);
    return s;
}

static const char *const places[] = {"project", NULL};

static struct davit_provider table = {
    .size = sizeof table,
    .name = "gce",
    .version = "1",
    .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT | DAVIT_CAP_JOIN,
    .open = gce_open,
    .close = gce_close,
    .list = gce_list,
    .launch = gce_launch,
    .terminate = gce_terminate,
    .offers = gce_offers,
    .places = places,
    .console = gce_console,
    .find = gce_find};

const struct davit_provider *davit_provider_v1(void)
{
    table.options = kit_options_help(gce_options);
    return &table;
}
