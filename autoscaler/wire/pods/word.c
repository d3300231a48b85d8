/*
 * word.c - the scheduler's word.  See inside.h.
 *
 * A pending pod has been tried on every node that is there, and the scheduler
 * tries again when one changes.  So a node that is Ready and has not changed for
 * a while has no place for any pod that still waits, whatever we believe of its
 * room: there are more conditions (volumes, limits, plug-ins) than can be read.
 * That while is its longest back-off, and its own pace for all that wait.
 * Nodes that came or changed lately, or come up still, are room; all are while
 * it is behind.  That is seen by its word: it says of how many nodes it speaks, and
 * it says something else of a pod that it has tried on a node which came since.
 *
 * It is one resource for all: such a node has none of it, and every pod that
 * waits needs a little.  A new node has it.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/text.h"
#include "../../model/amount.h"

enum {
    TRIED_MS = 15000, /* kube-scheduler's longest back-off is 10 s */
    EACH_MS = 20, /* it tries one pod after the other, each so long at least */
    PAUSE_MS = 10000, /* a longer pause is none of its pace */
    OLD_MS = 120000,  /* so long it may be behind */
};

/* "0/12 nodes are available": it has not seen a thirteenth. */
static uint32_t nodes_in(const char *said)
{
    const char *s = strncmp(said, "0/", 2) == 0 ? said + 2 : "";
    char *end;
    unsigned long n = strtoul(s, &end, 10);

    return *s >= '0' && *s <= '9' && strncmp(end, " nodes", 6) == 0 &&
                   n < UINT32_MAX
               ? (uint32_t)n
               : 0;
}

void said_keep(struct pod_shape *s, const char *message, uint64_t version)
{
    size_t n = strlen(message);

    n = n < PODS_MAX_SAID ? n : PODS_MAX_SAID;
    if (!n ||
        (s->said && strlen(s->said) == n && memcmp(s->said, message, n) == 0))
        return;
    free(s->said);
    s->said = mem_zeroed(n + 1, 1);
    memcpy(s->said, message, n);
    text_clean(s->said, n);
    s->said_ms = clock_mono_ms();
    s->said_version = version;
    s->said_nodes = nodes_in(s->said);
}

static int64_t each_ms(const struct builder *m)
{
    const struct pods_store *s = m->in->store;
    bool recent = s->bound_ms && m->in->now_mono_ms - s->bound_ms < OLD_MS;

    return recent && s->pace_us / 1000 > EACH_MS ? s->pace_us / 1000 : EACH_MS;
}

/* So long it may be behind, and is not waited for any longer. */
static int64_t behind_ms(const struct builder *m)
{
    int64_t all = each_ms(m) * m->n_waiting;

    return OLD_MS + (all < OLD_MS ? all : OLD_MS);
}

/* A node that came after its word, and that such a pod would fit: had it been tried
 * there, it would run there, or the word would be another one. */
static bool is_news(const struct builder *m, const struct pod_shape *s,
                    const struct view_node *n)
{
    const struct knode *k = n->k;

    /* two watches bring them: of two numbers the server's tell the order */
    if (k->version && s->said_version && k->version <= s->said_version)
        return false;
    return k->came_ms > s->said_ms &&
           m->in->now_mono_ms - k->came_ms < behind_ms(m) &&
           node_room_for(n, s) > 0;
}

bool said_is_old(const struct builder *m, const struct pod_shape *s)
{
    if (!s->said_nodes)
        return false;
    if (s->said_nodes < m->n_tried && m->in->now_mono_ms - s->said_ms < OLD_MS)
        return true;
    for (uint32_t i = 0; i < m->n_nodes && m->came_ms > s->said_ms; i++)
        if (is_news(m, s, &m->nodes[i]))
            return true;
    return false;
}

void scheduler_bound(struct pods_store *s, int64_t since_mono_ms,
                     int64_t now_mono_ms)
{
    int64_t from = s->bound_ms > since_mono_ms ? s->bound_ms : since_mono_ms;
    int64_t gap_ms = now_mono_ms - from;

    gap_ms = gap_ms < 0 ? 0 : gap_ms < PAUSE_MS ? gap_ms : PAUSE_MS;
    if (s->bound_ms)
        s->pace_us += (gap_ms * 1000 - s->pace_us) / 16;
    s->bound_ms = now_mono_ms;
}

bool node_is_untried(struct builder *m, const struct view_node *n,
                     uint32_t waiting)
{
    const struct knode *k = n->k;
    int64_t all = each_ms(m) * waiting;
    int64_t left = k->touched_ms + TRIED_MS + (all < OLD_MS ? all : OLD_MS) -
                   m->in->now_mono_ms;

    if (!k->ready || (n->passing && !k->up && k->n_lasting < k->taints.n) ||
        view_node_settles(m, k))
        return true;
    if (left > 0)
        builder_due(m, left);
    return left > 0;
}

void untried_count(struct builder *m, uint32_t waiting)
{
    for (uint32_t i = 0; i < m->n_nodes && waiting; i++) {
        const struct knode *k = m->nodes[i].k;

        m->n_tried += !node_is_untried(m, &m->nodes[i], waiting);
        m->came_ms = k->came_ms > m->came_ms ? k->came_ms : m->came_ms;
    }
}

void untried_begin(struct builder *m, uint32_t waiting)
{
    struct column c = {.name = arena_strdup(m->arena, UNTRIED_RESOURCE),
                       .fresh = AMOUNT_ONE};

    if (!waiting)
        return;
    VEC_PUSH(m->arena, &m->columns, c);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        int64_t has = node_is_untried(m, &m->nodes[i], waiting) ? AMOUNT_ONE
                                                                : 0;

        VEC_PUSH(m->arena, &m->nodes[i].more,
                 ((struct more){c.name, has, has}));
    }
}
