/*
 * test_cloud_recording.c - HTTP recorded without its secrets, and replayed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>
#include <time.h>
#include <cmocka.h>

#include "../../autoscaler/base/buf.h"
#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/cloud/recording.h"
#include "../../autoscaler/cloud/redact.h"
#include "scratch.h"
#include "seed.h"
#include "wire_server.h"

struct world {
    struct secrets *secrets;
    struct arena arena;
    struct http_client *client;
    struct err err;
    char dir[256], path[288];
};

static int up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    w->secrets = secrets_new();
    w->client = http_client_new();
    scratch_path(w->dir, "davit-recording-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->path, sizeof w->path, "%s/gke.jsonl", w->dir);
    *state = w;
    return 0;
}

static int down(void **state)
{
    struct world *w = *state;
    unlink(w->path);
    rmdir(w->dir);
    secrets_free(w->secrets);
    http_client_free(w->client);
    arena_done(&w->arena);
    free(w);
    return 0;
}

/* ---- what is a secret */

static void test_names(void **state)
{
    static const char *const secret[] = {"access_token",
                                         "Authorization",
                                         "X-Aws-Ec2-Metadata-Token",
                                         "token",
                                         "client_secret",
                                         "SecretAccessKey",
                                         "sessionToken",
                                         "AccessKeyId",
                                         "assertion",
                                         "client_assertion",
                                         "subject_token",
                                         "Set-Cookie",
                                         "X-Api-Key",
                                         "Ocp-Apim-Subscription-Key",
                                         "WebIdentityToken",
                                         "X-Amz-Signature",
                                         "adminPassword",
                                         "clientKey",
                                         "kube-env",
                                         "UserData",
                                         "refresh_token",
                                         "sig",
                                         "x-functions-key"};
    static const char *const plain[] = {"nextPageToken",
                                        "pageToken",
                                        "NextToken",
                                        "$skiptoken",
                                        "ClientToken",
                                        "token_type",
                                        "subject_token_type",
                                        "client_assertion_type",
                                        "token_uri",
                                        "code",
                                        "key",
                                        "name",
                                        "requestId",
                                        "location",
                                        "etag",
                                        "clusterCaCertificate",
                                        "token_endpoint"};
    (void)state;
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        if (!secret_name(secret[i], strlen(secret[i])))
            fail_msg("%s is a secret", secret[i]);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (secret_name(plain[i], strlen(plain[i])))
            fail_msg("%s is no secret", plain[i]);
}

static void test_bodies(void **state)
{
    static const struct {
        const char *url, *body, *want;
        bool ours;
    } t[] = {
        {"http://h/x", "{\"access_token\":\"abc\",\"expires_in\":3599}",
         "{\"access_token\":\"REMOVED\",\"expires_in\":3599}", false},
        {"http://h/x", "{ \"a\": [1.50, {\"nextPageToken\": \"x\"}] }",
         "{ \"a\": [1.50, {\"nextPageToken\": \"x\"}] }", false},
        {"http://h/x", "{\"credentials\":{\"sessionToken\":\"s\",\"n\":1}}",
         "{\"credentials\":{\"sessionToken\":\"REMOVED\",\"n\":1}}", false},
        {"http://h/x",
         "{\"items\":[{\"key\":\"kube-env\",\"value\":\"K: v\"},"
         "{\"key\":\"size\",\"value\":\"3\"}]}",
         "{\"items\":[{\"key\":\"kube-env\",\"value\":\"REMOVED\"},"
         "{\"key\":\"size\",\"value\":\"3\"}]}",
         false},
        {"http://h/x", "{\"passwords\":[\"a\",\"b\"]}",
         "{\"passwords\":[\"REMOVED\",\"REMOVED\"]}", false},
        {"http://h/",
         "<R><C><AccessKeyId>ASIAX</AccessKeyId><SessionToken>"
         "FwoG/+=</SessionToken><Expiration>2030</Expiration><Token/></C>"
         "<NextToken>n</NextToken></R>",
         "<R><C><AccessKeyId>REMOVED</AccessKeyId><SessionToken>REMOVED"
         "</SessionToken><Expiration>2030</Expiration><Token/></C>"
         "<NextToken>n</NextToken></R>",
         false},
        {"http://h/token", "grant_type=x&client_secret=s%2Fe&scope=y",
         "grant_type=x&client_secret=REMOVED&scope=y", true},
        {"http://h/latest/api/token", "AQAEAKsd_9-==", "REMOVED", false},
        {"http://h/latest/meta-data/iam/security-credentials/",
         "eksctl-my-cluster-NodeInstanceRole-1A2B3C4D5E6F",
         "eksctl-my-cluster-NodeInstanceRole-1A2B3C4D5E6F", false},
        {"http://h/oidc", "abcdefghijklmnopqrstuvwxyz0123456789\n", "REMOVED",
         false},
        {"http://h/x", "no route to /v1/projects", "no route to /v1/projects",
         false},
        {"http://h/x",
         "bad eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0xx.c2lnbmF0dXJl"
         "aGVyZQ and AKIAIOSFODNN7EXAMPLE, ya29.a0Af_x-y",
         "bad REMOVED and "
         "REMOVED, REMOVED",
         false},
        {"http://h/x",
         "{\"pem\":\"-----BEGIN RSA PRIVATE KEY-----\\nMII\\n"
         "-----END RSA PRIVATE KEY-----\\n\"}",
         "{\"pem\":\"REMOVED\\n\"}", false}};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        bool removed;
        const char *got = redact_body(w->secrets, &w->arena, t[i].url,
                                      t[i].body, t[i].ours, &removed);
        assert_string_equal(got, t[i].want);
        assert_int_equal(removed, strcmp(t[i].body, t[i].want) != 0);
        /* What is removed stays removed, and nothing else goes. */
        assert_string_equal(redact_body(w->secrets, &w->arena, t[i].url, got,
                                        t[i].ours, &removed),
                            t[i].want);
    }
}

static void test_urls_and_headers(void **state)
{
    struct world *w = *state;
    struct secrets *s = w->secrets;
    struct arena *a = &w->arena;
    assert_string_equal(redact_url(s, a, "https://u:pass@h/p?a=1&sig=x%3D&b="),
                        "https://REMOVED@h/p?a=1&sig=REMOVED&b=");
    assert_string_equal(redact_url(s, a, "https://h/p?pageToken=p&mail=a@b"),
                        "https://h/p?pageToken=p&mail=a@b");
    assert_string_equal(
        redact_header(s, a, "Azure-AsyncOperation",
                      "https://m/op/1?"
                      "api-version=1&t=638&c=MII&s=abc&h=def",
                      false),
        "https://m/op/1?api-version=1&t=638&c=REMOVED&s=REMOVED&h=REMOVED");
    assert_string_equal(
        redact_header(s, a, "Authorization", "Bearer tok-12345678", true),
        REDACTED);
    assert_string_equal(redact_header(s, a, "X-Anything", "1", true), REDACTED);
    assert_string_equal(redact_header(s, a, "If-Match", "\"7\"", true),
                        "\"7\"");
    assert_string_equal(redact_header(s, a, "retry-after", "7", false), "7");
    assert_string_equal(redact_header(s, a, "set-cookie", "a=b", false),
                        REDACTED);
    /* It was a secret once: it is one wherever it comes again. */
    bool removed;
    assert_string_equal(
        redact_body(s, a, "http://h/", "token tok-12345678 is no good", false,
                    &removed),
        "token REMOVED is no good");
    assert_string_equal(redact_url(s, a, "http://h/tok-12345678/x"),
                        "http://h/REMOVED/x");
}

/* ---- recording */

static const char *reply_of_server;
static size_t reply_len;

static void serve(struct server *s, int fd)
{
    char *got = malloc(1 << 16);
    while (h1_read(fd, got, 1 << 16)) {
        atomic_fetch_add(&s->calls, 1);
        put_all(fd, reply_of_server, reply_len);
    }
    free(got);
}

static void serve_text(struct world *w, const char *head, const void *body,
                       size_t n)
{
    char *whole = arena_alloc(&w->arena, strlen(head) + n + 64);
    size_t at = (size_t)sprintf(whole, "%sContent-Length: %zu\r\n\r\n", head,
                                n);
    memcpy(whole + at, body, n);
    reply_of_server = whole;
    reply_len = at + n;
}

static char *file_text(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_non_null(f);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* Secrets of every kind, put where they are found in life, in random order. */
static void test_no_secret_is_written(void **state)
{
    struct world *w = *state;
    struct recording *t;
    char secret[6][40], headers[200], query[200], body[400], reply[900];
    srand((unsigned)seed_of(0));
    assert_int_equal(recording_open(w->dir, "gke", &t, &w->err), ST_OK);
    struct server *s = server_start(serve, NULL);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 6; i++) {
            snprintf(secret[i], sizeof secret[i], "SEKRIT%d.%d-%08x+/=", round,
                     i, (unsigned)rand());
        }
        snprintf(headers, sizeof headers, "Bearer %s", secret[0]);
        snprintf(query, sizeof query, "%s/p?%s=%.20s&z=1", s->url,
                 round % 2 ? "api_key" : "X-Amz-Security-Token", secret[1]);
        bool json = rand() % 2;
        snprintf(body, sizeof body,
                 json ? "{\"list\":[{\"x\":{\"clientSecret\":\"%s\"}}]}"
                      : "a=1&client_assertion=%s&b=2",
                 secret[2]);
        snprintf(reply, sizeof reply,
                 rand() % 2 ? "{\"o\":{\"id_token\":\"%s\"},\"error\":\"who is "
                              "%s?\"}"
                            : "<a><Secret>%s</Secret><b>who is %s?</b></a>",
                 secret[3], secret[0]);
        char head[200];
        snprintf(head, sizeof head,
                 "HTTP/1.1 200 OK\r\nX-Session-Token: %s"
                 "\r\nWWW-Authenticate: x realm=\"%s\"\r\n",
                 secret[4], secret[0]);
        serve_text(w, head, reply, strlen(reply));
        const struct davit_kv kv[] = {{"Authorization", headers},
                                      {"X-Third-Party", secret[5]}};
        struct http_exchange x = {.method = "POST",
                                  .url = query,
                                  .headers = kv,
                                  .n_headers = 2,
                                  .body = body,
                                  .body_len = strlen(body)};
        assert_int_equal(
            recording_do(t, NULL, w->client, &x, &w->arena, &w->err), ST_OK);
        assert_string_equal(x.reply, reply); /* the plug-in gets it whole */
    }
    server_free(s);
    recording_free(t);
    char *text = file_text(w->path);
    struct stat st;
    assert_int_equal(stat(w->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    if (strstr(text, "SEKRIT"))
        fail_msg("on disk: %.60s", strstr(text, "SEKRIT") - 20);
    assert_non_null(strstr(text, REDACTED));
    free(text);
}

static const char *request_id(struct recording *t, const char *type,
                              const char *zone, bool spot)
{
    return recording_request_id(t, (struct offer_key){"gke", type, zone, spot});
}

static void test_recorded_and_replayed(void **state)
{
    static const char binary[] = "a\0\x80\xff\xc3\xa9z";
    struct world *w = *state;
    struct recording *t;
    struct recording_call launch = {"davit-1",           "t4", "a", false,
                                    recording_call_id(), 0};
    char url[100];
    assert_int_equal(recording_open(w->dir, "gke", &t, &w->err), ST_OK);
    struct server *s = server_start(serve, NULL);
    snprintf(url, sizeof url, "%s/v1/x?b=2&a=1", s->url);
    serve_text(w, "HTTP/1.1 507 Full\r\nRetry-After: 9\r\n", "text\n", 5);
    struct http_exchange x = {.method = "PUT",
                              .url = url,
                              .body = "{\"b\": [2], \"a\": 1}",
                              .body_len = 18};
    assert_int_equal(
        recording_do(t, &launch, w->client, &x, &w->arena, &w->err), ST_OK);
    /* A body that is no text, both ways. */
    serve_text(w, "HTTP/1.1 200 OK\r\n", binary, sizeof binary);
    struct http_exchange b = {.method = "POST",
                              .url = url,
                              .body = binary,
                              .body_len = sizeof binary};
    assert_int_equal(recording_do(t, NULL, w->client, &b, &w->arena, &w->err),
                     ST_OK);
    server_free(s);
    struct http_exchange dead = {.method = "GET", .url = url};
    assert_int_equal(
        recording_do(t, NULL, w->client, &dead, &w->arena, &w->err), ST_RETRY);
    char said[2][432]; /* how long it took is part of it */
    snprintf(said[0], sizeof said[0], "%s", w->err.text);
    recording_free(t);

    /* What a crash left behind is cut off, and the file goes on. */
    FILE *f = fopen(w->path, "a");
    fputs("{\"at\":\"2026-", f);
    fclose(f);
    assert_int_equal(recording_open(w->dir, "gke", &t, &w->err), ST_OK);
    assert_int_equal(
        recording_do(t, NULL, w->client, &dead, &w->arena, &w->err), ST_RETRY);
    snprintf(said[1], sizeof said[1], "%s", w->err.text);
    recording_free(t);

    assert_int_equal(recording_replay(w->dir, "gke", &t, &w->err), ST_OK);
    assert_string_equal(request_id(t, "t4", "a", false), "davit-1");
    assert_null(request_id(t, "t4", "a", false));
    struct http_exchange y = {.method = "PUT",
                              .url = "https://elsewhere/v1/x?a=1&b=2",
                              .body = "{\"a\":1,\"b\":[2]}",
                              .body_len = 15};
    assert_int_equal(recording_do(t, NULL, NULL, &y, &w->arena, &w->err),
                     ST_OK);
    assert_int_equal(y.status, 507);
    assert_string_equal(y.reply, "text\n");
    assert_string_equal(http_reply_header(&y, "retry-after"), "9");
    b.reply = NULL;
    assert_int_equal(recording_do(t, NULL, NULL, &b, &w->arena, &w->err),
                     ST_OK);
    assert_int_equal(b.reply_len, sizeof binary);
    assert_memory_equal(b.reply, binary, sizeof binary);
    dead.url = "https://elsewhere/v1/x?a=1&b=2";
    for (int i = 0; i < 3; i++) {
        assert_int_equal(recording_do(t, NULL, NULL, &dead, &w->arena, &w->err),
                         ST_RETRY);
        assert_non_null(strstr(w->err.text, said[i > 0]));
    }
    recording_free(t);
}

/* ---- replaying what was written by hand */

static void line(FILE *f, const char *method, const char *target,
                 const char *body, const char *reply, const char *more)
{
    fprintf(f,
            "{\"at\":\"2026-11-21T10:00:00.000Z\",\"request\":{\"method\":"
            "\"%s\",\"url\":\"http://h%s\",\"body\":\"%s\"},\"reply\":{"
            "\"status\":200,\"headers\":[],\"body\":\"%s\"%s}\n",
            method, target, body, reply, more);
}

static const char *ask(struct world *w, struct recording *t, const char *method,
                       const char *url, const char *body)
{
    struct http_exchange x = {
        .method = method, .url = url, .body = body, .body_len = strlen(body)};
    w->err = (struct err){0};
    if (recording_do(t, NULL, NULL, &x, &w->arena, &w->err) != ST_OK)
        return w->err.text;
    return x.reply;
}

static void test_time_passes_with_writes(void **state)
{
    struct world *w = *state;
    struct recording *t;
    FILE *f = fopen(w->path, "w");
    line(f, "POST", "/token", "client_secret=REMOVED", "t1",
         "},\"token\":true");
    line(f, "GET", "/list", "", "0", "}");
    line(f, "GET", "/list", "", "0 again", "}");
    line(f, "POST", "/grow", "n=1", "grown", "}");
    line(f, "POST", "/listThings", "", "1 starting", "}");
    line(f, "GET", "/list", "", "1 starting", "}");
    line(f, "GET", "/list", "", "1", "}");
    line(f, "POST", "/token", "client_secret=REMOVED", "t2",
         "},\"token\":true");
    line(f, "POST", "/grow", "n=1", "grown more", "}");
    line(f, "GET", "/list", "", "2", "}");
    line(f, "DELETE", "/m/2", "", "gone", "}");
    line(f, "GET", "/late", "", "late", "}");
    fclose(f);
    assert_int_equal(recording_replay(w->dir, "gke", &t, &w->err), ST_OK);
    const char *l = "http://h/list", *g = "http://h/grow",
               *k = "http://h/token";
    assert_string_equal(ask(w, t, "GET", l, ""), "0");
    for (int i = 0; i < 5; i++) /* as often as it likes */
        assert_string_equal(ask(w, t, "GET", l, ""), "0 again");
    assert_string_equal(ask(w, t, "POST", k, "client_secret=mine"), "t1");
    assert_string_equal(ask(w, t, "POST", k, "client_secret=mine"), "t2");
    assert_string_equal(ask(w, t, "POST", k, "client_secret=mine"), "t2");
    assert_string_equal(ask(w, t, "POST", g, "n=1"), "grown");
    assert_string_equal(ask(w, t, "GET", l, ""), "1 starting");
    assert_string_equal(ask(w, t, "GET", l, ""), "1");
    assert_string_equal(ask(w, t, "GET", l, ""), "1");
    assert_string_equal(ask(w, t, "POST", "http://h/listThings", ""),
                        "1 starting");
    assert_string_equal(ask(w, t, "POST", g, "n=1"), "grown more");
    assert_string_equal(ask(w, t, "GET", l, ""), "2");
    assert_string_equal(ask(w, t, "GET", "http://h/late", ""), "late");
    assert_string_equal(ask(w, t, "POST", g, "n=1"),
                        "recorded 2 times in gke.jsonl and answered as often: "
                        "POST /grow");
    assert_int_equal(w->err.status, ST_INVALID);
    assert_string_equal(w->err.code, "NotRecorded");
    assert_string_equal(ask(w, t, "POST", g, "n=2"),
                        "recorded otherwise: POST /grow; gke.jsonl:4 has "
                        "\"grow? n=1\", asked is \"grow? n=2\"");
    assert_string_equal(ask(w, t, "PATCH", "http://h/x", ""),
                        "not in the recording gke.jsonl: PATCH /x");
    recording_free(t);
}

/* Two operations side by side; replayed, the other one is faster. */
static void test_side_by_side(void **state)
{
    struct world *w = *state;
    struct recording *t;
    struct recording_call a = {"r-a", "t4", "a", false, 1, 0};
    struct recording_call b = {"", "", "", false, 2, 0};
    FILE *f = fopen(w->path, "w");
    line(f, "GET", "/a", "", "a0",
         "},\"call\":7,\"launch\":{\"request_id\":"
         "\"r-a\",\"type\":\"t4\",\"zone\":\"a\",\"spot\":false}");
    line(f, "POST", "/end", "", "ended", "},\"call\":8");
    line(f, "POST", "/tag", "x=1", "ok",
         "},\"call\":7,\"launch\":{"
         "\"request_id\":\"r-a\",\"type\":\"t4\",\"zone\":\"a\"}");
    line(f, "POST", "/other", "", "ok", "},\"call\":9");
    line(f, "GET", "/b", "", "b1", "},\"call\":8");
    line(f, "GET", "/a", "", "a1",
         "},\"call\":7,\"launch\":{\"request_id\":"
         "\"r-a\",\"type\":\"t4\",\"zone\":\"a\"}");
    fclose(f);
    assert_int_equal(recording_replay(w->dir, "gke", &t, &w->err), ST_OK);
    struct http_exchange x = {.method = "GET", .url = "http://h/a"};
    struct http_exchange tag = {
        .method = "POST", .url = "http://h/tag", .body = "x=1", .body_len = 3};
    struct http_exchange end = {.method = "POST", .url = "http://h/end"};
    struct http_exchange y = {.method = "GET", .url = "http://h/b"};
    assert_int_equal(recording_do(t, &a, NULL, &x, &w->arena, &w->err), ST_OK);
    assert_string_equal(x.reply, "a0");
    assert_int_equal(recording_do(t, &a, NULL, &tag, &w->arena, &w->err),
                     ST_OK);
    /* /end and /other were not asked, and yet: */
    assert_int_equal(recording_do(t, &a, NULL, &x, &w->arena, &w->err), ST_OK);
    assert_string_equal(x.reply, "a1");
    assert_int_equal(recording_do(t, &b, NULL, &end, &w->arena, &w->err),
                     ST_OK);
    assert_int_equal(b.follows, 8);
    assert_int_equal(recording_do(t, &b, NULL, &y, &w->arena, &w->err), ST_OK);
    assert_string_equal(y.reply, "b1");
    /* Anybody else sees the time that the writes made. */
    assert_string_equal(ask(w, t, "GET", "http://h/a", ""), "a0");
    recording_free(t);
}

/* Recorded, the first pool was read again after the second was written; replayed,
 * before: what it was before its own write is of the past. */
static void test_written_and_read_early(void **state)
{
    struct world *w = *state;
    struct recording *t;
    FILE *f = fopen(w->path, "w");
    const char *a = "http://h/p/a", *b = "http://h/p/b";
    line(f, "GET", "/p", "", "a0 b0", "}");
    line(f, "GET", "/p/a", "", "a0", "}");
    line(f, "GET", "/p/a/m", "", "a0 has 0", "}");
    line(f, "GET", "/p/ab", "", "ab", "}");
    line(f, "PUT", "/p/a", "", "ok", "}");
    line(f, "PUT", "/p/b", "", "ok", "}");
    line(f, "GET", "/p/a", "", "a1", "}");
    line(f, "GET", "/p/ab", "", "ab1", "}");
    line(f, "GET", "/p/a/m", "", "a1 has 1", "}");
    line(f, "PUT", "/p/a", "", "ok", "}");
    line(f, "GET", "/p/b", "", "b1", "}");
    fclose(f);
    assert_int_equal(recording_replay(w->dir, "gke", &t, &w->err), ST_OK);
    assert_string_equal(ask(w, t, "GET", a, ""), "a0");
    assert_string_equal(ask(w, t, "GET", a, ""), "a0");
    assert_string_equal(ask(w, t, "PUT", a, ""), "ok");
    assert_string_equal(ask(w, t, "GET", a, ""), "a1");
    assert_string_equal(ask(w, t, "GET", "http://h/p/a/m", ""), "a1 has 1");
    /* Others are as they were: b is not written yet. */
    assert_string_equal(ask(w, t, "GET", "http://h/p/ab", ""), "ab");
    assert_string_equal(ask(w, t, "GET", "http://h/p", ""), "a0 b0");
    assert_string_equal(ask(w, t, "PUT", b, ""), "ok");
    assert_string_equal(ask(w, t, "GET", a, ""), "a1");
    assert_string_equal(ask(w, t, "PUT", a, ""), "ok");
    /* Nothing was seen after: the last that was is better than nothing. */
    assert_string_equal(ask(w, t, "GET", a, ""), "a1");
    recording_free(t);
}

static void test_what_differs_between_runs(void **state)
{
    struct world *w = *state;
    struct recording *t;
    FILE *f = fopen(w->path, "w");
    line(f, "POST", "/d?requestId=8d2f2c5e&x=1", "", "one", "}");
    line(f, "POST", "/", "Action=Tag&Value=2%201%201795252151000%200%20r-1",
         "two", "}");
    line(f, "PUT", "/p",
         "{\\\"tags\\\":{\\\"a\\\":\\\"r 1 0 1 1795252151\\\"},"
         "\\\"clientRequestToken\\\":\\\"q\\\"}",
         "three", "}");
    line(f, "GET", "/g?since=2026-11-21T10%3A00%3A01Z", "", "four", "}");
    line(f, "POST", "/n", "{\\\"count\\\":1234567890123456}", "five", "}");
    fclose(f);
    assert_int_equal(recording_replay(w->dir, "gke", &t, &w->err), ST_OK);
    assert_string_equal(ask(w, t, "POST", "http://h/d?x=1&requestId=0", ""),
                        "one");
    assert_string_equal(ask(w, t, "POST", "http://h/",
                            "Action=Tag&Value=2+1+1795299999999+0+r-1"),
                        "recorded otherwise: POST /; gke.jsonl:2 has "
                        "\"&Value=2 1 (time) 0 r-1\", asked is \"&Value=2+1+"
                        "(time)+0+r-1\"");
    assert_string_equal(ask(w, t, "POST", "http://h/",
                            "Value=2%201%2017952999"
                            "99999%200%20r-1&Action=Tag"),
                        "two");
    assert_string_equal(ask(w, t, "PUT", "http://h/p",
                            "{\"clientRequestToken\""
                            ":\"z\",\"tags\":{\"a\":\"r 1 0 1 1799999999\"}}"),
                        "three");
    assert_string_equal(
        ask(w, t, "GET", "http://h/g?since=2027-01-01T00:00:00.5Z", ""),
        "four");
    assert_non_null(
        strstr(ask(w, t, "POST", "http://h/n", "{\"count\":1234567890123457}"),
               "otherwise"));
    int64_t behind = recording_behind_ms(t), at = clock_wall_ms() - behind;
    assert_true(at >= INT64_C(1795255200000) && at < INT64_C(1795255260000));
    recording_free(t);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *text, *says;
    } t[] = {
        {"", "nothing in it"},
        {"[]\n", "1: not a recorded exchange: it is no"},
        {"{}\n", "needs a method and a url"},
        {"\n{\"request\":{\"method\":\"GET\",\"url\":\"http://h/\"}}\n",
         ":2: not a recorded exchange: \"at\" must be a time"},
        {"{\"at\":\"2026-11-21T10:00:00Z\",\"request\":{\"method\":\"GET\","
         "\"url\":\"http://h/\"}}\n",
         "\"reply\" needs a status"},
        {"{\"at\":\"2026-11-21T10:00:00Z\",\"request\":{\"method\":\"GET\","
         "\"url\":\"http://h/\"},\"failed\":{\"status\":\"NO\"}}\n",
         "no status such as RETRY"}};
    struct world *w = *state;
    struct recording *none;
    assert_int_equal(recording_replay(w->dir, "gke", &none, &w->err),
                     ST_INVALID);
    assert_non_null(strstr(w->err.text, "No such file"));
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        FILE *f = fopen(w->path, "w");
        fputs(t[i].text, f);
        fclose(f);
        assert_int_equal(recording_replay(w->dir, "gke", &none, &w->err),
                         ST_INVALID);
        assert_null(none);
        if (!strstr(w->err.text, t[i].says))
            fail_msg("%s", w->err.text);
    }
    assert_int_equal(recording_open("/proc/none", "gke", &none, &w->err),
                     ST_INVALID);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        T(test_bodies),
        T(test_urls_and_headers),
        T(test_no_secret_is_written),
        T(test_recorded_and_replayed),
        T(test_time_passes_with_writes),
        T(test_side_by_side),
        T(test_written_and_read_early),
        T(test_what_differs_between_runs),
        T(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
