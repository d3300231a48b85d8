/*
 * calls.c - the provider calls in flight: how many, and which hang.
 *
 * A plug-in that hangs keeps its worker, and only its return ends the call.
 * So that it can stop neither the other providers nor the loop, each provider
 * has a few calls at most, and one past its time has consequences at once: see
 * answers.c.
 */
#include "providers.h"

/* Of all kinds together; of all kinds but lists, which leaves room to look:
 * who does not see what is there can do nothing else; and of offers. */
enum { CALLS_MAX = 8, NO_LISTS_MAX = 6, OFFERS_MAX = 2, OVERDUE_MAX = 2 };

bool calls_room(const struct providers *p, const struct provider *handle,
                enum call_op op)
{
    uint32_t n[CALL_OFFERS + 1] = {0}, all = 0;

    for (uint32_t i = 0; i < p->calls.n; i++) {
        const struct call *call = p->calls.v[i].call;

        if (call->provider != handle)
            continue;
        n[call->op]++;
        all++;
    }
    return all < CALLS_MAX &&
           (op == CALL_LIST || all - n[CALL_LIST] < NO_LISTS_MAX) &&
           (op != CALL_OFFERS || n[CALL_OFFERS] < OFFERS_MAX);
}

bool calls_stuck(const struct providers *p, const struct provider *handle)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->calls.n; i++)
        n += p->calls.v[i].overdue && p->calls.v[i].call->provider == handle;
    return n >= OVERDUE_MAX;
}

void call_send(struct providers *p, struct call *call, int64_t timeout_ms)
{
    call_submit(p->env->workers, call, timeout_ms);
    VEC_PUSH(
        NULL, &p->calls,
        ((struct call_in_flight){call, call->job.deadline_mono_ms, false}));
    env_wake_mono(p->env, call->job.deadline_mono_ms + LAST_CHANCE_MS);
}

bool call_landed(struct providers *p, const struct call *call)
{
    for (uint32_t i = 0; i < p->calls.n; i++)
        if (p->calls.v[i].call == call) {
            bool overdue = p->calls.v[i].overdue;

            p->calls.v[i] = p->calls.v[--p->calls.n];
            return overdue;
        }
    return false;
}

void calls_cancel_reads(struct providers *p)
{
    for (uint32_t i = 0; i < p->calls.n; i++) {
        struct call *call = p->calls.v[i].call;

        if (call->op == CALL_LIST || call->op == CALL_OFFERS)
            atomic_store(&call->cancel, true);
    }
}
