/*
 * pods.c - the workers of the RayCluster, page by page.
 *
 * A page is dropped when its pods are read: of a pod we keep 700 bytes, the
 * API server sends ten times as much.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "k8s.h"

#define PAGE 100
#define PAGES_MAX 2000

static const char *label(const json_t *pod, const char *key)
{
    return kit_json_string(
        json_object_get(kit_json_at(pod, "metadata.labels"), key));
}

/* Hosts of one slice: what the operator calls a replica (since 1.5), or the
 * label a TPU webhook writes before that. */
static void unit_read(const json_t *pod, struct pod *p)
{
    static const char *const keys[] = {"ray.io/worker-group-replica-name",
                                       "ray.io/worker-group-replica-index",
                                       "replicaIndex"};
    for (size_t i = 0; i < 3; i++) {
        const char *v = label(pod, keys[i]);
        if (*v == '\0')
            continue;
        if (i == 0)
            snprintf(p->unit, sizeof p->unit, "%.63s", v);
        else
            snprintf(p->unit, sizeof p->unit, "%.50s/%.12s", p->group, v);
        return;
    }
}

/* Kubernetes does not say since when a container waits for something. */
static int64_t troubled_since(struct k8s *k, const char *pod)
{
    int64_t at;

    pthread_mutex_lock(&k->lock);
    at = json_integer_value(json_object_get(k->troubled, pod));
    pthread_mutex_unlock(&k->lock);
    return at;
}

static void troubled_note(struct k8s *k, const struct pod *p, int64_t now_ms)
{
    pthread_mutex_lock(&k->lock);
    if (!p->troubled)
        json_object_del(k->troubled, p->name);
    else if (!json_object_get(k->troubled, p->name))
        json_object_set_new(k->troubled, p->name, json_integer(now_ms));
    pthread_mutex_unlock(&k->lock);
}

static void pod_add(struct op *op, const json_t *j, struct pods *ps)
{
    const struct k8s *k = op->k;
    const char *name = kit_json_text(j, "metadata.name");
    if (*name == '\0' || strlen(name) >= sizeof ps->v->name)
        return;
    if (ps->n == ps->cap) {
        ps->cap = ps->cap != 0 ? ps->cap * 2 : 64;
        ps->v = kit_resize(ps->v, ps->cap, sizeof *ps->v);
    }
    struct pod *p = &ps->v[ps->n++];
    *p = (struct pod){.going = false};
    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(p->group, sizeof p->group, "%s", label(j, "ray.io/group"));
    snprintf(p->ip, sizeof p->ip, "%.63s", kit_json_text(j, "status.podIP"));
    snprintf(p->created, sizeof p->created, "%.31s",
             kit_json_text(j, "metadata.creationTimestamp"));
    unit_read(j, p);
    const struct k8s_type *t = type_of_group(k, p->group);
    struct patience patience = {
        .now_ms = op->server_ms ? op->server_ms : k->host->wall_ms(),
        .gate_ms = k->gate_ms,
        .trouble_ms = k->trouble_ms,
        .troubled_ms = troubled_since(op->k, p->name),
        .unschedulable_ms = t && t->unschedulable_ms >= 0
                                ? t->unschedulable_ms
                                : k->unschedulable_ms};
    pod_judge(j, &patience, p);
    troubled_note(op->k, p, patience.now_ms);
}

static int page_path(struct op *op, const char *next, char *path, size_t size)
{
    int n = snprintf(path, size,
                     "/api/v1/namespaces/%s/pods?limit=%d&labelSelector="
                     "ray.io%%2Fcluster%%3D%s%%2Cray.io%%2Fnode-type%%3Dworker",
                     op->k->ns, PAGE, op->k->cluster);
    if (*next != '\0') {
        snprintf(path + n, size - (size_t)n, "&continue=");
        if (!kit_url_append(path, size, next))
            return kit_error(op->e, DAVIT_RETRY, "BadReply",
                             "the list of pods goes on with a token that is "
                             "too long");
    }
    return DAVIT_OK;
}

int pods_read(struct op *op, struct pods *ret)
{
    char path[1900], next[1000] = "";
    int s = DAVIT_OK, http;
    size_t i;
    *ret = (struct pods){.n = 0};
    for (int page = 0; s == DAVIT_OK; page++) {
        json_t *reply, *pod;
        s = page_path(op, next, path, sizeof path);
        if (s == DAVIT_OK)
            s = api_send(op,
                         &(struct request){.method = "GET",
                                           .path = path,
                                           .verb = "list",
                                           .what = "pods"},
                         &reply, &http);
        if (s != DAVIT_OK)
            break;
        json_array_foreach(json_object_get(reply, "items"), i, pod)
            pod_add(op, pod, ret);
        snprintf(next, sizeof next, "%s",
                 kit_json_text(reply, "metadata.continue"));
        json_decref(reply);
        if (*next == '\0')
            break;
        if (page >= PAGES_MAX)
            s = kit_error(op->e, DAVIT_RETRY, "BadReply",
                          "the pages of pods do not end");
    }
    return s == DAVIT_NOT_FOUND ? DAVIT_RETRY : s;
}

void pods_done(struct pods *ps)
{
    free(ps->v);
    *ps = (struct pods){.n = 0};
}

struct pod *pod_find(const struct pods *ps, const char *name)
{
    for (size_t i = 0; i < ps->n; i++)
        if (strcmp(ps->v[i].name, name) == 0)
            return &ps->v[i];
    return NULL;
}
