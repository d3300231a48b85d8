/*
 * crew.c - played workers: a pool without threads.
 *
 * A job's answer is an event.  As in a real pool (base/worker.c) so many run at
 * once, the others stand in line, and one past its deadline is abandoned and
 * gives its place away.
 */
#include <stdlib.h>

#include "../base/alloc.h"
#include "inside.h"

struct task { /* a job on its way */
    struct task *next;
    struct crew *crew;
    struct job *job;
    struct due *event;        /* NULL: it stands in line */
    struct player_wait *wait; /* may be answered sooner */
    int64_t takes_ms;         /* -1: to be drawn */
    bool done;                /* its job has run */
    bool orphan;              /* abandoned */
};

struct crew {
    struct workers workers; /* first */
    struct player *player;
    struct mailbox *answers;
    struct task *tasks, **last; /* oldest first */
    unsigned threads, running;  /* running: without orphans */
    unsigned orphans, max_stuck;
};

enum { BUSY_MS = 60000 };

static void task_begin(struct task *t);

static struct due *after(struct player *p, int64_t ms,
                         void (*happens)(void *arg), struct task *t)
{
    struct due *e = player_after(p, ms, happens, t);

    e->computer = true;
    return e;
}

static void task_unlink(struct task *t)
{
    struct crew *crew = t->crew;
    struct task **at = &crew->tasks;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (crew->last == &t->next)
        crew->last = at;
    if (t->wait)
        t->wait->task = NULL;
}

/* Those that stand in line begin as long as there are threads. */
static void crew_go_on(struct crew *crew)
{
    for (struct task *t = crew->tasks; t && crew->running < crew->threads;
         t = t->next)
        if (!t->event)
            task_begin(t);
}

static void task_answer(void *arg)
{
    struct task *t = arg;
    struct crew *crew = t->crew;

    task_unlink(t);
    if (t->orphan)
        crew->orphans--;
    else
        crew->running--;
    t->job->abandoned = t->orphan;
    mailbox_post(crew->answers, &t->job->mail);
    free(t);
    crew_go_on(crew);
}

/* Most are quick; one in fifty takes its time, more where much goes on. */
static int64_t time_draw(struct player *p)
{
    if (p->busy && player_chance(p, 1000) < p->busy)
        return 1 + player_chance(p, BUSY_MS);
    return 1 + player_chance(p, player_chance(p, 50) ? 200 : 20000);
}

static int64_t time_of(struct player *p, const struct job *job)
{
    if (job->brief && !p->busy)
        return 0;
    return time_draw(p);
}

static void task_run(void *arg)
{
    struct task *t = arg, *before;
    struct player *p = t->crew->player;

    before = p->running;
    p->running = t;
    t->takes_ms = -1;
    t->job->run(t->job);
    t->done = true;
    p->running = before;
    if (t->takes_ms < 0)
        t->takes_ms = time_of(p, t->job);
    t->event = after(p, t->takes_ms, task_answer, t);
}

static void task_begin(struct task *t)
{
    struct player *p = t->crew->player;

    t->crew->running++;
    if (t->job->brief || player_chance(p, 2))
        task_run(t); /* a thread may be that quick */
    else
        t->event = after(p, player_chance(p, 20), task_run, t);
}

static void crew_submit(struct workers *w, struct job *job)
{
    struct crew *crew = (struct crew *)w;
    struct task *t = MEM_NEW(struct task);

    t->crew = crew;
    t->job = job;
    *crew->last = t;
    crew->last = &t->next;
    crew_go_on(crew);
}

/* Who is answered within that time is waited for: what it did counts. */
static bool crew_free(struct workers *w, int64_t wait_ms)
{
    struct crew *crew = (struct crew *)w;
    int64_t until = crew->player->now_ms + wait_ms;

    while (crew->tasks) {
        struct task *t = crew->tasks;

        if (t->event)
            player_cancel(t->event);
        t->job->abandoned = t->orphan || !t->done || t->event->at_ms > until;
        task_unlink(t);
        mailbox_post(crew->answers, &t->job->mail);
        free(t);
    }
    free(crew);
    return true;
}

static unsigned crew_check(struct workers *w, int64_t mono_ms)
{
    struct crew *crew = (struct crew *)w;
    unsigned stuck = 0;

    for (struct task *t = crew->tasks; t; t = t->next) {
        if (!t->event || !t->job->deadline_mono_ms ||
            mono_ms < t->job->deadline_mono_ms)
            continue;
        stuck++;
        if (t->orphan || crew->orphans == crew->max_stuck)
            continue;
        t->orphan = true;
        crew->orphans++;
        crew->running--;
    }
    crew_go_on(crew);
    return stuck;
}

struct workers *player_workers(void *player, unsigned n_threads,
                               unsigned max_stuck, struct mailbox *answers)
{
    static const struct workers_ops ops = {crew_free, crew_submit, crew_check};
    struct crew *crew = MEM_NEW(struct crew);

    *crew = (struct crew){.workers = {&ops},
                          .player = player,
                          .answers = answers,
                          .threads = n_threads,
                          .max_stuck = max_stuck};
    crew->last = &crew->tasks;
    return &crew->workers;
}

void player_takes(struct player *p, int64_t ms)
{
    if (p->running)
        p->running->takes_ms = ms;
}

void player_takes_more(struct player *p, int64_t ms)
{
    int64_t before = p->running->takes_ms;

    p->running->takes_ms = (before > 0 ? before : 0) + ms;
}

bool player_is_late(const struct player *p)
{
    return p->running && p->running->takes_ms >= 0;
}

void player_wait(struct player *p, struct player_wait *w, int64_t most_ms)
{
    if (!p->running)
        return;
    player_wake(w);
    p->running->takes_ms = most_ms;
    p->running->wait = w;
    w->task = p->running;
}

void player_wake(struct player_wait *w)
{
    struct task *t = w->task;

    if (!t)
        return;
    w->task = NULL;
    t->wait = NULL;
    if (t->done) {
        player_cancel(t->event);
        t->event = after(t->crew->player, 1, task_run, t);
    }
}
