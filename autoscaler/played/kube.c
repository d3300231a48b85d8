/*
 * kube.c - the played head as an API server: what Kubernetes does otherwise than Ray
 * (wire/source.h, kit/kube_drain.h).
 *
 * What the daemon learns is a view, as its reading of the watches makes one: pods and
 * nodes as objects, and their watches, are played by no one (tests/k8s has the real
 * ones).
 */
#include <stdio.h>

#include "../base/clock.h"
#include "../base/hash.h"
#include "head_inside.h"

enum {
    SETTLE_MS = 1000, /* what the scheduler was about to bind is there then */
    GRACE_MOST_MS = 40000, /* of a pod */
    BUDGET = 5,            /* one of so many evictions is refused for now */
    BARE = 7, /* work whose number this divides has no controller */
    FOR_GOOD_MS = 315360000, /* * 1000: no deadline kills a pod */
};

bool kube_shows(const struct node *n)
{
    return !n->deleted && n->machine->node == n;
}

static bool is_bare(const struct task_run *t)
{
    return t->work->once || t->work->number % BARE == 0;
}

/* What is against a drain as long as it runs; NULL: nothing is. */
static const char *against(const struct node *n, const struct source_drain *d)
{
    for (const struct task_run *t = n->tasks; t; t = t->next)
        if (is_bare(t) && !d->move_bare)
            return "a pod there has no controller";
    return NULL;
}

static void taint(struct node *n)
{
    struct head *h = n->head;

    n->state = NODE_DRAINING;
    n->agreed_ms = player_now_ms(h->player);
    n->deadline_ms = n->agreed_ms + FOR_GOOD_MS * INT64_C(1000);
    if (n->agreed_ms < h->forgets_ms)
        player_after(h->player, FORGETS_MS, node_undrain, n);
    head_changed(h);
}

static void evict(struct node *n, struct source_drain *d)
{
    for (struct task_run *t = n->tasks; t; t = t->next) {
        int64_t grace = player_chance(n->head->player, GRACE_MOST_MS);

        if (is_bare(t) && !d->move_bare)
            continue;
        if (d->most_grace_ms && grace > d->most_grace_ms)
            grace = d->most_grace_ms;
        if (!t->leaves && player_chance(n->head->player, BUDGET))
            task_evict(t, grace);
        d->moved = d->moved || t->leaves;
    }
}

static void refuse(struct source_drain *d, const char *why)
{
    d->got = SOURCE_DRAIN_REFUSED;
    snprintf(d->why, sizeof d->why, "%s", why);
}

/* The other cluster has a node of every second name, on which nothing runs. */
static bool other_answers(const struct node *n, struct source_drain *d)
{
    if (n->head->trouble != HEAD_OTHER)
        return false;
    if (hash_name(n->id) % 2)
        return true;
    d->got = *d->uid ? SOURCE_DRAIN_WAITS : SOURCE_DRAIN_DONE;
    snprintf(d->why, sizeof d->why, "another node has its name");
    return true;
}

/* One step, as kube_drain_step() makes it. */
static void step(struct head *h, struct source_drain *d)
{
    struct node *n = node_named(h, d->node_id);
    const char *why;
    int64_t since;

    d->got = SOURCE_DRAIN_ABSENT;
    if (!n || n->deleted || other_answers(n, d))
        return;
    d->got = SOURCE_DRAIN_DONE;
    if (n->state == NODE_DEAD)
        return;
    if (d->idle && n->running) {
        refuse(d, "a pod has come since");
        return;
    }
    why = against(n, d);
    if (why && !d->preempt) {
        refuse(d, why);
        return;
    }
    if (n->state == NODE_ALIVE)
        taint(n);
    evict(n, d);
    since = player_now_ms(h->player) - n->agreed_ms;
    if (!n->running && since >= SETTLE_MS)
        return;
    if (n->running && d->limit_ms && since > d->limit_ms) {
        refuse(d, why ? why : "its pods do not go");
        return;
    }
    d->got = SOURCE_DRAIN_WAITS;
    snprintf(d->why, sizeof d->why, "%u pods are there", n->running);
}

static bool is_lost(struct head *h, bool *ret_done)
{
    uint32_t bad = player_chance(h->player, 1000);

    *ret_done = !h->deaf && (bad >= h->lossy || bad % 2);
    return h->deaf || bad < h->lossy;
}

static enum status kube_drain(void *handle, struct source_drain *d,
                              int64_t deadline_mono_ms, struct err *err)
{
    struct head *h = ((struct reader *)handle)->head;
    bool done, lost;

    if (in_trouble(h, deadline_mono_ms, err))
        return ST_RETRY;
    lost = is_lost(h, &done);
    if (done)
        step(h, d);
    if (!lost)
        return ST_OK;
    h->faults++;
    d->got = SOURCE_DRAIN_REFUSED;
    d->moved = false;
    return err_set(err, ST_RETRY, "the answer was lost");
}

static enum status kube_undrain(void *handle, const char *node_id,
                                int64_t deadline_mono_ms, struct err *err)
{
    struct head *h = ((struct reader *)handle)->head;
    struct node *n = node_named(h, node_id);

    if (in_trouble(h, deadline_mono_ms, err))
        return ST_RETRY;
    if (!n || n->state != NODE_DRAINING || h->trouble == HEAD_OTHER)
        return ST_OK;
    node_undrain(n);
    return ST_OK;
}

static enum status kube_cordon(void *handle, const char *node_id, bool on,
                               int64_t deadline_mono_ms, struct err *err)
{
    struct head *h = ((struct reader *)handle)->head;
    struct node *n = node_named(h, node_id);

    if (in_trouble(h, deadline_mono_ms, err))
        return ST_RETRY;
    if (!n || h->trouble == HEAD_OTHER)
        return ST_OK;
    n->cordoned = on;
    if (!on)
        node_takes_work(n);
    head_changed(h);
    return ST_OK;
}

/* A kubelet that was heard of within the last minute is no machine's that has gone. */
static enum status kube_forget(void *handle, const char *node_id,
                               const char *instance_id,
                               int64_t deadline_mono_ms, struct err *err)
{
    struct head *h = ((struct reader *)handle)->head;
    struct node *n = node_named(h, node_id);

    (void)instance_id;
    if (in_trouble(h, deadline_mono_ms, err))
        return ST_RETRY;
    if (!n || h->trouble == HEAD_OTHER)
        return ST_OK;
    if (n->state != NODE_DEAD)
        return err_set(err, ST_RETRY, "its kubelet lives");
    n->deleted = true;
    head_changed(h);
    return ST_OK;
}

const struct source_ops kube_like = {
    .kind = "kubernetes",
    .waits = true,
    .by_address = true,
    .drains_in_steps = true,
    .writers = SOURCE_WRITERS,
    .read = head_read,
    .drain = kube_drain,
    .undrain = kube_undrain,
    .cordon = kube_cordon,
    .forget = kube_forget,
    .free = handle_free,
};
