/*
 * player.c - see player.h.
 *
 * What is to happen waits in a heap, by time and then in the order in which it
 * was planned.
 */
#include "player.h"

#include <stdlib.h>

#include "../base/alloc.h"
#include "../base/random.h"
#include "inside.h"

/* ---- time and chance */

static uint64_t next_random(struct player *p)
{
    uint64_t z = p->chance += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t player_chance(struct player *p, uint32_t n)
{
    return (uint32_t)(next_random(p) % n);
}

static void fill(void *arg, void *buf, size_t n)
{
    unsigned char *v = buf;

    for (size_t i = 0; i < n; i++)
        v[i] = (unsigned char)next_random(arg);
}

static int64_t wall_us(void *arg)
{
    const struct player *p = arg;

    return (p->wall_ms + p->now_ms) * 1000;
}

static int64_t mono_us(void *arg)
{
    const struct player *p = arg;

    return (p->now_ms - p->slept_ms) * 1000;
}

static int64_t boot_us(void *arg)
{
    const struct player *p = arg;

    return p->now_ms * 1000;
}

static void sleep_ms(void *arg, int64_t ms)
{
    ((struct player *)arg)->now_ms += ms;
}

struct player *player_new(uint64_t seed, int64_t wall_ms)
{
    struct player *p = MEM_NEW(struct player);

    p->chance = seed;
    p->wall_ms = wall_ms;
    p->now_ms = 1000000; /* the computer has been on for a while */
    p->clock = (struct clock){wall_us, mono_us, boot_us, sleep_ms, p};
    clock_install(&p->clock);
    random_install(fill, p);
    return p;
}

void player_free(struct player *p)
{
    clock_install(NULL);
    random_install(NULL, NULL);
    for (uint32_t i = 0; i < p->n; i++)
        free(p->heap[i]);
    free(p->heap);
    free(p);
}

void player_wall_step(struct player *p, int64_t ms)
{
    p->wall_ms += ms;
}

void player_process_new(struct player *p)
{
    clock_install(&p->clock);
}

int64_t player_now_ms(const struct player *p)
{
    return p->now_ms - 1000000;
}

/* ---- what is to happen */

static bool sooner(const struct due *a, const struct due *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void heap_push(struct player *p, struct due *e)
{
    uint32_t i;

    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 64;
        p->heap = mem_resize(p->heap, p->room, sizeof(struct due *));
    }
    for (i = p->n++; i > 0 && sooner(e, p->heap[(i - 1) / 2]); i = (i - 1) / 2)
        p->heap[i] = p->heap[(i - 1) / 2];
    p->heap[i] = e;
}

struct due *player_after(struct player *p, int64_t ms,
                         void (*happens)(void *arg), void *arg)
{
    struct due *e = MEM_NEW(struct due);

    *e = (struct due){p->now_ms + ms, p->order++, happens, arg, false};
    heap_push(p, e);
    return e;
}

static struct due *heap_pop(struct player *p)
{
    struct due *first = p->heap[0], *last = p->heap[--p->n];
    uint32_t i = 0, k;

    for (; (k = 2 * i + 1) < p->n; i = k) {
        if (k + 1 < p->n && sooner(p->heap[k + 1], p->heap[k]))
            k++;
        if (!sooner(p->heap[k], last))
            break;
        p->heap[i] = p->heap[k];
    }
    if (p->n)
        p->heap[i] = last;
    return first;
}

static void due_happens(struct player *p, struct due *e)
{
    if (e->at_ms > p->now_ms)
        p->now_ms = e->at_ms;
    if (e->happens)
        e->happens(e->arg);
    free(e);
}

void player_sleep(struct player *p, int64_t ms)
{
    int64_t until = p->now_ms + ms;

    while (p->n && p->heap[0]->at_ms < until) {
        struct due *e = heap_pop(p);

        if (e->computer) {
            e->at_ms = until;
            heap_push(p, e);
        } else {
            due_happens(p, e);
        }
    }
    p->now_ms = until;
    p->slept_ms += ms;
}

void player_pass(struct player *p, int64_t ms)
{
    int64_t until = p->now_ms + ms;
    uint32_t who = p->who;

    if (p->running) {
        player_takes_more(p, ms);
        return;
    }
    while (p->n && p->heap[0]->at_ms <= until)
        due_happens(p, heap_pop(p));
    if (until > p->now_ms)
        p->now_ms = until;
    p->who = who;
}

void player_busy(struct player *p, uint32_t of_1000)
{
    p->busy = of_1000;
}

void player_cancel(struct due *e)
{
    e->happens = NULL;
}

/* ---- the loop */

struct loop { /* a daemon that is driven */
    struct player *player;
    bool mail;
    int64_t due_ms;
};

static void mail_came(void *arg)
{
    struct loop *l = arg;

    l->mail = l->player->mail = true;
}

/* What happens until then, or there is mail. */
static void happen_until(struct player *p, int64_t until_ms)
{
    while (!p->mail && !p->broken && p->n && p->heap[0]->at_ms <= until_ms) {
        due_happens(p, heap_pop(p));
    }
    if (!p->mail && !p->broken && until_ms > p->now_ms)
        p->now_ms = until_ms;
}

/* Of a time on the clock of intervals. */
static int64_t world_time(const struct player *p, int64_t mono_ms)
{
    return mono_ms == INT64_MAX ? mono_ms : mono_ms + p->slept_ms;
}

/* Those that have mail or are due; returns when the next one is. */
static int64_t loops_step(struct player *p, struct loop *v,
                          struct control *const *c, uint32_t n, uint64_t *steps)
{
    int64_t next = INT64_MAX;

    for (uint32_t i = 0; i < n; i++) {
        if (v[i].mail || v[i].due_ms <= p->now_ms) {
            v[i].mail = false;
            p->who = i;
            v[i].due_ms = world_time(p, control_step(c[i]));
            ++*steps;
        }
        if (v[i].due_ms <= p->now_ms)
            v[i].due_ms = p->now_ms + 1;
        next = v[i].due_ms < next ? v[i].due_ms : next;
    }
    return next;
}

uint64_t player_run_all(struct player *p, struct control *const *c, uint32_t n,
                        int64_t ms, bool (*stop)(void *arg), void *arg)
{
    int64_t end = p->now_ms + ms, due;
    struct loop v[PLAYER_LOOPS] = {0};
    uint64_t steps = 0;

    for (uint32_t i = 0; i < n; i++) {
        v[i].player = p;
        mailbox_wake_by(control_mailbox(c[i]), mail_came, &v[i]);
    }
    p->broken = false;
    while (p->now_ms < end && !p->broken) {
        p->mail = false;
        due = loops_step(p, v, c, n, &steps);
        if (stop && stop(arg))
            break;
        happen_until(p, due < end ? due : end);
    }
    for (uint32_t i = 0; i < n; i++)
        mailbox_wake_by(control_mailbox(c[i]), NULL, NULL);
    return steps;
}

uint64_t player_run(struct player *p, struct control *c, int64_t ms,
                    bool (*stop)(void *arg), void *arg)
{
    return player_run_all(p, &c, 1, ms, stop, arg);
}

void player_break(struct player *p)
{
    p->broken = true;
}

uint32_t player_who(const struct player *p)
{
    return p->who;
}

uint32_t player_starts(const struct player *p)
{
    return p->starts[p->who];
}

void player_as(struct player *p, uint32_t who)
{
    p->who = who;
    p->starts[who]++;
}
