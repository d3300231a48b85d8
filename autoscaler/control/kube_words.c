/*
 * kube_words.c - what Kubernetes Events say of a tick.
 *
 * Of pods: which were bought for, and why others were not.  Of nodes and of
 * the RayCluster: what tell() tells.  Everything here may be said every tick:
 * kube_events.c says it once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../wire/kube/kube.h"
#include "../wire/pods/pods.h"
#include "kube_events.h"
#include "state.h"

enum { TEXT = 700, PODS_OF_ONE = 200 };

/* ---- the RayCluster whose groups are the node types, if any */

static const char *option_of(const struct conf_provider *p, const char *key)
{
    for (uint32_t i = 0; i < p->n_options; i++)
        if (strcmp(p->options[i].key, key) == 0)
            return p->options[i].value;
    return "";
}

static const struct conf_provider *ray_cluster(const struct config *conf)
{
    for (uint32_t i = 0; i < conf->n_providers; i++) {
        const struct conf_provider *p = &conf->providers[i];
        const char *file = strrchr(p->plugin, '/');

        file = file ? file + 1 : p->plugin;
        if (strcmp(p->name, "k8s") == 0 || strcmp(file, "k8s") == 0 ||
            strcmp(file, "davit-k8s.so") == 0)
            return p;
    }
    return NULL;
}

void kube_words_open(struct control *c)
{
    const struct config *conf = c->config;
    struct kube_access_opts o = {conf->kube_kubeconfig, conf->kube_context,
                                 NULL};
    const struct conf_provider *p = ray_cluster(conf);
    struct kube_access *access;
    struct err err;

    if (!conf->kube && p)
        o.kubeconfig = option_of(p, "kubeconfig");
    if (c->opts.dry_run || (!conf->kube && !p))
        return;
    if (kube_access_find(&o, &access, &err) != ST_OK) {
        tell(c, "events.off", conf->cluster, "", "no Kubernetes Events: %s",
             err.text);
        return;
    }
    snprintf(c->ray_space, sizeof c->ray_space, "%s",
             p && *option_of(p, "namespace") ? option_of(p, "namespace")
                                             : kube_access_namespace(access));
    c->kube_events = kube_events_new(access);
}

static void of_cluster(struct control *c, bool warning, const char *reason,
                       const char *about, const char *text)
{
    const struct conf_provider *p = ray_cluster(c->config);
    struct kube_told t = {.api = "ray.io/v1", .kind = "RayCluster",
                          .space = c->ray_space, .uid = "",
                          .warning = warning, .reason = reason, .about = about,
                          .text = text};

    if (!p)
        return;
    t.name = option_of(p, "cluster");
    if (!*t.name)
        t.name = c->config->cluster;
    kube_events_put(c->kube_events, &t);
}

/* Of the machine: a Node, or with the RayCluster's groups a worker's pod. */
static void of_machine(struct control *c, const struct machine *m, bool warning,
                       const char *reason, const char *text)
{
    struct kube_told t = {.api = "v1", .kind = "Node", .space = "",
                          .name = m->ray_id, .uid = m->ray_id,
                          .warning = warning, .reason = reason, .about = "",
                          .text = text};

    if (!c->config->kube) {
        t.kind = "Pod";
        t.space = c->ray_space;
        t.name = m->cloud_id;
        t.uid = "";
    }
    kube_events_put(c->kube_events, &t);
}

void kube_words_told(struct control *c, const char *kind, const char *subject,
                     const char *reason, const char *text)
{
    static const struct { const char *kind, *reason; bool warning, machine; }
        said[] = {
            {"launch", "TriggeredScaleUp", false, false},
            {"launch.failed", "FailedToScaleUp", true, false},
            {"node.draining", "ScaleDown", false, true},
            {"node.ending", "ScaleDown", false, true},
            {"end.failed", "ScaleDownFailed", true, false},
            {"undrain.failed", "ScaleDownFailed", true, true},
        };
    const struct machine *m = fleet_by_id(&c->fleet, subject);
    char line[TEXT];

    if (!c->kube_events)
        return;
    snprintf(line, sizeof line, "%s%s %s: %s%s%s%s",
             strcmp(kind, "node.draining") == 0 ? "draining " : "",
             m ? "machine" : "", subject, text, *reason ? " (" : "", reason,
             *reason ? ")" : "");
    if (m && strcmp(kind, "node.undrained") == 0 &&
        m->why == REASON_KEEP_REFUSED) {
        of_machine(c, m, true, "ScaleDownFailed", line);
        of_cluster(c, true, "ScaleDownFailed", subject, line);
        return;
    }
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (strcmp(said[i].kind, kind) != 0)
            continue;
        if (said[i].machine && m)
            of_machine(c, m, said[i].warning, said[i].reason, line);
        of_cluster(c, said[i].warning, said[i].reason, subject, line);
    }
}

/* ---- pods */

static void of_pods(struct control *c, const struct pods_ref *v, uint32_t n,
                    bool warning, const char *reason, const char *text)
{
    for (uint32_t i = 0; i < n && i < PODS_OF_ONE; i++) {
        struct kube_told t = {.api = "v1", .kind = "Pod", .space = v[i].space,
                              .name = v[i].name, .uid = v[i].uid,
                              .warning = warning, .reason = reason,
                              .about = "", .text = text};
        kube_events_put(c->kube_events, &t);
    }
}

/* "2 of t4 (sim), 1 of a100" that hold bundles of a demand. */
static void purchases(const struct status_page *page, uint32_t demand,
                      struct buf *b)
{
    const struct problem *s = page->now;
    const struct plan *p = page->plan;
    uint32_t said = 0;

    for (uint32_t i = 0; i < p->n_launches && said < 6; i++) {
        const struct plan_launch *l = &p->launches[i];
        const struct pb_offer *o = &s->offers[l->offer];
        bool previous = false;

        for (uint32_t k = 0; k < l->n_placements && !previous; k++)
            previous = s->bundles[p->placements[l->first_placement + k].bundle]
                        .demand == demand;
        if (previous)
            buf_printf(b, "%s%u of %s%s%s", said++ ? ", " : "", l->count,
                       s->str[s->types[o->type].name],
                       *s->str[o->zone] ? " in " : "", s->str[o->zone]);
    }
}

/* Nothing is bought before the providers' first lists: no news. */
static bool comes_up(const struct control *c, const struct status_page *page,
                     uint32_t bundle)
{
    enum { COMES_UP_MS = 30000 };
    const struct plan_bundle *p = &page->plan->bundles[bundle];

    if (c->now_ms - c->started_ms > COMES_UP_MS)
        return false;
    for (uint32_t i = 0; i < p->n_refusals; i++)
        if (page->plan->refusals[p->first_refusal + i].why ==
            REASON_PROVIDER_DOWN)
            return true;
    return false;
}

/* Bundles of each demand that nodes on their way will hold, and a type of
 * these. */
struct coming { uint32_t n, type; };

static struct coming *coming_count(const struct status_page *page)
{
    const struct problem *s = page->now;
    struct coming *v = calloc(s->n_demands + 1, sizeof *v);

    if (!v)
        abort();
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

static void demand_said(struct control *c, const struct status_page *page,
                        uint32_t demand, const struct coming *coming,
                        const struct pods_ref *refs, uint32_t n)
{
    const struct problem *s = page->now;
    const struct pb_demand *d = &s->demands[demand];
    uint32_t placed = 0, launched = 0, refused = NONE;
    struct buf b;

    for (uint32_t i = d->first_bundle; i < d->first_bundle + d->n_bundles;
         i++) {
        const struct plan_bundle *p = &page->plan->bundles[i];
        placed += p->placed;
        launched += p->launched;
        if ((p->waiting || p->infeasible) && refused == NONE)
            refused = i;
    }
    buf_init(&b, TEXT);
    if (coming->n && coming->n <= placed && placed <= n) {
        buf_printf(&b, "davit has started a node of %s that will hold it",
                   s->str[s->types[coming->type].name]);
        of_pods(c, refs + placed - coming->n, coming->n, false,
                "TriggeredScaleUp", b.s);
        buf_done(&b);
        buf_init(&b, TEXT);
    }
    if (launched && placed < n) {
        buf_printf(&b, "davit starts ");
        purchases(page, demand, &b);
        of_pods(c, refs + placed, launched < n - placed ? launched : n - placed,
                false, "TriggeredScaleUp", b.s);
    } else if (refused != NONE && placed + launched < n &&
               !comes_up(c, page, refused)) {
        buf_printf(&b, "davit starts nothing for it: ");
        unplaced_obstacles(page, refused, &b);
        of_pods(c, refs + placed + launched, n - placed - launched, true,
                "NotTriggerScaleUp", b.s);
    }
    buf_done(&b);
}

/* Demands of the snapshot and of the view have the same ids, in other orders. */
static void pods_said(struct control *c, const struct status_page *page,
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
            demand_said(c, page, d, &coming[d], refs, n);
            break;
        }
    }
    free(coming);
    for (uint32_t i = 0; i < view->n_notes; i++) {
        const struct source_note *n = &view->notes[i];
        struct kube_told t = {.api = "v1", .kind = n->kind, .space = n->space,
                              .name = n->name, .uid = n->uid, .warning = true,
                              .reason = "NotTriggerScaleUp", .about = n->code,
                              .text = n->text};
        kube_events_put(c->kube_events, &t);
    }
}

/* What Ray asks for and no type can hold. */
static void ray_said(struct control *c, const struct status_page *page)
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
        of_cluster(c, true, "NotTriggerScaleUp", owner, b.s);
        buf_done(&b);
    }
}

void kube_words(struct control *c, const struct status_page *page)
{
    const struct source *h = source_of_kind(c, &kube_source_ops);
    char why[300];

    if (!c->kube_events)
        return;
    if (h && h->view && source_is_fresh(c, h))
        pods_said(c, page, h->view);
    if (ray_cluster(c->config))
        ray_said(c, page);
    if (kube_events_denied(c->kube_events, why, sizeof why))
        tell(c, "events.off", c->config->cluster, "",
             "no Kubernetes Events: %s", why);
}
