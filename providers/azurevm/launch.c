/*
 * launch.c - one PUT for each machine, under a name made of the request id and
 * a number, and only where there is none of that name (If-None-Match: *).
 *
 * A repeated launch so makes what is missing and finds the rest.  What becomes
 * of a machine that was accepted, its own state tells: no operation is followed,
 * so none is lost with this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "azurevm.h"

static void put_starting(const struct vm_type *t, const struct davit_launch *l,
                         const char *name, struct davit_sink *sink,
                         davit_put_machine *put)
{
    put(sink, &(struct davit_machine){.size = sizeof(struct davit_machine),
                                      .id = name,
                                      .request_id = l->request_id,
                                      .offer = t->name,
                                      .zone = l->zone,
                                      .address = "",
                                      .phase = DAVIT_STARTING,
                                      .spot = l->spot});
}

/* The machine that has the name already: an earlier try of ours.  When there is
 * none, the refusal of the PUT stands. */
static int put_existing(struct op *op, const struct davit_launch *l,
                        const char *name, int refused, struct davit_sink *sink,
                        davit_put_machine *put)
{
    struct davit_error why = *op->e;
    struct azure_reply r;
    char *path = kit_print("/%s", name);
    char *url = vm_url(op, path, "&$expand=instanceView");
    int st = azure_send(&op->v->azure, op->call,
                        &(struct azure_request){.method = "GET", .url = url},
                        &r, op->e);
    free(path);
    free(url);
    const json_t *tags = json_object_get(r.json, "tags");
    if (r.status == 404) {
        *op->e = why;
        st = refused;
    } else if (st == DAVIT_OK &&
               (!vm_ours(op->v, r.json) ||
                strcmp(kit_json_string(json_object_get(tags, TAG_REQUEST)),
                       l->request_id) != 0)) {
        st = kit_error(op->e, DAVIT_INVALID, "NameTaken",
                       "machine %s of the resource group is not of this "
                       "request",
                       name);
    } else if (st == DAVIT_OK) {
        vm_put(op, r.json, kit_json_at(r.json, "properties.instanceView"), NULL,
               sink, put);
    }
    json_decref(r.json);
    return st;
}

/* A repetition finds its machines by one list, and does not ask for each. */
static bool listed(struct op *op, const struct davit_launch *l,
                   const char *name, const json_t *there,
                   struct davit_sink *sink, davit_put_machine *put)
{
    char *key = name_small(name);
    const json_t *vm = json_object_get(there, key);
    const json_t *tags = json_object_get(vm, "tags");
    bool found = vm && vm_ours(op->v, vm) &&
                 strcmp(kit_json_string(json_object_get(tags, TAG_REQUEST)),
                        l->request_id) == 0;
    free(key);
    if (found)
        vm_put(op, vm, NULL, NULL, sink, put);
    return found;
}

static int there_read(struct op *op, json_t **ret)
{
    json_t *all = NULL, *vm;
    size_t i;
    char *url = vm_url(op, "", "");
    int st = azure_pages(&op->v->azure, op->call, url, &all, op->e);
    free(url);
    *ret = kit_must(json_object());
    json_array_foreach(all, i, vm) {
        char *key = name_small(kit_json_text(vm, "name"));
        json_object_set(*ret, key, vm);
        free(key);
    }
    json_decref(all);
    return st;
}

static int make_one(struct op *op, const struct vm_type *t,
                    const struct davit_launch *l, const char *script,
                    uint32_t i, json_t **there, struct davit_sink *sink,
                    davit_put_machine *put)
{
    char name[NAME_SIZE];
    json_t *body;
    struct azure_reply r;
    kit_join_name(t->name, l->request_id, i, name);
    if (*there && listed(op, l, name, *there, sink, put))
        return DAVIT_OK;
    int st = body_make(op, t, l, name, script, &body);
    if (st != DAVIT_OK)
        return st;
    char *path = kit_print("/%s", name);
    char *url = vm_url(op, path, "");
    st = azure_send(
        &op->v->azure, op->call,
        &(struct azure_request){
            .method = "PUT", .url = url, .if_none = true, .body = body},
        &r, op->e);
    json_decref(r.json);
    json_decref(body);
    free(path);
    free(url);
    /* 409: it is being made, or Azure is at it in another way. */
    if (r.status == 412 || (r.status == 409 && st == DAVIT_RETRY)) {
        st = put_existing(op, l, name, st, sink, put);
        return st == DAVIT_OK && !*there && i + 1 < l->count
                   ? there_read(op, there)
                   : st;
    }
    if (st == DAVIT_OK)
        put_starting(t, l, name, sink, put);
    return st;
}

static int launch_check(const struct op *op, const struct davit_launch *l,
                        const struct vm_type *t)
{
    if (!t)
        return kit_error(op->e, DAVIT_INVALID, "UnknownType",
                         "there is no node type %.60s", l->offer);
    if (!zone_number(l->zone))
        return kit_error(op->e, DAVIT_INVALID, "UnknownZone",
                         "a zone is a number, such as 1 or westeurope-1, not "
                         "%.40s",
                         l->zone);
    if (l->count == 0 || l->count > LAUNCH_MAX)
        return kit_error(op->e, DAVIT_INVALID, "BadCount",
                         "a launch is of 1 to %d machines, not %u", LAUNCH_MAX,
                         l->count);
    return DAVIT_OK;
}

int azurevm_launch(void *self, struct davit_call *call,
                   const struct davit_launch *l, struct davit_sink *sink,
                   davit_put_machine *put, struct davit_error *e)
{
    struct op op;
    char *script = NULL;
    json_t *there = NULL;
    const struct vm_type *t = type_find(self, l->offer);
    int st = op_begin(&op, self, call, e);
    if (st == DAVIT_OK)
        st = launch_check(&op, l, t);
    if (st == DAVIT_OK)
        st = join_script(&op, t, l, &script);
    for (uint32_t i = 0; i < l->count && st == DAVIT_OK; i++)
        st = make_one(&op, t, l, script, i, &there, sink, put);
    json_decref(there);
    free(script);
    return st;
}
