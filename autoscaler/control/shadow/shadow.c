/*
 * shadow.c - see shadow.h: a shadow, and settings whose clouds are virtual.
 */
#include "shadow.h"

#include <stdlib.h>

#include "../../base/alloc.h"
#include "inside.h"

struct shadow *shadow_new(int64_t boot_ms)
{
    struct shadow *s = MEM_NEW(struct shadow);

    pthread_mutex_init(&s->lock, NULL);
    s->boot_ms = boot_ms;
    shadow_cloud_register(s);
    return s;
}

void shadow_free(struct shadow *s)
{
    if (!s)
        return;
    shadow_cloud_register(NULL);
    for (uint32_t i = 0; i < s->vms.n; i++)
        free(s->vms.v[i]);
    free(s->vms.v);
    if (s->conf)
        shared_unref(s->conf->memory);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static const struct conf_pair *option_of(struct arena *a, const char *name)
{
    struct conf_pair *o = ARENA_NEW(a, struct conf_pair);

    *o = (struct conf_pair){.key = "of", .value = name};
    return o;
}

/* Elections and ConfigMaps are for who acts. */
void shadow_config(struct shadow *s, struct config *c)
{
    struct arena *a = &c->memory->arena;
    struct conf_provider *p = arena_copy(a, c->providers,
                                         c->n_providers * sizeof *p);
    struct conf_type *t = arena_copy(a, c->types, c->n_types * sizeof *t);

    for (uint32_t i = 0; i < c->n_providers; i++) {
        p[i].plugin = SHADOW_PLUGIN;
        p[i].options = option_of(a, p[i].name);
        p[i].n_options = 1;
    }
    for (uint32_t i = 0; i < c->n_types; i++)
        t[i].n_options = 0;
    c->providers = p;
    c->types = t;
    c->state = arena_printf(a, "%s" SHADOW_SUFFIX,
                            c->ha ? "davit.db" : c->state);
    c->ha = false;
    c->shadow = true;
    shared_ref(c->memory);
    pthread_mutex_lock(&s->lock);
    if (s->conf)
        shared_unref(s->conf->memory);
    s->conf = c;
    pthread_mutex_unlock(&s->lock);
}
