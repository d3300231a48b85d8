/*
 * judge.c - how a pod fares, by what Kubernetes says of it.
 *
 * Progress must not be noise: texts say what holds a
 * pod up and no counters, since a changed text is taken for a step forward.  A
 * clear no (quota, a gate that stays shut) fails at once, a pod without a node
 * only after the time a node autoscaler may need.
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

/* What the first container that does not run waits for. */
static const char *waiting(const json_t *pod, const char *which,
                           const json_t **ret)
{
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(json_object_get(pod, "status"), which),
                       i, c) {
        const char *why = kit_json_text(c, "state.waiting.reason");
        if (*why != '\0') {
            *ret = c;
            return why;
        }
    }
    *ret = NULL;
    return "";
}

static void starting(const json_t *pod, struct pod *p)
{
    static const char *const image[] = {
        "ErrImagePull",     "ImagePullBackOff",    "ErrImageNeverPull",
        "InvalidImageName", "RegistryUnavailable", NULL};
    const json_t *c;
    const char *why = waiting(pod, "initContainerStatuses", &c);
    if (!c)
        why = waiting(pod, "containerStatuses", &c);
    if (!c) {
        snprintf(p->detail, sizeof p->detail, "on a node, starting");
        return;
    }
    for (size_t i = 0; image[i]; i++)
        if (strcmp(why, image[i]) == 0) {
            snprintf(p->detail, sizeof p->detail,
                     "the image cannot be pulled: %.120s",
                     kit_json_text(c, "image"));
            return;
        }
    snprintf(p->detail, sizeof p->detail, "container %.40s: %.60s",
             kit_json_text(c, "name"), why);
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
    const json_t *c;
    p->phase = DAVIT_STARTING;
    p->failure = DAVIT_OK;
    if (*kit_json_text(pod, "metadata.deletionTimestamp") != '\0') {
        p->going = true;
        p->phase = DAVIT_STOPPING;
        snprintf(p->detail, sizeof p->detail, "being deleted");
    } else if (strcmp(phase, "Failed") == 0 ||
               strcmp(phase, "Succeeded") == 0) {
        ended(pod, p);
    } else if (strcmp(phase, "Running") == 0) {
        const char *why = waiting(pod, "containerStatuses", &c);
        p->phase = DAVIT_RUNNING;
        if (c) {
            p->phase = DAVIT_STARTING;
            snprintf(p->detail, sizeof p->detail, "container %.40s: %.60s",
                     kit_json_text(c, "name"), why);
        }
    } else if (strcmp(phase, "Unknown") == 0) {
        p->phase = DAVIT_RUNNING;
        snprintf(p->detail, sizeof p->detail, "its node does not answer");
    } else if (*kit_json_text(pod, "spec.nodeName") == '\0') {
        unscheduled(pod, w, p);
    } else {
        starting(pod, p);
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
