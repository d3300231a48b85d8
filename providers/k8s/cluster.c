/*
 * cluster.c - the RayCluster: read with GET, written with one JSON patch.
 *
 * The patch carries the resourceVersion that was read, so that it changes this
 * very object or nothing; and it tests each group's name at its place in the
 * list.  A pod that is named in workersToDelete is deleted by the operator; to
 * lower replicas alone deletes nobody, and to name one without lowering them
 * has it made again: both always go together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "k8s.h"

static char *path_of(const struct k8s *k, const char *query, char *ret,
                     size_t size)
{
    snprintf(ret, size, "/apis/ray.io/%s/namespaces/%s/rayclusters/%s%s",
             k->version, k->ns, k->cluster, query);
    return ret;
}

/* ---- reading */

static uint32_t number(const json_t *spec, const char *key, uint32_t fallback)
{
    int64_t n = kit_json_int(spec, key, fallback);
    return n < 0 ? 0 : n > MOST_REPLICAS ? MOST_REPLICAS : (uint32_t)n;
}

/* scaleGate: whatever its form, what is neither absent, false nor empty
 * closes it; a name or reason in it goes into the message. */
static void gate_read(const json_t *spec, struct group *g)
{
    const json_t *gate = kit_json_at(spec, "scaleStrategy.scaleGate");
    static const char *const words[] = {"reason", "message", "name"};
    const char *why = json_string_value(gate);
    if (!gate || json_is_null(gate) || json_is_false(gate) ||
        (json_is_object(gate) && json_object_size(gate) == 0) ||
        (json_is_array(gate) && json_array_size(gate) == 0) ||
        (why && (*why == '\0' || strcasecmp(why, "open") == 0)))
        return;
    if (json_is_array(gate))
        gate = json_array_get(gate, 0);
    if (!why)
        why = json_string_value(gate);
    for (size_t i = 0; i < 3 && !why; i++)
        why = json_string_value(json_object_get(gate, words[i]));
    snprintf(g->gate, sizeof g->gate, "closed by its scaleGate%s%.60s",
             why ? ": " : "", why ? why : "");
}

static void group_read(const json_t *spec, size_t at, struct group *g)
{
    const json_t *names = kit_json_at(spec, "scaleStrategy.workersToDelete");
    *g = (struct group){
        .name = kit_json_text(spec, "groupName"),
        .at = at,
        .spec = spec,
        .min = number(spec, "minReplicas", 0),
        .max = number(spec, "maxReplicas", MOST_REPLICAS),
        .hosts = number(spec, "numOfHosts", 1),
        .suspended = kit_json_true(spec, "suspend"),
        .names = json_is_array(names) ? json_deep_copy(names) : json_array()};
    g->said = number(spec, "replicas", g->min);
    g->replicas = g->said < g->min   ? g->min
                  : g->said > g->max ? g->max
                                     : g->said;
    if (g->hosts == 0)
        g->hosts = 1;
    gate_read(spec, g);
}

int cluster_read(struct op *op, struct cluster *ret)
{
    char path[900];
    int http;
    *ret = (struct cluster){.json = NULL};
    pthread_mutex_lock(&op->k->lock);
    ret->writes = op->k->writes;
    pthread_mutex_unlock(&op->k->lock);
    path_of(op->k, "", path, sizeof path);
    int s = api_send(op,
                     &(struct request){.method = "GET",
                                       .path = path,
                                       .verb = "get",
                                       .what = "rayclusters"},
                     &ret->json, &http);
    /* No reason to call its machines gone: a name may be mistaken. */
    if (s == DAVIT_NOT_FOUND)
        return kit_error(op->e, DAVIT_RETRY, "HTTP 404",
                         "there is no RayCluster %.60s in namespace %.60s",
                         op->k->cluster, op->k->ns);
    if (s != DAVIT_OK)
        return s;
    const json_t *groups = kit_json_at(ret->json, "spec.workerGroupSpecs");
    ret->v = kit_zeroed(json_array_size(groups) + 1, sizeof *ret->v);
    size_t i;
    json_t *g;
    json_array_foreach(groups, i, g)
        group_read(g, i, &ret->v[ret->n++]);
    ret->suspended = kit_json_true(ret->json, "spec.suspend");
    ret->annotation = annotation_read(ret->json);
    return DAVIT_OK;
}

void cluster_done(struct cluster *c)
{
    for (size_t i = 0; i < c->n; i++)
        json_decref(c->v[i].names);
    free(c->v);
    json_decref(c->json);
    json_decref(c->annotation);
    *c = (struct cluster){.json = NULL};
}

struct group *group_find(const struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].name, name) == 0)
            return &c->v[i];
    return NULL;
}

/* ---- changing */

static size_t name_at(const struct group *g, const char *pod)
{
    size_t i;
    json_t *x;
    json_array_foreach(g->names, i, x) {
        const char *s = json_string_value(x);
        if (s && strcmp(s, pod) == 0)
            return i;
    }
    return SIZE_MAX;
}

bool group_names(const struct group *g, const char *pod)
{
    return g && name_at(g, pod) != SIZE_MAX;
}

void group_set_replicas(struct group *g, uint32_t replicas)
{
    g->replicas = replicas;
    g->replicas_new = true;
}

void group_name(struct group *g, const char *pod)
{
    if (name_at(g, pod) == SIZE_MAX) {
        json_array_append_new(g->names, json_string(pod));
        g->names_new = true;
    }
}

void group_unname(struct group *g, const char *pod)
{
    size_t i = name_at(g, pod);
    if (i != SIZE_MAX) {
        json_array_remove(g->names, i);
        g->names_new = true;
    }
}

bool cluster_changed(const struct cluster *c)
{
    bool changed = c->annotation_new;
    for (size_t i = 0; i < c->n; i++)
        changed = changed || c->v[i].replicas_new || c->v[i].names_new;
    return changed;
}

/* ---- writing */

static void step(json_t *patch, const char *op, const char *path, json_t *value)
{
    json_array_append_new(
        patch, kit_must(json_pack("{s:s, s:s, s:o}", "op", op, "path", path,
                                  "value", value)));
}

static void annotation_step(json_t *patch, const struct cluster *c)
{
    char *text = json_dumps(c->annotation, JSON_COMPACT);
    json_t *value = json_string(text);
    free(text);
    if (json_is_object(kit_json_at(c->json, "metadata.annotations")))
        step(patch, "add", "/metadata/annotations/davit.io~1launches", value);
    else
        step(patch, "add", "/metadata/annotations",
             json_pack("{s:o}", ANNOTATION, value));
}

static void group_steps(json_t *patch, const struct group *g)
{
    char path[100];
    if (!g->replicas_new && !g->names_new)
        return;
#define PATH(...) (snprintf(path, sizeof path, __VA_ARGS__), path)
    step(patch, "test", PATH("/spec/workerGroupSpecs/%zu/groupName", g->at),
         json_string(g->name));
    if (g->replicas_new)
        step(patch, "add", PATH("/spec/workerGroupSpecs/%zu/replicas", g->at),
             json_integer(g->replicas));
    if (!g->names_new)
        return;
    if (json_is_object(json_object_get(g->spec, "scaleStrategy")))
        step(patch, "add",
             PATH("/spec/workerGroupSpecs/%zu/scaleStrategy/workersToDelete",
                  g->at),
             json_incref(g->names));
    else
        step(patch, "add",
             PATH("/spec/workerGroupSpecs/%zu/scaleStrategy", g->at),
             json_pack("{s:O}", "workersToDelete", g->names));
#undef PATH
}

int cluster_patch(struct op *op, struct cluster *c, bool *ret_conflict)
{
    char path[900];
    json_t *patch = json_array(), *reply;
    int http;
    annotation_prune(c->annotation, op->k->host->wall_ms());
    step(patch, "replace", "/metadata/resourceVersion",
         json_string(kit_json_text(c->json, "metadata.resourceVersion")));
    if (c->annotation_new)
        annotation_step(patch, c);
    for (size_t i = 0; i < c->n; i++)
        group_steps(patch, &c->v[i]);
    path_of(op->k, "?fieldManager=davit", path, sizeof path);
    writer_watch(op, c); /* no list may see it before it is written over */
    writer_begins(op->k);
    int s = api_send(op,
                     &(struct request){.method = "PATCH",
                                       .path = path,
                                       .type = "application/json-patch+json",
                                       .body = patch,
                                       .verb = "patch",
                                       .what = "rayclusters"},
                     &reply, &http);
    json_decref(patch);
    json_decref(reply);
    writer_ends(op->k, c, s == DAVIT_OK, http < 400 || http >= 500);
    if (s == DAVIT_NOT_FOUND)
        s = DAVIT_RETRY;
    /* 422 is also what a test that did not hold is answered with. */
    *ret_conflict = http == 409 ||
                    (http == 422 && op->e && strstr(op->e->text, "test"));
    if (*ret_conflict)
        s = kit_error(op->e, DAVIT_RETRY, "HTTP 409 Conflict",
                      "somebody else wrote RayCluster %.60s at the same time, "
                      "again and again",
                      op->k->cluster);
    return s;
}

bool cluster_again(struct op *op, int tries)
{
    /* The operator writes its status now and then: a moment is enough. */
    return tries < TRIES &&
           op->k->host->sleep(op->call, (uint32_t)(2 << tries) % 150);
}
