/*
 * route.c - from a request line to a handler.
 *
 * One table of routes.  A path or a method that is not there is refused with
 * those that are.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/suggest.h"
#include "inside.h"

static const struct route routes[] = {
    {"POST", "/v1/request_resources", put_request,
     ROUTE_BODY | ROUTE_REQUEST | ROUTE_CHANGE},
    {"GET", "/v1/request_resources", get_requests, ROUTE_OWN},
    {"GET", "/v1/request_resources/{}", get_request, ROUTE_OWNER},
    {"DELETE", "/v1/request_resources/{}", drop_request,
     ROUTE_REQUEST | ROUTE_CHANGE},
    {"GET", "/v1/status", get_status, ROUTE_OWN},
    {"GET", "/v1/overview", get_overview, 0},
    {"GET", "/v1/history", get_history, 0},
    {"GET", "/v1/spent", get_spent, ROUTE_OWN},
    {"GET", "/v1/decisions", get_decisions, 0},
    {"GET", "/v1/nodes", get_nodes, 0},
    {"GET", "/v1/nodes/{}", get_node, 0},
    {"POST", "/v1/nodes/{}/protect", protect_node, ROUTE_ADMIN | ROUTE_CHANGE},
    {"DELETE", "/v1/nodes/{}/protect", unprotect_node,
     ROUTE_ADMIN | ROUTE_CHANGE},
    {"POST", "/v1/nodes/{}/cordon", cordon_node, ROUTE_ADMIN | ROUTE_CHANGE},
    {"DELETE", "/v1/nodes/{}/cordon", uncordon_node,
     ROUTE_ADMIN | ROUTE_CHANGE},
    {"POST", "/v1/nodes/{}/drain", drain_node, ROUTE_ADMIN | ROUTE_CHANGE},
    {"DELETE", "/v1/nodes/{}/drain", undrain_node, ROUTE_ADMIN | ROUTE_CHANGE},
    {"POST", "/v1/nodes/{}/adopt", adopt_node, ROUTE_ADMIN | ROUTE_CHANGE},
    {"POST", "/v1/nodes/{}/forget", forget_node, ROUTE_ADMIN | ROUTE_CHANGE},
    {"POST", "/v1/adopt", post_adopt, ROUTE_BODY | ROUTE_ADMIN | ROUTE_CHANGE},
    {"GET", "/v1/why/{}", get_why, ROUTE_OWNER},
    {"POST", "/v1/plan", post_plan, ROUTE_BODY},
    {"POST", "/v1/whatif", post_whatif, ROUTE_BODY},
    {"GET", "/v1/snapshot", get_snapshot, 0},
    {"GET", "/v1/events", get_events, ROUTE_OWN},
    {"GET", "/v1/shadow", get_shadow, 0},
    {"POST", "/v1/reload", post_reload, ROUTE_ADMIN | ROUTE_CHANGE},
    {"POST", "/v1/apply", post_apply, ROUTE_BODY | ROUTE_ADMIN | ROUTE_CHANGE},
    {"POST", "/v1/release", post_release,
     ROUTE_BODY | ROUTE_ADMIN | ROUTE_CHANGE},
    {"GET", "/v1/audit", get_audit, ROUTE_ADMIN},
    {"GET", "/healthz", get_alive, ROUTE_OPEN},
    {"GET", "/livez", get_alive, ROUTE_OPEN},
    {"GET", "/health-check", get_alive, ROUTE_OPEN},
    {"GET", "/readyz", get_ready, ROUTE_OPEN},
    {"GET", "/metrics", get_metrics, 0},
    {"GET", "/openapi.json", get_openapi, 0},
    {"GET", "/", get_page, ROUTE_OPEN},
    {"GET", "/page/{}", get_page_file, ROUTE_OPEN},
};
enum { N_ROUTES = sizeof routes / sizeof *routes };

/* ---- finding the route */

/* Does the path fit, and what stands for {}? */
static bool path_fits(const char *pattern, const char *path, char *arg,
                      size_t n)
{
    const char *hole = strstr(pattern, "{}"), *end;
    size_t before;

    if (!hole)
        return strcmp(pattern, path) == 0;
    before = (size_t)(hole - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    end = strchr(path + before, '/');
    if (!end)
        end = path + strlen(path);
    if (end == path + before || (size_t)(end - path) - before >= n ||
        strcmp(hole + 2, end) != 0)
        return false;
    snprintf(arg, n, "%.*s", (int)((size_t)(end - path) - before),
             path + before);
    return true;
}

static void refuse_path(struct exchange *ex, const char *url)
{
    const char *paths[N_ROUTES], *near;
    char where[256], text[400];
    size_t n = 0;
    struct buf b;
    struct out o;

    for (size_t i = 0; i < N_ROUTES; i++)
        if (n == 0 || strcmp(paths[n - 1], routes[i].path) != 0)
            paths[n++] = routes[i].path;
    snprintf(where, sizeof where, "%.200s", url);
    near = suggest(where, paths, n);
    snprintf(text, sizeof text, "there is no such path; %s%s",
             near ? "did you mean " : "see allowed, or /openapi.json",
             near ? near : "");
    exchange_error_begin(&o, &b, "NOT_FOUND", where, text);
    out_array(&o, "allowed");
    for (size_t i = 0; i < n; i++)
        out_str(&o, NULL, paths[i]);
    out_close(&o);
    exchange_error_end(ex, &o, &b, 404);
}

static void refuse_method(struct exchange *ex, const char *url,
                          const char *method)
{
    char allow[128] = "", arg[400];
    struct buf b;
    struct out o;

    for (size_t i = 0; i < N_ROUTES; i++)
        if (path_fits(routes[i].path, url, arg, sizeof arg))
            snprintf(allow + strlen(allow), sizeof allow - strlen(allow),
                     "%s%s", allow[0] ? ", " : "", routes[i].method);
    snprintf(allow + strlen(allow), sizeof allow - strlen(allow), "%s%s",
             strstr(allow, "GET") ? ", HEAD" : "", ", OPTIONS");
    if (strcmp(method, "OPTIONS") == 0) {
        buf_init(&b, 16);
        exchange_reply(ex, 204, &b, "text/plain");
    } else {
        char text[200];

        snprintf(text, sizeof text, "%.20s is not possible here, %s is", method,
                 allow);
        exchange_error_begin(&o, &b, "UNSUPPORTED", method, text);
        exchange_error_end(ex, &o, &b, 405);
    }
    MHD_add_response_header(ex->response, MHD_HTTP_HEADER_ALLOW, allow);
}

void route_find(struct exchange *ex, const char *url, const char *method)
{
    const char *as = strcmp(method, "HEAD") == 0 ? "GET" : method;
    char path[1024];
    size_t n = strlen(url);
    bool known = false;

    while (n > 1 && url[n - 1] == '/')
        n--; /* "/v1/nodes/" is "/v1/nodes" */
    if (n < sizeof path) {
        snprintf(path, sizeof path, "%.*s", (int)n, url);
        for (size_t i = 0; i < N_ROUTES; i++) {
            if (!path_fits(routes[i].path, path, ex->arg, sizeof ex->arg))
                continue;
            known = true;
            if (strcmp(routes[i].method, as) == 0) {
                ex->route = &routes[i];
                return;
            }
        }
    }
    if (known)
        refuse_method(ex, path, method);
    else
        refuse_path(ex, url);
}

/* ---- running it */

static int64_t clock_us(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void route_run(struct exchange *ex)
{
    struct pace *pace = ex->server->pace;
    int64_t began = clock_us(CLOCK_THREAD_CPUTIME_ID);
    char who[400];

    if (!ex->caller.who || ex->route->flags & ROUTE_OPEN) { /* a probe */
        ex->route->run(ex);
        return;
    }
    caller_share(&ex->caller, who, sizeof who);
    if (pace_lets(pace, who, clock_us(CLOCK_MONOTONIC))) {
        ex->route->run(ex);
        if (ex->shared)
            return; /* it is made for all who ask */
        pace_spent(pace, who, clock_us(CLOCK_THREAD_CPUTIME_ID) - began,
                   clock_us(CLOCK_MONOTONIC));
        return;
    }
    exchange_error(ex, 429, "THROTTLED", "",
                   "what you asked for lately took much of the time in which "
                   "all are served: ask again in a second, and less often");
}

void route_answer(struct exchange *ex)
{
    int64_t began = clock_us(CLOCK_THREAD_CPUTIME_ID);
    char who[400];

    ex->answer(ex);
    if (!ex->caller.who || !ex->route || ex->route->flags & ROUTE_OPEN)
        return; /* who it is was asked just now; a probe */
    pace_spent(ex->server->pace, caller_share(&ex->caller, who, sizeof who),
               clock_us(CLOCK_THREAD_CPUTIME_ID) - began,
               clock_us(CLOCK_MONOTONIC));
}
