/*
 * provider.c - opens a handle on a plug-in with one provider's configuration.
 *
 * Thread: the owner's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/hash.h"
#include "../base/suggest.h"
#include "../model/amount.h"
#include "inside.h"
#include "opening.h"

enum {
    SETTLE_MS = 30000,  /* where the plug-in says nothing */
    LAUNCH_MOST = 1000, /* likewise */
    PLACE_MAX = 1024,
    MISTAKES_MAX = 64 /* of one plug-in */
};

static const char *name_of(const struct opening *o)
{
    return o->conf->plugin && o->conf->plugin[0] != '\0' ? o->conf->plugin
                                                         : o->conf->name;
}

/* ---- where the .so is */

struct names_seen {
    struct arena *arena;
    VEC(const char *) names;
};

static void name_seen(void *arg, const struct plugin_info *info,
                      const char *path, const char *problem)
{
    struct names_seen *n = arg;
    (void)path;
    (void)problem;
    if (info)
        VEC_PUSH(n->arena, &n->names, arena_strdup(n->arena, info->name));
}

static void tell_missing(struct opening *o, const char *const *dirs,
                         uint32_t n_dirs)
{
    struct names_seen seen = {.arena = &o->arena};
    plugins_each(o->config->plugin_dir, name_seen, &seen);
    opening_error(o, o->conf->line, o->conf->column);
    buf_printf(o->errors, "provider %s: there is no davit-%s.so in ",
               o->conf->name, name_of(o));
    for (uint32_t i = 0; i < n_dirs; i++)
        buf_printf(o->errors, "%s%s", i > 0 ? ", " : "", dirs[i]);
    if (seen.names.n > 0) {
        const char *like = suggest(name_of(o), seen.names.v, seen.names.n);
        if (like)
            buf_printf(o->errors, "; did you mean \"%s\"?", like);
        buf_str(o->errors, " (plug-ins found:");
        for (uint32_t i = 0; i < seen.names.n; i++)
            buf_printf(o->errors, "%s %s", i > 0 ? "," : "", seen.names.v[i]);
        buf_str(o->errors, ")");
    } else {
        buf_str(o->errors, "; set plugin_dir, $DAVIT_PLUGIN_DIR or plugin: to "
                           "where plug-ins are");
    }
    buf_str(o->errors, "\n");
}

bool provider_names_file(const struct conf_provider *conf)
{
    size_t n = conf->plugin ? strlen(conf->plugin) : 0;

    return n > 0 && (strchr(conf->plugin, '/') ||
                     (n > 3 && strcmp(conf->plugin + n - 3, ".so") == 0));
}

/* A name is looked for in the plug-in directories, a path is taken as it is. */
static const char *find_so(struct opening *o)
{
    const char *name = name_of(o);
    if (provider_names_file(o->conf))
        return name;
    const char *dirs[PLUGIN_DIRS];
    uint32_t n = plugin_dirs(o->config->plugin_dir, &o->arena, dirs);
    for (uint32_t i = 0; i < n; i++) {
        const char *path = arena_printf(&o->arena, "%s/davit-%s.so", dirs[i],
                                        name);
        if (access(path, F_OK) == 0)
            return path;
    }
    tell_missing(o, dirs, n);
    return NULL;
}

/* ---- what open() is given */

static const struct davit_kv *kv_of(struct arena *a,
                                    const struct conf_pair *pairs, uint32_t n)
{
    struct davit_kv *kv = ARENA_ARRAY(a, struct davit_kv, n);
    for (uint32_t i = 0; i < n; i++)
        kv[i] = (struct davit_kv){pairs[i].key, pairs[i].value};
    return kv;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static void type_zones(struct arena *a, const struct snap_type *f,
                       struct davit_node_type *t)
{
    const char **zones = ARENA_ARRAY(a, const char *, f->n_offers);
    t->spot = f->n_offers > 0;
    for (uint32_t i = 0; i < f->n_offers; i++) {
        const char *zone = or_empty(f->offers[i].zone);
        bool known = zone[0] == '\0';
        for (size_t k = 0; k < t->n_zones && !known; k++)
            known = strcmp(zones[k], zone) == 0;
        if (!known)
            zones[t->n_zones++] = zone;
        t->spot = t->spot && f->offers[i].spot;
    }
    t->zones = zones;
}

static const struct davit_node_type *type_of(struct arena *a,
                                             const struct conf_type *c)
{
    const struct snap_type *f = &c->fact;
    struct davit_node_type *t = ARENA_NEW(a, struct davit_node_type);
    struct davit_kv *res = ARENA_ARRAY(a, struct davit_kv, f->resources.n);
    struct davit_kv *lab = ARENA_ARRAY(a, struct davit_kv, f->labels.n);
    for (uint32_t i = 0; i < f->resources.n; i++) {
        char text[32];
        res[i].key = f->resources.v[i].name;
        res[i].value = arena_strdup(
            a, amount_text(f->resources.v[i].amount, text, sizeof text));
    }
    for (uint32_t i = 0; i < f->labels.n; i++)
        lab[i] = (struct davit_kv){f->labels.v[i].key, f->labels.v[i].value};
    *t = (struct davit_node_type){.size = sizeof *t,
                                  .name = f->name,
                                  .pool = or_empty(f->pool),
                                  .machine = or_empty(f->machine),
                                  .resources = res,
                                  .n_resources = f->resources.n,
                                  .labels = lab,
                                  .n_labels = f->labels.n,
                                  .min = f->min,
                                  .max = f->max,
                                  .options = kv_of(a, c->options, c->n_options),
                                  .n_options = c->n_options,
                                  .hosts = f->hosts ? f->hosts : 1};
    type_zones(a, f, t);
    return t;
}

/* The provider's options and types without those that were refused. */
static void setup_fill(struct opening *o, struct provider *p,
                       struct davit_setup *s)
{
    const struct config *c = o->config;
    const struct davit_node_type **types = ARENA_ARRAY(
        &o->arena, const struct davit_node_type *, c->n_types);
    const struct conf_pair *options;
    uint32_t n = 0, n_options;

    for (uint32_t i = 0; i < c->n_types; i++) {
        struct conf_type t = c->types[i];

        if (!opening_has_type(o, i) || options_refused(o, &t, NULL))
            continue;
        t.options = options_kept(o, &t, t.options, &t.n_options);
        p->types[n] = arena_strdup(&p->arena, t.fact.name);
        types[n++] = type_of(&o->arena, &t);
    }
    p->n_types = n;
    options = options_own(o, &n_options);
    *s = (struct davit_setup){.size = sizeof *s,
                              .cluster = p->cluster,
                              .head = or_empty(c->ray_address),
                              .options = kv_of(&o->arena, options, n_options),
                              .n_options = n_options,
                              .types = types,
                              .n_types = n};
}

/* One mistake that open() found; false when it cannot be left out to find the
 * next, or was left out already. */
static bool refusal_tell(struct opening *o, const struct davit_error *e)
{
    char code[sizeof e->code], text[sizeof e->text];
    uint32_t line, column;
    const char *out;

    plugin_text_clean(e->code, sizeof e->code, code, sizeof code);
    plugin_text_clean(e->text, sizeof e->text, text, sizeof text);
    for (uint32_t i = 0; i < o->refused.n; i++)
        if (strcmp(o->refused.v[i], code) == 0)
            return false; /* what was left out is missed */
    out = options_place(o, code, &line, &column);
    opening_error(o, line, column);
    buf_printf(o->errors, "provider %s: %s\n", o->conf->name,
               text[0] != '\0' ? text
                               : "the plug-in refuses this configuration "
                                 "without saying why");
    VEC_PUSH(&o->arena, &o->refused, arena_strdup(&o->arena, out ? out : code));
    return out;
}

/* A plug-in says one mistake at a time: what it names is left out and it is
 * asked again, so that a user reads all of them at once. */
static enum status open_handle(struct opening *o, struct provider *p)
{
    enum status s = ST_OK;
    bool more = true, sound = o->mistakes == 0;

    p->types = ARENA_ARRAY(&p->arena, const char *, o->config->n_types);
    while (more && o->refused.n < MISTAKES_MAX) {
        struct davit_error e = {.size = sizeof e};
        struct davit_setup setup;
        int got;

        setup_fill(o, p, &setup);
        got = o->table->open(&host_services, &setup, &p->self, &e);
        if (got == DAVIT_OK && o->mistakes == 0)
            return ST_OK;
        if (got == DAVIT_OK) {
            o->table->close(p->self);
            break;
        }
        if (s == ST_OK)
            s = got > 0 && got < ST_COUNT ? (enum status)got : ST_BROKEN;
        more = refusal_tell(o, &e) && got == DAVIT_INVALID;
    }
    p->self = NULL;
    /* What cannot be opened here may be right elsewhere; a wrong option is not. */
    return s == ST_OK || !sound ? ST_INVALID : s;
}

static enum status table_find(struct opening *o, struct provider *p)
{
    struct err err = {0};
    o->table = plugin_builtin_find(name_of(o));
    p->path = "";
    if (o->table)
        return ST_OK;
    const char *path = find_so(o);
    if (!path)
        return ST_NOT_FOUND;
    p->path = arena_strdup(&p->arena, path);
    enum status s = plugin_load(path, &o->table, &err);
    if (s != ST_OK) {
        opening_error(o, o->conf->line, o->conf->column);
        buf_printf(o->errors, "provider %s: %s\n", o->conf->name, err.text);
    }
    return s;
}

static enum status open_all(struct opening *o, struct provider *p)
{
    enum status s = table_find(o, p);
    if (s != ST_OK)
        return s;
    p->table = o->table;
    atomic_store(&p->caps, o->table->caps);
    options_check(o);
    options_ca_file(o, p);
    return open_handle(o, p);
}

static void provider_free(struct provider *p)
{
    for (uint32_t i = 0; i < p->n_idle; i++)
        http_client_free(p->idle[i]);
    pthread_mutex_destroy(&p->lock);
    arena_done(&p->arena);
    free(p);
}

/* The plug-in, the cluster, and the options that say where. */
static const char *place_make(const struct opening *o, struct provider *p)
{
    const struct davit_provider *t = p->table;
    const char *const *keys = DAVIT_HAS(t, struct davit_provider, places)
                                  ? t->places
                                  : NULL;
    const char *ret, *name;
    struct buf b;

    buf_init(&b, PLACE_MAX);
    buf_printf(&b, "%s of cluster %s", t->name, o->config->cluster);
    for (; keys && *keys; keys++)
        for (uint32_t i = 0; i < o->conf->n_options; i++) {
            name = o->conf->options[i].key;
            if (strcmp(name, *keys) == 0)
                buf_printf(&b, ", %s=%s", name, o->conf->options[i].value);
        }
    ret = arena_strdup(&p->arena, b.s);
    buf_done(&b);
    return ret;
}

static uint64_t type_hash(uint64_t h, const struct conf_type *t)
{
    h = hash_text(hash_text(h, t->fact.name), or_empty(t->hash));
    for (uint32_t i = 0; i < t->fact.n_offers; i++) {
        h = hash_text(h, or_empty(t->fact.offers[i].zone));
        h = hash_number(h, t->fact.offers[i].spot);
    }
    return h;
}

/* Of all that its answers depend on.  A plug-in whose file is another one now has
 * another table: none is ever unloaded. */
static uint64_t settings_hash(const struct opening *o, const struct provider *p)
{
    uint64_t h = hash_text(hash_text(HASH_SEED, p->name), p->place);

    h = hash_number(h, (uint64_t)(uintptr_t)p->table);
    h = hash_text(h, or_empty(o->config->ray_address));
    for (uint32_t i = 0; i < o->conf->n_options; i++) {
        h = hash_text(h, o->conf->options[i].key);
        h = hash_text(h, o->conf->options[i].value);
    }
    for (uint32_t i = 0; i < o->config->n_types; i++)
        if (opening_has_type(o, i))
            h = type_hash(h, &o->config->types[i]);
    return h;
}

enum status provider_open(const struct config *c,
                          const struct conf_provider *conf,
                          struct provider **ret, struct buf *errors)
{
    struct opening o = {.config = c, .conf = conf, .errors = errors};
    struct provider *p = MEM_NEW(struct provider);
    pthread_mutex_init(&p->lock, NULL);
    p->name = arena_strdup(&p->arena, conf->name);
    p->cluster = arena_strdup(&p->arena, c->cluster);
    enum status s = open_all(&o, p);
    if (s == ST_OK) {
        p->place = place_make(&o, p);
        p->settings = settings_hash(&o, p);
    }
    arena_done(&o.arena);
    *ret = s == ST_OK ? p : NULL;
    if (s != ST_OK)
        provider_free(p);
    return s;
}

void provider_close(struct provider *p)
{
    if (!p)
        return;
    if (p->self)
        p->table->close(p->self);
    provider_free(p);
}

const char *provider_name(const struct provider *p)
{
    return p->name;
}

struct plugin_info provider_plugin(const struct provider *p)
{
    return (struct plugin_info){.name = p->table->name,
                                .version = p->table->version,
                                .path = p->path,
                                .caps = atomic_load(&p->caps),
                                .options = p->table->options};
}

uint64_t provider_caps(const struct provider *p)
{
    return atomic_load(&p->caps);
}

const char *provider_place(const struct provider *p)
{
    return p->place;
}

bool provider_same(const struct provider *a, const struct provider *b)
{
    return a->settings == b->settings;
}

int64_t provider_settle_ms(const struct provider *p)
{
    const struct davit_provider *t = p->table;

    return DAVIT_HAS(t, struct davit_provider, settle_ms) && t->settle_ms
               ? (int64_t)t->settle_ms(p->self)
               : SETTLE_MS;
}

uint32_t provider_launch_most(const struct provider *p)
{
    const struct davit_provider *t = p->table;

    return DAVIT_HAS(t, struct davit_provider, launch_most) && t->launch_most
               ? t->launch_most
               : LAUNCH_MOST;
}

bool provider_finds(const struct provider *p)
{
    const struct davit_provider *t = p->table;

    return DAVIT_HAS(t, struct davit_provider, find) && t->find &&
           !atomic_load(&p->no_find);
}

uint32_t provider_calls_running(const struct provider *p)
{
    return atomic_load(&p->calls);
}

void provider_set_tap(struct provider *p, provider_tap *tap, void *arg)
{
    p->tap = tap;
    p->tap_arg = arg;
}
