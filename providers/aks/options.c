/*
 * options.c - the AKS plug-in's configuration, read once by open().
 *
 * What is not given is taken from the environment that azure-identity and the
 * workload identity webhook use.  Every mistake names its option, so that the
 * daemon can point at the line.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aks.h"

#define POOL_NAME_MAX 12
#define PUBLIC_ARM "https://management.azure.com"

const struct davit_kv aks_options[] = {
    {"subscription", "the subscription's id"},
    {"resource_group", "the resource group of the AKS cluster"},
    {"cluster", "the name of the AKS cluster"},
    {"location", "the region, to ask for machine sizes (default: the cluster's)"},
    {"auth", "client_secret, workload_identity or managed_identity (default: by "
             "what is given)"},
    {"tenant_id", "of the application (default: $AZURE_TENANT_ID)"},
    {"client_id", "the application or the user-assigned identity (default: "
                  "$AZURE_CLIENT_ID)"},
    {"client_secret", "better: client_secret_file (default: "
                      "$AZURE_CLIENT_SECRET)"},
    {"client_secret_file", "a file that holds the secret, read at each renewal"},
    {"federated_token_file", "of the workload identity (default: "
                             "$AZURE_FEDERATED_TOKEN_FILE)"},
    {"endpoint", "Azure Resource Manager (default: "
                 "https://management.azure.com)"},
    {"audience", "what tokens are for (default: the endpoint)"},
    {"authority", "where tokens come from (default: $AZURE_AUTHORITY_HOST or "
                  "https://login.microsoftonline.com)"},
    {"imds", "the instance metadata service (default: http://169.254.169.254)"},
    {"poll", "between two looks at a pool that is busy (default: 2s)"},
    {"wait", "how long a call waits for such a pool (default: 6s)"},
    {"abort_after", "break off a raise that takes longer when something else is "
                    "to be done on the pool (default: never)"},
    {"reads.burst", "reads that may go at once (default: 60, AKS's limit)"},
    {"reads.every", "one more after so long (default: 1s; 0: no limit)"},
    {"writes.burst", "changes of a pool that may go at once (default: 20)"},
    {"writes.every", "one more after so long (default: 1m; 0: no limit)"},
    {"types.pools.*", "pools.ZONE: NAME - the pool for each zone of the type"},
    {NULL, NULL}};

struct reading {
    struct aks *aks;
    const struct davit_setup *setup;
    struct davit_error *error;
};

static const char *given(const struct reading *r, const char *key,
                         const char *env, const char *otherwise)
{
    const char *v = kit_find(r->setup->options, r->setup->n_options, key);
    if (v == NULL && env != NULL)
        v = getenv(env);
    return v != NULL && v[0] != '\0' ? v : otherwise;
}

static int needed(struct reading *r, const char *key, const char *what,
                  const char *allowed, char **ret)
{
    const char *v = given(r, key, NULL, "");
    *ret = text_copy(v);
    if (v[0] == '\0')
        return kit_error(r->error, DAVIT_INVALID, key, "%s is needed: %s", key,
                         what);
    for (const char *s = v; *s != '\0'; s++)
        if (!isalnum((unsigned char)*s) && strchr(allowed, *s) == NULL)
            return kit_error(r->error, DAVIT_INVALID, key,
                             "%s has letters, digits and \"%s\" only, got "
                             "\"%.80s\"", key, allowed, v);
    return DAVIT_OK;
}

/* A token must not travel in the clear, except to this machine. */
static int url_option(struct reading *r, const char *key, const char *env,
                      const char *otherwise, bool link_local, char **ret)
{
    const char *v = given(r, key, env, otherwise);
    size_t n = strlen(v);
    while (n > 0 && v[n - 1] == '/')
        n--;
    *ret = text_print("%.*s", (int)n, v);
    const char *host = strstr(*ret, "://");
    host = host != NULL ? host + 3 : "";
    bool near = strncmp(host, "127.", 4) == 0 ||
                strncmp(host, "[::1]", 5) == 0 ||
                strncmp(host, "localhost", 9) == 0 ||
                (link_local && strncmp(host, "169.254.", 8) == 0);
    if (host[0] != '\0' && strcspn(host, "/?#@ ") == strlen(host) &&
        (strncmp(*ret, "https://", 8) == 0 ||
         (near && strncmp(*ret, "http://", 7) == 0)))
        return DAVIT_OK;
    return kit_error(r->error, DAVIT_INVALID, key,
                     "%s must be https://HOST (http:// only on this machine, "
                     "since a token goes there), got \"%.80s\"", key, v);
}

static int auth_read(struct reading *r)
{
    struct aks *a = r->aks;
    a->tenant = text_copy(given(r, "tenant_id", "AZURE_TENANT_ID", ""));
    a->client = text_copy(given(r, "client_id", "AZURE_CLIENT_ID", ""));
    a->secret = text_copy(given(r, "client_secret", "AZURE_CLIENT_SECRET", ""));
    a->secret_file = text_copy(given(r, "client_secret_file", NULL, ""));
    a->token_file = text_copy(given(r, "federated_token_file",
                                    "AZURE_FEDERATED_TOKEN_FILE", ""));
    bool secret = a->secret[0] != '\0' || a->secret_file[0] != '\0';
    const char *how = given(r, "auth", NULL,
                            secret ? "client_secret"
                            : a->token_file[0] != '\0' ? "workload_identity"
                                                       : "managed_identity");
    if (strcmp(how, "client_secret") == 0)
        a->auth = AUTH_SECRET;
    else if (strcmp(how, "workload_identity") == 0)
        a->auth = AUTH_WORKLOAD;
    else if (strcmp(how, "managed_identity") == 0)
        a->auth = AUTH_MANAGED;
    else
        return kit_error(r->error, DAVIT_INVALID, "auth",
                         "auth must be client_secret, workload_identity or "
                         "managed_identity, got \"%.40s\"", how);
    if (a->auth == AUTH_MANAGED)
        return DAVIT_OK;
    const char *lacks = a->tenant[0] == '\0'   ? "tenant_id"
                        : a->client[0] == '\0' ? "client_id"
                        : a->auth == AUTH_SECRET && !secret
                            ? "client_secret_file"
                        : a->auth == AUTH_WORKLOAD && a->token_file[0] == '\0'
                            ? "federated_token_file" : NULL;
    if (lacks != NULL)
        return kit_error(r->error, DAVIT_INVALID, lacks, "%s is needed for %s",
                         lacks, how);
    if (strspn(a->tenant, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789.-") != strlen(a->tenant))
        return kit_error(r->error, DAVIT_INVALID, "tenant_id",
                         "tenant_id is an id or a domain, got \"%.60s\"",
                         a->tenant);
    return DAVIT_OK;
}

/* ---- node types and their pools */

static int site_add(struct reading *r, struct aks_type *t, const char *key,
                    const char *zone, const char *pool)
{
    struct aks *a = r->aks;
    char code[120];
    snprintf(code, sizeof code, "%.60s%s%.50s", t->name, key[0] ? "." : "", key);
    size_t n = strlen(pool);
    bool good = n > 0 && n <= POOL_NAME_MAX;
    for (size_t i = 0; i < n && good; i++)
        good = islower((unsigned char)pool[i]) ||
               isdigit((unsigned char)pool[i]);
    if (!good)
        return kit_error(r->error, DAVIT_INVALID, code,
                         "an agent pool's name has 1 to %d lower-case letters "
                         "and digits, got \"%.40s\"", POOL_NAME_MAX, pool);
    for (size_t i = 0; i < a->n_memories; i++)
        if (strcmp(a->memories[i]->pool, pool) == 0)
            return kit_error(r->error, DAVIT_INVALID, code,
                             "pool %s is used twice: its machines would belong "
                             "to both", pool);
    t->sites = must(realloc(t->sites, (t->n_sites + 1) * sizeof *t->sites));
    t->sites[t->n_sites++] =
        (struct aks_site){text_copy(zone), text_copy(pool)};
    memory_of(a, pool);
    return DAVIT_OK;
}

static int type_read(struct reading *r, const struct davit_node_type *n)
{
    struct aks *a = r->aks;
    int st = DAVIT_OK;
    struct aks_type *t = &a->types[a->n_types++];
    *t = (struct aks_type){.name = text_copy(n->name), .spot = n->spot,
                           .machine = text_copy(n->machine)};
    size_t real = 0;
    for (size_t i = 0; i < n->n_zones; i++)
        real += n->zones[i][0] != '\0';
    if (real == 0)
        return site_add(r, t, "", "", n->pool[0] != '\0' ? n->pool : n->name);
    for (size_t i = 0; st == DAVIT_OK && i < n->n_zones; i++) {
        char key[80];
        snprintf(key, sizeof key, "pools.%.60s", n->zones[i]);
        const char *pool = kit_find(n->options, n->n_options, key);
        if (pool == NULL && real > 1)
            return kit_error(r->error, DAVIT_INVALID, n->name,
                             "%s has %zu zones: AKS chooses the zone inside a "
                             "pool, so name a pool for each: options: {pools: "
                             "{%.40s: POOL, ...}}", n->name, real, n->zones[i]);
        if (pool == NULL)
            pool = n->pool[0] != '\0' ? n->pool : n->name;
        st = site_add(r, t, key, n->zones[i], pool);
    }
    return st;
}

static int pace_read(struct reading *r, const char *what, uint32_t burst,
                     int64_t every_ms, struct bucket *ret)
{
    const struct davit_kv *kv = r->setup->options;
    char key[40];
    snprintf(key, sizeof key, "%s.burst", what);
    int st = kit_number_option(kv, r->setup->n_options, key, 100000, &burst,
                               r->error);
    snprintf(key, sizeof key, "%s.every", what);
    if (st == DAVIT_OK)
        st = kit_duration_option(kv, r->setup->n_options, key, &every_ms,
                                 r->error);
    *ret = (struct bucket){.burst = burst > 0 ? burst : 1,
                           .every_ms = every_ms};
    return st;
}

static int read_all(struct reading *r)
{
    struct aks *a = r->aks;
    const struct davit_kv *kv = r->setup->options;
    size_t n = r->setup->n_options;
    int st = needed(r, "subscription", "the id of the Azure subscription", "-",
                    &a->subscription);
    if (st == DAVIT_OK)
        st = needed(r, "resource_group", "the group the AKS cluster is in",
                    "-_.()", &a->group);
    if (st == DAVIT_OK)
        st = needed(r, "cluster", "the name of the AKS cluster", "-_",
                    &a->name);
    if (st == DAVIT_OK)
        st = url_option(r, "endpoint", NULL, PUBLIC_ARM,
                        false, &a->endpoint);
    if (st == DAVIT_OK)
        st = url_option(r, "authority", "AZURE_AUTHORITY_HOST",
                        "https://login.microsoftonline.com", false,
                        &a->authority);
    if (st == DAVIT_OK)
        st = url_option(r, "imds", "AZURE_POD_IDENTITY_AUTHORITY_HOST",
                        "http://169.254.169.254", true, &a->imds);
    if (st == DAVIT_OK)
        st = auth_read(r);
    if (st == DAVIT_OK)
        st = kit_duration_option(kv, n, "poll", &a->poll_ms, r->error);
    if (st == DAVIT_OK)
        st = kit_duration_option(kv, n, "wait", &a->wait_ms, r->error);
    if (st == DAVIT_OK)
        st = kit_duration_option(kv, n, "abort_after", &a->abort_ms, r->error);
    if (st == DAVIT_OK)
        st = pace_read(r, "reads", 60, 1000, &a->gets);
    if (st == DAVIT_OK)
        st = pace_read(r, "writes", 20, 60000, &a->puts);
    if (st == DAVIT_OK)
        a->audience = text_copy(given(r, "audience", NULL,
                                      strncmp(a->endpoint, "https://", 8) == 0
                                          ? a->endpoint : PUBLIC_ARM));
    a->location = text_copy(given(r, "location", NULL, ""));
    a->types = must(calloc(r->setup->n_types + 1, sizeof *a->types));
    for (size_t i = 0; st == DAVIT_OK && i < r->setup->n_types; i++)
        st = type_read(r, r->setup->types[i]);
    return st;
}

int aks_open(const struct davit_host *host, const struct davit_setup *setup,
             void **ret_self, struct davit_error *e)
{
    struct aks *a = must(calloc(1, sizeof *a));
    struct reading r = {a, setup, e};
    a->host = host;
    a->cluster = text_copy(setup->cluster);
    a->poll_ms = 2000;
    a->wait_ms = 6000;
    pthread_mutex_init(&a->lock, NULL);
    kit_token_init(&a->token);
    int st = read_all(&r);
    *ret_self = a;
    if (st != DAVIT_OK) {
        aks_close(a);
        *ret_self = NULL;
    }
    return st;
}

static void memory_done(struct memory *m)
{
    for (size_t i = 0; i < m->n_stopping; i++)
        free(m->stopping[i]);
    free(m->stopping);
    free(m->stopping_ms);
    free(m->operation);
    free(m->pool);
    free(m);
}

void aks_close(void *self)
{
    struct aks *a = self;
    char *texts[] = {a->cluster, a->subscription, a->group, a->name,
                     a->endpoint, a->audience, a->authority, a->imds, a->location,
                     a->tenant, a->client, a->secret_file, a->token_file};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    kit_token_free(a->secret);
    kit_token_done(&a->token);
    for (size_t i = 0; i < a->n_types; i++) {
        for (size_t k = 0; k < a->types[i].n_sites; k++) {
            free(a->types[i].sites[k].zone);
            free(a->types[i].sites[k].pool);
        }
        free(a->types[i].sites);
        free(a->types[i].name);
        free(a->types[i].machine);
    }
    free(a->types);
    for (size_t i = 0; i < a->n_memories; i++)
        memory_done(a->memories[i]);
    free(a->memories);
    json_decref(a->skus);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
