/*
 * options.c - the configuration, read once by open(); every mistake names its
 * option, so that the daemon can point at the line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

const struct davit_kv gke_options[] = {
    {"project", "the Google Cloud project's id"},
    {"location", "the cluster's region or zone: us-central1, us-central1-c"},
    {"cluster", "the GKE cluster's name"},
    {"credentials", "a key or federation file; else GOOGLE_APPLICATION_"
                    "CREDENTIALS, gcloud's own, the metadata server"},
    {"take_over", "true: switch off GKE's own autoscaling of our pools"},
    {"endpoint", "instead of Google's, for both APIs: http://127.0.0.1:8080"},
    {"container_endpoint", "the same for container.googleapis.com alone"},
    {"compute_endpoint", "the same for compute.googleapis.com alone"},
    {"types.spot_pool", "the node pool of a type's spot machines"},
    {NULL, NULL}};

static char *copy(const char *s)
{
    char *c = strdup(s);
    if (c == NULL)
        abort();
    return c;
}

/* Into a URL's path, so nothing but what Google allows. */
static int name_check(const char *key, const char *v, struct davit_error *e)
{
    if (v != NULL && v[0] != '\0' && strlen(v) <= 63 &&
        strspn(v, "abcdefghijklmnopqrstuvwxyz0123456789-.:") == strlen(v))
        return DAVIT_OK;
    if (v == NULL || v[0] == '\0')
        return kit_error(e, DAVIT_INVALID, key, "%s is needed", key);
    return kit_error(e, DAVIT_INVALID, key,
                     "%s must be 1 to 63 of a-z, 0-9, -, got \"%.60s\"", key,
                     v);
}

static int name_read(const struct davit_setup *setup, const char *key,
                     char **ret, struct davit_error *e)
{
    const char *v = kit_find(setup->options, setup->n_options, key);
    int s = name_check(key, v, e);
    if (s == DAVIT_OK)
        *ret = copy(v);
    return s;
}

static int url_read(const struct davit_setup *setup, const char *key,
                    const char *fallback, char **ret, struct davit_error *e)
{
    const char *v = kit_find(setup->options, setup->n_options, key);
    const char *code = key;
    if (v == NULL)
        v = kit_find(setup->options, setup->n_options, code = "endpoint");
    if (v == NULL)
        v = fallback;
    size_t n = strlen(v);
    while (n > 0 && v[n - 1] == '/')
        n--;
    if (n > 500 || (strncmp(v, "https://", 8) != 0 &&
                    strncmp(v, "http://", 7) != 0) || strpbrk(v, " ?#") != NULL)
        return kit_error(e, DAVIT_INVALID, code,
                         "%s must be a URL such as https://private.example, "
                         "got \"%.60s\"", code, v);
    *ret = strndup(v, n);
    if (*ret == NULL)
        abort();
    return DAVIT_OK;
}

static int bool_read(const struct davit_setup *setup, const char *key,
                     bool *ret, struct davit_error *e)
{
    const char *v = kit_find(setup->options, setup->n_options, key);
    if (v == NULL || strcmp(v, "true") == 0 || strcmp(v, "false") == 0) {
        *ret = v != NULL && v[0] == 't';
        return DAVIT_OK;
    }
    return kit_error(e, DAVIT_INVALID, key, "%s must be true or false, got "
                     "\"%.60s\"", key, v);
}

/* As Google's libraries find it: an emulator or a sidecar may stand in. */
static char *metadata_url(void)
{
    char url[300];
    const char *host = getenv("GCE_METADATA_HOST");
    if (host == NULL || host[0] == '\0')
        host = getenv("GCE_METADATA_ROOT");
    if (host == NULL || host[0] == '\0')
        host = "metadata.google.internal";
    snprintf(url, sizeof url, "http://%.250s", host);
    return copy(url);
}

static int64_t whole(const struct davit_node_type *t, const char *resource)
{
    const char *v = kit_find(t->resources, t->n_resources, resource);
    return v != NULL ? (int64_t)(strtod(v, NULL) + 0.9999) : -1;
}

static int pool_free(const struct gke *g, const char *type, const char *pool,
                     struct davit_error *e)
{
    for (size_t i = 0; i < g->n_types; i++) {
        const struct gke_type *t = &g->types[i];
        if ((t->pool != NULL && strcmp(t->pool, pool) == 0) ||
            (t->spot_pool != NULL && strcmp(t->spot_pool, pool) == 0))
            return kit_error(e, DAVIT_INVALID, type,
                             "node types %.40s and %.40s cannot both have node "
                             "pool %.40s: whose would its machines be?",
                             t->name, type, pool);
    }
    return DAVIT_OK;
}

/* A type of spot machines only may name its pool as pool. */
static int type_read(struct gke *g, const struct davit_node_type *t,
                     struct davit_error *e)
{
    char code[100];
    const char *spot = kit_find(t->options, t->n_options, "spot_pool");
    const char *pool = t->pool;
    int s = DAVIT_OK;
    if (pool[0] == '\0' && (spot == NULL || !t->spot))
        return kit_error(e, DAVIT_INVALID, t->name,
                         "node type %.60s needs pool: the GKE node pool that "
                         "makes its machines", t->name);
    snprintf(code, sizeof code, "%.60s.spot_pool", t->name);
    if (pool[0] != '\0' && name_check("pool", pool, e) != DAVIT_OK) {
        snprintf(e->code, sizeof e->code, "%.47s", t->name);
        return DAVIT_INVALID;
    }
    if (spot != NULL && name_check("spot_pool", spot, e) != DAVIT_OK) {
        snprintf(e->code, sizeof e->code, "%.47s", code);
        return DAVIT_INVALID;
    }
    if (spot != NULL && strcmp(spot, pool) == 0)
        return kit_error(e, DAVIT_INVALID, code, "pool and spot_pool of %.60s "
                         "must be two pools", t->name);
    if (pool[0] != '\0')
        s = pool_free(g, t->name, pool, e);
    if (s == DAVIT_OK && spot != NULL)
        s = pool_free(g, t->name, spot, e);
    if (s != DAVIT_OK)
        return s;
    struct gke_type *mine = &g->types[g->n_types++];
    *mine = (struct gke_type){
        .name = copy(t->name), .cpu = whole(t, "CPU"), .gpus = whole(t, "GPU"),
        .spot_pool = spot != NULL ? copy(spot) : NULL,
        .pool = pool[0] != '\0' ? copy(pool) : NULL};
    if (t->spot && spot == NULL) {
        mine->spot_pool = mine->pool;
        mine->pool = NULL;
    }
    mine->zones = calloc(t->n_zones + 1, sizeof *mine->zones);
    if (mine->zones == NULL)
        abort();
    for (size_t i = 0; i < t->n_zones; i++)
        mine->zones[mine->n_zones++] = copy(t->zones[i]);
    return DAVIT_OK;
}

int options_read(struct gke *g, const struct davit_setup *setup,
                 struct davit_error *e)
{
    const char *file = kit_find(setup->options, setup->n_options,
                                "credentials");
    int s = name_read(setup, "project", &g->project, e);
    if (s == DAVIT_OK)
        s = name_read(setup, "location", &g->location, e);
    if (s == DAVIT_OK)
        s = name_read(setup, "cluster", &g->cluster, e);
    if (s == DAVIT_OK)
        s = url_read(setup, "container_endpoint",
                     "https://container.googleapis.com", &g->container_url, e);
    if (s == DAVIT_OK)
        s = url_read(setup, "compute_endpoint",
                     "https://compute.googleapis.com", &g->compute_url, e);
    if (s == DAVIT_OK)
        s = bool_read(setup, "take_over", &g->take_over, e);
    if (file != NULL && file[0] != '\0')
        g->credentials = copy(file);
    g->metadata_url = metadata_url();
    g->types = calloc(setup->n_types + 1, sizeof *g->types);
    if (g->types == NULL)
        abort();
    for (size_t i = 0; i < setup->n_types && s == DAVIT_OK; i++)
        s = type_read(g, setup->types[i], e);
    return s;
}

void options_done(struct gke *g)
{
    for (size_t i = 0; i < g->n_types; i++) {
        struct gke_type *t = &g->types[i];
        for (size_t k = 0; k < t->n_zones; k++)
            free(t->zones[k]);
        free(t->zones);
        free(t->name);
        free(t->pool);
        free(t->spot_pool);
    }
    free(g->types);
    free(g->project);
    free(g->location);
    free(g->cluster);
    free(g->container_url);
    free(g->compute_url);
    free(g->metadata_url);
    free(g->credentials);
}
