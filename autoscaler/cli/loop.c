/*
 * loop.c - what drives the loop of control/ in a daemon: libuv's timer, and what
 * wakes it earlier (mail, signals, a changed file).  Nothing is decided here; a
 * simulation has another driver.
 */
#include "loop.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "farewell.h"

enum {
    SETTLE_MS = 200, /* a file that changes is written in pieces */
    TRIM_MS = 1000,
};

struct loop {
    struct control *control;
    const char *file; /* watched; without its folder */
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t timer;
    uv_signal_t on_term, on_int, on_hup;
    uv_fs_event_t watch;
    int64_t trim_due_ms; /* mono: not before */
};

static void timer_fired(uv_timer_t *t);

/* Lists and plans of a large cluster take megabytes for a moment, in pieces
 * between which something small stays: the heap would keep all of it. */
static void memory_trim(struct loop *l, int64_t now_ms)
{
    if (now_ms < l->trim_due_ms)
        return;
    malloc_trim(0);
    l->trim_due_ms = now_ms + TRIM_MS;
}

static void step(struct loop *l)
{
    int64_t due = control_step(l->control), now = clock_mono_ms(), rest;

    if (due == INT64_MAX) /* stopping */
        return;
    memory_trim(l, now);
    rest = due - now;
    uv_update_time(&l->uv);
    uv_timer_start(&l->timer, timer_fired, rest > 1 ? (uint64_t)rest : 1, 0);
}

static void timer_fired(uv_timer_t *t)
{
    step(t->data);
}

static void woken(uv_async_t *a)
{
    step(a->data);
}

static void inbox_wake(void *arg)
{
    uv_async_send(arg);
}

static void stop_asked(uv_signal_t *s, int signum)
{
    struct loop *l = s->data;

    (void)signum;
    control_stop(l->control);
    uv_stop(&l->uv);
}

static void reload_asked(uv_signal_t *s, int signum)
{
    struct loop *l = s->data;

    (void)signum;
    control_reload(l->control, 0);
    uv_async_send(&l->wake);
}

/* Editors replace files: the folder is watched, and the name compared.  A
 * ConfigMap's file is a link through "..data", and only that link changes. */
static void changed(uv_fs_event_t *w, const char *name, int events, int status)
{
    struct loop *l = w->data;

    (void)events;
    if (status < 0 || !name ||
        (strcmp(name, l->file) != 0 && strcmp(name, "..data") != 0))
        return;
    control_reload(l->control, SETTLE_MS);
    uv_async_send(&l->wake);
}

static void watch(struct loop *l, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1)
                      : mem_strdup(".");

    l->file = slash ? slash + 1 : path;
    uv_fs_event_init(&l->uv, &l->watch);
    l->watch.data = l;
    if (uv_fs_event_start(&l->watch, changed, dir, 0) != 0)
        control_unwatched(l->control);
    free(dir);
}

static void open_all(struct loop *l, struct control *c)
{
    l->control = c;
    uv_loop_init(&l->uv);
    uv_async_init(&l->uv, &l->wake, woken);
    uv_timer_init(&l->uv, &l->timer);
    uv_signal_init(&l->uv, &l->on_term);
    uv_signal_init(&l->uv, &l->on_int);
    uv_signal_init(&l->uv, &l->on_hup);
    l->wake.data = l->timer.data = l->on_term.data = l->on_int.data =
        l->on_hup.data = l;
    uv_signal_start(&l->on_term, stop_asked, SIGTERM);
    uv_signal_start(&l->on_int, stop_asked, SIGINT);
    uv_signal_start(&l->on_hup, reload_asked, SIGHUP);
    farewell_loop_runs();
}

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

void loop_run(struct control *c, const char *watched)
{
    struct loop l = {0};

    open_all(&l, c);
    if (watched)
        watch(&l, watched);
    mailbox_wake_by(control_mailbox(c), inbox_wake, &l.wake);
    uv_async_send(&l.wake);
    uv_run(&l.uv, UV_RUN_DEFAULT);
    mailbox_wake_by(control_mailbox(c), NULL, NULL);
    uv_walk(&l.uv, close_handle, NULL);
    uv_run(&l.uv, UV_RUN_DEFAULT);
    uv_loop_close(&l.uv);
}
