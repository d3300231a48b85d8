/*
 * demand.c - pending pods to demands.  See inside.h.
 *
 * Equal pods of one owner are one demand with a count: 4,000 of them cost what
 * one does.  A pod group is a demand of its own, whole or not at all, once all
 * of its pods are there.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/digest.h"
#include "../../model/amount.h"

enum {
    SETTLE_MS = 1000, /* a group of unknown size: its youngest pod is older */
};

static struct note_share *noted_of(struct builder *m, const char *space)
{
    for (uint32_t i = 0; i < m->noted.n; i++)
        if (strcmp(m->noted.v[i].space, space) == 0)
            return &m->noted.v[i];
    VEC_PUSH(m->arena, &m->noted,
             ((struct note_share){arena_strdup(m->arena, space), 0}));
    return &m->noted.v[m->noted.n - 1];
}

/* The place of a note in a full list: the last one of the namespace with the most of
 * them.  False: that is this one's own. */
static bool note_place(struct builder *m, const struct note_share *mine,
                       uint32_t *ret)
{
    struct note_share *most = m->noted.v;
    uint32_t i = m->notes.n - 1;

    for (uint32_t k = 1; k < m->noted.n; k++)
        if (m->noted.v[k].n > most->n)
            most = &m->noted.v[k];
    if (most->n <= mine->n + 1)
        return false;
    while (strcmp(m->notes.v[i].space, most->space) != 0)
        i--;
    most->n--;
    *ret = i;
    return true;
}

void pods_note(struct builder *m, const struct pod *p, const char *code,
               const char *text)
{
    struct note_share *mine = noted_of(m, p->space);
    bool full = m->notes.n == PODS_MAX_NOTES;
    struct source_note note;
    uint32_t place;

    if (full && !note_place(m, mine, &place))
        return;
    note = (struct source_note){"Pod",
                                mine->space,
                                arena_strdup(m->arena, p->name),
                                arena_strdup(m->arena, p->item.id),
                                arena_strdup(m->arena, code),
                                arena_strdup(m->arena, text)};
    mine->n++;
    if (full)
        m->notes.v[place] = note;
    else
        VEC_PUSH(m->arena, &m->notes, note);
}

/* Most of them are none, which is one text. */
static int order(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

static const char *volumes_key(const struct pod *p)
{
    return p->volumes ? p->volumes->key : "";
}

/* Of one demand first, of one bundle next; the order is the same in every
 * view and after a restart. */
static int by_group(const void *pa, const void *pb)
{
    const struct pod *a = *(struct pod *const *)pa;
    const struct pod *b = *(struct pod *const *)pb;
    int d = order(a->gang, b->gang);

    if (!d)
        d = strcmp(a->space, b->space);
    if (!d)
        d = order(a->owner, b->owner);
    if (!d)
        d = order(a->queue, b->queue);
    if (!d)
        d = (a->priority < b->priority) - (a->priority > b->priority);
    if (!d)
        d = (a->shape->shared.digest > b->shape->shared.digest) -
            (a->shape->shared.digest < b->shape->shared.digest);
    if (!d && a->volumes != b->volumes)
        d = strcmp(volumes_key(a), volumes_key(b));
    if (!d)
        d = (a->created_ms > b->created_ms) - (a->created_ms < b->created_ms);
    return d ? d : strcmp(a->item.id, b->item.id);
}

static bool one_bundle(const struct pod *a, const struct pod *b)
{
    return a->shape == b->shape && a->priority == b->priority &&
           (a->volumes == b->volumes ||
            strcmp(volumes_key(a), volumes_key(b)) == 0) &&
           order(a->gang, b->gang) == 0 && strcmp(a->space, b->space) == 0 &&
           order(a->owner, b->owner) == 0 && order(a->queue, b->queue) == 0;
}

/* ---- bundles */

struct bundle_vec {
    VEC(struct snap_bundle) all;
    VEC(const struct topo_group *) groups; /* beside it */
    bool grouped;                          /* any of them is one */
};

static const struct snap_alt *with_needs(struct builder *m,
                                         const struct snap_alt *alts,
                                         uint32_t n, struct qtys needs)
{
    struct snap_alt *v = ARENA_ARRAY(m->arena, struct snap_alt, n);

    if (!needs.n)
        return alts;
    for (uint32_t i = 0; i < n; i++) {
        v[i] = alts[i];
        v[i].resources = pods_qtys_join(m->arena, alts[i].resources, needs);
    }
    return v;
}

/* Has the scheduler looked at it by itself?  Of a gang it may be that the
 * others lack a place, and one that runs has not been looked at. */
static bool has_word(const struct builder *m, const struct pod *p)
{
    return p->state == POD_DEMAND && !*p->gang && !said_is_old(m, p->shape);
}

/* n equal pods; returns how many of them are planned for. */
static uint32_t bundles_add(struct builder *m, struct pod **v, uint32_t n,
                            struct bundle_vec *to)
{
    const struct pod *p = v[0];
    const struct snap_alt *alts = pods_alts(m, p->shape, has_word(m, p));
    uint32_t n_alts = p->shape->n_alts;
    struct affinity_asked asked;

    if (p->volumes && p->volumes->code) {
        for (uint32_t i = 0; i < n; i++)
            pods_note(m, v[i], p->volumes->code, p->volumes->text);
        waits_count(m, p->volumes->code, waiting_in(v, n));
        m->n_elsewhere++;
        return 0;
    }
    if (alts && p->volumes)
        alts = pods_alts_with(m, alts, n_alts, p->volumes, &n_alts);
    if (!alts) {
        for (uint32_t i = 0; i < n; i++)
            pods_note(m, v[i], "TooManyConditions",
                      "the pods that wait have too many different conditions "
                      "together");
        waits_count(m, "TooManyConditions", waiting_in(v, n));
        m->n_crowded++;
        return 0;
    }
    asked = pods_affinity_asked(m, p, n);
    if (asked.code) {
        for (uint32_t i = 0; i < n; i++)
            pods_note(m, v[i], asked.code, asked.text);
        waits_count(m, asked.code, waiting_in(v, n));
        if (strcmp(asked.code, "TooManyConditions") == 0)
            m->n_crowded++;
        else
            m->n_elsewhere++;
        return 0;
    }
    VEC_PUSH(
        m->arena, &to->all,
        ((struct snap_bundle){.alts = with_needs(m, alts, n_alts, asked.needs),
                              .n_alts = n_alts,
                              .count = n}));
    VEC_PUSH(m->arena, &to->groups, asked.topo);
    to->grouped = to->grouped || asked.topo;
    return n;
}

/* ---- demands */

static int64_t since_of(struct pod *const *v, uint32_t n)
{
    int64_t first = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t ms = v[i]->since_ms ? v[i]->since_ms : v[i]->created_ms;
        if (ms && (!first || ms < first))
            first = ms;
    }
    return first;
}

static void refs_add(struct builder *m, struct pod *const *v, uint32_t n)
{
    struct pods_ref *r = ARENA_ARRAY(m->arena, struct pods_ref, n);

    for (uint32_t i = 0; i < n; i++)
        r[i] = (struct pods_ref){arena_strdup(m->arena, v[i]->space),
                                 arena_strdup(m->arena, v[i]->name),
                                 arena_strdup(m->arena, v[i]->item.id)};
    VEC_PUSH(m->arena, &m->refs, ((struct pods_refs){r, n}));
}

static void demand_add(struct builder *m, struct pod **v, uint32_t n,
                       enum demand_source source, const char *id,
                       const struct bundle_vec *bundles)
{
    struct snap_demand d = {
        .source = source,
        .owner = "kubernetes",
        .id = id,
        .strategy = source == SOURCE_GANG ? STRATEGY_PACK : STRATEGY_NONE,
        .since_ms = since_of(v, n),
        .priority = v[0]->priority,
        .queue = arena_strdup(m->arena, v[0]->queue),
        .said = v[0]->shape->said ? arena_strdup(m->arena, v[0]->shape->said)
                                  : NULL,
        .bundles = bundles->all.v,
        .n_bundles = bundles->all.n,
    };

    if (!bundles->all.n)
        return;
    waits_count(m, "Planned", waiting_in(v, n));
    VEC_PUSH(m->arena, &m->demands, d);
    VEC_PUSH(m->arena, &m->groups, bundles->grouped ? bundles->groups.v : NULL);
    refs_add(m, v, n);
}

static const char *id_of(struct builder *m, struct pod *const *v, uint32_t n,
                         bool more)
{
    const struct pod *p = v[0];
    uint64_t h = digest_text(p->shape->shared.digest, volumes_key(p));
    unsigned mark = (unsigned)(h ^ h >> 32);

    if (!*p->owner && n == 1)
        return arena_printf(m->arena, "Pod/%s/%s", p->space, p->name);
    if (!*p->owner)
        return arena_printf(m->arena, "Pod/%s#%08x", p->space, mark);
    return more ? arena_printf(m->arena, "%s#%08x", p->owner, mark)
                : arena_strdup(m->arena, p->owner);
}

/* Equal pods that have no group. */
static void plain_add(struct builder *m, struct pod **v, uint32_t n, bool more)
{
    struct bundle_vec b = {.grouped = false};

    if (bundles_add(m, v, n, &b))
        demand_add(m, v, n, SOURCE_POD, id_of(m, v, n, more), &b);
}

/* ---- gangs */

struct gang {
    const struct pod_group *group; /* NULL: there is none of it */
    struct pod **v;                /* those that are demand first */
    uint32_t bound, pending, annotated;
    int64_t youngest;
};

/* left: of its pods, those that are in no count yet. */
static void gang_waits(struct builder *m, const struct gang *g, uint32_t left,
                       const char *text)
{
    const char *said = g->group ? g->group->said : NULL;

    waits_count(m, "PodGroup", left);
    m->n_elsewhere++;
    pods_note(
        m, g->v[0], "PodGroup",
        said ? arena_printf(m->arena, "%s; the scheduler says: %s", text, said)
             : text);
}

static const char *no_room(struct builder *m, const struct pod_group *g)
{
    return arena_printf(m->arena,
                        "its Volcano queue %s is not open, or has no room "
                        "for it below its capability",
                        g->queue);
}

/* v: all pods of one group, n of them, demand or not. */
static struct gang gang_of(const struct pods_store *s, struct pod **v,
                           uint32_t n)
{
    struct gang g = {.v = v};

    g.group = (const struct pod_group *)records_find(&s->groups, v[0]->gang);
    if (!g.group)
        g.group = (const struct pod_group *)records_find(&s->volcano,
                                                         v[0]->gang);

    for (uint32_t i = 0; i < n; i++) {
        g.bound += v[i]->state == POD_BOUND;
        if (v[i]->state == POD_DEMAND) {
            struct pod *p = v[i];

            memmove(v + g.pending + 1, v + g.pending,
                    (i - g.pending) * sizeof *v);
            v[g.pending++] = p;
        }
        if (v[i]->created_ms > g.youngest)
            g.youngest = v[i]->created_ms;
        if (v[i]->gang_size > g.annotated)
            g.annotated = v[i]->gang_size;
    }
    return g;
}

/* So many must run together; 0: they are still being made. */
static uint32_t gang_least(struct builder *m, const struct gang *g, uint32_t n)
{
    int64_t age = m->in->now_wall_ms - g->youngest;

    if (g->group || g->annotated)
        return g->group ? g->group->min : g->annotated;
    if (g->youngest && age >= 0 && age < SETTLE_MS) {
        builder_due(m, SETTLE_MS - age);
        return 0;
    }
    return n;
}

/* What its scheduler says of the group goes before what it says of one pod. */
static void gang_demand(struct builder *m, const struct gang *g, uint32_t need,
                        const struct bundle_vec *b)
{
    uint32_t before = m->demands.n;

    demand_add(m, g->v, need, SOURCE_GANG,
               arena_printf(m->arena, "PodGroup/%s", g->v[0]->gang), b);
    if (m->demands.n > before && g->group && g->group->said)
        m->demands.v[before].said = arena_strdup(m->arena, g->group->said);
}

/* need: the first ones, together; the others up to room each by itself. */
static void gang_plan(struct builder *m, const struct gang *g, uint32_t need,
                      uint32_t room)
{
    struct bundle_vec b = {.grouped = false};
    struct pod **v = g->v;

    for (uint32_t i = 0, k; i < room; i = k) {
        uint32_t end = i < need ? need : room;

        for (k = i + 1; k < end && one_bundle(v[i], v[k]); k++)
            ;
        if (i >= need) {
            plain_add(m, v + i, k - i, true);
            continue;
        }
        if (bundles_add(m, v + i, k - i, &b) < k - i) {
            gang_waits(m, g, room - (k - i),
                       "one of its pod group cannot be placed");
            return;
        }
        if (k >= need)
            gang_demand(m, g, need, &b);
    }
}

static void gang_add(struct builder *m, struct pod **v, uint32_t n)
{
    struct gang g = gang_of(m->in->store, v, n);
    uint32_t least, need, room;

    if (!g.pending)
        return;
    least = gang_least(m, &g, n);
    if (!least) {
        waits_count(m, "PodGroup", g.pending);
        return;
    }
    need = least > g.bound ? least - g.bound : 0;
    if (need > g.pending) {
        gang_waits(m, &g, g.pending,
                   arena_printf(m->arena,
                                "its pod group %s needs %u pods together: %u "
                                "run and %u wait",
                                v[0]->gang, least, g.bound, g.pending));
        return;
    }
    if (queue_room(m, g.group, v, need, true) < need) {
        gang_waits(m, &g, g.pending, no_room(m, g.group));
        return;
    }
    room = need + queue_room(m, g.group, v + need, g.pending - need, false);
    if (room < g.pending) {
        waits_count(m, "PodGroup", g.pending - room);
        pods_note(m, v[room], "PodGroup", no_room(m, g.group));
    }
    gang_plan(m, &g, need, room);
}

void pods_demands(struct builder *m, struct pod **v, uint32_t n)
{
    if (n > 1)
        qsort(v, n, sizeof *v, by_group);
    for (uint32_t i = 0, k; i < n; i = k) {
        bool more = i && strcmp(v[i]->owner, v[i - 1]->owner) == 0;
        for (k = i + 1;
             k < n && (*v[i]->gang ? strcmp(v[i]->gang, v[k]->gang) == 0
                                   : one_bundle(v[i], v[k]));
             k++)
            ;
        if (*v[i]->gang)
            gang_add(m, v + i, k - i);
        else
            plain_add(m, v + i, k - i, more);
    }
}
