/*
 * kube_texts.c - see kube_texts.h.
 */
#include "kube_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../wire/kube/kube.h"
#include "../../wire/pods/pods.h"
#include "unplaced.h"

enum { TEXT = 700, PODS_OF_ONE = 200 };

/* ---- the RayCluster whose groups are the node types, if any */

static const char *option_of(const struct conf_provider *p, const char *key)
{
    for (uint32_t i = 0; i < p->n_options; i++)
        if (strcmp(p->options[i].key, key) == 0)
            return p->options[i].value;
    return "";
}

static const struct conf_provider *ray_cluster(const struct providers *p)
{
    for (uint32_t i = 0; i < p->all.n; i++)
        if (provider_caps(p->all.v[i]->provider) & DAVIT_CAP_RAYCLUSTER)
            return p->all.v[i]->conf;
    return NULL;
}

void kube_texts_open(struct kube_texts *k)
{
    const struct config *conf = k->conf->now;
    struct kube_access_opts o = {conf->kube_kubeconfig, conf->kube_context,
                                 NULL};
    const struct conf_provider *p = ray_cluster(k->providers);
    struct kube_access *access;
    struct err err;

    if (!conf->kube && p)
        o.kubeconfig = option_of(p, "kubeconfig");
    if (k->env->shadow || (!conf->kube && !p))
        return;
    if (kube_access_find(&o, &access, &err) != ST_OK) {
        emit(k->env, "events.off", conf->cluster, "",
             "no Kubernetes Events: %s", err.text);
        return;
    }
    snprintf(k->ray_space, sizeof k->ray_space, "%s",
             p && *option_of(p, "namespace") ? option_of(p, "namespace")
                                             : kube_access_namespace(access));
    k->events = kube_events_new(access);
}

static void of_cluster(struct kube_texts *k, bool warning, const char *reason,
                       const char *about, const char *text)
{
    const struct conf_provider *p = ray_cluster(k->providers);
    struct kube_event t = {.api = "ray.io/v1",
                           .kind = "RayCluster",
                           .space = k->ray_space,
                           .uid = "",
                           .warning = warning,
                           .reason = reason,
                           .about = about,
                           .text = text};

    if (!p)
        return;
    t.name = option_of(p, "cluster");
    if (!*t.name)
        t.name = k->conf->now->cluster;
    kube_events_put(k->events, &t);
}

/* Of the machine: a Node, or with the RayCluster's groups a worker's pod. */
static void of_machine(struct kube_texts *k, const struct machine *m,
                       bool warning, const char *reason, const char *text)
{
    struct kube_event t = {.api = "v1",
                           .kind = "Node",
                           .space = "",
                           .name = m->ray_id,
                           .uid = m->ray_id,
                           .warning = warning,
                           .reason = reason,
                           .about = "",
                           .text = text};

    if (!k->conf->now->kube) {
        t.kind = "Pod";
        t.space = k->ray_space;
        t.name = m->cloud_id;
        t.uid = "";
    }
    kube_events_put(k->events, &t);
}

/* Which of our events are written, and as what. */
static const struct event_text {
    const char *kind, *reason;
    bool warning, machine;
} event_texts[] = {
    {"launch", "TriggeredScaleUp", false, false},
    {"launch.failed", "FailedToScaleUp", true, false},
    {"node.draining", "ScaleDown", false, true},
    {"node.ending", "ScaleDown", false, true},
    {"node.undrained", "ScaleDownFailed", true, true}, /* when refused */
    {"end.failed", "ScaleDownFailed", true, false},
    {"undrain.failed", "ScaleDownFailed", true, true},
};

static const struct event_text *event_text_find(const char *kind,
                                                const struct machine *m)
{
    if (strcmp(kind, "node.undrained") == 0 &&
        !(m && m->why == REASON_KEEP_REFUSED))
        return NULL;
    for (size_t i = 0; i < sizeof event_texts / sizeof *event_texts; i++)
        if (strcmp(event_texts[i].kind, kind) == 0)
            return &event_texts[i];
    return NULL;
}

void kube_texts_event(struct kube_texts *k, const struct event *e)
{
    const struct machine *m = fleet_by_id(&k->ledger->fleet, e->subject);
    const struct event_text *t = event_text_find(e->kind, m);
    char line[TEXT];

    if (!k->events || !t)
        return;
    snprintf(line, sizeof line, "%s%s %s: %s%s%s%s",
             strcmp(e->kind, "node.draining") == 0 ? "draining " : "",
             m ? "machine" : "", e->subject, e->text, *e->reason ? " (" : "",
             e->reason, *e->reason ? ")" : "");
    if (t->machine && m)
        of_machine(k, m, t->warning, t->reason, line);
    of_cluster(k, t->warning, t->reason, e->subject, line);
}

/* ---- pods */

static void of_pods(struct kube_texts *k, const struct pods_ref *v, uint32_t n,
                    bool warning, const char *reason, const char *text)
{
    for (uint32_t i = 0; i < n && i < PODS_OF_ONE; i++) {
        struct kube_event t = {.api = "v1",
                               .kind = "Pod",
                               .space = v[i].space,
                               .name = v[i].name,
                               .uid = v[i].uid,
                               .warning = warning,
                               .reason = reason,
                               .about = "",
                               .text = text};
        kube_events_put(k->events, &t);
    }
}

/* "2 of t4 (sim), 1 of a100" that hold bundles of a demand. */
static void purchases(const struct status_page *page, uint32_t demand,
                      struct buf *b)
{
    const struct problem *s = page->now;
    const struct plan *p = page->plan;
    uint32_t n_written = 0;

    for (uint32_t i = 0; i < p->n_launches && n_written < 6; i++) {
        const struct plan_launch *l = &p->launches[i];
        const struct pb_offer *o = &s->offers[l->offer];
        bool previous = false;

        for (uint32_t k = 0; k < l->n_placements && !previous; k++)
            previous = s->bundles[p->placements[l->first_placement + k].bundle]
                           .demand == demand;
        if (previous)
            buf_printf(b, "%s%u of %s%s%s", n_written++ ? ", " : "", l->count,
                       s->str[s->types[o->type].name],
                       *s->str[o->zone] ? " in " : "", s->str[o->zone]);
    }
}

/* Nothing is bought before the providers' first lists: no news. */
static bool is_early(const struct kube_texts *k, const struct status_page *page,
                     uint32_t bundle)
{
    const struct plan_bundle *p = &page->plan->bundles[bundle];

    for (uint32_t i = 0; i < p->n_refusals; i++)
        if (unplaced_is_early(k->env,
                              page->plan->refusals[p->first_refusal + i].why))
            return true;
    return false;
}

/* Bundles of each demand that nodes on their way will hold, and a type of
 * these. */
struct coming {
    uint32_t n, type;
};

static struct coming *coming_count(const struct status_page *page)
{
    const struct problem *s = page->now;
    struct coming *v = MEM_ARRAY(struct coming, s->n_demands);

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct plan_node *p = &page->plan->nodes[i];

        if (s->nodes[i].state > STATE_STARTING || s->nodes[i].type == NONE)
            continue;
        for (uint32_t k = 0; k < p->n_placements; k++) {
            const struct plan_placement *x =
                &page->plan->placements[p->first_placement + k];
            struct coming *to = &v[s->bundles[x->bundle].demand];
            to->n += x->count;
            to->type = s->nodes[i].type;
        }
    }
    return v;
}

/* What a plan does with the pods of a demand: so many have a place, so many
 * are bought for; a bundle that is refused, or NONE. */
struct demand_sum {
    uint32_t placed, launched, refused;
};

static struct demand_sum demand_sum(const struct status_page *page,
                                    const struct pb_demand *d)
{
    struct demand_sum r = {.refused = NONE};

    for (uint32_t i = d->first_bundle; i < d->first_bundle + d->n_bundles;
         i++) {
        const struct plan_bundle *p = &page->plan->bundles[i];

        r.placed += p->placed;
        r.launched += p->launched;
        if ((p->waiting || p->infeasible) && r.refused == NONE)
            r.refused = i;
    }
    return r;
}

/* refs: its n pods; coming: of those that have a place, on nodes on their way. */
static void demand_texts(struct kube_texts *k, const struct status_page *page,
                         uint32_t demand, const struct coming *coming,
                         const struct pods_ref *refs, uint32_t n)
{
    const struct problem *s = page->now;
    struct demand_sum d = demand_sum(page, &s->demands[demand]);
    uint32_t after = d.placed + d.launched;
    struct buf b;

    buf_init(&b, TEXT);
    if (coming->n && coming->n <= d.placed && d.placed <= n) {
        buf_printf(&b, "davit has started a node of %s that will hold it",
                   s->str[s->types[coming->type].name]);
        of_pods(k, refs + d.placed - coming->n, coming->n, false,
                "TriggeredScaleUp", b.s);
        buf_done(&b);
        buf_init(&b, TEXT);
    }
    if (d.launched && d.placed < n) {
        buf_printf(&b, "davit starts ");
        purchases(page, demand, &b);
        of_pods(k, refs + d.placed, after < n ? d.launched : n - d.placed,
                false, "TriggeredScaleUp", b.s);
    } else if (d.refused != NONE && after < n &&
               !is_early(k, page, d.refused)) {
        buf_printf(&b, "davit starts nothing for it: ");
        unplaced_obstacles(page, d.refused, &b);
        of_pods(k, refs + after, n - after, true, "NotTriggerScaleUp", b.s);
    }
    buf_done(&b);
}

/* Demands of the snapshot and of the view have the same ids, in other orders. */
static void pods_texts(struct kube_texts *k, const struct status_page *page,
                       const struct source_view *view)
{
    const struct problem *s = page->now;
    struct coming *coming = coming_count(page);

    for (uint32_t d = 0; d < s->n_demands; d++) {
        if (strcmp(s->str[s->demands[d].owner], "kubernetes") != 0)
            continue;
        for (uint32_t i = 0; i < view->n_demands; i++) {
            const struct pods_ref *refs;
            uint32_t n;

            if (strcmp(view->demands[i].id, s->str[s->demands[d].id]) != 0)
                continue;
            refs = pods_of(view, i, &n);
            demand_texts(k, page, d, &coming[d], refs, n);
            break;
        }
    }
    free(coming);
    for (uint32_t i = 0; i < view->n_notes; i++) {
        const struct source_note *n = &view->notes[i];
        struct kube_event t = {.api = "v1",
                               .kind = n->kind,
                               .space = n->space,
                               .name = n->name,
                               .uid = n->uid,
                               .warning = true,
                               .reason = "NotTriggerScaleUp",
                               .about = n->code,
                               .text = n->text};
        kube_events_put(k->events, &t);
    }
}

/* What Ray asks for and no type can hold. */
static void ray_texts(struct kube_texts *k, const struct status_page *page)
{
    const struct problem *s = page->now;
    struct buf b;

    for (uint32_t i = 0; i < s->n_bundles; i++) {
        const char *owner = s->str[s->demands[s->bundles[i].demand].owner];
        const struct plan_bundle *p = &page->plan->bundles[i];

        if (!(p->infeasible || p->waiting) || strcmp(owner, "kubernetes") == 0)
            continue;
        buf_init(&b, TEXT);
        buf_printf(&b, "%u of what %s asks for: ", p->infeasible + p->waiting,
                   owner);
        unplaced_obstacles(page, i, &b);
        of_cluster(k, true, "NotTriggerScaleUp", owner, b.s);
        buf_done(&b);
    }
}

void kube_texts_page(struct kube_texts *k, const struct status_page *page)
{
    const struct source *h = source_of_machines(k->sources);
    char why[300];

    if (!k->events)
        return;
    if (h && h->view && h->view->pods && source_is_fresh(k->sources, h))
        pods_texts(k, page, h->view);
    if (ray_cluster(k->providers))
        ray_texts(k, page);
    if (kube_events_denied(k->events, why, sizeof why))
        emit(k->env, "events.off", k->conf->now->cluster, "",
             "no Kubernetes Events: %s", why);
}

void kube_texts_close(struct kube_texts *k)
{
    kube_events_free(k->events);
    k->events = NULL;
}
