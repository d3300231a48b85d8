/*
 * holds.c - what the last plan put on each machine.
 *
 * The page of the last plan that was made on a fresh view is kept; a machine
 * remembers which of its nodes it was.  One that is not in it yet, since it was
 * launched by that very plan or before a restart, has the words that were
 * written into the journal with its intent.
 */
#include <stdlib.h>
#include <string.h>

#include "../codec/codec.h"
#include "state.h"

struct snap_placements previous_placed(const struct problem *s, const struct plan *p,
                               uint32_t first, uint32_t n, struct arena *arena)
{
    struct snap_placement *v = ARENA_ARRAY(arena, struct snap_placement, n);

    for (uint32_t i = 0; i < n; i++) {
        const struct plan_placement *x = &p->placements[first + i];
        const struct pb_demand *d = &s->demands[s->bundles[x->bundle].demand];

        v[i] = (struct snap_placement){
            .source = d->source, .owner = s->str[d->owner],
            .id = s->str[d->id], .shape = problem_digest(s, x->bundle),
            .alt = x->alt, .count = x->count};
    }
    return (struct snap_placements){v, n};
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

struct previous_reader previous_reader(struct control *c, struct arena *arena)
{
    uint32_t n = c->memory ? c->memory->now->n_demands : 0;

    return (struct previous_reader){c, arena,
                                 ARENA_ARRAY(arena, const char *, 2 * n)};
}

/* The remembered page may go before these facts do: words are copied, once for
 * each demand. */
static struct snap_placements from_memory(struct previous_reader *r, uint32_t node)
{
    const struct problem *s = r->c->memory->now;
    const struct plan *p = r->c->memory->plan;
    const struct plan_node *n = &p->nodes[node];
    struct snap_placements h = previous_placed(s, p, n->first_placement,
                                       n->n_placements, r->arena);
    struct snap_placement *v = (struct snap_placement *)h.v;   /* ours, just made */

    for (uint32_t i = 0; i < h.n; i++) {
        uint32_t b = p->placements[n->first_placement + i].bundle;
        const char **words = &r->words[2 * s->bundles[b].demand];

        if (!words[0]) {
            words[0] = arena_strdup(r->arena, v[i].owner);
            words[1] = arena_strdup(r->arena, v[i].id);
        }
        v[i].owner = words[0];
        v[i].id = words[1];
    }
    return h;
}

struct snap_placements previous_of(struct previous_reader *r, const struct machine *m)
{
    const struct status_page *memory = r->c->memory;
    struct snap_placements h = {0};
    json_t *list = NULL;
    struct err err;

    if (memory && m->held_tick == memory->tick)
        return from_memory(r, m->held_node);
    if (!m->previous)
        return h;
    /* Words of ours; what is wrong with them only costs the memory. */
    if (codec_parse(m->previous, strlen(m->previous), &list, &err) == ST_OK &&
        codec_previous_read(list, r->arena, &h, &err) != ST_OK)
        h = (struct snap_placements){0};
    json_decref(list);
    return h;
}

/* While the head cannot be read its demand is left out: what nodes are for
 * must outlast that. */
void previous_remember(struct control *c, struct status_page *page)
{
    const struct problem *now = page->now;

    if (!now->sources_fresh)
        return;
    atomic_fetch_add(&page->refs, 1);
    status_unref(c->memory);
    c->memory = page;
    for (uint32_t i = 0; i < now->n_nodes; i++) {
        struct machine *m = fleet_by_id(&c->fleet,
                                        now->str[now->nodes[i].id]);

        if (!m)
            continue;
        m->held_tick = page->tick;
        m->held_node = i;
    }
}
