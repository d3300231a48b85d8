/*
 * test_control_kube_events.c - Kubernetes Events: one of an object and a reason in
 * five minutes, counted up later, and silence once they are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <time.h>
#include <cmocka.h>

#include "../../autoscaler/base/clock.h"
#include "../../autoscaler/control/report/kube_events.h"
#include "../../autoscaler/wire/kube/kube.h"
#include "../lib/until.h"
#include "scratch.h"
#include "wire_server.h"

/* ---- time: what a test lets go by, and a tenth of the machine's: a call has five
 * seconds */

static atomic_llong ahead_ms;

static int64_t ahead_us(void *arg)
{
    struct timespec t;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000) / 10 +
           atomic_load(&ahead_ms) * 1000;
}

static void pass(void *arg, int64_t ms)
{
    (void)arg;
    atomic_fetch_add(&ahead_ms, ms);
}

static const struct clock ahead = {ahead_us, ahead_us, ahead_us, pass, NULL};

/* ---- an API server that keeps what it was asked */

static struct {
    struct server *server;
    struct kube_events *events;
    atomic_int n, code;
    char text[1 << 16]; /* all requests */
} rig;

static void serve_events(struct server *s, int fd)
{
    char got[8192], head[200];
    int code = atomic_load(&rig.code);
    size_t n;

    while (h1_read(fd, got, sizeof got)) {
        pthread_mutex_lock(&s->lock);
        n = strlen(rig.text);
        snprintf(rig.text + n, sizeof rig.text - n, "%s\n", got);
        pthread_mutex_unlock(&s->lock);
        atomic_fetch_add(&rig.n, 1);
        snprintf(head, sizeof head,
                 "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                 "Content-Length: 2\r\n\r\n{}",
                 code);
        put_text(fd, head);
    }
}

/* How often it stands in what was asked. */
static int seen(const char *what)
{
    int n = 0;

    pthread_mutex_lock(&rig.server->lock);
    for (const char *p = rig.text; (p = strstr(p, what)); p++)
        n++;
    pthread_mutex_unlock(&rig.server->lock);
    return n;
}

static int start(void **state)
{
    struct kube_access *access;
    struct err err = {0};
    char path[200];
    FILE *f;

    (void)state;
    memset(&rig, 0, sizeof rig);
    clock_install(&ahead);
    atomic_store(&rig.code, 201);
    rig.server = server_start(serve_events, NULL);
    scratch_path(path, "davit-events-XXXXXX");
    f = fdopen(mkstemp(path), "w");
    fprintf(f,
            "current-context: c\nclusters: [{name: k, cluster: {server: "
            "\"%s/\"}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: "
            "[{name: c, context: {cluster: k, user: u}}]\n",
            rig.server->url);
    fclose(f);
    if (kube_access_find(&(struct kube_access_opts){.kubeconfig = path},
                         &access, &err) != ST_OK)
        fail_msg("%s", err.text);
    unlink(path);
    rig.events = kube_events_new(access);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    kube_events_free(rig.events);
    server_free(rig.server);
    clock_install(NULL);
    return 0;
}

static void put(const char *name, const char *reason)
{
    const struct kube_event e = {.api = "v1",
                                 .kind = "Pod",
                                 .space = "default",
                                 .name = name,
                                 .uid = "u-1",
                                 .reason = reason,
                                 .about = "",
                                 .text = "as the test has it"};

    kube_events_put(rig.events, &e);
}

/* They are written one after the other: when this one comes those before it are
 * done with. */
static void until_written(const char *mark)
{
    put(mark, "Mark");
    UNTIL(seen(mark));
}

static void test_once_in_five_minutes(void **state)
{
    (void)state;
    put("a", "TriggeredScaleUp");
    until_written("m-1");
    assert_int_equal(seen("POST /api/v1/namespaces/default/events "), 2);
    assert_int_equal(seen("\"count\":1"), 2);
    for (int i = 0; i < 20; i++)
        put("a", "TriggeredScaleUp");
    until_written("m-2");
    assert_int_equal(seen("TriggeredScaleUp"), 1);
    assert_int_equal(seen("PATCH "), 0);
    put("a", "NotTriggerScaleUp"); /* another reason is another Event */
    until_written("m-3");
    assert_int_equal(seen("NotTriggerScaleUp"), 1);
    atomic_fetch_add(&ahead_ms, 290000);
    put("a", "TriggeredScaleUp");
    until_written("m-4");
    assert_int_equal(seen("TriggeredScaleUp"), 1);
    assert_int_equal(seen("PATCH "), 0);
}

/* The same one is counted up. */
static void test_counted_up_later(void **state)
{
    (void)state;
    put("a", "TriggeredScaleUp");
    until_written("m-1");
    atomic_fetch_add(&ahead_ms, 300001);
    put("a", "TriggeredScaleUp");
    until_written("m-2");
    assert_int_equal(seen("PATCH /api/v1/namespaces/default/events/a."), 1);
    assert_int_equal(seen("\"count\":2"), 1);
}

/* Without the right to: one try, told once. */
static void test_refused_is_left(void **state)
{
    char why[300];
    bool told;

    (void)state;
    atomic_store(&rig.code, 403);
    assert_false(kube_events_denied(rig.events, why, sizeof why));
    put("a", "TriggeredScaleUp");
    put("b", "TriggeredScaleUp");
    UNTIL((told = kube_events_denied(rig.events, why, sizeof why)) ||
          atomic_load(&rig.n) > 1);
    assert_true(told);
    assert_non_null(strstr(why, "events"));
    atomic_fetch_add(&ahead_ms, 400000);
    put("a", "TriggeredScaleUp");
    assert_false(kube_events_denied(rig.events, why, sizeof why));
    assert_int_equal(atomic_load(&rig.n), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_once_in_five_minutes),
        TEST(test_counted_up_later),
        TEST(test_refused_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
