/*
 * test_api_server.c - the server over real sockets, before a stand-in for the
 * control loop: it takes commands, plans on the small world and publishes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <openssl/sha.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../lib/until.h"
#include "api/server.h"
#include "api_world.h"
#include "base/clock.h"
#include "scratch.h"

/* One that nobody's command caused. */
static int64_t event_add(struct event_ring *r, int64_t at_ms, const char *kind,
                         const char *subject, const char *reason,
                         const char *text)
{
    return event_add_of(r, 0,
                        &(struct event){.at_ms = at_ms,
                                        .kind = kind,
                                        .subject = subject,
                                        .reason = reason,
                                        .text = text});
}

/* ---- a stand-in for the control loop */

struct control {
    struct mailbox inbox;
    struct status_board board;
    struct event_ring events;
    struct metrics metrics;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool work, stop, held; /* held: takes nothing */
    uint64_t tick;
    char owner[8][160], body[8][4096];
    int64_t expires[8];
    uint32_t n;
    bool protected_, nothing_held;
    char machine[160]; /* of the last word on one */
    struct mail *lost; /* taken but never answered */
};

struct mailbox *control_mailbox(struct control *c)
{
    return &c->inbox;
}
struct status_board *control_board(struct control *c)
{
    return &c->board;
}
struct event_ring *control_events(struct control *c)
{
    return &c->events;
}
struct shadow *control_shadow(struct control *c)
{
    (void)c;
    return NULL;
}

struct metrics *control_metrics(struct control *c)
{
    return &c->metrics;
}
struct history *control_history(struct control *c)
{
    (void)c;
    return NULL; /* no test here asks for what needs it */
}
struct decisions *control_decisions(struct control *c)
{
    (void)c;
    return NULL;
}

static void publish(struct control *c)
{
    struct status_page *p = world_page_new();
    struct snapshot *f = world_snapshot(&p->arena);
    struct status_request *r = ARENA_ARRAY(&p->arena, struct status_request,
                                           c->n);

    for (uint32_t i = 0; i < c->n; i++) {
        world_ask(&p->arena, f, c->owner[i], c->body[i]);
        r[i] = (struct status_request){arena_strdup(&p->arena, c->owner[i]),
                                       arena_strdup(&p->arena, c->body[i]),
                                       WORLD_NOW,
                                       c->expires[i],
                                       "",
                                       ""};
    }
    if (c->protected_)
        ((struct snap_node *)f->nodes)[2].hold = REASON_KEEP_PROTECTED;
    p->snapshot = f;
    p->requests = r;
    p->n_requests = c->n;
    p->tick = ++c->tick;
    world_plan(p);
    status_publish(&c->board, p);
    atomic_fetch_add(&c->metrics.ticks, 1);
}

static void fold(struct control *c, struct command *cmd)
{
    uint32_t i = 0;

    cmd->status = ST_OK;
    while (i < c->n && strcmp(c->owner[i], cmd->owner) != 0)
        i++;
    switch (cmd->kind) {
    case COMMAND_REQUEST_PUT:
        c->n += i == c->n;
        snprintf(c->owner[i], sizeof c->owner[i], "%s", cmd->owner);
        snprintf(c->body[i], sizeof c->body[i], "%s", cmd->body);
        c->expires[i] = cmd->expires_ms;
        event_add(&c->events, WORLD_NOW, "request.set", cmd->owner, "", "x");
        break;
    case COMMAND_REQUEST_DROP:
        if (i == c->n) {
            cmd->status = err_set(&cmd->err, ST_NOT_FOUND, "no request");
            break;
        }
        c->n--;
        memmove(&c->owner[i], &c->owner[i + 1],
                sizeof c->owner[0] * (c->n - i));
        memmove(&c->body[i], &c->body[i + 1], sizeof c->body[0] * (c->n - i));
        break;
    case COMMAND_PROTECT:
    case COMMAND_CORDON:
    case COMMAND_DRAIN: c->protected_ = cmd->on; break;
    case COMMAND_RELOAD:
        cmd->status = err_set(&cmd->err, ST_INVALID, "davit.yaml:3:1: bad");
        break;
    case COMMAND_APPLY:
    case COMMAND_RELEASE:
        if (c->nothing_held)
            cmd->status = err_set(&cmd->err, ST_NOT_FOUND, "nothing is held");
        cmd->count = 12;
        break;
    case COMMAND_ADOPT:
    case COMMAND_FORGET:
        snprintf(c->machine, sizeof c->machine, "%s", cmd->machine);
        cmd->count = *cmd->machine ? 1 : 12;
        break;
    }
}

static void *loop(void *arg)
{
    struct control *c = arg;

    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        struct mail *m, *next, *first;

        while (!c->stop && (c->held || !c->work))
            pthread_cond_wait(&c->wake, &c->lock);
        c->work = false;
        if (c->stop || c->held)
            continue;
        pthread_mutex_unlock(&c->lock);
        first = mailbox_take(&c->inbox);
        for (m = first; m; m = m->next) {
            assert_int_equal(m->kind, COMMAND_MAIL);
            fold(c, (struct command *)m);
        }
        publish(c);
        for (m = first; m; m = next) {
            struct command *cmd = (struct command *)m;

            next = m->next;
            cmd->seen = cmd->status == ST_OK ? status_get(&c->board) : NULL;
            cmd->done(cmd);
        }
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void wake(void *arg)
{
    struct control *c = arg;

    pthread_mutex_lock(&c->lock);
    c->work = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

static void hold(struct control *c, bool on)
{
    pthread_mutex_lock(&c->lock);
    c->held = on;
    c->work = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

static int mail_there(struct control *c)
{
    int there = 0;

    pthread_mutex_lock(&c->inbox.lock);
    for (const struct mail *m = c->inbox.first; m; m = m->next)
        there++;
    pthread_mutex_unlock(&c->inbox.lock);
    return there;
}

/* Until so many commands lie in its mailbox. */
static void await_mail(struct control *c, int n)
{
    UNTIL(mail_there(c) >= n);
}

static void control_open(struct control *c)
{
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    mailbox_init(&c->inbox, wake, c);
    status_board_init(&c->board);
    event_ring_init(&c->events, 1);
    publish(c);
    pthread_create(&c->thread, NULL, loop, c);
}

static void control_shut(struct control *c)
{
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    for (struct mail *m = mailbox_take(&c->inbox), *next; m; m = next) {
        struct command *cmd = (struct command *)m;

        next = m->next; /* too late: the server is gone */
        cmd->status = ST_CANCELLED;
        cmd->done(cmd);
    }
    mailbox_done(&c->inbox);
    status_board_done(&c->board);
    event_ring_done(&c->events);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
}

/* ---- the server under test */

static struct control control;
static struct server *server;
static struct config config;

static void conf_reset(void)
{
    config = (struct config){.api_host = "127.0.0.1",
                             .api_token_file = "",
                             .api_tls_cert = "",
                             .api_tls_key = "",
                             .api_client_ca = "",
                             .api_tokens = "",
                             .api_socket = "",
                             .api_audit = ""};
}

static void start(void)
{
    struct err err;

    control_open(&control);
    if (server_start(&config, &control, &server, &err) != ST_OK)
        fail_msg("server_start: %s", err.text);
}

static void stop(void)
{
    server_stop(server);
    server = NULL;
    control_shut(&control);
}

static int setup(void **state)
{
    (void)state;
    conf_reset();
    start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    return 0;
}

/* ---- a client */

struct reply {
    long code;
    char *text, *headers;
    json_t *json;
};

static size_t collect(char *data, size_t size, size_t n, void *arg)
{
    char **to = arg;
    size_t old = *to ? strlen(*to) : 0;

    *to = realloc(*to, old + size * n + 1);
    memcpy(*to + old, data, size * n);
    (*to)[old + size * n] = '\0';
    return size * n;
}

static struct reply call_with(const char *method, const char *path,
                              const char *body, const char *const *headers)
{
    CURL *h = curl_easy_init();
    struct curl_slist *list = NULL;
    struct reply r = {0};
    char url[2048];
    CURLcode rc;

    snprintf(url, sizeof url, "%s://127.0.0.1:%u%s",
             config.api_tls_cert[0] ? "https" : "http", server_port(server),
             path);
    curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(h, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(h, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 0L);
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(h, CURLOPT_NOBODY, 1L);
    if (body)
        curl_easy_setopt(h, CURLOPT_POSTFIELDS, body);
    for (; headers && *headers; headers++)
        list = curl_slist_append(list, *headers);
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(h, CURLOPT_WRITEDATA, &r.text);
    curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, collect);
    curl_easy_setopt(h, CURLOPT_HEADERDATA, &r.headers);
    rc = curl_easy_perform(h);
    if (rc != CURLE_OK)
        fail_msg("%s %s: %s", method, path, curl_easy_strerror(rc));
    curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &r.code);
    curl_slist_free_all(list);
    curl_easy_cleanup(h);
    if (r.text && (r.text[0] == '{' || r.text[0] == '['))
        r.json = json_loads(r.text, JSON_REJECT_DUPLICATES, NULL);
    return r;
}

static struct reply call(const char *method, const char *path, const char *body)
{
    return call_with(method, path, body, NULL);
}

static void drop(struct reply *r)
{
    free(r->text);
    free(r->headers);
    json_decref(r->json);
    *r = (struct reply){0};
}

static void expect(const char *method, const char *path, const char *body,
                   long code, const char *part)
{
    struct reply r = call(method, path, body);

    if (r.code != code)
        fail_msg("%s %s: %ld, not %ld: %s", method, path, r.code, code, r.text);
    if (part && !(r.text && strstr(r.text, part)))
        fail_msg("%s %s: no %s in %s", method, path, part, r.text);
    if (code >= 400 && !(r.json && json_object_get(r.json, "error")))
        fail_msg("%s %s: no error body: %s", method, path, r.text);
    drop(&r);
}

static bool truth(const struct reply *r, const char *key)
{
    return json_is_true(json_object_get(r->json, key));
}

/* ---- tests */

static void reads(void **state)
{
    (void)state;
    expect("GET", "/v1/status", NULL, 200, "\"cluster\":\"test\"");
    expect("GET", "/v1/nodes", NULL, 200, "\"t4-2\"");
    expect("GET", "/v1/nodes/", NULL, 200, "\"t4-2\"");
    expect("GET", "/v1/nodes?type=t4&state=ready", NULL, 200, "\"t4-1\"");
    expect("GET", "/v1/nodes?state=asleep", NULL, 400, "starting");
    expect("GET", "/v1/nodes/t4-1", NULL, 200, "\"idle_wait\"");
    expect("GET", "/v1/nodes/ddeeff", NULL, 200, "\"t4-1\"");
    expect("GET", "/v1/nodes/nope", NULL, 404, "nope");
    expect("GET", "/v1/why/t4-1", NULL, 200, "\"node\"");
    expect("GET", "/v1/why/nobody", NULL, 404, "no node, node type");
    expect("GET", "/v1/snapshot", NULL, 200, "\"node_types\"");
    expect("GET", "/v1/request_resources", NULL, 200, "\"requests\":[]");
    expect("GET", "/v1/request_resources/x", NULL, 404, "x");
    expect("GET", "/metrics", NULL, 200, "davit_http_replies_total");
    expect("GET", "/openapi.json", NULL, 200, "\"openapi\": \"3.1.0\"");
    expect("GET", "/", NULL, 200, "<!doctype html>");
    expect("GET", "/healthz", NULL, 200, "\"ok\"");
    expect("GET", "/livez", NULL, 200, "\"ok\"");
    expect("GET", "/health-check", NULL, 200, "\"ok\"");
    expect("GET", "/readyz", NULL, 200, "\"ok\"");
    expect("HEAD", "/v1/status", NULL, 200, NULL);
}

static void refusals(void **state)
{
    static const char *const gzip[] = {"Content-Encoding: gzip", NULL};
    struct reply r;

    (void)state;
    expect("GET", "/v1/statsu", NULL, 404, "did you mean /v1/status");
    expect("GET", "/v2", NULL, 404, "/v1/request_resources");
    expect("PUT", "/v1/status", "{}", 405, "GET, HEAD");
    expect("DELETE", "/v1/plan", NULL, 405, "POST");
    r = call("OPTIONS", "/v1/request_resources", NULL);
    assert_int_equal(r.code, 204);
    assert_non_null(strstr(r.headers, "Allow: POST, GET, HEAD, OPTIONS"));
    drop(&r);
    expect("POST", "/v1/request_resources", "", 400, "body");
    expect("POST", "/v1/request_resources", "{\"bundles\":[", 400, "line 1");
    expect("POST", "/v1/request_resources", "{\"bundles\":[{\"GPU\":-1}]}", 400,
           "bundles[0]");
    expect("POST", "/v1/request_resources", "{\"bundels\":[]}", 400, "bundles");
    expect("POST", "/v1/request_resources",
           "{\"owner\":\"ray\",\"bundles\":[]}", 400, "sdk");
    expect("DELETE", "/v1/request_resources/ray", NULL, 400, "sdk");
    expect("DELETE", "/v1/request_resources/nobody", NULL, 404, "request");
    expect("POST", "/v1/reload", "", 400, "davit.yaml:3:1: bad");
    expect("GET", "/v1/events?after=x", NULL, 400, "after");
    r = call_with("POST", "/v1/request_resources", "xyz", gzip);
    assert_int_equal(r.code, 415);
    drop(&r);
    expect("GET", "/v1/events?format=xml", NULL, 400, "format");
}

static void a_request_lives(void **state)
{
    struct reply r;

    (void)state;
    r = call("POST", "/v1/request_resources",
             "{\"owner\":\"a\",\"bundles\":[{\"GPU\":1}],\"ttl\":\"30m\"}");
    assert_int_equal(r.code, 200);
    assert_true(truth(&r, "satisfied"));
    assert_true(json_is_string(json_object_get(r.json, "expires_at")));
    drop(&r);
    r = call("POST", "/v1/request_resources",
             "{\"owner\":\"b\",\"bundles\":[{\"GPU\":1,\"count\":3}]}");
    assert_int_equal(r.code, 202);
    assert_true(truth(&r, "feasible"));
    assert_false(truth(&r, "satisfied"));
    drop(&r);
    r = call("POST", "/v1/request_resources", "{\"bundles\":[{\"GPU\":64}]}");
    assert_int_equal(r.code, 202);
    assert_false(truth(&r, "feasible"));
    assert_string_equal(json_string_value(json_object_get(r.json, "owner")),
                        "default");
    drop(&r);
    expect("GET", "/v1/request_resources/a", NULL, 200, "\"GPU\":1");
    expect("GET", "/v1/request_resources", NULL, 200, "\"owner\":\"b\"");
    expect("GET", "/v1/why/default", NULL, 200, "never be placed");
    expect("DELETE", "/v1/request_resources/a", NULL, 200, "\"cleared\":true");
    expect("GET", "/v1/request_resources/a", NULL, 404, NULL);
    expect("POST", "/v1/request_resources", "{\"owner\":\"b\",\"bundles\":[]}",
           200, "\"cleared\":true");
    /* once more: nothing to clear is no mistake, and it is said */
    expect("POST", "/v1/request_resources", "{\"owner\":\"b\",\"bundles\":[]}",
           200, "\"existed\":false");
    expect("POST", "/v1/request_resources",
           "{\"owner\":\"defualt\",\"bundles\":[]}", 200,
           "has no request; did you mean default?");
}

static void protection(void **state)
{
    (void)state;
    expect("POST", "/v1/nodes/ddeeff/protect", "", 200,
           "\"node\":\"t4-1\",\"protected\":true");
    expect("GET", "/v1/nodes/t4-1", NULL, 200, "\"protected\":true");
    expect("DELETE", "/v1/nodes/t4-1/protect", NULL, 200,
           "\"protected\":false");
    expect("POST", "/v1/nodes/head/protect", "", 400, "Ray head");
    expect("POST", "/v1/nodes/none/protect", "", 404, NULL);
}

static void of_machine(const char *path, const char *part, const char *machine)
{
    expect("POST", path, "", 200, part);
    assert_string_equal(control.machine, machine);
}

/* Each word reaches the loop as it is meant, and its answer comes back. */
static void what_is_held(void **state)
{
    (void)state;
    expect("POST", "/v1/apply", "", 200, "\"applied\":true");
    expect("POST", "/v1/release", "", 200,
           "{\"count\":12,\"text\":\"12 ends that were held go on");
    of_machine("/v1/adopt", "{\"count\":12,\"text\":\"12 machines are ours",
               "");
    of_machine("/v1/nodes/ddeeff/adopt",
               "{\"count\":1,\"text\":\"1 machine is ours", "t4-1");
    of_machine("/v1/nodes/t4-1/forget",
               "{\"count\":1,\"text\":\"t4-1 is forgotten", "t4-1");
    /* one that the page does not show */
    of_machine("/v1/nodes/t4-9/forget", "t4-9 is forgotten", "t4-9");
    control.nothing_held = true;
    expect("POST", "/v1/apply", "", 404, "nothing is held");
    expect("POST", "/v1/release", "", 404, "nothing is held");
}

static void what_if(void **state)
{
    struct reply problem, r;

    (void)state;
    r = call("POST", "/v1/plan", "{\"bundles\":[{\"GPU\":1,\"count\":3}]}");
    assert_int_equal(r.code, 200);
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(r.json, "request"), "launched")),
                     1);
    drop(&r);
    /* without effect */
    expect("GET", "/v1/request_resources", NULL, 200, "\"requests\":[]");
    problem = call("GET", "/v1/snapshot", NULL);
    r = call("POST", "/v1/plan", problem.text);
    assert_int_equal(r.code, 200);
    assert_true(json_is_null(json_object_get(r.json, "request")));
    assert_true(json_is_object(json_object_get(r.json, "plan")));
    drop(&r);
    drop(&problem);
    expect("POST", "/v1/plan", "{\"types\":3}", 400, "types");
    expect("POST", "/v1/plan", "[", 400, "body");
}

/* As a header that asks for it again. */
static json_int_t known(const char *path, char *header, size_t n)
{
    struct reply r = call("GET", path, NULL);
    char *etag = strstr(r.headers, "ETag: ");
    json_int_t tick = json_integer_value(json_object_get(r.json, "tick"));

    assert_non_null(etag);
    snprintf(header, n, "If-None-Match: %.*s", (int)strcspn(etag + 6, "\r\n"),
             etag + 6);
    drop(&r);
    return tick;
}

static void a_page_of_nodes_is_cached_for_a_tick(void **state)
{
    struct reply r;
    char header[200];
    const char *list[2] = {header, NULL};
    json_int_t tick = known("/v1/nodes?limit=50", header, sizeof header);

    (void)state;
    r = call_with("GET", "/v1/nodes?limit=50", NULL, list);
    assert_int_equal(r.code, 304);
    drop(&r);
    wake(&control);
    UNTIL((drop(&r), r = call_with("GET", "/v1/nodes?limit=50", NULL, list))
              .code == 200);
    assert_true(json_integer_value(json_object_get(r.json, "tick")) > tick);
    drop(&r);
}

/* It is not the same as before when it is older than before. */
static void an_age_is_told_within_a_tick(void **state)
{
    static const char *const paths[] = {"/v1/status", "/v1/nodes"};
    struct reply r = {0};
    char header[200];
    const char *list[2] = {header, NULL};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        json_int_t tick = known(paths[i], header, sizeof header);

        UNTIL((drop(&r), r = call_with("GET", paths[i], NULL, list)).code ==
              200);
        assert_true(json_integer_value(json_object_get(r.json, "tick")) ==
                    tick);
    }
    drop(&r);
}

static json_int_t tick_of(const char *path)
{
    struct reply r = call("GET", path, NULL);
    json_int_t tick = json_integer_value(json_object_get(r.json, "tick"));

    drop(&r);
    return tick;
}

/* What is made once for all is made anew for the next plan. */
static void a_shared_answer_is_of_the_last_plan(void **state)
{
    json_int_t tick = tick_of("/v1/status");

    (void)state;
    wake(&control);
    UNTIL(tick_of("/v1/status") > tick);
}

/* ---- raw sockets */

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)server_port(server)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static bool put(int fd, const char *s, size_t n)
{
    while (n > 0) {
        ssize_t k = send(fd, s, n, MSG_NOSIGNAL);

        if (k <= 0)
            return false;
        s += k;
        n -= (size_t)k;
    }
    return true;
}

/* Reads until the part is there; the rest is what was read. */
static bool read_until(int fd, const char *part, char *buf, size_t max)
{
    size_t n = 0;

    buf[0] = '\0';
    while (n + 1 < max && !strstr(buf, part)) {
        ssize_t k = recv(fd, buf + n, max - n - 1, 0);

        if (k <= 0)
            return false;
        n += (size_t)k;
        buf[n] = '\0';
    }
    return strstr(buf, part);
}

static void say(int fd, const char *s)
{
    assert_true(put(fd, s, strlen(s)));
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * 4;
}

static void a_body_of_100_mb(void **state)
{
    static char piece[1 << 20];
    char head[256], got[4096];
    long before = resident_kib();
    int fd = dial();

    (void)state;
    memset(piece, ' ', sizeof piece);
    snprintf(head, sizeof head,
             "POST /v1/request_resources HTTP/1.1\r\n"
             "Host: localhost\r\nContent-Length: %d\r\n\r\n",
             100 << 20);
    say(fd, head);
    for (int i = 0; i < 100; i++)
        assert_true(put(fd, piece, sizeof piece));
    assert_true(read_until(fd, "INVALID", got, sizeof got));
    assert_non_null(strstr(got, "413"));
    close(fd);
    assert_true(resident_kib() - before < 20 * 1024);
    /* chunked, its size not told */
    fd = dial();
    say(fd, "POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\n"
            "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10; i++) {
        say(fd, "100000\r\n");
        assert_true(put(fd, piece, sizeof piece));
        say(fd, "\r\n");
    }
    say(fd, "0\r\n\r\n");
    assert_true(read_until(fd, "INVALID", got, sizeof got));
    assert_non_null(strstr(got, "413"));
    close(fd);
    /* who asks first is told first */
    fd = dial();
    say(fd, "POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\n"
            "Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n");
    assert_true(read_until(fd, "413", got, sizeof got));
    close(fd);
    expect("GET", "/healthz", NULL, 200, NULL);
}

static void slow_clients_stop_nobody(void **state)
{
    int fds[40];
    char got[256];

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        fds[i] = dial();
        say(fds[i], i % 2 ? "POST /v1/request_resources HTTP/1.1\r\n"
                            "Host: localhost\r\nContent-Length: 900\r\n\r\n{"
                          : "GET /v1/sta");
    }
    for (int i = 0; i < 20; i++)
        expect("GET", "/v1/status", NULL, 200, NULL);
    say(fds[0], "tus HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(read_until(fds[0], "200 OK", got, sizeof got));
    for (size_t i = 0; i < 40; i++)
        close(fds[i]);
}

static void browsers_of_other_sites(void **state)
{
    static const struct {
        const char *header;
        long code;
    } cases[] = {
        {"Host: evil.example", 403},
        {"Host: evil.example:8790", 403},
        {"Host: localhost.evil.example", 403},
        {"Host: 127.0.0.1.evil.example", 403},
        {"Host: localhost", 200},
        {"Host: LOCALHOST:1", 200},
        {"Host: [::1]:8790", 200},
        {"Origin: http://evil.example", 403},
        {"Origin: null", 403},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *list[2] = {cases[i].header, NULL};
        struct reply r = call_with("GET", "/v1/status", NULL, list);

        if (r.code != cases[i].code)
            fail_msg("%s: %ld", cases[i].header, r.code);
        drop(&r);
    }
    {
        const char *list[3] = {"Host: localhost:8790",
                               "Origin: http://localhost:8790", NULL};
        const char *twice[4] = {list[0], list[1], "Origin: http://evil.example",
                                NULL};
        struct reply r = call_with("GET", "/v1/status", NULL, list);

        assert_int_equal(r.code, 200);
        drop(&r);
        r = call_with("GET", "/v1/status", NULL, twice);
        assert_int_equal(r.code, 400);
        drop(&r);
    }
}

/* ---- events */

static void events_stream(void **state)
{
    char got[8192];
    int fd = dial();

    (void)state;
    event_add(&control.events, WORLD_NOW, "node.ready", "n0", "", "before");
    say(fd, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(read_until(fd, "retry: 2000", got, sizeof got));
    assert_non_null(strstr(got, "text/event-stream"));
    event_add(&control.events, WORLD_NOW, "node.ready", "n1", "idle",
              "two\nlines");
    assert_true(read_until(fd, "\n\n", got, sizeof got));
    assert_non_null(strstr(got, "id: 2\nevent: node.ready\ndata: {"));
    assert_non_null(strstr(got, "two\\nlines"));
    for (int i = 0; i < 200; i++)
        event_add(&control.events, WORLD_NOW, "x", "s", "",
                  i == 199 ? "LAST" : "");
    {
        static char big[200000];

        assert_true(read_until(fd, "LAST", big, sizeof big));
        for (int i = 3; i < 202; i++) {
            char id[32];

            snprintf(id, sizeof id, "id: %d\n", i);
            if (!strstr(big, id))
                fail_msg("event %d is missing", i);
        }
    }
    close(fd);
    fd = dial();
    say(fd, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n"
            "Last-Event-ID: 201\r\n\r\n");
    assert_true(read_until(fd, "LAST", got, sizeof got));
    assert_null(strstr(got, "id: 201\n"));
    close(fd);
    expect("GET", "/v1/events?format=json&after=0&limit=1", NULL, 200,
           "\"next\":1,\"missed\":false");
    expect("GET", "/v1/events?format=json&after=202", NULL, 200,
           "\"events\":[],\"next\":202");
    for (int i = 0; i < 1100; i++)
        event_add(&control.events, WORLD_NOW, "x", "s", "", "");
    expect("GET", "/v1/events?format=json&after=5", NULL, 200,
           "\"missed\":true");
}

static void events_without_a_lost_one(void **state)
{
    enum { N = 2000 };
    static char got[1 << 20];
    int fd = dial();
    size_t n = 0;
    char last[32];

    (void)state;
    say(fd, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(read_until(fd, "retry", got, sizeof got));
    /* one by one, each as soon as the one before was seen: every one finds
     * the listener going to sleep */
    for (int i = 1; i <= N; i++) {
        event_add(&control.events, WORLD_NOW, "k", "s", "", "");
        snprintf(last, sizeof last, "id: %d\n", i);
        if (!read_until(fd, last, got, sizeof got))
            fail_msg("event %d did not come", i);
        n++;
    }
    assert_int_equal(n, N);
    close(fd);
}

static void too_many_listeners(void **state)
{
    int fds[65];
    char got[1024];

    (void)state;
    for (int i = 0; i < 65; i++) {
        fds[i] = dial();
        say(fds[i], "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_true(
            read_until(fds[i], i < 64 ? "retry" : "503", got, sizeof got));
    }
    for (int i = 0; i < 65; i++)
        close(fds[i]);
}

/* ---- ends */

static void *late_post(void *arg)
{
    struct reply *r = arg;

    *r = call("POST", "/v1/request_resources", "{\"bundles\":[{\"GPU\":1}]}");
    return NULL;
}

/* The loop does not answer any more; who waits is told, and the command that
 * is still in its mailbox outlives the server. */
static void stop_with_waiting(void **state)
{
    enum { N = 8 };
    struct reply r[N];
    pthread_t t[N];
    char got[8192];
    int fd;

    (void)state;
    conf_reset();
    start();
    hold(&control, true);
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, late_post, &r[i]);
    fd = dial();
    say(fd, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(read_until(fd, "retry", got, sizeof got));
    await_mail(&control, N);
    stop();
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
        if (r[i].code != 503 || !strstr(r[i].text, "stopping"))
            fail_msg("%ld %s", r[i].code, r[i].text);
        drop(&r[i]);
    }
    assert_false(read_until(fd, "never", got, sizeof got)); /* closed */
    close(fd);
}

static void a_client_that_leaves(void **state)
{
    char got[1024];
    int fd = dial();

    (void)state;
    hold(&control, true);
    say(fd, "POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Length: 25\r\n\r\n{\"bundles\":[{\"GPU\":1.0}]}");
    await_mail(&control, 1);
    close(fd);
    hold(&control, false);
    expect("GET", "/healthz", NULL, 200, NULL);
    fd = dial();
    say(fd, "GET /v1/status HTTP/1.0\r\n\r\n");
    assert_true(read_until(fd, "200 OK", got, sizeof got));
    close(fd);
}

static char *file_with(const char *text)
{
    static char path[256];
    int fd;

    scratch_path(path, "davit-test-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static void rewrite(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    fputs(text, f);
    fclose(f);
}

/* ---- the audit */

static bool audit_has(const char *const *headers, const char *subject,
                      long code)
{
    struct reply r = call_with("GET", "/v1/audit?after=0", NULL, headers);
    json_t *e, *list = json_object_get(r.json, "entries");
    bool has = false;
    size_t i;

    assert_int_equal(r.code, 200);
    json_array_foreach(list, i, e)
        has |= strcmp(json_string_value(json_object_get(e, "subject")),
                      subject) == 0 &&
               (code < 0 ||
                json_integer_value(json_object_get(e, "code")) == code);
    drop(&r);
    return has;
}

/* Who hangs up before his answer, by a FIN or by a RST, is in the audit. */
static void a_change_of_one_who_leaves(void **state)
{
    static const struct linger now = {.l_onoff = 1};
    char text[300], owner[32];
    int fds[8];

    (void)state;
    hold(&control, true);
    for (int i = 0; i < 8; i++) {
        fds[i] = dial();
        snprintf(text, sizeof text,
                 "POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\n"
                 "Content-Length: 42\r\n\r\n"
                 "{\"owner\":\"leaves-%d\",\"bundles\":[{\"GPU\":1}]}",
                 i);
        say(fds[i], text);
    }
    await_mail(&control, 8);
    for (int i = 0; i < 8; i++) {
        if (i % 2)
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(fds[i]);
    }
    hold(&control, false);
    for (int i = 0; i < 8; i++) {
        snprintf(owner, sizeof owner, "leaves-%d", i);
        UNTIL(audit_has(NULL, owner, -1));
    }
}

static void line_of(char *to, size_t n, const char *name, const char *rights)
{
    unsigned char d[32];
    char token[64];
    size_t at;

    snprintf(token, sizeof token, "token-of-%s", name);
    SHA256((const unsigned char *)token, strlen(token), d);
    at = (size_t)snprintf(to, n, "%s sha256:", name);
    for (int i = 0; i < 32; i++)
        at += (size_t)snprintf(to + at, n - at, "%02x", d[i]);
    snprintf(to + at, n - at, " %s\n", rights);
}

static const char *const as_ops[2] = {"Authorization: Bearer token-of-ops",
                                      NULL};
static const char *const as_ci[2] = {"Authorization: Bearer token-of-ci", NULL};

static void *post_as_ci(void *arg)
{
    struct reply *r = arg;

    *r = call_with("POST", "/v1/request_resources",
                   "{\"owner\":\"ci-1\",\"bundles\":[{\"GPU\":1}]}", as_ci);
    return NULL;
}

static long code_of_ci(const char *method, const char *path, const char *body)
{
    struct reply r = call_with(method, path, body, as_ci);
    long code = r.code;

    drop(&r);
    return code;
}

/* His right ends before the answer: he hears 401, and it took effect. */
static void a_change_whose_right_ends(void **state)
{
    static char path[256];
    char text[512];
    int64_t began;
    struct reply r;
    pthread_t t;

    (void)state;
    conf_reset();
    line_of(text, sizeof text, "ops", "admin");
    line_of(text + strlen(text), sizeof text - strlen(text), "ci",
            "request:ci-*");
    snprintf(path, sizeof path, "%s", file_with(text));
    config.api_tokens = path;
    start();
    /* what is refused names its owner as well */
    assert_int_equal(code_of_ci("POST", "/v1/request_resources",
                                "{\"owner\":\"ops-1\",\"num_cpus\":1}"),
                     403);
    assert_true(audit_has(as_ops, "ops-1", 403));
    hold(&control, true);
    began = clock_mono_ms();
    pthread_create(&t, NULL, post_as_ci, &r);
    await_mail(&control, 1);
    line_of(text, sizeof text, "ops", "admin");
    rewrite(path, text);
    UNTIL(code_of_ci("GET", "/v1/request_resources/ci-1", NULL) == 401);
    /* a younger request is not judged again */
    UNTIL(clock_mono_ms() - began > 1500);
    hold(&control, false);
    pthread_join(t, NULL);
    assert_int_equal(r.code, 401);
    drop(&r);
    assert_int_equal(control.n, 1);
    assert_true(audit_has(as_ops, "ci-1", 401));
    /* and who is nobody is in no audit */
    assert_int_equal(code_of_ci("DELETE", "/v1/request_resources/ci-2", NULL),
                     401);
    assert_false(audit_has(as_ops, "ci-2", -1));
    stop();
    unlink(path);
}

/* ---- tokens, TLS, addresses */
/* The new token is good within seconds; an emptied file leaves the old one. */
static void token_changes(void)
{
    const char *list[2] = {"Authorization: Bearer battery-staple", NULL};
    struct reply r = {0};

    rewrite(config.api_token_file, "battery-staple\n");
    for (int i = 0; i < 60 && r.code != 200; i++) {
        usleep(1000000); /* wait: each too early is a failed login */
        drop(&r);
        r = call_with("GET", "/v1/status", NULL, list);
    }
    assert_int_equal(r.code, 200);
    drop(&r);
    rewrite(config.api_token_file, "");
    usleep(2500000); /* wait: nothing tells that it was looked at in vain */
    r = call_with("GET", "/v1/status", NULL, list);
    assert_int_equal(r.code, 200);
    drop(&r);
}

static void tokens(void **state)
{
    static const struct {
        const char *header;
        long code;
    } cases[] = {
        {"X: y", 401},
        {"Authorization: Bearer wrong", 401},
        {"Authorization: Bearer correct-horse ", 200},
        {"Authorization: bearer correct-horse", 200},
        {"Authorization: Bearer correct-horse2", 401},
        {"Authorization: Bearer correct-hors", 401},
        {"Authorization: correct-horse", 401},
        {"Authorization: Basic correct-horse", 401},
        {"Authorization: Bearer", 401},
    };
    static const char *const closed[] = {
        "/v1/status", "/metrics",   "/openapi.json", "/v1/nodes",
        "/nowhere",   "/v1/events", "/v1/snapshot"};
    static const char *const open[] = {"/healthz", "/livez", "/readyz", "/",
                                       "/health-check"};
    struct reply r;

    (void)state;
    conf_reset();
    config.api_token_file = file_with("correct-horse\n");
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *list[2] = {cases[i].header, NULL};

        r = call_with("GET", "/v1/status", NULL, list);
        if (r.code != cases[i].code)
            fail_msg("%s: %ld", cases[i].header, r.code);
        if (r.code == 401)
            assert_non_null(strstr(r.headers, "WWW-Authenticate: Bearer"));
        drop(&r);
    }
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        expect("GET", closed[i], NULL, 401, "AUTH");
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        expect("GET", open[i], NULL, 200, NULL);
    expect("POST", "/v1/request_resources", "{\"num_cpus\":1}", 401, NULL);
    expect("POST", "/v1/reload", "", 401, NULL);
    assert_int_equal(control.n, 0);
    token_changes();
    stop();
    unlink(config.api_token_file);
}

static void refuse_start(const char *host, const char *part)
{
    struct err err;

    config.api_host = host;
    assert_int_not_equal(server_start(&config, &control, &server, &err), ST_OK);
    assert_null(server);
    if (!strstr(err.text, part))
        fail_msg("%s: \"%s\" lacks \"%s\"", host, err.text, part);
}

static void unsafe_addresses(void **state)
{
    (void)state;
    conf_reset();
    control_open(&control);
    refuse_start("0.0.0.0", "token_file");
    refuse_start("::", "token_file");
    refuse_start("192.0.2.1", "api.tokens");
    config.api_token_file = "/nonexistent/token";
    refuse_start("127.0.0.1", "/nonexistent/token");
    config.api_token_file = file_with("short\n");
    refuse_start("127.0.0.1", "at least 8");
    unlink(config.api_token_file);
    config.api_token_file = "";
    config.api_tls_cert = "/nonexistent/cert";
    refuse_start("127.0.0.1", "tls_key is missing");
    config.api_tls_key = "/nonexistent/key";
    refuse_start("127.0.0.1", "/nonexistent/cert");
    control_shut(&control);
}

static void a_port_in_use(void **state)
{
    struct server *other;
    struct err err;
    uint32_t port = server_port(server);

    (void)state;
    config.api_port = port;
    assert_int_equal(server_start(&config, &control, &other, &err), ST_RETRY);
    assert_non_null(strstr(err.text, "another davit"));
    config.api_port = 0;
}

static void tls(void **state)
{
    char cert[64], key[64], cmd[400];

    (void)state;
    conf_reset();
    snprintf(cert, sizeof cert, "%s", file_with(""));
    snprintf(key, sizeof key, "%s", file_with(""));
    snprintf(cmd, sizeof cmd,
             "openssl req -x509 -newkey rsa:2048 -nodes -days 1 "
             "-subj /CN=localhost -keyout %s -out %s 2>/dev/null",
             key, cert);
    assert_int_equal(system(cmd), 0);
    config.api_tls_cert = cert;
    config.api_tls_key = key;
    start();
    expect("GET", "/v1/status", NULL, 200, "\"cluster\"");
    expect("POST", "/v1/request_resources", "{\"num_cpus\":1}", 200,
           "satisfied");
    stop();
    unlink(cert);
    unlink(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_lives, setup, teardown),
        cmocka_unit_test_setup_teardown(protection, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_held, setup, teardown),
        cmocka_unit_test_setup_teardown(what_if, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_of_nodes_is_cached_for_a_tick,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_shared_answer_is_of_the_last_plan,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_age_is_told_within_a_tick, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_body_of_100_mb, setup, teardown),
        cmocka_unit_test_setup_teardown(slow_clients_stop_nobody, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(browsers_of_other_sites, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(events_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(events_without_a_lost_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(too_many_listeners, setup, teardown),
        cmocka_unit_test(stop_with_waiting),
        cmocka_unit_test_setup_teardown(a_client_that_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_of_one_who_leaves, setup,
                                        teardown),
        cmocka_unit_test(a_change_whose_right_ends),
        cmocka_unit_test(tokens),
        cmocka_unit_test(unsafe_addresses),
        cmocka_unit_test_setup_teardown(a_port_in_use, setup, teardown),
        cmocka_unit_test(tls),
    };

    curl_global_init(CURL_GLOBAL_DEFAULT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
