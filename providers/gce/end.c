/*
 * end.c - instances.delete, one call for each; the zone is in the id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"

static int end_one(struct op *op, const char *id)
{
    char zone[64], uuid[37];
    const char *slash = strchr(id, '/');
    json_t *reply;
    if (!slash || (size_t)(slash - id) >= sizeof zone)
        return DAVIT_NOT_FOUND; /* no id of ours */
    snprintf(zone, sizeof zone, "%.*s", (int)(slash - id), id);
    if (!name_plain(zone) || !name_plain(slash + 1))
        return DAVIT_NOT_FOUND;
    gcp_request_id(uuid, id, strlen(id));
    char *path = kit_print("zones/%s/instances/%s?requestId=%s", zone,
                           slash + 1, uuid);
    int s = api_send(op, "DELETE", path, NULL, &reply);
    json_decref(reply);
    free(path);
    return s;
}

int gce_terminate(void *self, struct davit_call *call, const char *const *ids,
                  size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                  struct davit_error *e)
{
    struct op op = {self, call, e};
    int worst = DAVIT_OK;
    for (size_t i = 0; i < n_ids; i++) {
        int s = end_one(&op, ids[i]);
        if (s == DAVIT_AUTH || s == DAVIT_THROTTLED || s == DAVIT_CANCELLED)
            return s; /* so it would be with the others */
        done(sink, ids[i], s);
        if (s != DAVIT_OK && s != DAVIT_NOT_FOUND)
            worst = s;
    }
    return worst;
}
