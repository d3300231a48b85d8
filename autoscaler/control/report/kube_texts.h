/*
 * kube_texts.h - what Kubernetes Events say of a step.
 *
 * Of pods: which were bought for, and why others were not.  Of nodes and of
 * the RayCluster: what our own events say.  Everything here may be put in
 * every step: kube_events.h writes it once.  Reads the page, the ledger and the
 * sources' views, changes nothing.  Control thread only.
 */
#ifndef CONTROL_KUBE_TEXTS_H
#define CONTROL_KUBE_TEXTS_H

#include "../providers/providers.h"
#include "../sources/sources.h"
#include "kube_events.h"

struct kube_texts {
    struct env *env;
    const struct ledger *ledger;
    const struct providers *providers;
    const struct sources *sources;
    const struct configuration *conf;
    struct kube_events *events; /* NULL: none are written */
    char ray_space[256];        /* the RayCluster's namespace */
};

/* The other members are given; finds the API server. */
void kube_texts_open(struct kube_texts *k);
void kube_texts_close(struct kube_texts *k);
void kube_texts_event(struct kube_texts *k, const struct event *e);
void kube_texts_page(struct kube_texts *k, const struct status_page *page);

#endif
