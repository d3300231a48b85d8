/*
 * world.c - see world.h.
 *
 * The configuration is taken as it is, but for what leads outside: its
 * providers become one played cloud, its demand source the played head, its
 * journal lies in memory.
 */
#include "world.h"

#include <string.h>

#include "bad_days.h"
#include "meter.h"

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    WARM_UP = MINUTE,    /* until the cloud is known and mins are asked for */
    PAUSE = 30 * MINUTE, /* between plans when nothing is due */
    JOIN_LEAST = 2000,
    JOIN_MOST = 4000,
    SAMPLES = 400,
    RESOURCES = 12, /* names that the played head can tell apart */
};
#define HOUR (60 * (int64_t)MINUTE)
/* Nothing has begun, come or gone for so long after the last submission. */
#define REST_LEAST (2 * HOUR)
#define REST_MOST (48 * HOUR)
#define BEGIN_WALL INT64_C(1767225600000) /* 2026-01-01 */

struct world {
    const struct world_opts *opts;
    struct player *player;
    struct cloud *cloud;
    struct head *head;
    struct control *control;
    struct config *conf; /* a reference, for boot times and prices */
    struct meter meter;
    uint32_t next; /* job */
    int64_t sample_ms;
    struct bad_days *bad; /* NULL: none */
};

/* ---- the configuration */

static void played_providers(struct config *c)
{
    struct arena *a = &c->memory->arena;
    struct conf_provider *p = arena_copy(a, c->providers,
                                         c->n_providers * sizeof *p);
    struct conf_type *t = arena_copy(a, c->types, c->n_types * sizeof *t);

    for (uint32_t i = 0; i < c->n_providers; i++) {
        p[i].plugin = "played";
        p[i].n_options = 0;
    }
    for (uint32_t i = 0; i < c->n_types; i++)
        t[i].n_options = 0;
    c->providers = p;
    c->types = t;
}

static enum status settings_read(void *arg, const char *path,
                                 struct config **ret, struct buf *errors)
{
    const struct world *w = arg;
    enum status s = config_load_with(path, w->opts->sets, w->opts->n_sets, ret,
                                     errors);

    if (s != ST_OK)
        return s;
    (*ret)->ha = (*ret)->kube = false;
    (*ret)->ray_address = "played";
    played_providers(*ret);
    return ST_OK;
}

/* ---- outside */

static struct workers *workers(void *arg, unsigned n, unsigned stuck,
                               struct mailbox *answers)
{
    return player_workers(((struct world *)arg)->player, n, stuck, answers);
}

static enum status sources(void *arg, const struct config *c,
                           struct source_opened *ret, uint32_t *ret_n,
                           struct err *err)
{
    (void)c;
    (void)err;
    ret[0] = head_open(((struct world *)arg)->head);
    *ret_n = 1;
    return ST_OK;
}

/* A boot takes three to five quarters of what is expected of its type. */
static int64_t boot_of(const struct world *w, const char *type)
{
    int64_t ms = w->opts->boot_ms;

    for (uint32_t i = 0; i < w->conf->n_types; i++)
        if (strcmp(w->conf->types[i].fact.name, type) == 0 &&
            w->conf->types[i].fact.boot_ms >= 0)
            ms = w->conf->types[i].fact.boot_ms;
    return ms * 3 / 4 + player_chance(w->player, (uint32_t)(ms / 2) + 1);
}

static void launched(void *arg, struct cloud *c, struct cloud_machine *m)
{
    struct world *w = arg;

    (void)c;
    /* The cloud's minute, more in bad times, stands for what its type takes. */
    if (!m->failed)
        m->ready_ms = m->launched_ms + boot_of(w, m->type) *
                                           (m->ready_ms - m->launched_ms) /
                                           MINUTE;
    meter_launched(&w->meter, m);
}

static void ending(void *arg, struct cloud *c, struct cloud_machine *m)
{
    struct world *w = arg;

    (void)c;
    meter_ended(&w->meter, m);
}

static void machine_gone(void *arg, const struct cloud_machine *m)
{
    meter_ended(&((struct world *)arg)->meter, m);
}

static void told(void *arg, enum head_moment m, const struct head_task *t)
{
    struct world *w = arg;

    meter_task(&w->meter, m, t);
}

/* ---- what happens */

static void submit(struct world *w, uint32_t job)
{
    const struct trace_job *j = &w->opts->trace->jobs.v[job];

    meter_submitted(&w->meter, job);
    head_submit(w->head, &(struct head_work){.need = j->need,
                                             .accel = j->accel,
                                             .tasks = j->count,
                                             .together = j->together,
                                             .runs_ms = j->runs_ms});
    meter_waiting(&w->meter, head_waiting(w->head));
}

static void jobs_come(void *arg)
{
    struct world *w = arg;
    const struct trace *t = w->opts->trace;
    int64_t now = player_now_ms(w->player) - WARM_UP;

    while (w->next < t->jobs.n && t->jobs.v[w->next].submit_ms <= now)
        submit(w, w->next++);
    if (w->next < t->jobs.n)
        player_after(w->player, t->jobs.v[w->next].submit_ms - now, jobs_come,
                     w);
}

static void sample(void *arg)
{
    struct world *w = arg;

    meter_sample(&w->meter);
    player_after(w->player, w->sample_ms, sample, w);
}

static int64_t longest_idle(const struct config *c)
{
    int64_t most = c->limits.idle_timeout_ms;

    for (uint32_t i = 0; i < c->n_types; i++)
        if (c->types[i].fact.idle_timeout_ms > most)
            most = c->types[i].fact.idle_timeout_ms;
    for (uint32_t i = 0; i < c->n_idle; i++)
        if (c->idle[i].ms > most)
            most = c->idle[i].ms;
    return most > 0 ? most : 0;
}

/* All has been submitted, nothing runs, and it has been quiet for longer than
 * anything waits: what is still there stays, what still waits waits for ever. */
static bool over(const struct world *w)
{
    int64_t rest = longest_idle(w->conf) + MINUTE;
    bool waits = head_waiting(w->head) > 0;
    uint32_t n;

    if (w->next < w->opts->trace->jobs.n || head_running(w->head) > 0)
        return false;
    cloud_machines(w->cloud, &n);
    if (!waits && n == 0)
        return true;
    if (waits && rest < REST_LEAST)
        rest = REST_LEAST;
    return player_now_ms(w->player) - w->meter.changed_ms >
           (rest < REST_MOST ? rest : REST_MOST);
}

static void play(struct world *w, struct outcome *ret)
{
    const struct trace *t = w->opts->trace;
    int64_t last = t->jobs.v[t->jobs.n - 1].submit_ms;

    w->sample_ms = last / SAMPLES > MINUTE ? last / SAMPLES : MINUTE;
    player_after(w->player, 0, sample, w);
    player_after(w->player, WARM_UP, jobs_come, w);
    if (w->opts->storm)
        w->bad = bad_days_begin(w->player, w->cloud, w->head, w->opts->storm,
                                machine_gone, w);
    while (!over(w)) {
        ret->steps += player_run(w->player, w->control, 10 * MINUTE, NULL,
                                 NULL);
        if (w->next == t->jobs.n && w->bad) {
            ret->faults = bad_days_end(w->bad);
            w->bad = NULL;
        }
    }
    ret->plans = control_metrics(w->control)->ticks;
    meter_finish(&w->meter, ret);
}

/* ---- a world */

struct name_list {
    const char *v[RESOURCES + 1];
    uint32_t n;
};

static void name_note(struct name_list *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i], name) == 0)
            return;
    if (l->n <= RESOURCES)
        l->v[l->n++] = name;
}

static enum status resources_check(const struct world *w, struct buf *errors)
{
    const struct trace *t = w->opts->trace;
    struct name_list l = {.v = {"CPU", "memory", "GPU"}, .n = 3};

    for (uint32_t i = 0; i < w->conf->n_types; i++)
        for (uint32_t k = 0; k < w->conf->types[i].fact.resources.n; k++)
            name_note(&l, w->conf->types[i].fact.resources.v[k].name);
    for (uint32_t i = 0; i < t->jobs.n; i++)
        for (uint32_t k = 0; k < t->jobs.v[i].need.n; k++)
            name_note(&l, t->jobs.v[i].need.v[k].name);
    if (l.n <= RESOURCES)
        return ST_OK;
    buf_printf(errors,
               "%s: with those of the trace more than %d kinds of resources, "
               "which cannot be simulated\n",
               w->opts->config_path, RESOURCES);
    return ST_INVALID;
}

static enum status control_start(struct world *w, struct buf *errors)
{
    struct control_opts o = {.config_path = w->opts->config_path,
                             .outside = {.arg = w,
                                         .workers = workers,
                                         .config = settings_read,
                                         .in_memory = true,
                                         .pages_unread = true,
                                         .pause_ms = PAUSE,
                                         .sources = sources}};
    struct config *conf;
    enum status s = settings_read(w, o.config_path, &conf, errors);

    return s == ST_OK ? control_new(&o, conf, &w->control, errors) : s;
}

static void outside_make(struct world *w)
{
    w->player = player_new(w->opts->seed, BEGIN_WALL);
    w->head = head_new(w->player,
                       &(struct head_opts){.waits = true,
                                           .join_least_ms = JOIN_LEAST,
                                           .join_most_ms = JOIN_MOST});
    w->cloud = cloud_new(
        w->player,
        &(struct cloud_opts){
            .boot_least_ms = MINUTE, .boot_most_ms = MINUTE, .head = w->head});
    cloud_watch(w->cloud,
                &(struct cloud_watch){
                    .arg = w, .launched = launched, .ending = ending});
    head_watch(w->head, told, w);
}

static void outside_free(struct world *w)
{
    control_free(w->control);
    head_watch(w->head, NULL, NULL);
    cloud_watch(w->cloud, &(struct cloud_watch){0});
    cloud_free(w->cloud);
    head_free(w->head);
    player_free(w->player);
}

enum status world_play(const struct world_opts *o, struct outcome *ret,
                       struct buf *errors)
{
    struct world w = {.opts = o};
    enum status s = settings_read(&w, o->config_path, &w.conf, errors);

    *ret = (struct outcome){0};
    if (s != ST_OK)
        return s;
    s = resources_check(&w, errors);
    if (s == ST_OK) {
        outside_make(&w);
        meter_init(&w.meter, &ret->arena, o->trace, w.conf, w.player);
        s = control_start(&w, errors);
        if (s == ST_OK)
            play(&w, ret);
        outside_free(&w);
        meter_done(&w.meter);
    }
    config_free(w.conf);
    return s;
}

void outcome_free(struct outcome *o)
{
    arena_done(&o->arena);
}
