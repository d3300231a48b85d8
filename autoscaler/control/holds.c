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

#include "../model/codec.h"
#include "state.h"

struct fact_holds holds_placed(const struct snapshot *s, const struct plan *p,
                               uint32_t first, uint32_t n, struct arena *arena)
{
    struct fact_hold *v = ARENA_ARRAY(arena, struct fact_hold, n);

    for (uint32_t i = 0; i < n; i++) {
        const struct plan_placement *x = &p->placements[first + i];
        const struct sn_demand *d = &s->demands[s->bundles[x->bundle].demand];

        v[i] = (struct fact_hold){
            .source = d->source, .owner = s->str[d->owner],
            .id = s->str[d->id], .shape = snapshot_digest(s, x->bundle),
            .alt = x->alt, .count = x->count};
    }
    return (struct fact_holds){v, n};
}

char *holds_text(const struct fact_holds *h)
{
    json_t *list;
    char *text;

    if (h->n == 0)
        return NULL;
    list = codec_holds_write(h);
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

struct holds_reader holds_reader(struct control *c, struct arena *arena)
{
    uint32_t n = c->memory ? c->memory->now->n_demands : 0;

    return (struct holds_reader){c, arena,
                                 ARENA_ARRAY(arena, const char *, 2 * n)};
}

/* The remembered page may go before these facts do: words are copied, once for
 * each demand. */
static struct fact_holds from_memory(struct holds_reader *r, uint32_t node)
{
    const struct snapshot *s = r->c->memory->now;
    const struct plan *p = r->c->memory->plan;
    const struct plan_node *n = &p->nodes[node];
    struct fact_holds h = holds_placed(s, p, n->first_placement,
                                       n->n_placements, r->arena);
    struct fact_hold *v = (struct fact_hold *)h.v;   /* ours, just made */

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

struct fact_holds holds_of(struct holds_reader *r, const struct machine *m)
{
    const struct status_page *memory = r->c->memory;
    struct fact_holds h = {0};
    json_t *list = NULL;
    struct err err;

    if (think_undecided(r->c, m))
        return h;
    if (memory && !m->undecided && m->held_tick == memory->tick)
        return from_memory(r, m->held_node);
    if (!m->holds)
        return h;
    /* Words of ours; what is wrong with them only costs the memory. */
    if (codec_parse(m->holds, strlen(m->holds), &list, &err) == ST_OK &&
        codec_holds_read(list, r->arena, &h, &err) != ST_OK)
        h = (struct fact_holds){0};
    json_decref(list);
    return h;
}

/* While the head cannot be read its demand is left out: what nodes are for
 * must outlast that. */
void holds_remember(struct control *c, struct status_page *page)
{
    const struct snapshot *now = page->now;

    if (!now->head_fresh)
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
