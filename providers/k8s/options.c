/*
 * options.c - where the API server is, and how we show who we are.
 *
 * Inside a pod nothing has to be said: the service account's folder and two
 * environment variables are all there is to know.  Anywhere else, and in tests,
 * the options say it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "k8s.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

const struct davit_kv k8s_options[] = {
    {"namespace", "the RayCluster's namespace; else the pod's own"},
    {"cluster", "the RayCluster's name; else the configuration's cluster"},
    {"endpoint", "the API server, https://HOST:PORT; else that of the pod"},
    {"service_account", "folder with token, ca.crt, namespace; else " ACCOUNT},
    {"token_file", "a bearer token; read again every minute and when refused"},
    {"ca_file", "the CAs the API server's certificate may be of"},
    {"cert_file", "a client certificate, instead of a token"},
    {"key_file", "its key"},
    {"unschedulable_timeout", "how long a pod may find no node before its "
                              "group counts as out of stock (10m)"},
    {"gate_timeout", "the same for a pod held by a scheduling gate (5s)"},
    {"coalesce", "how long a launch waits for others, to go in one patch "
                 "(15ms)"},
    {"types.unschedulable_timeout", "the same for one worker group"},
    {NULL, NULL}};

static char *copy(const char *s)
{
    char *c = s != NULL && *s != '\0' ? strdup(s) : NULL;
    if (c == NULL && s != NULL && *s != '\0')
        abort();
    return c;
}

/* A file of the service account's folder, when it is there. */
static char *account_file(const char *folder, const char *name)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0
               ? copy(path) : NULL;
}

static char *account_namespace(const char *folder)
{
    char *path = account_file(folder, "namespace"), text[300] = "";
    FILE *f = path != NULL ? fopen(path, "re") : NULL;
    if (f != NULL) {
        size_t n = fread(text, 1, sizeof text - 1, f);
        text[n] = '\0';
        text[strcspn(text, " \r\n")] = '\0';
        fclose(f);
    }
    free(path);
    return copy(text);
}

/* Into a URL's path, so nothing but what Kubernetes allows in a name. */
static int name_check(const char *key, const char *v, struct davit_error *e)
{
    size_t n = strlen(v);
    if (n > 0 && n <= 253 &&
        strspn(v, "abcdefghijklmnopqrstuvwxyz0123456789-.") == n &&
        v[0] != '.' && v[0] != '-')
        return DAVIT_OK;
    return kit_error(e, DAVIT_INVALID, key,
                     "%s must be a name such as Kubernetes takes it (a-z, 0-9, "
                     "- and .), got \"%.60s\"", key, v);
}

static int endpoint_read(struct k8s *k, const char *v, struct davit_error *e)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    char url[400];
    if (v == NULL && (host == NULL || *host == '\0'))
        return kit_error(e, DAVIT_NOT_FOUND, "endpoint",
                         "there is no Kubernetes here: this is no pod with a "
                         "service account (KUBERNETES_SERVICE_HOST is not set) "
                         "and endpoint: does not say where its API server is");
    if (v == NULL) {
        bool v6 = strchr(host, ':') != NULL;
        snprintf(url, sizeof url, "https://%s%.250s%s:%.10s", v6 ? "[" : "",
                 host, v6 ? "]" : "",
                 port != NULL && *port != '\0' ? port : "443");
        v = url;
    }
    size_t n = strlen(v);
    while (n > 0 && v[n - 1] == '/')
        n--;
    if (n > 300 || (strncmp(v, "https://", 8) != 0 &&
                    strncmp(v, "http://", 7) != 0) || strpbrk(v, " ?#") != NULL)
        return kit_error(e, DAVIT_INVALID, "endpoint", "endpoint must be a URL "
                         "such as https://10.0.0.1:6443, got \"%.60s\"", v);
    k->endpoint = strndup(v, n);
    if (k->endpoint == NULL)
        abort();
    return DAVIT_OK;
}

static int who_read(struct k8s *k, const struct davit_setup *s,
                    struct davit_error *e)
{
#define OPTION(key) kit_find(s->options, s->n_options, key)
    const char *folder = OPTION("service_account"), *v;
    int st;
    if (folder == NULL)
        folder = getenv("DAVIT_SERVICEACCOUNT_DIR");
    if (folder == NULL || *folder == '\0')
        folder = ACCOUNT;
    if ((st = endpoint_read(k, OPTION("endpoint"), e)) != DAVIT_OK)
        return st;
    k->cert_file = copy(OPTION("cert_file"));
    k->key_file = copy(OPTION("key_file"));
    k->token_file = copy(OPTION("token_file"));
    if (k->token_file == NULL && k->cert_file == NULL)
        k->token_file = account_file(folder, "token");
    k->ca_file = copy(OPTION("ca_file"));
    if (k->ca_file == NULL)
        k->ca_file = account_file(folder, "ca.crt");
    k->ns = copy(OPTION("namespace"));
    if (k->ns == NULL)
        k->ns = account_namespace(folder);
    if (k->ns == NULL)
        k->ns = copy("default");
    v = OPTION("cluster");
    k->cluster = copy(v != NULL ? v : s->cluster);
    if (k->cluster == NULL)
        k->cluster = copy("-");
    /* What the operator of this head speaks: KubeRay sets it in the pod. */
    v = getenv("KUBERAY_CRD_VER");
    k->version = copy(v != NULL && (strcmp(v, "v1") == 0 ||
                                    strcmp(v, "v1alpha1") == 0) ? v : "v1");
#undef OPTION
    st = name_check("namespace", k->ns, e);
    return st == DAVIT_OK ? name_check("cluster", k->cluster, e) : st;
}

static int types_read(struct k8s *k, const struct davit_setup *setup,
                      struct davit_error *e)
{
    k->types = calloc(setup->n_types + 1, sizeof *k->types);
    if (k->types == NULL)
        abort();
    for (size_t i = 0; i < setup->n_types; i++) {
        const struct davit_node_type *t = setup->types[i];
        struct k8s_type *mine = &k->types[i];
        char code[100];
        const char *v = kit_find(t->options, t->n_options,
                                 "unschedulable_timeout");
        const char *group = *t->pool != '\0' ? t->pool : t->name;
        const struct k8s_type *other = type_of_group(k, group);
        if (other != NULL)
            return kit_error(e, DAVIT_INVALID, t->name,
                             "node types %.40s and %.40s cannot both be worker "
                             "group %.40s: whose would its pods be?",
                             other->name, t->name, group);
        if (t->spot)
            return kit_error(e, DAVIT_INVALID, t->name,
                             "node type %.60s: a worker group has no market; "
                             "what its pods run on is for their nodeSelector",
                             t->name);
        mine->unschedulable_ms = -1;
        snprintf(code, sizeof code, "%.60s.unschedulable_timeout", t->name);
        if (v != NULL && !kit_duration(v, &mine->unschedulable_ms))
            return kit_error(e, DAVIT_INVALID, code, "%s must be a time such "
                             "as 90s or 10m, got \"%.40s\"", code, v);
        mine->name = copy(t->name);
        mine->group = copy(group);
        k->n_types++;
    }
    return DAVIT_OK;
}

int options_read(struct k8s *k, const struct davit_setup *setup,
                 struct davit_error *e)
{
    int s = who_read(k, setup, e);
    k->unschedulable_ms = 600000;
    k->gate_ms = 5000;
    k->coalesce_ms = 15;
    if (s == DAVIT_OK)
        s = kit_duration_option(setup->options, setup->n_options,
                                "unschedulable_timeout", &k->unschedulable_ms,
                                e);
    if (s == DAVIT_OK)
        s = kit_duration_option(setup->options, setup->n_options,
                                "gate_timeout", &k->gate_ms, e);
    if (s == DAVIT_OK)
        s = kit_duration_option(setup->options, setup->n_options, "coalesce",
                                &k->coalesce_ms, e);
    if (s == DAVIT_OK && k->coalesce_ms > 1000)
        s = kit_error(e, DAVIT_INVALID, "coalesce",
                      "coalesce may be up to 1s: every launch waits for it");
    if (s == DAVIT_OK)
        s = types_read(k, setup, e);
    return s;
}

void options_done(struct k8s *k)
{
    for (size_t i = 0; i < k->n_types; i++) {
        free(k->types[i].name);
        free(k->types[i].group);
    }
    free(k->types);
    free(k->endpoint);
    free(k->ns);
    free(k->cluster);
    free(k->version);
    free(k->token_file);
    free(k->ca_file);
    free(k->cert_file);
    free(k->key_file);
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
