/*
 * ray_launch.c - see ray_launch.h.
 *
 * What is the same on all clouds: node_config: and the script become options of
 * a type.  What each cloud fills in by itself is in ray/.
 */
#include "ray_launch.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ray/clouds.h"
#include "ray/mounts.h"
#include "ray/script.h"

#define LONGEST_SCRIPT 65536

static const struct ray_cloud *const clouds[] = {&ray_aws, &ray_gcp,
                                                 &ray_azure};

/* NULL: nothing of the file's is launched by it. */
static const struct ray_cloud *cloud_of(const struct conf_provider *p)
{
    for (size_t i = 0; p && i < sizeof clouds / sizeof *clouds; i++)
        if (strcmp(*p->plugin ? p->plugin : p->name, clouds[i]->provider) == 0)
            return clouds[i];
    return NULL;
}

static const struct conf_provider *provider_of(const struct raw *d,
                                               const char *name)
{
    for (uint32_t i = 0; i < d->providers.n; i++)
        if (strcmp(d->providers.v[i].name, name) == 0)
            return &d->providers.v[i];
    return NULL;
}

/* ---- a node type */

void ray_option_set(const struct ray_reading *r, struct raw_type *t,
                    const char *key, const char *value)
{
    struct conf_pair *v = ARENA_ARRAY(r->d->r.arena, struct conf_pair,
                                      t->n_options + 1);

    for (uint32_t i = 0; i < t->n_options; i++)
        v[i] = t->options[i];
    t->options = v;
    for (uint32_t i = 0; i < t->n_options; i++)
        if (strcmp(v[i].key, key) == 0) {
            v[i].value = value;
            return;
        }
    v[t->n_options++] = (struct conf_pair){key, value, r->at->line,
                                           r->at->column};
}

static struct ray_reading reading(struct raw *d, const char *provider,
                                  const struct ynode *root,
                                  const struct ynode *type)
{
    const struct ynode *node = ynode_get(type, "node_config");

    return (struct ray_reading){d,    provider_of(d, provider), root, type,
                                node, node ? node : type};
}

bool ray_launch_can(struct raw *d, const struct ynode *root,
                    const struct ynode *type, const char *provider)
{
    struct ray_reading r = reading(d, provider, root, type);
    const struct ray_cloud *cloud = cloud_of(r.provider);

    return !cloud || cloud->can(&r);
}

/* The type's script, with the files where user data can hold them. */
static void script_make(struct raw *d, const struct ray_reading *r,
                        const struct ray_cloud *cloud, const char *where,
                        struct buf *b)
{
    static const struct ray_mounts none = {.archive = ""};
    struct ray_mounts m;

    ray_mounts_read(d, r->root, &m);
    ray_script(b, r->root, r->type, &m);
    if (!*m.archive || (!b->full && b->n <= cloud->script_max))
        return;
    diag_warn(d->r.diag, m.at,
              "%s: file_mounts and cluster_synced_files are not copied: %zu "
              "bytes of files are %zu in the start script, and of all that is "
              "run %zu are user data's limit; bring them with the image, or "
              "fetch them from a bucket by setup_commands",
              where, m.bytes, strlen(m.archive), cloud->script_max);
    buf_clear(b);
    ray_script(b, r->root, r->type, &none);
}

void ray_launch_type(struct raw *d, const struct ynode *root,
                     const struct ynode *type, struct raw_type *t)
{
    struct ray_reading r = reading(d, t->provider, root, type);
    const struct ray_cloud *cloud = cloud_of(r.provider);
    const char *user = dialect_text(ynode_path(root, "auth", "ssh_user", NULL));
    struct buf b;

    if (!cloud)
        return;
    if (r.node && r.node->kind == YNODE_MAP)
        t->options = grammar_flatten_under(&d->r, r.node, "node_config",
                                           &t->n_options);
    if (!r.node)
        r.at = t->key;
    cloud->settle(&r, t);
    r.at = t->key;
    buf_init(&b, LONGEST_SCRIPT);
    script_make(d, &r, cloud, t->where, &b);
    if (b.full)
        diag_add(d->r.diag, t->key, "%s: its commands have more than %d bytes",
                 t->where, LONGEST_SCRIPT);
    ray_option_set(&r, t, "join", arena_strdup(d->r.arena, b.s));
    if (*user)
        ray_option_set(&r, t, "user", user);
    buf_done(&b);
}

/* ---- the file */

static bool says_something(const struct ynode *v)
{
    if (!v || v->kind == YNODE_NULL)
        return false;
    return v->kind == YNODE_TEXT ? strcasecmp(v->text, "false") != 0 : v->n > 0;
}

static void undone_tell(struct raw *d, const struct ynode *root,
                        const struct ray_undone *undone)
{
    for (const struct ray_undone *u = undone; u->key; u++) {
        const struct ynode *map = *u->map ? ynode_get(root, u->map) : root;
        const struct ynode *v = ynode_get(map, u->key);
        if (says_something(v))
            diag_warn(d->r.diag, v, "%s%s%s is not done: %s", u->map,
                      *u->map ? "." : "", u->key, u->told);
    }
}

/* What needs a connection to the machine, or one that is kept. */
static const struct ray_undone undone_anywhere[] = {
    {"", "file_mounts_sync_continuously",
     "a machine has the files as they were when it was launched"},
    {"provider", "cache_stopped_nodes", "machines are ended, not stopped"},
    {"", NULL, NULL},
};

/* A setting that the davit block has not given. */
static void provider_option(struct raw *d, struct conf_provider *p,
                            const char *key, const struct ynode *value)
{
    struct conf_pair *v = ARENA_ARRAY(d->r.arena, struct conf_pair,
                                      p->n_options + 1);

    for (uint32_t i = 0; i < p->n_options; i++) {
        v[i] = p->options[i];
        if (strcmp(v[i].key, key) == 0)
            return;
    }
    v[p->n_options++] = (struct conf_pair){key, dialect_text(value),
                                           value->line, value->column};
    p->options = v;
}

void ray_launch_file(struct raw *d, const struct ynode *root)
{
    for (uint32_t i = 0; i < d->providers.n; i++) {
        struct conf_provider *p = &d->providers.v[i];
        const struct ray_cloud *cloud = cloud_of(p);
        if (!cloud)
            continue;
        undone_tell(d, root, undone_anywhere);
        undone_tell(d, root, cloud->undone);
        if (!*d->c->ray_address)
            d->c->ray_address = "127.0.0.1:6379";
        for (size_t k = 0; cloud->settings[k].ray; k++) {
            const char *map = cloud->settings[k].map;
            const struct ynode *v = ynode_get(
                *map ? ynode_get(root, map) : root, cloud->settings[k].ray);
            if (*dialect_text(v))
                provider_option(d, p, cloud->settings[k].ours, v);
        }
    }
}
