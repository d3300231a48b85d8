/*
 * end.c - one DELETE for each.  Interface, address and disks end with the
 * machine (deleteOption), and it is not shut down gently first: its work is
 * drained, and each minute is billed.  And one GET for each that a list lacks.
 */
#include <stdlib.h>
#include <string.h>

#include "azurevm.h"

static int end_one(struct op *op, const char *id)
{
    struct azure_reply r;
    if (!name_plain(id))
        return DAVIT_NOT_FOUND; /* no id of ours */
    char *path = kit_print("/%s", id);
    char *url = vm_url(op, path, "&forceDeletion=true");
    int st = azure_send(&op->v->azure, op->call,
                        &(struct azure_request){.method = "DELETE", .url = url},
                        &r, op->e);
    json_decref(r.json);
    free(path);
    free(url);
    return r.status == 404 || r.status == 204 ? DAVIT_NOT_FOUND : st;
}

int azurevm_terminate(void *self, struct davit_call *call,
                      const char *const *ids, size_t n_ids,
                      struct davit_sink *sink, davit_put_done *done,
                      struct davit_error *e)
{
    struct op op;
    int worst = op_begin(&op, self, call, e);
    if (worst != DAVIT_OK)
        return worst;
    for (size_t i = 0; i < n_ids; i++) {
        int st = end_one(&op, ids[i]);
        if (st == DAVIT_AUTH || st == DAVIT_THROTTLED || st == DAVIT_CANCELLED)
            return st; /* so it would be with the others */
        done(sink, ids[i], st);
        if (st != DAVIT_OK && st != DAVIT_NOT_FOUND)
            worst = st;
    }
    return worst;
}

/* Of a group, a subscription or a provider that is not found, this is no word
 * on the machine. */
static int find_one(struct op *op, const char *id)
{
    json_t *vm;
    char *path = kit_print("/%s", id);
    char *url = vm_url(op, path, "");
    int st = azure_get(&op->v->azure, op->call, url, &vm, op->e);
    bool none = st != DAVIT_OK && strcmp(op->e->code, "ResourceNotFound") == 0;
    json_decref(vm);
    free(path);
    free(url);
    return none ? DAVIT_NOT_FOUND : st == DAVIT_NOT_FOUND ? DAVIT_RETRY : st;
}

int azurevm_find(void *self, struct davit_call *call, const char *const *ids,
                 size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                 struct davit_error *e)
{
    struct op op;
    int st = op_begin(&op, self, call, e);
    for (size_t i = 0; st == DAVIT_OK && i < n_ids; i++) {
        if (!name_plain(ids[i]))
            continue;
        int one = find_one(&op, ids[i]);
        if (one == DAVIT_OK || one == DAVIT_NOT_FOUND)
            done(sink, ids[i], one);
        else
            st = one; /* so it would be with the others */
    }
    return st;
}
