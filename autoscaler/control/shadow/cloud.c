/*
 * cloud.c - the provider "shadow": machines in memory that boot and end.
 *
 * The ledger keeps them over a restart, as it keeps real ones: shadow_restore()
 * makes them again from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../cloud/cloud.h"
#include "../../provider.h"
#include "inside.h"

struct handle {
    struct shadow *shadow;
    char provider[48];
};

static struct shadow *of_process;

/* ---- machines */

int64_t shadow_boot_of(const struct shadow *s, const char *type)
{
    for (uint32_t i = 0; s->conf && i < s->conf->n_types; i++)
        if (strcmp(s->conf->types[i].fact.name, type) == 0 &&
            s->conf->types[i].fact.boot_ms >= 0)
            return s->conf->types[i].fact.boot_ms;
    return s->boot_ms;
}

void shadow_vm_add(struct shadow *s, const struct vm *vm)
{
    struct vm *new = MEM_NEW(struct vm);

    *new = *vm;
    VEC_PUSH(NULL, &s->vms, new);
    s->version++;
}

static void vm_put(const struct vm *vm, struct davit_sink *sink,
                   davit_put_machine *put)
{
    struct davit_machine out = {.size = sizeof out,
                                .id = vm->id,
                                .request_id = vm->request_id,
                                .offer = vm->type,
                                .zone = vm->zone,
                                .address = "",
                                .spot = vm->spot,
                                .phase = vm->ready_ms <= clock_wall_ms()
                                             ? DAVIT_RUNNING
                                             : DAVIT_STARTING};

    put(sink, &out);
}

/* ---- the provider */

static int do_open(const struct davit_host *host,
                   const struct davit_setup *setup, void **ret_self,
                   struct davit_error *e)
{
    struct handle *h = MEM_NEW(struct handle);

    (void)host;
    (void)e;
    h->shadow = of_process;
    for (size_t i = 0; i < setup->n_options; i++)
        if (strcmp(setup->options[i].key, "of") == 0)
            snprintf(h->provider, sizeof h->provider, "%s",
                     setup->options[i].value);
    *ret_self = h;
    return DAVIT_OK;
}

static void do_close(void *self)
{
    free(self);
}

static int do_list(void *self, struct davit_call *call, struct davit_sink *sink,
                   davit_put_machine *put, struct davit_error *e)
{
    const struct handle *h = self;
    struct shadow *s = h->shadow;

    (void)call;
    (void)e;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->vms.n; i++)
        if (strcmp(s->vms.v[i]->provider, h->provider) == 0)
            vm_put(s->vms.v[i], sink, put);
    pthread_mutex_unlock(&s->lock);
    return DAVIT_OK;
}

static uint32_t launched_before(const struct shadow *s, const char *request_id,
                                struct davit_sink *sink, davit_put_machine *put)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->vms.n; i++)
        if (strcmp(s->vms.v[i]->request_id, request_id) == 0) {
            vm_put(s->vms.v[i], sink, put);
            n++;
        }
    return n;
}

static int do_launch(void *self, struct davit_call *call,
                     const struct davit_launch *l, struct davit_sink *sink,
                     davit_put_machine *put, struct davit_error *e)
{
    const struct handle *h = self;
    struct shadow *s = h->shadow;
    struct vm vm = {.spot = l->spot};

    (void)call;
    (void)e;
    pthread_mutex_lock(&s->lock);
    snprintf(vm.request_id, sizeof vm.request_id, "%s", l->request_id);
    snprintf(vm.type, sizeof vm.type, "%s", l->offer);
    snprintf(vm.zone, sizeof vm.zone, "%s", l->zone);
    snprintf(vm.provider, sizeof vm.provider, "%s", h->provider);
    vm.ready_ms = clock_wall_ms() + shadow_boot_of(s, vm.type);
    if (launched_before(s, l->request_id, sink, put) == 0)
        for (uint32_t i = 0; i < l->count; i++) {
            snprintf(vm.id, sizeof vm.id, "shadow-%.40s-%u", l->request_id, i);
            shadow_vm_add(s, &vm);
            vm_put(&vm, sink, put);
        }
    pthread_mutex_unlock(&s->lock);
    return DAVIT_OK;
}

static int vm_end(struct shadow *s, const char *id)
{
    for (uint32_t i = 0; i < s->vms.n; i++)
        if (strcmp(s->vms.v[i]->id, id) == 0) {
            free(s->vms.v[i]);
            s->vms.v[i] = s->vms.v[--s->vms.n];
            s->version++;
            return DAVIT_OK;
        }
    return DAVIT_NOT_FOUND;
}

static int do_terminate(void *self, struct davit_call *call,
                        const char *const *ids, size_t n_ids,
                        struct davit_sink *sink, davit_put_done *done,
                        struct davit_error *e)
{
    struct shadow *s = ((const struct handle *)self)->shadow;

    (void)call;
    (void)e;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < n_ids; i++)
        done(sink, ids[i], vm_end(s, ids[i]));
    pthread_mutex_unlock(&s->lock);
    return DAVIT_OK;
}

static uint32_t do_settle_ms(void *self)
{
    (void)self;
    return 1000;
}

void shadow_cloud_register(struct shadow *s)
{
    static const struct davit_kv options[] = {
        {"of", "the provider in whose place it is"}, {0}};
    static const struct davit_provider table = {.size = sizeof table,
                                                .name = SHADOW_PLUGIN,
                                                .version = DAVIT_VERSION,
                                                .caps = DAVIT_CAP_SPOT,
                                                .options = options,
                                                .open = do_open,
                                                .close = do_close,
                                                .list = do_list,
                                                .launch = do_launch,
                                                .terminate = do_terminate,
                                                .settle_ms = do_settle_ms};

    of_process = s;
    if (s)
        plugin_builtin(&table);
}
