/*
 * quota.c - what Compute Engine lets a project have: the quotas[] of its regions
 * and of itself, and how many machines there is still room for.
 *
 * Which metric counts what: cloud.google.com/compute/resource-usage.  Those that
 * are not in the answer (newer machine series are counted by Cloud Quotas alone)
 * set no limit.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../offer.h"
#include "../str.h"
#include "gcp.h"

#define METRIC_SIZE 80
#define PROJECT "" /* the key of the project's own quotas */

/* "us-central1-a" -> "us-central1" */
static char *region_of(const char *zone)
{
    const char *dash = strrchr(zone, '-');
    return kit_print("%.*s", dash ? (int)(dash - zone) : (int)strlen(zone),
                     zone);
}

/* No right to look is no reason to buy nothing: told once. */
static int told(struct gcp *g, int s, const char *region, struct davit_error *e)
{
    char line[400];
    if (s != DAVIT_AUTH && s != DAVIT_NOT_FOUND && s != DAVIT_INVALID)
        return s;
    snprintf(line, sizeof line,
             "offers are made without the quotas of %.60s: %.40s: %.200s",
             *region != '\0' ? region : "the project", e->code, e->text);
    if (!atomic_exchange(&g->quotas_told, true))
        g->host->log(2, line);
    e->code[0] = e->text[0] = '\0';
    return DAVIT_OK;
}

static int place_read(struct gcp *g, struct davit_call *call,
                      const struct gcp_place *in, const char *region,
                      json_t *all, struct davit_error *e)
{
    json_t *reply = NULL, *list;
    if (json_object_get(all, region))
        return DAVIT_OK;
    char *path = kit_print("/compute/v1/projects/%s%s%s?fields=quotas",
                           in->project, *region != '\0' ? "/regions/" : "",
                           region);
    int s = gcp_send(g, call, &(struct gcp_request){"GET", in->url, path, NULL},
                     &reply, e);
    free(path);
    s = told(g, s, region, e);
    list = json_object_get(reply, "quotas");
    if (s == DAVIT_OK)
        json_object_set_new(all, region,
                            list ? json_incref(list) : kit_must(json_array()));
    json_decref(reply);
    return s;
}

int gcp_quotas(struct gcp *g, struct davit_call *call,
               const struct gcp_place *in, json_t *all, struct davit_error *e)
{
    char *region = region_of(in->zone);
    int s = place_read(g, call, in, PROJECT, all, e);
    if (s == DAVIT_OK && *region != '\0')
        s = place_read(g, call, in, region, all, e);
    free(region);
    return s;
}

/* ---- which metrics count a machine */

static void metric_join(char ret[METRIC_SIZE], const char *before,
                        const char *name, size_t n, const char *after)
{
    snprintf(ret, METRIC_SIZE, "%s%.*s%s", before, (int)(n < 40 ? n : 40), name,
             after);
    for (char *c = ret; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* E2, N1 and the shared cores are counted together. */
static void metric_cpus(char ret[METRIC_SIZE], const char *machine)
{
    static const char *const together[] = {"e2", "n1", "f1", "g1", "custom"};
    size_t n = strcspn(machine, "-");
    metric_join(ret, "", machine, n, "_CPUS");
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        if (strlen(together[i]) == n && strncmp(machine, together[i], n) == 0)
            snprintf(ret, METRIC_SIZE, "CPUS");
}

/* "nvidia-tesla-t4" -> "NVIDIA_T4_GPUS"; the H100's name is longer than its
 * metric's. */
static void metric_gpus(char ret[METRIC_SIZE], const char *accelerator)
{
    const char *name = accelerator;
    ret[0] = '\0';
    if (strncmp(name, "nvidia-", 7) != 0)
        return;
    name += strncmp(name, "nvidia-tesla-", 13) == 0 ? 13 : 7;
    size_t n = strncmp(name, "h100-", 5) == 0 ? 4 : strlen(name);
    metric_join(ret, "NVIDIA_", name, n, "_GPUS");
}

/* ---- how much of it is left */

struct left {
    const json_t *quotas; /* of one place */
    const char *where;
    struct kit_quotas *all;
    char *note;
    size_t size;
};

static const json_t *quota_find(const json_t *quotas, const char *metric)
{
    size_t i;
    const json_t *q;
    json_array_foreach(quotas, i, q)
        if (strcmp(kit_json_text(q, "metric"), metric) == 0)
            return json_is_number(json_object_get(q, "limit")) ? q : NULL;
    return NULL;
}

static void quota_take(struct left *l, const char *metric, const json_t *q,
                       int64_t each)
{
    double limit = json_number_value(json_object_get(q, "limit"));
    double usage = json_number_value(json_object_get(q, "usage"));
    if (!q || each <= 0)
        return;
    bool before = l->all->most > 0;
    uint32_t n = kit_quota_add(l->all, limit - usage, each, "%.60s %s",
                               l->where, metric);
    if (n == 0 && before)
        snprintf(l->note, l->size,
                 "quota %s in %.60s: %.0f of %.0f used, a machine takes %lld",
                 metric, l->where, usage, limit, (long long)each);
}

/* Spot machines have a metric of their own where the project was given one,
 * else they share that of all others
 * (cloud.google.com/compute/resource-usage#preemptible-quotas). */
static void metric_take(struct left *l, const char *metric, const char *own,
                        int64_t each, bool spot)
{
    const json_t *q = spot ? quota_find(l->quotas, own) : NULL;
    bool given = json_number_value(json_object_get(q, "limit")) > 0;
    quota_take(l, given ? own : metric,
               given ? q : quota_find(l->quotas, metric), each);
}

void gcp_room(const json_t *all, const char *zone, const struct gcp_machine *m,
              struct kit_quotas *ret, char *note, size_t size)
{
    char *region = region_of(zone);
    char metric[METRIC_SIZE], own[METRIC_SIZE + 20];
    struct left l = {json_object_get(all, region), region, ret, note, size};
    note[0] = '\0';
    metric_gpus(metric, m->accelerator);
    snprintf(own, sizeof own, "PREEMPTIBLE_%s", metric);
    if (metric[0] != '\0')
        metric_take(&l, metric, own, m->gpus, m->spot);
    metric_cpus(metric, m->machine);
    metric_take(&l, metric, "PREEMPTIBLE_CPUS", m->cpus, m->spot);
    metric_take(&l, "INSTANCES", "", 1, false);
    l.quotas = json_object_get(all, PROJECT);
    l.where = "all regions";
    /* Spot machines count in neither, and a new project has 12 of these CPUs
     * (GoogleCloudPlatform/ai-on-gke#849). */
    if (!m->spot) {
        metric_take(&l, "GPUS_ALL_REGIONS", "", m->gpus, false);
        metric_take(&l, "CPUS_ALL_REGIONS", "", m->cpus, false);
    }
    free(region);
}
