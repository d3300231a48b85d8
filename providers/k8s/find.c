/*
 * find.c - is this machine there?  A pod is asked for by its name and nothing else, so
 * that a list that lost a page or a label is found out; by a list of one, for which the
 * right to list is enough.  A replica that is promised has no pod: it is there while a
 * list has it.
 *
 * Another API server, or another namespace, has no such pod either: that is no word on
 * it.  So the RayCluster must be there.
 */
#include <stdio.h>
#include <string.h>

#include "k8s.h"

/* 404 is of the path, not of the pod. */
static int pod_asked(struct op *op, const char *name, bool *ret_there)
{
    char path[600];
    json_t *reply;
    int http, n = snprintf(path, sizeof path,
                           "/api/v1/namespaces/%s/pods?fieldSelector="
                           "metadata.name%%3D",
                           op->k->ns);
    if (n >= (int)sizeof path || !kit_url_append(path, sizeof path, name))
        return kit_error(op->e, DAVIT_INVALID, "id", "%.60s is no pod's name",
                         name);
    int s = api_send(
        op,
        &(struct request){
            .method = "GET", .path = path, .verb = "list", .what = "pods"},
        &reply, &http);
    if (s != DAVIT_OK)
        return s == DAVIT_NOT_FOUND ? DAVIT_RETRY : s;
    const json_t *items = json_object_get(reply, "items");
    const char *one = kit_json_text(json_array_get(items, 0), "metadata.name");
    *ret_there = json_array_size(items) > 0;
    if (!json_is_array(items) || (*ret_there && strcmp(one, name) != 0))
        s = kit_error(op->e, DAVIT_RETRY, "BadReply",
                      "a list of pod %.60s is none of it", name);
    json_decref(reply);
    return s;
}

/* sink: a set of ids. */
static void promise_keep(struct davit_sink *sink, const struct davit_machine *m)
{
    char middle[REQUEST_MAX + 1];

    if (promised_of(m->id, middle, sizeof middle))
        json_object_set_new((json_t *)(void *)sink, m->id, json_true());
}

static int asked(struct op *op, const char *const *ids, size_t n_ids,
                 const json_t *promises, struct davit_sink *sink,
                 davit_put_done *done)
{
    int s = DAVIT_OK;

    for (size_t i = 0; i < n_ids && s == DAVIT_OK; i++) {
        char middle[REQUEST_MAX + 1];
        bool there = json_object_get(promises, ids[i]);

        if (!promised_of(ids[i], middle, sizeof middle))
            s = pod_asked(op, ids[i], &there);
        if (s == DAVIT_OK)
            done(sink, ids[i], there ? DAVIT_OK : DAVIT_NOT_FOUND);
    }
    return s;
}

int k8s_find(void *self, struct davit_call *call, const char *const *ids,
             size_t n_ids, struct davit_sink *sink, davit_put_done *done,
             struct davit_error *e)
{
    struct op op = {.k = self, .call = call, .e = e};
    json_t *promises = json_object();
    int s = k8s_list(self, call, (struct davit_sink *)(void *)promises,
                     promise_keep, e);

    if (s == DAVIT_OK)
        s = asked(&op, ids, n_ids, promises, sink, done);
    json_decref(promises);
    return s == DAVIT_NOT_FOUND ? DAVIT_RETRY : s;
}
