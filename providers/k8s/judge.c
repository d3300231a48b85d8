/*
 * judge.c - how a pod fares, by what Kubernetes says of it.
 *
 * Texts say what holds a pod up, and no counters.  A clear no (quota, a gate that
 * stays shut, an image that cannot be) fails at once, a pod without a node only
 * after the time a node autoscaler may need, and a container that cannot start
 * after the time that a registry or a Secret may need to be there.  All times are
 * by the API server's clock, which wrote them.
 */
#include <stdio.h>
#include <string.h>

#include "k8s.h"

static const json_t *condition(const json_t *object, const char *type)
{
    size_t i;
    json_t *c;
    json_array_foreach(kit_json_at(object, "status.conditions"), i, c)
        if (strcmp(kit_json_text(c, "type"), type) == 0)
            return c;
    return NULL;
}

static bool is(const json_t *c, const char *status)
{
    return strcmp(kit_json_text(c, "status"), status) == 0;
}

static void failed(struct pod *p, enum davit_status s)
{
    p->phase = DAVIT_FAILED;
    p->failure = (uint32_t)s;
}

/* For how long it has been so. */
static int64_t lasted_ms(const json_t *pod, const json_t *c, int64_t now_ms)
{
    int64_t since = kit_time_ms(kit_json_text(c, "lastTransitionTime"));
    if (since < 0)
        since = kit_time_ms(kit_json_text(pod, "metadata.creationTimestamp"));
    return since < 0 ? 0 : now_ms - since;
}

static bool quota_in(const char *text)
{
    return strstr(text, "exceeded quota") ||
           strstr(text, "insufficient quota") || strstr(text, "quota exceeded");
}

static void gated(const json_t *pod, const json_t *c, const struct patience *w,
                  struct pod *p)
{
    const json_t *gate = json_array_get(
        kit_json_at(pod, "spec.schedulingGates"), 0);
    const char *name = kit_json_text(gate, "name");
    snprintf(p->detail, sizeof p->detail, "held by scheduling gate %.100s",
             *name != '\0' ? name : "(no name)");
    if (lasted_ms(pod, c, w->now_ms) > w->gate_ms)
        failed(p, DAVIT_STOCKOUT);
}

static void unscheduled(const json_t *pod, const struct patience *w,
                        struct pod *p)
{
    const json_t *c = condition(pod, "PodScheduled");
    const char *why = kit_json_text(c, "reason");
    const char *text = kit_json_text(c, "message");
    if (strcmp(why, "SchedulingGated") == 0 ||
        json_array_size(kit_json_at(pod, "spec.schedulingGates")) > 0) {
        gated(pod, c, w, p);
        return;
    }
    if (!c || !is(c, "False")) {
        snprintf(p->detail, sizeof p->detail, "waits for a node");
        return;
    }
    snprintf(p->detail, sizeof p->detail, "%.30s: %.150s",
             *why != '\0' ? why : "unscheduled", text);
    if (quota_in(text))
        failed(p, DAVIT_QUOTA);
    else if (lasted_ms(pod, c, w->now_ms) > w->unschedulable_ms)
        failed(p, DAVIT_STOCKOUT);
}

/* ---- containers that do not start: what kubelet says they wait for */

enum { CRASHES = 3 }; /* of a container: no accident any more */

static const struct trouble {
    const char *why;
    bool image, at_once;
} troubles[] = {
    {"InvalidImageName", true, true},
    {"ErrImageNeverPull", true, true},
    {"ErrImagePull", true, false},
    {"ImagePullBackOff", true, false},
    {"ImageInspectError", true, false},
    {"RegistryUnavailable", true, false},
    {"SignatureValidationFailed", true, false},
    {"CreateContainerConfigError", false, false},
    {"CreateContainerError", false, false},
    {"RunContainerError", false, false},
    {"PostStartHookError", false, false},
    {"CrashLoopBackOff", false, false},
};

static const struct trouble *trouble_of(const char *why)
{
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        if (strcmp(troubles[i].why, why) == 0)
            return &troubles[i];
    return NULL;
}

/* A container without which it is no Ray node: an init container, or KubeRay's
 * first one.  Others may crash beside a raylet that works. */
static bool matters(const json_t *pod, const json_t *c, bool init)
{
    const json_t *first = json_array_get(kit_json_at(pod, "spec.containers"),
                                         0);

    return init || !first ||
           strcmp(kit_json_text(c, "name"), kit_json_text(first, "name")) == 0;
}

/* c waits for `why`, which is no step on its way but a mistake: a definite one, or
 * one that lasts. */
static void troubled(const json_t *c, const struct trouble *t,
                     const struct patience *w, struct pod *p)
{
    int64_t crashes = kit_json_int(c, "restartCount", 0);

    p->troubled = true;
    if (t->at_once ||
        (crashes >= CRASHES && strcmp(t->why, "CrashLoopBackOff") == 0) ||
        (w->troubled_ms && w->now_ms - w->troubled_ms > w->trouble_ms))
        failed(p, DAVIT_RETRY);
}

/* The first container that does not run; NULL: all do. */
static const json_t *waiting(const json_t *pod, bool init, bool that_matters)
{
    const char *which = init ? "initContainerStatuses" : "containerStatuses";
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(json_object_get(pod, "status"), which),
                       i, c)
        if (*kit_json_text(c, "state.waiting.reason") != '\0' &&
            (!that_matters || matters(pod, c, init)))
            return c;
    return NULL;
}

/* False: none waits.  What comes up with the pod's init containers may still crash
 * beside a raylet that works when the pod runs. */
static bool containers_wait(const json_t *pod, const struct patience *w,
                            bool runs, struct pod *p)
{
    const json_t *must = runs ? NULL : waiting(pod, true, true), *c;
    const struct trouble *t;
    const char *why;

    if (!must)
        must = waiting(pod, false, true);
    c = must ? must : waiting(pod, false, false);
    if (!c)
        return false;
    why = kit_json_text(c, "state.waiting.reason");
    t = trouble_of(why);
    if (t && t->image)
        snprintf(p->detail, sizeof p->detail,
                 "the image cannot be pulled: %.120s",
                 kit_json_text(c, "image"));
    else
        snprintf(p->detail, sizeof p->detail, "container %.40s: %.60s",
                 kit_json_text(c, "name"), why);
    if (t && must)
        troubled(c, t, w, p);
    return true;
}

static void ended(const json_t *pod, struct pod *p)
{
    const char *why = kit_json_text(pod, "status.reason");
    const char *text = kit_json_text(pod, "status.message");
    size_t i;
    json_t *c;
    json_array_foreach(kit_json_at(pod, "status.containerStatuses"), i, c)
        if (*why == '\0')
            why = kit_json_text(c, "state.terminated.reason");
    snprintf(p->detail, sizeof p->detail, "the pod has ended: %.40s%s%.110s",
             *why != '\0' ? why : "no reason given", *text != '\0' ? ": " : "",
             text);
    failed(p, DAVIT_RETRY);
}

void pod_judge(const json_t *pod, const struct patience *w, struct pod *p)
{
    const char *phase = kit_json_text(pod, "status.phase");
    p->phase = DAVIT_STARTING;
    p->failure = DAVIT_OK;
    p->troubled = false;
    if (*kit_json_text(pod, "metadata.deletionTimestamp") != '\0') {
        p->going = true;
        p->phase = DAVIT_STOPPING;
        snprintf(p->detail, sizeof p->detail, "being deleted");
    } else if (strcmp(phase, "Failed") == 0 ||
               strcmp(phase, "Succeeded") == 0) {
        ended(pod, p);
    } else if (strcmp(phase, "Running") == 0) {
        if (!containers_wait(pod, w, true, p))
            p->phase = DAVIT_RUNNING;
    } else if (strcmp(phase, "Unknown") == 0) {
        p->phase = DAVIT_RUNNING;
        snprintf(p->detail, sizeof p->detail, "its node does not answer");
    } else if (*kit_json_text(pod, "spec.nodeName") == '\0') {
        unscheduled(pod, w, p);
    } else if (!containers_wait(pod, w, false, p)) {
        snprintf(p->detail, sizeof p->detail, "on a node, starting");
    }
}

void cluster_judge(const json_t *raycluster, char *ret, size_t size,
                   int *ret_status)
{
    const json_t *c = condition(raycluster, "ReplicaFailure");
    const char *text = kit_json_text(c, "message");
    ret[0] = '\0';
    *ret_status = DAVIT_OK;
    if (!c || !is(c, "True") || !strstr(kit_json_text(c, "reason"), "Worker"))
        return;
    *ret_status = quota_in(text) ? DAVIT_QUOTA
                  : strstr(text, "forbidden") ||
                          strstr(text, "admission webhook")
                      ? DAVIT_STOCKOUT
                      : DAVIT_OK;
    if (*ret_status != DAVIT_OK)
        snprintf(ret, size, "%s", text);
}
