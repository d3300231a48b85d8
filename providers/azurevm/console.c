/*
 * console.c - the end of what a machine has printed: boot diagnostics keep its
 * serial console in a storage account of Azure's own, and Azure gives a signed
 * address for it (learn.microsoft.com/rest/api/compute/virtual-machines/
 * retrieve-boot-diagnostics-data).
 */
#include <stdlib.h>

#include "azurevm.h"

#define BYTES ((size_t)65536)

/* The address is its own key: no token goes there. */
static int blob_read(struct op *op, const char *url, struct davit_sink *sink,
                     davit_put_text *put)
{
    struct davit_http x = {.size = sizeof x, .method = "GET", .url = url};
    if (!kit_url_safe(url))
        return kit_error(op->e, DAVIT_NOT_FOUND, "NoConsole",
                         "Azure keeps no console of the machine");
    int st = op->v->azure.host->http(op->call, &x, op->e);
    if (st == DAVIT_OK && x.reply_status != 200)
        st = kit_error(op->e, DAVIT_RETRY, "NoConsole",
                       "the machine's console cannot be read: %d",
                       x.reply_status);
    if (st != DAVIT_OK)
        return st;
    size_t n = x.reply_len < BYTES ? x.reply_len : BYTES;
    put(sink, x.reply_body + x.reply_len - n, n);
    return DAVIT_OK;
}

int azurevm_console(void *self, struct davit_call *call, const char *id,
                    struct davit_sink *sink, davit_put_text *put,
                    struct davit_error *e)
{
    struct op op;
    struct azure_reply r;
    int st = op_begin(&op, self, call, e);
    if (st != DAVIT_OK || !name_plain(id))
        return st != DAVIT_OK ? st : DAVIT_NOT_FOUND;
    char *path = kit_print("/%s/retrieveBootDiagnosticsData", id);
    char *url = vm_url(&op, path, "&sasUriExpirationTimeInMinutes=5");
    st = azure_send(&op.v->azure, call,
                    &(struct azure_request){.method = "POST", .url = url}, &r,
                    e);
    if (st == DAVIT_OK)
        st = blob_read(&op, kit_json_text(r.json, "serialConsoleLogBlobUri"),
                       sink, put);
    json_decref(r.json);
    free(path);
    free(url);
    return st;
}
