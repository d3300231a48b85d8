/*
 * cloud.c - see cloud.h: machines, and what befalls them.
 */
#include "cloud.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../cloud/cloud.h"
#include "cloud_inside.h"

enum { ENDING_MS = 30000, YOUNG_MS = 20000 };

static struct cloud *clouds[CLOUDS]; /* a plug-in's open() is told of none */

struct cloud *cloud_named(const char *name)
{
    for (int i = 0; i < CLOUDS; i++)
        if (clouds[i] && strcmp(clouds[i]->opts.name, name) == 0)
            return clouds[i];
    return NULL;
}

struct cloud *cloud_new(struct player *p, const struct cloud_opts *o)
{
    struct cloud *c = MEM_NEW(struct cloud);
    int i = 0;

    c->player = p;
    c->opts = *o;
    c->meets = &c->weather;
    if (!o->name)
        c->opts.name = "";
    if (!o->end_most_ms)
        c->opts.end_most_ms = ENDING_MS;
    assert(!cloud_named(c->opts.name));
    while (clouds[i])
        i++;
    assert(i < CLOUDS);
    clouds[i] = c;
    plugin_builtin(cloud_provider());
    plugin_builtin(cloud_provider_priced());
    return c;
}

void cloud_free(struct cloud *c)
{
    for (int i = 0; i < CLOUDS; i++)
        if (clouds[i] == c)
            clouds[i] = NULL;
    while (c->late)
        asked_free(c->late);
    for (uint32_t i = 0; i < c->all.n; i++)
        free(c->all.v[i]);
    for (uint32_t i = 0; i < c->requests.n; i++)
        free(c->requests.v[i]);
    free(c->all.v);
    free(c->requests.v);
    free(c->there.v);
    free(c->told.v);
    free(c->dearness.v);
    hash_done(&c->by_request);
    hash_done(&c->by_id);
    arena_done(&c->arena);
    free(c);
}

/* ---- a machine's life */

/* Its raylet is no more, and will not come. */
static void vm_silent(struct vm *vm)
{
    if (vm->up)
        player_cancel(vm->up);
    vm->up = NULL;
    if (vm->joined && vm->cloud->opts.head)
        head_machine_down(vm->cloud->opts.head, vm->m.id);
    vm->joined = false;
}

static void vm_gone(void *arg)
{
    struct vm *vm = arg;
    struct cloud *c = vm->cloud;

    vm->gone = NULL;
    vm_silent(vm);
    for (uint32_t i = 0; i < c->there.n; i++)
        if (c->there.v[i] == &vm->m) {
            memmove(c->there.v + i, c->there.v + i + 1,
                    (--c->there.n - i) * sizeof *c->there.v);
            return;
        }
}

static void vm_up(void *arg)
{
    struct vm *vm = arg;

    vm->up = NULL;
    if (vm->m.never_joins || !vm->cloud->opts.head)
        return;
    vm->joined = true;
    head_machine_up(vm->cloud->opts.head, &vm->m.node);
}

static void vm_gone_after(struct vm *vm, int64_t ms)
{
    if (vm->gone)
        player_cancel(vm->gone);
    vm->m.gone_ms = player_now_ms(vm->cloud->player) + ms;
    vm->gone = player_after(vm->cloud->player, ms, vm_gone, vm);
}

void vm_end(struct vm *vm)
{
    struct cloud *c = vm->cloud;

    if (!vm->m.asked_ms)
        vm->m.asked_ms = player_now_ms(c->player);
    if (vm->m.gone_ms != INT64_MAX)
        return;
    if (vm->m.refuses_end) {
        c->faults++;
        return;
    }
    if (c->watch.ending)
        c->watch.ending(c->watch.arg, c, &vm->m);
    vm_silent(vm);
    vm_gone_after(vm, player_chance(c->player, c->opts.end_most_ms));
}

/* The machine without its accelerators. */
static struct head_machine without_gpu(struct arena *a, struct head_machine n)
{
    struct qty *v = ARENA_ARRAY(a, struct qty, n.has.n);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n.has.n; i++)
        if (strcmp(n.has.v[i].name, "GPU") != 0)
            v[kept++] = n.has.v[i];
    n.has = (struct qtys){v, kept};
    n.accel = "";
    return n;
}

static bool spoilt(struct cloud *c, uint32_t of_1000)
{
    bool yes = of_1000 && player_chance(c->player, 1000) < of_1000;

    c->faults += yes;
    return yes;
}

static int64_t boot_draw(struct cloud *c)
{
    uint32_t span = c->opts.boot_most_ms - c->opts.boot_least_ms + 1;
    int64_t ms = c->opts.boot_least_ms + player_chance(c->player, span);

    return ms * (c->meets->boot_factor ? c->meets->boot_factor : 1);
}

static int64_t queue_draw(struct cloud *c, int64_t now_ms)
{
    uint32_t most = c->opts.queue_most_ms;

    return most ? now_ms + most / 2 + player_chance(c->player, most / 2 + 1)
                : 0;
}

/* What its weather does to a new machine. */
static void vm_fate(struct vm *vm)
{
    struct cloud *c = vm->cloud;
    const struct cloud_weather *w = c->meets;

    vm->m.listed_ms = vm->m.launched_ms + w->list_lag_ms;
    vm->m.queued_ms = queue_draw(c, vm->m.launched_ms);
    vm->m.ready_ms = (vm->m.queued_ms ? vm->m.queued_ms : vm->m.launched_ms) +
                     boot_draw(c);
    vm->m.never_joins = spoilt(c, w->never_joins);
    vm->m.refuses_end = spoilt(c, w->refuses_end);
    vm->m.failed = spoilt(c, w->start_fails);
    if (vm->m.failed)
        vm->m.ready_ms = INT64_MAX;
    vm->m.no_gpu = spoilt(c, w->no_gpu);
    vm->m.restless = spoilt(c, w->restless);
    if (spoilt(c, w->dies_young))
        vm->m.node.dies_ms = 1 + player_chance(c->player, YOUNG_MS);
}

static bool is_taken(const struct cloud *c, const char *id)
{
    for (uint32_t i = 0; i < c->there.n; i++)
        if (strcmp(c->there.v[i]->id, id) == 0)
            return true;
    return false;
}

/* One of the hosts that are free, by chance; a new one when all are in use. */
static void vm_name(struct cloud *c, struct cloud_machine *m)
{
    uint32_t at, n = c->opts.hosts;

    snprintf(m->id, sizeof m->id, "i-%.12s%06u", c->opts.name, c->all.n);
    at = n ? player_chance(c->player, n) : 0;
    for (uint32_t i = 0; i < n; i++) {
        char host[sizeof m->id];

        snprintf(host, sizeof host, "host-%.12s%u", c->opts.name, (at + i) % n);
        if (is_taken(c, host))
            continue;
        memcpy(m->id, host, sizeof host);
        return;
    }
}

struct vm *vm_new(struct cloud *c, const struct order *o)
{
    struct vm *vm = MEM_NEW(struct vm);
    struct cloud_machine *m = &vm->m;
    int64_t dies_ms;

    vm->cloud = c;
    *m = (struct cloud_machine){.launched_ms = player_now_ms(c->player),
                                .gone_ms = INT64_MAX,
                                .daemon = o->daemon,
                                .added = o->added,
                                .spot = o->spot};
    VEC_PUSH(NULL, &c->all, vm);
    vm_name(c, m);
    snprintf(m->request_id, sizeof m->request_id, "%s", o->request_id);
    snprintf(m->type, sizeof m->type, "%s", o->type);
    snprintf(m->zone, sizeof m->zone, "%s", o->zone);
    snprintf(m->cluster, sizeof m->cluster, "%s", o->cluster);
    snprintf(m->owner, sizeof m->owner, "%s", o->owner);
    VEC_PUSH(NULL, &c->there, m);
    hash_add(&c->by_id, hash_text(HASH_SEED, m->id), vm);
    vm_fate(vm);
    if (c->watch.launched)
        c->watch.launched(c->watch.arg, c, m);
    dies_ms = m->node.dies_ms;
    m->node = m->no_gpu ? without_gpu(&c->arena, o->node) : o->node;
    m->node.id = m->id;
    m->node.dies_ms = dies_ms;
    if (m->ready_ms != INT64_MAX)
        vm->up = player_after(c->player, m->ready_ms - m->launched_ms, vm_up,
                              vm);
    return vm;
}

/* ---- what people, and the cloud itself, do */

void cloud_kill(struct cloud *c, struct cloud_machine *m)
{
    struct vm *vm = (struct vm *)m;

    (void)c;
    m->by_person = true;
    vm_silent(vm);
    if (vm->gone)
        player_cancel(vm->gone);
    m->gone_ms = player_now_ms(vm->cloud->player);
    vm_gone(vm);
}

void cloud_take_back(struct cloud *c, struct cloud_machine *m, int64_t ms)
{
    (void)c;
    if (m->gone_ms != INT64_MAX)
        return;
    m->by_person = true;
    vm_gone_after((struct vm *)m, ms);
}

void cloud_reboot(struct cloud *c, struct cloud_machine *m, int64_t ms)
{
    struct vm *vm = (struct vm *)m;

    if (m->gone_ms != INT64_MAX || m->failed ||
        m->ready_ms > player_now_ms(c->player))
        return;
    vm_silent(vm);
    vm->up = player_after(c->player, ms, vm_up, vm);
}

struct cloud_machine *cloud_add(struct cloud *c, const struct cloud_machine *m,
                                const char *request_id)
{
    struct order o = {.request_id = request_id ? request_id : "",
                      .type = m->type,
                      .zone = m->zone,
                      .cluster = m->cluster,
                      .owner = m->owner,
                      .spot = m->spot,
                      .added = true,
                      .node = m->node};

    return &vm_new(c, &o)->m;
}

/* ---- what is true there */

void cloud_watch(struct cloud *c, const struct cloud_watch *w)
{
    c->watch = *w;
}

/* What is over is over for the machines that it held up, too. */
void cloud_weather(struct cloud *c, const struct cloud_weather *w)
{
    bool unread = w->down || w->auth || w->broken || w->lists_fail;
    bool well = !unread && !w->auth_ends && !w->invalid_ends && !w->throttled &&
                !w->lost_request && !w->lost_reply && !w->late_effect &&
                !w->hangs && !w->end_hangs && !w->cut_list && !w->drops &&
                !w->lies;

    c->weather = *w;
    cloud_dearness(c);
    if (!well)
        c->well_ms = 0;
    else if (!c->well_ms)
        c->well_ms = player_now_ms(c->player);
    if (!unread)
        c->unread_ms = 0;
    else if (!c->unread_ms)
        c->unread_ms = player_now_ms(c->player);
    for (uint32_t i = 0; !w->refuses_end && i < c->there.n; i++)
        c->there.v[i]->refuses_end = false;
}

void cloud_say(struct cloud *c, enum cloud_says what, uint32_t lists)
{
    c->says = what;
    c->says_lists = lists;
}

void cloud_say_free(struct cloud *c, uint32_t answers)
{
    c->says_free = answers;
}

int64_t cloud_unread_ms(const struct cloud *c)
{
    return c->unread_ms;
}

int64_t cloud_well_ms(const struct cloud *c)
{
    return c->well_ms;
}

void cloud_spoil(struct cloud *c, uint32_t n, const struct cloud_weather *w)
{
    c->spoil_at = c->calls + n;
    c->spoil = *w;
}

struct cloud_machine *const *cloud_machines(struct cloud *c, uint32_t *ret_n)
{
    *ret_n = c->there.n;
    return c->there.v;
}

struct cloud_machine *cloud_machine(struct cloud *c, const char *id)
{
    struct cloud_machine *found = NULL;
    struct vm *vm;

    for (uint32_t at = 0;
         (vm = hash_next(&c->by_id, hash_text(HASH_SEED, id), &at));)
        if (strcmp(vm->m.id, id) == 0 &&
            (!found || vm->m.launched_ms >= found->launched_ms))
            found = &vm->m;
    return found;
}

uint32_t cloud_launched(const struct cloud *c)
{
    return c->all.n;
}

uint32_t cloud_calls(const struct cloud *c)
{
    return c->calls;
}

uint32_t cloud_changes(const struct cloud *c)
{
    return c->changes;
}

uint64_t cloud_faults(const struct cloud *c)
{
    return c->faults;
}

const char *cloud_title(const struct cloud *c)
{
    return c->opts.name;
}
