/*
 * test_config_golden.c - every file of tests/unit/config: bad/NAME.yaml gives
 * exactly the lines of bad/NAME.txt, good/NAME.yaml the settings of
 * good/NAME.txt, and configs/NAME.yaml those of examples/NAME.txt.
 *
 * DAVIT_GOLDEN_UPDATE=1 writes the .txt files anew: read the diff.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/config/config.h"
#include "../../autoscaler/config/file.h"
#include "../../autoscaler/model/amount.h"

static void dump_time(struct buf *b, const char *name, int64_t ms)
{
    buf_printf(b, " %s=%" PRId64 "ms", name, ms);
}

static void dump_type(struct buf *b, const struct conf_type *t)
{
    const struct snap_type *f = &t->fact;
    char text[32];

    buf_printf(b, "type %s provider=%s machine=%s pool=%s min=%u", f->name,
               f->provider, f->machine, f->pool, f->min);
    if (f->max == UNLIMITED)
        buf_str(b, " max=unlimited");
    else
        buf_printf(b, " max=%u", f->max);
    if (f->hosts != 1)
        buf_printf(b, " hosts=%u", f->hosts);
    if (f->idle_timeout_ms >= 0)
        dump_time(b, "idle", f->idle_timeout_ms);
    if (f->boot_ms >= 0)
        dump_time(b, "boot", f->boot_ms);
    if (f->priority)
        buf_printf(b, " priority=%d", f->priority);
    buf_str(b, "\n ");
    for (uint32_t i = 0; i < f->resources.n; i++)
        buf_printf(b, " %s=%s", f->resources.v[i].name,
                   amount_text(f->resources.v[i].amount, text, sizeof text));
    buf_str(b, "\n");
    for (uint32_t i = 0; i < f->taints.n; i++)
        buf_printf(b, "  taint %s=%s:%s\n", f->taints.v[i].key,
                   f->taints.v[i].value, effect_name(f->taints.v[i].effect));
    for (uint32_t i = 0; i < f->labels.n; i++)
        buf_printf(b, "  label %s=%s\n", f->labels.v[i].key,
                   f->labels.v[i].value);
    for (uint32_t i = 0; i < f->n_offers; i++) {
        buf_printf(b, "  offer zone=%s %s %" PRId64, f->offers[i].zone,
                   f->offers[i].spot ? "spot" : "on-demand",
                   f->offers[i].price_micros_hour);
        if (f->offers[i].idle_timeout_ms)
            dump_time(b, "idle", f->offers[i].idle_timeout_ms);
        buf_str(b, "\n");
    }
    for (uint32_t i = 0; i < t->n_options; i++)
        buf_printf(b, "  option %s=%s\n", t->options[i].key,
                   t->options[i].value);
}

static void dump_names(struct buf *b, const char *what, const struct names *n)
{
    buf_printf(b, " %s=", what);
    for (uint32_t i = 0; i < n->n; i++)
        buf_printf(b, "%s%s", i ? "," : "", n->v[i]);
}

/* Only what is not at its default. */
static void dump_extras(struct buf *b, const struct config *c)
{
    const struct snap_limits *l = &c->limits, *u = &snap_limits_default;
    char text[32];

    for (uint32_t i = 0; i < l->n_end_order; i++)
        buf_printf(b, "end %s\n", end_key_name(l->end_order[i]));
    if (l->consolidate != u->consolidate ||
        l->consolidate_saving != u->consolidate_saving ||
        l->consolidate_age_ms != u->consolidate_age_ms)
        buf_printf(b, "consolidate %s %" PRId64 " %" PRId64 "ms\n",
                   consolidate_name(l->consolidate), l->consolidate_saving,
                   l->consolidate_age_ms);
    for (uint32_t i = 0; i < c->n_spare; i++) {
        const struct qtys *q = &c->spare[i].alts[0].resources;
        buf_printf(b, "spare %u of", c->spare[i].count);
        for (uint32_t k = 0; k < q->n; k++)
            buf_printf(b, " %s=%s", q->v[k].name,
                       amount_text(q->v[k].amount, text, sizeof text));
        buf_str(b, "\n");
    }
    for (uint32_t i = 0; i < c->n_queues; i++) {
        const struct snap_queue *q = &c->queues[i];
        buf_printf(b,
                   "queue %s gpus=%" PRId64 " cpus=%" PRId64 " nodes=%u"
                   " priority=%d",
                   q->name, q->gpus, q->cpus, q->nodes, q->priority);
        dump_names(b, "types", &q->types);
        dump_names(b, "owners", &q->owners);
        buf_str(b, "\n");
    }
}

static void dump(struct buf *b, const struct config *c)
{
    static const char *const dialects[] = {"davit", "ray", "podTypes",
                                           "RayCluster"};

    buf_printf(b, "%s cluster=%s head_type=%s ray=%s token=%s\n",
               dialects[c->dialect], c->cluster, c->head_type, c->ray_address,
               c->ray_token_file);
    buf_printf(b, "api %s %u token=%s cert=%s key=%s state=%s plugins=%s\n",
               c->api_host, c->api_port, c->api_token_file, c->api_tls_cert,
               c->api_tls_key, c->state, c->plugin_dir);
    if (c->kube) {
        buf_printf(b, "kubernetes %s context=%s label=%s reserve=%d",
                   c->kube_kubeconfig, c->kube_context, c->kube_label,
                   c->kube_reserve);
        dump_time(b, "join", c->kube_join_timeout_ms);
        dump_names(b, "namespaces", &c->kube_namespaces);
        dump_names(b, "schedulers", &c->kube_schedulers);
        buf_str(b, "\n");
    }
    buf_printf(b, "limits nodes=%u", c->limits.max_nodes);
    dump_time(b, "idle", c->limits.idle_timeout_ms);
    buf_printf(b,
               " cost=%" PRId64 " launching=%u speed=%" PRId64 " outdated=%d"
               " conserve=%d %s",
               c->limits.max_cost_micros_hour, c->limits.max_launching,
               c->limits.upscaling_speed, c->limits.end_outdated,
               c->limits.conserve, policy_name(c->limits.policy));
    dump_time(b, "start", c->start_timeout_ms);
    dump_time(b, "think", c->think_ms);
    buf_str(b, c->end_unjoined ? " unjoined" : "");
    buf_str(b, "\n");
    for (uint32_t i = 0; i < c->n_providers; i++) {
        const struct conf_provider *p = &c->providers[i];
        buf_printf(b, "provider %s plugin=%s\n", p->name, p->plugin);
        for (uint32_t j = 0; j < p->n_options; j++)
            buf_printf(b, "  option %s=%s at %u:%u\n", p->options[j].key,
                       p->options[j].value, p->options[j].line,
                       p->options[j].column);
    }
    for (uint32_t i = 0; i < c->n_types; i++)
        dump_type(b, &c->types[i]);
    dump_extras(b, c);
    for (uint32_t i = 0; i < c->n_warnings; i++)
        buf_printf(b, "warning %s\n", c->warnings[i]);
}

/* Compares with (or writes) folder/NAME.txt for .../NAME.yaml. */
static bool golden(const char *folder, const char *path, const char *got)
{
    const char *base = strrchr(path, '/') + 1;
    char txt[512], *want;
    size_t n;
    struct err err;
    FILE *f;
    bool same;

    snprintf(txt, sizeof txt, "tests/unit/config/%s/%.*s.txt", folder,
             (int)(strlen(base) - 5), base);
    if (getenv("DAVIT_GOLDEN_UPDATE")) {
        f = fopen(txt, "w");
        assert_non_null(f);
        fputs(got, f);
        fclose(f);
        return true;
    }
    if (file_slurp(txt, 1 << 20, &want, &n, &err) != ST_OK) {
        print_error("%s: %s\n", txt, err.text);
        return false;
    }
    same = strcmp(want, got) == 0;
    if (!same)
        print_error("%s gives\n%s-- but %s has\n%s--\n", path, got, txt, want);
    free(want);
    return same;
}

static void each(const char *pattern, size_t least, bool good)
{
    glob_t g;
    size_t wrong = 0;

    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    assert_true(g.gl_pathc >= least);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *path = g.gl_pathv[i], *base = strrchr(path, '/') + 1;
        struct buf errors, out;
        struct config *c;
        char *text;
        size_t n;
        struct err err;
        enum status s;

        buf_init(&errors, 1 << 20);
        buf_init(&out, 1 << 20);
        assert_int_equal(file_slurp(path, 1 << 20, &text, &n, &err), ST_OK);
        s = config_parse(base, text, n, &c, &errors);
        assert_true((s == ST_OK) == (c != NULL));
        assert_true((s == ST_OK) == (errors.n == 0));
        if (c)
            dump(&out, c);
        if ((s == ST_OK) != good) {
            print_error("%s: %s\n%s", path, good ? "refused" : "accepted",
                        errors.s);
            wrong++;
        } else if (!golden(good ? "good" : "bad", path,
                           good ? out.s : errors.s)) {
            wrong++;
        }
        config_free(c);
        free(text);
        buf_done(&errors);
        buf_done(&out);
    }
    globfree(&g);
    assert_int_equal(wrong, 0);
}

static void test_bad(void **state)
{
    (void)state;
    each("tests/unit/config/bad/*.yaml", 20, false);
}

static void test_good(void **state)
{
    (void)state;
    each("tests/unit/config/good/*.yaml", 8, true);
}

static void test_examples(void **state)
{
    static const char *const needed[] = {
        "accelerators", "kuberay-gpu", "kuberay-gpu.raycluster",
        "local-ray",    "ray-cluster", "raybook-podtypes",
        "resnet-gke",   "shared-gpu",  "sim"};
    glob_t g;
    size_t seen = 0;

    (void)state;
    assert_int_equal(glob("configs/*.yaml", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct config *c;
        struct buf errors, out;
        char name[64];

        if (strstr(g.gl_pathv[i], "/catalogue.yaml"))
            continue;
        for (size_t j = 0; j < sizeof needed / sizeof *needed; j++) {
            snprintf(name, sizeof name, "configs/%s.yaml", needed[j]);
            seen += strcmp(name, g.gl_pathv[i]) == 0;
        }
        buf_init(&errors, 65536);
        if (config_load(g.gl_pathv[i], &c, &errors) != ST_OK)
            fail_msg("%s", errors.s);
        assert_true(c->n_types > 0);
        assert_true(c->n_providers > 0);
        for (uint32_t j = 0; j < c->n_types; j++) {
            assert_true(c->types[j].fact.resources.n > 0);
            assert_true(c->types[j].fact.n_offers > 0);
            assert_int_equal(strlen(c->types[j].hash), 16);
        }
        buf_init(&out, 1 << 20);
        dump(&out, c);
        assert_true(golden("examples", g.gl_pathv[i], out.s));
        buf_done(&out);
        config_free(c);
        buf_done(&errors);
    }
    assert_int_equal(seen, sizeof needed / sizeof *needed);
    globfree(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_examples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
