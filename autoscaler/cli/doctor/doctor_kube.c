/*
 * doctor_kube.c - the API server's part of `davit doctor`.
 *
 * Rights are asked for one by one (SelfSubjectAccessReview), as the API server
 * itself would judge them; those that are missing are printed as a Role.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/clock.h"
#include "../../control/ha/ha.h"
#include "../../wire/http.h"
#include "../../wire/kube/kube.h"
#include "doctor.h"

enum use { USE_PODS = 1, USE_STATE = 2, USE_RAYCLUSTER = 4, USE_DEFAULTS = 8 };

/* Of all the cluster, and it does without. */
#define LOOKED_AT(use, group, resource, why) \
    { \
        use, true, true, group, resource, "list watch", why, NULL \
    }

/* What the daemon asks for, and for what.  optional: it does without. */
static const struct right {
    enum use use;
    bool cluster; /* of the whole cluster, not one namespace */
    bool optional;
    const char *group, *resource, *verbs, *why;
    const char *named; /* what is behind the state's name in that of the
                        * object; NULL: any object.  A Role may be by name. */
} rights[] = {
    {USE_PODS, true, false, "", "pods", "get list watch",
     "demand, and what runs where", NULL},
    {USE_PODS, true, false, "", "nodes", "get list watch patch",
     "what is there; cordon", NULL},
    {USE_PODS, true, false, "", "pods/eviction", "create", "draining", NULL},
    {USE_PODS, true, false, "apps", "daemonsets", "list watch",
     "room they take on a new node", NULL},
    {USE_PODS, true, true, "", "nodes", "delete",
     "node objects of machines that went", NULL},
    LOOKED_AT(USE_PODS, "", "persistentvolumes", "where volumes let a pod run"),
    LOOKED_AT(USE_PODS, "", "persistentvolumeclaims",
              "where volumes let a pod run"),
    LOOKED_AT(USE_PODS, "storage.k8s.io", "storageclasses",
              "where volumes let a pod run"),
    LOOKED_AT(USE_PODS, "storage.k8s.io", "csinodes",
              "how many volumes a node can attach"),
    LOOKED_AT(USE_PODS, "", "namespaces", "whom a namespaceSelector means"),
    LOOKED_AT(USE_DEFAULTS, "", "services",
              "whom the scheduler's defaults count"),
    LOOKED_AT(USE_DEFAULTS, "", "replicationcontrollers",
              "whom the scheduler's defaults count"),
    LOOKED_AT(USE_DEFAULTS, "apps", "replicasets",
              "whom the scheduler's defaults count"),
    LOOKED_AT(USE_DEFAULTS, "apps", "statefulsets",
              "whom the scheduler's defaults count"),
    {USE_PODS, true, true, "policy", "poddisruptionbudgets", "get list",
     "names in reasons", NULL},
    {USE_PODS, true, true, "", "events", "create patch", "events on pods",
     NULL},
    {USE_STATE, false, false, "coordination.k8s.io", "leases",
     "get create update", "one leader", ""},
    {USE_STATE, false, false, "", "configmaps", "get create patch",
     "state: kubernetes", "-0"},
    {USE_RAYCLUSTER, false, false, "ray.io", "rayclusters", "get patch",
     "replicas, workersToDelete", NULL},
    {USE_RAYCLUSTER, false, false, "", "pods", "get list watch", "workers",
     NULL},
};
#define N_RIGHTS (sizeof rights / sizeof *rights)

static const char *option_of(const struct conf_provider *p, const char *key)
{
    for (uint32_t i = 0; i < p->n_options; i++)
        if (strcmp(p->options[i].key, key) == 0)
            return p->options[i].value;
    return "";
}

static const struct conf_provider *raycluster_of(const struct config *c)
{
    for (uint32_t i = 0; i < c->n_providers; i++)
        if (strcmp(c->providers[i].name, "k8s") == 0 ||
            strcmp(c->providers[i].plugin, "k8s") == 0)
            return &c->providers[i];
    return NULL;
}

/* ---- one right */

static bool allowed(struct kube *k, const struct right *r, const char *verb,
                    const char *space, const char *state, bool *ret,
                    struct err *err)
{
    const char *slash = strchr(r->resource, '/');
    char resource[64];
    json_t *body, *attributes;
    struct kube_call call = {
        .method = "POST",
        .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"};
    char *text;
    bool good;

    snprintf(resource, sizeof resource, "%.*s",
             slash ? (int)(slash - r->resource) : (int)strlen(r->resource),
             r->resource);
    attributes = json_pack("{s:s,s:s,s:s}", "group", r->group, "resource",
                           resource, "verb", verb);
    if (slash)
        json_object_set_new(attributes, "subresource", json_string(slash + 1));
    if (!r->cluster)
        json_object_set_new(attributes, "namespace", json_string(space));
    if (r->named && strcmp(verb, "create") != 0)
        json_object_set_new(attributes, "name",
                            json_sprintf("%s%s", state, r->named));
    body = json_pack(
        "{s:s,s:s,s:{s:o}}", "apiVersion", "authorization.k8s.io/v1", "kind",
        "SelfSubjectAccessReview", "spec", "resourceAttributes", attributes);
    text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    call.body = text;
    good = kube_do(k, &call, err) == ST_OK;
    *ret = good && json_is_true(json_object_get(
                       json_object_get(call.reply, "status"), "allowed"));
    json_decref(call.reply);
    free(text);
    return good;
}

/* The verbs of a right that are not there, each quoted, "" for none; false
 * when the server could not be asked. */
static bool lacking(struct kube *k, const struct right *r, const char *space,
                    const char *state, struct buf *missing, struct err *err)
{
    char verbs[64], *at = verbs, *verb;

    snprintf(verbs, sizeof verbs, "%s", r->verbs);
    while ((verb = strsep(&at, " "))) {
        bool yes;

        if (!allowed(k, r, verb, space, state, &yes, err))
            return false;
        if (!yes)
            buf_printf(missing, "%s%s", missing->n ? ", " : "", verb);
    }
    return true;
}

static void role_begin(struct buf *b, const char *name, const char *space,
                       bool cluster)
{
    buf_printf(b,
               "%sapiVersion: rbac.authorization.k8s.io/v1\nkind: %s\n"
               "metadata:\n  name: %s\n",
               b->n ? "---\n" : "", cluster ? "ClusterRole" : "Role", name);
    if (!cluster)
        buf_printf(b, "  namespace: %s\n", space);
    buf_str(b, "rules:\n");
}

static void rights_check(struct checkup *c, struct kube *k, unsigned uses,
                         const char *space, bool cluster)
{
    const char *what = cluster ? "rights in the cluster" : "rights";
    unsigned asked = 0, lacks = 0;
    char state[128];
    struct err err;

    ha_name(c->conf, state, sizeof state);
    for (size_t i = 0; i < N_RIGHTS; i++) {
        const struct right *r = &rights[i];
        struct buf missing;

        if (!(r->use & uses) || r->cluster != cluster)
            continue;
        buf_init(&missing, 256);
        if (!lacking(k, r, space, state, &missing, &err)) {
            finding_add(c, FINDING_BAD, what, "%s", err.text);
            buf_done(&missing);
            return;
        }
        asked++;
        if (missing.n) {
            if (!lacks++)
                role_begin(&c->hints,
                           cluster ? "davit-missing" : "davit-missing-here",
                           space, cluster);
            buf_printf(&c->hints,
                       "- apiGroups: [\"%s\"]   # %s\n"
                       "  resources: [%s]\n  verbs: [%s]\n",
                       r->group, r->why, r->resource, missing.s);
            finding_add(c, r->optional ? FINDING_WARN : FINDING_BAD, what,
                        "may not %s %s%s%s%s%s (%s)", missing.s, r->resource,
                        *r->group ? "." : "", r->group, cluster ? "" : " in ",
                        cluster ? "" : space, r->why);
        }
        buf_done(&missing);
    }
    if (asked && !lacks)
        finding_add(c, FINDING_OK, what, "all %u that are needed%s%s", asked,
                    cluster ? "" : " in ", cluster ? "" : space);
}

/* ---- reach and clock */

static bool reach(struct checkup *c, struct kube *k,
                  const struct kube_access *a)
{
    struct http_exchange x = {.method = "GET"};
    struct arena arena = {0};
    struct tm tm = {0};
    struct err err;
    const char *date;
    int64_t off;
    bool good;

    kube_exchange(k, "/version", &arena, &x);
    good = http_do(kube_http(k), &x, &arena, &err) == ST_OK;
    if (good && x.status / 100 != 2) {
        good = false;
        err_set(&err, ST_AUTH, "%s answers %d to GET /version",
                kube_access_server(a), x.status);
    }
    if (!good) {
        finding_add(c, FINDING_BAD, "API server", "%s (%s)", err.text,
                    kube_access_source(a));
        arena_done(&arena);
        return false;
    }
    finding_add(c, FINDING_OK, "API server", "%s answers, by the %s",
                kube_access_server(a), kube_access_source(a));
    date = http_reply_header(&x, "date");
    if (date && strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm)) {
        off = clock_wall_ms() / 1000 - (int64_t)timegm(&tm);
        finding_add(
            c, off > 30 || off < -30 ? FINDING_BAD : FINDING_OK, "clock",
            off > 30 || off < -30
                ? "%lld s away from the API server's: signatures and tokens "
                  "fail; set it by NTP"
                : "%lld s from the API server's",
            (long long)off);
    }
    arena_done(&arena);
    return true;
}

/* ---- pods that see GPUs they did not ask for */

static bool wants_device(const json_t *container)
{
    const json_t *limits = json_object_get(
        json_object_get(container, "resources"), "limits");
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)limits, name, v)
        if (strncmp(name, "nvidia.com/", 11) == 0)
            return true;
    return false;
}

static bool says_void(const json_t *container)
{
    const json_t *env = json_object_get(container, "env");
    const json_t *e;
    size_t i;

    json_array_foreach(env, i, e) {
        const char *name = json_string_value(json_object_get(e, "name"));

        if (name && strcmp(name, "NVIDIA_VISIBLE_DEVICES") == 0)
            return true; /* somebody has thought of it */
    }
    return false;
}

static bool grabs(const json_t *pod)
{
    const json_t *list = json_object_get(json_object_get(pod, "spec"),
                                         "containers"),
                 *container;
    size_t i;
    bool open = false;

    json_array_foreach(list, i, container) {
        if (wants_device(container))
            return false;
        open = open || !says_void(container);
    }
    return open;
}

static json_t *gpu_nodes(struct kube *k)
{
    struct kube_call call = {.path = "/api/v1/nodes"};
    json_t *names = json_object(), *node;
    struct err err;
    size_t i;

    if (kube_do(k, &call, &err) == ST_OK) {
        json_array_foreach(json_object_get(call.reply, "items"), i, node) {
            const json_t *room = json_object_get(
                json_object_get(node, "status"), "allocatable");
            const char *n = json_string_value(
                json_object_get(room, "nvidia.com/gpu"));
            const char *name = json_string_value(
                json_object_get(json_object_get(node, "metadata"), "name"));

            if (n && name && strcmp(n, "0") != 0)
                json_object_set_new(names, name, json_true());
        }
    }
    json_decref(call.reply);
    return names;
}

static bool own_kind(const json_t *pod, const char *kind)
{
    const json_t *owners = json_object_get(json_object_get(pod, "metadata"),
                                           "ownerReferences"),
                 *o;
    size_t i;

    json_array_foreach(owners, i, o) {
        const char *s = json_string_value(json_object_get(o, "kind"));

        if (s && strcmp(s, kind) == 0)
            return true;
    }
    return false;
}

static void gpu_pods_check(struct checkup *c, struct kube *k)
{
    json_t *nodes = gpu_nodes(k), *pod;
    struct kube_call call = {.path = "/api/v1/pods"};
    struct err err;
    char first[300] = "";
    unsigned n = 0;
    size_t i;

    if (json_object_size(nodes) && kube_do(k, &call, &err) == ST_OK)
        json_array_foreach(json_object_get(call.reply, "items"), i, pod) {
            const json_t *meta = json_object_get(pod, "metadata");
            const char *on = json_string_value(
                json_object_get(json_object_get(pod, "spec"), "nodeName"));

            /* DaemonSets (device plug-ins, exporters) see them on purpose */
            if (!on || !json_object_get(nodes, on) || !grabs(pod) ||
                own_kind(pod, "DaemonSet") || own_kind(pod, "Node"))
                continue;
            if (n++ < 3)
                snprintf(first + strlen(first), sizeof first - strlen(first),
                         "%s%.40s/%.50s", n > 1 ? ", " : "",
                         json_string_value(json_object_get(meta, "namespace")),
                         json_string_value(json_object_get(meta, "name")));
        }
    if (n)
        finding_add(c, FINDING_WARN, "pods on GPU nodes",
                    "%u ask no GPU but may see all of them (%s%s): set "
                    "NVIDIA_VISIBLE_DEVICES=void in their containers",
                    n, first, n > 3 ? " ..." : "");
    else if (json_object_size(nodes))
        finding_add(c, FINDING_OK, "pods on GPU nodes",
                    "none sees GPUs that it did not ask for");
    json_decref(call.reply);
    json_decref(nodes);
}

/* ---- */

void doctor_kube(struct checkup *c)
{
    const struct conf_provider *rc = raycluster_of(c->conf);
    unsigned uses = (c->conf->kube ? USE_PODS : 0u) |
                    (*c->conf->kube_scheduler_config ? USE_DEFAULTS : 0u) |
                    (c->conf->ha ? USE_STATE : 0u) | (rc ? USE_RAYCLUSTER : 0u);
    struct kube_access_opts o = {
        .kubeconfig = *c->kubeconfig ? c->kubeconfig : c->conf->kube_kubeconfig,
        .context = *c->context ? c->context : c->conf->kube_context};
    struct kube_access *a;
    const char *space;
    struct kube *k;
    struct err err;

    if (!uses)
        return;
    if (kube_access_find(&o, &a, &err) != ST_OK) {
        finding_add(c, FINDING_BAD, "API server", "%s", err.text);
        return;
    }
    if (kube_access_is_insecure(a))
        finding_add(c, FINDING_BAD, "API server",
                    "its certificate is not checked "
                    "(insecure-skip-tls-verify, %s): whoever is in between "
                    "reads the token and answers in its place; give the "
                    "kubeconfig certificate-authority",
                    kube_access_source(a));
    k = kube_new(a);
    if (reach(c, k, a)) {
        space = *c->conf->ha_namespace ? c->conf->ha_namespace
                                       : kube_access_namespace(a);
        rights_check(c, k, uses, "", true);
        rights_check(c, k, uses & USE_STATE, space, false);
        if (rc)
            rights_check(c, k, USE_RAYCLUSTER,
                         c->space && *c->space ? c->space
                         : *option_of(rc, "namespace")
                             ? option_of(rc, "namespace")
                             : kube_access_namespace(a),
                         false);
        if (uses & USE_PODS)
            gpu_pods_check(c, k);
    }
    kube_free(k);
    kube_access_free(a);
}
