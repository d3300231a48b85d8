/*
 * azurevm.c - the table of the plug-in for bare Azure virtual machines.
 */
#include <stdlib.h>

#include "azurevm.h"

static void azurevm_close(void *self)
{
    struct azurevm *v = self;
    azure_done(&v->azure);
    options_done(v);
    kit_head_done(&v->head);
    json_decref(v->powers);
    json_decref(v->health);
    pthread_mutex_destroy(&v->lock);
    kit_keep_done(&v->keep);
    free(v);
}

static int azurevm_open(const struct davit_host *host,
                        const struct davit_setup *setup, void **ret,
                        struct davit_error *e)
{
    struct azurevm *v = kit_zeroed(1, sizeof *v);
    azure_init(&v->azure, host);
    v->azure.pace = list_pace;
    v->azure.seen = list_limit_seen;
    v->azure.paced = v;
    kit_head_init(&v->head);
    pthread_mutex_init(&v->lock, NULL);
    v->powers = kit_must(json_object());
    int s = options_read(v, setup, e);
    if (s == DAVIT_OK)
        *ret = v;
    else
        azurevm_close(v);
    return s;
}

static const char *const places[] = {"subscription", "resource_group", NULL};

static struct davit_provider table = {
    .size = sizeof table,
    .name = "azurevm",
    .version = "1",
    .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT | DAVIT_CAP_JOIN,
    .open = azurevm_open,
    .close = azurevm_close,
    .list = azurevm_list,
    .launch = azurevm_launch,
    .terminate = azurevm_terminate,
    .offers = azurevm_offers,
    .places = places,
    .console = azurevm_console,
    .find = azurevm_find,
    .launch_most = LAUNCH_MAX};

const struct davit_provider *davit_provider_v1(void)
{
    table.options = kit_options_help(azurevm_options);
    return &table;
}
