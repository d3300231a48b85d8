/*
 * list.c - the machines of the resource group that carry our cluster's tag.
 */
#include <stdlib.h>

#include "azurevm.h"

static int ours_read(struct op *op, json_t **ret)
{
    json_t *all, *vm;
    size_t i;
    char *url = vm_url(op, "", "");
    int st = azure_pages(&op->v->azure, op->call, url, &all, op->e);
    free(url);
    *ret = kit_must(json_array());
    json_array_foreach(all, i, vm)
        if (vm_ours(op->v, vm))
            json_array_append(*ret, vm);
    json_decref(all);
    return st;
}

/* A machine that failed is asked for itself when the lists do not tell why. */
static int put_one(struct op *op, const json_t *vm, const json_t *powers,
                   const json_t *health, struct davit_sink *sink,
                   davit_put_machine *put)
{
    const char *name = kit_json_text(vm, "name");
    char *key = name_small(name);
    json_t *view = json_incref(json_object_get(powers, key));
    int st = DAVIT_OK;
    if (!view && vm_unclear(vm))
        st = view_get(op, name, &view);
    if (st == DAVIT_OK)
        vm_put(op, vm, view, health, sink, put);
    json_decref(view);
    free(key);
    return st == DAVIT_NOT_FOUND ? DAVIT_OK : st;
}

int azurevm_list(void *self, struct davit_call *call, struct davit_sink *sink,
                 davit_put_machine *put, struct davit_error *e)
{
    struct op op;
    json_t *vms = NULL, *powers = NULL, *health = NULL, *vm;
    size_t i;
    int st = op_begin(&op, self, call, e);
    if (st == DAVIT_OK)
        st = ours_read(&op, &vms);
    if (st == DAVIT_OK && json_array_size(vms) > 0)
        st = power_read(&op, vms, &powers);
    if (st == DAVIT_OK && json_array_size(vms) > 0)
        health = health_read(&op);
    json_array_foreach(vms, i, vm)
        if (st == DAVIT_OK)
            st = put_one(&op, vm, powers, health, sink, put);
    json_decref(vms);
    json_decref(powers);
    json_decref(health);
    return st;
}
