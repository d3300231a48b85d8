/*
 * farewell.c - see farewell.h.
 *
 * A thread and a libuv loop of its own: it is there when the control thread is in
 * the middle of a step, and when that waits for somebody who never comes.  What
 * was promised is on disk, and the next start asks again with the same request
 * ids: to leave without waiting loses nothing, as kill -9 does not.
 */
#include "farewell.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "../base/clock.h"
#include "../base/ending.h"
#include "../base/log.h"

enum {
    TOLD_MS = 4000,    /* so long nobody wonders */
    AGAIN_MS = 1000,   /* who asks again wants it to end now */
    GOODBYE_MS = 1000, /* for the last lines of the log */
};

static struct {
    uv_loop_t uv;
    uv_signal_t on_term, on_int;
    uv_timer_t tell, end;
    int64_t asked_ms; /* mono; 0: it was not told to end */
} farewell;
static atomic_bool loop_runs;

static long long ms_since(int64_t mono_ms)
{
    return (long long)(clock_mono_ms() - mono_ms);
}

static void waited(char *ret, size_t n)
{
    char what[256];
    int64_t ms;

    if (ending_waited(what, sizeof what, &ms))
        snprintf(ret, n, "%s, for %lld.%lld s", what, (long long)ms / 1000,
                 (long long)ms / 100 % 10);
    else
        snprintf(ret, n, "%s", "the end of the control loop's step");
}

static void tell(uv_timer_t *t)
{
    char what[300];

    (void)t;
    waited(what, sizeof what);
    log_warn("the end takes long: it waits for %s; after %d s in all davit "
             "leaves without it",
             what, FAREWELL_MOST_MS / 1000);
}

static void leave(uv_timer_t *t)
{
    char what[300];

    (void)t;
    waited(what, sizeof what);
    log_error("the end took %lld ms, and waits for %s; leaving without it, "
              "machines stay as they are",
              ms_since(farewell.asked_ms), what);
    log_stop(GOODBYE_MS);
    _exit(EXIT_SUCCESS);
}

static void asked(uv_signal_t *s, int signum)
{
    (void)s;
    if (!atomic_load(&loop_runs)) {
        log_info("%s: stopping before it began",
                 signum == SIGINT ? "SIGINT" : "SIGTERM");
        log_stop(GOODBYE_MS);
        _exit(EXIT_SUCCESS);
    }
    if (farewell.asked_ms && ms_since(farewell.asked_ms) < AGAIN_MS)
        return; /* to a whole group, by more than one */
    if (farewell.asked_ms) {
        leave(NULL);
        return;
    }
    farewell.asked_ms = clock_mono_ms();
    uv_update_time(&farewell.uv);
    uv_timer_start(&farewell.tell, tell, TOLD_MS, 0);
    uv_timer_start(&farewell.end, leave, FAREWELL_MOST_MS, 0);
}

static void *farewell_main(void *arg)
{
    uv_run(&farewell.uv, UV_RUN_DEFAULT);
    return arg;
}

void farewell_begin(void)
{
    pthread_t thread;

    uv_loop_init(&farewell.uv);
    uv_signal_init(&farewell.uv, &farewell.on_term);
    uv_signal_init(&farewell.uv, &farewell.on_int);
    uv_timer_init(&farewell.uv, &farewell.tell);
    uv_timer_init(&farewell.uv, &farewell.end);
    uv_signal_start(&farewell.on_term, asked, SIGTERM);
    uv_signal_start(&farewell.on_int, asked, SIGINT);
    if (pthread_create(&thread, NULL, farewell_main, NULL) != 0)
        abort();
    pthread_detach(thread);
}

void farewell_loop_runs(void)
{
    atomic_store(&loop_runs, true);
}
