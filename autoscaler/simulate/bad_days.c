/*
 * bad_days.c - see bad_days.h.
 */
#include "bad_days.h"

#include <stdlib.h>

#include "../base/alloc.h"

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    NOTICE = 2 * MINUTE, /* before a spot machine is taken back */
    LAG_MOST = 20 * SECOND,
};
#define HOUR (60 * (int64_t)MINUTE)

struct bad_days {
    struct player *player;
    struct cloud *cloud;
    struct head *head;
    uint64_t chance, deaths;
    bool trouble;
    struct due *next;
    void (*gone)(void *arg, const struct cloud_machine *m);
    void *arg;
};

static uint32_t below(struct bad_days *d, uint32_t n)
{
    uint64_t z = d->chance += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

/* One machine, by chance. */
static void machine_goes(struct bad_days *d)
{
    uint32_t n;
    struct cloud_machine *const *v = cloud_machines(d->cloud, &n);
    struct cloud_machine *m = n ? v[below(d, n)] : NULL;

    if (!m || m->gone_ms != INT64_MAX)
        return;
    d->deaths++;
    d->gone(d->arg, m);
    if (m->spot)
        cloud_take_back(d->cloud, m, NOTICE);
    else
        cloud_kill(d->cloud, m);
}

static struct cloud_weather weather_draw(struct bad_days *d)
{
    struct cloud_weather w = {0};
    uint32_t often = 100 + below(d, 900);

    switch (below(d, 11)) {
    case 0: w.down = true; break;
    case 1: w.lists_fail = true; break;
    case 2: w.throttled = often; break;
    case 3: w.lost_request = often; break;
    case 4: w.lost_reply = often; break;
    case 5: w.stockout = d->chance & UINT32_MAX; break;
    case 6: w.start_fails = often; break;
    case 7: w.never_joins = often; break;
    case 8: w.auth = true; break;
    case 9: w.list_lag_ms = 1 + below(d, LAG_MOST); break;
    default: w.boot_factor = 2 + below(d, 9); break;
    }
    return w;
}

static void turn(void *arg)
{
    struct bad_days *d = arg;
    struct cloud_weather w = {0};
    enum head_trouble head = HEAD_WELL;
    int64_t lasts = 10 * MINUTE + below(d, 6 * (uint32_t)HOUR - 10 * MINUTE);

    d->trouble = !d->trouble;
    if (d->trouble) {
        lasts = MINUTE + below(d, (uint32_t)HOUR - MINUTE);
        switch (below(d, 4)) {
        case 0: machine_goes(d); break;
        case 1: head = below(d, 2) ? HEAD_DOWN : HEAD_SILENT; break;
        default: w = weather_draw(d); break;
        }
    }
    cloud_weather(d->cloud, &w);
    head_trouble(d->head, head);
    d->next = player_after(d->player, lasts, turn, d);
}

struct bad_days *bad_days_begin(
    struct player *p, struct cloud *c, struct head *h, uint64_t seed,
    void (*gone)(void *arg, const struct cloud_machine *m), void *arg)
{
    struct bad_days *d = MEM_NEW(struct bad_days);

    *d = (struct bad_days){.player = p,
                           .cloud = c,
                           .head = h,
                           .chance = seed,
                           .gone = gone,
                           .arg = arg};
    d->next = player_after(p, 10 * MINUTE, turn, d);
    return d;
}

uint64_t bad_days_end(struct bad_days *d)
{
    uint64_t n;

    if (!d)
        return 0;
    player_cancel(d->next);
    cloud_weather(d->cloud, &(struct cloud_weather){0});
    head_trouble(d->head, HEAD_WELL);
    n = d->deaths + cloud_faults(d->cloud) + head_faults(d->head);
    free(d);
    return n;
}
