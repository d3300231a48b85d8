/*
 * certificate.c - see certificate.h.
 */
#include "certificate.h"

#include "../../plan/planner.h"
#include "look.h"

/* What has been at rest for so long gets so many milliseconds; a quarter of them is
 * for the bound of the fleet. */
static const struct {
    int64_t rest_ms;
    uint64_t budget_ms;
} looks[] = {{2000, 2000}, {30000, 8000}};
enum { LOOKS = sizeof looks / sizeof *looks };
/* After a look there is no other for so many times what it took. */
enum { PAUSE_TIMES = 50 };
enum { STOP_MS = 200 }; /* until a thread without a look has ended */
/* A bound within one part in so many of the cost is enough. */
#define ENOUGH 200

/* ---- what a page tells */

static bool at_rest(const struct plan *p)
{
    return p->n_launches == 0 && p->n_ended == 0;
}

static bool near_enough(const struct plan *p)
{
    int64_t used = plan_fleet_used(p);

    return used - p->fleet_bound_micros_hour <= used / ENOUGH;
}

/* Does the other one, of the same problem, prove more of the same fleet? */
static bool proves_more(const struct plan *other, const struct plan *p)
{
    return at_rest(other) &&
           other->fleet_cost_micros_hour == p->fleet_cost_micros_hour &&
           other->fleet_paid_micros_hour == p->fleet_paid_micros_hour &&
           other->n_placements == p->n_placements &&
           other->fleet_bound_micros_hour > p->fleet_bound_micros_hour;
}

/* Is it the last page's problem still? */
static void problem_see(struct certificate *k, const struct status_page *page)
{
    struct arena scratch = {0};
    uint64_t hash = problem_hash(page->now, &scratch);

    arena_done(&scratch);
    if (k->since_ms && hash == k->hash)
        return;
    k->hash = hash;
    k->since_ms = k->env->mono_ms;
    k->looked = 0;
}

void certificate_show(struct certificate *k, struct status_page *page)
{
    struct plan *shown;

    k->wanted = false;
    if (k->env->outside->pages_unread || !at_rest(page->plan) ||
        near_enough(page->plan)) {
        k->since_ms = 0;
        return;
    }
    problem_see(k, page);
    if (k->hash == k->found_hash && proves_more(&k->found, page->plan)) {
        shown = ARENA_NEW(&page->arena, struct plan);
        planner_proved(page->plan, &k->found, &page->arena, shown);
        page->proved = shown;
    }
    k->wanted = k->looked < LOOKS &&
                !(page->proved && near_enough(page->proved));
}

/* ---- the look */

void certificate_poll(struct certificate *k, struct status_board *board)
{
    struct status_page *page;
    struct look *t;
    int64_t at;

    if (!k->wanted || k->busy)
        return;
    at = k->since_ms + looks[k->looked].rest_ms;
    if (at < k->next_ms)
        at = k->next_ms;
    if (k->env->mono_ms < at) {
        env_wake_mono(k->env, at);
        return;
    }
    page = status_get(board);
    if (!page)
        return;
    if (!k->workers)
        k->workers = env_workers(k->env, 1, 1);
    t = look_new(page, looks[k->looked].budget_ms * PLANNER_STEPS_PER_MS,
                 MAIL_CERTIFICATE);
    t->settled = true; /* the page's plan ends nothing */
    t->yields = !k->env->outside->workers;
    k->look_hash = k->hash;
    k->busy = true;
    workers_submit(k->workers, &t->job);
    status_unref(page);
}

void certificate_fold(struct certificate *k, struct mail *mail)
{
    struct look *t = (struct look *)mail;
    const uint64_t took_ms = t->plan.work / PLANNER_STEPS_PER_MS;

    k->busy = false;
    k->looked += k->look_hash == k->hash;
    k->next_ms = k->env->mono_ms + (int64_t)took_ms * PAUSE_TIMES;
    if (!t->job.abandoned) {
        arena_done(&k->arena);
        k->arena = t->arena;
        t->arena = (struct arena){0};
        k->found = t->plan;
        k->found_hash = k->look_hash;
    }
    look_free(t);
}

bool certificate_stop(struct certificate *k)
{
    return workers_free(k->workers, STOP_MS);
}

void certificate_close(struct certificate *k)
{
    arena_done(&k->arena);
}
