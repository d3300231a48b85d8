/*
 * affinity_read.c - a pod's conditions on other pods: anti-affinity, affinity,
 * spread, host ports.  See inside.h.
 *
 * Required ones only; preferences are left to the scheduler.
 */
#include "affinity.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#define HOST "kubernetes.io/hostname"

struct affinity_vec {
    VEC(struct affinity) all;
};

/* A labelSelector; matchLabelKeys add the pod's own values. */
static bool selector_read(struct pod_shape *s, const json_t *term,
                          const json_t *labels, struct reqs *ret)
{
    const json_t *sel = json_object_get(term, "labelSelector");
    const json_t *keys = json_object_get(term, "matchLabelKeys");
    struct req_vec v = {{0}};

    if (!pods_pairs(json_object_get(sel, "matchLabels"), &s->arena, &v) ||
        !pods_expressions(json_object_get(sel, "matchExpressions"), &s->arena,
                          &v) ||
        json_array_size(keys) > PODS_MAX_LIST)
        return false;
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const char *value =
            key ? json_string_value(json_object_get(labels, key)) : NULL;
        const char **one;
        if (!value || strlen(value) > PODS_MAX_TEXT)
            continue; /* a key it does not have is passed over */
        one = ARENA_NEW(&s->arena, const char *);
        *one = pods_clean(&s->arena, value);
        VEC_PUSH(&s->arena, &v.all,
                 ((struct req){pods_clean(&s->arena, key), REQ_IN, {one, 1}}));
    }
    *ret = (struct reqs){v.all.v, v.all.n};
    /* no selector at all means nobody, an empty one everybody */
    return json_is_object(sel);
}

static void spaces_read(struct pod_shape *s, const json_t *term,
                        struct affinity *x)
{
    const json_t *list = json_object_get(term, "namespaces");
    const json_t *sel = json_object_get(term, "namespaceSelector");
    size_t n = json_array_size(list);
    const char **v = ARENA_ARRAY(&s->arena, const char *,
                                 n < PODS_MAX_LIST ? n : PODS_MAX_LIST);
    struct req_vec reqs = {{0}};

    x->by_space = json_is_object(sel) &&
                  pods_pairs(json_object_get(sel, "matchLabels"), &s->arena,
                             &reqs) &&
                  pods_expressions(json_object_get(sel, "matchExpressions"),
                                   &s->arena, &reqs);
    x->space_reqs = (struct reqs){reqs.all.v, reqs.all.n};
    for (size_t i = 0; i < n && i < PODS_MAX_LIST; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name)
            v[x->spaces.n++] = pods_clean(&s->arena, name);
    }
    x->spaces.v = v;
}

/* "davit.io/apart-host-1f2e3d4c5b6a7988": stable, and shown in `why`.  Two that
 * share a name would be one condition, so nobody may be able to make such. */
static void name_it(struct pod_shape *s, struct affinity *x, const char *text,
                    const char *space)
{
    static const char *const kinds[] = {"apart", "together", "spread", "port"};
    const char *slash = strrchr(x->key, '/');
    const char *all = arena_printf(&s->arena, "%d %s %s", (int)x->kind, space,
                                   text);
    unsigned char d[SHA256_DIGEST_LENGTH];

    SHA256((const unsigned char *)all, strlen(all), d);
    x->name = arena_printf(&s->arena,
                           "davit.io/%s-%s-%02x%02x%02x%02x%02x%02x%02x%02x",
                           kinds[x->kind],
                           strcmp(x->key, HOST) == 0 ? "host"
                           : slash                   ? slash + 1
                                                     : x->key,
                           d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
}

static void term_read(struct pod_shape *s, const json_t *metadata,
                      const json_t *term, enum affinity_kind kind,
                      struct affinity_vec *to)
{
    const json_t *labels = json_object_get(metadata, "labels");
    const char *space = pods_text(metadata, "namespace", NULL);
    const char *key = pods_text(term, "topologyKey", NULL);
    struct affinity x = {.kind = kind, .skew = 1};
    char *text;

    x.key = pods_clean(&s->arena, pods_key_now(key));
    if (!*key)
        return;
    if (!selector_read(s, term, labels, &x.reqs)) {
        if (json_is_object(json_object_get(term, "labelSelector")))
            pods_refuse(s, "BadSelector",
                        "the selector of its pod affinity makes no sense");
        return;
    }
    if (kind == AFFINITY_SPREAD) {
        json_int_t skew = json_integer_value(json_object_get(term, "maxSkew"));
        json_int_t least = json_integer_value(
            json_object_get(term, "minDomains"));
        x.skew = skew > 0 && skew < 100000 ? (uint32_t)skew : 1;
        x.domains = least > 0 && least < 100000 ? (uint32_t)least : 0;
        x.any_labels = strcmp(pods_text(term, "nodeAffinityPolicy", NULL),
                              "Ignore") == 0;
        x.heeds_taints = strcmp(pods_text(term, "nodeTaintsPolicy", NULL),
                                "Honor") == 0;
    } else {
        spaces_read(s, term, &x);
    }
    text = json_dumps(term, JSON_COMPACT | JSON_SORT_KEYS);
    name_it(s, &x, text ? text : "", space);
    free(text);
    VEC_PUSH(&s->arena, &to->all, x);
}

/* Two pods conflict when port and protocol are the same and the addresses are
 * too, or one of them is none: who has an address takes a little of the port and
 * all of it at that address. */
static void port_add(struct pod_shape *s, const json_t *p, json_int_t port,
                     struct affinity_vec *to)
{
    const char *protocol = pods_text(p, "protocol", NULL);
    const char *ip = pods_text(p, "hostIP", NULL);
    struct affinity x = {.kind = AFFINITY_PORT, .key = HOST, .self = true};
    const char *name;

    name = arena_printf(&s->arena, "%d/%s", (int)port,
                        strcmp(protocol, "UDP") == 0    ? "UDP"
                        : strcmp(protocol, "SCTP") == 0 ? "SCTP"
                                                        : "TCP");
    if (*ip && strcmp(ip, "0.0.0.0") != 0) {
        x.name = arena_printf(&s->arena, "host port %.45s:%s",
                              pods_clean(&s->arena, ip), name);
        VEC_PUSH(&s->arena, &to->all, x);
        x.self = false;
    }
    x.name = arena_printf(&s->arena, "host port %s", name);
    VEC_PUSH(&s->arena, &to->all, x);
}

static void container_ports(struct pod_shape *s, const json_t *ports,
                            bool of_host, struct affinity_vec *to)
{
    for (size_t k = 0; k < json_array_size(ports) && k < PODS_MAX_LIST; k++) {
        const json_t *p = json_array_get(ports, k);
        json_int_t port = json_integer_value(json_object_get(p, "hostPort"));

        if (!port && of_host)
            port = json_integer_value(json_object_get(p, "containerPort"));
        if (port > 0 && port <= 65535)
            port_add(s, p, port, to);
    }
}

/* Of containers and sidecars; an init container that ends has its port to
 * itself. */
static void ports_read(struct pod_shape *s, const json_t *spec,
                       struct affinity_vec *to)
{
    static const char *const lists[] = {"containers", "initContainers"};
    bool of_host = json_is_true(json_object_get(spec, "hostNetwork"));

    for (int l = 0; l < 2; l++) {
        const json_t *list = json_object_get(spec, lists[l]);

        for (size_t i = 0; i < json_array_size(list) && i < PODS_MAX_LIST;
             i++) {
            const json_t *c = json_array_get(list, i);

            if (l == 0 ||
                strcmp(pods_text(c, "restartPolicy", NULL), "Always") == 0)
                container_ports(s, json_object_get(c, "ports"), of_host, to);
        }
    }
}

void pods_affinities_read(const json_t *metadata, const json_t *spec,
                          struct pod_shape *s)
{
    static const char required[] =
        "requiredDuringSchedulingIgnoredDuringExecution";
    const json_t *affinity = json_object_get(spec, "affinity");
    const json_t *anti = pods_at(affinity, "podAntiAffinity", required, NULL);
    const json_t *with = pods_at(affinity, "podAffinity", required, NULL);
    const json_t *spread = json_object_get(spec, "topologySpreadConstraints");
    struct affinity_vec v = {{0}};

    if (json_array_size(anti) + json_array_size(with) +
            json_array_size(spread) >
        64) {
        pods_refuse(s, "TooLarge",
                    "it has more than 64 conditions on other pods");
        return;
    }
    for (size_t i = 0; i < json_array_size(anti); i++)
        term_read(s, metadata, json_array_get(anti, i), AFFINITY_ANTI, &v);
    for (size_t i = 0; i < json_array_size(with); i++)
        term_read(s, metadata, json_array_get(with, i), AFFINITY_BESIDE, &v);
    for (size_t i = 0; i < json_array_size(spread); i++) {
        const json_t *t = json_array_get(spread, i);
        if (strcmp(pods_text(t, "whenUnsatisfiable", NULL), "ScheduleAnyway") !=
            0)
            term_read(s, metadata, t, AFFINITY_SPREAD, &v);
    }
    ports_read(s, spec, &v);
    s->affinities = v.all.v;
    s->n_affinities = v.all.n;
}

void pods_affinities_default(const json_t *metadata,
                             const struct profile *profile, struct pod_shape *s)
{
    struct affinity_vec v = {{0}};
    struct buf self;

    for (uint32_t i = 0; i < s->n_affinities; i++)
        VEC_PUSH(&s->arena, &v.all, s->affinities[i]);
    s->n_given = s->n_affinities;
    s->n_defaults = profile->n_spreads;
    s->space = pods_clean(&s->arena, pods_text(metadata, "namespace", NULL));
    s->owner = pods_owner(&s->arena, metadata);
    s->labels = pods_pairs_copy(&s->arena, json_object_get(metadata, "labels"));
    buf_init(&self, PODS_SELF_MAX);
    pods_shape_key_self(&self, metadata);
    for (uint32_t i = 0; i < profile->n_spreads; i++) {
        const struct spread_default *d = &profile->spreads[i];
        struct affinity x = {.kind = AFFINITY_SPREAD, .skew = d->skew};

        x.key = arena_strdup(&s->arena, pods_key_now(d->key));
        name_it(s, &x,
                arena_printf(&s->arena, "default %u %u %s %s", i, d->skew,
                             s->owner, self.n ? self.s : ""),
                s->space);
        VEC_PUSH(&s->arena, &v.all, x);
    }
    buf_done(&self);
    s->affinities = v.all.v;
}
