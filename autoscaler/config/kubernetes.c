/*
 * kubernetes.c - head.kubernetes: whose pending pods are demand.
 *
 * Every key has a default, so {} alone is a whole section; the key with
 * nothing behind it is not given, as everywhere.
 */
#include <stddef.h>
#include <string.h>

#include "extras.h"

enum { MOST_NAMES = 64, LABEL_NAME = 63, LABEL_PREFIX = 253 };

/* A DNS label as Kubernetes names its namespaces, and with points in it its
 * schedulers. */
static bool dns_name(const char *s, const char *more, size_t max)
{
    static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t n = strlen(s);

    if (!n || n > max || !strchr(ends, s[0]) || !strchr(ends, s[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!strchr(ends, s[i]) && !strchr(more, s[i]))
            return false;
    return true;
}

static void names_read(struct reader *r, const struct ynode *v,
                       const char *where, const char *what, const char *more,
                       size_t max, struct names *ret)
{
    struct {
        VEC(const char *) all;
    } out = {{0}};
    struct ynode *const *items = v->items;
    struct ynode *one = (struct ynode *)v;
    uint32_t n = v->n;

    if (v->kind == YNODE_TEXT) {
        items = &one;
        n = 1;
    } else if (v->kind != YNODE_LIST || !n || n > MOST_NAMES) {
        diag_add(r->diag, v,
                 "%s must be a name or a list of 1 to %d of them, got %s",
                 where, MOST_NAMES,
                 v->kind == YNODE_LIST ? n ? "more" : "an empty list"
                                       : ynode_shown(r->arena, v));
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ynode *x = items[i];
        bool twice = false;

        if (x->kind != YNODE_TEXT || !dns_name(x->text, more, max)) {
            diag_add(
                r->diag, x,
                "%s must be %s: up to %zu small letters, digits and \"-\", got "
                "%s",
                where, what, max, ynode_shown(r->arena, x));
            return;
        }
        for (uint32_t k = 0; k < out.all.n && !twice; k++)
            twice = strcmp(out.all.v[k], x->text) == 0;
        if (twice)
            diag_add(r->diag, x, "%s names %s twice", where, x->text);
        else
            VEC_PUSH(r->arena, &out.all, x->text);
    }
    *ret = (struct names){out.all.v, out.all.n};
}

static void namespaces_read(struct reader *r, const struct ynode *v,
                            const char *where, void *target)
{
    struct config *c = target;

    names_read(r, v, where, "a namespace", "-", LABEL_NAME,
               &c->kube_namespaces);
}

static void schedulers_read(struct reader *r, const struct ynode *v,
                            const char *where, void *target)
{
    struct config *c = target;

    names_read(r, v, where, "a pod's schedulerName", "-.", LABEL_PREFIX,
               &c->kube_schedulers);
}

/* A file of the scheduler's settings, or "configmap:namespace/name". */
static void scheduler_read(struct reader *r, const struct ynode *v,
                           const char *where, void *target)
{
    static const char map[] = "configmap:";
    struct config *c = target;
    const char *s = v->kind == YNODE_TEXT ? v->text : "";
    bool of_map = strncmp(s, map, strlen(map)) == 0;
    const char *space = of_map ? s + strlen(map) : s;
    const char *slash = strchr(space, '/');

    if (of_map &&
        (!slash ||
         !dns_name(arena_strndup(r->arena, space, (size_t)(slash - space)), "-",
                   LABEL_NAME) ||
         !dns_name(slash + 1, "-.", LABEL_PREFIX)))
        s = "";
    if (!*s)
        diag_add(r->diag, v,
                 "%s must be the path of the scheduler's settings, or "
                 "configmap:NAMESPACE/NAME, got %s",
                 where, ynode_shown(r->arena, v));
    else if (of_map)
        c->kube_scheduler_config = s;
    else
        c->kube_scheduler_config = path_resolve(r->arena, r->base, s);
}

/* "example.com/agent-not-ready", or what keys begin with and a star. */
struct names startup_list_read(struct reader *r, const struct ynode *v,
                               const char *where)
{
    const struct ynode *one[] = {v};
    const struct ynode *const *items =
        v->kind == YNODE_LIST ? (const struct ynode *const *)v->items : one;
    uint32_t n = v->kind == YNODE_LIST ? v->n : 1;
    const char **names = ARENA_ARRAY(r->arena, const char *, n);

    for (uint32_t i = 0; i < n; i++) {
        const struct ynode *x = items[i];
        size_t k = x->kind == YNODE_TEXT ? strcspn(x->text, "*:= ") : 0;

        if (x->kind != YNODE_TEXT || !*x->text || strlen(x->text) > 316 ||
            (x->text[k] && strcmp(x->text + k, "*") != 0)) {
            diag_add(r->diag, x,
                     "%s must be a taint's key such as "
                     "example.com/agent-not-ready, or what such keys begin "
                     "with and a *, got %s",
                     where, ynode_shown(r->arena, x));
            return (struct names){0};
        }
        names[i] = x->text;
    }
    return (struct names){names, n};
}

static void startup_read(struct reader *r, const struct ynode *v,
                         const char *where, void *target)
{
    struct config *c = target;

    c->kube_startup = startup_list_read(r, v, where);
}

static void label_read(struct reader *r, const struct ynode *v,
                       const char *where, void *target)
{
    struct config *c = target;
    const char *slash = v->kind == YNODE_TEXT ? strchr(v->text, '/') : NULL;
    const char *name = slash ? slash + 1 : v->text;
    const char *prefix = slash ? arena_strndup(r->arena, v->text,
                                               (size_t)(slash - v->text))
                               : "x";
    static const char more[] = "-_.ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (v->kind == YNODE_TEXT && dns_name(name, more, LABEL_NAME) &&
        dns_name(prefix, "-.", LABEL_PREFIX))
        c->kube_label = v->text;
    else
        diag_add(r->diag, v,
                 "%s must be a label's key such as davit.io/machine, got %s",
                 where, ynode_shown(r->arena, v));
}

#define AT(member) .offset = offsetof(struct config, member)

const struct key kubernetes_keys[] = {
    {"kubeconfig", KEY_FILE, AT(kube_kubeconfig),
     .help = "how to reach the API server"},
    {"context", KEY_TEXT, AT(kube_context), .help = "which context of it"},
    {"namespaces", KEY_CUSTOM, .read = namespaces_read,
     .help = "whose pods are demand"},
    {"scheduler_names", KEY_CUSTOM, .read = schedulers_read,
     .help = "pods of these schedulers are demand"},
    {"scheduler_config", KEY_CUSTOM, .read = scheduler_read,
     .help = "the scheduler's own settings: a file, or configmap:SPACE/NAME"},
    {"gpu_join_timeout", KEY_TIME, AT(kube_join_timeout_ms), .min = 1000,
     .max = 86400000,
     .help = "how long a node's GPUs may be missing after it joined"},
    {"drain_timeout", KEY_TIME, AT(kube_drain_timeout_ms), .min = 1000,
     .max = 86400000,
     .help = "a drain that takes longer is given up and the node kept"},
    {"drain_grace", KEY_TIME, AT(kube_drain_grace_ms), .min = 1000,
     .max = 86400000, .help = "grace periods of evicted pods are cut to this"},
    {"drain_local_storage", KEY_BOOL, AT(kube_drain_local),
     .help = "pods with an emptyDir or hostPath may be evicted"},
    {"drain_bare_pods", KEY_BOOL, AT(kube_drain_bare),
     .help = "pods without a controller may be evicted"},
    {"reserve", KEY_BOOL, AT(kube_reserve),
     .help = "take the system's share off types that were not seen yet"},
    {"startup_taints", KEY_CUSTOM, .read = startup_read,
     .help = "taints that nodes carry until all of them is up"},
    {"label", KEY_CUSTOM, .read = label_read,
     .help = "the node's label that holds the machine's id"},
    KEYS_END,
};

void kubernetes_read(struct reader *r, const struct ynode *v, const char *where,
                     void *target)
{
    struct config *c = target;

    grammar_read(r, kubernetes_keys, v, where, c);
    c->kube = v->kind == YNODE_MAP;
}
