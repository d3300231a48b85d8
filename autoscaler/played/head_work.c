/*
 * head_work.c - work on the played head's nodes.
 *
 * Tasks of one shape stand in one line.  As long as some wait, no node has room
 * for another, so a new one only joins the line; when a node gets room, only
 * that node is looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "head_inside.h"

/* ---- shapes */

static bool same_accel(const struct work *a, const struct work *b)
{
    for (uint32_t i = 0; a->n_accel == b->n_accel && i < a->n_accel; i++)
        if (strcmp(a->accel[i], b->accel[i]) != 0)
            return false;
    return a->n_accel == b->n_accel;
}

static struct shape *shape_of(struct head *h, const struct work *w)
{
    for (uint32_t i = 0; i < h->shapes.n; i++) {
        const struct work *x = h->shapes.v[i].like;

        if (memcmp(x->need, w->need, sizeof w->need) == 0 && same_accel(x, w))
            return &h->shapes.v[i];
    }
    VEC_PUSH(NULL, &h->shapes, ((struct shape){.like = w}));
    return &h->shapes.v[h->shapes.n - 1];
}

static void line_join(struct shape *s, struct work *w)
{
    w->next = NULL;
    if (s->first)
        *s->last = w;
    else
        s->first = w;
    s->last = &w->next;
}

static bool fits(const struct node *n, const struct work *w)
{
    if (n->state != NODE_ALIVE || n->cordoned)
        return false;
    for (uint32_t i = 0; i < COLUMNS; i++)
        if (w->need[i] > n->free[i])
            return false;
    for (uint32_t i = 0; i < w->n_accel; i++)
        if (strcmp(w->accel[i], n->machine->accel) == 0)
            return true;
    return w->n_accel == 0;
}

/* ---- tasks */

static void tell(const struct task_run *t, enum head_moment m, bool agreed)
{
    const struct head *h = t->node->head;
    struct head_task x = {.work = t->work->number,
                          .machine = t->node->machine->id,
                          .submitted_ms = t->work->submitted_ms,
                          .began_ms = t->began_ms,
                          .agreed = agreed};

    if (h->told)
        h->told(h->arg, m, &x);
}

static void task_off(struct task_run *t)
{
    struct node *n = t->node;
    struct task_run **at = &n->tasks;

    if (t->leaves)
        player_cancel(t->leaves);
    t->leaves = NULL;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    for (uint32_t i = 0; i < COLUMNS; i++)
        n->free[i] += t->work->need[i];
    n->running--;
    n->head->running--;
    if (!n->running)
        n->idle_ms = player_now_ms(n->head->player);
}

static void task_done(void *arg)
{
    struct task_run *t = arg;
    struct node *n = t->node;

    task_off(t);
    tell(t, HEAD_DONE, false);
    free(t);
    head_changed(n->head);
    node_takes_work(n);
    node_idle_check(n);
}

/* One task that waited begins there. */
static void task_begin(struct node *n, struct work *w)
{
    struct head *h = n->head;
    struct task_run *t = MEM_NEW(struct task_run);

    *t = (struct task_run){.next = n->tasks,
                           .work = w,
                           .node = n,
                           .began_ms = player_now_ms(h->player)};
    n->tasks = t;
    for (uint32_t i = 0; i < COLUMNS; i++)
        n->free[i] -= w->need[i];
    n->running++;
    h->running++;
    h->waiting--;
    w->waiting--;
    t->end = player_after(h->player, w->runs_ms, task_done, t);
    tell(t, HEAD_BEGAN, false);
}

/* As many of the line as there is room for. */
static bool line_goes_on(struct node *n, struct shape *s)
{
    uint32_t began = 0;

    while (s->first && fits(n, s->like)) {
        struct work *w = s->first;

        task_begin(n, w);
        s->waiting--;
        began++;
        if (!w->waiting)
            s->first = w->next;
    }
    if (n->head->opts.round_ms)
        s->lined += s->waiting < began ? s->waiting : began;
    return began > 0;
}

/* ---- placement groups */

/* Nodes with accelerators are for who asks for them, the busy before the idle. */
static int rank(const struct node *n, const struct work *w)
{
    bool spare = *n->machine->accel && !w->n_accel;

    return (spare ? 2 : 0) + (n->running ? 0 : 1);
}

static struct node *node_for(struct head *h, const struct work *w)
{
    struct node *best = NULL;

    for (uint32_t i = 0; i < h->nodes.n; i++) {
        struct node *n = h->nodes.v[i];

        if (fits(n, w) && (!best || rank(n, w) < rank(best, w)))
            best = n;
    }
    return best;
}

static void amounts_move(struct node *n, const struct work *w, int sign)
{
    for (uint32_t i = 0; i < COLUMNS; i++)
        n->free[i] += sign * w->need[i];
}

/* All of a group, or none of it. */
static bool group_begins(struct head *h, struct work *w)
{
    struct node **at = MEM_ARRAY(struct node *, w->tasks);
    uint32_t n = 0;

    while (n < w->tasks && (at[n] = node_for(h, w)))
        amounts_move(at[n++], w, -1);
    for (uint32_t i = 0; i < n; i++)
        amounts_move(at[i], w, 1);
    for (uint32_t i = 0; n == w->tasks && i < n; i++)
        task_begin(at[i], w);
    free(at);
    return n == w->tasks;
}

static bool groups_go_on(struct head *h)
{
    uint32_t kept = 0;
    bool any = false;

    for (uint32_t i = 0; i < h->groups.n; i++) {
        struct work *w = h->groups.v[i];

        if (group_begins(h, w))
            any = true;
        else
            h->groups.v[kept++] = w;
    }
    h->groups.n = kept;
    return any;
}

/* ---- what happens */

void node_takes_work(struct node *n)
{
    struct head *h = n->head;
    bool any = groups_go_on(h);

    for (uint32_t i = 0; i < h->shapes.n; i++)
        any = line_goes_on(n, &h->shapes.v[i]) || any;
    if (any)
        head_changed(h);
}

/* A task that lost its node waits again, at the line's end. */
static void task_again(struct head *h, struct work *w)
{
    struct shape *s;

    h->waiting++;
    if (w->together) { /* the others of it go on */
        struct work *one = MEM_NEW(struct work);

        *one = *w;
        one->together = false;
        one->waiting = one->tasks = 1;
        VEC_PUSH(NULL, &h->works, one);
        w = one;
    } else {
        w->waiting++;
    }
    s = shape_of(h, w);
    s->waiting++;
    if (w->waiting == 1)
        line_join(s, w);
}

static void task_drop(struct task_run *t, bool agreed)
{
    struct head *h = t->node->head;

    player_cancel(t->end);
    task_off(t);
    h->dropped++;
    tell(t, t->work->once ? HEAD_LOST : HEAD_AGAIN, agreed);
    if (!t->work->once)
        task_again(h, t->work);
    free(t);
}

void node_drops_work(struct node *n, bool agreed)
{
    while (n->tasks)
        task_drop(n->tasks, agreed);
}

/* Its controller makes another, which finds room elsewhere, if there is any. */
static void task_left(void *arg)
{
    struct task_run *t = arg;
    struct head *h = t->node->head;

    t->leaves = NULL;
    task_drop(t, true);
    for (uint32_t i = 0; i < h->nodes.n; i++)
        node_takes_work(h->nodes.v[i]);
    head_changed(h);
}

void task_evict(struct task_run *t, int64_t grace_ms)
{
    t->leaves = player_after(t->node->head->player, grace_ms, task_left, t);
}

static struct work *work_new(struct head *h, const struct head_work *in)
{
    struct work *w = MEM_NEW(struct work);

    *w = (struct work){.number = ++h->works_ever,
                       .tasks = in->tasks,
                       .waiting = in->tasks,
                       .together = in->together,
                       .once = in->once,
                       .runs_ms = in->runs_ms,
                       .submitted_ms = player_now_ms(h->player)};
    head_amounts(h, in->need, w->need);
    w->n_accel = in->accel.n;
    w->accel = ARENA_ARRAY(&h->arena, const char *, in->accel.n);
    for (uint32_t i = 0; i < in->accel.n; i++)
        w->accel[i] = arena_strdup(&h->arena, in->accel.v[i]);
    VEC_PUSH(NULL, &h->works, w);
    return w;
}

uint64_t head_submit(struct head *h, const struct head_work *in)
{
    struct work *w = work_new(h, in);
    uint64_t number = w->number;
    struct shape *s;
    struct node *n;

    h->waiting += w->tasks;
    if (w->together) {
        VEC_PUSH(NULL, &h->groups, w);
        groups_go_on(h);
        head_changed(h);
        return number;
    }
    s = shape_of(h, w);
    if (!s->first)
        while (w->waiting && (n = node_for(h, w)))
            task_begin(n, w);
    s->waiting += w->waiting;
    if (w->waiting)
        line_join(s, w);
    head_changed(h);
    return number;
}

static void line_rejoin(struct shape *s)
{
    struct work *w = s->first, *next;

    s->first = NULL;
    s->waiting = 0;
    for (; w; w = next) {
        next = w->next;
        if (!w->waiting)
            continue;
        line_join(s, w);
        s->waiting += w->waiting;
    }
}

void head_leave(struct head *h)
{
    for (uint32_t i = 0; i < h->works.n; i++)
        h->works.v[i]->waiting = 0;
    h->waiting = h->groups.n = 0;
    for (uint32_t i = 0; i < h->shapes.n; i++)
        line_rejoin(&h->shapes.v[i]);
    head_changed(h);
}

void head_forget_work(struct head *h)
{
    for (uint32_t i = 0; i < h->works.n; i++) {
        struct work *w = h->works.v[i];

        w->once = true; /* what runs is not put back in line */
        w->waiting = 0;
    }
    for (uint32_t i = 0; i < h->shapes.n; i++)
        line_rejoin(&h->shapes.v[i]);
    h->groups.n = 0;
    h->waiting = 0;
}

void head_work_free(struct head *h)
{
    for (uint32_t i = 0; i < h->nodes.n; i++)
        for (struct task_run *t = h->nodes.v[i]->tasks, *next; t; t = next) {
            next = t->next;
            free(t);
        }
    for (uint32_t i = 0; i < h->works.n; i++)
        free(h->works.v[i]);
    free(h->works.v);
    free(h->groups.v);
    free(h->shapes.v);
}
