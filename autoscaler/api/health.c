/*
 * health.c - is it alive, is it ready.
 *
 * Alive means that the control loop runs, and nothing else: a liveness
 * probe that fails for a cloud's outage would only restart a healthy daemon.
 * Ready says everything that keeps it from its work.
 */
#include <string.h>

#include "../base/clock.h"
#include "../base/log.h"
#include "inside.h"

enum {
    STILL_MS = 15000,        /* the loop looks every 5 s at the latest */
    LOG_STUCK_MS = 5000,     /* nobody takes a line for so long */
    DROPPED_MS = 10 * 60000, /* and so long it is told that some were dropped */
};

/* Milliseconds since the loop went round last. */
static int64_t still_for(const struct server *s)
{
    return clock_mono_ms() - atomic_load(&s->ticked_ms);
}

static void reply(struct exchange *ex, unsigned code, const char *status,
                  struct view *v, const char *problem)
{
    struct buf b;
    struct out o;

    reply_begin(&b, &o);
    out_object(&o, NULL);
    out_str(&o, "status", status);
    if (v && ex->trusted) {
        problems_write(&o, "problems", v);
    } else {
        out_array(&o, "problems");
        if (problem)
            out_str(&o, NULL, problem);
        out_close(&o);
    }
    out_int(&o, "last_tick_ms", still_for(ex->server));
    out_int(&o, "longest_step_ms",
            (int64_t)atomic_load(&ex->server->metrics->step_us_max) / 1000);
    out_close(&o);
    exchange_reply(ex, code, &b, "application/json");
}

static void add(struct view *v, const char *text)
{
    v->more[v->n_more++] = arena_strdup(&v->arena, text);
}

/* Without its log the daemon does all that it did. */
static void log_problem(struct view *v)
{
    struct outbox_state s = log_state();

    if (s.stuck_ms >= LOG_STUCK_MS)
        v->more[v->n_more++] = arena_printf(
            &v->arena,
            "log: standard error takes no line for %lld s; %ju lines were "
            "dropped so far",
            (long long)s.stuck_ms / 1000, (uintmax_t)s.dropped);
    else if (s.dropped && clock_mono_ms() - s.dropped_ms < DROPPED_MS)
        v->more[v->n_more++] = arena_printf(
            &v->arena,
            "log: %ju lines were dropped, as standard error took none",
            (uintmax_t)s.dropped);
}

static bool asks(const struct principal *p, const char *owner)
{
    return p && principal_asks(p, owner);
}

/* May whoever asked for it still do so, by the lines as they are?  share is "token/ci",
 * "socket/ann", "certificate/front.example" (caller_share()); of others, and of root
 * and Davit's own user ("uid:0"), the lines have no say. */
static bool still_asks(const struct access *now, const char *share,
                       const char *owner)
{
    const char *name = strchr(share, '/');
    int64_t wall_ms = clock_wall_ms();
    size_t n = name ? (size_t)(name++ - share) : 0;

    if (n == 11 && strncmp(share, "certificate", n) == 0) {
        for (int k = 0; k < CERT_KINDS; k++)
            if (asks(access_by_cert(now, (enum cert_kind)k, name, wall_ms),
                     owner))
                return true;
        return false;
    }
    if (!((n == 5 && strncmp(share, "token", n) == 0) ||
          (n == 6 && strncmp(share, "socket", n) == 0)) ||
        strncmp(name, "uid:", 4) == 0 || strcmp(name, "token_file") == 0)
        return true;
    return asks(access_named(now, name, wall_ms), owner);
}

/* What a caller asked for who has no right to it any more goes on being bought and
 * billed. */
static void left_behind(struct server *s, struct view *v)
{
    struct access *now = access_get(s->access);
    const struct status_page *p = v->page;
    const char *first = "", *share = "";
    uint32_t n = 0;

    for (uint32_t i = 0; p && i < p->n_requests; i++) {
        const struct status_request *r = &p->requests[i];

        if (!r->share || still_asks(now, r->share, r->owner))
            continue;
        if (n++ == 0) {
            first = r->owner;
            share = r->share;
        }
    }
    access_unref(now);
    if (n)
        v->more[v->n_more++] = arena_printf(
            &v->arena,
            "api.tokens: %u request%s of callers who may not ask for %s any more "
            "stand%s and cost%s: %s of %.*s %s%s; `davit request --owner %s "
            "--clear` ends it",
            n, n == 1 ? "" : "s", n == 1 ? "it" : "them", n == 1 ? "s" : "",
            n == 1 ? "s" : "", first, (int)strcspn(share, "/"), share,
            share + strcspn(share, "/") + 1, n > 1 ? " and others" : "", first);
}

/* What keeps it from being ready: costs the same however many requests there are. */
static void broken_add(struct server *s, struct view *v)
{
    int64_t write_ms = atomic_load(&s->metrics->commit_ms);
    char text[600];

    write_ms = write_ms ? clock_mono_ms() - write_ms : 0;

    if (*guard_problem(&s->guard, text, sizeof text))
        add(v, text);
    if (s->access && *access_problem(s->access, text, sizeof text))
        v->more[v->n_more++] = arena_printf(
            &v->arena, "%s; the tokens before are in force", text);
    if (*audit_problem(s->audit, text, sizeof text))
        add(v, text);
    if (s->certs && *certs_problem(s->certs, text, sizeof text))
        v->more[v->n_more++] = arena_printf(
            &v->arena, "%s; the certificate before is in use", text);
    if (still_for(s) >= STILL_MS)
        v->more[v->n_more++] = arena_printf(
            &v->arena, "the control loop stands still for %lld s",
            (long long)still_for(s) / 1000);
    if (write_ms >= STILL_MS)
        v->more[v->n_more++] = arena_printf(
            &v->arena,
            "the journal: its disk takes %lld s for a write; nothing is "
            "launched, ended or promised meanwhile",
            (long long)write_ms / 1000);
    v->broken = v->n_more > 0;
}

void server_problems(struct server *s, struct view *v)
{
    const struct guard *g = &s->guard;
    char text[600];

    broken_add(s, v);
    log_problem(v);
    if (s->review && *review_problem(s->review, text, sizeof text))
        add(v, text); /* other callers are still known */
    if (s->access)
        left_behind(s, v);
    /* what is as somebody wanted it, and should not be */
    if (!g->loopback && !g->closed)
        add(v, "api: everybody who reaches it may order machines: set "
               "api.tokens, or client_ca under api.tls");
    if (g->anonymous && *g->host)
        add(v,
            "api.anonymous: every user of this machine, and whatever reaches "
            "its loopback addresses, may order and end machines");
    if (!g->loopback && !g->tls)
        add(v, "api: tokens can be read on their way: set api.tls");
}

bool server_alive(const struct server *s)
{
    return still_for(s) < ALIVE_MS;
}

void get_alive(struct exchange *ex)
{
    struct status_page *p = status_get(ex->server->board);
    bool stuck = still_for(ex->server) >= ALIVE_MS;

    reply(ex, stuck ? 503 : 200,
          stuck ? "failing"
          : p   ? "ok"
                : "starting",
          NULL, stuck ? "the control loop has not run for a minute" : NULL);
    status_unref(p);
}

void get_ready(struct exchange *ex)
{
    struct server *s = ex->server;
    struct status_page *p = status_get(s->board);
    struct view v;
    bool ready;

    if (!p) {
        reply(ex, 503, "starting", NULL, "there is no plan yet");
        return;
    }
    view_open(&v, p);
    if (ex->trusted)
        server_problems(s, &v);
    else
        broken_add(s, &v); /* it reads no more, and costs less */
    ready = view_ready(&v);
    reply(ex, ready ? 200 : 503, ready ? "ok" : "failing", &v, NULL);
    view_done(&v);
    status_unref(p);
}
