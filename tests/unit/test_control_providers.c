/*
 * test_control_providers.c - what lists, answers and calls that hang do to the
 * ledger: adoption, two misses, a list that is older than what it misses.
 */
#include "control_rig.h"

#include "control/last_look.h"
#include "control/settle.h"
#include "control/type_names.h"

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop();
    return 0;
}

static struct call_machine running(const char *id)
{
    return (struct call_machine){.id = id,
                                 .request_id = "",
                                 .type = "t",
                                 .zone = "",
                                 .address = "",
                                 .detail = "",
                                 .unit = "",
                                 .held = "",
                                 .phase = DAVIT_RUNNING};
}

/* The list that is due, as it leaves. */
static struct call *list_sent(void)
{
    struct call *c;

    providers_poll(&rig.providers);
    c = (struct call *)rig_job();
    assert_int_equal(c->op, CALL_LIST);
    return c;
}

/* It is back with these machines. */
static void listed(struct call *c, const char *const *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        VEC_PUSH(&c->arena, &c->machines, running(ids[i]));
    c->status = ST_OK;
    providers_fold(&rig.providers, &c->job.mail);
}

static void list(const char *const *ids, uint32_t n)
{
    rig_pass(40000);
    listed(list_sent(), ids, n);
}

/* A journal that began empty does not know what was there before it. */
static void test_adopted(void **state)
{
    const struct machine *m;

    (void)state;
    list((const char *[]){"i-1"}, 1);
    m = fleet_by_launch(&rig.ledger.fleet, "rig", "i-1", "");
    assert_non_null(m);
    assert_int_equal(m->adopted, ADOPTED_NEW_JOURNAL);
    assert_int_equal(m->state, STATE_READY); /* no source says when it joins */
    assert_true(rig_emitted("node.held"));
    list((const char *[]){"i-1", "i-2"}, 2);
    m = fleet_by_launch(&rig.ledger.fleet, "rig", "i-2", "");
    assert_int_equal(m->adopted, ADOPTED);
    assert_true(rig_emitted("node.adopted"));
}

static enum adoption mark_adopted(const char *request)
{
    return ours_of(&rig.ledger, "rig", request);
}

static void test_marks(void **state)
{
    char id[MARK_MAX];

    (void)state;
    ours_request_id(&rig.ledger, id);
    assert_int_equal(strlen(id), 26);
    assert_int_equal(mark_adopted(id), ADOPTED);
    id[6] = id[6] == '0' ? '1' : '0';
    assert_int_equal(mark_adopted(id), ADOPTED_OTHER_OWNER);
    assert_int_equal(mark_adopted(""), ADOPTED_NEW_JOURNAL);
    ours_listed(&rig.ledger, "rig");
    assert_int_equal(mark_adopted(""), ADOPTED);
    assert_int_equal(mark_adopted(id), ADOPTED_OTHER_OWNER);
}

/* Under another name: the same machine, not one more. */
static void test_provider_was_renamed(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");

    (void)state;
    MACHINE_SET(m, provider, "earlier");
    list((const char *[]){"i-1"}, 1);
    assert_int_equal(rig.ledger.fleet.n, 1);
    assert_string_equal(m->provider, "rig");
    assert_true(rig_emitted("node.moved"));
}

/* Many that vanish at once are a wrong list, until it says so for long. */
static void test_short_list(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};
    struct machine *m[6];

    (void)state;
    for (int i = 0; i < 6; i++)
        m[i] = rig_machine(ids[i] + 2, STATE_READY, ids[i]);
    list(ids, 6);
    for (int i = 0; i < 4; i++)
        list(ids, 2);
    assert_int_equal(m[5]->state, STATE_READY);
    assert_false(provider_is_read(rig_site()));
    list(ids, 6);
    assert_true(provider_is_read(rig_site()));
    for (int i = 0; i < 60; i++)
        list(ids, 2);
    assert_int_equal(m[5]->state, STATE_GONE);
    assert_int_equal(m[1]->state, STATE_READY);
}

/* The demand source was read now, and has these nodes as dead. */
static void nodes_die(struct machine *const *m, int from, int to)
{
    for (int i = from; i < to; i++) {
        char node[16];

        snprintf(node, sizeof node, "n%d", i);
        MACHINE_SET(m[i], ray_id, node);
        m[i]->maybe.dead = true;
    }
    rig.ledger.source_read_ms = rig.env.now_ms;
}

static void list_and_source(const char *const *ids, uint32_t n)
{
    rig_pass(40000);
    rig.ledger.source_read_ms = rig.env.now_ms;
    listed(list_sent(), ids, n);
}

/* A wave: what the list lacks is dead for the demand source too.  Then the list is
 * asked for at once, and believed; what has no witness waits. */
static void test_a_wave_is_believed(void **state)
{
    const char *ids[] = {"i-0",  "i-1",  "i-2",  "i-3", "i-4",  "i-5",
                         "i-6",  "i-7",  "i-8",  "i-9", "i-10", "i-11",
                         "i-12", "i-13", "i-14", "i-15"};
    struct machine *m[16];

    (void)state;
    for (int i = 0; i < 16; i++)
        m[i] = rig_machine(ids[i] + 2, STATE_READY, ids[i]);
    list(ids, 16);
    list(ids, 6);
    assert_false(provider_is_read(rig_site()));
    providers_poll(&rig.providers); /* nobody confirms it: no hurry */
    assert_int_equal(rig.n_jobs, 0);
    nodes_die(m, 6, 10); /* fewer than the others */
    providers_poll(&rig.providers);
    assert_int_equal(rig.n_jobs, 0);
    nodes_die(m, 6, 12); /* six of ten: it is right, and four wait */
    listed(list_sent(), ids, 6);
    assert_true(provider_is_read(rig_site()));
    assert_int_equal(rig_site()->short_by, 4);
    list_and_source(ids, 6);
    assert_int_equal(m[11]->state, STATE_GONE);
    assert_int_equal(m[12]->state, STATE_READY);
    nodes_die(m, 12, 16);
    list_and_source(ids, 6);
    assert_int_equal(rig_site()->short_since_ms, 0);
    list_and_source(ids, 6);
    assert_int_equal(m[15]->state, STATE_GONE);
    assert_int_equal(m[5]->state, STATE_READY);
}

/* ---- a second witness: the cloud, asked for each by its id */

static void find_is_there(bool there)
{
    rig_provider.find = there ? rig_terminate : NULL;
}

static int stop_finding(void **state)
{
    find_is_there(false);
    return stop(state);
}

static struct call *find_sent(uint32_t n)
{
    struct call *c = (struct call *)rig_job();

    assert_int_equal(c->op, CALL_FIND);
    assert_int_equal(c->n_ids, n);
    return c;
}

static void found(struct call *c, enum status each, enum status s)
{
    c->done = ARENA_ARRAY(&c->arena, enum status, c->n_ids);
    for (uint32_t i = 0; i < c->n_ids; i++)
        c->done[i] = each;
    c->status = s;
    providers_fold(&rig.providers, &c->job.mail);
}

static void machines_of(const char *const *ids, struct machine **m, int n)
{
    for (int i = 0; i < n; i++)
        m[i] = rig_machine(ids[i] + 2, STATE_READY, ids[i]);
    find_is_there(true);
    rig_pass(RIG_SETTLE_MS);
    list(ids, (uint32_t)n);
    rig_pass(RIG_SETTLE_MS);
}

/* All of them are gone, by their ids: within two lists, a second apart, and not
 * in ten minutes. */
static void test_a_wave_by_ids(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};
    struct machine *m[6];
    int64_t at;

    (void)state;
    machines_of(ids, m, 6);
    list(ids, 2);
    assert_false(provider_is_read(rig_site()));
    found(find_sent(4), ST_NOT_FOUND, ST_OK);
    assert_true(rig_emitted("list.checked"));
    at = rig_now_ms;
    rig_pass(10);
    listed(list_sent(), ids, 2);
    assert_true(provider_is_read(rig_site()));
    rig_pass(1000);
    listed(list_sent(), ids, 2);
    assert_int_equal(m[5]->state, STATE_GONE);
    assert_int_equal(m[1]->state, STATE_READY);
    assert_true(rig_now_ms - at < 5000);
    assert_int_equal(rig.n_jobs, 0);
}

/* However many are sought, an end and a launch have their places. */
static void test_a_wave_leaves_room(void **state)
{
    uint32_t finds = 0;

    (void)state;
    find_is_there(true);
    for (int i = 0; i < 400; i++) {
        char id[16];

        snprintf(id, sizeof id, "i-%d", i);
        rig_machine(id + 2, STATE_READY, id)->seen_ms = rig.env.now_ms;
    }
    rig_pass(RIG_SETTLE_MS);
    list(NULL, 0);
    assert_true(rig.n_jobs > 0);
    assert_true(calls_room(&rig.providers, rig_site(), CALL_LAUNCH));
    assert_true(calls_room(&rig.providers, rig_site(), CALL_TERMINATE));
    assert_false(calls_room(&rig.providers, rig_site(), CALL_FIND));
    while (rig.n_jobs) {
        found(find_sent(50), ST_OK, ST_OK);
        finds++;
    }
    assert_int_equal(finds, 3);
    list(NULL, 0); /* the next list asks for the others */
    while (rig.n_jobs) {
        found(find_sent(50), ST_OK, ST_OK);
        finds++;
    }
    assert_int_equal(finds, 6);
}

/* They are there, by their ids: however long lists lack them, they are not gone;
 * each is asked for once a minute. */
static void test_a_broken_list_by_ids(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};
    struct machine *m[6];

    (void)state;
    machines_of(ids, m, 6);
    for (int i = 0; i < 60; i++) {
        list(ids, 2);
        if (i % 2 == 0)
            found(find_sent(4), ST_OK, ST_OK);
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(m[i]->state, STATE_READY);
    assert_int_equal(rig.n_jobs, 0);
}

/* Whose answer is none, or about something else, says nothing: the list is
 * doubted for its ten minutes. */
static void test_no_word_by_ids(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};
    struct machine *m[6];

    (void)state;
    machines_of(ids, m, 6);
    for (int i = 0; i < 10; i++) {
        list(ids, 2);
        if (i % 2 == 0)
            found(find_sent(4), ST_RETRY, ST_NOT_FOUND);
        assert_false(provider_is_read(rig_site()));
    }
    assert_int_equal(m[5]->state, STATE_READY);
}

/* One that is missing alone is asked for, too: the list is wrong, or else it is
 * settled at once.  One so new that nobody may know it is not. */
static void test_one_by_its_id(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2"};
    struct machine *m[3], *new;

    (void)state;
    machines_of(ids, m, 3);
    list(ids, 2);
    found(find_sent(1), ST_OK, ST_OK);
    for (int i = 0; i < 2; i++)
        list(ids, 2);
    found(find_sent(1), ST_OK, ST_OK);
    assert_int_equal(m[2]->state, STATE_READY);
    list(ids, 2);
    list(ids, 2);
    found(find_sent(1), ST_NOT_FOUND, ST_OK);
    rig_pass(10);
    listed(list_sent(), ids, 2);
    rig_pass(1000);
    listed(list_sent(), ids, 2);
    assert_int_equal(m[2]->state, STATE_GONE);
    new = rig_machine("new", STATE_READY, "i-9");
    list((const char *[]){"i-0", "i-1", "i-9"}, 3);
    new->created_ms = rig.env.now_ms + 40000 - RIG_SETTLE_MS + 1;
    list(ids, 2);
    assert_int_equal(rig.n_jobs, 0);
}

/* The last list of all, which comes in as the daemon ends, lacks machines, too: nobody
 * is asked any more, as there are no workers. */
static void test_no_ids_at_the_end(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};
    struct machine *m[6];
    struct call *last;

    (void)state;
    machines_of(ids, m, 6);
    rig_pass(20000);
    last = list_sent();
    rig.env.stopping = true;
    listed(last, ids, 2);
    rig.env.stopping = false;
    assert_int_equal(rig.n_jobs, 0);
    assert_int_equal(m[5]->state, STATE_READY);
}

/* A cloud that knows none of ours, by list or by id, may be another account's. */
static void test_another_account_by_ids(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};
    struct machine *m[6];

    (void)state;
    machines_of(ids, m, 6);
    for (int i = 0; i < 5; i++) {
        list(ids, 0);
        if (i % 2 == 0)
            found(find_sent(6), ST_NOT_FOUND, ST_NOT_FOUND);
        assert_false(provider_is_read(rig_site()));
    }
    for (int i = 0; i < 6; i++)
        assert_true(m[i]->state == STATE_READY && !m[i]->maybe.lost);
}

static const char *looked(const struct machine *m)
{
    struct last_look l = last_look_begin(&rig.ledger, &rig.providers,
                                         &rig.sources);

    return last_look(&l, m);
}

/* One that lists lack and that is there by its id can be ended. */
static void test_an_end_of_one_that_lists_lack(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2"};
    struct machine *m[3];

    (void)state;
    machines_of(ids, m, 3);
    machine_to(&rig.ledger, m[2], STATE_STOPPING);
    list(ids, 2);
    assert_non_null(looked(m[2]));
    found(find_sent(1), ST_OK, ST_OK);
    assert_null(looked(m[2]));
    list(ids, 2);
    assert_int_equal(m[2]->state, STATE_STOPPING);
}

/* Two launches have one id, which the cloud gave again: of which of them the answer is
 * nobody knows, so it keeps neither. */
static void test_an_id_of_two_launches_says_nothing(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2"};
    struct machine *m[3];
    struct call *c;

    (void)state;
    machines_of(ids, m, 3);
    list(ids, 2);
    c = find_sent(1);
    rig_machine("again", STATE_STARTING, "i-2");
    found(c, ST_OK, ST_OK);
    assert_int_equal(m[2]->maybe.found_ms, 0);
}

/* An answer is of the time when it was asked for: a launch since then may have the id. */
static void test_an_answer_from_before_a_launch(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2"};
    struct machine *m[3];
    struct call *c;

    (void)state;
    machines_of(ids, m, 3);
    machine_to(&rig.ledger, m[2], STATE_STOPPING);
    list(ids, 2);
    c = find_sent(1);
    rig_pass(1000);
    rig_site()->launched_ms = rig.env.now_ms;
    rig_pass(1000);
    found(c, ST_OK, ST_OK);
    assert_non_null(looked(m[2]));
}

/* What the cloud says of a machine's end in a list: it leaves, and stays after
 * all; a demand source that knows nothing of it changes nothing. */
static void test_leaving_by_the_list(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");
    struct call *c;

    (void)state;
    rig_pass(40000);
    c = list_sent();
    VEC_PUSH(&c->arena, &c->machines, running("i-1"));
    c->machines.v[0].leaving = "maintenance";
    c->machines.v[0].leaves_ms = 77;
    listed(c, NULL, 0);
    assert_true(m->maybe.leaving && m->maybe.leaves_ms == 77);
    assert_true(rig_emitted("node.leaving"));
    assert_true(rig.env.news);
    list((const char *[]){"i-1"}, 1);
    assert_false(m->maybe.leaving);
    assert_true(rig_emitted("node.stays"));
}

/* One that had not joined is on its way again, and not ready. */
static void test_one_that_stays_has_not_joined(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");

    (void)state;
    rig.providers.join_elsewhere = true;
    m->why = REASON_END_TAKEN;
    m->maybe.noticed = m->maybe.leaving = true;
    machine_to(&rig.ledger, m, STATE_DRAINING);
    list((const char *[]){"i-1"}, 1);
    assert_true(rig_emitted("node.stays"));
    assert_int_equal(m->state, STATE_STARTING);
    assert_int_equal(m->ready_ms, 0);
}

/* A source that was not read since is no witness: it fell silent before. */
static void test_an_old_view_is_no_witness(void **state)
{
    const char *ids[] = {"i-0", "i-1", "i-2", "i-3", "i-4", "i-5"};
    struct machine *m[6];

    (void)state;
    for (int i = 0; i < 6; i++)
        m[i] = rig_machine(ids[i] + 2, STATE_READY, ids[i]);
    list(ids, 6);
    nodes_die(m, 2, 6);
    list(ids, 2);
    assert_false(provider_is_read(rig_site()));
    assert_int_equal(m[5]->state, STATE_READY);
}

static void test_lost_after_two_lists(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");

    (void)state;
    m->seen_ms = rig.env.now_ms;
    list(NULL, 0);
    assert_int_equal(m->state, STATE_READY);
    list((const char *[]){"i-1"}, 1); /* it was there after all */
    list(NULL, 0);
    assert_int_equal(m->state, STATE_READY);
    list(NULL, 0);
    assert_int_equal(m->state, STATE_GONE);
    assert_true(rig_emitted("node.lost"));
}

static void test_failed_list_says_nothing(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct call *c;

        rig_pass(60000);
        c = list_sent();
        c->status = err_set(&c->err, ST_RETRY, "no");
        providers_fold(&rig.providers, &c->job.mail);
    }
    assert_int_equal(m->state, STATE_READY);
    assert_false(provider_is_read(rig_site()));
    assert_true(rig_emitted("provider.down"));
}

static void test_list_is_older_than_the_machine(void **state)
{
    struct machine *m;
    struct call *c;

    (void)state;
    rig_pass(20000);
    c = list_sent();
    c->started_mono_ms = rig.env.mono_ms;
    rig_pass(500);
    m = rig_machine("m", STATE_STARTING, "i-1");
    rig_pass(500);
    listed(c, NULL, 0);
    assert_int_equal(m->state, STATE_STARTING);
    assert_int_equal(m->maybe.missing_ms, 0);
}

static struct call *launch_sent(struct machine *m)
{
    struct call *c = call_new(rig_site()->provider, CALL_LAUNCH, MAIL_CALL);

    MACHINE_SET(m, request_id, "r-1");
    m->busy = true;
    c->type = "t";
    c->zone = "";
    c->request_id = "r-1";
    c->count = 1;
    call_send(&rig.providers, rig_site(), c, 120000);
    assert_ptr_equal(rig_job(), &c->job);
    return c;
}

static void test_refusal_ends_the_intent(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct call *c = launch_sent(m);

    (void)state;
    c->status = err_set(&c->err, ST_STOCKOUT, "none left");
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(m->state, STATE_GONE);
    assert_non_null(
        backoffs_find(rig.ledger.backoffs, machine_offer(m), rig.env.now_ms));
    assert_int_equal(rig.ledger.n_failures, 1);
}

static void test_lost_answer_keeps_the_intent(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct call *c = launch_sent(m);

    (void)state;
    c->status = err_set(&c->err, ST_RETRY, "reset");
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(m->state, STATE_INTENDED);
    assert_false(m->busy);
    assert_true(m->retry_ms > rig.env.now_ms);
}

static void test_call_that_hangs(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");
    struct call *c = launch_sent(m);

    (void)state;
    rig_pass(c->job.deadline_mono_ms - rig.env.mono_ms + LAST_CHANCE_MS - 1);
    calls_overdue(&rig.providers);
    assert_int_equal(m->state, STATE_INTENDED);
    rig_pass(1);
    calls_overdue(&rig.providers);
    assert_int_equal(m->state, STATE_INTENDED); /* it may yet do its work */
    assert_true(standing_lost_sight(m));
    assert_true(atomic_load(&c->cancel));
    assert_int_equal(rig.providers.calls.n, 1);
    list(NULL, 0);
    assert_int_equal(m->state, STATE_INTENDED);
    c->job.abandoned = true;
    providers_fold(&rig.providers, &c->job.mail);
    assert_int_equal(rig.providers.calls.n, 0);
    assert_int_equal(m->state, STATE_INTENDED);
    list(NULL, 0); /* begun a settle time after the launch left */
    assert_true(m->maybe.unlisted);
    assert_int_equal(m->state, STATE_INTENDED);
    rig_pass(provider_settle_ms(rig_site()->provider));
    list(NULL, 0);
    assert_int_equal(m->state, STATE_GONE);
    assert_true(rig_emitted("launch.settled"));
}

static void test_offers_replace_those_before(void **state)
{
    static const char *const zones[] = {"a", "b"};

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct call *c = call_new(rig_site()->provider, CALL_OFFERS, MAIL_CALL);

        for (int i = round; i < 2; i++)
            VEC_PUSH(&c->arena, &c->offers,
                     ((struct call_offer){.type = "t",
                                          .zone = zones[i],
                                          .available = true,
                                          .note = "",
                                          .price_micros_hour = i}));
        call_send(&rig.providers, rig_site(), c, 1000);
        assert_ptr_equal(rig_job(), &c->job);
        c->status = ST_OK;
        providers_fold(&rig.providers, &c->job.mail);
    }
    assert_int_equal(rig.providers.offers.n, 1);
    assert_string_equal(rig.providers.offers.v[0].zone, "b");
}

/* A type is made another way, at other prices, and bought on demand: what is found
 * of it in the other market, when no file has the name any more, cost its price. */
static void test_price_of_the_other_market(void **state)
{
#define BOTH_MARKETS(cpus, prices) \
    "cluster: c\nproviders: {rig: {}}\n" \
    "node_types: {t: {provider: rig, resources: {CPU: " cpus "}, " prices \
    ", market: [on-demand, spot], max: 9}}\n"
    struct config *first = rig_config(BOTH_MARKETS("4", "price: 5, "
                                                        "spot_price: 2"));
    struct config *then = rig_config(BOTH_MARKETS("8", "price: 10, "
                                                       "spot_price: 4"));
    struct config *last = rig_config(RIG_OTHER("c", ""));
    struct machine *m = rig_machine("m", STATE_READY, "i-1");

    (void)state;
    m->spot = true;
    type_name_keep(&rig.ledger, m, &first->types[0], 2000000);
    m->spot = false;
    type_name_keep(&rig.ledger, m, &first->types[0], 5000000);
    type_name_keep(&rig.ledger, m, &then->types[0], 10000000);
    m = rig_machine("found", STATE_STARTING, "i-2");
    m->spot = true;
    m->price_micros_hour = -1;
    type_name_found(&rig.ledger, m, last, true);
    assert_int_equal(m->price_micros_hour, 4000000);
    config_free(first);
    config_free(then);
    config_free(last);
}

/* What an answer with one price is believed to say. */
static int64_t price_told(int64_t micros)
{
    struct call *c = call_new(rig_site()->provider, CALL_OFFERS, MAIL_CALL);

    VEC_PUSH(&c->arena, &c->offers,
             ((struct call_offer){.type = "t",
                                  .zone = "",
                                  .available = true,
                                  .note = "",
                                  .price_micros_hour = micros}));
    call_send(&rig.providers, rig_site(), c, 1000);
    assert_ptr_equal(rig_job(), &c->job);
    c->status = ST_OK;
    providers_fold(&rig.providers, &c->job.mail);
    return rig.providers.offers.v[0].price_micros_hour;
}

/* A price that falls to less than a tenth is one when two answers in a row have it,
 * and the second is asked for soon. */
static void test_price_that_falls_far(void **state)
{
    (void)state;
    assert_int_equal(price_told(0), -1); /* the first word of it */
    assert_true(rig_site()->offers_due_ms < rig.env.mono_ms + 60000);
    assert_int_equal(price_told(5000000), 5000000);
    assert_int_equal(price_told(0), 5000000);
    assert_int_equal(price_told(4000000), 4000000);
    assert_int_equal(price_told(400000), 400000); /* a tenth */
    assert_int_equal(price_told(0), 400000);
    assert_int_equal(price_told(1), 1);
    assert_int_equal(price_told(9000000), 9000000);
    assert_int_equal(price_told(-1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_adopted),
        TEST(test_marks),
        TEST(test_provider_was_renamed),
        TEST(test_short_list),
        TEST(test_a_wave_is_believed),
        cmocka_unit_test_setup_teardown(test_a_wave_leaves_room, start,
                                        stop_finding),
        cmocka_unit_test_setup_teardown(test_a_wave_by_ids, start,
                                        stop_finding),
        cmocka_unit_test_setup_teardown(test_a_broken_list_by_ids, start,
                                        stop_finding),
        cmocka_unit_test_setup_teardown(test_no_word_by_ids, start,
                                        stop_finding),
        cmocka_unit_test_setup_teardown(test_no_ids_at_the_end, start,
                                        stop_finding),
        cmocka_unit_test_setup_teardown(test_another_account_by_ids, start,
                                        stop_finding),
        cmocka_unit_test_setup_teardown(test_an_end_of_one_that_lists_lack,
                                        start, stop_finding),
        cmocka_unit_test_setup_teardown(test_an_id_of_two_launches_says_nothing,
                                        start, stop_finding),
        cmocka_unit_test_setup_teardown(test_an_answer_from_before_a_launch,
                                        start, stop_finding),
        cmocka_unit_test_setup_teardown(test_one_by_its_id, start,
                                        stop_finding),
        TEST(test_leaving_by_the_list),
        TEST(test_one_that_stays_has_not_joined),
        TEST(test_an_old_view_is_no_witness),
        TEST(test_lost_after_two_lists),
        TEST(test_failed_list_says_nothing),
        TEST(test_list_is_older_than_the_machine),
        TEST(test_refusal_ends_the_intent),
        TEST(test_lost_answer_keeps_the_intent),
        TEST(test_call_that_hangs),
        TEST(test_offers_replace_those_before),
        TEST(test_price_that_falls_far),
        TEST(test_price_of_the_other_market),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
