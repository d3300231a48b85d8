/*
 * ray_probe.c - speaks to a Ray head through autoscaler/wire and prints JSON.
 *
 *   ray_probe ADDRESS [-t TOKEN_FILE] [-d DEADLINE_MS] COMMAND
 *     read [N]             the view, N times over one connection (the last is
 *                          printed)
 *     reply                the reply as it came, raw (for tests/fuzz)
 *     parse FILE [N]       no head: a recorded reply, N times, CPU time on stderr
 *     report               standard input: {"pending": [{type, machine, id,
 *                          address, detail}], "failed": [{type, machine,
 *                          reason, start_s, failed_s, count}], "infeasible":
 *                          "all" (the view's demands) or absent, "why": text}
 *     drain RAY_ID [preempt]
 *     serve                one command per line, one JSON line each: read,
 *                          drain ...; for tests across a head's restart
 *
 * Exit code: 0, or the enum status + 10; the error is printed as JSON too.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/wire/ray/inside.h"
#include "probe_json.h"

static int64_t deadline_ms = 5000;

static json_t *pairs_json(struct pairs p)
{
    json_t *o = json_object();
    for (uint32_t i = 0; i < p.n; i++)
        json_object_set_new(o, p.v[i].key, json_string(p.v[i].value));
    return o;
}

static json_t *demand_json(const struct snap_demand *d)
{
    json_t *bundles = json_array();
    for (uint32_t i = 0; i < d->n_bundles; i++) {
        json_t *alts = json_array();
        for (uint32_t k = 0; k < d->bundles[i].n_alts; k++)
            json_array_append_new(
                alts, json_pack("{soso}", "resources",
                                qtys_json(d->bundles[i].alts[k].resources),
                                "selector",
                                terms_json(d->bundles[i].alts[k].selector)));
        json_array_append_new(
            bundles, json_pack("{sIso}", "count",
                               (json_int_t)d->bundles[i].count, "alts", alts));
    }
    return json_pack("{ssssssssso}", "source", source_name(d->source), "owner",
                     d->owner, "id", d->id, "strategy",
                     strategy_name(d->strategy), "bundles", bundles);
}

static json_t *node_json(const struct source_node *n)
{
    static const char *const status[] = {"UNSPECIFIED", "RUNNING", "DEAD",
                                         "IDLE", "DRAINING"};
    return json_pack("{sssssssssssssbsssIsososo}", "ray_id", n->node_id,
                     "instance_id", n->instance_id, "type", n->type, "machine",
                     n->machine, "address", n->address, "activity", n->activity,
                     "head", n->head, "status", status[n->status], "idle_ms",
                     (json_int_t)n->idle_ms, "total", qtys_json(n->total),
                     "available", qtys_json(n->available), "labels",
                     pairs_json(n->labels));
}

static json_t *view_json(const struct source_view *v)
{
    json_t *nodes = json_array(), *demands = json_array();
    for (uint32_t i = 0; i < v->n_nodes; i++)
        json_array_append_new(nodes, node_json(&v->nodes[i]));
    for (uint32_t i = 0; i < v->n_demands; i++)
        json_array_append_new(demands, demand_json(&v->demands[i]));
    return json_pack(
        "{sbsIsssIsIsIsoso}", "v2", v->v2, "version", (json_int_t)v->version,
        "session", v->session, "took_us", (json_int_t)v->took_us, "elsewhere",
        (json_int_t)v->n_elsewhere, "garbled", (json_int_t)v->n_garbled,
        "nodes", nodes, "demands", demands);
}

static int print(json_t *o, size_t flags)
{
    json_dumpf(o, stdout, flags | JSON_SORT_KEYS);
    putchar('\n');
    fflush(stdout);
    json_decref(o);
    return 0;
}

static int failed(const struct err *e, size_t flags)
{
    print(json_pack("{sssssssI}", "error", e->text, "status",
                    status_name(e->status), "code", e->code, "retry_after_ms",
                    (json_int_t)e->retry_after_ms),
          flags);
    return 10 + (int)e->status;
}

static int do_read(struct ray_head *h, int times, size_t flags)
{
    struct source_view *view = NULL;
    struct err err = {0};
    enum status s = ST_OK;
    for (int i = 0; i < times && !s; i++) {
        source_view_unref(view);
        s = ray_head_read(h, clock_mono_ms() + deadline_ms, &view, &err);
    }
    int rc = s ? failed(&err, flags) : print(view_json(view), flags);
    source_view_unref(view);
    return rc;
}

static int do_drain(struct ray_head *h, const char *id, bool preempt,
                    size_t flags)
{
    struct err err = {0};
    bool accepted;
    char why[256];
    enum status s = ray_head_drain(
        h, id, preempt, "ray_probe", clock_wall_ms() + 60000,
        clock_mono_ms() + deadline_ms, &accepted, why, sizeof why, &err);
    if (s)
        return failed(&err, flags);
    return print(json_pack("{sbss}", "accepted", accepted, "why", why), flags);
}

static const char *str(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static int64_t num(json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static int do_report(struct ray_head *h, json_t *in, size_t flags)
{
    struct arena arena = {0};
    struct err err = {0};
    struct source_view *view;
    enum status s = ray_head_read(h, clock_mono_ms() + deadline_ms, &view,
                                  &err);
    if (!s) {
        json_t *p = json_object_get(in, "pending"), *o;
        json_t *f = json_object_get(in, "failed");
        size_t i;
        struct source_pending *pending = ARENA_ARRAY(
            &arena, struct source_pending, json_array_size(p));
        struct source_failed *fails = ARENA_ARRAY(&arena, struct source_failed,
                                                  json_array_size(f));
        json_array_foreach(p, i, o)
            pending[i] = (struct source_pending){
                str(o, "type"), str(o, "machine"), str(o, "id"),
                str(o, "address"), str(o, "detail")};
        json_array_foreach(f, i, o)
            fails[i] = (struct source_failed){
                str(o, "type"),     str(o, "machine"),
                str(o, "reason"),   num(o, "start_s"),
                num(o, "failed_s"), (uint32_t)num(o, "count")};
        struct source_report r = {
            .seen_version = view->version,
            .version = clock_wall_ms(),
            .pending = pending,
            .n_pending = (uint32_t)json_array_size(p),
            .failed = fails,
            .n_failed = (uint32_t)json_array_size(f),
        };
        if (strcmp(str(in, "infeasible"), "all") == 0) {
            const char **why = ARENA_ARRAY(&arena, const char *,
                                           view->n_demands);
            for (uint32_t k = 0; k < view->n_demands; k++)
                why[k] = str(in, "why");
            r.infeasible = view->demands;
            r.n_infeasible = view->n_demands;
            r.why = why;
        }
        s = ray_head_report(h, &r, clock_mono_ms() + deadline_ms, &err);
    }
    int rc = s ? failed(&err, flags)
               : print(json_pack("{sb}", "reported", 1), flags);
    source_view_unref(view);
    arena_done(&arena);
    return rc;
}

static int do_parse(const char *path, int times)
{
    struct arena scratch = {0};
    struct source_view *view = NULL;
    struct err err = {0};
    size_t cap = (size_t)64 << 20;
    char *bytes = malloc(cap);
    FILE *f = fopen(path, "rb");
    if (!bytes || !f)
        return perror(path), 2;
    size_t n = fread(bytes, 1, cap, f);
    fclose(f);
    clock_t start = clock();
    enum status s = ST_OK;
    for (int i = 0; i < times && !s; i++) {
        arena_reset(&scratch);
        source_view_unref(view);
        view = source_view_new();
        s = ray_view_parse(bytes, n, &scratch, view, &err);
    }
    double ms = (double)(clock() - start) * 1000 / CLOCKS_PER_SEC / times;
    fprintf(stderr,
            "%zu bytes, %.3f ms CPU each, %zu bytes of view, "
            "%zu of scratch\n",
            n, ms, view->arena.used, scratch.used);
    int rc = s           ? failed(&err, JSON_INDENT(2))
             : times > 1 ? 0
                         : print(view_json(view), JSON_INDENT(2));
    arena_done(&scratch);
    source_view_unref(view);
    free(bytes);
    return rc;
}

static int do_reply(struct ray_head *h)
{
    struct err err = {0};
    const void *bytes;
    size_t n;
    ray_call_begin(h);
    enum status s = ray_call(h, RAY_AUTOSCALER "GetClusterResourceState", "", 0,
                             clock_mono_ms() + deadline_ms, &bytes, &n, &err);
    if (s)
        return failed(&err, JSON_INDENT(2));
    fwrite(bytes, 1, n, stdout);
    return 0;
}

static int serve(struct ray_head *h)
{
    char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        char id[200], how[20] = "";
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "read") == 0)
            do_read(h, 1, JSON_COMPACT);
        else if (sscanf(line, "drain %199s %19s", id, how) >= 1)
            do_drain(h, id, strcmp(how, "preempt") == 0, JSON_COMPACT);
        else if (strncmp(line, "report ", 7) == 0) {
            json_t *in = json_loads(line + 7, 0, NULL);
            do_report(h, in, JSON_COMPACT);
            json_decref(in);
        } else
            puts("{\"error\": \"unknown command\"}");
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *token_file = "";
    int i = 2;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        if (strcmp(argv[i], "-t") == 0)
            token_file = argv[i + 1];
        else
            deadline_ms = atoll(argv[i + 1]);
    if (i >= argc)
        return fputs("usage: ray_probe ADDRESS [-t FILE] [-d MS] read|reply|"
                     "parse|report|drain|serve ...\n",
                     stderr),
               2;
    const char *arg = i + 1 < argc ? argv[i + 1] : NULL;
    const char *second = i + 2 < argc ? argv[i + 2] : NULL;
    if (strcmp(argv[i], "parse") == 0 && arg)
        return do_parse(arg, second ? atoi(second) : 1);
    struct ray_head *h = ray_head_new(argv[1], token_file);
    int rc = 2;
    if (strcmp(argv[i], "read") == 0) {
        rc = do_read(h, arg ? atoi(arg) : 1, JSON_INDENT(2));
    } else if (strcmp(argv[i], "reply") == 0) {
        rc = do_reply(h);
    } else if (strcmp(argv[i], "report") == 0) {
        json_t *in = json_loadf(stdin, 0, NULL);
        rc = do_report(h, in, JSON_INDENT(2));
        json_decref(in);
    } else if (strcmp(argv[i], "drain") == 0 && arg) {
        rc = do_drain(h, arg, second && strcmp(second, "preempt") == 0,
                      JSON_INDENT(2));
    } else if (strcmp(argv[i], "serve") == 0) {
        rc = serve(h);
    }
    ray_head_free(h);
    return rc;
}
