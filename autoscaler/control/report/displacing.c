/*
 * displacing.c - see displacing.h.
 */
#include "displacing.h"

#include <stdio.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../model/displaced.h"

static const char *owner_of(const struct problem *s, uint32_t bundle)
{
    return s->str[s->demands[s->bundles[bundle].demand].owner];
}

static bool asks(const struct problem *s, const char *owner)
{
    for (uint32_t i = 0; i < s->n_demands; i++)
        if (strcmp(s->str[s->demands[i].owner], owner) == 0)
            return true;
    return false;
}

/* Of those whose demand is over, or who asks for it no more. */
static void over_drop(struct displacing *d, const struct problem *s)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < d->n; i++)
        if (asks(s, d->notes[i].owner) && asks(s, d->notes[i].by))
            d->notes[kept++] = d->notes[i];
    d->n = kept;
}

/* Nothing of it is without a place any more. */
static void served_close(struct displacing *d, const struct problem *s,
                         const struct plan *p)
{
    bool lacks[DISPLACING_NOTES] = {false};

    for (uint32_t b = 0; b < s->n_bundles; b++) {
        if (!p->bundles[b].launched && !p->bundles[b].waiting)
            continue;
        for (uint32_t i = 0; i < d->n; i++)
            lacks[i] = lacks[i] ||
                       (d->notes[i].open &&
                        strcmp(d->notes[i].owner, owner_of(s, b)) == 0 &&
                        d->notes[i].shape == problem_digest(s, b));
    }
    for (uint32_t i = 0; i < d->n; i++)
        d->notes[i].open = d->notes[i].open && lacks[i];
}

static struct displacing_note *note_new(struct displacing *d)
{
    if (d->n == DISPLACING_NOTES) {
        memmove(d->notes, d->notes + 1, (d->n - 1) * sizeof *d->notes);
        d->n--;
    }
    return &d->notes[d->n++];
}

static bool same_pair(const struct displacing_note *a,
                      const struct displacing_note *b)
{
    return !a->told && !b->told && strcmp(a->owner, b->owner) == 0 &&
           strcmp(a->by, b->by) == 0;
}

/* Once for the same two owners, however many shapes. */
static void note_emit(const struct displacing *d, uint32_t i)
{
    const struct displacing_note *n = &d->notes[i];
    uint32_t count = 0;
    int64_t micros = 0;

    for (uint32_t k = 0; k < d->n; k++) {
        if (!same_pair(&d->notes[k], n))
            continue;
        if (k < i)
            return; /* told already */
        count += d->notes[k].count;
        micros += d->notes[k].micros_hour;
    }
    if (*n->launches)
        emit(d->env, "demand.displaced", n->owner, "",
             "%s took its place on %s (%u bundle%s): %s for it, %.2f $/h more",
             n->by, n->node, count, count == 1 ? "" : "s", n->launches,
             (double)micros / 1e6);
    else
        emit(d->env, "demand.displaced", n->owner, "",
             "%s took its place on %s (%u bundle%s): it waits", n->by, n->node,
             count, count == 1 ? "" : "s");
}

/* What nodes held is not remembered while a source cannot be read, so each plan
 * finds the same again. */
static bool is_noted(const struct displacing *d, const struct problem *s,
                     const struct displacement *x, const char *launches)
{
    for (uint32_t i = 0; i < d->n; i++) {
        const struct displacing_note *n = &d->notes[i];

        if (n->open && n->count == x->count &&
            n->shape == problem_digest(s, x->bundle) &&
            strcmp(n->owner, owner_of(s, x->bundle)) == 0 &&
            strcmp(n->by, owner_of(s, x->by)) == 0 &&
            strcmp(n->node, s->str[s->nodes[x->node].id]) == 0 &&
            strncmp(n->launches, launches, sizeof n->launches - 1) == 0)
            return true;
    }
    return false;
}

static void note_take(struct displacing *d, const struct problem *s,
                      const struct plan *p, const struct displacement *x,
                      struct arena *scratch)
{
    const char *launches = displaced_launches(s, p, x->bundle, scratch);
    struct displacing_note *n;

    if (is_noted(d, s, x, launches))
        return;
    n = note_new(d);
    *n = (struct displacing_note){.shape = problem_digest(s, x->bundle),
                                  .count = x->count,
                                  .at_ms = s->now_ms,
                                  .micros_hour = x->micros_hour,
                                  .open = true};
    snprintf(n->owner, sizeof n->owner, "%s", owner_of(s, x->bundle));
    snprintf(n->by, sizeof n->by, "%s", owner_of(s, x->by));
    snprintf(n->node, sizeof n->node, "%s", s->str[s->nodes[x->node].id]);
    snprintf(n->launches, sizeof n->launches, "%s", launches);
}

void displacing_take(struct displacing *d, const struct problem *s,
                     const struct plan *p)
{
    struct arena scratch = {0};
    struct displaced now = displaced_of(s, p, &scratch);
    uint32_t n = now.n < DISPLACING_NOTES ? now.n : DISPLACING_NOTES;

    over_drop(d, s);
    if (d->n)
        served_close(d, s, p);
    for (uint32_t i = 0; i < n; i++)
        note_take(d, s, p, &now.v[i], &scratch);
    for (uint32_t i = 0; n && i < d->n; i++)
        if (!d->notes[i].told)
            note_emit(d, i);
    for (uint32_t i = 0; i < d->n; i++)
        d->notes[i].told = true;
    arena_done(&scratch);
}

static const struct displacing_note *note_of(const struct displacing *d,
                                             const struct problem *s,
                                             uint32_t bundle)
{
    for (uint32_t i = d->n; i-- > 0;)
        if (d->notes[i].open &&
            strcmp(d->notes[i].owner, owner_of(s, bundle)) == 0 &&
            d->notes[i].shape == problem_digest(s, bundle))
            return &d->notes[i];
    return NULL;
}

char *displacing_because(const struct displacing *d, const struct problem *s,
                         const struct plan *p, const struct plan_launch *l)
{
    for (uint32_t i = 0; d->n && i < l->n_placements; i++) {
        const struct displacing_note *n = note_of(
            d, s, p->placements[l->first_placement + i].bundle);
        char text[400];

        if (!n)
            continue;
        snprintf(text, sizeof text, "%s took the place of %s on %s", n->by,
                 n->owner, n->node);
        return mem_strdup(text);
    }
    return NULL;
}

void displacing_show(const struct displacing *d, struct status_page *page)
{
    struct arena *a = &page->arena;
    struct status_displaced *v = ARENA_ARRAY(a, struct status_displaced, d->n);

    for (uint32_t i = 0; i < d->n; i++) {
        const struct displacing_note *n = &d->notes[i];

        v[i] = (struct status_displaced){
            .owner = arena_strdup(a, n->owner),
            .by = arena_strdup(a, n->by),
            .node = arena_strdup(a, n->node),
            .launches = arena_strdup(a, n->launches),
            .bundles = n->count,
            .at_ms = n->at_ms,
            .micros_hour = n->micros_hour,
            .over = !n->open,
        };
    }
    page->displaced = v;
    page->n_displaced = d->n;
}
