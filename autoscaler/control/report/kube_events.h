/*
 * kube_events.h - Kubernetes Events: what we do and do not do, written where
 * `kubectl describe` shows it.
 *
 * put() never waits: a thread of its own writes, at most ten a second.  One
 * Event per object and reason in five minutes; after that the same one is
 * counted up.  Without the right to write Events it says so once and is quiet.
 */
#ifndef CONTROL_KUBE_EVENTS_H
#define CONTROL_KUBE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

struct kube_access;
struct kube_events;

struct kube_event {
    const char *api, *kind;   /* "v1", "Pod" */
    const char *space, *name; /* space "": of the whole cluster */
    const char *uid;          /* "" : not known; of a RayCluster it is
                               * looked up */
    bool warning;
    const char *reason; /* "TriggeredScaleUp" */
    const char *about;  /* apart from others of that reason; "" */
    const char *text;
};

/* Takes the access. */
struct kube_events *kube_events_new(struct kube_access *access);
void kube_events_free(struct kube_events *e); /* NULL is fine */
void kube_events_put(struct kube_events *e, const struct kube_event *t);
/* Once: why no Events are written; false: nothing new. */
bool kube_events_denied(struct kube_events *e, char *text, size_t n);

#endif
