/*
 * cloud.c - pools that the person names, as their cloud describes them.
 *
 * A configuration of nothing but these pools is opened like any other, and the
 * plug-in asked for its offers: what machines of a pool have, where, and with
 * which labels and taints.  There is no call that lists pools.
 */
#include <stdio.h>
#include <string.h>

#include "../../config/config.h"
#include "../../model/accel.h"
#include "../ask.h"
#include "init.h"

enum { PATIENCE_MS = 30000 };

/* The settings as they were given, into f and into the one that is asked. */
static bool settings(struct found *f, const char *provider,
                     const struct cli_list *sets)
{
    struct init_provider *p = init_provider_of(f, provider);

    for (uint32_t i = 0; i < sets->n; i++) {
        const char *equals = strchr(sets->v[i], '=');
        if (!equals || equals == sets->v[i]) {
            fprintf(stderr, "davit: --set %s: must be KEY=VALUE\n", sets->v[i]);
            return false;
        }
        init_option(
            f, p,
            arena_strndup(&f->arena, sets->v[i], (size_t)(equals - sets->v[i])),
            equals + 1);
        if (!*f->cluster && strncmp(sets->v[i], "cluster=", 8) == 0)
            f->cluster = equals + 1;
    }
    return true;
}

/* A configuration that is only there to ask with. */
static struct config *to_ask_with(struct found *f, const char *provider,
                                  const struct cli_list *sets,
                                  const struct cli_list *pools)
{
    static const struct qty one = {"CPU", 10000};
    struct found g = {.catalogue = f->catalogue,
                      .cluster = *f->cluster ? f->cluster : "first",
                      .ray = "",
                      .kubeconfig = "",
                      .context = "",
                      .idle_timeout_ms = -1,
                      .max_nodes = UNLIMITED};
    struct config *c = NULL;
    struct buf errors;
    const char *text;

    buf_init(&errors, 1 << 20);
    settings(&g, provider, sets);
    for (uint32_t i = 0; i < pools->n; i++) {
        struct init_pool *p = init_pool_new(&g, pools->v[i]);
        p->provider = provider;
        p->pool = p->name;
        VEC_PUSH(&g.arena, &p->resources, one);
    }
    text = init_text(&g);
    if (config_parse("--pool, --set", text, strlen(text), &c, &errors) != ST_OK)
        fprintf(stderr, "%s", errors.s);
    buf_done(&errors);
    arena_done(&g.arena);
    return c;
}

static const char *effect_text(enum taint_effect e)
{
    return e == EFFECT_NO_EXECUTE           ? "NoExecute"
           : e == EFFECT_PREFER_NO_SCHEDULE ? "PreferNoSchedule"
                                            : "NoSchedule";
}

/* The accelerator, or a label that the pool's owner chose. */
static void label(struct found *f, struct init_pool *p, const struct pair *l)
{
    const char *card = accel_type_of_label(l->key, l->value);
    struct pair own = {arena_strdup(&f->arena, l->key),
                       arena_strdup(&f->arena, l->value)};

    if (*card)
        p->accelerator = arena_strdup(&f->arena, card);
    else if (!init_label_is_systems(l->key))
        VEC_PUSH(&f->arena, &p->labels, own);
}

static bool has_gpu(const struct init_pool *p)
{
    for (uint32_t i = 0; i < p->resources.n; i++)
        if (strcmp(p->resources.v[i].name, "GPU") == 0)
            return true;
    return false;
}

static void describe(struct found *f, struct init_pool *p,
                     const struct call_offer *o)
{
    for (uint32_t i = 0; i < o->resources.n && !p->seen; i++) {
        struct qty q = {arena_strdup(&f->arena, o->resources.v[i].name),
                        o->resources.v[i].amount};
        if (!accel_type_of_resource(q.name))
            VEC_PUSH(&f->arena, &p->resources, q);
        else
            p->accelerator = arena_strdup(&f->arena,
                                          accel_type_of_resource(q.name));
    }
    for (uint32_t i = 0; i < o->labels.n && !p->seen; i++)
        label(f, p, &o->labels.v[i]);
    for (uint32_t i = 0; i < o->taints.n && !p->seen; i++) {
        const struct taint *t = &o->taints.v[i];
        VEC_PUSH(
            &f->arena, &p->taints,
            arena_printf(&f->arena, "%s%s%s:%s", t->key, *t->value ? "=" : "",
                         t->value, effect_text(t->effect)));
    }
    if (*o->zone && !init_has_zone(p, o->zone))
        VEC_PUSH(&f->arena, &p->zones, arena_strdup(&f->arena, o->zone));
    if (*o->note)
        INIT_UNKNOWN(f, "pool %s%s%s: %s", p->name, *o->zone ? " in " : "",
                     o->zone, o->note);
    p->price_micros_hour = o->price_micros_hour;
    p->spot |= o->spot;
    p->on_demand |= !o->spot;
    p->seen++;
}

/* What a kubelet leaves of a disk is no answer to what the machine has. */
static bool has_cpu(const struct init_pool *p)
{
    for (uint32_t i = 0; i < p->resources.n; i++)
        if (strcmp(p->resources.v[i].name, "CPU") == 0)
            return true;
    return false;
}

static void pool(struct found *f, const char *provider, const char *name,
                 const struct call *call)
{
    struct init_pool *p = init_pool_new(f, name);

    p->provider = arena_strdup(&f->arena, provider);
    p->pool = p->name;
    for (uint32_t i = 0; i < call->offers.n; i++)
        if (strcmp(call->offers.v[i].type, name) == 0)
            describe(f, p, &call->offers.v[i]);
    if (strcmp(provider, "gke") != 0 && p->zones.n > 1)
        p->zones.n = 0; /* of a group over several zones the cloud chooses */
    if (!has_cpu(p)) {
        struct qty one = {"CPU", 10000};
        VEC_PUSH(&f->arena, &p->resources, one);
        INIT_UNKNOWN(f,
                     "pool %s: the cloud does not say what its machines "
                     "have; put machine: or resources: in",
                     name);
    }
    if (has_gpu(p) && !*p->accelerator)
        INIT_UNKNOWN(f, "node_types.%s.accelerator_type: which GPU it is",
                     name);
    INIT_FOUND(f, "pool %s of %s, %u zones", name, provider, p->zones.n);
    INIT_UNKNOWN(f, "node_types.%s.max: how many machines at most", name);
    p->seen = 0; /* how many there are now nobody said */
}

bool init_cloud(struct found *f, const char *provider,
                const struct cli_list *sets, const struct cli_list *pools)
{
    struct config *c;
    struct provider *p = NULL;
    struct call *call = NULL;
    struct buf errors;
    bool good = false;

    if (!settings(f, provider, sets))
        return false;
    c = to_ask_with(f, provider, sets, pools);
    if (!c)
        return false;
    buf_init(&errors, 1 << 20);
    if (provider_open(c, &c->providers[0], &p, &errors) != ST_OK)
        fprintf(stderr, "%s", errors.s);
    else if (!(call = ask_provider(p, CALL_OFFERS, PATIENCE_MS)))
        fprintf(stderr, "davit: %s does not answer within %d s\n", provider,
                PATIENCE_MS / 1000);
    else if (call->status != ST_OK)
        fprintf(stderr, "davit: %s: %s: %s\n", provider,
                status_name(call->status), call->err.text);
    else
        good = true;
    for (uint32_t i = 0; good && i < pools->n; i++)
        pool(f, provider, pools->v[i], call);
    if (call) {
        call_free(call);
        provider_close(p);
        config_free(c);
    }
    buf_done(&errors);
    return good;
}
