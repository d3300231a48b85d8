/*
 * reload.c - see reload.h.
 */
#include "reload.h"

#include <string.h>

enum { ERRORS_MAX = 64 * 1024 };

static bool names_equal(const struct names *a, const struct names *b)
{
    bool same = a->n == b->n;

    for (uint32_t i = 0; same && i < a->n; i++)
        same = strcmp(a->v[i], b->v[i]) == 0;
    return same;
}

/* "" or what stands in the way of taking this over while running. */
static const char *fixed_changed(const struct config *a, const struct config *b)
{
    if (strcmp(a->state, b->state) != 0)
        return "state: needs a restart";
    if (strcmp(a->ha_namespace, b->ha_namespace) != 0 ||
        strcmp(a->ha_name, b->ha_name) != 0 ||
        strcmp(a->ha_identity, b->ha_identity) != 0 ||
        a->ha_lease_ms != b->ha_lease_ms)
        return "ha: needs a restart";
    if (strcmp(a->cluster, b->cluster) != 0)
        return "cluster: needs a restart (machines are ours by that name)";
    if (strcmp(a->ray_address, b->ray_address) != 0 ||
        strcmp(a->ray_token_file, b->ray_token_file) != 0)
        return "head.ray: needs a restart";
    if (a->kube != b->kube ||
        strcmp(a->kube_kubeconfig, b->kube_kubeconfig) != 0 ||
        strcmp(a->kube_context, b->kube_context) != 0 ||
        strcmp(a->kube_label, b->kube_label) != 0 ||
        !names_equal(&a->kube_namespaces, &b->kube_namespaces) ||
        !names_equal(&a->kube_schedulers, &b->kube_schedulers))
        return "head.kubernetes: needs a restart";
    if (strcmp(a->api_host, b->api_host) != 0 || a->api_port != b->api_port ||
        strcmp(a->api_token_file, b->api_token_file) != 0 ||
        strcmp(a->api_tls_cert, b->api_tls_cert) != 0 ||
        strcmp(a->api_tls_key, b->api_tls_key) != 0 ||
        strcmp(a->api_client_ca, b->api_client_ca) != 0 ||
        strcmp(a->api_tokens, b->api_tokens) != 0 ||
        strcmp(a->api_socket, b->api_socket) != 0 ||
        strcmp(a->api_audit, b->api_audit) != 0 ||
        !names_equal(&a->api_hosts, &b->api_hosts))
        return "api: needs a restart";
    if (strcmp(a->metrics_host, b->metrics_host) != 0 ||
        a->metrics_port != b->metrics_port)
        return "api.metrics: needs a restart";
    return "";
}

static void take_over(struct configuration *c, struct providers *p,
                      struct sources *s, struct config *conf,
                      struct provider_set *set)
{
    providers_replace(p, set);
    /* Retired plug-ins copied what they need at open(): see provider.h. */
    configuration_replace(c, conf);
    sources_reloaded(s);
}

void reload_if_due(struct configuration *c, struct providers *p,
                   struct sources *s)
{
    struct config *conf = NULL;
    struct provider_set set;
    struct buf errors;
    const char *fixed;

    if (!configuration_due(c))
        return;
    buf_init(&errors, ERRORS_MAX);
    if (configuration_read(c, &conf, &errors) != ST_OK) {
        configuration_refuse(c, errors.s);
    } else if (*(fixed = fixed_changed(c->now, conf))) {
        configuration_refuse(c, fixed);
        config_free(conf);
    } else if (providers_open(p, conf, &set, &errors) != ST_OK) {
        configuration_refuse(c, errors.s);
        config_free(conf);
    } else {
        take_over(c, p, s, conf, &set);
    }
    buf_done(&errors);
}
