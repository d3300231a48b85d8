/*
 * cloud_rig.h - what the tests of autoscaler/cloud/ share: a configuration
 * built by hand, a pool of workers, and calls run to their answer.
 */
#ifndef CLOUD_RIG_H
#define CLOUD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/until.h"
#include "base/clock.h"
#include "cloud/cloud.h"
#include "scratch.h"

#define RIG_TYPES 6
#define RIG_OPTIONS 24

struct rig {
    struct config config;
    struct conf_provider provider;
    struct conf_type types[RIG_TYPES];
    struct conf_pair options[RIG_OPTIONS];
    struct snap_offer offers[RIG_TYPES][3];
    struct qty gpus[RIG_TYPES];
    struct pair accel[RIG_TYPES];
    struct buf errors;
    struct provider *p;
    struct mailbox box;
    struct workers *workers;
    char dir[256]; /* scratch, removed by rig_done() */
};

static inline const char *rig_build(void)
{
    const char *b = getenv("DAVIT_BUILD");
    return b ? b : "build/debug";
}

__attribute__((noinline, unused)) static const char *rig_text(const char *fmt,
                                                              const char *a,
                                                              const char *b)
{
    static char text[8][600];
    static unsigned next;
    char *t = text[next++ % 8];
    snprintf(t, sizeof text[0], fmt, a, b);
    return t;
}

static inline const char *rig_test_plugin(const char *name)
{
    return rig_text("%s/tests/plugins/davit-%s.so", rig_build(), name);
}

/* plugin: a name of a real plug-in, or a path. */
static inline void rig_init(struct rig *r, const char *plugin)
{
    memset(r, 0, sizeof *r);
    scratch_path(r->dir, "davit-test-XXXXXX");
    if (!mkdtemp(r->dir))
        abort();
    r->config.path = "davit.yaml";
    r->config.cluster = "test";
    r->config.ray_address = "";
    r->config.plugin_dir = "";
    r->provider = (struct conf_provider){
        .name = "cloud", .plugin = plugin, .line = 3, .column = 3};
    if (!strchr(plugin, '/'))
        r->provider.plugin = rig_text("%s/plugins/davit-%s.so", rig_build(),
                                      plugin);
    r->provider.options = r->options;
    r->config.providers = &r->provider;
    r->config.n_providers = 1;
    r->config.types = r->types;
    buf_init(&r->errors, 65536);
    mailbox_init(&r->box, NULL, NULL);
    r->workers = workers_new(4, 8, &r->box);
}

/* zones: up to three, NULL for none. */
static inline struct conf_type *rig_type(struct rig *r, const char *name,
                                         int gpus, const char *accel,
                                         const char *z1, const char *z2)
{
    uint32_t i = r->config.n_types++;
    struct conf_type *t = &r->types[i];
    struct snap_type *f = &t->fact;
    f->name = name;
    f->provider = "cloud";
    f->max = UNLIMITED;
    r->gpus[i] = (struct qty){"GPU", gpus * INT64_C(10000)};
    r->accel[i] = (struct pair){"ray.io/accelerator-type", accel};
    f->resources = (struct qtys){&r->gpus[i], gpus > 0};
    f->labels = (struct pairs){&r->accel[i], accel ? 1 : 0};
    r->offers[i][0].zone = z1 ? z1 : "";
    r->offers[i][1].zone = z2 ? z2 : "";
    f->offers = r->offers[i];
    f->n_offers = z2 ? 2 : 1;
    t->line = 10 + i;
    t->column = 3;
    return t;
}

static inline void rig_option(struct rig *r, const char *key, const char *value)
{
    uint32_t i = r->provider.n_options++;
    r->options[i] = (struct conf_pair){key, value, 20 + i, 7};
}

static inline enum status rig_open(struct rig *r)
{
    buf_clear(&r->errors);
    return provider_open(&r->config, &r->provider, &r->p, &r->errors);
}

static inline void rig_done(struct rig *r)
{
    workers_free(r->workers, 10000);
    provider_close(r->p);
    mailbox_done(&r->box);
    buf_done(&r->errors);
    char command[288];
    snprintf(command, sizeof command, "rm -rf '%s'", r->dir);
    if (system(command) != 0)
        abort();
}

/* The next answer; checks the pool for stuck workers meanwhile. */
static inline struct call *rig_take(struct rig *r)
{
    static _Thread_local struct mail *rest;
    struct mail *m;
    UNTIL((m = rest ? rest : mailbox_take(&r->box)) ||
          (workers_check(r->workers, clock_mono_ms()), false));
    rest = m->next;
    return (struct call *)m;
}

static inline struct call *rig_run(struct rig *r, struct call *c)
{
    call_submit(r->workers, c, 60000);
    struct call *got = rig_take(r);
    assert_ptr_equal(got, c);
    return got;
}

static inline struct call *rig_list(struct rig *r)
{
    return rig_run(r, call_new(r->p, CALL_LIST, 1));
}

static inline struct call *rig_launch_new(struct rig *r, const char *type,
                                          const char *zone, uint32_t count,
                                          const char *request)
{
    struct call *c = call_new(r->p, CALL_LAUNCH, 2);
    c->type = arena_strdup(&c->arena, type);
    c->zone = arena_strdup(&c->arena, zone);
    c->request_id = arena_strdup(&c->arena, request);
    c->count = count;
    return c;
}

static inline struct call *rig_launch(struct rig *r, const char *type,
                                      const char *zone, uint32_t count,
                                      const char *request)
{
    return rig_run(r, rig_launch_new(r, type, zone, count, request));
}

static inline struct call *rig_end_new(struct rig *r, const char *id1,
                                       const char *id2)
{
    struct call *c = call_new(r->p, CALL_TERMINATE, 3);
    const char **ids = ARENA_ARRAY(&c->arena, const char *, 2);
    ids[0] = arena_strdup(&c->arena, id1);
    ids[1] = arena_strdup(&c->arena, id2);
    c->ids = ids;
    c->n_ids = id2 ? 2 : 1;
    return c;
}

static inline struct call *rig_end(struct rig *r, const char *id1,
                                   const char *id2)
{
    return rig_run(r, rig_end_new(r, id1, id2));
}

/* Machines listed in this phase, any for -1. */
static inline uint32_t rig_count(struct rig *r, int phase)
{
    struct call *c = rig_list(r);
    uint32_t n = 0;
    assert_int_equal(c->status, ST_OK);
    for (uint32_t i = 0; i < c->machines.n; i++)
        n += phase < 0 || (int)c->machines.v[i].phase == phase;
    call_free(c);
    return n;
}

#define assert_has(text, part) \
    do { \
        if (!strstr((text), (part))) \
            fail_msg("\"%s\" lacks \"%s\"", (text), (part)); \
    } while (0)

#endif
