/*
 * test_wire_kube.c - list, watch and single requests against an API server
 * that does what the test says: pages, bookmarks, 410, cut lines, rubbish,
 * refusals; kubeconfig files right and wrong; streams that fall silent.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/wire/http.h"
#include "../../autoscaler/wire/kube/split.h"
#include "../../autoscaler/wire/kube/watch.h"
#include "../lib/until.h"
#include "scratch.h"
#include "wire_server.h"

/* ---- a server that plays a script: one request on each connection */

struct step {
    const char *wants; /* must stand in the request's first line or headers */
    const char *reply; /* the body; NULL ends the script */
    int code;          /* 0: 200 */
    bool cut;          /* the connection breaks off inside the body */
    bool held;         /* open after the body until the other side goes */
    size_t flood;      /* so many bytes of 'x' follow */
};

struct play {
    const struct step *steps;
    atomic_int at;
    atomic_int wrong;
    char bad[4096];
};

static void serve_play(struct server *s, int fd)
{
    struct play *p = s->arg;
    char got[8192], head[256];
    if (!h1_read(fd, got, sizeof got))
        return;
    int i = atomic_fetch_add(&p->at, 1);
    const struct step *step = &p->steps[i];
    for (int k = 0; k <= i; k++)
        if (!p->steps[k].reply) { /* past the end: the last answer stays */
            usleep(20000);        /* wait: so that it is not asked for ever */
            put_text(fd, "HTTP/1.1 503 Gone\r\nContent-Length: 0\r\n\r\n");
            return;
        }
    if (!strstr(got, step->wants) && !atomic_exchange(&p->wrong, 1))
        snprintf(p->bad, sizeof p->bad, "step %d wanted %s, got %.3000s", i,
                 step->wants, got);
    size_t n = strlen(step->reply);
    if (step->cut || step->held || step->flood)
        snprintf(head, sizeof head,
                 "HTTP/1.1 %d X\r\nTransfer-Encoding: "
                 "chunked\r\n\r\n%zx\r\n",
                 step->code ? step->code : 200, n + step->flood);
    else
        snprintf(head, sizeof head,
                 "HTTP/1.1 %d X\r\nConnection: close\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 step->code ? step->code : 200, n);
    put_text(fd, head);
    put_text(fd, step->reply);
    for (size_t k = 0; k < step->flood; k += 4096) {
        char x[4096];
        memset(x, 'x', sizeof x);
        put_all(fd, x, sizeof x);
    }
    if (!step->held)
        return;
    put_text(fd, "\r\n");
    while (recv(fd, head, sizeof head, 0) > 0)
        ;
}

/* ---- what the callbacks were told, as text */

struct told {
    pthread_mutex_t lock;
    char text[4096];
};

static void tell(struct told *t, const char *fmt, ...)
{
    va_list ap;
    pthread_mutex_lock(&t->lock);
    size_t n = strlen(t->text);
    va_start(ap, fmt);
    vsnprintf(t->text + n, sizeof t->text - n, fmt, ap);
    va_end(ap);
    pthread_mutex_unlock(&t->lock);
}

static void on_begin(void *ctx)
{
    tell(ctx, "[");
}
static void on_end(void *ctx)
{
    tell(ctx, "]");
}
static void on_object(void *ctx, const json_t *o, bool gone)
{
    tell(ctx, "%s%s ", gone ? "-" : "+",
         json_string_value(
             json_object_get(json_object_get(o, "metadata"), "name")));
}

static bool has_told(struct told *t, const char *what)
{
    pthread_mutex_lock(&t->lock);
    bool yes = strstr(t->text, what);
    pthread_mutex_unlock(&t->lock);
    return yes;
}

struct rig {
    struct server *server;
    struct play play;
    struct told told;
    struct kube_access *access;
    struct kube_watch *watch;
    char path[200];
};

static void config_write(struct rig *r, const char *user)
{
    scratch_path(r->path, "davit-kube-XXXXXX");
    int fd = mkstemp(r->path);
    FILE *f = fdopen(fd, "w");
    fprintf(f,
            "current-context: c\nclusters: [{name: k, cluster: {server: "
            "\"%s/\"}}]\nusers: [{name: u, user: {%s}}]\ncontexts: [{name: c, "
            "context: {cluster: k, user: u, namespace: mine}}]\n",
            r->server->url, user);
    fclose(f);
}

static void rig_up(struct rig *r, const struct step *steps, bool optional)
{
    memset(r, 0, sizeof *r);
    struct err err = {0};
    r->play.steps = steps;
    pthread_mutex_init(&r->told.lock, NULL);
    r->server = server_start(serve_play, &r->play);
    config_write(r, "token: secret-1");
    struct kube_access_opts o = {.kubeconfig = r->path};
    if (kube_access_find(&o, &r->access, &err) != ST_OK)
        fail_msg("%s", err.text);
    assert_string_equal(kube_access_namespace(r->access), "mine");
    struct kube_watch_opts w = {
        .access = r->access,
        .path = "/api/v1/pods",
        .what = "pods",
        .optional = optional,
        .page = 2,
        .ctx = &r->told,
        .list_begin = on_begin,
        .object = on_object,
        .list_end = on_end,
    };
    r->watch = kube_watch_new(&w);
}

static void rig_down(struct rig *r)
{
    int64_t begun = clock_mono_ms();
    kube_watch_free(r->watch);
    assert_true(clock_mono_ms() - begun < 14000); /* wait: its pause is more */
    kube_access_free(r->access);
    server_free(r->server);
    unlink(r->path);
    if (r->play.wrong)
        fail_msg("%s", r->play.bad);
}

static void await_told(struct rig *r, const char *what)
{
    UNTIL(has_told(&r->told, what));
}

static struct kube_watch_state await_bad(struct rig *r, enum status s)
{
    struct kube_watch_state st = {0};
    UNTIL((kube_watch_state(r->watch, &st),
           !st.ok && st.status == s && *st.problem));
    return st;
}

#define LIST(version, more, items) \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version \
    "\"" more "},\"items\":[" items "]}"
#define OBJECT(name, version) \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) \
    "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"
#define GONE \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" \
    "410,\"reason\":\"Expired\",\"message\":\"too old\"}}\n"

static void test_pages_events_bookmarks(void **state)
{
    static const struct step steps[] = {
        {"GET /api/v1/pods?limit=2 ",
         LIST("5", ",\"continue\":\"a b/=\"",
              OBJECT("a", "1") "," OBJECT("b", "2"))},
        {"limit=2&continue=a%20b%2F%3D ", LIST("5", "", OBJECT("c", "3"))},
        {"resourceVersion=5&",
         EVENT("ADDED", "d", "6")
             EVENT("DELETED", "a",
                   "7") "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"
                        "{\"resourceVersion\":\"90\"}}}\n"},
        {"resourceVersion=90&", EVENT("MODIFIED", "b", "91"), .held = true},
        {"", NULL},
    };
    struct rig r;
    struct kube_watch_state st;
    (void)state;
    rig_up(&r, steps, false);
    await_told(&r, "[+a +b +c ]+d -a +b ");
    kube_watch_state(r.watch, &st);
    assert_true(st.ok && st.synced && st.lists == 1 && st.watches == 2);
    assert_int_equal(st.bookmarks, 1);
    assert_int_equal(st.events, 3);
    rig_down(&r);
}

static void test_gone_lists_again(void **state)
{
    static const struct step steps[] = {
        {"limit=", LIST("5", "", OBJECT("a", "1"))},
        {"resourceVersion=5&", GONE},
        {"limit=", LIST("9", "", OBJECT("b", "8"))},
        {"resourceVersion=9&",
         "{\"kind\":\"Status\",\"code\":410,\"reason\":"
         "\"Expired\"}",
         .code = 410},
        {"limit=", LIST("12", "", "")},
        {"resourceVersion=12&", "\n", .held = true},
        {"", NULL},
    };
    struct rig r;
    struct kube_watch_state st;
    (void)state;
    rig_up(&r, steps, false);
    await_told(&r, "[+a ][+b ][]");
    UNTIL(r.play.at >= 6);
    kube_watch_state(r.watch, &st);
    assert_int_equal(st.gone, 2);
    assert_int_equal(st.status, ST_OK);
    rig_down(&r);
}

static void test_cut_lines(void **state)
{
    static const struct step steps[] = {
        {"limit=",
         "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" OBJECT(
             "a", "1") ",{\"metadata\":{\"na",
         .cut = true},
        {"limit=", LIST("6", "", OBJECT("a", "1"))},
        {"resourceVersion=6&",
         EVENT(
             "ADDED", "b",
             "7") "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"half",
         .cut = true},
        {"resourceVersion=7&", EVENT("ADDED", "half", "8"), .held = true},
        {"", NULL},
    };
    struct rig r;
    (void)state;
    rig_up(&r, steps, false);
    await_told(&r, "[+a [+a ]+b +half ");
    rig_down(&r);
}

static void test_rubbish(void **state)
{
    static const struct step steps[] = {
        {"limit=", "<html>a proxy</html>"},
        {"limit=", "[1, 2]"},
        {"limit=", "{\"kind\":\"PodList\",\"items\":[]}"},
        {"limit=", LIST("6", "", "{\"metadata\":{\"name\":tru}}")},
        {"limit=", LIST("6", "", "")},
        {"resourceVersion=6&", "{\"type\":\"ADDED\"}\n"},
        {"resourceVersion=6&", "}}}"},
        {"resourceVersion=6&", EVENT("ADDED", "b", "7"), .held = true},
        {"", NULL},
    };
    struct rig r;
    struct kube_watch_state st;
    (void)state;
    rig_up(&r, steps, false);
    st = await_bad(&r, ST_BROKEN);
    assert_non_null(strstr(st.problem, "pods"));
    assert_false(st.synced);
    await_told(&r, "]+b ");
    kube_watch_state(r.watch, &st);
    assert_true(st.ok && !*st.problem);
    rig_down(&r);
}

static void test_too_large(void **state)
{
    static const struct step steps[] = {
        {"limit=", LIST("6", "", "")},
        {"resourceVersion=6&", "{\"type\":\"ADDED\",\"object\":{\"a\":\"",
         .flood = 9 << 20},
        {"", NULL},
    };
    struct rig r;
    struct kube_watch_state st;
    (void)state;
    rig_up(&r, steps, false);
    st = await_bad(&r, ST_BROKEN);
    assert_non_null(strstr(st.problem, "8388608 bytes in one object"));
    rig_down(&r);
}

static void test_no_right(void **state)
{
    static const struct step steps[] = {
        {"Bearer secret-1",
         "{\"kind\":\"Status\",\"reason\":\"Forbidden\","
         "\"message\":\"pods is forbidden\",\"code\":403}",
         .code = 403},
        {"", NULL},
    };
    struct rig r;
    struct kube_watch_state st;
    (void)state;
    rig_up(&r, steps, false);
    st = await_bad(&r, ST_AUTH);
    assert_string_equal(st.code, "Forbidden");
    assert_non_null(strstr(st.problem,
                           "no right to list pods; the ClusterRole "
                           "needs the rule {apiGroups: [\"\"], resources: "
                           "[pods], verbs: [list]}"));
    while (!st.again_mono_ms)
        kube_watch_state(r.watch, &st);
    assert_true(st.again_mono_ms - st.bad_since_mono_ms >= 15000);
    assert_int_equal(r.play.at, 1);
    rig_down(&r);
    assert_null(strstr(st.problem, "secret-1"));
}

static void test_optional(void **state)
{
    static const struct step steps[] = {
        {"limit=", "404 page not found", .code = 404},
        {"", NULL},
    };
    struct rig r;
    struct kube_watch_state st;
    (void)state;
    rig_up(&r, steps, true);
    await_told(&r, "[[]");
    UNTIL((kube_watch_state(r.watch, &st), st.ok && st.synced));
    rig_down(&r);
}

/* ---- the splitter, whatever the pieces */

struct pieces {
    char text[4096];
    int n;
};

static bool piece(void *ctx, const char *text, size_t n)
{
    struct pieces *p = ctx;
    strncat(p->text, text, n);
    strcat(p->text, "|");
    p->n++;
    return true;
}

static void split(const char *text, enum kube_split_kind kind, size_t step,
                  struct pieces *p, char *rest)
{
    struct kube_split s;
    struct err err = {0};
    size_t n = strlen(text);
    memset(p, 0, sizeof *p);
    kube_split_init(&s, kind, piece, p);
    for (size_t i = 0; i < n; i += step)
        if (kube_split_feed(&s, text + i, n - i < step ? n - i : step, &err) !=
            ST_OK)
            fail_msg("%s", err.text);
    assert_true(kube_split_whole(&s));
    strcpy(rest, s.rest.s);
    kube_split_done(&s);
}

static void test_split(void **state)
{
    static const char list[] =
        " {\"kind\":\"L\",\"metadata\":{\"items\":[{\"x\":1}]},\"ite\\\"ms\":"
        "[{\"no\":1}],\"items\": [ {\"a\":\"}]\\\"{\"} ,{\"b\":{\"items\":"
        "[{}]}}],\"tail\":[{}]}\n";
    static const char watch[] =
        "{\"a\":\"\\\\\"}\n {\"b\":[{},[\"]\"]]}{\"c\":1}\n";
    struct pieces p;
    char rest[4096];
    (void)state;
    for (size_t step = 1; step < sizeof list; step++) {
        split(list, SPLIT_LIST, step, &p, rest);
        assert_string_equal(p.text, "{\"a\":\"}]\\\"{\"}|{\"b\":{\"items\":"
                                    "[{}]}}|");
        assert_non_null(strstr(rest, "\"items\": [  ]"));
        assert_non_null(strstr(rest, "\"tail\":[{}]"));
    }
    for (size_t step = 1; step < sizeof watch; step++) {
        split(watch, SPLIT_WATCH, step, &p, rest);
        assert_string_equal(p.text, "{\"a\":\"\\\\\"}|{\"b\":[{},[\"]\"]]}|"
                                    "{\"c\":1}|");
    }
}

/* ---- kubeconfig */

static void try_config(const char *text, const char *context, const char *says)
{
    char path[256];
    struct kube_access_opts o = {.kubeconfig = path, .context = context};
    struct kube_access *a = NULL;
    struct err err = {0};
    scratch_path(path, "davit-kube-XXXXXX");
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum status s = kube_access_find(&o, &a, &err);
    unlink(path);
    if (!says) {
        if (s != ST_OK)
            fail_msg("%s", err.text);
        assert_string_equal(kube_access_server(a), "https://[::1]:6443/x");
        kube_access_free(a);
        return;
    }
    assert_int_equal(s, ST_INVALID);
    assert_null(a);
    if (!strstr(err.text, says) || !strstr(err.text, path))
        fail_msg("wanted \"%s\" and the path in \"%s\"", says, err.text);
}

#define CLUSTER \
    "clusters: [{name: k, cluster: {server: " \
    "'https://[::1]:6443/x//', certificate-authority-data: aGVs bG8=}}]\n"
#define CONTEXT \
    "contexts: [{name: c, context: {cluster: k, user: u}}, " \
    "{name: other, context: {cluster: none}}]\ncurrent-context: c\n"

static void test_kubeconfig(void **state)
{
    (void)state;
    try_config(CLUSTER CONTEXT "users: [{name: u, user: {token: t}}]\n", NULL,
               NULL);
    try_config("{\"current-context\":\"c\",\"clusters\":[{\"name\":\"k\","
               "\"cluster\":{\"server\":\"https://[::1]:6443/x\"}}],"
               "\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\"}}"
               "]}",
               "c", NULL);
    try_config(CLUSTER CONTEXT, NULL, "no user \"u\"");
    try_config(CLUSTER CONTEXT, "other", "no cluster \"none\"");
    try_config(CLUSTER CONTEXT, "nope", "no context \"nope\"");
    try_config(CLUSTER, NULL, "no current-context");
    try_config("- a\n", NULL, "no kubeconfig");
    try_config("a: [b", NULL, ":2:1:");
    try_config("clusters: [{name: k, cluster: {server: 10.0.0.1}}]\n" CONTEXT,
               NULL,
               "must be a URL such as https://10.0.0.1:6443, got "
               "10.0.0.1");
    try_config("clusters: [{name: k, cluster: {server: 'https://a', "
               "certificate-authority-data: '*'}}]\n" CONTEXT,
               NULL, "certificate-authority-data is not base64");
    try_config(CLUSTER CONTEXT "users: [{name: u, user: {exec: {command: "
                               "gke-gcloud-auth-plugin}}}]\n",
               NULL,
               "exec plug-in gke-gcloud-auth-plugin, which davit does not run");
    try_config(CLUSTER CONTEXT "users: [{name: u, user: {username: a, "
                               "password: b}}]\n",
               NULL, "has a password");
    try_config(CLUSTER CONTEXT "users: [{name: u, user: {tokenFile: nope}}]\n",
               NULL, "/nope: No such file");
}

static void test_no_way(void **state)
{
    struct kube_access_opts o = {0};
    struct kube_access *a;
    struct err err = {0};
    (void)state;
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBECONFIG");
    setenv("HOME", "/nonexistent", 1);
    assert_int_equal(kube_access_find(&o, &a, &err), ST_INVALID);
    assert_non_null(strstr(err.text, "no way to a Kubernetes API server"));
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("DAVIT_SERVICEACCOUNT_DIR", "/nonexistent", 1);
    assert_int_equal(kube_access_find(&o, &a, &err), ST_INVALID);
    assert_non_null(strstr(err.text, "/nonexistent/ca.crt"));
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("DAVIT_SERVICEACCOUNT_DIR");
}

/* ---- one request */

static void test_do(void **state)
{
    static const struct step steps[] = {
        {"PATCH /api/v1/nodes/n ", "{\"ok\":true}"},
        {"POST /",
         "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\","
         "\"message\":\"a budget\",\"details\":{\"retryAfterSeconds\":7}}",
         .code = 429},
        {"GET /", "not json"},
        {"GET /", "{\"message\":\"no\",\"reason\":\"Forbidden\"}", .code = 403},
        {"", NULL},
    };
    struct rig r;
    struct err err = {0};
    (void)state;
    memset(&r, 0, sizeof r);
    r.play.steps = steps;
    r.server = server_start(serve_play, &r.play);
    config_write(&r, "token: t");
    struct kube_access_opts o = {.kubeconfig = r.path};
    assert_int_equal(kube_access_find(&o, &r.access, &err), ST_OK);
    struct kube *k = kube_new(r.access);
    struct kube_call c = {.method = "PATCH",
                          .path = "/api/v1/nodes/n",
                          .body = "{}",
                          .content_type = KUBE_MERGE_PATCH};
    assert_int_equal(kube_do(k, &c, &err), ST_OK);
    assert_int_equal(c.code, 200);
    assert_true(json_is_true(json_object_get(c.reply, "ok")));
    json_decref(c.reply);
    c = (struct kube_call){.method = "POST",
                           .body = "{}",
                           .path = "/api/v1/namespaces/a/pods/p/eviction"};
    assert_int_equal(kube_do(k, &c, &err), ST_RETRY);
    assert_string_equal(err.code, "TooManyRequests");
    assert_int_equal(err.retry_after_ms, 7000);
    json_decref(c.reply);
    c = (struct kube_call){.path = "/api/v1/pods"};
    assert_int_equal(kube_do(k, &c, &err), ST_RETRY);
    assert_null(c.reply);
    c = (struct kube_call){.path = "/apis/coordination.k8s.io/v1/namespaces/"
                                   "ns/leases/davit"};
    assert_int_equal(kube_do(k, &c, &err), ST_AUTH);
    assert_non_null(strstr(err.text,
                           "no right to get leases in namespace ns; "
                           "the Role needs the rule {apiGroups: "
                           "[\"coordination.k8s.io\"], resources: [leases], "
                           "verbs: [get]}"));
    json_decref(c.reply);
    kube_free(k);
    kube_access_free(r.access);
    server_free(r.server);
    unlink(r.path);
    if (r.play.wrong)
        fail_msg("%s", r.play.bad);
}

/* ---- streams */

static bool count_bytes(void *ctx, const char *p, size_t n)
{
    (void)p;
    *(size_t *)ctx += n;
    return true;
}

static void test_stream_silence(void **state)
{
    static const struct step steps[] = {
        {"GET /", "12345", .held = true},
        {"", NULL},
    };
    struct play play = {.steps = steps};
    struct server *s = server_start(serve_play, &play);
    struct http_client *c = http_client_new();
    struct arena a = {0};
    struct err err = {0};
    size_t n = 0;
    struct http_sink sink = {.chunk = count_bytes, .ctx = &n, .idle_ms = 300};
    char url[100];
    (void)state;
    snprintf(url, sizeof url, "%s/", s->url);
    struct http_exchange x = {.url = url};
    int64_t begun = clock_mono_ms();
    assert_int_equal(http_stream(c, &x, &sink, &a, &err), ST_RETRY);
    assert_non_null(strstr(err.text, "silent"));
    assert_int_equal(n, 5);
    assert_int_equal(x.status, 200);
    assert_true(clock_mono_ms() - begun >= 300);
    arena_done(&a);
    http_client_free(c);
    server_free(s);
}

struct stopper {
    struct http_client *c;
    atomic_bool stop;
    sem_t some; /* of the stream has come */
};

static bool tell_some(void *ctx, const char *p, size_t n)
{
    (void)p;
    (void)n;
    sem_post(&((struct stopper *)ctx)->some);
    return true;
}

static void *stop_when_some(void *arg)
{
    struct stopper *s = arg;
    sem_wait(&s->some);
    atomic_store(&s->stop, true);
    http_wake(s->c);
    return NULL;
}

static void test_stream_cancel(void **state)
{
    static const struct step steps[] = {
        {"GET /", "12345", .held = true},
        {"", NULL},
    };
    struct play play = {.steps = steps};
    struct server *s = server_start(serve_play, &play);
    struct stopper stop = {.c = http_client_new()};
    struct arena a = {0};
    struct err err = {0};
    struct http_sink sink = {.chunk = tell_some, .ctx = &stop};
    char url[100];
    pthread_t t;
    (void)state;
    snprintf(url, sizeof url, "%s/", s->url);
    struct http_exchange x = {.url = url, .cancel = &stop.stop};
    sem_init(&stop.some, 0, 0);
    pthread_create(&t, NULL, stop_when_some, &stop);
    assert_int_equal(http_stream(stop.c, &x, &sink, &a, &err), ST_CANCELLED);
    pthread_join(t, NULL);
    arena_done(&a);
    http_client_free(stop.c);
    server_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_events_bookmarks),
        cmocka_unit_test(test_gone_lists_again),
        cmocka_unit_test(test_cut_lines),
        cmocka_unit_test(test_rubbish),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_no_right),
        cmocka_unit_test(test_optional),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_no_way),
        cmocka_unit_test(test_do),
        cmocka_unit_test(test_stream_silence),
        cmocka_unit_test(test_stream_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
