/*
 * calls.c - the provider calls in flight: how many, and which hang.
 *
 * A plug-in that hangs keeps its worker, and only its return ends the call.
 * So that it can stop neither the other providers nor the loop, each provider
 * has a few calls at most, and one past its time has consequences at once: see
 * answers.c.  From then on it takes no place among those few, or a handful that
 * never return would be the last ones; what hangs has a limit of its own, at
 * which only a restart helps (report/stops.c).
 */
#include <assert.h>
#include <string.h>

#include "../rare.h"
#include "providers.h"

/* Of those that do not hang, of all kinds together; of all kinds but lists,
 * which leaves room to look: who does not see what is there can do nothing
 * else. */
enum { CALLS_MAX = 8, NO_LISTS_MAX = 6 };
/* Of those that hang, likewise.  Each is a thread. */
enum { HUNG_MAX = 32, HUNG_NO_LISTS_MAX = 24 };
/* Of offers, and of machines that are sought by their ids: however many there are,
 * a launch or an end finds a place. */
enum { OFFERS_MAX = 2, FINDS_MAX = 3, HUNG_OFFERS_MAX = 6, HUNG_FINDS_MAX = 9 };
enum { LANDS_MS = 1000 };
enum {
    STUCK = 2,         /* so many that began to hang */
    STUCK_MS = 600000, /* in this time are a plug-in that does not work */
    ENDS_PAUSE_MS = 60000,
    ENDS_DOUBLED = 4, /* after ends that hang: 1, 2, 4, 8, 16 minutes */
};

struct sums {
    uint32_t all, lists, offers, finds;
};

static struct sums sums_of(const struct providers *p,
                           const struct provider_state *s, bool hung)
{
    struct sums n = {0};

    for (uint32_t i = 0; i < p->calls.n; i++) {
        const struct call_in_flight *f = &p->calls.v[i];

        if (f->of != s || f->overdue != hung)
            continue;
        n.all++;
        n.lists += f->call->op == CALL_LIST;
        n.offers += f->call->op == CALL_OFFERS;
        n.finds += f->call->op == CALL_FIND;
    }
    return n;
}

static bool has_room(struct sums n, enum call_op op, struct sums most,
                     uint32_t no_lists)
{
    return n.all < most.all &&
           (op == CALL_LIST || n.all - n.lists < no_lists) &&
           (op != CALL_OFFERS || n.offers < most.offers) &&
           (op != CALL_FIND || n.finds < most.finds);
}

bool calls_room(const struct providers *p, const struct provider_state *s,
                enum call_op op)
{
    if (RARE(CALLS_FULL)) { /* as if one were to land soon */
        env_wake_mono(p->env, p->env->mono_ms + LANDS_MS);
        return false;
    }
    return has_room(
               sums_of(p, s, false), op,
               (struct sums){
                   .all = CALLS_MAX, .offers = OFFERS_MAX, .finds = FINDS_MAX},
               NO_LISTS_MAX) &&
           !calls_used_up(p, s, op);
}

bool calls_used_up(const struct providers *p, const struct provider_state *s,
                   enum call_op op)
{
    return !has_room(sums_of(p, s, true), op,
                     (struct sums){.all = HUNG_MAX,
                                   .offers = HUNG_OFFERS_MAX,
                                   .finds = HUNG_FINDS_MAX},
                     HUNG_NO_LISTS_MAX);
}

bool lists_hang(const struct providers *p, const struct provider_state *s)
{
    return sums_of(p, s, true).lists > 0;
}

bool calls_stuck(const struct providers *p, const struct provider_state *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->calls.n; i++) {
        const struct call_in_flight *f = &p->calls.v[i];

        if (!f->overdue || f->of != s ||
            p->env->mono_ms - f->overdue_ms >= STUCK_MS)
            continue;
        env_wake_mono(p->env, f->overdue_ms + STUCK_MS);
        n++;
    }
    return n >= STUCK;
}

/* ---- ends */

static uint32_t ends_of(const struct providers *p,
                        const struct provider_state *s, bool hung)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->calls.n; i++) {
        const struct call_in_flight *f = &p->calls.v[i];

        n += f->call->op == CALL_TERMINATE && f->overdue == hung && f->of == s;
    }
    return n;
}

bool ends_hang(const struct providers *p, const struct provider_state *s)
{
    return ends_of(p, s, true) > 0;
}

bool ends_may_leave(const struct providers *p, const struct provider_state *s)
{
    if (!calls_room(p, s, CALL_TERMINATE))
        return false;
    if (!ends_hang(p, s))
        return true;
    if (p->env->mono_ms >= s->ends_due_ms)
        return ends_of(p, s, false) == 0;
    env_wake_mono(p->env, s->ends_due_ms);
    return false;
}

void ends_pause(struct providers *p, struct provider_state *s)
{
    uint32_t hung = ends_of(p, s, true);
    uint32_t doubled = hung > 0 ? hung - 1 : 0;

    s->ends_due_ms = p->env->mono_ms +
                     ((int64_t)ENDS_PAUSE_MS
                      << (doubled < ENDS_DOUBLED ? doubled : ENDS_DOUBLED));
}

/* ---- those in flight */

bool launch_under_way(const struct providers *p, const struct provider_state *s)
{
    for (uint32_t i = 0; i < p->calls.n; i++) {
        const struct call_in_flight *f = &p->calls.v[i];

        if (f->call->op == CALL_LAUNCH && !f->overdue && f->of == s)
            return true;
    }
    return false;
}

void call_send(struct providers *p, struct provider_state *s, struct call *call,
               int64_t timeout_ms)
{
    assert(!p->env->stopping); /* there are no workers then */
    if (call->op == CALL_LAUNCH)
        s->launched_ms = p->env->now_ms;
    if (s->over_ms < s->launched_ms)
        s->over_ms = s->launched_ms;
    call_submit(p->env->workers, call, timeout_ms);
    VEC_PUSH(
        NULL, &p->calls,
        ((struct call_in_flight){
            .call = call, .of = s, .deadline_ms = call->job.deadline_mono_ms}));
    env_wake_mono(p->env, call->job.deadline_mono_ms + LAST_CHANCE_MS);
}

struct call_in_flight call_landed(struct providers *p, const struct call *call)
{
    struct call_in_flight was = {0};

    for (uint32_t i = 0; i < p->calls.n; i++)
        if (p->calls.v[i].call == call) {
            was = p->calls.v[i];
            p->calls.v[i] = p->calls.v[--p->calls.n];
            break;
        }
    return was;
}

void calls_orphan(struct providers *p, const struct provider_state *s)
{
    for (uint32_t i = 0; i < p->calls.n; i++)
        if (p->calls.v[i].of == s)
            p->calls.v[i].of = NULL;
}

void calls_cancel_reads(struct providers *p)
{
    for (uint32_t i = 0; i < p->calls.n; i++) {
        struct call *call = p->calls.v[i].call;

        if (call->op == CALL_LIST || call->op == CALL_OFFERS ||
            call->op == CALL_FIND)
            atomic_store(&call->cancel, true);
    }
}
