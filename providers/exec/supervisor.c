/*
 * supervisor.c - the thread that owns a handle's child: starts it when something is
 * asked, sends requests in their order, hands each line it prints to the ask
 * with its id, and starts it again, at growing intervals, when it failed.
 *
 * The child is somebody's script: whatever it does is contained here.  A line
 * that cannot be trusted (no JSON, an id that was not asked, no end) makes all
 * that came from this child untrustworthy: everything in flight fails as
 * BROKEN and the child is replaced.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec.h"

enum {
    REST_FIRST_MS = 250,
    REST_MAX_MS = 60000,
    GOOD_MS = 60000, /* lived this long: earlier faults are forgotten */
    HELLO_MS = 30000,
    NO_PIDFD_MS = 100,
    DRAIN_TURNS = 64,
};

int64_t mono_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void verdict_set(struct verdict *v, int status, const char *code,
                 const char *fmt, ...)
{
    va_list ap;

    *v = (struct verdict){.status = status};
    snprintf(v->code, sizeof v->code, "%s", code);
    va_start(ap, fmt);
    vsnprintf(v->text, sizeof v->text, fmt, ap);
    va_end(ap);
}

void supervisor_wake(struct exec *x)
{
    /* A full pipe is as good: the supervisor will wake. */
    if (write(x->wake[1], "", 1) < 0)
        return;
}

/* ---- asks; the lock is held */

void ask_free(struct ask *a)
{
    for (struct line *l = a->first, *next; l; l = next) {
        next = l->next;
        json_decref(l->json);
        free(l);
    }
    pthread_cond_destroy(&a->cond);
    free(a->args);
    free(a);
}

static void unlink_ask(struct exec *x, struct ask *a)
{
    struct ask **at = &x->asks;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
}

static void finish(struct exec *x, struct ask *a, const struct verdict *v)
{
    a->state = ASK_DONE;
    a->verdict = *v;
    if (a->left) {
        unlink_ask(x, a);
        ask_free(a);
    } else {
        pthread_cond_signal(&a->cond);
    }
}

/* Also those not sent yet, when queued. */
static void finish_all(struct exec *x, const struct verdict *v, bool queued)
{
    for (struct ask *a = x->asks, *next; a; a = next) {
        next = a->next;
        if (a->state == ASK_SENT || (queued && a->state == ASK_QUEUED))
            finish(x, a, v);
    }
}

static struct ask *find(struct exec *x, uint64_t id)
{
    for (struct ask *a = x->asks; a; a = a->next)
        if (a->id == id)
            return a->state == ASK_SENT ? a : NULL;
    return NULL;
}

static bool owes(const struct exec *x)
{
    for (const struct ask *a = x->asks; a; a = a->next)
        if (a->state == ASK_SENT)
            return true;
    return false;
}

/* The child has failed: whoever waits for it learns so, and when it may be
 * started again.  The first time that is at once. */
static void note_fault(struct exec *x, const struct verdict *v)
{
    const struct child *c = &x->child;
    int64_t now = mono_ms(), rest = 0;

    if (c->greeted && now - c->started_ms >= GOOD_MS)
        x->faults = 0;
    if (++x->faults > 1)
        rest = x->faults > 10 ? REST_MAX_MS
                              : (int64_t)REST_FIRST_MS << (x->faults - 2);
    x->start_at_ms = now + (rest > REST_MAX_MS ? REST_MAX_MS : rest);
    x->why = *v;
    finish_all(x, v, !c->greeted || rest > 0);
}

static void fault(struct exec *x, const struct verdict *v)
{
    char how[100];

    child_log(x, 0, "%s", v->text);
    pthread_mutex_lock(&x->lock);
    note_fault(x, v);
    pthread_mutex_unlock(&x->lock);
    if (x->child.pid > 0)
        child_end(x, false, how);
}

/* ---- sending */

/* The lock is held.  The next request that may go becomes what is sent. */
static void take_next(struct exec *x)
{
    struct child *c = &x->child;
    struct ask *a = x->asks;
    int64_t now = mono_ms(), left;

    while (a && (a->state != ASK_QUEUED || (!a->hello && !c->greeted)))
        a = a->next;
    if (!a)
        return;
    left = a->deadline_ms > now ? a->deadline_ms - now : 0;
    c->send = kit_print("{\"id\":%llu,\"deadline_ms\":%lld,%s\n",
                        (unsigned long long)a->id, (long long)left,
                        a->args + 1);
    c->send_len = strlen(c->send);
    c->send_at = 0;
    a->state = ASK_SENT;
    a->sent_ms = now;
    if (a->id < c->first_id)
        c->first_id = a->id;
}

/* False: nobody reads there any more. */
static bool send_some(struct exec *x)
{
    struct child *c = &x->child;
    ssize_t n;

    for (;;) {
        if (!c->send) {
            pthread_mutex_lock(&x->lock);
            take_next(x);
            pthread_mutex_unlock(&x->lock);
        }
        if (!c->send)
            return true;
        n = write(c->in, c->send + c->send_at, c->send_len - c->send_at);
        if (n < 0 && errno != EINTR)
            return errno == EAGAIN;
        if (n > 0)
            c->send_at += (size_t)n;
        if (c->send_at == c->send_len) {
            free(c->send);
            c->send = NULL;
        }
    }
}

/* ---- hearing */

/* What the program has, as its answer to hello says.  False: it says nonsense. */
static bool skills_read(struct exec *x, const json_t *hello, struct verdict *v)
{
    const json_t *find = json_object_get(hello, "find");

    x->finds = json_is_true(find) ? FINDS : FINDS_NOT;
    if (!find || json_is_null(find) || json_is_boolean(find))
        return true;
    verdict_set(v, DAVIT_BROKEN, "BAD_ANSWER",
                "the program's answer to hello: find must be true or false");
    return false;
}

static bool answered(struct exec *x, struct ask *a, json_t *json,
                     struct verdict *v)
{
    bool hello = a->hello;
    struct verdict got;

    if (verdict_read(json, &got) && hello && got.status == DAVIT_OK)
        skills_read(x, json, &got);
    finish(x, a, &got); /* a bad one is BROKEN, and says so */
    if (!hello)
        return true;
    x->child.greeted = got.status == DAVIT_OK;
    *v = got;
    /* It becomes the answer of whatever waits for the program, where NOT_FOUND
     * would mean that a machine is gone. */
    if (got.status != DAVIT_RETRY && got.status != DAVIT_THROTTLED &&
        got.status != DAVIT_AUTH && got.status != DAVIT_INVALID)
        v->status = DAVIT_BROKEN;
    if (got.text[0] == '\0')
        snprintf(v->text, sizeof v->text,
                 "the program answered hello with a failure and no text");
    return x->child.greeted;
}

/* The lock is held.  Takes json.  False: *v says what was wrong with it. */
static bool route(struct exec *x, json_t *json, size_t bytes, struct verdict *v)
{
    const json_t *id = json_object_get(json, "id");
    json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
    bool good = true;
    struct ask *a;
    struct line *l;

    /* Every id of this child's that is no longer waited for is a late answer;
     * any other id means that it answers something else than was asked. */
    a = n >= 0 ? find(x, (uint64_t)n) : NULL;
    if (!a) {
        bool queued = false;

        for (a = x->asks; a; a = a->next)
            queued |= a->id == (uint64_t)n && a->state == ASK_QUEUED;
        good = n >= 0 && (uint64_t)n >= x->child.first_id &&
               (uint64_t)n < x->next_id && !queued;
        if (!good)
            verdict_set(
                v, DAVIT_BROKEN, "WRONG_ID",
                "the program answered %s%lld, which it was not asked; "
                "every line carries the id of its request",
                json_is_integer(id) ? "id " : "without a number as id, ",
                (long long)n);
    } else if (json_object_get(json, "status")) {
        good = answered(x, a, json, v);
    } else if ((a->bytes += bytes) > x->max_reply) {
        good = false;
        verdict_set(v, DAVIT_BROKEN, "TOO_LONG",
                    "the program answered %s with more than %u bytes "
                    "(max_reply)",
                    a->op, x->max_reply);
    } else if (!a->left) {
        l = KIT_NEW(struct line);
        *l = (struct line){.json = json, .bytes = bytes};
        *a->last = l;
        a->last = &l->next;
        x->queued_bytes += bytes;
        pthread_cond_signal(&a->cond);
        return true;
    }
    json_decref(json);
    return good;
}

static bool hear_line(struct exec *x, const char *text, size_t len,
                      struct verdict *v)
{
    json_t *json;
    bool good;

    while (len > 0 && (text[len - 1] == '\r' || text[len - 1] == ' '))
        len--;
    if (len == 0)
        return true;
    x->child.heard_ms = mono_ms();
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        verdict_set(v, DAVIT_BROKEN, "NO_JSON",
                    "the program printed a line that is no JSON object: "
                    "\"%.*s\"; stdout is for answers, stderr for all else",
                    (int)(len < 60 ? len : 60), text);
        return false;
    }
    pthread_mutex_lock(&x->lock);
    good = route(x, json, len, v);
    pthread_mutex_unlock(&x->lock);
    return good;
}

/* One read's worth of stdout.  1: more may come, 0: not now, -1: it is closed,
 * -2: *v says what was wrong with it. */
static int hear_some(struct exec *x, struct verdict *v)
{
    struct child *c = &x->child;
    size_t from = 0, room = LINE_MAX_BYTES + 1 - c->buf_len;
    char *end;
    ssize_t n = read(c->out, c->buf + c->buf_len, room < 65536 ? room : 65536);

    if (n < 0)
        return errno == EINTR ? 1 : errno == EAGAIN ? 0 : -1;
    if (n == 0)
        return -1;
    /* Only what is new can hold the end of a line. */
    end = memchr(c->buf + c->buf_len, '\n', (size_t)n);
    c->buf_len += (size_t)n;
    while (end) {
        size_t len = (size_t)(end - c->buf) - from;

        if (!hear_line(x, c->buf + from, len, v))
            return -2;
        from += len + 1;
        end = memchr(c->buf + from, '\n', c->buf_len - from);
    }
    memmove(c->buf, c->buf + from, c->buf_len - from);
    c->buf_len -= from;
    if (c->buf_len > LINE_MAX_BYTES) {
        verdict_set(v, DAVIT_BROKEN, "NO_LINE_END",
                    "the program printed more than %d bytes without the end of "
                    "a line",
                    LINE_MAX_BYTES);
        return -2;
    }
    return 1;
}

/* ---- its beginning and end */

/* It has ended, or closed a pipe: that is its beginning and end, or soon will be. */
static void ended(struct exec *x)
{
    struct child *c = &x->child;
    struct verdict v;
    char how[100];
    int more = 1;

    /* What it said before counts. */
    for (int i = 0; i < DRAIN_TURNS && more == 1; i++)
        more = hear_some(x, &v);
    if (more == -2) {
        fault(x, &v);
        return;
    }
    child_end(x, true, how);
    pthread_mutex_lock(&x->lock);
    verdict_set(&v, c->greeted ? DAVIT_RETRY : DAVIT_BROKEN, "EXITED",
                "the program %s%s%s%s", how,
                c->greeted ? " in the middle of its work"
                           : " before it had answered hello",
                c->words[0] != '\0' ? ": " : "", c->words);
    /* With nothing left to do it may go when it likes. */
    if (!c->greeted || owes(x) || strcmp(how, "ended with exit code 0") != 0)
        note_fault(x, &v);
    pthread_mutex_unlock(&x->lock);
}

static struct ask *new_hello(struct exec *x)
{
    struct ask *a = kit_zeroed(1, sizeof *a);

    a->args = kit_copy(x->hello);
    a->id = x->next_id++;
    a->op = "hello";
    a->left = a->hello = true;
    a->last = &a->first;
    a->deadline_ms = mono_ms() + (x->timeout_ms > 0 ? x->timeout_ms : HELLO_MS);
    pthread_cond_init(&a->cond, NULL);
    a->next = x->asks;
    x->asks = a;
    return a;
}

static void start(struct exec *x)
{
    struct verdict v;

    if (!child_start(x, &v)) {
        fault(x, &v);
        return;
    }
    pthread_mutex_lock(&x->lock);
    x->child.first_id = new_hello(x)->id;
    pthread_mutex_unlock(&x->lock);
    if (!send_some(x))
        ended(x);
}

/* The lock is held.  An answer is overdue and nothing was heard since it was
 * asked: the child is stuck, unless it may still be at something older.  What
 * it let lie while it answered others is forgotten. */
static bool stuck(struct exec *x, struct verdict *v)
{
    const struct child *c = &x->child;
    int64_t now = mono_ms();
    bool older = false;
    unsigned left = 0;

    for (struct ask *a = x->asks, *next; a; a = next) {
        bool overdue = now >= a->deadline_ms + x->grace_ms;

        next = a->next;
        if (a->state != ASK_SENT)
            continue;
        left += a->left;
        if (left > LEFT_MAX ||
            (overdue && !older && (a->hello || c->heard_ms <= a->sent_ms))) {
            verdict_set(v, a->hello ? DAVIT_BROKEN : DAVIT_RETRY, "STUCK",
                        "the program is stuck: %s is unanswered for %lld ms; "
                        "it is started again",
                        a->op, (long long)(now - a->sent_ms));
            return true;
        }
        if (!overdue)
            older = true;
        if (overdue && a->left) {
            unlink_ask(x, a);
            ask_free(a);
        }
    }
    return false;
}

/* ---- the loop */

/* The lock is held: how long nothing can happen by itself; -1: for ever. */
static int next_look_ms(const struct exec *x)
{
    int64_t now = mono_ms(), at = INT64_MAX;

    for (const struct ask *a = x->asks; a; a = a->next) {
        int64_t t = a->state == ASK_SENT ? a->deadline_ms + x->grace_ms
                    : a->state == ASK_QUEUED && x->child.pid == 0
                        ? x->start_at_ms
                        : INT64_MAX;

        at = t < at ? t : at;
    }
    if (x->child.pid > 0 && x->child.pidfd < 0 && at > now + NO_PIDFD_MS)
        at = now + NO_PIDFD_MS;
    if (at == INT64_MAX)
        return -1;
    return at <= now ? 10 : at - now > 60000 ? 60000 : (int)(at - now);
}

static bool wanted(const struct exec *x)
{
    for (const struct ask *a = x->asks; a; a = a->next)
        if (a->state == ASK_QUEUED)
            return mono_ms() >= x->start_at_ms;
    return false;
}

/* Waits for something, and serves the child once. */
static void serve(struct exec *x, int timeout, bool hear)
{
    struct child *c = &x->child;
    struct verdict v;
    char waste[64];
    struct pollfd p[] = {
        {x->wake[0], POLLIN, 0},
        {c->pidfd, POLLIN, 0},
        {hear ? c->out : -1, POLLIN, 0},
        {c->err, POLLIN, 0},
        {c->send ? c->in : -1, POLLOUT, 0},
    };
    int got = 0;

    if (c->pid == 0)
        for (int i = 1; i < 5; i++)
            p[i].fd = -1;
    if (poll(p, 5, timeout) < 0)
        return;
    if (p[0].revents != 0 && read(x->wake[0], waste, sizeof waste) < 0)
        return;
    if (c->pid == 0)
        return;
    if (p[3].revents != 0 && !child_hear(x)) {
        close(c->err);
        c->err = -1;
    }
    if (p[2].revents != 0)
        got = hear_some(x, &v);
    if (got == -2)
        fault(x, &v);
    else if (got == -1 || child_exited(c) || !send_some(x))
        ended(x);
}

void *supervisor_run(void *exec)
{
    struct exec *x = exec;
    struct verdict v;
    char how[100];

    for (;;) {
        bool closing, start_now, is_stuck, hear;
        int timeout;

        pthread_mutex_lock(&x->lock);
        closing = x->closing;
        start_now = !closing && x->child.pid == 0 && wanted(x);
        is_stuck = x->child.pid > 0 && stuck(x, &v);
        hear = x->queued_bytes < QUEUE_MAX_BYTES;
        timeout = next_look_ms(x);
        pthread_mutex_unlock(&x->lock);
        if (closing)
            break;
        if (is_stuck)
            fault(x, &v);
        else if (start_now)
            start(x);
        else
            serve(x, timeout, hear);
    }
    if (x->child.pid > 0)
        child_end(x, true, how);
    return NULL;
}
