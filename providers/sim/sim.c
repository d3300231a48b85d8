/*
 * sim.c - the embedded default provider: a small cloud with the bad habits of
 * the large ones (slow boots, stockouts, quotas, throttling, lost replies),
 * each as configured.
 *
 * Time is the only thing that moves: a machine's phase follows from its record
 * and the wall clock, so machines boot and end while no daemon runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/options.h"
#include "sim.h"

#define REQUEST_KEPT_MS (24 * 3600 * INT64_C(1000))
#define LAUNCH_MAX 10000

enum life machine_life(const json_t *m, int64_t now_ms)
{
    int64_t gone = field_int(m, "gone_ms"), fails = field_int(m, "fails_ms");
    if (gone > 0)
        return now_ms >= gone ? LIFE_GONE : LIFE_STOPPING;
    if (fails > 0 && now_ms >= fails)
        return LIFE_FAILED;
    return now_ms >= field_int(m, "running_ms") ? LIFE_RUNNING : LIFE_STARTING;
}

static bool machine_ours(const struct sim *s, const json_t *m)
{
    return strcmp(field_text(m, "cluster"), s->cluster) == 0;
}

/* Coarse stages: each is progress to whoever watches, none is noise. */
static const char *boot_stage(const json_t *m, int64_t now_ms)
{
    int64_t from = field_int(m, "created_ms");
    int64_t whole = field_int(m, "running_ms") - from;
    int64_t part = now_ms - from;
    if (part * 5 < whole)
        return "allocating";
    return part * 5 < whole * 4 ? "booting" : "starting services";
}

static void machine_put(struct op *op, const json_t *m, struct davit_sink *sink,
                        davit_put_machine *put)
{
    int64_t now_ms = op->now_ms;
    struct davit_machine out = {
        .size = sizeof out,
        .id = field_text(m, "id"),
        .request_id = field_text(m, "request"),
        .offer = field_text(m, "type"),
        .zone = field_text(m, "zone"),
        .address = field_text(m, "address"),
        .spot = json_is_true(json_object_get(m, "spot"))};
    switch (machine_life(m, now_ms)) {
    case LIFE_STARTING:
        out.phase = DAVIT_STARTING;
        out.detail = boot_stage(m, now_ms);
        break;
    case LIFE_RUNNING: out.phase = DAVIT_RUNNING; break;
    case LIFE_STOPPING: out.phase = DAVIT_STOPPING; break;
    case LIFE_FAILED:
        out.phase = DAVIT_FAILED;
        out.failure = (uint32_t)field_int(m, "failure");
        out.detail = "the machine failed while booting (simulated)";
        break;
    case LIFE_GONE: return;
    }
    if (rules_maintained(op, out.offer, out.zone))
        out.held = SIM_MAINTAINED;
    put(sink, &out);
}

/* Whoever writes sweeps: what is gone, and requests nobody repeats any more. */
static void sweep(struct op *op)
{
    json_t *machines = json_object_get(op->root, "machines");
    json_t *requests = json_object_get(op->root, "requests"), *r;
    const char *id;
    void *next;
    for (size_t i = json_array_size(machines); i-- > 0;)
        if (machine_life(json_array_get(machines, i), op->now_ms) == LIFE_GONE)
            json_array_remove(machines, i);
    json_object_foreach_safe(
        requests, next, id,
        r) if (op->now_ms - field_int(r, "at_ms") > REQUEST_KEPT_MS)
        json_object_del(requests, id);
}

static int begin(struct op *op, const char *name, void *self,
                 struct davit_call *call, struct davit_error *e, bool writes)
{
    struct sim *s = self;
    *op = (struct op){
        .sim = s, .name = name, .call = call, .error = e, .lock_fd = -1};
    op->now_ms = s->host->wall_ms();
    if (s->host->remaining_ms(call) == 0 ||
        (s->latency_ms > 0 && !s->host->sleep(call, (uint32_t)s->latency_ms)))
        return kit_error(e, DAVIT_CANCELLED, "",
                         "the simulated API takes %lld ms, which was too long",
                         (long long)s->latency_ms);
    int st = writes ? store_lock_and_read(op) : store_read(op);
    if (st == DAVIT_OK)
        st = rules_admit(op);
    op->now_ms = s->host->wall_ms();
    /* A reader that finds machines to kill becomes a writer. */
    if (st == DAVIT_OK && !writes &&
        json_array_size(
            json_object_get(json_object_get(op->root, "faults"), "kill")) > 0) {
        store_done(op);
        st = store_lock_and_read(op);
    }
    if (st == DAVIT_OK && op->lock_fd >= 0) {
        rules_kill(op);
        sweep(op);
        st = store_write(op);
    }
    return st;
}

static int sim_list(void *self, struct davit_call *call,
                    struct davit_sink *sink, davit_put_machine *put,
                    struct davit_error *e)
{
    struct op op;
    int st = begin(&op, "list", self, call, e, false);
    size_t i;
    json_t *m;
    json_array_foreach(
        st == DAVIT_OK ? json_object_get(op.root, "machines") : NULL, i, m)
        if (machine_ours(op.sim, m) &&
            !rules_hidden(&op, field_text(m, "id")) &&
            (op.now_ms < field_int(m, "created_ms") || /* a clock set back */
             op.now_ms >= field_int(m, "created_ms") + op.sim->list_lag_ms))
            machine_put(&op, m, sink, put);
    if (st == DAVIT_OK)
        daemons_meet(&op);
    store_done(&op);
    return st;
}

static int machine_find(const struct op *op, const char *id)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(op->root, "machines"), i, m)
        if (machine_ours(op->sim, m) && strcmp(field_text(m, "id"), id) == 0 &&
            machine_life(m, op->now_ms) != LIFE_GONE)
            return DAVIT_OK;
    return DAVIT_NOT_FOUND;
}

static int sim_find(void *self, struct davit_call *call, const char *const *ids,
                    size_t n_ids, struct davit_sink *sink, davit_put_done *done,
                    struct davit_error *e)
{
    struct op op;
    int st = begin(&op, "find", self, call, e, false);
    for (size_t i = 0; st == DAVIT_OK && i < n_ids; i++)
        done(sink, ids[i], machine_find(&op, ids[i]));
    store_done(&op);
    return st;
}

/* ---- launch */

static void machine_add(struct op *op, const struct davit_launch *l,
                        const struct sim_type *t, const char *zone)
{
    const struct sim *s = op->sim;
    int64_t seq = field_int(op->root, "seq") + 1;
    int64_t boot = rules_boot_ms(s, t, (uint32_t)seq);
    char id[32], address[32];
    snprintf(id, sizeof id, "sim-%s-%lld", field_text(op->root, "epoch"),
             (long long)seq);
    snprintf(address, sizeof address, "10.86.%lld.%lld",
             (long long)(seq / 250 % 250), (long long)(seq % 250 + 1));
    json_t *m = kit_must(json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I}", "id", id,
        "cluster", s->cluster, "request", l->request_id, "type", t->name,
        "zone", zone, "address", address, "spot", (int)l->spot, "gpus",
        (json_int_t)t->gpus, "created_ms", (json_int_t)op->now_ms, "running_ms",
        (json_int_t)(op->now_ms + boot)));
    if (t->accelerator[0] != '\0')
        json_object_set_new(m, "accelerator", json_string(t->accelerator));
    if (rules_boot_fails(op, (uint32_t)seq)) {
        json_object_set_new(m, "fails_ms",
                            json_integer(op->now_ms + boot * 6 / 10 + 1));
        json_object_set_new(m, "failure", json_integer(s->fail_as));
    }
    json_array_append_new(json_object_get(op->root, "machines"), m);
    json_object_set_new(op->root, "seq", json_integer(seq));
}

static int launch_check(struct op *op, const struct davit_launch *l,
                        const struct sim_type *t)
{
    if (!t)
        return kit_error(op->error, DAVIT_INVALID, "UnknownType",
                         "there is no node type \"%.60s\" here", l->offer);
    if (l->count == 0 || l->count > LAUNCH_MAX)
        return kit_error(op->error, DAVIT_INVALID, "BadCount",
                         "a launch is of 1 to %d machines, not %u", LAUNCH_MAX,
                         l->count);
    if (l->request_id[0] == '\0' || strlen(l->request_id) > 127)
        return kit_error(op->error, DAVIT_INVALID, "BadRequestId",
                         "a request id has 1 to 127 bytes");
    if (l->zone[0] == '\0')
        return DAVIT_OK;
    for (size_t i = 0; i < t->n_zones; i++)
        if (strcmp(t->zones[i], l->zone) == 0)
            return DAVIT_OK;
    return kit_error(op->error, DAVIT_INVALID, "UnknownZone",
                     "node type %s has no zone \"%.40s\"", t->name, l->zone);
}

/* The record of a request: how many were asked for, how many were made.  It
 * outlives its machines, so that a late repetition makes no new ones. */
static json_t *request_record(struct op *op, const struct davit_launch *l,
                              int *st)
{
    json_t *all = json_object_get(op->root, "requests");
    json_t *r = json_object_get(all, l->request_id);
    *st = DAVIT_OK;
    if (!r) {
        r = kit_must(json_pack("{s:s, s:s, s:s, s:i, s:i, s:I}", "cluster",
                               op->sim->cluster, "type", l->offer, "zone",
                               l->zone, "count", (int)l->count, "made", 0,
                               "at_ms", (json_int_t)op->now_ms));
        json_object_set_new(all, l->request_id, r);
        return r;
    }
    if (strcmp(field_text(r, "type"), l->offer) != 0 ||
        strcmp(field_text(r, "zone"), l->zone) != 0 ||
        strcmp(field_text(r, "cluster"), op->sim->cluster) != 0 ||
        field_int(r, "count") != l->count)
        *st = kit_error(op->error, DAVIT_INVALID, "RequestIdReused",
                        "request %.60s was for %lld of %.40s: an id cannot be "
                        "used for another launch",
                        l->request_id, (long long)field_int(r, "count"),
                        field_text(r, "type"));
    return r;
}

/* The zone to use, or STOCKOUT: without one asked for, the first that has it. */
static int zone_pick(struct op *op, const struct davit_launch *l,
                     const struct sim_type *t, const char **ret)
{
    *ret = l->zone;
    if (l->zone[0] != '\0' || t->n_zones == 0)
        return rules_stock(op, t->name, l->zone);
    int st = DAVIT_OK;
    for (size_t i = 0; i < t->n_zones; i++) {
        *ret = t->zones[i];
        st = rules_stock(op, t->name, t->zones[i]);
        if (st == DAVIT_OK)
            break;
    }
    return st;
}

static int launch_missing(struct op *op, const struct davit_launch *l,
                          const struct sim_type *t, json_t *record)
{
    int64_t made = field_int(record, "made");
    uint32_t want = made < l->count ? (uint32_t)(l->count - made) : 0;
    const char *zone;
    if (want == 0)
        return DAVIT_OK;
    op->dirty = true;
    int st = zone_pick(op, l, t, &zone);
    if (st != DAVIT_OK)
        return st;
    char why[160];
    uint32_t room = rules_room(op, t, want, why, sizeof why);
    if (room < want && op->sim->all_or_nothing)
        room = 0;
    for (uint32_t i = 0; i < room; i++)
        machine_add(op, l, t, zone);
    json_object_set_new(record, "made", json_integer(made + room));
    if (room > 0)
        json_object_set_new(op->root, "launches",
                            json_integer(field_int(op->root, "launches") + 1));
    if (room < want)
        return kit_error(op->error, DAVIT_QUOTA, "QuotaExceeded",
                         "%s; %u of %u machines of %s were launched", why, room,
                         want, t->name);
    return DAVIT_OK;
}

static void request_put(struct op *op, const char *request,
                        struct davit_sink *sink, davit_put_machine *put)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(op->root, "machines"), i, m)
        if (machine_ours(op->sim, m) &&
            strcmp(field_text(m, "request"), request) == 0)
            machine_put(op, m, sink, put);
}

static int launch_locked(struct op *op, const struct davit_launch *l,
                         struct davit_sink *sink, davit_put_machine *put)
{
    const struct sim_type *t = rules_type(op->sim, l->offer);
    int st = launch_check(op, l, t);
    if (st != DAVIT_OK)
        return st;
    int64_t launches = field_int(op->root, "launches");
    json_t *record = request_record(op, l, &st);
    if (st != DAVIT_OK)
        return st;
    st = launch_missing(op, l, t, record);
    bool lost = field_int(op->root, "launches") > launches &&
                rules_reply_lost(op, (uint32_t)launches + 1);
    int written = store_write(op);
    if (written != DAVIT_OK)
        return written; /* nothing of it has happened */
    if (lost)
        return kit_error(op->error, DAVIT_RETRY, "ConnectionReset",
                         "the connection was reset after the request was sent "
                         "(simulated)");
    request_put(op, l->request_id, sink, put);
    return st;
}

static int sim_launch(void *self, struct davit_call *call,
                      const struct davit_launch *l, struct davit_sink *sink,
                      davit_put_machine *put, struct davit_error *e)
{
    struct op op;
    int st = begin(&op, "launch", self, call, e, true);
    if (st == DAVIT_OK)
        st = launch_locked(&op, l, sink, put);
    store_done(&op);
    return st;
}

/* ---- terminate, offers */

static int machine_end(struct op *op, const char *id)
{
    size_t i;
    json_t *m;
    json_array_foreach(json_object_get(op->root, "machines"), i, m) {
        if (!machine_ours(op->sim, m) || strcmp(field_text(m, "id"), id) != 0)
            continue;
        enum life life = machine_life(m, op->now_ms);
        if (life == LIFE_STOPPING)
            return DAVIT_OK;
        int64_t takes = life == LIFE_FAILED ? 0 : op->sim->terminate_ms;
        json_object_set_new(m, "gone_ms", json_integer(op->now_ms + takes));
        op->dirty = true;
        return DAVIT_OK;
    }
    return DAVIT_NOT_FOUND;
}

static int sim_terminate(void *self, struct davit_call *call,
                         const char *const *ids, size_t n_ids,
                         struct davit_sink *sink, davit_put_done *done,
                         struct davit_error *e)
{
    struct op op;
    int st = begin(&op, "terminate", self, call, e, true);
    int *each = kit_zeroed(n_ids, sizeof *each);
    for (size_t i = 0; st == DAVIT_OK && i < n_ids; i++)
        each[i] = machine_end(&op, ids[i]);
    if (st == DAVIT_OK) {
        sweep(&op);
        st = store_write(&op);
    }
    for (size_t i = 0; st == DAVIT_OK && i < n_ids; i++)
        done(sink, ids[i], each[i]);
    free(each);
    store_done(&op);
    return st;
}

/* Both markets in every zone, for the price the configuration has: like most
 * APIs it does not show what is out of stock before it is asked for. */
static int sim_offers(void *self, struct davit_call *call,
                      struct davit_sink *sink, davit_put_offer *put,
                      struct davit_error *e)
{
    struct op op;
    int st = begin(&op, "offers", self, call, e, false);
    const struct sim *s = self;
    for (size_t i = 0; st == DAVIT_OK && i < s->n_types; i++) {
        const struct sim_type *t = &s->types[i];
        for (size_t z = 0; z < (t->n_zones > 0 ? t->n_zones : 1); z++)
            for (int spot = t->spot_only; spot <= 1; spot++) {
                const char *zone = t->n_zones > 0 ? t->zones[z] : "";
                bool going = rules_maintained(&op, t->name, zone);
                put(sink,
                    &(struct davit_offer){.size = sizeof(struct davit_offer),
                                          .name = t->name,
                                          .zone = zone,
                                          .price_micros_hour = -1,
                                          .labels = t->labels,
                                          .n_labels = t->n_labels,
                                          .taints = t->taints,
                                          .n_taints = t->n_taints,
                                          .resources = t->gives,
                                          .n_resources = t->n_gives,
                                          .spot = spot != 0,
                                          .note = going ? SIM_MAINTAINED : "",
                                          .available = !going});
            }
    }
    store_done(&op);
    return st;
}

/* ---- the handle */

static void sim_close(void *self)
{
    struct sim *s = self;
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    kit_keep_done(&s->keep);
    free(s);
}

/* Found out now, with its line, rather than by the first launch. */
static int path_check(const char *path, struct davit_error *e)
{
    char dir[4096];
    if (path[0] == '\0' || strlen(path) >= sizeof dir - 8)
        return kit_error(e, DAVIT_INVALID, "state",
                         "state must be the path of a file");
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    if (access(dir[0] != '\0' ? dir : "/", W_OK) != 0)
        return kit_error(e, DAVIT_INVALID, "state",
                         "state is kept in %.120s, which cannot be written: %s",
                         dir, strerror(errno));
    return DAVIT_OK;
}

static int sim_open(const struct davit_host *host,
                    const struct davit_setup *setup, void **ret_self,
                    struct davit_error *e)
{
    struct sim *s = kit_zeroed(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->host = host;
    s->cluster = kit_keep_text(&s->keep, setup->cluster);
    int st = rules_read(s, setup, e);
    if (st == DAVIT_OK)
        st = path_check(s->path, e);
    if (st == DAVIT_OK) {
        s->lock_path = kit_keep_print(&s->keep, "%s.lock", s->path);
        *ret_self = s;
    } else {
        sim_close(s);
    }
    return st;
}

/* As long as its list lags, and a moment. */
static uint32_t sim_settle_ms(void *self)
{
    return (uint32_t)((struct sim *)self)->list_lag_ms + 2000;
}

static const char *const places[] = {"state", NULL};

static struct davit_provider table = {.size = sizeof table,
                                      .name = "sim",
                                      .version = "1",
                                      .caps = DAVIT_CAP_OFFERS | DAVIT_CAP_SPOT,
                                      .open = sim_open,
                                      .close = sim_close,
                                      .list = sim_list,
                                      .launch = sim_launch,
                                      .terminate = sim_terminate,
                                      .offers = sim_offers,
                                      .settle_ms = sim_settle_ms,
                                      .places = places,
                                      .find = sim_find,
                                      .launch_most = LAUNCH_MAX};

const struct davit_provider *davit_provider_v1(void)
{
    table.options = kit_options_help(sim_options);
    return &table;
}
