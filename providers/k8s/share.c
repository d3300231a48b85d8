/*
 * share.c - which pod was made for which launch.
 *
 * The operator makes pods without names of ours.  A group's replicas are those
 * nobody here asked for and then each request's, in the order of the asking;
 * its pods, in the order of their making, are dealt out over them.  What was
 * dealt once is remembered as long as this handle lives, so that a pod that
 * dies does not shift the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "k8s.h"

bool pod_stays(const struct cluster *c, const struct pod *p)
{
    return !p->going && !group_names(group_find(c, p->group), p->name);
}

uint32_t units_stay(const struct cluster *c, const struct pods *ps,
                    const struct group *g, const char *request)
{
    json_t *seen = json_object();
    uint32_t loose = 0;
    for (size_t i = 0; i < ps->n; i++) {
        const struct pod *p = &ps->v[i];
        if (strcmp(p->group, g->name) != 0 || !pod_stays(c, p) ||
            (request && strcmp(p->request, request) != 0))
            continue;
        if (g->hosts > 1 && *p->unit != '\0')
            json_object_set_new(seen, p->unit, json_true());
        else
            loose++;
    }
    uint32_t n = (uint32_t)json_object_size(seen);
    json_decref(seen);
    return n + (loose + g->hosts - 1) / g->hosts;
}

static int by_age(const void *a, const void *b)
{
    const struct pod *x = *(struct pod *const *)a, *y = *(struct pod *const *)b;
    int d = strcmp(x->created, y->created);
    return d != 0 ? d : strcmp(x->name, y->name);
}

struct deal {
    struct k8s *k;
    const struct cluster *c;
    const struct group *g;
    struct pod **v; /* those that stay, the oldest first */
    size_t n;
    json_t *units; /* unit -> its request */
    json_t *used;  /* request -> units of it dealt */
    int64_t base;  /* units of nobody's request, not dealt yet */
};

static bool room_for(const struct deal *d, const char *request)
{
    return strcmp(annotation_group(d->c->annotation, request), d->g->name) ==
               0 &&
           kit_json_int(json_object_get(d->used, request), "", 0) <
               annotation_left(d->c->annotation, request);
}

/* A host follows its unit; false: its unit is new. */
static bool follow(struct deal *d, struct pod *p)
{
    const char *r = *p->unit != '\0'
                        ? json_string_value(json_object_get(d->units, p->unit))
                        : NULL;
    if (!r)
        return false;
    snprintf(p->request, sizeof p->request, "%s", r);
    return true;
}

static void give(struct deal *d, struct pod *p, const char *request)
{
    snprintf(p->request, sizeof p->request, "%.63s", request);
    if (*p->unit != '\0')
        json_object_set_new(d->units, p->unit, json_string(request));
    if (*request == '\0')
        d->base--;
    else
        json_object_set_new(
            d->used, request,
            json_integer(
                kit_json_int(json_object_get(d->used, request), "", 0) + 1));
}

static void remembered(struct deal *d, struct pod *p)
{
    const char *r = json_string_value(json_object_get(d->k->owner, p->name));
    if (!r || follow(d, p))
        return;
    give(d, p, *r == '\0' || room_for(d, r) ? r : "");
}

static void newcomer(struct deal *d, struct pod *p)
{
    const char *request;
    json_t *r;
    if (json_object_get(d->k->owner, p->name) || follow(d, p))
        return;
    p->surplus = d->base <= 0;
    if (p->surplus)
        json_object_foreach(json_object_get(d->c->annotation, "requests"),
                            request, r)
            if (room_for(d, request)) {
                give(d, p, request);
                p->surplus = false;
                return;
            }
    give(d, p, "");
}

static void deal_group(struct deal *d, struct pods *ps)
{
    const char *request;
    json_t *r;
    d->n = 0;
    for (size_t i = 0; i < ps->n; i++) {
        struct pod *p = &ps->v[i];
        if (strcmp(p->group, d->g->name) != 0)
            continue;
        if (d->g->hosts < 2)
            p->unit[0] = '\0';
        if (pod_stays(d->c, p))
            d->v[d->n++] = p;
    }
    qsort(d->v, d->n, sizeof *d->v, by_age);
    d->units = json_object();
    d->used = json_object();
    d->base = d->g->replicas;
    json_object_foreach(json_object_get(d->c->annotation, "requests"), request,
                        r)
        if (strcmp(annotation_group(d->c->annotation, request), d->g->name) ==
            0)
            d->base -= annotation_left(d->c->annotation, request);
    for (size_t i = 0; i < d->n; i++)
        remembered(d, d->v[i]);
    for (size_t i = 0; i < d->n; i++)
        newcomer(d, d->v[i]);
    json_decref(d->units);
    json_decref(d->used);
}

void pods_share(struct k8s *k, const struct cluster *c, struct pods *ps)
{
    struct deal d = {.k = k, .c = c};
    json_t *owner = json_object();
    d.v = kit_zeroed(ps->n + 1, sizeof *d.v);
    for (size_t i = 0; i < ps->n; i++)
        ps->v[i].request[0] = '\0', ps->v[i].surplus = false;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < c->n; i++) {
        d.g = &c->v[i];
        deal_group(&d, ps);
    }
    for (size_t i = 0; i < ps->n; i++) {
        struct pod *p = &ps->v[i];
        const char *before = json_string_value(
            json_object_get(k->owner, p->name));
        if (!pod_stays(c, p) && before)
            snprintf(p->request, sizeof p->request, "%.63s", before);
        if (!p->surplus)
            json_object_set_new(owner, p->name, json_string(p->request));
    }
    json_decref(k->owner);
    k->owner = owner;
    pthread_mutex_unlock(&k->lock);
    free(d.v);
}
