/*
 * raw.c - from the raw configuration to a generation of settings; see raw.h.
 */
#include "raw.h"
#include "extras.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../model/accel.h"
#include "../model/amount.h"

static const char *const shipped[] = {"sim", "local", "k8s", "gke",    "eks",
                                      "aks", "ec2",   "gce", "azurevm"};
#define COUNT(v) (sizeof(v) / sizeof *(v))

struct raw_type *raw_type_new(struct raw *d, const char *name,
                              const char *where, const struct ynode *key,
                              const struct ynode *map)
{
    struct raw_type *t = ARENA_NEW(d->r.arena, struct raw_type);

    t->name = name;
    t->where = where;
    t->key = key;
    t->map = map;
    t->provider = t->machine = t->pool = t->accelerator = "";
    t->max = UNLIMITED;
    t->hosts = 1;
    t->idle_timeout_ms = t->boot_ms = -1;
    t->price = t->spot_price = -1;
    t->memory_percent = 100;
    VEC_PUSH(d->r.arena, &d->types, t);
    return t;
}

const struct ynode *raw_at(const struct raw_type *t, const char *key)
{
    const struct ynode *v = ynode_get(t->map, key);

    return v ? v : t->key;
}

bool provider_shipped(const char *provider)
{
    for (size_t i = 0; i < COUNT(shipped); i++)
        if (strcmp(shipped[i], provider) == 0)
            return true;
    return false;
}

static bool provider_known(const struct raw *d, const char *name)
{
    for (uint32_t i = 0; i < d->providers.n; i++)
        if (strcmp(d->providers.v[i].name, name) == 0)
            return true;
    return false;
}

void raw_provider_add(struct raw *d, const char *name, const struct ynode *at)
{
    struct conf_provider p = {.name = name,
                              .plugin = "",
                              .line = at ? at->line : 0,
                              .column = at ? at->column : 0};

    if (!provider_known(d, name))
        VEC_PUSH(d->r.arena, &d->providers, p);
}

/* A type without provider: takes the only one there is, else sim when there is
 * none.  A name without an entry is fine for a plug-in of ours. */
static void provider_settle(struct raw *d, struct raw_type *t,
                            uint32_t configured)
{
    const char **names = ARENA_ARRAY(d->r.arena, const char *,
                                     configured + COUNT(shipped));
    size_t n = 0;

    for (uint32_t i = 0; i < configured; i++)
        names[n++] = d->providers.v[i].name;
    if (!*t->provider && configured > 1) {
        diag_add(d->r.diag, t->key, "%s: provider is missing; allowed: %s",
                 t->where, grammar_or(d->r.arena, names, n));
        return;
    }
    if (!*t->provider)
        t->provider = configured ? d->providers.v[0].name : "sim";
    for (size_t i = 0; i < COUNT(shipped); i++) {
        uint32_t j = 0;
        while (j < configured && strcmp(names[j], shipped[i]) != 0)
            j++;
        if (j == configured)
            names[n++] = shipped[i];
    }
    if (!provider_known(d, t->provider) && !provider_shipped(t->provider))
        diag_add(d->r.diag, raw_at(t, "provider"),
                 "%s.provider: there is no %s under providers%s (allowed: %s)",
                 t->where, diag_quote(d->r.arena, t->provider),
                 grammar_hint(d->r.arena, t->provider, names, n),
                 grammar_or(d->r.arena, names, n));
    else
        raw_provider_add(d, t->provider, raw_at(t, "provider"));
}

static struct catalogue *catalogue_open(struct raw *d)
{
    struct catalogue *c = NULL;
    struct buf errors;

    if (*d->catalogue && access(d->catalogue, R_OK) != 0) {
        diag_add(d->r.diag, d->catalogue_at, "catalogue: cannot read %s",
                 diag_quote(d->r.arena, d->catalogue));
        return NULL;
    }
    buf_init(&errors, 65536);
    if (catalogue_load(d->r.arena, d->catalogue, &c, &errors) != ST_OK) {
        char *save = NULL; /* its lines carry the catalogue's own places */
        diag_add(d->r.diag, d->catalogue_at, "catalogue: %s has mistakes",
                 *d->catalogue ? diag_quote(d->r.arena, d->catalogue)
                               : "the built-in one");
        for (char *line = strtok_r(errors.s, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
            diag_add(d->r.diag, d->catalogue_at, "catalogue: %s", line);
    }
    buf_done(&errors);
    return c;
}

int64_t raw_given(const struct raw_type *t, const char *name)
{
    for (uint32_t i = 0; i < t->resources.n; i++)
        if (strcmp(t->resources.v[i].name, name) == 0)
            return t->resources.v[i].amount;
    return -1;
}

/* A pod that selects n1-standard-8 and T4 lies on n1-standard-8+T4. */
static bool pod_machine_find(struct raw *d, struct raw_type *t,
                             const struct catalogue *cat,
                             struct cat_machine *ret)
{
    int64_t gpus = raw_given(t, "GPU") / AMOUNT_ONE;
    struct err err;

    if (*t->accelerator && gpus > 0 &&
        catalogue_find(cat,
                       arena_printf(d->r.arena, "%s+%sx%" PRId64, t->machine,
                                    t->accelerator, gpus),
                       d->r.arena, ret, &err) == ST_OK) {
        t->machine = ret->name;
        return true;
    }
    return catalogue_find(cat, t->machine, d->r.arena, ret, &err) == ST_OK;
}

static const char *full_stop(const char *sentence)
{
    return sentence[strlen(sentence) - 1] == '?' ? "" : ".";
}

/* The catalogue's machine, or one without anything. */
static struct cat_machine machine_find(struct raw *d, struct raw_type *t,
                                       const struct catalogue *cat)
{
    struct cat_machine m = {.name = "",
                            .arch = "",
                            .cloud = "",
                            .region = "",
                            .accelerator = "",
                            .sold = "",
                            .price_micros_hour = -1,
                            .spot_micros_hour = -1};
    const struct ynode *at = t->machine_at ? t->machine_at
                                           : raw_at(t, "machine");
    struct err err;

    if (!*t->machine || !cat)
        return m;
    if (t->pod && !pod_machine_find(d, t, cat, &m))
        t->machine = "";
    if (t->pod ||
        catalogue_find(cat, t->machine, d->r.arena, &m, &err) == ST_OK)
        return m;
    if (raw_given(t, "CPU") >= 0) /* a type of the user's own cloud */
        diag_warn(
            d->r.diag, at,
            "%s.machine: %s%s Its resources are taken as given, its price "
            "is unknown unless price says it",
            t->where, err.text, full_stop(err.text));
    else if (d->c->dialect == DIALECT_RAY)
        diag_warn(d->r.diag, at,
                  "%s.machine: %s%s This node type is left out until its "
                  "resources are given",
                  t->where, err.text, full_stop(err.text));
    else
        diag_add(d->r.diag, at, "%s.machine: %s", t->where, err.text);
    return m;
}

/* A type of Ray's own file whose size nobody knows; the others are used. */
static bool is_left_out(struct raw *d, const struct raw_type *t)
{
    if (d->c->dialect != DIALECT_RAY || *t->found.name ||
        raw_given(t, "CPU") >= 0 || (!*t->machine && t->resources.n))
        return false;
    if (!*t->machine)
        diag_warn(d->r.diag, t->key,
                  "%s has neither resources nor a machine type in its "
                  "node_config: it is left out",
                  t->where);
    return true;
}

/* What is in the catalogue, and what is left without it. */
static void machines_find(struct raw *d, const struct catalogue *cat)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->types.n; i++) {
        d->types.v[i]->found = machine_find(d, d->types.v[i], cat);
        if (!is_left_out(d, d->types.v[i]))
            d->types.v[n++] = d->types.v[i];
    }
    if (d->types.n && !n)
        diag_warn(d->r.diag, NULL,
                  "there is no node type that could be launched");
    d->types.n = n;
}

/* Is it bought on demand, as far as the file says?  A pool, and a request of the
 * user's own making, may have another market. */
static bool on_demand(const struct raw_type *t)
{
    bool wanted = !t->n_markets && !t->market_reserved && !*t->pool;

    for (uint32_t i = 0; i < t->n_markets; i++)
        wanted = wanted || t->markets[i] == MARKET_ON_DEMAND;
    for (uint32_t i = 0; i < t->n_options; i++)
        wanted = wanted && strncmp(t->options[i].key, "pools", 5) != 0 &&
                 !strstr(t->options[i].key, "provisioningModel") &&
                 !strstr(t->options[i].key, "MarketType") &&
                 !strcasestr(t->options[i].key, "reservation");
    return wanted;
}

static void sold_check(struct raw *d, const struct raw_type *t,
                       const struct cat_machine *m)
{
    if (*m->sold && !strstr(m->sold, "on-demand") && on_demand(t))
        diag_warn(d->r.diag, raw_at(t, "machine"),
                  "%s.machine: %s is not sold on demand (%s), says the "
                  "catalogue: nothing of it may ever come",
                  t->where, m->name, m->sold);
}

/* What is given goes over what the machine has, key by key. */
static struct qtys resources_merge(struct raw *d, const struct raw_type *t,
                                   const struct cat_machine *m)
{
    VEC(struct qty) out = {0};

    for (uint32_t i = 0; i < m->resources.n && !t->pod; i++) {
        struct qty q = m->resources.v[i];
        if (raw_given(t, q.name) >= 0)
            continue;
        if (strcmp(q.name, "memory") == 0)
            q.amount = q.amount / 100 * t->memory_percent / AMOUNT_ONE *
                       AMOUNT_ONE;
        VEC_PUSH(d->r.arena, &out, q);
    }
    for (uint32_t i = 0; i < t->resources.n; i++)
        if (t->resources.v[i].amount)
            VEC_PUSH(d->r.arena, &out, t->resources.v[i]);
    return (struct qtys){out.v, out.n};
}

static bool has_device(struct qtys q)
{
    for (uint32_t i = 0; i < q.n; i++)
        if (accel_is_device(q.v[i].name) || strchr(q.v[i].name, '/'))
            return true;
    return false;
}

static struct pairs labels_settle(struct raw *d, struct raw_type *t,
                                  const struct cat_machine *m, struct qtys q)
{
    VEC(struct pair) out = {0};
    const char *type = t->accelerator;

    if (*type && *m->accelerator && strcmp(type, m->accelerator) != 0)
        diag_warn(d->r.diag, raw_at(t, "accelerator_type"),
                  "%s: %s has %s by the catalogue, the configuration says %s "
                  "and wins",
                  t->where, t->machine, m->accelerator, type);
    if (*type && !has_device(q))
        diag_warn(d->r.diag, raw_at(t, "accelerator_type"),
                  "%s: accelerator_type is %s, but there is no accelerator "
                  "among its resources",
                  t->where, type);
    if (*type && accel_type_meant(type))
        diag_warn(d->r.diag, raw_at(t, "accelerator_type"),
                  "%s: accelerator_type %s is no product's name; did you mean "
                  "%s?",
                  t->where, type, accel_type_meant(type));
    if (!*type && has_device(q))
        type = m->accelerator;
    for (uint32_t i = 0; i < t->labels.n; i++)
        VEC_PUSH(d->r.arena, &out, t->labels.v[i]);
    if (*type)
        VEC_PUSH(d->r.arena, &out, ((struct pair){ACCEL_LABEL, type}));
    return (struct pairs){out.v, out.n};
}

static const char *provider_option(const struct raw *d,
                                   const struct raw_type *t, const char *key)
{
    for (uint32_t i = 0; i < d->providers.n; i++) {
        const struct conf_provider *p = &d->providers.v[i];

        for (uint32_t k = 0; k < p->n_options; k++)
            if (strcmp(p->name, t->provider) == 0 &&
                strcmp(p->options[k].key, key) == 0)
                return p->options[k].value;
    }
    return NULL;
}

/* A zone, or the region of the type's provider; "": the file does not say. */
static const char *place_of(const struct raw *d, const struct raw_type *t,
                            uint32_t zone)
{
    const char *region = provider_option(d, t, "region");

    if (!region)
        region = provider_option(d, t, "location");
    return zone < t->zones.n ? t->zones.v[zone] : region ? region : "";
}

/* By the catalogue.  Of another region it is the best that is known, but where
 * the plug-in asks its cloud: Azure has a public list. */
static int64_t list_price(const struct raw *d, const struct raw_type *t,
                          const struct cat_machine *m, uint32_t zone)
{
    const char *list = provider_option(d, t, "prices");
    bool there;
    int64_t price = catalogue_price(m, place_of(d, t, zone), &there);

    return there || strcmp(m->cloud, "azure") != 0 || (list && !*list) ? price
                                                                       : -1;
}

static void offers_make(struct raw *d, const struct raw_type *t,
                        const struct cat_machine *m, struct snap_type *f)
{
    uint32_t zones = t->zones.n ? t->zones.n : 1;
    uint32_t markets = t->n_markets ? t->n_markets : 1;
    struct snap_offer *v = ARENA_ARRAY(d->r.arena, struct snap_offer,
                                       zones * markets);
    uint32_t n = 0;
    /* With spot alone, price: can only mean the spot price. */
    int64_t spot = t->spot_price >= 0              ? t->spot_price
                   : markets == 1 && t->price >= 0 ? t->price
                                                   : m->spot_micros_hour;

    for (uint32_t i = 0; i < zones; i++)
        for (uint32_t j = 0; j < markets; j++) {
            bool is_spot = t->n_markets && t->markets[j] == MARKET_SPOT;
            v[n++] = (struct snap_offer){
                .zone = t->zones.n ? t->zones.v[i] : "",
                .spot = is_spot,
                .price_micros_hour = is_spot         ? spot
                                     : t->price >= 0 ? t->price
                                                     : list_price(d, t, m, i),
                .room = UNLIMITED,
                .idle_timeout_ms = config_idle_ms(
                    d->c, f, t->zones.n ? t->zones.v[i] : "", is_spot),
            };
        }
    f->offers = v;
    f->n_offers = n;
}

/* What it was given was wrong, and that is reported. */
static bool reported_already(const struct raw_type *t)
{
    const struct ynode *r = ynode_get(t->map, "resources");
    const struct ynode *m = ynode_get(t->map, "machine");

    return (t->map->kind != YNODE_MAP && t->map->kind != YNODE_NULL) ||
           (m && m->kind != YNODE_TEXT && m->kind != YNODE_NULL) ||
           (r && r->kind != YNODE_NULL && (r->kind != YNODE_MAP || r->n));
}

/* Every dialect has its own key for it. */
static const struct ynode *min_at(const struct raw_type *t)
{
    static const char *const words[] = {"min", "min_workers", "minWorkers",
                                        "minReplicas"};

    for (size_t i = 0; i < COUNT(words); i++)
        if (ynode_get(t->map, words[i]))
            return ynode_get(t->map, words[i]);
    return t->key;
}

static void nothing_report(struct raw *d, const struct raw_type *t)
{
    static const char *const needs[DIALECT_RAYCLUSTER + 1] = {
        [DIALECT_DAVIT] =
            "machine (a type of the catalogue such as n1-standard-8+t4) or "
            "resources (such as {CPU: 4, memory: 16Gi, GPU: 1})",
        [DIALECT_POD_TYPES] = "CPU, memory or rayResources",
    };

    if (needs[d->c->dialect]) /* a manifest without a CPU is reported already */
        diag_add(d->r.diag, t->key, "%s needs %s", t->where,
                 needs[d->c->dialect]);
}

static void type_finish(struct raw *d, struct raw_type *t,
                        struct conf_type *ret)
{
    const struct cat_machine m = t->found;
    struct snap_type *f = &ret->fact;

    reserved_settle(d, t);
    ret->reserved = t->reserved;
    *f = (struct snap_type){
        .name = t->name,
        .provider = t->provider,
        .machine = t->machine,
        .arch = m.arch,
        .pool = t->pool,
        .min = t->min,
        .max = t->max,
        .idle_timeout_ms = t->idle_timeout_ms,
        .boot_ms = t->boot_ms,
        .priority = t->priority,
        .hosts = t->hosts,
        .unavailable = REASON_NONE,
    };
    f->resources = shares_apply(d, t, resources_merge(d, t, &m));
    f->taints = t->taints;
    ret->startup = t->startup;
    ret->kept = t->kept;
    f->labels = labels_settle(d, t, &m, f->resources);
    sold_check(d, t, &m);
    offers_make(d, t, &m, f);
    if (t->min > t->max)
        diag_add(d->r.diag, min_at(t), "%s: min %u is above max %u", t->where,
                 t->min, t->max);
    if (!*t->machine && !t->resources.n && !reported_already(t))
        nothing_report(d, t);
    ret->hash = raw_type_hash(d, t);
    ret->made = raw_type_made(d, t);
    ret->options = t->options;
    ret->n_options = t->n_options;
    ret->line = t->key ? t->key->line : 0;
    ret->column = t->key ? t->key->column : 0;
}

void raw_finish(struct raw *d)
{
    struct conf_type *types = ARENA_ARRAY(d->r.arena, struct conf_type,
                                          d->types.n);
    uint32_t configured = d->providers.n;
    struct catalogue *cat = NULL;
    bool wanted = *d->catalogue != '\0';

    for (uint32_t i = 0; i < d->types.n; i++)
        wanted = wanted || *d->types.v[i]->machine;
    if (wanted)
        cat = catalogue_open(d);
    machines_find(d, cat);
    queues_finish(d);
    for (uint32_t i = 0; i < d->types.n; i++) {
        provider_settle(d, d->types.v[i], configured);
        type_finish(d, d->types.v[i], &types[i]);
    }
    sense_check(d, types);
    d->c->types = types;
    d->c->n_types = d->types.n;
    d->c->providers = d->providers.v;
    d->c->n_providers = d->providers.n;
}
