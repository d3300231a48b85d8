/*
 * config.c - from a file to a generation of settings; see config.h.
 *
 * The keys at the top tell the dialects apart.  A file that is none of them is
 * read as Davit's own, so that its mistakes are reported in those terms.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/digest.h"
#include "file.h"
#include "override.h"
#include "raw.h"

static const char *folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return "";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

static const char *const default_schedulers[] = {"default-scheduler"};

static void defaults_set(struct config *c)
{
    c->cluster = c->ray_address = c->ray_token_file = "";
    c->api_host = "127.0.0.1";
    c->api_port = 8790;
    c->metrics_host = "";
    c->api_token_file = c->api_tls_cert = c->api_tls_key = "";
    c->api_kube_audience = "davit";
    c->api_kube_namespace = "";
    c->api_kube_cache_ms = 2000;
    c->api_client_crl = "";
    c->api_client_ca = c->api_tokens = c->api_socket = c->api_audit = "";
    c->state = "davit.db";
    c->ha_namespace = c->ha_name = c->ha_identity = "";
    c->ha_lease_ms = 15000;
    c->plugin_dir = "";
    c->head_type = "";
    c->kube_kubeconfig = c->kube_context = "";
    c->kube_schedulers = (struct names){default_schedulers, 1};
    c->kube_label = "davit.io/machine";
    c->kube_scheduler_config = "";
    c->kube_reserve = true;
    c->kube_join_timeout_ms = 10 * 60000;
    c->kube_drain_timeout_ms = 15 * 60000;
    c->limits = snap_limits_default;
    c->start_timeout_ms = 15 * 60000;
    c->think_ms = 500;
}

/* The values of our chart have the whole of a configuration under `config`, and what
 * Helm needs beside it, which its schema judges. */
static void values_take(struct arena *a, struct yaml_docs *docs)
{
    const struct ynode *root = docs->v[0];
    const struct ynode *config = ynode_map(ynode_get(root, "config"));
    struct ynode **v;

    if (!config || ynode_get(root, "cluster") || !ynode_get(root, "image"))
        return;
    v = ARENA_ARRAY(a, struct ynode *, 1);
    v[0] = ARENA_NEW(a, struct ynode);
    *v[0] = *config;
    *docs = (struct yaml_docs){v, 1};
}

static void dialect_read(struct raw *d, const struct yaml_docs *docs)
{
    const struct ynode *root = docs->v[0];
    bool manifest = false;

    for (uint32_t i = 0; i < docs->n; i++)
        manifest = manifest || kuberay_is(docs->v[i]);
    if (manifest) {
        d->c->dialect = DIALECT_RAYCLUSTER;
        kuberay_read(d, docs);
    } else if (ray_is(root)) {
        d->c->dialect = DIALECT_RAY;
        ray_read(d, root);
    } else if (pods_is(root)) {
        d->c->dialect = DIALECT_POD_TYPES;
        pods_read(d, root, NULL, ynode_get(root, "davit"));
    } else {
        davit_read(d, docs);
    }
}

/* What a generation is read from. */
struct origin {
    const char *path, *text;
    size_t n;
    const struct conf_set *sets;
    uint32_t n_sets;
    bool keep; /* what could be read of a file with mistakes */
};

static void generation_read(struct config *c, const struct origin *o,
                            struct diag *diag)
{
    struct arena *a = &c->memory->arena;
    struct raw d = {
        .r = {.arena = a, .diag = diag, .base = folder_of(a, c->path)},
        .c = c,
        .text = o->text,
        .n = o->n,
        .catalogue = "",
    };
    struct yaml_docs docs;

    d.r.ctx = &d;
    if (yaml_read(a, o->text, o->n, diag, &docs) != ST_OK && !docs.n)
        return;
    if (!docs.n) {
        diag_add(diag, NULL,
                 "the file is empty; see docs/config.md for what a "
                 "configuration looks like");
        return;
    }
    values_take(a, &docs);
    if (o->n_sets)
        override_apply(a, &docs, o->sets, o->n_sets, diag);
    dialect_read(&d, &docs);
    raw_finish(&d);
    c->warnings = diag_warnings(diag, &c->n_warnings);
}

static enum status origin_parse(const struct origin *o, struct config **ret,
                                struct buf *errors)
{
    struct shared *memory = shared_new();
    struct config *c = ARENA_NEW(&memory->arena, struct config);
    struct diag diag = {.arena = &memory->arena};

    *ret = NULL;
    c->memory = memory;
    c->path = arena_strdup(&memory->arena, o->path);
    c->digest = DIGEST_SEED;
    for (size_t i = 0; i < o->n; i++)
        c->digest = digest_number(c->digest, (unsigned char)o->text[i]);
    diag.path = c->path;
    defaults_set(c);
    generation_read(c, o, &diag);
    if (diag.mistakes.n) {
        diag_write(&diag, errors);
        if (o->keep)
            *ret = c;
        else
            config_free(c);
        return ST_INVALID;
    }
    *ret = c;
    return ST_OK;
}

enum status config_parse(const char *path, const char *text, size_t n,
                         struct config **ret, struct buf *errors)
{
    return origin_parse(&(struct origin){.path = path, .text = text, .n = n},
                        ret, errors);
}

enum status config_load(const char *path, struct config **ret,
                        struct buf *errors)
{
    return config_load_with(path, NULL, 0, ret, errors);
}

static enum status file_load(struct origin o, struct config **ret,
                             struct buf *errors)
{
    struct err err;
    enum status s;
    char *text;

    *ret = NULL;
    s = file_slurp(o.path, YAML_MAX_TEXT, &text, &o.n, &err);
    if (s != ST_OK) {
        buf_printf(errors, "%s: %s\n", o.path, err.text);
        return s;
    }
    o.text = text;
    s = origin_parse(&o, ret, errors);
    free(text);
    return s;
}

enum status config_load_with(const char *path, const struct conf_set *sets,
                             uint32_t n_sets, struct config **ret,
                             struct buf *errors)
{
    return file_load(
        (struct origin){.path = path, .sets = sets, .n_sets = n_sets}, ret,
        errors);
}

enum status config_judge(const char *path, const char *text, size_t n,
                         struct config **ret, struct buf *errors)
{
    return origin_parse(
        &(struct origin){.path = path, .text = text, .n = n, .keep = true}, ret,
        errors);
}

void config_free(struct config *c)
{
    if (c)
        shared_unref(c->memory);
}
