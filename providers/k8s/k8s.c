/*
 * k8s.c - the worker groups of a RayCluster, grown and shrunk as KubeRay's own
 * autoscaler does it: by `replicas` and `scaleStrategy.workersToDelete`.
 *
 * A node type is a worker group, a machine is a pod; KubeRay's operator makes
 * and deletes them.  See README.md.
 */
#include <stdlib.h>
#include <string.h>

#include "k8s.h"

static void k8s_close(void *self)
{
    struct k8s *k = self;

    kit_token_done(&k->token);
    json_decref(k->owner);
    json_decref(k->named);
    json_decref(k->ending);
    json_decref(k->wrote);
    json_decref(k->live);
    json_decref(k->troubled);
    pthread_mutex_destroy(&k->lock);
    pthread_cond_destroy(&k->woken);
    kit_keep_done(&k->keep);
    free(k);
}

static int k8s_open(const struct davit_host *host,
                    const struct davit_setup *setup, void **ret_self,
                    struct davit_error *e)
{
    struct k8s *k = kit_zeroed(1, sizeof *k);
    pthread_condattr_t attr;
    k->host = host;
    kit_token_init(&k->token);
    k->token.hold_ms = TOKEN_HOLD_MS;
    k->owner = json_object();
    k->named = json_object();
    k->ending = json_object();
    k->wrote = json_object();
    k->live = json_object();
    k->troubled = json_object();
    pthread_mutex_init(&k->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&k->woken, &attr);
    pthread_condattr_destroy(&attr);
    int s = options_read(k, setup, e);
    if (s == DAVIT_OK)
        *ret_self = k;
    else
        k8s_close(k);
    return s;
}

/* Pods are listed as they are; what a launch raised is in the annotation. */
static uint32_t k8s_settle_ms(void *self)
{
    (void)self;
    return 10000;
}

static const char *const places[] = {"namespace", "cluster", NULL};

static struct davit_provider k8s = {
    .size = sizeof k8s,
    .name = "k8s",
    .version = "1",
    .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_RAYCLUSTER,
    .open = k8s_open,
    .close = k8s_close,
    .list = k8s_list,
    .launch = k8s_launch,
    .terminate = k8s_terminate,
    .offers = k8s_offers,
    .settle_ms = k8s_settle_ms,
    .places = places,
    .find = k8s_find,
    .launch_most = LAUNCH_MAX};

const struct davit_provider *davit_provider_v1(void)
{
    k8s.options = kit_options_help(k8s_options);
    return &k8s;
}
