/*
 * head.c - see head.h: machines and their nodes.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "head_inside.h"

struct head *head_new(struct player *p, const struct head_opts *o)
{
    struct head *h = MEM_NEW(struct head);

    h->player = p;
    h->opts = *o;
    h->version = h->session = 1;
    return h;
}

void head_free(struct head *h)
{
    head_work_free(h);
    for (uint32_t i = 0; i < h->nodes.n; i++)
        free(h->nodes.v[i]);
    for (uint32_t i = 0; i < h->past.n; i++)
        free(h->past.v[i]);
    for (uint32_t i = 0; i < h->machines.n; i++)
        free(h->machines.v[i]);
    free(h->nodes.v);
    free(h->past.v);
    free(h->machines.v);
    free(h->readers.v);
    hash_done(&h->by_id);
    source_view_unref(h->last);
    arena_done(&h->arena);
    free(h);
}

void head_watch(struct head *h,
                void (*f)(void *arg, enum head_moment m,
                          const struct head_task *t),
                void *arg)
{
    h->told = f;
    h->arg = arg;
}

void head_changed(struct head *h)
{
    h->version++;
    for (uint32_t i = 0; i < h->readers.n; i++)
        player_wake(&h->readers.v[i]->wait);
}

/* ---- amounts */

static uint32_t column(struct head *h, const char *name)
{
    for (uint32_t i = 0; i < h->n_columns; i++)
        if (strcmp(h->columns[i], name) == 0)
            return i;
    assert(h->n_columns < COLUMNS);
    h->columns[h->n_columns] = arena_strdup(&h->arena, name);
    return h->n_columns++;
}

void head_amounts(struct head *h, struct qtys q, int64_t *ret)
{
    memset(ret, 0, COLUMNS * sizeof *ret);
    for (uint32_t i = 0; i < q.n; i++)
        ret[column(h, q.v[i].name)] += q.v[i].amount;
}

/* ---- nodes */

struct node *node_named(const struct head *h, const char *id)
{
    for (uint32_t i = h->nodes.n; i-- > 0;)
        if (strcmp(h->nodes.v[i]->id, id) == 0)
            return h->nodes.v[i];
    return NULL;
}

void node_end(struct node *n, bool agreed)
{
    if (n->state == NODE_DEAD)
        return;
    if (n->end)
        player_cancel(n->end);
    if (n->young)
        player_cancel(n->young);
    n->end = n->young = NULL;
    n->state = NODE_DEAD;
    n->dead_ms = player_now_ms(n->head->player);
    n->killed = n->running > 0 && agreed;
    node_drops_work(n, agreed);
    head_changed(n->head);
}

static void drained(void *arg)
{
    struct node *n = arg;

    n->end = NULL;
    node_end(n, true);
}

static void dies_young(void *arg)
{
    struct node *n = arg;

    n->young = NULL;
    n->head->faults++;
    node_end(n, false);
}

void node_idle_check(struct node *n)
{
    if (n->state != NODE_DRAINING || n->running || n->head->opts.kube)
        return;
    if (n->end)
        player_cancel(n->end);
    n->end = player_after(n->head->player, RAYLET_ENDS_MS, drained, n);
}

/* ---- machines */

static struct joined *machine_find(const struct head *h, const char *id)
{
    uint64_t key = hash_text(HASH_SEED, id);
    struct joined *m;

    for (uint32_t at = 0; (m = hash_next(&h->by_id, key, &at));)
        if (strcmp(m->id, id) == 0)
            return m;
    return NULL;
}

static void join_later(struct joined *m);

static void node_joins(void *arg)
{
    struct joined *m = arg;
    struct head *h = m->head;
    struct node *n;

    m->join = NULL;
    if (h->trouble == HEAD_OTHER) {
        join_later(m); /* that one does not let it in */
        return;
    }
    n = MEM_NEW(struct node);
    *n = (struct node){.head = h, .machine = m};
    ++h->nodes_ever;
    if (h->opts.kube)
        snprintf(n->id, sizeof n->id, "node-%.50s", m->id);
    else
        snprintf(n->id, sizeof n->id, "%056llx",
                 (unsigned long long)h->nodes_ever);
    memcpy(n->total, m->has, sizeof n->total);
    memcpy(n->free, m->has, sizeof n->free);
    n->joined_ms = n->idle_ms = player_now_ms(h->player);
    m->node = n;
    VEC_PUSH(NULL, &h->nodes, n);
    if (m->dies_ms)
        n->young = player_after(h->player, m->dies_ms, dies_young, n);
    head_changed(h);
    node_takes_work(n);
}

static void join_later(struct joined *m)
{
    const struct head_opts *o = &m->head->opts;
    int64_t span = o->join_most_ms - o->join_least_ms;

    m->join = player_after(
        m->head->player,
        o->join_least_ms + player_chance(m->head->player, (uint32_t)span + 1),
        node_joins, m);
}

void head_machine_up(struct head *h, const struct head_machine *in)
{
    struct joined *m = machine_find(h, in->id);

    if (!m) {
        m = MEM_NEW(struct joined);
        snprintf(m->id, sizeof m->id, "%s", in->id);
        VEC_PUSH(NULL, &h->machines, m);
        hash_add(&h->by_id, hash_text(HASH_SEED, m->id), m);
    }
    head_machine_down(h, in->id);
    if (m->named)
        player_cancel(m->named);
    m->named = NULL; /* it is another machine */
    m->head = h;
    m->up = true;
    m->dies_ms = in->dies_ms;
    snprintf(m->type, sizeof m->type, "%s", in->type);
    snprintf(m->accel, sizeof m->accel, "%s", in->accel);
    head_amounts(h, in->has, m->has);
    join_later(m);
}

void head_machine_down(struct head *h, const char *id)
{
    struct joined *m = machine_find(h, id);

    if (!m)
        return;
    m->up = false;
    if (m->join)
        player_cancel(m->join);
    m->join = NULL;
    if (m->node)
        node_end(m->node, false);
}

void head_node_dies(struct head *h, const char *machine)
{
    struct joined *m = machine_find(h, machine);

    if (m && m->up && m->node)
        node_end(m->node, false);
}

void head_node_restart(struct head *h, const char *machine)
{
    struct joined *m = machine_find(h, machine);

    if (!m || !m->up || !m->node || m->join)
        return;
    node_end(m->node, false);
    join_later(m);
}

void node_undrain(void *node)
{
    struct node *n = node;

    if (n->state != NODE_DRAINING)
        return;
    if (n->end)
        player_cancel(n->end);
    n->end = NULL;
    n->state = NODE_ALIVE;
    n->agreed_ms = n->deadline_ms = 0;
    n->undrained_ms = n->head->opts.kube ? player_now_ms(n->head->player) : 0;
    n->head->faults++;
    node_takes_work(n);
    head_changed(n->head);
}

void head_forget_drains(struct head *h, int64_t ms)
{
    h->forgets_ms = player_now_ms(h->player) + ms;
    for (uint32_t i = 0; i < h->nodes.n; i++)
        node_undrain(h->nodes.v[i]);
}

static void names_right(void *arg)
{
    struct joined *m = arg;

    m->named = NULL;
    head_changed(m->head);
}

void head_names(struct head *h, const char *machine, enum head_names how,
                int64_t ms)
{
    struct joined *m = machine_find(h, machine);

    if (!m || m->named || !m->node || !m->node->shown_ms)
        return; /* of what was never shown nobody can know */
    m->names = how;
    m->named_ms = player_now_ms(h->player);
    m->named = player_after(h->player, ms, names_right, m);
    h->faults++;
    head_changed(h);
}

void head_names_right(struct head *h)
{
    for (uint32_t i = 0; i < h->machines.n; i++)
        if (h->machines.v[i]->named) {
            player_cancel(h->machines.v[i]->named);
            names_right(h->machines.v[i]);
        }
}

const char *head_address(const char *machine, char ret[HEAD_ADDRESS_MAX])
{
    snprintf(ret, HEAD_ADDRESS_MAX, "ip-%s", machine);
    return ret;
}

bool head_is_addressed(const struct head *h)
{
    return h->opts.addressed;
}

/* A node that nobody remembers died nowhere: it is in no view. */
static void nodes_forget(struct head *h)
{
    for (uint32_t i = 0; i < h->nodes.n; i++) {
        struct node *n = h->nodes.v[i];

        node_end(n, false);
        n->machine->node = NULL;
        VEC_PUSH(NULL, &h->past, n);
    }
    h->nodes.n = 0;
}

void head_restart(struct head *h)
{
    if (h->opts.kube) { /* what it knew is in etcd */
        h->faults++;
        head_changed(h);
        return;
    }
    head_forget_work(h);
    nodes_forget(h);
    h->session++;
    for (uint32_t i = 0; i < h->machines.n; i++)
        if (h->machines.v[i]->up && !h->machines.v[i]->join)
            join_later(h->machines.v[i]);
    head_changed(h);
}

/* ---- what is true there */

/* Of OTHER: none of ours is a node of it. */
static int64_t hidden_since(const struct head *h, const struct joined *m)
{
    if (m->named && m->names != NAMES_TWICE)
        return m->named_ms;
    return h->trouble == HEAD_OTHER ? h->trouble_ms : 0;
}

bool head_node_of(const struct head *h, const char *machine,
                  struct head_node *ret)
{
    const struct joined *m = machine_find(h, machine);
    const struct node *n = m ? m->node : NULL;

    if (!n)
        return false;
    *ret = (struct head_node){.alive = n->state != NODE_DEAD,
                              .running = n->running,
                              .agreed_ms = n->agreed_ms,
                              .work_killed = n->killed,
                              .joined_ms = n->joined_ms,
                              .shown_ms = n->shown_ms,
                              .dead_ms = n->dead_ms,
                              .idle_ms = n->running ? -1 : n->idle_ms,
                              .deadline_ms = n->deadline_ms,
                              .undrained_ms = n->undrained_ms,
                              .hidden_ms = hidden_since(h, m)};
    return true;
}

uint32_t head_waiting(const struct head *h)
{
    return h->waiting;
}

uint32_t head_running(const struct head *h)
{
    return h->running;
}

uint32_t head_dropped(const struct head *h)
{
    return h->dropped;
}

uint64_t head_faults(const struct head *h)
{
    return h->faults;
}

void head_trouble(struct head *h, enum head_trouble t)
{
    if (h->trouble != t)
        h->trouble_ms = player_now_ms(h->player);
    h->trouble = t;
    if (head_answers(h) || t == HEAD_OTHER) /* somebody answers, well */
        h->silent_ms = 0;
    else if (!h->silent_ms)
        h->silent_ms = player_now_ms(h->player);
    if (t != HEAD_SILENT)
        head_changed(h);
}

bool head_answers(const struct head *h)
{
    return h->trouble == HEAD_WELL;
}

int64_t head_silent_ms(const struct head *h)
{
    return h->silent_ms;
}

int64_t head_mute_ms(const struct head *h)
{
    int64_t since = h->silent_ms;

    if (since && h->trouble == HEAD_STALE && h->opts.kube)
        since += BOOKMARK_MS;
    return since <= player_now_ms(h->player) ? since : 0;
}

void head_lossy(struct head *h, uint32_t of_1000)
{
    if (h->lossy)
        h->lossy_ms = player_now_ms(h->player);
    h->lossy = of_1000;
}

int64_t head_lossy_ms(const struct head *h)
{
    return h->lossy ? player_now_ms(h->player) : h->lossy_ms;
}

void head_late(struct head *h, int64_t views_ms, int64_t drains_ms)
{
    h->late_views_ms = views_ms;
    h->late_drains_ms = drains_ms;
}

void head_deaf(struct head *h, bool deaf)
{
    h->deaf = deaf;
}

void head_patient(struct head *h, bool patient)
{
    h->patient = patient;
}
