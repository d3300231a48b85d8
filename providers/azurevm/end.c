/*
 * end.c - one DELETE for each.  Interface, address and disks end with the
 * machine (deleteOption), and it is not shut down gently first: its work is
 * drained, and each minute is billed.
 */
#include <stdlib.h>

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
