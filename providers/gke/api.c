/*
 * api.c - one request to Google, with a token; and operations waited for.
 *
 * Nothing is repeated here: every call of ours may be, by the daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gke.h"

#define POLL_FIRST_MS 100
#define POLL_MOST_MS 2000

int api_send(struct op *op, const struct request *r, json_t **ret)
{
    struct gke *g = op->g;
    char *path = kit_print("/%s/%s%s%s", r->compute ? "compute/v1" : "v1",
                           r->path, r->query[0] != '\0' ? "?" : "", r->query);
    int s = gcp_send(
        &g->gcp, op->call,
        &(struct gcp_request){r->method,
                              r->compute ? g->compute_url : g->container_url,
                              path, r->body},
        ret, op->e);
    free(path);
    return s;
}

int api_post_group(struct op *op, const struct group *in, const char *method,
                   json_t *body, int64_t salt, json_t **ret)
{
    char path[400], query[60] = "requestId=";
    char *list = kit_must(
        json_dumps(json_object_get(body, "instances"), JSON_COMPACT));
    char *salted = kit_print("%s%lld", list, (long long)salt);
    gcp_request_id(query + strlen(query), salted, strlen(salted));
    snprintf(path, sizeof path,
             "projects/%s/zones/%s/instanceGroupManagers/%s/%s", in->project,
             in->zone, in->name, method);
    int s = api_send(op, &(struct request){"POST", true, path, query, body},
                     ret);
    free(list);
    free(salted);
    json_decref(body);
    return s;
}

static bool op_done(const json_t *o)
{
    return strcmp(kit_json_text(o, "status"), "DONE") == 0;
}

/* Until done or out of time; *ret is its last state. */
static int poll(struct op *op, const struct request *r, const json_t *first,
                json_t **ret)
{
    uint32_t wait = POLL_FIRST_MS;
    json_t *now = json_incref((json_t *)first);
    int s = DAVIT_OK;
    while (!op_done(now)) {
        json_decref(now);
        now = NULL;
        if (!op->g->host->sleep(op->call, wait)) {
            s = kit_error(op->e, DAVIT_CANCELLED, "",
                          "time was over while waiting for %.120s", r->path);
            break;
        }
        wait = wait * 2 < POLL_MOST_MS ? wait * 2 : POLL_MOST_MS;
        s = api_send(op, r, &now);
        /* It was accepted; that it is forgotten already is no failure. */
        if (s == DAVIT_NOT_FOUND) {
            s = DAVIT_OK;
            break;
        }
        if (s != DAVIT_OK)
            break;
    }
    *ret = now;
    return s;
}

static bool name_plain(const char *name)
{
    return *name != '\0' && strlen(name) < 128 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_") == strlen(name);
}

/* Of compute, else of container; `where` is what its operations are below.
 * Google has accepted it: only the operation itself can say that it was not
 * done.  Whatever became of our question for it, it is in doubt: RETRY. */
static int wait_for(struct op *op, bool compute, const char *where,
                    const json_t *reply, bool *ret_told)
{
    char path[400];
    json_t *last;
    const char *name = kit_json_text(reply, "name");
    *ret_told = false;
    if (!name_plain(name))
        return kit_error(op->e, DAVIT_RETRY, "BadReply",
                         "the reply is not an operation with a name");
    snprintf(path, sizeof path, "projects/%s/operations/%s", where, name);
    int s = poll(op, &(struct request){"GET", compute, path, "", NULL}, reply,
                 &last);
    *ret_told = s == DAVIT_OK;
    if (*ret_told)
        s = compute ? gcp_error_list(json_object_get(last, "error"), op->e)
                    : gcp_error_operation(last, op->e);
    else if (s != DAVIT_CANCELLED)
        s = DAVIT_RETRY;
    json_decref(last);
    return s;
}

int api_wait_zone(struct op *op, const struct group *in, const json_t *reply,
                  bool *ret_told)
{
    char where[130];
    snprintf(where, sizeof where, "%s/zones/%s", in->project, in->zone);
    return wait_for(op, true, where, reply, ret_told);
}

int api_wait_container(struct op *op, const json_t *reply)
{
    char where[150];
    bool told;
    snprintf(where, sizeof where, "%s/locations/%s", op->g->project,
             op->g->location);
    return wait_for(op, false, where, reply, &told);
}
