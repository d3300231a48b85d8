/*
 * test_wire_grpc.c - unary calls against HTTP/2 servers right and wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <poll.h>
#include <cmocka.h>

#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/wire/grpc.h"
#include "wire_server.h"

struct fixture {
    struct http_client *c;
    struct arena arena;
    struct err err;
};

static int up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->c = http_client_new();
    *state = f;
    return 0;
}

static int down(void **state)
{
    struct fixture *f = *state;
    http_client_free(f->c);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static enum status call(struct fixture *f, struct server *s,
                        struct grpc_call *c)
{
    c->client = f->c;
    c->base = s->url;
    c->path = "/pkg.Service/Method";
    if (!c->deadline_mono_ms)
        c->deadline_mono_ms = clock_mono_ms() + 20000;
    f->err = (struct err){0};
    enum status st = grpc_do(c, &f->arena, &f->err);
    if (getenv("SHOW"))
        fprintf(stderr, "%d %s\n", st, f->err.text);
    return st;
}

/* Gives the message back. */
static bool answer_echo(struct server *s, int fd, unsigned stream, int n)
{
    (void)n;
    h2_reply(fd, stream, s->body + 5, s->body_len - 5);
    return true;
}

static void serve_echo(struct server *s, int fd)
{
    h2_serve(s, fd, answer_echo);
}

static void test_many_on_one_connection(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_echo, NULL);
    for (int i = 0; i < 50; i++) {
        char text[20];
        snprintf(text, sizeof text, "m%d", i);
        struct grpc_call c = {.message = text, .message_len = strlen(text)};
        assert_int_equal(call(f, s, &c), ST_OK);
        assert_int_equal(c.code, GRPC_OK);
        assert_int_equal(c.reply_len, strlen(text));
        assert_memory_equal(c.reply, text, strlen(text));
    }
    struct grpc_call empty = {.message = ""};
    assert_int_equal(call(f, s, &empty), ST_OK);
    assert_int_equal(empty.reply_len, 0);
    assert_int_equal(s->body_len, 5);
    assert_memory_equal(s->body, "\0\0\0\0", 5);
    assert_int_equal(atomic_load(&s->n), 1);
    server_free(s);
}

/* The other side goes away between calls: one more connection, no error. */
static void test_server_restarts(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_echo, NULL);
    for (int i = 0; i < 4; i++) {
        struct grpc_call c = {.message = "x", .message_len = 1};
        assert_int_equal(call(f, s, &c), ST_OK);
        struct grpc_call d = {.message = "y", .message_len = 1};
        assert_int_equal(call(f, s, &d), ST_OK);
        assert_memory_equal(d.reply, "y", 1);
        server_stop(s);
        if (i == 2) { /* away during a call */
            struct grpc_call e = {.message = "z", .message_len = 1};
            assert_int_equal(call(f, s, &e), ST_RETRY);
            assert_int_equal(e.code, GRPC_NO_CODE);
        }
        server_listen(s);
    }
    server_free(s);
}

static void test_server_hangs_up_between_calls(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_echo, NULL);
    for (int i = 0; i < 10; i++) {
        struct grpc_call c = {.message = "x", .message_len = 1};
        assert_int_equal(call(f, s, &c), ST_OK);
        server_hang_up(s);
    }
    server_free(s);
}

/* Every second request has no answer: in turn its connection ends, and is
 * broken. */
static bool answer_every_second(struct server *s, int fd, unsigned stream,
                                int n)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};

    if (n % 2 == 0)
        return answer_echo(s, fd, stream, n);
    if (n % 4 == 1)
        connect(fd, &none, sizeof none); /* sends a reset */
    return false;
}

static void serve_every_second(struct server *s, int fd)
{
    h2_serve(s, fd, answer_every_second);
}

/* curl asks again by itself or says so, and the next call is good. */
static void test_server_hangs_up_during_a_call(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_every_second, NULL);
    enum status last = ST_RETRY; /* the first one has an answer */
    while (atomic_load(&s->calls) < 20) {
        struct grpc_call c = {.message = "x", .message_len = 1};
        enum status st = call(f, s, &c);
        assert_true(st == ST_OK || (st == ST_RETRY && last == ST_OK));
        last = st;
    }
    server_free(s);
}

static bool answer_large(struct server *s, int fd, unsigned stream, int n)
{
    (void)s;
    (void)n;
    size_t len = 3000000;
    char *p = malloc(len);
    memset(p, 'l', len);
    h2_reply(fd, stream, p, len);
    free(p);
    return true;
}

static void serve_large(struct server *s, int fd)
{
    h2_serve(s, fd, answer_large);
}

static void test_large_and_too_large(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_large, NULL);
    struct grpc_call c = {.message = ""};
    assert_int_equal(call(f, s, &c), ST_OK);
    assert_int_equal(c.reply_len, 3000000);
    assert_int_equal(((const char *)c.reply)[2999999], 'l');
    struct grpc_call d = {.message = "", .max_reply = 1000000};
    assert_int_equal(call(f, s, &d), ST_BROKEN);
    assert_non_null(strstr(f->err.text, "more than 1000000 bytes"));
    server_free(s);
}

/* ---- what may come instead of an answer */

#define OK_HEAD ":status", "200", "content-type", "application/grpc+proto"

static bool answer_wrong(struct server *s, int fd, unsigned stream, int n)
{
    const char *how = s->arg;
    (void)n;
    if (strncmp(how, "code ", 5) == 0) {
        const char *text = strchr(how + 5, ' ');
        char code[16];
        snprintf(code, sizeof code, "%.*s", (int)(text - how - 5), how + 5);
        h2_refuse(fd, stream, code, text + 1);
        return true;
    }
    if (strcmp(how, "html") == 0) {
        h2_headers(fd, stream, false,
                   (const char *const[]){":status", "200", "content-type",
                                         "text/html", NULL});
        h2_frame(fd, H2_DATA, H2_END_STREAM, stream, "<html>", 6);
        return true;
    }
    if (strcmp(how, "502") == 0 || strcmp(how, "403") == 0) {
        h2_headers(fd, stream, true,
                   (const char *const[]){":status", how, NULL});
        return true;
    }
    if (strcmp(how, "rst") == 0) {
        h2_frame(fd, H2_RST, 0, stream, "\0\0\0\2", 4);
        return true;
    }
    if (strcmp(how, "hang up") == 0)
        return false;
    if (strcmp(how, "silence") == 0)
        return true;
    h2_headers(fd, stream, false, (const char *const[]){OK_HEAD, NULL});
    if (strcmp(how, "compressed") == 0)
        h2_frame(fd, H2_DATA, 0, stream, "\1\0\0\0\1x", 6);
    else if (strcmp(how, "short frame") == 0)
        h2_frame(fd, H2_DATA, 0, stream, "\0\0\0", 3);
    else if (strcmp(how, "long frame") == 0)
        h2_frame(fd, H2_DATA, 0, stream, "\0\0\0\0\1xy", 7);
    else if (strcmp(how, "cut frame") == 0)
        h2_frame(fd, H2_DATA, 0, stream, "\0\0\0\0\5xy", 7);
    else if (strcmp(how, "lying frame") == 0)
        h2_frame(fd, H2_DATA, 0, stream, "\0\377\377\377\377xy", 7);
    else
        h2_frame(fd, H2_DATA,
                 strcmp(how, "no trailers") == 0 ? H2_END_STREAM : 0, stream,
                 "\0\0\0\0\1x", 6);
    if (strcmp(how, "bad status") == 0)
        h2_headers(fd, stream, true,
                   (const char *const[]){"grpc-status", "-7x", NULL});
    else if (strcmp(how, "late error") == 0)
        h2_headers(fd, stream, true,
                   (const char *const[]){"grpc-status", "8", "grpc-message",
                                         "too%20many", NULL});
    else if (strcmp(how, "no trailers") != 0)
        h2_headers(fd, stream, true,
                   (const char *const[]){"grpc-status", "0", NULL});
    return true;
}

static void serve_wrong(struct server *s, int fd)
{
    h2_serve(s, fd, answer_wrong);
}

static void test_wrong_answers(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *how;
        enum status status;
        int code;
        const char *says;
    } cases[] = {
        {"code 16 who%20are%20you", ST_AUTH, 16,
         "UNAUTHENTICATED (16): who are you"},
        {"code 7 no", ST_AUTH, 7, "PERMISSION_DENIED"},
        {"code 12 ", ST_UNSUPPORTED, 12, "Method answered UNIMPLEMENTED"},
        {"code 14 away", ST_RETRY, 14, "UNAVAILABLE"},
        {"code 4 late", ST_RETRY, 4, "DEADLINE_EXCEEDED"},
        {"code 8 full", ST_THROTTLED, 8, "RESOURCE_EXHAUSTED"},
        {"code 5 x", ST_NOT_FOUND, 5, "NOT_FOUND"},
        {"code 3 x", ST_INVALID, 3, "INVALID_ARGUMENT"},
        {"code 2 a%0Ab%00c%ff%e2%82%ac%2", ST_BROKEN, 2,
         "a?b?c?\xe2\x82\xac%2"},
        {"code 13 x", ST_BROKEN, 13, "INTERNAL"},
        {"code 99 x", ST_BROKEN, 99, "NO_CODE (99)"},
        {"late error", ST_THROTTLED, 8, "too many"},
        {"html", ST_INVALID, -1, "text/html"},
        {"502", ST_RETRY, -1, "HTTP 502"},
        {"403", ST_AUTH, -1, "HTTP 403"},
        {"rst", ST_RETRY, -1, "broke off"},
        {"hang up", ST_RETRY, -1, "broke off"},
        {"compressed", ST_BROKEN, 0, "flag 1"},
        {"short frame", ST_BROKEN, 0, "3 bytes"},
        {"long frame", ST_BROKEN, 0, "says 1 bytes and has 2"},
        {"cut frame", ST_BROKEN, 0, "says 5 bytes and has 2"},
        {"lying frame", ST_BROKEN, 0, "says 4294967295 bytes"},
        {"no trailers", ST_RETRY, -1, "before its status"},
        {"bad status", ST_RETRY, -1, "before its status"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server *s = server_start(serve_wrong,
                                        (void *)(uintptr_t)cases[i].how);
        struct grpc_call c = {.message = "", .label = "the head"};
        enum status st = call(f, s, &c);
        if (st != cases[i].status || c.code != (enum grpc_code)cases[i].code ||
            !strstr(f->err.text, cases[i].says) || f->err.status != st ||
            !strstr(f->err.text, "the head"))
            fail_msg("%s: status %s, code %d, \"%s\"", cases[i].how,
                     status_name(st), (int)c.code, f->err.text);
        assert_int_equal(c.reply_len, 0);
        if (c.code > 0 && c.code < 17)
            assert_string_equal(f->err.code, grpc_code_name(c.code));
        server_free(s);
    }
}

/* So many requests more are answered before curl sends their body. */
static atomic_int drops;

/* Answers from the head of the request and resets the stream; with an argument,
 * from the body when no answer is to be dropped. */
static void serve_early(struct server *s, int fd)
{
    char got[24], payload[1 << 14];
    unsigned char head[9];
    if (!get_all(fd, got, sizeof got))
        return;
    h2_frame(fd, H2_SETTINGS, 0, 0, "", 0);
    while (get_all(fd, head, sizeof head)) {
        size_t n = (size_t)head[1] << 8 | head[2];
        int from = s->arg && atomic_load(&drops) == 0 ? H2_DATA : H2_HEADERS;
        if (n > sizeof payload || !get_all(fd, payload, n))
            return;
        if (head[3] == H2_HEADERS)
            atomic_fetch_add(&s->calls, 1);
        if (head[3] != from)
            continue;
        h2_refuse(fd, head[8], "16", "InvalidAuthToken");
        h2_frame(fd, H2_RST, 0, head[8], "\0\0\0\0", 4);
    }
}

/* Until all of the answer to that stream has come: its reset is what came last. */
static void await_reset(int fd, unsigned char stream)
{
    const unsigned char reset[13] = {0, 0, 4, H2_RST, 0, 0, 0, 0, stream};
    unsigned char got[4096];
    ssize_t n;

    do {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        assert_int_equal(poll(&p, 1, 20000), 1);
        n = recv(fd, got, sizeof got, MSG_PEEK);
        assert_true(n > 0);
    } while (n < (ssize_t)sizeof reset ||
             memcmp(got + n - sizeof reset, reset, sizeof reset));
}

/* The stream whose request's head is among these frames; 0: there is none. */
static unsigned char head_among(const unsigned char *p, size_t n)
{
    for (size_t at = 0; at + 9 < n;) {
        if (p[at + 3] == H2_HEADERS && p[at + 8] % 2)
            return p[at + 8];
        at += 9 + ((size_t)p[at] << 16 | (size_t)p[at + 1] << 8 | p[at + 2]);
    }
    return 0;
}

/* In the place of the C library's, for curl. */
ssize_t send(int fd, const void *data, size_t n, int flags)
{
    unsigned char stream = atomic_load(&drops) > 0 ? head_among(data, n) : 0;
    ssize_t sent = sendto(fd, data, n, flags, NULL, 0);

    if (stream) {
        await_reset(fd, stream);
        atomic_fetch_sub(&drops, 1);
    }
    return sent;
}

static void refused_early(struct fixture *f, struct server *s)
{
    struct grpc_call c = {.message = ""};
    assert_int_equal(call(f, s, &c), ST_AUTH);
    assert_int_equal(c.code, GRPC_UNAUTHENTICATED);
}

static void test_answer_before_the_body(void **state)
{
    struct server *s = server_start(serve_early, NULL);
    for (int i = 0; i < 50; i++)
        refused_early(*state, s);
    server_free(s);
}

/* curl 7.88 drops an answer that is there before it sends the body; a later curl
 * has it at once. */
static void test_answer_is_dropped(void **state)
{
    struct fixture *f = *state;
    static const int lost[] = {0, 1, 4, 15, 1000};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        struct server *s = server_start(serve_early, "");
        struct grpc_call c = {.message = ""};
        atomic_store(&drops, lost[i]);
        enum status st = call(f, s, &c);
        atomic_store(&drops, 0);
        int calls = atomic_load(&s->calls);
        assert_true(calls == 1 || calls == (lost[i] < 16 ? lost[i] + 1 : 16));
        assert_true(st == ST_AUTH || (st == ST_RETRY && lost[i] >= 16));
        server_free(s);
    }
}

static void test_deadline(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_wrong, "silence");
    int64_t start = clock_mono_ms();
    struct grpc_call c = {.message = "", .deadline_mono_ms = start + 100};
    assert_int_equal(call(f, s, &c), ST_RETRY);
    assert_in_range(clock_mono_ms() - start, 90, 60000);
    server_free(s);
}

static bool answer_some(struct server *s, int fd, unsigned stream, int n)
{
    bool silent;

    pthread_mutex_lock(&s->lock);
    silent = s->body_len == 6 && s->body[5] == '-';
    pthread_mutex_unlock(&s->lock);
    return silent || answer_echo(s, fd, stream, n);
}

static void serve_some(struct server *s, int fd)
{
    h2_serve(s, fd, answer_some);
}

/* A call that was given up leaves a living connection behind. */
static void test_after_a_deadline(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_some, NULL);
    for (int i = 0; i < 9; i++) {
        struct grpc_call c = {.message = i % 3 == 1 ? "-" : "x",
                              .message_len = 1};
        if (i % 3 == 1)
            c.deadline_mono_ms = clock_mono_ms() + 60;
        assert_int_equal(call(f, s, &c), i % 3 == 1 ? ST_RETRY : ST_OK);
    }
    server_free(s);
}

static void serve_h1(struct server *s, int fd)
{
    (void)s;
    (void)fd;
    put_text(fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
}

/* The dashboard's port, a plain web server. */
static void test_http1_server(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_h1, NULL);
    struct grpc_call c = {.message = ""};
    assert_int_equal(call(f, s, &c), ST_RETRY);
    assert_true(f->err.text[0]);
    server_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
        T(test_many_on_one_connection),
        T(test_server_restarts),
        T(test_server_hangs_up_between_calls),
        T(test_server_hangs_up_during_a_call),
        T(test_large_and_too_large),
        T(test_wrong_answers),
        T(test_answer_before_the_body),
        T(test_answer_is_dropped),
        T(test_deadline),
        T(test_after_a_deadline),
        T(test_http1_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
