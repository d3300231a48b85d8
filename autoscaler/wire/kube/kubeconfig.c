/*
 * kubeconfig.c - a kubeconfig file: one context of it.
 *
 * Read with libyaml alone (wire does not see config/), so JSON will do as
 * well.  Where davit cannot do something, such as run an exec plug-in, the error
 * names an alternative.
 */
#include "access.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "../../base/alloc.h"
#include "../../base/exposed.h"

struct file {
    yaml_document_t doc;
    struct kube_access *a;
    const char *path;
    struct err *err;
};

static yaml_node_t *get(struct file *f, yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
         p < map->data.mapping.pairs.top; p++) {
        yaml_node_t *k = yaml_document_get_node(&f->doc, p->key);
        if (k && k->type == YAML_SCALAR_NODE &&
            strcmp((const char *)k->data.scalar.value, key) == 0)
            return yaml_document_get_node(&f->doc, p->value);
    }
    return NULL;
}

/* A text that is not empty, or NULL. */
static const char *text(struct file *f, yaml_node_t *map, const char *key)
{
    yaml_node_t *v = get(f, map, key);

    if (!v || v->type != YAML_SCALAR_NODE || !v->data.scalar.length ||
        strlen((const char *)v->data.scalar.value) != v->data.scalar.length)
        return NULL;
    if (v->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        (strcmp((const char *)v->data.scalar.value, "null") == 0 ||
         strcmp((const char *)v->data.scalar.value, "~") == 0))
        return NULL;
    return arena_strdup(&f->a->arena, (const char *)v->data.scalar.value);
}

static bool is_true(struct file *f, yaml_node_t *map, const char *key)
{
    const char *v = text(f, map, key);

    return v && strcasecmp(v, "true") == 0;
}

/* The mapping `inside` of the item with this name in the list `list`. */
static yaml_node_t *named(struct file *f, const char *list, const char *name,
                          const char *inside)
{
    yaml_node_t *v = get(f, yaml_document_get_root_node(&f->doc), list);

    if (!v || v->type != YAML_SEQUENCE_NODE)
        return NULL;
    for (yaml_node_item_t *i = v->data.sequence.items.start;
         i < v->data.sequence.items.top; i++) {
        yaml_node_t *item = yaml_document_get_node(&f->doc, *i);
        const char *has = text(f, item, "name");
        if (has && strcmp(has, name) == 0) {
            yaml_node_t *m = get(f, item, inside);
            return m ? m : item;
        }
    }
    return NULL;
}

/* A path as the file means it: from its own folder. */
static const char *path_of(struct file *f, const char *v)
{
    const char *slash = strrchr(f->path, '/');

    if (!v || *v == '/' || !slash)
        return v;
    return arena_printf(&f->a->arena, "%.*s%s", (int)(slash - f->path) + 1,
                        f->path, v);
}

/* The base64 at a key, with white space in it, or nothing; false: it is no
 * base64. */
static bool decode(struct file *f, yaml_node_t *map, const char *key,
                   struct http_blob *ret)
{
    const char *v = text(f, map, key);
    struct arena *a = &f->a->arena;
    unsigned char *in, *out;
    int n = 0, got;

    if (!v)
        return true;
    in = arena_alloc(a, strlen(v) + 4);
    out = arena_alloc(a, strlen(v) + 4);
    for (; *v; v++)
        if (!isspace((unsigned char)*v))
            in[n++] = (unsigned char)*v;
    got = EVP_DecodeBlock(out, in, n);
    for (int i = n; got > 0 && i > 0 && i > n - 2 && in[i - 1] == '='; i--)
        got--;
    if (got <= 0) {
        err_set(f->err, ST_INVALID, "%s: %s is not base64", f->path, key);
        return false;
    }
    *ret = (struct http_blob){out, (size_t)got};
    return true;
}

static enum status cluster_read(struct file *f, const char *name)
{
    struct kube_access *a = f->a;
    yaml_node_t *m = named(f, "clusters", name, "cluster");
    size_t n;

    if (!m)
        return err_set(f->err, ST_INVALID, "%s has no cluster \"%s\"", f->path,
                       name);
    a->server = text(f, m, "server");
    if (!a->server || (strncmp(a->server, "https://", 8) != 0 &&
                       strncmp(a->server, "http://", 7) != 0))
        return err_set(f->err, ST_INVALID,
                       "%s: server of cluster \"%s\" must be a URL such as "
                       "https://10.0.0.1:6443, got %s",
                       f->path, name, a->server ? a->server : "nothing");
    for (n = strlen(a->server); n && a->server[n - 1] == '/'; n--)
        ;
    a->server = arena_strndup(&a->arena, a->server, n);
    a->ca_file = path_of(f, text(f, m, "certificate-authority"));
    if (!decode(f, m, "certificate-authority-data", &a->tls.ca))
        return ST_INVALID;
    a->tls.insecure = is_true(f, m, "insecure-skip-tls-verify");
    a->tls.server_name = text(f, m, "tls-server-name");
    a->proxy = text(f, m, "proxy-url");
    return ST_OK;
}

static enum status user_read(struct file *f, const char *name)
{
    struct kube_access *a = f->a;
    yaml_node_t *m = named(f, "users", name, "user"), *exec, *old;
    const char *token;

    if (!m)
        return err_set(f->err, ST_INVALID, "%s has no user \"%s\"", f->path,
                       name);
    exec = get(f, m, "exec");
    old = get(f, m, "auth-provider");
    a->cert_file = path_of(f, text(f, m, "client-certificate"));
    a->key_file = path_of(f, text(f, m, "client-key"));
    if (!decode(f, m, "client-certificate-data", &a->tls.cert) ||
        !decode(f, m, "client-key-data", &a->tls.key))
        return ST_INVALID;
    a->token_file = path_of(f, text(f, m, "tokenFile"));
    token = text(f, m, "token");
    exposed_look(f->path, "the kubeconfig",
                 a->tls.key.n || (token && !a->token_file));
    if (a->key_file)
        exposed_look(a->key_file, "the client's key", true);
    if (a->token_file) {
        exposed_look(a->token_file, "the token", true);
        if (!kube_token_read(a, f->err))
            return err_prefix(f->err, "%s", f->path);
        return ST_OK;
    }
    if (token && strpbrk(token, " \r\n\t"))
        return err_set(f->err, ST_INVALID,
                       "%s: the token of user \"%s\" has a space or a line "
                       "break in it",
                       f->path, name);
    if (token)
        a->token = mem_strdup(token);
    if (a->token || a->cert_file || a->tls.cert.n)
        return ST_OK;
    if (exec || old) {
        const char *command = text(f, exec ? exec : old,
                                   exec ? "command" : "name");
        return err_set(f->err, ST_INVALID,
                       "%s: user \"%s\" gets its token from the %s %s, which "
                       "davit does not run; give it a service account: run "
                       "davit in the cluster, or write \"kubectl create token "
                       "davit\" into a file and name that as tokenFile",
                       f->path, name, exec ? "exec plug-in" : "auth-provider",
                       command ? command : "(unnamed)");
    }
    if (get(f, m, "username"))
        return err_set(f->err, ST_INVALID,
                       "%s: user \"%s\" has a password, which no API server "
                       "since 1.19 takes; use a token or a client certificate",
                       f->path, name);
    return ST_OK; /* anonymous, or a proxy that knows us */
}

static enum status context_read(struct file *f, const char *context)
{
    yaml_node_t *root = yaml_document_get_root_node(&f->doc), *m;
    const char *cluster, *user, *space;
    bool given = context;
    enum status s;

    if (!root || root->type != YAML_MAPPING_NODE)
        return err_set(f->err, ST_INVALID,
                       "%s is no kubeconfig: it must be a mapping with "
                       "clusters, users and contexts",
                       f->path);
    if (!context)
        context = text(f, root, "current-context");
    if (!context)
        return err_set(f->err, ST_INVALID,
                       "%s has no current-context: name one with context",
                       f->path);
    m = named(f, "contexts", context, "context");
    if (!m)
        return err_set(f->err, ST_INVALID, "%s has no context \"%s\"%s",
                       f->path, context, given ? "" : " (its current-context)");
    cluster = text(f, m, "cluster");
    user = text(f, m, "user");
    space = text(f, m, "namespace");
    if (!cluster)
        return err_set(f->err, ST_INVALID,
                       "%s: context \"%s\" names no cluster", f->path, context);
    if (space)
        f->a->space = space;
    f->a->source = arena_printf(&f->a->arena, "context %s of %s", context,
                                f->path);
    s = cluster_read(f, cluster);
    return s == ST_OK && user ? user_read(f, user) : s;
}

enum status kube_config_read(struct kube_access *a, const char *path,
                             const char *context, struct err *err)
{
    struct file f = {.a = a, .path = arena_strdup(&a->arena, path), .err = err};
    yaml_parser_t parser;
    enum status s;
    size_t n = 0;
    char *bytes = kube_slurp(&a->arena, path, &n, err);

    if (!bytes)
        return ST_INVALID;
    if (!yaml_parser_initialize(&parser))
        mem_out();
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n);
    if (!yaml_parser_load(&parser, &f.doc)) {
        s = err_set(err, ST_INVALID, "%s:%zu:%zu: %s", path,
                    parser.problem_mark.line + 1,
                    parser.problem_mark.column + 1,
                    parser.problem ? parser.problem : "not YAML");
    } else {
        s = context_read(&f, context);
        yaml_document_delete(&f.doc);
    }
    yaml_parser_delete(&parser);
    return s;
}
