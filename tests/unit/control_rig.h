/*
 * control_rig.h - what the tests of the loop's steps share: an env whose time
 * and workers are played, a ledger in memory, a configuration, one provider and
 * as many demand sources as a test wants, and no struct control.
 *
 * Jobs that a step submits lie in rig.jobs until the test has answered them.
 */
#ifndef CONTROL_RIG_H
#define CONTROL_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "control/reload.h"
#include "control/report/stops.h"
#include "control/requests.h"
#include "control/snapshot_take.h"
#include "provider.h"

enum { RIG_JOBS = 64, RIG_START_MS = 1000000 };

struct rig {
    struct outside outside;
    struct env env;
    struct ledger ledger;
    struct configuration conf;
    struct providers providers;
    struct sources sources;
    struct requests requests;
    struct previous previous;
    struct improvement improvement;
    struct known known;
    struct workers pool;
    struct job *jobs[RIG_JOBS];
    uint32_t n_jobs;
    struct source_ops ops[SOURCES];
    uint32_t n_sources;
};

static struct rig rig;
static int64_t rig_now_ms, rig_slept_ms;

/* ---- time */

static int64_t rig_us(void *arg)
{
    (void)arg;
    return rig_now_ms * 1000;
}

static int64_t rig_boot_us(void *arg)
{
    return rig_us(arg) + rig_slept_ms * 1000;
}

static const struct clock rig_clock = {rig_us, rig_us, rig_boot_us, NULL, NULL};

/* The next step begins so much later. */
static inline void rig_pass(int64_t ms)
{
    rig_now_ms += ms;
    env_begin(&rig.env);
    rig.env.news = false;
}

/* ---- workers: nothing runs by itself */

static bool rig_pool_free(struct workers *w, int64_t wait_ms)
{
    (void)w;
    (void)wait_ms;
    return true;
}

static void rig_pool_submit(struct workers *w, struct job *job)
{
    (void)w;
    assert_true(rig.n_jobs < RIG_JOBS);
    rig.jobs[rig.n_jobs++] = job;
}

static unsigned rig_pool_check(struct workers *w, int64_t mono_ms)
{
    (void)w;
    (void)mono_ms;
    return 0;
}

static const struct workers_ops rig_pool_ops = {rig_pool_free, rig_pool_submit,
                                                rig_pool_check};

static struct workers *rig_pool_new(void *arg, unsigned n, unsigned stuck,
                                    struct mailbox *answers)
{
    (void)arg;
    (void)n;
    (void)stuck;
    (void)answers;
    return &rig.pool;
}

/* The oldest job that was submitted; it is the test's. */
static inline struct job *rig_job(void)
{
    struct job *j;

    assert_true(rig.n_jobs > 0);
    j = rig.jobs[0];
    memmove(rig.jobs, rig.jobs + 1, --rig.n_jobs * sizeof *rig.jobs);
    return j;
}

/* ---- a provider that is never called: tests fill the answers in */

static int rig_open(const struct davit_host *h, const struct davit_setup *s,
                    void **ret, struct davit_error *e)
{
    (void)h;
    (void)s;
    (void)e;
    *ret = &rig;
    return DAVIT_OK;
}

static void rig_close(void *self)
{
    (void)self;
}

static int rig_list(void *self, struct davit_call *c, struct davit_sink *s,
                    void (*put)(struct davit_sink *,
                                const struct davit_machine *),
                    struct davit_error *e)
{
    (void)self;
    (void)c;
    (void)s;
    (void)put;
    (void)e;
    return DAVIT_OK;
}

static int rig_launch(void *self, struct davit_call *c,
                      const struct davit_launch *l, struct davit_sink *s,
                      void (*put)(struct davit_sink *,
                                  const struct davit_machine *),
                      struct davit_error *e)
{
    (void)l;
    return rig_list(self, c, s, put, e);
}

static int rig_terminate(void *self, struct davit_call *c,
                         const char *const *ids, size_t n, struct davit_sink *s,
                         void (*done)(struct davit_sink *, const char *, int),
                         struct davit_error *e)
{
    (void)ids;
    (void)n;
    (void)done;
    return rig_list(self, c, s, NULL, e);
}

enum { RIG_SETTLE_MS = 5000 };

static uint32_t rig_settle(void *self)
{
    (void)self;
    return RIG_SETTLE_MS;
}

static const struct davit_kv rig_options[] = {{0}};
/* A test may give it find(). */
static struct davit_provider rig_provider = {.size = sizeof rig_provider,
                                             .launch_most = 6,
                                             .name = "rig",
                                             .version = "1",
                                             .caps = DAVIT_CAP_SPOT,
                                             .options = rig_options,
                                             .open = rig_open,
                                             .close = rig_close,
                                             .list = rig_list,
                                             .launch = rig_launch,
                                             .terminate = rig_terminate,
                                             .settle_ms = rig_settle};

/* ---- demand sources: their jobs are not run either */

static void rig_handle_free(void *handle)
{
    (void)handle;
}

static enum status rig_sources(void *arg, const struct config *c,
                               struct source_opened *ret, uint32_t *ret_n,
                               struct err *err)
{
    (void)arg;
    (void)c;
    (void)err;
    for (uint32_t i = 0; i < rig.n_sources; i++) {
        rig.ops[i].free = rig_handle_free;
        rig.ops[i].writers = 2;
        ret[i] = (struct source_opened){.ops = &rig.ops[i],
                                        .address = "the rig's"};
    }
    *ret_n = rig.n_sources;
    return ST_OK;
}

/* ---- all of it */

#define RIG_CONFIG \
    "cluster: c\nproviders: {rig: {}}\n" \
    "limits: {think: 500ms, start_timeout: 10m}\n" \
    "node_types:\n" \
    "  t: {provider: rig, resources: {CPU: 4, GPU: 1}, price: 1, max: 9}\n"

/* Another one, with the type u alone. */
#define RIG_OTHER(cluster, options) \
    "cluster: " cluster "\nproviders: {rig: {" options "}}\n" \
    "node_types: {u: {provider: rig, resources: {CPU: 1}, price: 1, max: 9}}\n"

static inline struct config *rig_config(const char *text)
{
    struct config *c;
    struct buf errors;

    buf_init(&errors, 4096);
    if (config_parse("rig.yaml", text, strlen(text), &c, &errors) != ST_OK)
        fail_msg("%s", errors.s);
    buf_done(&errors);
    return c;
}

/* ops: of the sources, the hosted one first; the rest of each is the rig's. */
static inline void rig_start(const char *config, const struct source_ops *ops,
                             uint32_t n_sources)
{
    struct provider_set set;
    struct buf errors;
    struct err err;

    memset(&rig, 0, sizeof rig);
    rig_now_ms = RIG_START_MS;
    rig_slept_ms = 0;
    clock_install(&rig_clock);
    plugin_builtin(&rig_provider);
    rig.pool.ops = &rig_pool_ops;
    rig.outside = (struct outside){.workers = rig_pool_new,
                                   .sources = rig_sources};
    rig.n_sources = n_sources;
    for (uint32_t i = 0; i < n_sources; i++)
        rig.ops[i] = ops[i];
    rig.env.outside = &rig.outside;
    rig.env.workers = &rig.pool;
    env_begin(&rig.env);
    mailbox_init(&rig.env.inbox, NULL, NULL);
    event_ring_init(&rig.env.events, 1);
    configuration_open(&rig.conf, &rig.env, "rig.yaml", NULL,
                       rig_config(config));
    assert_int_equal(ledger_open(&rig.ledger, &rig.env, NULL, ":memory:", &err),
                     ST_OK);
    assert_int_equal(
        requests_open(&rig.requests, &rig.env, &rig.ledger, &rig.conf, &err),
        ST_OK);
    providers_init(&rig.providers, &rig.env, &rig.ledger, &rig.conf,
                   traffic_new(TRAFFIC_LIVE, NULL));
    buf_init(&errors, 4096);
    if (providers_open(&rig.providers, rig.conf.now, &set, &errors) != ST_OK)
        fail_msg("%s", errors.s);
    buf_done(&errors);
    providers_replace(&rig.providers, &set, FORGETS_ALL);
    assert_int_equal(
        sources_open(&rig.sources, &rig.env, &rig.ledger, &rig.conf, &err),
        ST_OK);
    rig.providers.join_elsewhere = n_sources > 0;
    rig.improvement = (struct improvement){.env = &rig.env, .conf = &rig.conf};
    rig.known = (struct known){&rig.env,       &rig.ledger,     &rig.conf,
                               &rig.providers, &rig.sources,    &rig.requests,
                               &rig.previous,  &rig.improvement};
}

static inline void rig_stop(void)
{
    improvement_close(&rig.improvement);
    previous_close(&rig.previous);
    requests_close(&rig.requests);
    sources_close(&rig.sources);
    providers_close(&rig.providers);
    ledger_close(&rig.ledger);
    event_ring_done(&rig.env.events);
    figures_done(&rig.env.metrics.figures);
    mailbox_done(&rig.env.inbox);
    configuration_close(&rig.conf);
    clock_install(NULL);
}

/* ---- short cuts */

static inline struct provider_state *rig_site(void)
{
    return rig.providers.all.v[0];
}

/* A machine of the type t, in that state for a while. */
static inline struct machine *rig_machine(const char *id,
                                          enum machine_state state,
                                          const char *cloud_id)
{
    struct machine *m = fleet_add(&rig.ledger.fleet, id, state, rig.env.now_ms);

    MACHINE_SET(m, provider, "rig");
    MACHINE_SET(m, type, "t");
    if (*cloud_id)
        fleet_bind(&rig.ledger.fleet, m, cloud_id);
    if (state >= STATE_READY)
        m->ready_ms = rig.env.now_ms;
    return m;
}

/* A request as the API posts it; body: what it says, for people only. */
static inline struct command rig_put(const char *owner, const char *resource,
                                     uint32_t count)
{
    struct command cmd = {.kind = COMMAND_REQUEST_PUT, .body = "{}"};
    struct qty *q = ARENA_NEW(&cmd.arena, struct qty);
    struct snap_alt *alt = ARENA_NEW(&cmd.arena, struct snap_alt);
    struct snap_bundle *b = ARENA_NEW(&cmd.arena, struct snap_bundle);

    *q = (struct qty){resource, 10000};
    alt->resources = (struct qtys){q, 1};
    *b = (struct snap_bundle){.alts = alt, .n_alts = 1, .count = count};
    cmd.owner = arena_strdup(&cmd.arena, owner);
    cmd.demand = (struct snap_demand){.source = SOURCE_REQUEST,
                                      .owner = cmd.owner,
                                      .id = "",
                                      .queue = "",
                                      .bundles = b,
                                      .n_bundles = 1};
    return cmd;
}

/* Does the status page name such a stop, as a failing one or as one that is not? */
static inline bool rig_stops_at(const char *kind, bool failing)
{
    struct status_page *page = status_new();
    struct ends ends = {.env = &rig.env};
    bool found = false;

    stops_show(&rig.known, &ends, page);
    for (uint32_t i = 0; i < page->n_stops; i++)
        found = found || (strcmp(page->stops[i].kind, kind) == 0 &&
                          page->stops[i].failing == failing);
    status_unref(page);
    return found;
}

/* Was an event of this kind emitted? */
static inline bool rig_emitted(const char *kind)
{
    struct arena a = {0};
    struct event *v;
    uint32_t n = event_read(&rig.env.events, 0, EVENT_RING, &a, &v);
    bool found = false;

    for (uint32_t i = 0; i < n; i++)
        found = found || strcmp(v[i].kind, kind) == 0;
    arena_done(&a);
    return found;
}

#endif
