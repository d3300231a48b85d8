/*
 * meter.c - see meter.h.
 */
#include "meter.h"

#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../model/accel.h"
#include "../model/price.h"

#define HOUR_MS INT64_C(3600000)

static const char *const measured[] = {"CPU", "GPU"};

/* ---- offers */

static const char *accel_of(const struct snap_type *t)
{
    for (uint32_t i = 0; i < t->labels.n; i++)
        if (strcmp(t->labels.v[i].key, ACCEL_LABEL) == 0)
            return t->labels.v[i].value;
    return "";
}

static struct out_offer offer_of(struct arena *a, const struct snap_type *t,
                                 const struct snap_offer *o)
{
    bool unknown = o->price_micros_hour < 0;

    return (struct out_offer){
        .type = arena_strdup(a, t->name),
        .zone = arena_strdup(a, o->zone),
        .spot = o->spot,
        .estimated = unknown,
        .price_micros_hour = unknown ? price_estimate(&t->resources,
                                                      accel_of(t), o->spot)
                                     : o->price_micros_hour};
}

static void offers_init(struct meter *m, const struct config *conf)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < conf->n_types; i++)
        n += conf->types[i].fact.n_offers;
    m->offers = ARENA_ARRAY(m->arena, struct out_offer, n);
    m->now = ARENA_ARRAY(m->arena, uint32_t, n);
    for (uint32_t i = 0; i < conf->n_types; i++)
        for (uint32_t k = 0; k < conf->types[i].fact.n_offers; k++)
            m->offers[m->n_offers++] = offer_of(m->arena, &conf->types[i].fact,
                                                &conf->types[i].fact.offers[k]);
}

static uint32_t offer_find(const struct meter *m, const struct cloud_machine *x)
{
    for (uint32_t i = 0; i < m->n_offers; i++)
        if (m->offers[i].spot == x->spot &&
            strcmp(m->offers[i].type, x->type) == 0 &&
            strcmp(m->offers[i].zone, x->zone) == 0)
            return i;
    return 0; /* it launches what the configuration has, and nothing else */
}

/* ---- owners */

static uint32_t owner_find(struct meter *m, const char *name)
{
    uint64_t h = hash_text(HASH_SEED, name);
    uint32_t i;

    for (uint32_t at = 0;
         (i = hash_next_index(&m->owner_ix, h, &at)) != HASH_NONE;)
        if (strcmp(m->owners.v[i].name, name) == 0)
            return i;
    hash_add_index(&m->owner_ix, h, m->owners.n);
    VEC_PUSH(m->arena, &m->owners,
             ((struct out_owner){.name = arena_strdup(m->arena, name)}));
    return m->owners.n - 1;
}

void meter_init(struct meter *m, struct arena *arena, const struct trace *t,
                const struct config *conf, struct player *p)
{
    *m = (struct meter){.arena = arena, .trace = t, .player = p};
    offers_init(m, conf);
    m->job_owner = ARENA_ARRAY(arena, uint32_t, t->jobs.n);
    for (uint32_t i = 0; i < t->jobs.n; i++)
        m->job_owner[i] = owner_find(m, t->jobs.v[i].owner);
}

/* ---- machines */

static int64_t amount_of(const struct qtys *q, const char *name)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].name, name) == 0)
            return q->v[i].amount;
    return 0;
}

static struct metered *machine_find(const struct meter *m, const char *id)
{
    uint64_t h = hash_text(HASH_SEED, id);
    uint32_t i;

    for (uint32_t at = 0;
         (i = hash_next_index(&m->by_id, h, &at)) != HASH_NONE;)
        if (strcmp(m->machines.v[i].machine->id, id) == 0)
            return &m->machines.v[i];
    return NULL;
}

void meter_launched(struct meter *m, const struct cloud_machine *x)
{
    uint32_t offer = offer_find(m, x);
    struct out_offer *o = &m->offers[offer];

    hash_add_index(&m->by_id, hash_text(HASH_SEED, x->id), m->machines.n);
    VEC_PUSH(NULL, &m->machines,
             ((struct metered){x, offer, x->launched_ms, -1, true}));
    o->launched++;
    o->boot_ms += x->ready_ms - x->launched_ms; /* a sum until the end */
    m->now[offer]++;
    m->n_now++;
    if (m->n_now > m->most)
        m->most = m->n_now;
    m->changed_ms = player_now_ms(m->player);
}

static void bill(struct meter *m, struct metered *x)
{
    int64_t ms = player_now_ms(m->player) - x->launched_ms;

    x->billed = false;
    m->offers[x->offer].machine_ms += ms;
    for (unsigned r = 0; r < 2; r++)
        m->billed[r] += (double)amount_of(&x->machine->node.has, measured[r]) *
                        (double)ms;
}

void meter_ended(struct meter *m, const struct cloud_machine *machine)
{
    struct metered *x = machine_find(m, machine->id);

    if (!x || !x->billed)
        return;
    bill(m, x);
    x->ended_ms = player_now_ms(m->player);
    m->offers[x->offer].ended++;
    m->now[x->offer]--;
    m->n_now--;
    m->changed_ms = player_now_ms(m->player);
}

/* ---- tasks */

void meter_submitted(struct meter *m, uint32_t job)
{
    m->owners.v[m->job_owner[job]].tasks += m->trace->jobs.v[job].count;
    m->submitted += m->trace->jobs.v[job].count;
    m->changed_ms = player_now_ms(m->player);
}

/* The mean of its parts of the machine's CPU and GPU: parts of all tasks on it
 * are never more than the whole. */
static double share_of(const struct trace_job *j, const struct qtys *has)
{
    double sum = 0;
    unsigned n = 0;

    for (unsigned r = 0; r < 2; r++) {
        int64_t total = amount_of(has, measured[r]);

        if (total <= 0)
            continue;
        n++;
        sum += (double)amount_of(&j->need, measured[r]) / (double)total;
    }
    return n ? sum / n : 0;
}

/* It ran there until now. */
static void task_ran(struct meter *m, const struct head_task *t)
{
    uint32_t job = (uint32_t)(t->work - 1);
    const struct trace_job *j = &m->trace->jobs.v[job];
    const struct metered *x = machine_find(m, t->machine);
    double ms = (double)(player_now_ms(m->player) - t->began_ms);

    for (unsigned r = 0; r < 2; r++)
        m->used[r] += (double)amount_of(&j->need, measured[r]) * ms;
    if (x)
        m->owners.v[m->job_owner[job]].cost_micros +=
            (int64_t)((double)m->offers[x->offer].price_micros_hour *
                      share_of(j, &x->machine->node.has) * ms / HOUR_MS);
}

void meter_task(struct meter *m, enum head_moment what,
                const struct head_task *t)
{
    uint32_t owner = m->job_owner[t->work - 1];

    m->changed_ms = player_now_ms(m->player);
    if (what == HEAD_BEGAN) {
        m->began++;
        m->owners.v[owner].began++;
        VEC_PUSH(NULL, &m->waits,
                 ((struct wait){t->began_ms - t->submitted_ms, owner}));
        return;
    }
    task_ran(m, t);
    if (what == HEAD_DONE) {
        m->done++;
        m->owners.v[owner].done++;
    } else {
        m->again++;
    }
}

/* ---- over time */

static int64_t cost_of(const struct out_offer *o, int64_t ms)
{
    return (int64_t)((double)o->price_micros_hour * (double)ms / HOUR_MS);
}

static int64_t cost_now(const struct meter *m)
{
    int64_t now = player_now_ms(m->player), sum = 0;
    int64_t *ms = MEM_ARRAY(int64_t, m->n_offers);

    for (uint32_t i = 0; i < m->machines.n; i++)
        if (m->machines.v[i].billed)
            ms[m->machines.v[i].offer] += now - m->machines.v[i].launched_ms;
    for (uint32_t i = 0; i < m->n_offers; i++)
        sum += cost_of(&m->offers[i], ms[i] + m->offers[i].machine_ms);
    free(ms);
    return sum;
}

void meter_waiting(struct meter *m, uint32_t tasks)
{
    if (tasks > m->waiting_most)
        m->waiting_most = tasks;
}

void meter_sample(struct meter *m)
{
    struct out_sample s = {
        .at_ms = player_now_ms(m->player),
        .machines = arena_copy(m->arena, m->now, m->n_offers * sizeof *m->now),
        .running = (uint32_t)(m->began - m->done - m->again),
        .cost_micros = cost_now(m)};

    s.waiting = m->waiting_most;
    m->waiting_most = (uint32_t)(m->submitted - m->done - s.running);
    if (m->waiting_most > s.waiting)
        s.waiting = m->waiting_most;
    VEC_PUSH(m->arena, &m->samples, s);
}

/* ---- the end */

static int by_wait(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;

    return x->ms < y->ms ? -1 : x->ms > y->ms;
}

/* The smallest wait that so many of 100 were not longer than. */
static int64_t percentile(const struct wait *v, uint32_t n, uint32_t p)
{
    return n ? v[((uint64_t)n * p + 99) / 100 - 1].ms : 0;
}

static void owner_waits(const struct meter *m, uint32_t owner,
                        struct out_owner *o)
{
    struct arena a = {0};
    struct wait *v = ARENA_ARRAY(&a, struct wait, m->waits.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->waits.n; i++)
        if (m->waits.v[i].owner == owner)
            v[n++] = m->waits.v[i];
    o->wait_p50_ms = percentile(v, n, 50);
    o->wait_p95_ms = percentile(v, n, 95);
    o->wait_worst_ms = percentile(v, n, 100);
    arena_done(&a);
}

static void machines_finish(const struct meter *m, struct outcome *ret)
{
    struct out_machine *v = ARENA_ARRAY(m->arena, struct out_machine,
                                        m->machines.n);

    for (uint32_t i = 0; i < m->machines.n; i++) {
        const struct metered *x = &m->machines.v[i];

        v[i] = (struct out_machine){x->offer, x->launched_ms, x->ended_ms};
    }
    ret->machines = v;
}

static void waits_finish(struct meter *m, struct outcome *ret)
{
    if (m->waits.n > 1)
        qsort(m->waits.v, m->waits.n, sizeof *m->waits.v, by_wait);
    ret->wait_p50_ms = percentile(m->waits.v, m->waits.n, 50);
    ret->wait_p95_ms = percentile(m->waits.v, m->waits.n, 95);
    ret->wait_worst_ms = percentile(m->waits.v, m->waits.n, 100);
    for (uint32_t i = 0; i < m->owners.n; i++)
        owner_waits(m, i, &m->owners.v[i]);
}

static double use(const struct meter *m, unsigned r)
{
    return m->billed[r] > 0 ? m->used[r] / m->billed[r] : -1;
}

void meter_finish(struct meter *m, struct outcome *ret)
{
    meter_sample(m);
    for (uint32_t i = 0; i < m->machines.n; i++)
        if (m->machines.v[i].billed)
            bill(m, &m->machines.v[i]);
    for (uint32_t i = 0; i < m->n_offers; i++) {
        struct out_offer *o = &m->offers[i];

        o->cost_micros = cost_of(o, o->machine_ms);
        o->boot_ms = o->launched ? o->boot_ms / o->launched : 0;
        ret->cost_micros += o->cost_micros;
        ret->launched += o->launched;
        ret->ended += o->ended;
    }
    machines_finish(m, ret);
    waits_finish(m, ret);
    for (uint32_t i = 0; i < m->owners.n; i++)
        ret->shared_micros += m->owners.v[i].cost_micros;
    ret->offers = m->offers;
    ret->n_offers = m->n_offers;
    ret->owners = m->owners.v;
    ret->n_owners = m->owners.n;
    ret->samples = m->samples.v;
    ret->n_samples = m->samples.n;
    ret->lasted_ms = player_now_ms(m->player);
    ret->tasks = m->submitted;
    ret->began = m->began - m->again;
    ret->done = m->done;
    ret->again = m->again;
    ret->most = m->most;
    ret->cpu_use = use(m, 0);
    ret->gpu_use = use(m, 1);
}

void meter_done(struct meter *m)
{
    free(m->machines.v);
    free(m->waits.v);
    hash_done(&m->by_id);
    hash_done(&m->owner_ix);
}
