/*
 * test_control_reload.c - what was asked of a provider before a reload: it counts
 * where the new file says of the provider what the old one did.
 */
#include "control_rig.h"

#include "control/report/stops.h"

static struct ends ends;
static struct reloading reloading;
static const char *settings;

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    ends = (struct ends){&rig.env, &rig.ledger, &rig.conf, &rig.sources,
                         .held = 0};
    reloading = (struct reloading){&rig.conf, &rig.providers, &rig.sources,
                                   &ends, &rig.known};
    providers_check_places(&rig.providers, false);
    return 0;
}

/* What is still under way comes back, too late. */
static int stop(void **state)
{
    (void)state;
    while (rig.providers.calls.n) {
        struct call *c = rig.providers.calls.v[0].call;

        c->job.abandoned = true;
        providers_fold(&rig.providers, &c->job.mail);
    }
    rig_stop();
    return 0;
}

static enum status config_given(void *arg, const char *path,
                                struct config **ret, struct buf *errors)
{
    (void)arg;
    return config_parse(path, settings, strlen(settings), ret, errors);
}

static void reload(const char *text)
{
    settings = text;
    rig.outside.config = config_given;
    configuration_reload(&rig.conf, 0);
    reload_if_due(&reloading);
    assert_string_equal(rig.conf.problem, "");
    assert_ptr_equal(rig_site()->conf, &rig.conf.now->providers[0]);
}

/* A provider of this type, in a file that is otherwise like RIG_CONFIG. */
#define FILE_OF(more, provider, name, resources, type) \
    "cluster: c\nproviders: {" provider ": {plugin: rig}}\n" more \
    "node_types: {" name ": {provider: " provider ", resources: {" resources \
    "}, " type "}}\n"
#define SAME "CPU: 4, GPU: 1"

static struct call *sent(enum call_op op)
{
    static const char *const ids[] = {"i-none"};
    struct call *c = call_new(rig_site()->provider, op, MAIL_CALL);

    c->ids = c->names = ids;
    c->n_ids = op == CALL_TERMINATE;
    c->type = "t";
    c->request_id = "davit-rig";
    c->count = op == CALL_LAUNCH;
    call_send(&rig.providers, rig_site(), c, 1000);
    assert_ptr_equal(rig_job(), &c->job);
    return c;
}

static struct call *list_sent(void)
{
    struct call *c;

    providers_poll(&rig.providers);
    c = (struct call *)rig_job();
    assert_int_equal(c->op, CALL_LIST);
    return c;
}

static void listed(struct call *c)
{
    VEC_PUSH(&c->arena, &c->machines,
             ((struct call_machine){.id = "i-1",
                                    .request_id = "",
                                    .type = "t",
                                    .zone = "",
                                    .address = "",
                                    .detail = "",
                                    .unit = "",
                                    .held = "",
                                    .phase = DAVIT_RUNNING}));
    c->status = ST_OK;
    providers_fold(&rig.providers, &c->job.mail);
}

/* To close a plug-in may take as long as its program does: the loop waits for
 * none. */
static void closed_by_a_worker(void)
{
    struct job *closing;

    providers_close_retired(&rig.providers);
    assert_int_equal(rig.providers.retired.n, 0);
    assert_int_equal(rig.providers.closing, 1);
    closing = rig_job();
    closing->run(closing);
    provider_closed(&rig.providers, &closing->mail);
    assert_int_equal(rig.providers.closing, 0);
}

/* A list that was asked for before counts, unless the provider, or what its types
 * are made of, is another one now. */
static void test_lists_under_way(void **state)
{
    static const struct {
        const char *text;
        bool counts;
    } files[] = {
        {RIG_CONFIG, true},
        {FILE_OF("", "rig", "t", SAME, "price: 1, max: 9"), true},
        {FILE_OF("limits: {max_nodes: 3}\n", "rig", "t", SAME,
                 "price: 2, min: 1, max: 3"),
         true},
        {FILE_OF("", "rig", "t", SAME, "price: 1, spot: true"), false},
        {FILE_OF("", "rig", "t", SAME, "price: 1, zones: [a]"), false},
        {FILE_OF("", "rig", "t", "CPU: 4", "price: 1"), false},
        {FILE_OF("", "rig", "t", SAME, "pool: p, price: 1"), false},
        {FILE_OF("", "rig", "u", SAME, "price: 1"), false},
        {FILE_OF("", "other", "t", SAME, "price: 1"), false},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct call *c = list_sent();
        struct provider *handle = rig_site()->provider;

        reload(files[i].text);
        assert_ptr_not_equal(rig_site()->provider, handle);
        assert_int_equal(rig.providers.retired.n, 1);
        assert_int_equal(rig_site()->listing, files[i].counts);
        listed(c);
        assert_false(rig_site()->listing);
        if (provider_is_read(rig_site()) != files[i].counts)
            fail_msg("file %zu", i);
        assert_int_equal(rig.ledger.fleet.n, files[i].counts);
        closed_by_a_worker();
        stop(state);
        start(state);
    }
}

/* What a provider was read by, and what hangs there, stays. */
static void test_goes_on(void **state)
{
    struct call *hung;

    (void)state;
    listed(list_sent());
    hung = sent(CALL_TERMINATE);
    rig_pass(hung->job.deadline_mono_ms - rig.env.mono_ms + LAST_CHANCE_MS);
    calls_overdue(&rig.providers);
    reload(RIG_CONFIG);
    assert_true(provider_is_read(rig_site()));
    assert_true(ends_hang(&rig.providers, rig_site()));
    reload(FILE_OF("", "rig", "t", "CPU: 4", "price: 1"));
    assert_false(provider_is_read(rig_site()));
    assert_false(ends_hang(&rig.providers, rig_site()));
}

/* One that failed is asked again at once; one that hangs is not, as another call
 * would hang beside it. */
static void test_asked_at_once(void **state)
{
    struct call *c = list_sent();

    (void)state;
    c->status = err_set(&c->err, ST_AUTH, "the key is old");
    c->err.retry_after_ms = 3600000;
    providers_fold(&rig.providers, &c->job.mail);
    providers_poll(&rig.providers);
    assert_int_equal(rig.n_jobs, 0);
    reload(RIG_CONFIG);
    c = list_sent();
    assert_ptr_equal(c->provider, rig_site()->provider);
    rig_pass(c->job.deadline_mono_ms - rig.env.mono_ms + LAST_CHANCE_MS);
    calls_overdue(&rig.providers);
    reload(RIG_CONFIG);
    providers_poll(&rig.providers);
    assert_int_equal(rig.n_jobs, 0);
}

/* A refusal of before says nothing after it: what was mended may be elsewhere. */
static void test_refused_before(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct call *c = sent(CALL_LAUNCH);

    (void)state;
    MACHINE_SET(m, request_id, "davit-rig");
    m->busy = true;
    reload(RIG_CONFIG);
    c->status = err_set(&c->err, ST_AUTH, "no right to launch");
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(m->state, STATE_GONE);
    assert_null(
        backoffs_find(rig.ledger.backoffs, machine_offer(m), rig.env.now_ms));
}

static uint32_t stops_of(const char *kind)
{
    struct status_page *page = status_new();
    struct ends none = {.env = &rig.env};
    uint32_t n = 0;

    stops_show(&rig.known, &none, page);
    for (uint32_t i = 0; i < page->n_stops; i++)
        n += strcmp(page->stops[i].kind, kind) == 0;
    status_unref(page);
    return n;
}

/* Calls of before that hang show once, whatever became of their provider. */
static void test_hung_calls_show_once(void **state)
{
    static const char *const files[] = {
        RIG_CONFIG, FILE_OF("", "rig", "t", "CPU: 4", "price: 1"),
        FILE_OF("", "rig", "t", "CPU: 8", "price: 1"),
        FILE_OF("", "other", "t", SAME, "price: 1")};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct call *c = sent(CALL_TERMINATE);

        rig_pass(c->job.deadline_mono_ms - rig.env.mono_ms + LAST_CHANCE_MS);
        calls_overdue(&rig.providers);
        assert_int_equal(stops_of("call_hangs"), 1);
        reload(files[i]);
        assert_int_equal(stops_of("call_hangs"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_lists_under_way),      TEST(test_goes_on),
        TEST(test_asked_at_once),        TEST(test_refused_before),
        TEST(test_hung_calls_show_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
