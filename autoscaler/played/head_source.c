/*
 * head_source.c - the played head as daemons read it (wire/source.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../model/accel.h"
#include "head_inside.h"

enum {
    READ_US = 2000,
    LATE_VIEWS = 16, /* one of so many */
    LATE_DRAINS = 2,
    LATE_MOST_MS = 15000,
    HOUR_MS = 3600000,
};

/* ---- views */

static struct qtys amounts(const struct head *h, struct arena *a,
                           const int64_t *total, const int64_t *v)
{
    struct qty *q = ARENA_ARRAY(a, struct qty, COLUMNS);
    uint32_t n = 0;

    for (uint32_t i = 0; i < h->n_columns; i++)
        if (total[i])
            q[n++] = (struct qty){h->columns[i], v[i]};
    return (struct qtys){q, n};
}

static bool names_are(const struct node *n, enum head_names how)
{
    return n->machine->named && n->machine->names == how &&
           n->state != NODE_DEAD;
}

static struct names aliases_show(const struct head *h, struct arena *a,
                                 const char *machine, bool bare)
{
    char text[HEAD_ADDRESS_MAX];
    const char **v = ARENA_ARRAY(a, const char *, 1);

    if (bare || (!h->opts.addressed && !h->opts.kube))
        return (struct names){0};
    v[0] = arena_strdup(
        a, h->opts.addressed ? head_address(machine, text) : machine);
    return (struct names){v, 1};
}

/* Kubernetes': what keeps pods off it. */
static struct taints taints_show(const struct node *n)
{
    static const struct taint drains = {SOURCE_DRAIN_TAINT, "",
                                        EFFECT_NO_SCHEDULE};
    static const struct taint dead = {"node.kubernetes.io/not-ready", "",
                                      EFFECT_NO_EXECUTE};

    if (!n->head->opts.kube || n->state == NODE_ALIVE)
        return (struct taints){0};
    return (struct taints){n->state == NODE_DEAD ? &dead : &drains, 1};
}

static struct source_node node_show(const struct head *h, struct arena *a,
                                    struct node *n)
{
    struct pair *label = ARENA_ARRAY(a, struct pair, 1);
    bool idle = !n->running && n->state == NODE_ALIVE;
    bool bare = names_are(n, NAMES_BARE);
    enum source_status dead = h->opts.kube ? SOURCE_UNREADY : SOURCE_DEAD;

    if (!n->shown_ms)
        n->shown_ms = player_now_ms(h->player);
    label[0] = (struct pair){ACCEL_LABEL, n->machine->accel};
    return (struct source_node){
        .node_id = n->id,
        .uid = h->opts.kube ? n->machine->id : "",
        .instance_id = bare || h->opts.addressed ? "" : n->machine->id,
        .aliases = aliases_show(h, a, n->machine->id, bare),
        .n_vouched = h->opts.kube && !bare ? 1 : 0,
        .type = n->machine->type,
        .machine = "",
        .zone = "",
        .address = "",
        .note = "",
        .activity = n->running ? "tasks run" : "",
        .unschedulable = n->cordoned,
        .taints = taints_show(n),
        .cordoned_by_us = n->cordoned,
        .status = n->state == NODE_DEAD       ? dead
                  : n->state == NODE_DRAINING ? SOURCE_DRAINING
                  : idle                      ? SOURCE_IDLE
                                              : SOURCE_RUNNING,
        .idle_ms = idle || (h->opts.kube && n->state == NODE_DEAD)
                       ? player_now_ms(h->player) - n->idle_ms
                       : -1,
        .total = amounts(h, a, n->total, n->total),
        .available = amounts(h, a, n->total, n->free),
        .labels = {label, *n->machine->accel ? 1 : 0},
    };
}

/* Another object of the same names, which nothing runs on. */
static struct source_node twin_show(struct arena *a,
                                    const struct source_node *n)
{
    struct source_node twin = *n;

    twin.node_id = arena_printf(a, "%.50s-twin", n->node_id);
    twin.status = SOURCE_IDLE;
    twin.idle_ms = HOUR_MS;
    twin.activity = "";
    twin.available = twin.total;
    return twin;
}

static void nodes_show(struct head *h, struct source_view *v)
{
    int64_t old = player_now_ms(h->player) - DEAD_KEPT_MS;
    struct source_node *out;
    uint32_t kept = 0, shown = 0;

    for (uint32_t i = 0; i < h->nodes.n; i++) {
        struct node *n = h->nodes.v[i];

        if (h->opts.kube ? !kube_shows(n)
                         : n->state == NODE_DEAD && n->dead_ms < old)
            VEC_PUSH(NULL, &h->past, n);
        else
            h->nodes.v[kept++] = n;
    }
    h->nodes.n = kept;
    out = ARENA_ARRAY(&v->arena, struct source_node, 2 * kept);
    for (uint32_t i = 0; i < kept; i++) {
        if (names_are(h->nodes.v[i], NAMES_NONE))
            continue;
        out[shown++] = node_show(h, &v->arena, h->nodes.v[i]);
        if (names_are(h->nodes.v[i], NAMES_TWICE))
            out[shown] = twin_show(&v->arena, &out[shown - 1]), shown++;
    }
    v->nodes = out;
    v->n_nodes = shown;
}

static struct snap_bundle bundle_show(const struct head *h, struct arena *a,
                                      const struct work *w, uint32_t count)
{
    struct snap_alt *alt = ARENA_NEW(a, struct snap_alt);
    struct term *term = ARENA_NEW(a, struct term);

    *term = (struct term){
        ACCEL_LABEL,
        TERM_IN,
        {arena_copy(a, w->accel, w->n_accel * sizeof *w->accel), w->n_accel}};
    alt->resources = amounts(h, a, w->need, w->need);
    alt->selector = (struct terms){term, w->n_accel ? 1 : 0};
    return (struct snap_bundle){.alts = alt, .n_alts = 1, .count = count};
}

/* What waits at the raylets, as they said when they were asked last. */
static void round_begin(struct head *h)
{
    int64_t now = player_now_ms(h->player), every = h->opts.round_ms;

    if (every && now / every == h->round_ms / every)
        return;
    h->round_ms = now;
    for (uint32_t i = 0; i < h->shapes.n; i++) {
        h->shapes.v[i].shown = h->shapes.v[i].waiting;
        h->shapes.v[i].lined = 0;
    }
}

static void demands_show(struct head *h, struct source_view *v)
{
    struct arena *a = &v->arena;
    struct snap_bundle *tasks = ARENA_ARRAY(a, struct snap_bundle, h->shapes.n);
    struct snap_demand *out = ARENA_ARRAY(a, struct snap_demand,
                                          1 + h->groups.n);
    uint32_t n = 0;

    round_begin(h);
    for (uint32_t i = 0; i < h->shapes.n; i++) {
        const struct shape *s = &h->shapes.v[i];

        if (s->shown + s->lined)
            tasks[n++] = bundle_show(h, a, s->like, s->shown + s->lined);
    }
    out[0] = (struct snap_demand){
        .source = h->opts.kube ? SOURCE_POD : SOURCE_TASK,
        .owner = h->opts.kube ? "default" : "ray",
        .id = h->opts.kube ? "Job/default/work" : "",
        .bundles = tasks,
        .n_bundles = n};
    n = n ? 1 : 0;
    for (uint32_t i = 0; i < h->groups.n; i++) {
        const struct work *w = h->groups.v[i];
        struct snap_bundle *b = ARENA_NEW(a, struct snap_bundle);

        *b = bundle_show(h, a, w, w->tasks);
        out[n++] = (struct snap_demand){
            .source = SOURCE_GANG,
            .strategy = STRATEGY_PACK,
            .owner = "ray",
            .id = arena_printf(a, "%036llx", (unsigned long long)w->number),
            .bundles = b,
            .n_bundles = 1};
    }
    v->demands = out;
    v->n_demands = n;
}

static struct source_view *view_make(struct head *h)
{
    struct source_view *v = source_view_new();
    bool other = h->trouble == HEAD_OTHER;

    v->version = (int64_t)++h->answers;
    v->session = arena_printf(&v->arena, "%s-%u", other ? "other" : "session",
                              h->session);
    v->v2 = true;
    v->read_mono_ms = clock_mono_ms();
    v->took_us = h->opts.waits ? 0 : READ_US;
    if (!other) {
        nodes_show(h, v);
        demands_show(h, v);
    }
    source_view_unref(h->last);
    h->last = source_view_ref(v);
    return v;
}

/* ---- operations */

enum status in_trouble(struct head *h, int64_t deadline_mono_ms,
                       struct err *err)
{
    if (h->trouble == HEAD_WELL || h->trouble == HEAD_OTHER)
        return ST_OK;
    h->faults++;
    if (h->trouble == HEAD_DOWN)
        return err_set(err, ST_RETRY, "connection refused");
    player_takes(h->player, deadline_mono_ms - clock_mono_ms());
    return err_set(err, ST_RETRY, "no answer in time");
}

/* Where answers are lost, others come late: what they tell may be old by then. */
static void answer_late(struct head *h, int64_t late_ms, uint32_t of,
                        int64_t deadline_mono_ms)
{
    int64_t most = deadline_mono_ms - clock_mono_ms() - 1;

    if (most > LATE_MOST_MS)
        most = LATE_MOST_MS;
    if (late_ms)
        player_takes(h->player, late_ms);
    else if (h->lossy && most > 0 && player_chance(h->player, of) == 0)
        player_takes(h->player, player_chance(h->player, (uint32_t)most));
}

/* Its watch lives, and tells nothing; without a bookmark it is none after a while. */
static enum status watch_is_stale(struct reader *r, int64_t wait_ms,
                                  struct err *err)
{
    struct head *h = r->head;
    int64_t left = h->silent_ms + BOOKMARK_MS - player_now_ms(h->player);

    h->faults++;
    player_wait(h->player, &r->wait,
                left > 0 && left < wait_ms ? left : wait_ms);
    return left > 0 ? ST_OK
                    : err_set(err, ST_RETRY, "its watch has told nothing");
}

enum status head_read(void *handle, int64_t deadline_mono_ms,
                      struct source_view **ret, struct err *err)
{
    struct reader *r = handle;
    struct head *h = r->head;

    *ret = NULL;
    if (h->trouble == HEAD_STALE && h->last && h->opts.kube) {
        return watch_is_stale(r, deadline_mono_ms - clock_mono_ms(), err);
    }
    if (h->trouble == HEAD_STALE && h->last) {
        h->faults++;
        *ret = source_view_ref(h->last);
        r->seen = 0;
        player_takes(h->player, h->opts.waits ? 1000 : READ_US / 1000);
        return ST_OK;
    }
    if (in_trouble(h, deadline_mono_ms, err))
        return ST_RETRY;
    if (h->opts.waits && r->seen == h->version) {
        player_wait(h->player, &r->wait, deadline_mono_ms - clock_mono_ms());
        return ST_OK;
    }
    if (r->next_ms > player_now_ms(h->player)) {
        player_takes(h->player, r->next_ms - player_now_ms(h->player));
        return ST_OK;
    }
    r->seen = h->version;
    r->next_ms = player_now_ms(h->player) + h->opts.every_ms;
    *ret = view_make(h);
    player_takes(h->player, READ_US / 1000);
    answer_late(h, h->late_views_ms, LATE_VIEWS, deadline_mono_ms);
    return ST_OK;
}

static void deadline_came(void *arg)
{
    struct node *n = arg;

    n->end = NULL;
    if (!n->head->patient || !n->running)
        node_end(n, true);
}

static void drain_begins(struct node *n, const struct source_drain *d)
{
    struct head *h = n->head;
    int64_t left = d->deadline_wall_ms - clock_wall_ms();

    if (!n->agreed_ms)
        n->agreed_ms = player_now_ms(h->player);
    if (n->state == NODE_DRAINING)
        return; /* the first deadline stands */
    n->state = NODE_DRAINING;
    left = left > 0 ? left : 0;
    n->deadline_ms = player_now_ms(h->player) + left;
    n->end = player_after(h->player, left, deadline_came, n);
    node_idle_check(n);
    if (player_now_ms(h->player) < h->forgets_ms)
        player_after(h->player, FORGETS_MS, node_undrain, n);
    head_changed(h);
}

/* Ray's rule: IDLE_TERMINATION is rejected when the node has work, PREEMPTION
 * never. */
static void drain_asked(struct head *h, struct source_drain *d)
{
    struct node *n = node_named(h, d->node_id);

    d->got = SOURCE_DRAIN_ACCEPTED; /* of a node that is gone, too */
    d->moved = true;
    if (!n || n->state == NODE_DEAD || h->trouble == HEAD_OTHER)
        return;
    if (!d->preempt && n->running) {
        d->got = SOURCE_DRAIN_REFUSED;
        d->moved = false;
        snprintf(d->why, sizeof d->why, "the node has work");
        return;
    }
    drain_begins(n, d);
}

static enum status head_drain(void *handle, struct source_drain *d,
                              int64_t deadline_mono_ms, struct err *err)
{
    struct head *h = ((struct reader *)handle)->head;
    uint32_t bad = player_chance(h->player, 1000);

    if (in_trouble(h, deadline_mono_ms, err))
        return ST_RETRY;
    if (!h->deaf && (bad >= h->lossy || bad % 2))
        drain_asked(h, d);
    if (!h->deaf && bad >= h->lossy) {
        answer_late(h, h->late_drains_ms, LATE_DRAINS, deadline_mono_ms);
        return ST_OK;
    }
    h->faults++;
    d->got = SOURCE_DRAIN_REFUSED;
    d->moved = false;
    return err_set(err, ST_RETRY, "the answer was lost");
}

static enum status head_report(void *handle, const struct source_report *r,
                               int64_t deadline_mono_ms, struct err *err)
{
    (void)r;
    return in_trouble(((struct reader *)handle)->head, deadline_mono_ms, err);
}

void handle_free(void *handle)
{
    struct reader *r = handle;

    for (uint32_t i = 0; r && i < r->head->readers.n; i++)
        if (r->head->readers.v[i] == r)
            r->head->readers.v[i--] = r->head->readers.v[--r->head->readers.n];
    free(r);
}

static const struct source_ops like_ray = {
    .kind = "ray",
    .two_looks = true,
    .numbered = true,
    .writers = 1,
    .read = head_read,
    .drain = head_drain,
    .report = head_report,
    .free = handle_free,
};

/* Without a second look, which would wait for a change, and reports, which
 * nobody reads. */
static const struct source_ops waiting = {
    .kind = "ray",
    .waits = true,
    .numbered = true,
    .writers = 1,
    .read = head_read,
    .drain = head_drain,
    .free = handle_free,
};

static const struct source_ops *ops_of(const struct head *h)
{
    static struct source_ops addressed[2];
    struct source_ops *o = &addressed[h->opts.waits];

    if (h->opts.kube)
        return &kube_like;
    if (!h->opts.addressed)
        return h->opts.waits ? &waiting : &like_ray;
    *o = h->opts.waits ? waiting : like_ray;
    o->by_address = true;
    return o;
}

struct source_opened head_open(struct head *h)
{
    struct source_opened o = {.ops = ops_of(h), .address = "played"};
    struct reader *r = MEM_NEW(struct reader);

    r->head = h;
    VEC_PUSH(NULL, &h->readers, r);
    o.reader = r;
    for (uint32_t i = 0; i < o.ops->writers; i++) {
        o.writers[i] = MEM_NEW(struct reader);
        ((struct reader *)o.writers[i])->head = h;
    }
    return o;
}
