/*
 * previous.c - see previous.h.
 */
#include "previous.h"

#include <stdlib.h>
#include <string.h>

#include "../base/digest.h"
#include "../codec/codec.h"

struct snap_placements previous_placed(const struct problem *s,
                                       const struct plan *p, uint32_t first,
                                       uint32_t n, struct arena *arena)
{
    struct snap_placement *v = ARENA_ARRAY(arena, struct snap_placement, n);

    for (uint32_t i = 0; i < n; i++) {
        const struct plan_placement *x = &p->placements[first + i];
        const struct pb_demand *d = &s->demands[s->bundles[x->bundle].demand];

        v[i] = (struct snap_placement){.source = d->source,
                                       .owner = s->str[d->owner],
                                       .id = s->str[d->id],
                                       .shape = problem_digest(s, x->bundle),
                                       .alt = x->alt,
                                       .count = x->count};
    }
    return (struct snap_placements){v, n};
}

uint64_t previous_hash(const struct problem *s, const struct plan *p,
                       uint32_t first, uint32_t n)
{
    uint64_t h = n + 1;

    for (uint32_t i = first; i < first + n; i++) {
        const struct plan_placement *x = &p->placements[i];
        const struct pb_demand *d = &s->demands[s->bundles[x->bundle].demand];

        h = digest_bytes(h, s->str[d->owner], strlen(s->str[d->owner]) + 1);
        h = digest_bytes(h, s->str[d->id], strlen(s->str[d->id]) + 1);
        h = digest_number(h, (uint64_t)d->source);
        h = digest_number(h, problem_digest(s, x->bundle));
        h = digest_number(digest_number(h, x->alt), x->count);
    }
    return h;
}

char *previous_text(const struct snap_placements *h)
{
    json_t *list;
    char *text;

    if (h->n == 0)
        return NULL;
    list = codec_previous_write(h);
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

struct previous_reader previous_reader(const struct previous *p,
                                       struct arena *arena)
{
    uint32_t n = p->page ? p->page->now->n_demands : 0;

    return (struct previous_reader){
        .from = p,
        .arena = arena,
        .texts = ARENA_ARRAY(arena, const char *, 2 * n)};
}

bool previous_same(const struct plan_placement *x, uint32_t n_x,
                   const struct plan_placement *y, uint32_t n_y)
{
    for (uint32_t i = 0; n_x == n_y && i < n_x; i++)
        if (x[i].bundle != y[i].bundle || x[i].alt != y[i].alt ||
            x[i].count != y[i].count)
            return false;
    return n_x == n_y;
}

/* The remembered page may go before this snapshot does: its texts are copied,
 * once for each demand. */
static struct snap_placements from_page(struct previous_reader *r,
                                        uint32_t node)
{
    const struct problem *s = r->from->page->now;
    const struct plan *p = r->from->page->plan;
    const struct plan_node *n = &p->nodes[node];
    const struct plan_placement *from;
    struct snap_placements h = {0};
    struct snap_placement *v;

    if (n->n_placements == 0)
        return h;
    from = &p->placements[n->first_placement];
    if (r->last && previous_same(r->last, r->last_as.n, from, n->n_placements))
        return r->last_as;
    h = previous_placed(s, p, n->first_placement, n->n_placements, r->arena);
    v = (struct snap_placement *)h.v; /* just made */
    for (uint32_t i = 0; i < h.n; i++) {
        const char **texts = &r->texts[2 * s->bundles[from[i].bundle].demand];

        if (!texts[0]) {
            texts[0] = arena_strdup(r->arena, v[i].owner);
            texts[1] = arena_strdup(r->arena, v[i].id);
        }
        v[i].owner = texts[0];
        v[i].id = texts[1];
    }
    r->last = from;
    r->last_as = h;
    return h;
}

struct snap_placements previous_of(struct previous_reader *r,
                                   const struct machine *m)
{
    const struct status_page *page = r->from->page;
    struct snap_placements h = {0};
    json_t *list = NULL;
    struct err err;

    if (page && m->held_tick == page->tick)
        return from_page(r, m->held_node);
    if (!*m->previous)
        return h;
    /* Text of ours; what is wrong with it only costs the memory. */
    if (codec_parse(m->previous, strlen(m->previous), &list, &err) == ST_OK &&
        codec_previous_read(list, r->arena, &h, &err) != ST_OK)
        h = (struct snap_placements){0};
    json_decref(list);
    return h;
}

/* While a source cannot be read its demand is left out: what nodes are for
 * must outlast that. */
void previous_remember(struct previous *p, struct status_page *page,
                       struct machine *const *machines)
{
    const struct problem *now = page->now;

    if (!now->sources_fresh)
        return;
    atomic_fetch_add(&page->refs, 1);
    status_unref(p->page);
    p->page = page;
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        struct machine *m = machines[now->nodes[i].from];

        if (!m)
            continue;
        m->held_tick = page->tick;
        m->held_node = i;
    }
}

void previous_close(struct previous *p)
{
    status_unref(p->page);
    p->page = NULL;
}
