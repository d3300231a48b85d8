/*
 * ask.c - one call on a worker of its own, waited for.
 */
#include "ask.h"

#include <time.h>

#include "../base/clock.h"

struct call *ask_provider(struct provider *p, enum call_op op,
                          int64_t patience_ms)
{
    enum { MAIL_ANSWER = 1 };
    struct mailbox box;
    struct workers *w;
    struct mail *mail;
    struct call *call = call_new(p, op, MAIL_ANSWER);
    struct timespec t = {.tv_nsec = 5000000};
    int64_t end = clock_mono_ms() + patience_ms;

    mailbox_init(&box, NULL, NULL);
    w = workers_new(1, 0, &box);
    call_submit(w, call, patience_ms);
    while (!(mail = mailbox_take(&box)) && clock_mono_ms() < end)
        nanosleep(&t, NULL);
    if (!mail)
        return NULL; /* it hangs; the process ends soon */
    workers_free(w, patience_ms);
    mailbox_done(&box);
    return call;
}
