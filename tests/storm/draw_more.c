/*
 * draw_more.c - what was thought of when worlds had been drawn for long: in some of
 * them, from a stream of chance of its own, so that all others stay as they were.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "observer.h"
#include "script.h"

struct more {
    struct script *s;
    uint64_t seed, n;
};

static uint64_t more_next(struct more *m)
{
    return hash_number(hash_number(HASH_SEED, m->seed ^ 0x6d6f7265), m->n++);
}

static uint32_t more_below(struct more *m, uint32_t n)
{
    return (uint32_t)(more_next(m) >> 11) % n;
}

static int by_time(const void *a, const void *b)
{
    const struct happening *x = a, *y = b;

    return x->at_ms < y->at_ms ? -1 : x->at_ms > y->at_ms;
}

static void happens_too(struct more *m, const struct happening *h)
{
    struct script *s = m->s;

    s->v = mem_resize(s->v, s->n + 1, sizeof *s->v);
    s->v[s->n++] = *h;
}

/* Machines that do not come, and whose lists look as if they did something. */
static void restless_draw(struct more *m)
{
    for (uint32_t i = 0; i < m->s->n; i++) {
        struct happening *h = &m->s->v[i];

        if (h->kind != HAPPENS_WEATHER || more_below(m, 3))
            continue;
        h->weather.restless = 300 + more_below(m, 700);
        if (more_below(m, 2))
            h->weather.never_joins = 300 + more_below(m, 700);
    }
}

/* Raylets that die as soon as they have joined, for a while. */
static void young_draw(struct more *m)
{
    for (uint32_t i = 0; i < m->s->n; i++) {
        struct happening *h = &m->s->v[i];

        if (h->kind == HAPPENS_WEATHER && !more_below(m, 2))
            h->weather.dies_young = 500 + more_below(m, 501);
    }
}

/* A tool that saves its file again and again, and does not change it. */
static void touched_draw(struct more *m)
{
    uint32_t n = 1 + more_below(m, 6);

    for (uint32_t i = 0; i < m->s->n; i++)
        if (m->s->v[i].kind == HAPPENS_WEATHER && !more_below(m, 3))
            m->s->v[i].weather.start_fails = 1000;
    for (uint32_t i = 0; i < n; i++)
        happens_too(
            m, &(struct happening){
                   .at_ms = MINUTE +
                            more_below(m, (uint32_t)(m->s->storm_ms - MINUTE)),
                   .kind = HAPPENS_TOUCHED,
                   .a = 1 + more_below(m, 120),
                   .b = 1000 + more_below(m, 20 * SECOND)});
    qsort(m->s->v, m->s->n, sizeof *m->s->v, by_time);
}

/* Somebody is at what is written down: while the daemon runs, and between runs. */
static void store_draw(struct more *m)
{
    uint32_t n = 1 + more_below(m, 5), span = (uint32_t)m->s->storm_ms - MINUTE;

    for (uint32_t i = 0; i <= n; i++)
        happens_too(m,
                    &(struct happening){
                        .at_ms = MINUTE + more_below(m, i ? span : span / 4),
                        .kind = HAPPENS_STORE,
                        .a = i ? STORE_DELETED + more_below(m, STORE_FAULTS - 1)
                               : STORE_COPIED});
    qsort(m->s->v, m->s->n, sizeof *m->s->v, by_time);
}

/* A world of prices alone: two clouds with the same machine, whose prices change
 * places, and long work. */
static void flips_draw(struct more *m)
{
    static const char file[] =
        "cluster: played\nstate: /a/davit.db\n"
        "head: {ray: {address: \"played:6379\"}}\n"
        "limits: {max_nodes: 6, idle_timeout: 2m, start_timeout: 10m, "
        "consolidate: on}\n"
        "providers:\n  cloud-a: {plugin: priced, cloud: a}\n"
        "  cloud-b: {plugin: priced, cloud: b}\n"
        "node_types:\n"
        "  t4: {provider: cloud-a, resources: {CPU: 8, GPU: 1}, max: 6}\n"
        "  t4b: {provider: cloud-b, resources: {CPU: 8, GPU: 1}, max: 6}\n";
    struct script *s = m->s;
    uint32_t every = 6 + more_below(m, 55), dear = 110 + more_below(m, 90);
    uint32_t works = 1 + more_below(m, 4);
    int64_t at = MINUTE;

    for (uint32_t i = 0; i < s->n_files; i++)
        free(s->files[i]);
    s->files[0] = mem_strdup(file);
    s->n_files = 1;
    s->world.settings = s->files[0];
    s->world.head = s->judged = s->leave = true;
    s->world.ha = s->plain = s->edited = false;
    s->world.clouds = 2;
    s->world.busy = s->gone = 0;
    s->storm_ms = (int64_t)(3 + more_below(m, 9)) * HOUR;
    s->n = 0;
    for (uint32_t i = 0; at < s->storm_ms; i++, at += every * MINUTE)
        for (uint32_t c = 0; c < 2; c++)
            happens_too(m, &(struct happening){
                               .at_ms = at + c,
                               .kind = HAPPENS_WEATHER,
                               .a = c,
                               .weather.dear = i % 2 == c ? dear : 100});
    for (uint32_t i = 0; i < works; i++)
        happens_too(m,
                    &(struct happening){.at_ms = 2 * MINUTE + (int64_t)i * HOUR,
                                        .kind = HAPPENS_TASKS,
                                        .a = 1,
                                        .c = (2 + more_below(m, 6)) * HOUR,
                                        .text = "GPU"});
    qsort(s->v, s->n, sizeof *s->v, by_time);
}

/* Many are gone at once, or a list lacks many that are there; their cloud is asked for
 * each, and now and then says nothing. */
static void waves_draw(struct more *m)
{
    uint32_t n = 1 + more_below(m, 5), span = (uint32_t)m->s->storm_ms - MINUTE;

    for (uint32_t i = 0; i < n; i++) {
        int64_t at = MINUTE + more_below(m, span);
        uint32_t cloud = more_below(m, m->s->world.clouds);

        if (more_below(m, 2)) {
            happens_too(m, &(struct happening){.at_ms = at,
                                               .kind = HAPPENS_DIES,
                                               .a = more_below(m, 1 << 16),
                                               .b = 4 + more_below(m, 9)});
            continue;
        }
        happens_too(m, &(struct happening){
                           .at_ms = at,
                           .kind = HAPPENS_WEATHER,
                           .a = cloud,
                           .weather = {.cut_list = 500 + more_below(m, 501),
                                       .mute_ids = more_below(m, 2)
                                                       ? more_below(m, 1001)
                                                       : 0}});
        happens_too(m, &(struct happening){
                           .at_ms = at + SECOND + more_below(m, 20 * MINUTE),
                           .kind = HAPPENS_WEATHER,
                           .a = cloud});
    }
    qsort(m->s->v, m->s->n, sizeof *m->s->v, by_time);
}

void script_draw_more(struct script *s, uint64_t seed)
{
    struct more m = {.s = s, .seed = seed};
    uint32_t which = more_below(&m, 12);

    if (draw_allows(DOUBT_RESTLESS) && (which == 0 || which == 1))
        restless_draw(&m);
    if (draw_allows(DOUBT_YOUNG) && s->world.head && which >= 1 && which <= 3)
        young_draw(&m);
    if (draw_allows(DOUBT_TOUCHED) && (which == 3 || which == 4))
        touched_draw(&m);
    if (which == 5 && !more_below(&m, 4) && draw_allows(DOUBT_FLIPS))
        flips_draw(&m);
    if (draw_allows(DOUBT_STORE) && which >= 8 && which <= 10 && !s->plain)
        store_draw(&m);
    m.n = 1000; /* a later thought: what was drawn so far stays as it is */
    s->world.finds = more_below(&m, 2) && draw_allows(DOUBT_FINDS);
    if (s->world.finds && !s->judged && !more_below(&m, 3))
        waves_draw(&m);
}
