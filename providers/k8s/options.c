/*
 * options.c - where the API server is, and how we show who we are.
 *
 * Inside a pod nothing has to be configured: the service account's folder and two
 * environment variables are all there is to know.  Anywhere else, and in tests,
 * the options say it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "k8s.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* A file of the service account's folder, when it is there. */
static char *account_file(struct k8s *k, const char *name)
{
    char *path = kit_keep_print(&k->keep, "%s/%s", k->account, name);
    return access(path, F_OK) == 0 ? path : NULL;
}

/* Into a URL's path, so nothing but what Kubernetes allows in a name. */
static int name_check(const char *key, const char *v, struct davit_error *e)
{
    size_t n = strlen(v);
    if (n > 0 && n <= 253 && v[0] != '.' && v[0] != '-' &&
        strspn(v, "abcdefghijklmnopqrstuvwxyz0123456789-.") == n)
        return DAVIT_OK;
    return kit_error(e, DAVIT_INVALID, key,
                     "%s must be a name such as Kubernetes takes it (a-z, 0-9, "
                     "- and .), got \"%.60s\"",
                     key, v);
}

/* Inside a pod; NULL elsewhere. */
static char *pod_endpoint(struct k8s *k)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!host || *host == '\0')
        return NULL;
    bool v6 = strchr(host, ':');
    return kit_keep_print(&k->keep, "https://%s%.250s%s:%.10s", v6 ? "[" : "",
                          host, v6 ? "]" : "",
                          port && *port != '\0' ? port : "443");
}

static int who_read(struct k8s *k, const struct davit_setup *s,
                    struct davit_error *e)
{
    /* What the operator of this head speaks: KubeRay sets it in the pod. */
    const char *version = getenv("KUBERAY_CRD_VER");
    char *path, *text;
    if (!k->endpoint && !(k->endpoint = pod_endpoint(k)))
        return kit_error(e, DAVIT_NOT_FOUND, "endpoint",
                         "there is no Kubernetes here: this is no pod with a "
                         "service account (KUBERNETES_SERVICE_HOST is not set) "
                         "and endpoint: does not say where its API server is");
    if (!k->token_file && !k->cert_file)
        k->token_file = account_file(k, "token");
    if (!k->ca_file)
        k->ca_file = account_file(k, "ca.crt");
    if (!k->ns && (path = account_file(k, "namespace")) &&
        kit_file_read(path, "the namespace", &text, NULL) == DAVIT_OK) {
        k->ns = kit_keep_text(&k->keep, text);
        free(text);
    }
    if (!k->ns)
        k->ns = kit_keep_text(&k->keep, "default");
    if (!k->cluster)
        k->cluster = kit_keep_text(&k->keep, s->cluster[0] ? s->cluster : "-");
    k->version = version && strcmp(version, "v1alpha1") == 0 ? "v1alpha1"
                                                             : "v1";
    int st = name_check("namespace", k->ns, e);
    return st == DAVIT_OK ? name_check("cluster", k->cluster, e) : st;
}

static int types_read(struct k8s *k, const struct davit_setup *setup,
                      struct davit_error *e)
{
    int st = DAVIT_OK;
    k->types = kit_keep(&k->keep, (setup->n_types + 1) * sizeof *k->types);
    for (size_t i = 0; i < setup->n_types && st == DAVIT_OK; i++) {
        const struct davit_node_type *t = setup->types[i];
        struct k8s_type *mine = &k->types[i];
        const char *group = *t->pool != '\0' ? t->pool : t->name;
        const struct k8s_type *other = type_of_group(k, group);
        if (other)
            return kit_type_error(e, t, "",
                                  "node type %.40s is worker group %.40s too: "
                                  "whose would its pods be?",
                                  other->name, group);
        mine->min = t->min;
        mine->unschedulable_ms = -1;
        st = kit_options_read(k8s_options, t->options, t->n_options, t, mine,
                              &k->keep, e);
        mine->name = kit_keep_text(&k->keep, t->name);
        mine->group = kit_keep_text(&k->keep, group);
        k->n_types++;
    }
    return st;
}

#define AT(field) KIT_AT(struct k8s, field)
const struct kit_option k8s_options[] = {
    {"namespace", "the RayCluster's namespace; else the pod's own", KIT_TEXT,
     AT(ns)},
    {"cluster", "the RayCluster's name; else the configuration's cluster",
     KIT_TEXT, AT(cluster)},
    {"endpoint", "the API server, https://HOST:PORT; else that of the pod",
     KIT_URL, AT(endpoint)},
    {"service_account", "folder with token, ca.crt, namespace", KIT_TEXT,
     AT(account), .env = "DAVIT_SERVICEACCOUNT_DIR", .fallback = ACCOUNT},
    {"token_file", "a bearer token; read again every minute and when refused",
     KIT_TEXT, AT(token_file)},
    {"ca_file", "the CAs the API server's certificate may be of", KIT_TEXT,
     AT(ca_file)},
    {"cert_file", "a client certificate, instead of a token", KIT_TEXT,
     AT(cert_file)},
    {"key_file", "its key", KIT_TEXT, AT(key_file)},
    {"unschedulable_timeout",
     "how long a pod may find no node before its group counts as out of stock",
     KIT_DURATION, AT(unschedulable_ms), .fallback = "10m"},
    {"gate_timeout", "the same for a pod held by a scheduling gate",
     KIT_DURATION, AT(gate_ms), .fallback = "5s"},
    {"trouble_timeout",
     "how long a container may fail to start (image, configuration, crashes)",
     KIT_DURATION, AT(trouble_ms), .fallback = "2m"},
    {"coalesce", "how long a launch waits for others, to go in one patch",
     KIT_DURATION, AT(coalesce_ms), .fallback = "15ms", .max = 1000},
    {"types.unschedulable_timeout", "the same for one worker group",
     KIT_DURATION, KIT_AT(struct k8s_type, unschedulable_ms)},
    {0}};

int options_read(struct k8s *k, const struct davit_setup *setup,
                 struct davit_error *e)
{
    int s = kit_options_read(k8s_options, setup->options, setup->n_options,
                             NULL, k, &k->keep, e);
    if (s == DAVIT_OK)
        s = who_read(k, setup, e);
    return s == DAVIT_OK ? types_read(k, setup, e) : s;
}

const struct k8s_type *type_find(const struct k8s *k, const char *name)
{
    for (size_t i = 0; i < k->n_types; i++)
        if (strcmp(k->types[i].name, name) == 0)
            return &k->types[i];
    return NULL;
}

const struct k8s_type *type_of_group(const struct k8s *k, const char *group)
{
    for (size_t i = 0; i < k->n_types; i++)
        if (strcmp(k->types[i].group, group) == 0)
            return &k->types[i];
    return NULL;
}
