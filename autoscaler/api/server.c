/*
 * server.c - starting, stopping, and the reaper.
 *
 * Two threads of libmicrohttpd serve, on epoll, with limits on connections,
 * on memory per connection and on time.  The reaper wakes event listeners,
 * ends exchanges that wait too long and watches whether the control loop
 * runs.  Stopping answers everyone who waits before the sockets close.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/ending.h"
#include "../base/thread.h"
#include "inside.h"

#define POOL 2
#define CONNECTIONS_MAX 512
#define CONNECTION_MEMORY (32u * 1024)
#define IDLE_S 60       /* a connection without a byte is closed */
#define FAREWELL_MS 500 /* for the last replies to leave */

/* ---- libmicrohttpd */

/* Only what it reports while starting is kept; later on a peer's broken TLS or
 * a reset connection is nothing that an operator could fix. */
static void mhd_report(void *cls, const char *fmt, va_list ap)
{
    struct server *s = cls;

    if (!atomic_load(&s->started))
        vsnprintf(s->mhd_error, sizeof s->mhd_error, fmt, ap);
}

/* At most half of the file descriptors: the providers' calls, the journal and
 * the demand sources must not run out of them because of clients. */
static unsigned connections_max(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur / 2 > CONNECTIONS_MAX)
        return CONNECTIONS_MAX;
    return l.rlim_cur < 64 ? 32 : (unsigned)(l.rlim_cur / 2);
}

/* threads: 0 for one that is not of a pool. */
static struct MHD_Daemon *serve(struct server *s, int fd, unsigned threads,
                                struct certs *certs)
{
    static struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | MHD_USE_ITC;
    struct MHD_OptionItem pool[] = {
        {MHD_OPTION_THREAD_POOL_SIZE, threads, NULL},
        {MHD_OPTION_END, 0, NULL}};

    return MHD_start_daemon(
        flags | (certs ? MHD_USE_TLS : 0), 0, NULL, NULL, exchange_handle, s,
        MHD_OPTION_EXTERNAL_LOGGER, mhd_report, s, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT,
        connections_max() + (threads ? threads : 1) * DOOR_MARGIN,
        MHD_OPTION_NOTIFY_CONNECTION, door_notify, door_arg(s->door, DOOR_API),
        MHD_OPTION_URI_LOG_CALLBACK, strict_uri, NULL,
        MHD_OPTION_CLIENT_DISCIPLINE_LVL, DISCIPLINE,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_NOTIFY_COMPLETED, exchange_completed, NULL, MHD_OPTION_ARRAY,
        threads ? pool : none, MHD_OPTION_ARRAY,
        certs ? certs_options(certs) : none, MHD_OPTION_END);
}

static enum status refused(struct server *s, struct err *err)
{
    return err_set(err, ST_INVALID, "api: the HTTP server does not start%s%s",
                   s->mhd_error[0] ? ": " : "", s->mhd_error);
}

static enum status local_start(struct server *s, const char *path,
                               struct err *err)
{
    enum status rc;
    int fd;

    if (!*path)
        return ST_OK;
    rc = socket_local(path, &fd, &s->local, err);
    if (rc != ST_OK)
        return rc;
    s->local_path = mem_strdup(path);
    s->local_mhd = serve(s, fd, 0, NULL);
    if (s->local_mhd)
        return ST_OK;
    close(fd);
    return refused(s, err);
}

static void right_changed(void *arg)
{
    listeners_judge(arg, clock_mono_ms());
}

static enum status review_start(struct server *s, const struct config *c,
                                struct err *err)
{
    struct review_opts o = {c->kube_kubeconfig,
                            c->kube_context,
                            c->api_kube_audience,
                            c->api_kube_namespace,
                            c->api_kube_cache_ms,
                            right_changed,
                            s};
    enum status rc;

    if (!c->api_kube)
        return ST_OK;
    rc = review_open(&o, &s->review, err);
    if (rc == ST_OK)
        s->reviews = tasks_new(REVIEWS_CALLER);
    return rc;
}

static enum status mhd_start(struct server *s, const struct config *c,
                             struct err *err)
{
    enum status rc = certs_of(c, &s->certs, err);

    if (rc == ST_OK && *c->api_tokens)
        rc = access_open(c->api_tokens, &s->access, err);
    if (rc == ST_OK)
        rc = review_start(s, c, err);
    if (rc == ST_OK)
        rc = audit_open(c->api_audit, &s->audit, err);
    if (rc == ST_OK)
        rc = local_start(s, c->api_socket, err);
    if (rc != ST_OK || s->listen_fd < 0)
        return rc;
    s->mhd = serve(s, s->listen_fd, POOL, s->certs);
    return s->mhd ? ST_OK : refused(s, err);
}

/* ---- the reaper */

static void event_added(void *arg)
{
    struct pending_list *list = arg;

    pthread_mutex_lock(&list->lock);
    list->generation++;
    pthread_cond_signal(&list->wake);
    pthread_mutex_unlock(&list->lock);
}

static void watch_ticks(struct server *s, int64_t now)
{
    unsigned long long steps = atomic_load(&s->metrics->steps);

    if (atomic_exchange(&s->seen_steps, steps) != steps)
        atomic_store(&s->ticked_ms, now);
}

static void *reaper_main(void *arg)
{
    struct server *s = arg;
    struct pending_list *list = s->pending;
    uint64_t seen = 0, generation;
    int64_t guarded = clock_mono_ms();
    bool stopping;

    for (;;) {
        struct timespec until = clock_wait_until(1000);
        int64_t now;

        pthread_mutex_lock(&list->lock);
        while (list->generation == seen && !list->stopping)
            if (pthread_cond_timedwait(&list->wake, &list->lock, &until) != 0)
                break;
        generation = list->generation;
        stopping = list->stopping;
        pthread_mutex_unlock(&list->lock);
        if (stopping)
            return NULL;
        now = clock_mono_ms();
        listeners_wake(s, generation != seen, now);
        seen = generation;
        pending_expire(list, now - ANSWER_MS, PENDING_LATE);
        watch_ticks(s, now);
        if (now - guarded >= 1000) {
            guarded = now;
            guard_refresh(&s->guard);
            if (s->certs)
                certs_refresh(s->certs);
            if (s->access)
                access_refresh(s->access);
            listeners_judge(s, now);
        }
    }
}

/* ---- from outside */

static void cached_drop(struct cached both[2])
{
    for (int i = 0; i < 2; i++)
        if (both[i].response)
            MHD_destroy_response(both[i].response);
}

static void server_free(struct server *s)
{
    cached_drop(s->status);
    cached_drop(s->nodes);
    cached_drop(s->snapshot);
    cached_drop(s->overview);
    ending_waits("a large request of a client of the API");
    tasks_free(s->tasks);
    ending_waits("a plan that a client of the API asked for");
    tasks_free(s->plans);
    ending_waits("what the API server was asked of the API's callers");
    tasks_free(s->reviews);
    review_close(s->review);
    pending_list_unref(s->pending);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->cache_lock);
    guard_done(&s->guard);
    ending_waits("the thread that watches the API's connections");
    door_free(s->door);
    pace_free(s->pace);
    certs_close(s->certs);
    access_close(s->access);
    audit_close(s->audit);
    if (s->local_path)
        socket_end(s->local_path, s->local.st_dev, s->local.st_ino);
    free(s->local_path);
    free(s);
}

enum status server_start(const struct config *c, struct control *control,
                         struct server **ret, struct err *err)
{
    struct server *s;
    enum status rc;
    int fd = -1;

    *ret = NULL;
    s = MEM_NEW(struct server);
    if ((rc = guard_init(&s->guard, c, err)) != ST_OK ||
        (rc = socket_api(c, &fd, err)) != ST_OK) {
        guard_done(&s->guard);
        free(s);
        return rc;
    }
    s->listen_fd = fd;
    s->mailbox = control_mailbox(control);
    s->board = control_board(control);
    s->events = control_events(control);
    s->metrics = control_metrics(control);
    s->history = control_history(control);
    s->decisions = control_decisions(control);
    s->shadow = control_shadow(control);
    s->pending = pending_list_new();
    s->tasks = tasks_new(TASKS_CALLER);
    s->plans = tasks_new(TASKS_CALLER);
    s->door = door_new(connections_max());
    s->pace = pace_new();
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->cache_lock, NULL);
    atomic_store(&s->ticked_ms, clock_mono_ms());
    /* a second port: metrics for everybody, as Ray's autoscaler has them */
    rc = metrics_listen(c, scrape_start, s, &s->metrics_mhd, err);
    if (rc != ST_OK || (rc = mhd_start(s, c, err)) != ST_OK) {
        if (s->metrics_mhd)
            MHD_stop_daemon(s->metrics_mhd);
        if (s->local_mhd)
            MHD_stop_daemon(s->local_mhd);
        if (fd >= 0)
            close(fd);
        server_free(s);
        return rc;
    }
    atomic_store(&s->started, true);
    pthread_mutex_lock(&s->events->lock);
    s->events->arg = s->pending;
    s->events->on_add = event_added;
    pthread_mutex_unlock(&s->events->lock);
    if (pthread_create(&s->reaper, NULL, reaper_main, s) != 0)
        abort();
    *ret = s;
    return ST_OK;
}

/* No new clients; but the threads look at the socket a moment longer, and
 * libmicrohttpd aborts when it is closed under them: to be closed later. */
static int quiesce(struct MHD_Daemon *mhd)
{
    int fd = mhd ? MHD_quiesce_daemon(mhd) : -1;

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
    return fd;
}

void server_stop(struct server *s)
{
    int fd, local;

    if (!s)
        return;
    pthread_mutex_lock(&s->events->lock);
    s->events->on_add = NULL;
    pthread_mutex_unlock(&s->events->lock);
    ending_waits("the thread that watches the API's clients");
    fd = quiesce(s->mhd);
    local = quiesce(s->local_mhd);
    thread_stop(s->reaper, &s->pending->lock, &s->pending->wake,
                &s->pending->stopping);
    pending_expire(s->pending, INT64_MAX, PENDING_STOPPED);
    listeners_end(s);
    ending_waits("the last replies of the API");
    /* nobody is suspended from here on: what comes now is refused */
    for (int i = 0; i < FAREWELL_MS / 5 && atomic_load(&s->exchanges) > 0; i++)
        clock_sleep_ms(5);
    ending_waits("the threads that serve the API");
    if (s->mhd)
        MHD_stop_daemon(s->mhd);
    if (s->local_mhd)
        MHD_stop_daemon(s->local_mhd);
    if (fd >= 0)
        close(fd);
    if (local >= 0)
        close(local);
    if (s->metrics_mhd)
        MHD_stop_daemon(s->metrics_mhd);
    server_free(s);
}

uint32_t server_port(const struct server *s)
{
    return socket_port(s->listen_fd);
}

uint32_t server_metrics_port(const struct server *s)
{
    return s->metrics_mhd
               ? socket_port(MHD_get_daemon_info(s->metrics_mhd,
                                                 MHD_DAEMON_INFO_LISTEN_FD)
                                 ->listen_fd)
               : 0;
}
