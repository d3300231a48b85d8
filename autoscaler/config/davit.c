/*
 * davit.c - Davit's own dialect, as tables; see grammar.h and docs/config.md.
 *
 * A file of another dialect may hold the same keys, but for cluster and
 * node_types, in a block named davit: what its own language has no key for.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/suggest.h"
#include "davit_keys.h"
#include "extras.h"

/* The records of machines have room for so much (struct machine). */
enum { LONGEST_PROVIDER = 31 };

/* ---- addresses ---- */

/* "host:port", "[::1]:port".  False when it is not; host without brackets. */
static bool address_parse(struct arena *a, const char *text, uint32_t lowest,
                          const char **ret_host, uint32_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    unsigned long port;

    if (!n || !colon[1] || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return false;
    port = strtoul(colon + 1, NULL, 10);
    if (port > 65535 || port < lowest)
        return false;
    if (*text == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
        if (!n || strspn(text, "0123456789abcdefABCDEF:.%") < n)
            return false;
    } else if (memchr(text, ':', n) || n > 253 || strcspn(text, " /[]@") < n) {
        return false;
    }
    *ret_host = arena_strndup(a, text, n);
    *ret_port = (uint32_t)port;
    return true;
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcasecmp(host, "localhost") == 0;
}

static void listen_read(struct reader *r, const struct ynode *v,
                        const char *where, void *target)
{
    struct config *c = target;

    if (v->kind == YNODE_TEXT && strcmp(v->text, "off") == 0)
        c->api_host = "";
    else if (v->kind != YNODE_TEXT ||
             !address_parse(r->arena, v->text, 0, &c->api_host, &c->api_port))
        diag_add(r->diag, v,
                 "%s must be host:port such as 127.0.0.1:8790, [::1]:8790 or "
                 "0.0.0.0:8790 (port 0: any free one), or off, got %s",
                 where, ynode_shown(r->arena, v));
}

static void hosts_read(struct reader *r, const struct ynode *v,
                       const char *where, void *target)
{
    struct config *c = target;

    c->api_hosts = grammar_names(r, v, where);
}

static void metrics_read(struct reader *r, const struct ynode *v,
                         const char *where, void *target)
{
    struct config *c = target;

    if (v->kind != YNODE_TEXT ||
        !address_parse(r->arena, v->text, 0, &c->metrics_host,
                       &c->metrics_port))
        diag_add(r->diag, v,
                 "%s must be host:port such as 0.0.0.0:44217, got %s", where,
                 ynode_shown(r->arena, v));
}

static void ray_address_read(struct reader *r, const struct ynode *v,
                             const char *where, void *target)
{
    struct config *c = target;
    const char *host;
    uint32_t port;

    if (v->kind == YNODE_TEXT &&
        address_parse(r->arena, v->text, 1, &host, &port))
        c->ray_address = v->text;
    else
        diag_add(
            r->diag, v,
            "%s must be the head's host:port such as 127.0.0.1:6379 (the "
            "address of ray start --head, without ray:// or http://), got %s",
            where, ynode_shown(r->arena, v));
}

static void catalogue_key_read(struct reader *r, const struct ynode *v,
                               const char *where, void *target)
{
    struct raw *d = r->ctx;

    (void)target;
    if (v->kind != YNODE_TEXT || !*v->text) {
        diag_add(r->diag, v, "%s must be a path, got %s", where,
                 ynode_shown(r->arena, v));
        return;
    }
    d->catalogue = path_resolve(r->arena, r->base, v->text);
    d->catalogue_at = v;
}

/* ---- providers ---- */

/* Another plug-in's name stays one: two providers may be of one kind. */
static bool plugin_is_path(const char *text)
{
    size_t len = strlen(text);

    return strchr(text, '/') || (len > 3 && strcmp(text + len - 3, ".so") == 0);
}

static void provider_read(struct reader *r, const struct ynode *key,
                          const struct ynode *v)
{
    struct raw *d = r->ctx;
    const char *where = grammar_where(r, "providers", key->text);
    const struct ynode *plugin = ynode_get(v, "plugin");
    struct conf_provider p = {.name = key->text,
                              .plugin = "",
                              .line = key->line,
                              .column = key->column};

    if (!grammar_name(r, key, "a name under providers", LONGEST_PROVIDER))
        return;
    if (plugin && plugin->kind == YNODE_TEXT)
        p.plugin = plugin_is_path(plugin->text)
                       ? path_resolve(r->arena, r->base, plugin->text)
                       : arena_strdup(r->arena, plugin->text);
    else if (plugin && plugin->kind != YNODE_NULL)
        diag_add(
            r->diag, plugin,
            "%s.plugin must be a plug-in's name or the path of a .so, got %s",
            where, ynode_shown(r->arena, plugin));
    p.options = grammar_flatten(r, v, where, "plugin", &p.n_options);
    VEC_PUSH(r->arena, &d->providers, p);
}

static void providers_read(struct reader *r, const struct ynode *v,
                           const char *where, void *target)
{
    (void)target;
    if (v->kind != YNODE_MAP) {
        diag_add(
            r->diag, v,
            "%s must be a mapping of provider names such as {gke: {project: "
            "p}}, got %s",
            where, ynode_shown(r->arena, v));
        return;
    }
    for (uint32_t i = 0; i < v->n; i++)
        provider_read(r, v->pairs[i].key, v->pairs[i].value);
}

/* ---- the file ---- */

#define AT(member) .offset = offsetof(struct config, member)

static const struct key ray_keys[] = {
    {"address", KEY_CUSTOM, .read = ray_address_read,
     .help = "host:port of the Ray head"},
    {"token_file", KEY_FILE, AT(ray_token_file),
     .help = "file with the head's token"},
    KEYS_END,
};

static const struct key head_keys[] = {
    {"ray", KEY_KEYS, .keys = ray_keys,
     .help = "a Ray head whose demand is served"},
    {"kubernetes", KEY_CUSTOM, .read = kubernetes_read,
     .help = "a Kubernetes API server whose pending pods are served"},
    KEYS_END,
};

static const struct key tls_keys[] = {
    {"cert", KEY_FILE, AT(api_tls_cert), .help = "certificate chain, PEM"},
    {"key", KEY_FILE, AT(api_tls_key), .help = "private key, PEM"},
    {"client_ca", KEY_FILE, AT(api_client_ca),
     .help = "authority of clients' certificates, PEM"},
    {"client_crl", KEY_FILE, AT(api_client_crl),
     .help = "its list of certificates that were taken back, PEM"},
    KEYS_END,
};

static const struct key api_kube_keys[] = {
    {"audience", KEY_TEXT, AT(api_kube_audience),
     .help = "whom a token must be for"},
    {"namespace", KEY_TEXT, AT(api_kube_namespace),
     .help = "where the Roles are that say who may what"},
    {"cache", KEY_TIME, AT(api_kube_cache_ms), .min = 1000, .max = 300000,
     .help = "for so long an answer is good"},
    KEYS_END,
};

/* One word, so that nobody comes to it by accident. */
static void anonymous_read(struct reader *r, const struct ynode *v,
                           const char *where, void *target)
{
    struct config *c = target;

    c->api_anonymous = v->kind == YNODE_TEXT && strcmp(v->text, "admin") == 0;
    if (!c->api_anonymous &&
        !(v->kind == YNODE_TEXT && strcmp(v->text, "none") == 0))
        diag_add(r->diag, v,
                 "%s must be admin (whoever reaches a loopback address may do "
                 "everything) or none, got %s",
                 where, ynode_shown(r->arena, v));
}

static const struct key api_keys[] = {
    {"listen", KEY_CUSTOM, .read = listen_read,
     .help = "host:port of the REST API, or off: api.socket only"},
    {"metrics", KEY_CUSTOM, .read = metrics_read,
     .help = "host:port for /metrics alone, without a token"},
    {"hosts", KEY_CUSTOM, .read = hosts_read,
     .help = "further names of this machine that a browser may use"},
    {"anonymous", KEY_CUSTOM, .read = anonymous_read,
     .help = "admin: who reaches a loopback address may do everything"},
    {"token_file", KEY_FILE, AT(api_token_file),
     .help = "file with the token callers must show"},
    {"tokens", KEY_FILE, AT(api_tokens),
     .help = "file or folder with who may call, and what they may do"},
    {"kubernetes", KEY_KEYS, .keys = api_kube_keys,
     .help = "the API server knows the callers and what they may do"},
    {"socket", KEY_FILE, AT(api_socket), .help = "Unix socket to listen at"},
    {"audit", KEY_FILE, AT(api_audit),
     .help = "file of changes and their callers"},
    {"tls", KEY_KEYS, .keys = tls_keys, .help = "serve HTTPS"},
    KEYS_END,
};

static const struct key limits_keys[] = {
    {"max_nodes", KEY_COUNT, AT(limits.max_nodes), .max = 1000000,
     .word = "unlimited", .help = "machines at most, without the head"},
    {"idle_timeout", KEY_TIME, AT(limits.idle_timeout_ms),
     .max = INT64_C(30) * 86400000, .word = "never", .word_value = -1,
     .help = "idle time before a machine is ended"},
    {"max_cost_per_hour", KEY_MONEY, AT(limits.max_cost_micros_hour),
     .max = 10000000, .word = "none",
     .help = "dollars an hour for all machines together"},
    {"max_launching", KEY_COUNT, AT(limits.max_launching), .min = 1,
     .max = 1000000, .word = "unlimited",
     .help = "machines on their way at once"},
    {"max_ends", KEY_COUNT, AT(max_ends), .max = 1000000, .word = "unlimited",
     .help = "machines ended in ten minutes without anybody's consent; 0: a "
             "tenth of them"},
    {"upscaling_speed", KEY_FACTOR, AT(limits.upscaling_speed), .max = 100000,
     .help = "new machines at once, as a multiple of those there; 0: no limit"},
    {"upscaling", KEY_CUSTOM, .read = upscaling_read,
     .help = "the same by KubeRay's names"},
    {"spare", KEY_CUSTOM, .read = spare_read,
     .help = "head-room that is kept free"},
    {"end_order", KEY_CUSTOM, .read = end_order_read,
     .help = "which machines go first"},
    {"consolidate", KEY_CUSTOM, .read = consolidate_read,
     .help = "end machines whose work fits cheaper elsewhere"},
    {"idle_timeouts", KEY_CUSTOM, .read = idle_timeouts_read,
     .help = "idle timeouts by label"},
    {"start_timeout", KEY_TIME, AT(start_timeout_ms), .min = 1000,
     .max = 86400000,
     .help = "a start without visible progress for so long has failed"},
    {"end_unjoined", KEY_BOOL, AT(end_unjoined),
     .help = "end machines that Davit did not launch and that never join"},
    {"think", KEY_TIME, AT(think_ms), .max = 60000,
     .help = "how long a launch may wait for a better plan"},
    {"end_outdated", KEY_BOOL, AT(limits.end_outdated),
     .help = "end machines whose node type was removed or changed"},
    {"conserve_accelerators", KEY_BOOL, AT(limits.conserve),
     .help = "never buy an accelerator for work without one"},
    {"policy", KEY_POLICY, AT(limits.policy),
     .help = "how a node type is chosen"},
    KEYS_END,
};

static const struct key state_key = {.type = KEY_PATH};

/* A file's path, but for the one word. */
static void state_read(struct reader *r, const struct ynode *v,
                       const char *where, void *target)
{
    static const char *const words[] = {"kubernetes"};
    struct config *c = target;

    c->ha = v->kind == YNODE_TEXT && strcmp(v->text, words[0]) == 0;
    if (c->ha)
        c->state = v->text;
    else if (v->kind == YNODE_TEXT && !v->quoted &&
             suggest_within(v->text, words, 1, 2))
        diag_add(r->diag, v,
                 "%s must be a path, or kubernetes, got %s; did you mean "
                 "\"kubernetes\"? A file of that name is written ./%s",
                 where, ynode_shown(r->arena, v), v->text);
    else
        grammar_value(r, &state_key, v, where, &c->state);
}

static const struct key ha_keys[] = {
    {"namespace", KEY_TEXT, AT(ha_namespace),
     .help = "where the Lease and the ConfigMaps are"},
    {"name", KEY_TEXT, AT(ha_name), .help = "how they are called"},
    {"identity", KEY_TEXT, AT(ha_identity),
     .help = "how this daemon is called in the Lease"},
    {"lease", KEY_TIME, AT(ha_lease_ms), .min = 1000, .max = 600000,
     .help = "a leader not heard of for so long is replaced"},
    KEYS_END,
};

#define SHARED_KEYS \
    {"cluster", KEY_NAME, AT(cluster), \
     .help = "by this name machines are known as ours"}, \
        {"head", KEY_KEYS, .keys = head_keys, \
         .help = "where demand comes from, beside the REST API"}, \
        {"api", KEY_KEYS, .keys = api_keys, .help = "the REST API"}, \
        {"state", KEY_CUSTOM, .read = state_read, \
         .help = "the journal: a file, or \"kubernetes\""}, \
        {"ha", KEY_KEYS, .keys = ha_keys, \
         .help = "one leader among several, with state: kubernetes"}, \
        {"catalogue", KEY_CUSTOM, .read = catalogue_key_read, \
         .help = "a file of further machine types"}, \
        {"plugin_dir", KEY_FILE, AT(plugin_dir), \
         .help = "where plug-ins are looked for first"}, \
        {"limits", KEY_KEYS, .keys = limits_keys, \
         .help = "bounds of the whole"}, \
        {"providers", KEY_CUSTOM, .read = providers_read, \
         .help = "clouds, each with the options of its plug-in"}, \
    { \
        "queues", KEY_CUSTOM, \
            .read = queues_key_read, \
            .help = "sets of node types with quotas, for some of the demand" \
    }

static const struct key root_keys[] = {
    SHARED_KEYS,
    {"node_types", KEY_CUSTOM, .read = davit_types_read,
     .help = "what can be launched"},
    KEYS_END,
};

static const struct key block_keys[] = {SHARED_KEYS, KEYS_END};

static void api_check(struct raw *d, const struct ynode *api, const char *where)
{
    struct config *c = d->c;
    const struct ynode *tls = ynode_get(api, "tls");
    const struct ynode *kube = ynode_get(api, "kubernetes");
    const struct ynode *listen = ynode_get(api, "listen");
    bool cert = *c->api_tls_cert, key = *c->api_tls_key;

    c->api_kube = kube && kube->kind == YNODE_MAP;
    if (tls && tls->kind == YNODE_MAP && cert != key)
        diag_add(d->r.diag, tls,
                 "%s.tls needs both cert and key; %s is missing", where,
                 cert ? "key" : "cert");
    if (listen && !*c->api_host && !*c->api_socket)
        diag_add(d->r.diag, listen,
                 "%s.listen: off leaves no way in: set %s.socket", where,
                 where);
    if (listen && *c->api_host && !is_loopback(c->api_host) &&
        !*c->api_token_file && !*c->api_tokens && !c->api_kube && !cert)
        diag_add(
            d->r.diag, listen,
            "%s.listen: %s can be reached from other machines: it needs "
            "%s.tokens, token_file or %s.tls; without them only 127.0.0.1, [::1] and "
            "localhost are allowed",
            where, ynode_shown(d->r.arena, listen), where, where);
}

static void upscaling_check(struct raw *d, const struct ynode *limits,
                            const char *where)
{
    const struct ynode *mode = ynode_get(limits, "upscaling");

    if (mode && ynode_get(limits, "upscaling_speed"))
        diag_add(d->r.diag, mode,
                 "%s: give upscaling or upscaling_speed, not both", where);
}

/* What two keys of the block say together. */
static void block_check(struct raw *d, const struct ynode *block,
                        const char *where)
{
    const struct ynode *limits = ynode_get(block, "limits");
    const struct ynode *ha = ynode_get(block, "ha");

    api_check(d, ynode_get(block, "api"), grammar_where(&d->r, where, "api"));
    upscaling_check(d, limits, grammar_where(&d->r, where, "limits"));
    d->limits_at = ynode_map(limits);
    d->ha_at = ynode_map(ha);
}

void davit_read(struct raw *d, const struct yaml_docs *docs)
{
    const struct ynode *root = docs->v[0];

    grammar_read(&d->r, root_keys, root, "", d->c);
    if (docs->n > 1)
        diag_add(d->r.diag, docs->v[1],
                 "a second document: a configuration is one document, keep one "
                 "\"---\"");
    if (root->kind != YNODE_MAP)
        return;
    if (!ynode_get(root, "cluster") ||
        ynode_get(root, "cluster")->kind == YNODE_NULL)
        diag_add(
            d->r.diag, root,
            "cluster is missing: the name by which machines in the cloud are "
            "known as ours, such as \"cluster: resnet\"");
    if (!ynode_get(root, "node_types") ||
        ynode_get(root, "node_types")->kind == YNODE_NULL)
        diag_add(d->r.diag, root,
                 "node_types is missing: what can be launched, such as "
                 "\"node_types: {t4: {machine: n1-standard-8+t4, max: 2}}\"");
    block_check(d, root, "");
}

void davit_block_read(struct raw *d, const struct ynode *block)
{
    grammar_read(&d->r, block_keys, block, "davit", d->c);
    block_check(d, block, "davit");
}

/* ---- for the check that docs/config.md names every key ---- */

static void keys_walk(const struct key *keys, const char *where,
                      void (*each)(void *arg, const char *where,
                                   const struct key *k),
                      void *arg)
{
    for (const struct key *k = keys; k->name; k++) {
        each(arg, where, k);
        if (k->type == KEY_KEYS)
            keys_walk(k->keys, k->name, each, arg);
    }
}

void davit_keys_walk(void (*each)(void *arg, const char *where,
                                  const struct key *k),
                     void *arg)
{
    keys_walk(root_keys, "", each, arg);
    keys_walk(type_keys, "node_types.NAME", each, arg);
    keys_walk(reserved_keys, "node_types.NAME.reserved", each, arg);
    keys_walk(queue_keys, "queues.NAME", each, arg);
    keys_walk(kubernetes_keys, "kubernetes", each, arg);
    keys_walk(consolidate_keys, "consolidate", each, arg);
    keys_walk(idle_keys, "idle_timeouts[]", each, arg);
}
