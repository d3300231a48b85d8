/*
 * api_world.h - a small cluster for the tests of the API: its facts, and a
 * page made from them by the real snapshot and planner.
 */
#ifndef TESTS_UNIT_API_WORLD_H
#define TESTS_UNIT_API_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "control/status.h"
#include "model/accel.h"
#include "model/amount.h"
#include "plan/planner.h"

#define WORLD_NOW INT64_C(1790000000000)
#define GIB (INT64_C(1) << 30)

static inline struct qtys world_shape(struct arena *a, int64_t cpu, int64_t gib,
                                      int64_t gpu)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, 3);
    uint32_t n = 0;

    v[n++] = (struct qty){"CPU", cpu * AMOUNT_ONE};
    v[n++] = (struct qty){"memory", gib * GIB * AMOUNT_ONE};
    if (gpu)
        v[n++] = (struct qty){"GPU", gpu * AMOUNT_ONE};
    return (struct qtys){v, n};
}

static inline struct pairs world_accel(struct arena *a, const char *name)
{
    struct pair *v = ARENA_NEW(a, struct pair);

    *v = (struct pair){ACCEL_LABEL, name};
    return (struct pairs){v, 1};
}

static inline struct snap_type world_type(struct arena *a, const char *name,
                                          struct qtys q, int64_t micros,
                                          uint32_t max, int64_t boot_ms)
{
    struct snap_offer *o = ARENA_NEW(a, struct snap_offer);

    *o = (struct snap_offer){
        .zone = "", .price_micros_hour = micros, .room = UNLIMITED};
    return (struct snap_type){.name = name,
                              .provider = "sim",
                              .machine = "",
                              .pool = "",
                              .resources = q,
                              .max = max,
                              .idle_timeout_ms = -1,
                              .boot_ms = boot_ms,
                              .hosts = 1,
                              .offers = o,
                              .n_offers = 1};
}

static inline struct snap_node world_node(const char *id,
                                          const struct snap_type *t,
                                          enum machine_state state,
                                          int64_t idle_ms)
{
    return (struct snap_node){
        .id = id,
        .type = t->name,
        .zone = "",
        .state = state,
        .total = state == STATE_READY ? t->resources : (struct qtys){0},
        .available = state == STATE_READY ? t->resources : (struct qtys){0},
        .labels = t->labels,
        .idle_ms = idle_ms,
        .since_ms = WORLD_NOW - 30000,
        .created_ms = WORLD_NOW - 30000,
        .price_micros_hour = -1,
        .activity = "",
        .cloud_id = "",
        .address = "",
        .ray_id = "",
        .provider = "sim",
        .request_id = "",
        .note = ""};
}

/* Types cpu (max 4), t4 (max 2), k80 (boot time not known); nodes: the head, a
 * ready idle cpu-1, a ready t4-1 and a starting t4-2. */
static inline struct snapshot *world_snapshot(struct arena *a)
{
    struct snapshot *f = ARENA_NEW(a, struct snapshot);
    struct snap_type *t = ARENA_ARRAY(a, struct snap_type, 3);
    struct snap_node *n = ARENA_ARRAY(a, struct snap_node, 4);

    t[0] = world_type(a, "cpu", world_shape(a, 8, 32, 0), 270000, 4, 60000);
    t[1] = world_type(a, "t4", world_shape(a, 8, 30, 1), 730000, 2, 90000);
    t[1].labels = world_accel(a, "T4");
    t[2] = world_type(a, "k80", world_shape(a, 4, 61, 1), 900000, UNLIMITED,
                      -1);
    t[2].labels = world_accel(a, "K80");
    n[0] = world_node("head", &t[0], STATE_READY, -1);
    n[0].type = "";
    n[0].head = n[0].unmanaged = true;
    n[0].ray_id = "aabbcc";
    n[1] = world_node("cpu-1", &t[0], STATE_READY, 12000);
    n[2] = world_node("t4-1", &t[1], STATE_READY, 5000);
    n[2].ray_id = "ddeeff";
    n[3] = world_node("t4-2", &t[1], STATE_STARTING, -1);
    n[3].note = "booting \"quoted\" \xff\x01 end";
    *f = (struct snapshot){.cluster = "test",
                           .now_ms = WORLD_NOW,
                           .sources_fresh = true,
                           .limits = snap_limits_default,
                           .types = t,
                           .n_types = 3,
                           .nodes = n,
                           .n_nodes = 4};
    f->limits.max_nodes = 20;
    return f;
}

/* Adds a request of an owner, given as JSON bundles. */
static inline void world_ask(struct arena *a, struct snapshot *f,
                             const char *owner, const char *body)
{
    struct snap_demand *d = ARENA_ARRAY(a, struct snap_demand,
                                        f->n_demands + 1);
    struct err err;
    json_t *v = NULL;

    if (codec_parse(body, strlen(body), &v, &err) != ST_OK)
        abort();
    if (f->n_demands)
        memcpy(d, f->demands, sizeof *d * f->n_demands);
    if (codec_request_read(v, owner, f->now_ms, a, &d[f->n_demands], &err) !=
        ST_OK)
        abort();
    json_decref(v);
    f->demands = d;
    f->n_demands++;
}

static inline struct status_page *world_page_new(void)
{
    struct status_page *p = calloc(1, sizeof *p);

    if (!p)
        abort();
    atomic_init(&p->refs, 1);
    p->tick = 7;
    p->started_ms = WORLD_NOW - 3600000;
    p->version = "0.1.0";
    p->ray_address = p->ray_session = p->ray_problem = "";
    p->config_path = "davit.yaml";
    p->config_problem = "";
    p->config_loaded_ms = p->started_ms;
    p->journal_ok = true;
    return p;
}

/* The snapshot and the plan of the page's facts. */
static inline void world_plan(struct status_page *p)
{
    struct problem *s;
    struct plan *plan = ARENA_NEW(&p->arena, struct plan);
    struct err err;

    if (problem_make(p->snapshot, &p->arena, &s, &err) != ST_OK)
        abort();
    planner_run(s, 0, &p->arena, plan);
    p->now = s;
    p->plan = plan;
}

#endif
