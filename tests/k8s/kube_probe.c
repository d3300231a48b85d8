/*
 * kube_probe.c - reads a Kubernetes API server through autoscaler/wire and
 * prints what it sees, one line of JSON for each view and each failure.
 *
 *   kube_probe [-k KUBECONFIG] [-n NAMESPACE] [-z ZONE,ZONE] [-b] [-r MS]
 *     -b   brief: counts instead of nodes and demands
 *     -r   deadline of one read
 *   kube_probe [-k KUBECONFIG] -c METHOD PATH [BODY [CONTENT_TYPE]]
 *     one request
 *
 * Ends when its standard input does.  Each line has wall_us, cpu_us, rss_kb.
 */
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/wire/kube/kube.h"
#include "../../autoscaler/wire/pods/pods.h"
#include "../integration/probe_json.h"

static json_t *demand_json(const struct source_view *v, uint32_t ix)
{
    const struct snap_demand *d = &v->demands[ix];
    json_t *bundles = json_array(), *pods = json_array();
    const struct pods_ref *refs;
    uint32_t n;

    for (uint32_t i = 0; i < d->n_bundles; i++) {
        json_t *alts = json_array();
        for (uint32_t k = 0; k < d->bundles[i].n_alts; k++) {
            const struct snap_alt *a = &d->bundles[i].alts[k];
            json_t *tol = json_array();
            for (uint32_t t = 0; t < a->tolerations.n; t++)
                json_array_append_new(tol,
                                      json_string(a->tolerations.v[t].key));
            json_array_append_new(
                alts, json_pack("{sososo}", "resources",
                                qtys_json(a->resources), "selector",
                                terms_json(a->selector), "tolerates", tol));
        }
        json_array_append_new(
            bundles, json_pack("{sIso}", "count",
                               (json_int_t)d->bundles[i].count, "alts", alts));
    }
    refs = pods_of(v, ix, &n);
    for (uint32_t i = 0; i < n && i < 50; i++)
        json_array_append_new(pods, json_string(refs[i].name));
    return json_pack("{sssssssisIsoso}", "source", source_name(d->source), "id",
                     d->id, "strategy", strategy_name(d->strategy), "priority",
                     (int)d->priority, "n_pods", (json_int_t)n, "bundles",
                     bundles, "pods", pods);
}

static json_t *node_json(const struct source_node *n)
{
    static const char *const status[] = {"?",    "running",  "dead",
                                         "idle", "draining", "unready"};
    json_t *labels = json_object(), *taints = json_array();

    for (uint32_t i = 0; i < n->labels.n; i++)
        json_object_set_new(labels, n->labels.v[i].key,
                            json_string(n->labels.v[i].value));
    for (uint32_t i = 0; i < n->taints.n; i++)
        json_array_append_new(taints, json_string(n->taints.v[i].key));
    return json_pack("{sssssssssssbsbsIsosososo}", "id", n->node_id, "instance",
                     n->instance_id, "zone", n->zone, "note", n->note, "status",
                     status[n->status], "unschedulable", n->unschedulable,
                     "settling", n->settling, "idle_ms", (json_int_t)n->idle_ms,
                     "total", qtys_json(n->total), "available",
                     qtys_json(n->available), "labels", labels, "taints",
                     taints);
}

static uint64_t pending(const struct source_view *v)
{
    uint64_t n = 0;

    for (uint32_t d = 0; d < v->n_demands; d++)
        for (uint32_t b = 0; b < v->demands[d].n_bundles; b++)
            n += v->demands[d].bundles[b].count;
    return n;
}

static void line(json_t *o)
{
    struct rusage r;
    char *text;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    getrusage(RUSAGE_SELF, &r);
    json_object_set_new(o, "wall_us", json_integer(clock_wall_ms() * 1000));
    json_object_set_new(
        o, "cpu_us",
        json_integer((r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 +
                     r.ru_utime.tv_usec + r.ru_stime.tv_usec));
    json_object_set_new(o, "rss_kb", json_integer(pages * 4));
    text = json_dumps(o, JSON_COMPACT);
    puts(text);
    fflush(stdout);
    free(text);
    json_decref(o);
}

static void view_line(const struct source_view *v, bool brief)
{
    json_t *o = json_pack(
        "{sIsIsIsIsI}", "pending", (json_int_t)pending(v), "n_nodes",
        (json_int_t)v->n_nodes, "n_demands", (json_int_t)v->n_demands,
        "took_us", (json_int_t)v->took_us, "version", (json_int_t)v->version);
    json_t *list = json_array();

    for (uint32_t i = 0; i < v->n_notes; i++)
        json_array_append_new(
            list, json_pack("{ssssss}", "name", v->notes[i].name, "code",
                            v->notes[i].code, "text", v->notes[i].text));
    json_object_set_new(o, "notes", list);
    if (!brief) {
        json_t *demands = json_array(), *nodes = json_object();
        for (uint32_t i = 0; i < v->n_demands; i++)
            json_array_append_new(demands, demand_json(v, i));
        for (uint32_t i = 0; i < v->n_nodes; i++)
            json_object_set_new(nodes, v->nodes[i].node_id,
                                node_json(&v->nodes[i]));
        json_object_set_new(o, "demands", demands);
        json_object_set_new(o, "nodes", nodes);
    }
    line(o);
}

static int one_call(const char *kubeconfig, char **argv, int n)
{
    struct kube_access_opts o = {.kubeconfig = kubeconfig};
    struct kube_access *a;
    struct err err = {0};
    struct kube_call c = {.method = argv[0],
                          .path = argv[1],
                          .body = n > 2 ? argv[2] : NULL,
                          .content_type = n > 3 ? argv[3] : NULL};
    enum status s = kube_access_find(&o, &a, &err);
    struct kube *k;

    if (s == ST_OK) {
        k = kube_new(a);
        s = kube_do(k, &c, &err);
        kube_free(k);
    }
    line(json_pack("{sssssssiso?}", "status", status_name(s), "error", err.text,
                   "code", err.code, "http", c.code, "reply", c.reply));
    kube_access_free(a);
    return s == ST_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct kube_source_opts o = {.kubeconfig = "", .context = ""};
    const char *space = NULL, *zones[16];
    int64_t deadline = 500;
    bool brief = false, call = false;
    struct err err = {0};
    void *h;
    int c;

    while ((c = getopt(argc, argv, "+k:n:z:r:bc")) != -1)
        switch (c) {
        case 'k': o.kubeconfig = optarg; break;
        case 'n':
            space = optarg;
            o.namespaces = (struct names){&space, 1};
            break;
        case 'z':
            o.zones.v = zones;
            for (char *s = strtok(optarg, ","); s && o.zones.n < 16;
                 s = strtok(NULL, ","))
                zones[o.zones.n++] = s;
            break;
        case 'r': deadline = strtol(optarg, NULL, 10); break;
        case 'b': brief = true; break;
        case 'c': call = true; break;
        default: return 2;
        }
    if (call)
        return optind + 2 > argc
                   ? 2
                   : one_call(o.kubeconfig, argv + optind, argc - optind);
    if (kube_source_new(&o, &h, &err) != ST_OK) {
        line(json_pack("{ssss}", "status", status_name(err.status), "error",
                       err.text));
        return 1;
    }
    for (;;) {
        struct pollfd in = {.fd = 0, .events = POLLIN};
        struct source_view *v = NULL;
        enum status s = kube_source_ops.read(h, clock_mono_ms() + deadline, &v,
                                             &err);
        if (s != ST_OK)
            line(json_pack("{ssssss}", "status", status_name(s), "error",
                           err.text, "code", err.code));
        else if (v)
            view_line(v, brief);
        source_view_unref(v);
        if (s != ST_OK)
            usleep(100000); /* wait: the loop's pause after an error */
        char byte;
        if (poll(&in, 1, 0) > 0 && read(0, &byte, 1) <= 0)
            break;
    }
    kube_source_ops.stop(h);
    kube_source_ops.free(h);
    return 0;
}
