/*
 * tasks.c - a thread for what takes long.
 *
 * Planning a large snapshot takes a while, and so does reading a large body:
 * the threads that serve HTTP go on.  A task owns what it works on.
 *
 * Callers take turns, and so do the accounts of one caller (the ServiceAccounts of a
 * namespace).  When all places are taken, who has the most gives his newest up to one
 * who has less: nobody is refused for what others ask.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/alloc.h"
#include "../base/thread.h"
#include "inside.h"

struct tasks {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct task *first; /* as they came */
    uint32_t n, per_caller;
    uint64_t turn; /* of what is run */
    bool stop;
};

static bool same_group(const struct task *a, const struct task *b)
{
    return strcmp(a->group, b->group) == 0;
}

static bool same_caller(const struct task *a, const struct task *b)
{
    return same_group(a, b) && strcmp(a->account, b->account) == 0;
}

typedef bool same_fn(const struct task *, const struct task *);

static uint32_t count(const struct tasks *t, const struct task *j,
                      same_fn *same)
{
    uint32_t n = 0;

    for (const struct task *k = t->first; k; k = k->next)
        n += same(k, j);
    return n;
}

static void take_out(struct tasks *t, struct task *j)
{
    struct task **at = &t->first;

    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    t->n--;
}

/* ---- whose turn it is */

/* Behind his own that wait, and beside those of others. */
static uint64_t turn_of(const struct tasks *t, const struct task *j,
                        same_fn *same, bool account)
{
    uint64_t turn = t->turn;

    for (const struct task *k = t->first; k; k = k->next) {
        uint64_t his = account ? k->account_turn : k->turn;

        if (same(k, j) && his >= turn)
            turn = his + 1;
    }
    return turn;
}

/* The group whose turn it is, and within it the account. */
static struct task *next_task(struct tasks *t)
{
    struct task *best = t->first, *his;
    uint64_t turn;

    for (struct task *k = t->first; k; k = k->next)
        if (k->turn < best->turn)
            best = k;
    his = best;
    for (struct task *k = t->first; k; k = k->next)
        if (same_group(k, best) && k->account_turn < his->account_turn)
            his = k;
    turn = best->turn;
    best->turn = his->turn; /* its place in the row is that of his group */
    t->turn = turn > t->turn ? turn : t->turn;
    take_out(t, his);
    return his;
}

static void run(struct tasks *t, struct task *j)
{
    struct pending *p = j->pending;
    bool ours = true;

    if (!t->stop && pending_waits(p)) {
        pthread_mutex_unlock(&t->lock);
        ours = j->run(j);
        pthread_mutex_lock(&t->lock);
    }
    if (ours)
        pending_done(p);
}

static void *thread_main(void *arg)
{
    struct tasks *t = arg;

    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!t->first && !t->stop)
            pthread_cond_wait(&t->wake, &t->lock); /* one waits */
        if (!t->first)
            break;
        run(t, next_task(t));
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct tasks *tasks_new(uint32_t per_caller)
{
    struct tasks *t = MEM_NEW(struct tasks);

    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->per_caller = per_caller;
    if (pthread_create(&t->thread, NULL, thread_main, t) != 0)
        abort();
    return t;
}

/* What waits for it was ended before; what is queued is dropped. */
void tasks_free(struct tasks *t)
{
    if (!t)
        return;
    thread_stop(t->thread, &t->lock, &t->wake, &t->stop);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- who may wait */

/* The newest of who has the most, and more than j's with one more, or is a stranger
 * where j is none; NULL: none. */
static struct task *greediest(const struct tasks *t, const struct task *j)
{
    uint32_t groups = count(t, j, same_group) + 1;
    uint32_t accounts = count(t, j, same_caller) + 1, most = 0, best = 0;
    struct task *ret = NULL;

    for (struct task *k = t->first; k; k = k->next) {
        uint32_t group = count(t, k, same_group);
        uint32_t account = count(t, k, same_caller);
        bool before = k->stranger && !j->stranger;

        if (!before &&
            (same_group(k, j) ? account <= accounts : group <= groups))
            continue;
        if (group < most || (group == most && account < best))
            continue;
        most = group;
        best = account;
        ret = k;
    }
    return ret;
}

static uint32_t strangers(const struct tasks *t)
{
    uint32_t n = 0;

    for (const struct task *k = t->first; k; k = k->next)
        n += k->stranger;
    return n;
}

static bool is_full(struct tasks *t, const struct task *j)
{
    bool full;

    pthread_mutex_lock(&t->lock);
    full = count(t, j, same_caller) >= t->per_caller ||
           (j->stranger && strangers(t) >= TASKS_STRANGERS) ||
           (t->n >= TASKS_MAX && !greediest(t, j));
    pthread_mutex_unlock(&t->lock);
    return full;
}

static void enqueue(struct pending *p, void *arg)
{
    struct tasks *t = arg;
    struct task *j = p->task, *gone = NULL, **at = &t->first;

    pthread_mutex_lock(&t->lock);
    if (t->n >= TASKS_MAX && (gone = greediest(t, j)))
        take_out(t, gone);
    j->turn = turn_of(t, j, same_group, false);
    j->account_turn = turn_of(t, j, same_caller, true);
    while (*at)
        at = &(*at)->next;
    *at = j;
    t->n++;
    pthread_cond_signal(&t->wake);
    if (gone)
        pending_displace(gone->pending);
    pthread_mutex_unlock(&t->lock);
}

bool tasks_send(struct tasks *t, struct exchange *ex, struct task *j,
                enum command_kind kind, route_fn *answer)
{
    struct pending *p;

    if (!*j->group) {
        caller_share(&ex->caller, j->group, sizeof j->group);
        caller_account(&ex->caller, j->account, sizeof j->account);
    }
    if (is_full(t, j)) {
        exchange_error(
            ex, 429, "THROTTLED", "",
            "%d plans, large requests or callers that are not known "
            "yet wait already, or as many of yours as may; try again",
            TASKS_MAX);
        j->free(j);
        return false;
    }
    j->pending = p = pending_new(ex->server->pending, kind);
    p->task = j;
    ex->answer = answer;
    if (pending_send(p, ex, enqueue, t))
        return true;
    pending_unref(p);
    exchange_error(ex, 503, "RETRY", "",
                   "too many requests wait, or the daemon is stopping");
    return false;
}
