/*
 * end.c - instances.delete, one call for each; the zone is in the id.  And
 * instances.get, for those that a list lacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"

static int end_one(struct op *op, const char *id)
{
    char uuid[37], *instance = instance_path(id);
    json_t *reply;
    if (!instance)
        return DAVIT_NOT_FOUND;
    /* Google answers an id that it knows with its first operation, also one that
     * failed: each try has its own.  To delete twice does no harm. */
    char *salted = kit_print("%s/%lld", id,
                             (long long)op->g->gcp.host->wall_ms());
    gcp_request_id(uuid, salted, strlen(salted));
    free(salted);
    char *path = kit_print("%s?requestId=%s", instance, uuid);
    int s = api_send(op, "DELETE", path, NULL, &reply);
    json_decref(reply);
    free(instance);
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

int gce_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e)
{
    struct gce *g = self;
    for (size_t i = 0; i < n_ids; i++) {
        char zone[64];
        const char *slash = strchr(ids[i], '/');
        if (!slash || (size_t)(slash - ids[i]) >= sizeof zone)
            continue;
        snprintf(zone, sizeof zone, "%.*s", (int)(slash - ids[i]), ids[i]);
        if (!name_plain(zone) || !name_plain(slash + 1))
            continue;
        int s = gcp_instance_find(&g->gcp, call, g->url, g->project, zone,
                                  slash + 1, e);
        if (s != DAVIT_OK && s != DAVIT_NOT_FOUND)
            return s; /* so it would be with the others */
        done(sink, ids[i], s);
    }
    return DAVIT_OK;
}
