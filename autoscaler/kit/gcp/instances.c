/*
 * instances.c - instances.get: is it there?
 */
#include <stdlib.h>
#include <string.h>

#include "../str.h"
#include "gcp.h"

int gcp_instance_find(struct gcp *g, struct davit_call *call, const char *url,
                      const char *project, const char *zone, const char *name,
                      struct davit_error *e)
{
    json_t *reply;
    char *path = kit_print("/compute/v1/projects/%s/zones/%s/instances/%s"
                           "?fields=name%%2Cstatus",
                           project, zone, name);
    char *named = kit_print("/instances/%s'", name);
    int s = gcp_send(g, call, &(struct gcp_request){"GET", url, path, NULL},
                     &reply, e);
    /* "The resource 'projects/P/zones/Z/instances/N' was not found" */
    if (s == DAVIT_NOT_FOUND && !strstr(e->text, named))
        s = DAVIT_RETRY;
    if (s == DAVIT_OK && strcmp(kit_json_text(reply, "name"), name) != 0)
        s = kit_error(e, DAVIT_RETRY, "BadReply",
                      "instances.get answered without the instance");
    json_decref(reply);
    free(path);
    free(named);
    return s;
}
