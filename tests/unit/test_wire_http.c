/*
 * test_wire_http.c - one HTTP exchange, against servers right and wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <semaphore.h>
#include <cmocka.h>

#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/wire/http.h"
#include "scratch.h"
#include "wire_server.h"

static char request[1 << 16]; /* the last one, as it came */

static void serve_echo(struct server *s, int fd)
{
    char *got = malloc(sizeof request), reply[200];
    (void)s;
    while (h1_read(fd, got, sizeof request)) {
        memcpy(request, got, sizeof request);
        snprintf(reply, sizeof reply,
                 "HTTP/1.1 201 Made\r\n"
                 "X-Mixed-Case:   two words \t\r\nContent-Length: 5\r\n\r\n"
                 "hello");
        put_text(fd, reply);
    }
    free(got);
}

static void serve_text(struct server *s, int fd)
{
    if (h1_read(fd, request, sizeof request))
        put_text(fd, s->arg);
}

static sem_t heard; /* a first byte of a request has come */

static void serve_silence(struct server *s, int fd)
{
    char c;
    (void)s;
    if (get_all(fd, &c, 1))
        sem_post(&heard);
    while (get_all(fd, &c, 1))
        ;
}

/* An endless body. */
static void serve_flood(struct server *s, int fd)
{
    (void)s;
    char chunk[65536];
    memset(chunk, 'x', sizeof chunk);
    if (!h1_read(fd, request, sizeof request))
        return;
    put_text(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 4096; i++)
        if (send(fd, chunk, sizeof chunk, MSG_NOSIGNAL) <= 0)
            return;
}

static void serve_many_headers(struct server *s, int fd)
{
    (void)s;
    if (!h1_read(fd, request, sizeof request))
        return;
    put_text(fd, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 300; i++)
        put_text(fd, "A: b\r\n");
    put_text(fd, "Content-Length: 0\r\n\r\n");
}

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

static void test_request_and_reply(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_echo, NULL);
    const struct davit_kv headers[] = {{"x-one", "1"}, {"x-empty", ""}};
    struct http_exchange x = {.method = "PUT",
                              .url = s->url,
                              .headers = headers,
                              .n_headers = 2,
                              .body = "a\0b",
                              .body_len = 3};
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_OK);
    assert_int_equal(x.status, 201);
    assert_string_equal(x.reply, "hello");
    assert_int_equal(x.reply_len, 5);
    assert_string_equal(http_reply_header(&x, "x-mixed-case"), "two words");
    assert_null(http_reply_header(&x, "absent"));
    assert_memory_equal(request, "PUT / HTTP/1.1\r\n", 16);
    assert_non_null(strstr(request, "\r\nx-one: 1\r\n"));
    assert_non_null(strstr(request, "\r\nx-empty:\r\n"));
    assert_null(strcasestr(request, "expect:"));
    assert_null(strcasestr(request, "content-type:"));
    assert_non_null(strstr(request, "\r\nUser-Agent: davit/"));

    /* the same connection again, and no body left over from before */
    struct http_exchange y = {.url = s->url};
    assert_int_equal(http_do(f->c, &y, &f->arena, &f->err), ST_OK);
    assert_memory_equal(request, "GET / HTTP/1.1\r\n", 16);
    assert_null(strstr(request, "x-one"));
    assert_int_equal(atomic_load(&s->n), 1);

    struct http_exchange z = {.method = "HEAD", .url = s->url};
    f->err = (struct err){0};
    server_stop(s);
    s->serve = serve_text;
    s->arg = "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n";
    server_listen(s);
    assert_int_equal(http_do(f->c, &z, &f->arena, &f->err), ST_OK);
    assert_int_equal(z.reply_len, 0);
    server_free(s);
}

/* A status line forgets the headers before it: 100 Continue's, a proxy's. */
static void test_interim_and_trailers(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(
        serve_text,
        "HTTP/1.1 100 Continue\r\nx-a: interim\r\n\r\n"
        "HTTP/1.1 200 OK\r\nX-B: 1\r\nX-B: 2\r\nTransfer-Encoding: chunked\r\n"
        "Trailer: X-End\r\n\r\n3\r\nabc\r\n0\r\nX-End: yes\r\n\r\n");
    struct http_exchange x = {.url = s->url};
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_OK);
    assert_string_equal(x.reply, "abc");
    assert_null(http_reply_header(&x, "x-a"));
    assert_string_equal(http_reply_header(&x, "x-b"), "2");
    assert_string_equal(http_reply_header(&x, "x-end"), "yes");
    server_free(s);
}

static void test_redirect_is_not_followed(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(
        serve_text, "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
                    "Content-Length: 0\r\n\r\n");
    struct http_exchange x = {.url = s->url};
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_OK);
    assert_int_equal(x.status, 302);
    server_free(s);
}

static void test_no_connection(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_echo, NULL);
    char url[100];
    snprintf(url, sizeof url, "%s/a?token=secret", s->url);
    server_stop(s);
    struct http_exchange x = {.url = url};
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_RETRY);
    assert_int_equal(f->err.status, ST_RETRY);
    assert_non_null(strstr(f->err.text, "no connection to http://127.0.0.1:"));
    assert_null(strstr(f->err.text, "secret"));
    free(s);
}

static void test_deadline(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_silence, NULL);
    int64_t start = clock_mono_ms();
    struct http_exchange x = {.url = s->url, .deadline_mono_ms = start + 150};
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_RETRY);
    int64_t took = clock_mono_ms() - start;
    assert_in_range(took, 140, 60000);
    assert_non_null(strstr(f->err.text, "no answer from"));
    x.deadline_mono_ms = start - 1;
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_RETRY);
    assert_non_null(strstr(f->err.text, "no time was left"));
    server_free(s);
}

static void *cancel_when_heard(void *flag)
{
    sem_wait(&heard);
    atomic_store((atomic_bool *)flag, true);
    return NULL;
}

static void test_cancel(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_silence, NULL);
    atomic_bool cancel = false;
    struct http_exchange x = {.url = s->url, .cancel = &cancel};
    pthread_t t;
    sem_init(&heard, 0, 0);
    pthread_create(&t, NULL, cancel_when_heard, &cancel);
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_CANCELLED);
    pthread_join(t, NULL);
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_CANCELLED);
    /* the client is as good as new */
    server_stop(s);
    s->serve = serve_echo;
    server_listen(s);
    x.cancel = NULL;
    x.url = s->url;
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_OK);
    server_free(s);
}

static void test_ceilings(void **state)
{
    struct fixture *f = *state;
    struct server *s = server_start(serve_flood, NULL);
    struct http_exchange x = {.url = s->url, .max_reply = 1 << 20};
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_BROKEN);
    assert_non_null(strstr(f->err.text, "more than 1048576 bytes"));
    assert_true(f->arena.used < 1 << 16);
    server_stop(s);
    s->serve = serve_many_headers;
    server_listen(s);
    struct http_exchange y = {.url = s->url};
    assert_int_equal(http_do(f->c, &y, &f->arena, &f->err), ST_BROKEN);
    assert_non_null(strstr(f->err.text, "more than 256 headers"));
    /* a small one after a large one */
    server_stop(s);
    s->serve = serve_echo;
    server_listen(s);
    struct http_exchange z = {.url = s->url, .max_reply = 5};
    assert_int_equal(http_do(f->c, &z, &f->arena, &f->err), ST_OK);
    assert_string_equal(z.reply, "hello");
    z.max_reply = 4;
    assert_int_equal(http_do(f->c, &z, &f->arena, &f->err), ST_BROKEN);
    server_free(s);
}

static void test_bad_requests(void **state)
{
    struct fixture *f = *state;
    static const char *const urls[] = {"",
                                       "ftp://h/",
                                       "file:///etc/passwd",
                                       "127.0.0.1:80",
                                       "http://h/a b",
                                       "http://h/\r\nx: y",
                                       "http://"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct http_exchange x = {.url = urls[i]};
        f->err = (struct err){0};
        assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_INVALID);
        assert_true(f->err.text[0]);
    }
    static const struct davit_kv bad[] = {{"a", "b\nc: d"},
                                          {"a", "b\rc: d"},
                                          {"a\nb", "c"},
                                          {"", "x"},
                                          {"a:b", "c"}};
    for (size_t i = 0; i < 5; i++) {
        struct http_exchange x = {
            .url = "http://127.0.0.1:1/", .headers = &bad[i], .n_headers = 1};
        assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_INVALID);
    }
    struct http_exchange x = {.url = "http://127.0.0.1:1/",
                              .method = "GET / HTTP/1.1\r\nx"};
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_INVALID);
    struct http_exchange y = {.url = "http://user:pa@ss@h:99999/x"};
    assert_int_equal(http_do(f->c, &y, &f->arena, &f->err), ST_INVALID);
    assert_null(strstr(f->err.text, "pa@ss"));
    struct http_exchange z = {.url = "https://127.0.0.1:1/",
                              .ca_file = "/does/not/exist"};
    enum status st = http_do(f->c, &z, &f->arena, &f->err);
    assert_true(st == ST_INVALID || st == ST_RETRY);
}

static void test_garbage(void **state)
{
    struct fixture *f = *state;
    static const char *const junk[] = {
        "",
        "\n\n\n",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: "
        "-5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        struct server *s = server_start(serve_text, (void *)(uintptr_t)junk[i]);
        struct http_exchange x = {.url = s->url,
                                  .deadline_mono_ms = clock_mono_ms() + 20000};
        f->err = (struct err){0};
        assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_RETRY);
        assert_true(f->err.text[0]);
        server_free(s);
    }
}

/* Answers the first request of a connection; reads the next one and hangs up,
 * as a server does that dies, or whose idle time is over. */
static void serve_once_each(struct server *s, int fd)
{
    char *got = malloc(sizeof request);
    bool alive = h1_read(fd, got, sizeof request);
    if (alive) {
        atomic_fetch_add(&s->calls, 1);
        put_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    if (alive && h1_read(fd, got, sizeof request))
        atomic_fetch_add(&s->calls, 1);
    free(got);
}

static void test_a_post_is_sent_once(void **state)
{
    static const struct {
        const char *method, *body;
        int calls;
    } t[] = {{"POST", "", 1},  {"POST", "size=3", 1}, {"PATCH", "{}", 1},
             {"PUT", "{}", 1}, {"DELETE", "", 1},     {"GET", "", 2},
             {"HEAD", "", 2}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct server *s = server_start(serve_once_each, NULL);
        struct http_exchange first = {.url = s->url};
        assert_int_equal(http_do(f->c, &first, &f->arena, &f->err), ST_OK);
        int before = atomic_load(&s->calls);
        struct http_exchange x = {.method = t[i].method,
                                  .url = s->url,
                                  .body = t[i].body,
                                  .body_len = strlen(t[i].body)};
        enum status got = http_do(f->c, &x, &f->arena, &f->err);
        assert_int_equal(got, t[i].calls == 1 ? ST_RETRY : ST_OK);
        assert_int_equal(atomic_load(&s->calls) - before, t[i].calls);
        if (t[i].calls == 1)
            assert_non_null(strstr(f->err.text, "broke before the reply"));
        /* and the client is as good as before */
        struct http_exchange again = {.method = "POST", .url = s->url};
        assert_int_equal(http_do(f->c, &again, &f->arena, &f->err),
                         t[i].calls == 1 ? ST_OK : ST_RETRY);
        server_free(s);
    }
}

static void test_unix_socket(void **state)
{
    struct fixture *f = *state;
    char path[96]; /* a socket lies in it */
    scratch_path(path, "davit-http-XXXXXX");
    assert_true(mkdtemp(path));
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s/s", path);
    struct server *s = calloc(1, sizeof *s);
    s->serve = serve_echo;
    s->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    listen(s->fd, 4);
    pthread_create(&s->thread, NULL, server_run, s);
    struct http_exchange x = {.url = "http://local/v1/x",
                              .unix_socket = a.sun_path};
    setenv("http_proxy", "http://127.0.0.1:1", 1); /* is not asked */
    assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_OK);
    unsetenv("http_proxy");
    assert_memory_equal(request, "GET /v1/x HTTP/1.1\r\n", 20);
    server_free(s);
    unlink(a.sun_path);
    rmdir(path);
}

/* Where credentials may go without TLS, by curl's own reading of the URL. */
static void test_credentials_stay(void **state)
{
    struct fixture *f = *state;
    static const char *const refused[] = {
        "http://10.0.0.1/",
        "http://evil.example/",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://127.0.0.1:80@evil.example/",
        "http://127.0.0.1%2f@evil.example/",
        "http://evil.example#@127.0.0.1/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.1.1/",
        "http://169.255.169.254/",
        "http://0x7f000001.evil.example/",
    };
    static const char *const taken[] = {
        "http://127.0.0.1:1/", "http://127.1:1/",     "http://127.8.9.1:1/",
        "http://[::1]:1/",     "http://localhost:1/", "https://10.0.0.1:1/"};
    static const struct davit_kv secrets[] = {{"authorization", "Bearer x"},
                                              {"X-Amz-Security-Token", "x"},
                                              {"X-aws-ec2-metadata-token", "x"},
                                              {"Cookie", "x"}};
    atomic_bool stop = true; /* before a byte is sent */

    for (size_t k = 0; k < sizeof secrets / sizeof *secrets; k++) {
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
            struct http_exchange x = {.url = refused[i],
                                      .headers = &secrets[k],
                                      .n_headers = 1,
                                      .cancel = &stop};
            if (http_do(f->c, &x, &f->arena, &f->err) != ST_INVALID ||
                !strstr(f->err.text, "credentials go over http:// to this"))
                fail_msg("%s: %s", refused[i], f->err.text);
        }
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
            struct http_exchange x = {.url = taken[i],
                                      .headers = &secrets[k],
                                      .n_headers = 1,
                                      .cancel = &stop};
            if (http_do(f->c, &x, &f->arena, &f->err) != ST_CANCELLED)
                fail_msg("%s: %s", taken[i], f->err.text);
        }
    }
}

/* A question to a metadata service, or to this machine, goes past every proxy. */
static void test_metadata_has_no_proxy(void **state)
{
    struct fixture *f = *state;
    static const struct davit_kv asks[] = {
        {"metadata-flavor", "Google"},
        {"Metadata", "true"},
        {"X-aws-ec2-metadata-token-ttl-seconds", "60"}};
    struct server *s = server_start(serve_echo, NULL);
    const char *url = s->url;

    unsetenv("no_proxy");
    unsetenv("NO_PROXY");
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct http_exchange x = {
            .url = url, .headers = &asks[i], .n_headers = 1};
        assert_int_equal(http_do(f->c, &x, &f->arena, &f->err), ST_OK);
    }
    struct http_exchange here = {.url = url};
    assert_int_equal(http_do(f->c, &here, &f->arena, &f->err), ST_OK);
    struct http_exchange other = {.url = "http://cloud.example/"};
    assert_int_equal(http_do(f->c, &other, &f->arena, &f->err), ST_RETRY);
    /* one that was named for it alone leads elsewhere: no secret goes there */
    static const struct davit_kv secret = {"Authorization", "Bearer x"};
    struct http_exchange named = {.url = url,
                                  .proxy = "http://127.0.0.1:1",
                                  .headers = &secret,
                                  .n_headers = 1};
    assert_int_not_equal(http_do(f->c, &named, &f->arena, &f->err), ST_OK);
    setenv("http_proxy", url, 1); /* it would answer for all */
    static const char *const services[] = {
        "http://169.254.170.2:1/", "http://metadata.google.internal:1/"};
    for (size_t i = 0; i < 2; i++) {
        struct http_exchange x = {.url = services[i],
                                  .deadline_mono_ms = clock_mono_ms() + 300};
        request[0] = '\0';
        http_do(f->c, &x, &f->arena, &f->err);
        if (request[0])
            fail_msg("%s was asked by a proxy: %s", services[i], request);
    }
    unsetenv("http_proxy");
    server_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
        T(test_request_and_reply),
        T(test_credentials_stay),
        T(test_metadata_has_no_proxy),
        T(test_interim_and_trailers),
        T(test_redirect_is_not_followed),
        T(test_no_connection),
        T(test_deadline),
        T(test_cancel),
        T(test_ceilings),
        T(test_bad_requests),
        T(test_garbage),
        T(test_a_post_is_sent_once),
        T(test_unix_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
