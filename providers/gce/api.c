/*
 * api.c - requests to Compute Engine, and its zones' operations waited for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gce.h"

#define POLL_FIRST_MS 200
#define POLL_MOST_MS 2000

bool name_plain(const char *name)
{
    return *name != '\0' && strlen(name) < 128 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_") == strlen(name);
}

char *instance_path(const char *id)
{
    char zone[64];
    const char *slash = strchr(id, '/');
    if (!slash || (size_t)(slash - id) >= sizeof zone)
        return NULL;
    snprintf(zone, sizeof zone, "%.*s", (int)(slash - id), id);
    if (!name_plain(zone) || !name_plain(slash + 1))
        return NULL;
    return kit_print("zones/%s/instances/%s", zone, slash + 1);
}

int api_send(struct op *op, const char *method, const char *path, json_t *body,
             json_t **ret)
{
    struct gce *g = op->g;
    char *whole = kit_print("/compute/v1/projects/%s/%s", g->project, path);
    *ret = NULL;
    int s = gcp_send(&g->gcp, op->call,
                     &(struct gcp_request){method, g->url, whole, body}, ret,
                     op->e);
    free(whole);
    return s;
}

int api_wait(struct op *op, const char *zone, const char *operation,
             bool *ret_told)
{
    *ret_told = false;
    uint32_t wait = POLL_FIRST_MS;
    if (!name_plain(operation))
        return kit_error(op->e, DAVIT_RETRY, "BadReply",
                         "the reply is not an operation with a name");
    char *path = kit_print("zones/%s/operations/%s", zone, operation);
    int s = DAVIT_OK;
    for (bool done = false; !done;) {
        json_t *now;
        s = api_send(op, "GET", path, NULL, &now);
        /* It was accepted; that it is forgotten already is no failure. */
        done = s != DAVIT_OK ||
               strcmp(kit_json_text(now, "status"), "DONE") == 0;
        *ret_told = s == DAVIT_OK && done;
        if (s == DAVIT_NOT_FOUND)
            s = DAVIT_OK;
        else if (*ret_told)
            s = gcp_error_list(json_object_get(now, "error"), op->e);
        else if (s != DAVIT_OK && s != DAVIT_CANCELLED)
            s = DAVIT_RETRY; /* in doubt, whatever became of our question */
        json_decref(now);
        if (!done && !op->g->gcp.host->sleep(op->call, wait)) {
            s = kit_error(op->e, DAVIT_CANCELLED, "",
                          "time was over while waiting for %.100s", path);
            break;
        }
        wait = wait * 2 < POLL_MOST_MS ? wait * 2 : POLL_MOST_MS;
    }
    free(path);
    return s;
}
