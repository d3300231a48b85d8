/*
 * cmd_plan.c - snapshot in, plan out, no side effect.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../config/config.h"
#include "../model/codec.h"
#include "../plan/planner.h"
#include "cli.h"

static bool is_json(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
        text++;
    return *text == '{';
}

/* What a configuration would do for an empty cluster. */
static struct facts *facts_of(const struct config *conf, struct arena *a)
{
    struct facts *f = ARENA_NEW(a, struct facts);
    struct fact_type *types = ARENA_ARRAY(a, struct fact_type, conf->n_types);

    for (uint32_t i = 0; i < conf->n_types; i++)
        types[i] = conf->types[i].fact;
    f->cluster = conf->cluster;
    f->head_fresh = true;
    f->limits = conf->limits;
    f->types = types;
    f->n_types = conf->n_types;
    return f;
}

static enum status facts_load(const char *path, struct arena *a,
                              struct config **ret_conf, struct facts **ret,
                              struct buf *errors)
{
    json_t *json = NULL;
    enum status s;
    struct err err;
    char *text;
    size_t n;

    s = cli_read(path, a, &text, &n, &err);
    if (s != ST_OK) {
        buf_printf(errors, "%s\n", err.text);
        return s;
    }
    if (!is_json(text)) {
        s = config_parse(path, text, n, ret_conf, errors);
        if (s == ST_OK)
            *ret = facts_of(*ret_conf, a);
        return s;
    }
    s = codec_parse(text, n, &json, &err);
    if (s == ST_OK)
        s = codec_facts_read(json, a, ret, &err);
    json_decref(json);
    if (s != ST_OK)
        buf_printf(errors, "%s: %s\n", path, err.text);
    return s;
}

/* Adds what --request asked for, as a request of owner "plan". */
static enum status request_add(struct facts *f, char **texts, int n,
                               struct arena *a, struct buf *errors)
{
    struct fact_demand *v = ARENA_ARRAY(a, struct fact_demand,
                                        f->n_demands + (uint32_t)n);
    struct err err;

    for (uint32_t i = 0; i < f->n_demands; i++)
        v[i] = f->demands[i];
    for (int i = 0; i < n; i++) {
        struct fact_bundle *b = ARENA_NEW(a, struct fact_bundle);
        json_t *json = NULL;
        enum status s = codec_parse(texts[i], strlen(texts[i]), &json, &err);

        if (s == ST_OK)
            s = codec_bundle_read(json, "--request", a, b, &err);
        json_decref(json);
        if (s != ST_OK) {
            buf_printf(errors, "%s\n", err.text);
            return s;
        }
        v[f->n_demands + (uint32_t)i] = (struct fact_demand){
            .source = SOURCE_REQUEST, .id = "", .bundles = b, .n_bundles = 1,
            .owner = arena_printf(a, "plan-%d", i + 1)};
    }
    f->demands = v;
    f->n_demands += (uint32_t)n;
    return ST_OK;
}

static void print_people(const struct snapshot *s, const struct plan *p)
{
    uint32_t waiting = 0, infeasible = 0;

    for (uint32_t i = 0; i < p->n_launches; i++) {
        const struct plan_launch *l = &p->launches[i];
        const struct sn_offer *o = &s->offers[l->offer];
        printf("launch  %5u  %-24s %-12s %-10s %10.4f/h  %s\n", l->count,
               s->str[s->types[o->type].name], s->str[o->zone],
               o->spot ? "spot" : "on-demand",
               (double)o->price_micros_hour * l->count / 1e6,
               reason_code(l->why));
    }
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (p->nodes[i].action != NODE_KEEP)
            printf("%-7s        %-36s %s\n",
                   p->nodes[i].action == NODE_END ? "end" : "undrain",
                   s->str[s->nodes[i].id], reason_code(p->nodes[i].why));
    for (uint32_t i = 0; i < s->n_bundles; i++) {
        waiting += p->bundles[i].waiting;
        infeasible += p->bundles[i].infeasible;
    }
    printf("%u to launch, %u to end, %u bundles waiting, %u infeasible, "
           "%.4f/h",
           p->n_launched, p->n_ended, waiting, infeasible,
           (double)p->cost_micros_hour / 1e6);
    if (p->bound_micros_hour >= 0)
        printf(" (at least %.4f/h)", (double)p->bound_micros_hour / 1e6);
    putchar('\n');
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"request", required_argument, NULL, 'r'},
        {0}};
    char **requests = calloc((size_t)argc, sizeof *requests);
    int n_requests = 0, opt, rc = EXIT_INPUT;
    struct arena a = {0};
    struct config *conf = NULL;
    struct snapshot *now;
    struct facts *facts;
    struct plan plan;
    struct buf errors;
    struct err err;
    bool json = false;

    if (!requests)
        abort();
    while ((opt = getopt_long(argc, argv, "jr:", options, NULL)) != -1) {
        if (opt == 'j')
            json = true;
        else if (opt == 'r')
            requests[n_requests++] = optarg;
        else
            break;
    }
    if (opt != -1 || optind + 1 != argc) {
        free(requests);
        return cli_usage(&cli_plan, opt != -1 ? "see above"
                                              : "one file is needed");
    }
    buf_init(&errors, 1 << 20);
    if (facts_load(argv[optind], &a, &conf, &facts, &errors) == ST_OK &&
        request_add(facts, requests, n_requests, &a, &errors) == ST_OK) {
        if (snapshot_make(facts, &a, &now, &err) != ST_OK) {
            buf_printf(&errors, "%s: %s\n", argv[optind], err.text);
        } else {
            planner_run(now, &a, &plan);
            if (json) {
                json_t *out = codec_plan_write(now, &plan);
                json_dumpf(out, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
                putchar('\n');
                json_decref(out);
            } else {
                print_people(now, &plan);
            }
            rc = EXIT_OK;
        }
    }
    fputs(errors.s, stderr);
    buf_done(&errors);
    config_free(conf);
    arena_done(&a);
    free(requests);
    return rc;
}

const struct cli_command cli_plan = {
    "plan", "[--json] [--request BUNDLE]... FILE",
    "plans for a snapshot or a configuration; does nothing", run,
    "FILE is a snapshot.json (docs/snapshot.md), or a configuration, which is\n"
    "planned for an empty cluster.  --request '{\"GPU\":1,\"accelerator_type\":\n"
    "\"T4\"}' adds a bundle to hold; it may be repeated.\n"};
