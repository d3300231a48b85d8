/*
 * test_control_steps.c - the small steps: what is late, what was commanded, how
 * a configuration is taken over or refused, the times of any_of, what waits.
 */
#include "control_rig.h"

#include "control/commands.h"
#include "control/observe.h"
#include "control/report/unplaced.h"
#include "control/settle.h"

static struct observe observe;
static struct commands commands;
static struct status_board board;
static struct ends ends;
static struct reloading reloading;

static int start(void **state)
{
    (void)state;
    rig_start(RIG_CONFIG, NULL, 0);
    rig_site()->listed_ms = rig.env.now_ms;
    observe = (struct observe){&rig.env,       &rig.ledger,  &rig.conf,
                               &rig.providers, &rig.sources, 0};
    ends = (struct ends){&rig.env, &rig.ledger, &rig.conf, &rig.sources,
                         .held = 0};
    commands = (struct commands){&rig.env,      &rig.ledger,  &rig.conf,
                                 &rig.requests, &board,       &rig.providers,
                                 &ends,         &rig.sources, NULL};
    reloading = (struct reloading){&rig.conf, &rig.providers, &rig.sources,
                                   &ends, &rig.known};
    providers_check_places(&rig.providers, false);
    status_board_init(&board);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    status_board_done(&board);
    rig_stop();
    return 0;
}

/* ---- observe */

static void test_late_machine(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");

    (void)state;
    observe_deadlines(&observe);
    assert_true(rig.env.due_ms <= rig.env.mono_ms + 600000);
    rig_pass(599999);
    observe_deadlines(&observe);
    assert_int_equal(m->state, STATE_STARTING);
    rig_pass(1);
    observe_deadlines(&observe);
    assert_int_equal(m->why, REASON_NONE); /* no list was begun since */
    rig_site()->list_begun_ms = rig.env.now_ms;
    observe_deadlines(&observe);
    assert_int_equal(m->why, REASON_END_FAILED); /* ends.c ends it */
    assert_non_null(
        backoffs_find(rig.ledger.backoffs, machine_offer(m), rig.env.now_ms));
}

/* As a list shows it. */
static void listed(const struct call_machine *cm)
{
    struct unmatched rest;

    unmatched_make(&rig.providers, rig_site()->conf->name, true, &rest);
    machine_seen(&rig.providers, rig_site(), cm, true, &rest);
    unmatched_done(&rest);
}

static int64_t step_of(struct call_machine *cm)
{
    struct machine *m = fleet_by_id(&rig.ledger.fleet, "m");

    rig_pass(1000);
    listed(cm);
    return rig.env.now_ms - m->progress_ms;
}

/* A zone, an address: each counts once.  Another text, or another address, is no step. */
static void test_each_step_counts_once(void **state)
{
    struct call_machine cm = {.id = "i-1",
                              .request_id = "",
                              .type = "t",
                              .zone = "",
                              .address = "",
                              .detail = "",
                              .unit = "",
                              .held = "",
                              .phase = DAVIT_STARTING};

    (void)state;
    rig_machine("m", STATE_STARTING, "i-1");
    cm.detail = "1 s";
    assert_int_equal(step_of(&cm), 1000);
    cm.detail = "2 s";
    assert_int_equal(step_of(&cm), 2000);
    cm.address = "10.0.0.1";
    assert_int_equal(step_of(&cm), 0);
    cm.address = "10.0.0.2";
    assert_int_equal(step_of(&cm), 1000);
    cm.address = "10.0.0.1";
    assert_int_equal(step_of(&cm), 2000);
    cm.zone = "a";
    assert_int_equal(step_of(&cm), 0);
    cm.zone = "b";
    assert_int_equal(step_of(&cm), 1000);
}

/* However it moves: four start_timeouts are all there is, as far as it could be seen. */
static void test_the_way_has_an_end(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");

    (void)state;
    for (int i = 0; i < 7; i++) {
        rig_site()->list_begun_ms = rig.env.now_ms;
        rig_site()->list_failures = i == 3 ? 1
                                           : 0; /* five minutes do not count */
        observe_deadlines(&observe);
        assert_int_equal(m->why, REASON_NONE);
        rig_pass(300000);
        m->progress_ms = rig.env.now_ms;
    }
    rig_site()->list_begun_ms = rig.env.now_ms;
    observe_deadlines(&observe);
    rig_pass(600000 - 1);
    m->progress_ms = rig_site()->list_begun_ms = rig.env.now_ms;
    observe_deadlines(&observe);
    assert_int_equal(m->why, REASON_NONE);
    rig_pass(1);
    rig_site()->list_begun_ms = rig.env.now_ms;
    observe_deadlines(&observe);
    assert_int_equal(m->why, REASON_END_FAILED);
    assert_non_null(strstr(m->detail, "4 times limits.start_timeout"));
}

/* What cannot be seen is not late. */
static void test_unseen_is_not_late(void **state)
{
    struct machine *m = rig_machine("m", STATE_STARTING, "i-1");

    (void)state;
    rig_site()->list_failures = 1;
    rig_pass(3600000);
    observe_deadlines(&observe);
    assert_int_equal(m->state, STATE_STARTING);
}

static void test_unsent_intent(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");

    (void)state;
    m->busy = true;
    rig_pass(60000);
    observe_deadlines(&observe);
    assert_int_equal(m->state, STATE_INTENDED);
    m->busy = false;
    observe_deadlines(&observe);
    assert_int_equal(m->state, STATE_GONE);
}

/* One that left, was not answered and cannot be sent again (its provider cannot
 * be read) is no node to come for ever: the plan looks elsewhere. */
static void test_unanswered_and_unsent(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");

    (void)state;
    rig_site()->list_failures = 1;
    m->maybe.doubt = m->needed = true;
    m->launch_count = 1;
    rig_pass(299999);
    observe_deadlines(&observe);
    assert_false(standing_lost_sight(m));
    assert_true(rig.env.due_ms <= rig.env.mono_ms + 1);
    rig_pass(1);
    m->busy = true; /* a call is under way: that has a time limit of its own */
    observe_deadlines(&observe);
    assert_false(standing_lost_sight(m));
    m->busy = false;
    observe_deadlines(&observe);
    assert_int_equal(m->state, STATE_INTENDED); /* it counts */
    assert_true(standing_lost_sight(m));
    assert_true(rig_emitted("launch.unanswered"));
}

/* Nor is it one for five minutes when nothing needs it: it is not sent again. */
static void test_unanswered_and_not_needed(void **state)
{
    struct machine *m = rig_machine("m", STATE_INTENDED, "");

    (void)state;
    m->maybe.doubt = m->needed = true;
    m->launch_count = 1;
    rig_pass(100000);
    observe_deadlines(&observe);
    assert_false(standing_lost_sight(m));
    m->needed = false; /* by a plan of now */
    m->needed_ms = rig.env.now_ms;
    rig_pass(59999);
    rig.env.started_ms = rig.env.now_ms; /* and a restart */
    rig_pass(59999);
    observe_deadlines(&observe);
    assert_false(standing_lost_sight(m)); /* it may be needed again */
    rig_pass(1);
    observe_deadlines(&observe);
    assert_int_equal(m->state, STATE_INTENDED); /* it counts */
    assert_true(standing_lost_sight(m));
}

/* ---- commands */

static int n_done;

static void done(struct command *cmd)
{
    (void)cmd;
    n_done++;
}

static void test_command_is_answered_at_the_end(void **state)
{
    struct command cmd = rig_put("me", "GPU", 1);

    (void)state;
    cmd.done = done;
    n_done = 0;
    commands_fold(&commands, &cmd.mail);
    assert_int_equal(n_done, 0);
    assert_int_equal(rig.requests.all.n, 1);
    rig.ledger.journal_ok = false;
    rig.ledger.stale = true;
    commands_answer(&commands, true);
    assert_int_equal(n_done, 1);
    assert_int_equal(cmd.status, ST_RETRY);  /* nothing was promised, */
    assert_int_equal(rig.requests.all.n, 0); /* and nothing stands */
    arena_done(&cmd.arena);
}

static void test_protect(void **state)
{
    struct machine *m = rig_machine("m", STATE_READY, "i-1");
    struct command cmds[] = {
        {.kind = COMMAND_PROTECT, .machine = "m", .on = true, .done = done},
        {.kind = COMMAND_PROTECT, .machine = "x", .on = true, .done = done}};

    (void)state;
    for (int i = 0; i < 2; i++)
        commands_fold(&commands, &cmds[i].mail);
    commands_answer(&commands, true);
    assert_true(m->protected);
    assert_int_equal(cmds[0].status, ST_OK);
    assert_int_equal(cmds[1].status, ST_NOT_FOUND);
}

/* ---- another daemon has a copy of the journal */

#define TODAY_MS INT64_C(1790000000000)

static struct machine *found(const char *id, struct incarnation by, int64_t ms)
{
    struct request_mark mark = {.by = by, .at_s = ms / 1000};
    char request[MARK_MAX];
    struct call_machine cm = {.id = id,
                              .request_id = request,
                              .type = "t",
                              .zone = "",
                              .address = "",
                              .detail = "",
                              .unit = "",
                              .held = "",
                              .phase = DAVIT_RUNNING};

    memcpy(mark.owner, rig.ledger.ours.owner, sizeof mark.owner);
    mark_write(&mark, request);
    listed(&cm);
    return fleet_by_launch(&rig.ledger.fleet, "rig", id, request);
}

static struct incarnation began(int after)
{
    uint32_t starts = rig.ledger.ours.incarnation.starts + INCARNATION_STARTS;

    return (struct incarnation){(starts + (uint32_t)after) % INCARNATION_STARTS,
                                0};
}

/* What an earlier process launched, or this one, is ours, though the ledger lacks
 * it: a journal may have been restored, a record forgotten. */
static void test_lost_launch_is_ours(void **state)
{
    (void)state;
    rig_pass(TODAY_MS);
    rig.ledger.ours.alone_s = rig.env.now_ms / 1000;
    assert_int_equal(found("i-1", began(-1), rig.env.now_ms - 1000)->adopted,
                     ADOPTED);
    rig_pass(3600000);
    assert_int_equal(
        found("i-2", rig.ledger.ours.incarnation, rig.env.now_ms)->adopted,
        ADOPTED);
    assert_int_equal(
        found("i-3", began(-1), rig.env.now_ms + 100 * 86400000LL)->adopted,
        ADOPTED); /* an id of an earlier version: no such time */
    assert_false(rig_emitted("journal.copied"));
}

/* Marks have whole seconds: what leaves in the one of our start is not ours. */
static void test_copy_in_the_second_of_the_start(void **state)
{
    (void)state;
    rig_pass(TODAY_MS);
    assert_int_equal(ours_open(&rig.ledger, NULL), ST_OK);
    assert_int_equal(found("i-1", began(1), rig.env.now_ms)->adopted,
                     ADOPTED_OTHER_OWNER);
}

static void test_younger_copy_is_told(void **state)
{
    (void)state;
    rig_pass(TODAY_MS);
    assert_int_equal(found("i-1", began(1), rig.env.now_ms)->adopted,
                     ADOPTED_OTHER_OWNER);
    assert_true(rig_emitted("journal.copied"));
    assert_false(ours_stands(&rig.ledger));
}

/* It promises nothing, also after a start, until a person says that it is alone. */
static void test_elder_copy_stands(void **state)
{
    struct command cmd = rig_put("me", "GPU", 1),
                   adopt = {.kind = COMMAND_ADOPT, .machine = "", .done = done};

    (void)state;
    cmd.done = done;
    rig_pass(TODAY_MS);
    assert_int_equal(found("i-1", began(-1), rig.env.now_ms)->adopted,
                     ADOPTED_OTHER_OWNER);
    assert_true(ours_stands(&rig.ledger));
    assert_int_equal(ours_open(&rig.ledger, NULL), ST_OK);
    assert_true(ours_stands(&rig.ledger));
    commands_fold(&commands, &cmd.mail);
    commands_answer(&commands, true);
    assert_int_equal(cmd.status, ST_RETRY);
    assert_int_equal(rig.requests.all.n, 0);
    commands_fold(&commands, &adopt.mail);
    commands_answer(&commands, true);
    assert_int_equal(adopt.count, 1);
    assert_true(rig_emitted("journal.alone"));
    assert_false(ours_stands(&rig.ledger));
    assert_int_equal(found("i-2", began(-2), rig.env.now_ms)->adopted,
                     ADOPTED); /* it left before that was said */
    arena_done(&cmd.arena);
}

/* ---- configuration */

static const char *settings;

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
}

static void test_reload(void **state)
{
    (void)state;
    reload(RIG_OTHER("c", ""));
    assert_string_equal(rig.conf.problem, "");
    assert_int_equal(rig.conf.generation, 1);
    assert_string_equal(rig.conf.now->types[0].fact.name, "u");
    assert_ptr_equal(rig_site()->conf, &rig.conf.now->providers[0]);
    assert_int_equal(rig_site()->listed_ms, 0);
}

static void test_reload_refused(void **state)
{
    static const struct {
        const char *text, *problem;
    } bad[] = {{RIG_OTHER("d", ""), "cluster: needs a restart"},
               {RIG_OTHER("c", "no: 1"), "has no option \"no\""},
               {"cluster: [\n", "rig.yaml:"}};
    const struct config *was = rig.conf.now;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reload(bad[i].text);
        if (!strstr(rig.conf.problem, bad[i].problem))
            fail_msg("%s", rig.conf.problem);
        assert_ptr_equal(rig.conf.now, was);
        assert_int_equal(rig.providers.all.n, 1);
    }
    assert_int_equal(atomic_load(&rig.env.metrics.reload_failures), 3);
}

/* What a person has let go stays so when a file is read again that ends nothing
 * itself: machines that are to go one by one would be held half-way. */
static void test_a_reload_keeps_a_release(void **state)
{
    (void)state;
    ends.held = 5;
    ends_release(&ends, "somebody", false);
    assert_int_equal(ends.allowed, 5);
    reload(RIG_OTHER("c", ""));
    assert_string_equal(rig.conf.problem, "");
    assert_int_equal(rig.conf.generation, 1);
    assert_int_equal(ends.allowed, 5);
    /* as `davit apply` does: a word on this file */
    configuration_reload(&rig.conf, 0);
    configuration_approve(&rig.conf, false);
    reload_if_due(&reloading);
    assert_int_equal(ends.allowed, 5);
}

/* What would forget or end many machines waits for a person. */
static void test_reload_held(void **state)
{
    static const char dropped[] =
        "cluster: c\nproviders: {other: {plugin: rig}}\n"
        "node_types: {t: {provider: other, resources: {CPU: 4, GPU: 1}, "
        "price: 1, max: 9}}\n";
    static const char lowered[] =
        "cluster: c\nproviders: {rig: {}}\n"
        "node_types: {t: {provider: rig, resources: {CPU: 4, GPU: 1}, "
        "price: 1, max: 2}}\n";
    const struct config *was = rig.conf.now;
    static const struct {
        const char *text, *problem;
    } bad[] = {{dropped, "drops provider rig, which has 6 machines"},
               {lowered, "would end 4 machines"}};

    (void)state;
    for (int i = 0; i < 6; i++) {
        char id[8];

        snprintf(id, sizeof id, "m%d", i);
        rig_machine(id, STATE_READY, id);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reload(bad[i].text);
        if (!strstr(rig.conf.problem, bad[i].problem))
            fail_msg("%s", rig.conf.problem);
        assert_true(rig.conf.held);
        assert_ptr_equal(rig.conf.now, was);
    }
    assert_true(rig_emitted("config.held"));
    settings = dropped; /* saved after the person looked, and not read yet */
    configuration_approve(&rig.conf, false);
    reload_if_due(&reloading);
    assert_true(rig.conf.held);
    assert_ptr_equal(rig.conf.now, was);
    if (!strstr(rig.conf.problem, "another file than the one that was held"))
        fail_msg("%s", rig.conf.problem);
    reload(lowered);
    configuration_approve(&rig.conf, false);
    reload_if_due(&reloading);
    assert_false(rig.conf.held);
    assert_ptr_not_equal(rig.conf.now, was);
    assert_int_equal(ends.allowed, 4);
}

/* A start's file and a later one are both held: that the first wants no end any more
 * is no word on the second. */
static void test_a_later_file_stays_held(void **state)
{
    static const char dropped[] =
        "cluster: c\nproviders: {other: {plugin: rig}}\n"
        "node_types: {t: {provider: other, resources: {CPU: 4, GPU: 1}, "
        "price: 1, max: 9}}\n";

    (void)state;
    rig_machine("m", STATE_READY, "m");
    configuration_hold_ends(&rig.conf, "it would end m", "m");
    reload(dropped);
    assert_true(rig.conf.held && rig.conf.in_force);
    configuration_ends_over(&rig.conf);
    assert_false(rig.conf.in_force);
    assert_true(rig.conf.held);
    if (!strstr(rig.conf.problem, "drops provider rig"))
        fail_msg("%s", rig.conf.problem);
    reload(dropped); /* it is held, and not the one in force */
    assert_true(rig.conf.held);

    configuration_hold_ends(&rig.conf, "it would end m", "m");
    configuration_ends_over(&rig.conf);
    assert_false(rig.conf.held);
    assert_string_equal(rig.conf.problem, "");
}

/* What is not answered yet is not forgotten, whoever says so. */
static void test_unanswered_stays_where_it_is(void **state)
{
    static const char same[] =
        "cluster: c\nproviders: {rig: {}}\n"
        "node_types: {t: {provider: rig, resources: {CPU: 4, GPU: 1}, "
        "price: 1, max: 9}}\n";
    const struct config *was = rig.conf.now;
    struct machine *m = rig_machine("m", STATE_INTENDED, "");

    (void)state;
    m->maybe.doubt = true;
    ours_move(&rig.ledger, "rig", "another place");
    for (int approved = 0; approved < 2; approved++) {
        if (approved)
            configuration_approve(&rig.conf, false);
        reload(same);
        assert_true(rig.conf.held);
        assert_ptr_equal(rig.conf.now, was);
        if (!strstr(rig.conf.problem, "1 launches in another place are not"))
            fail_msg("%s", rig.conf.problem);
    }
    m->maybe.doubt = false; /* it was refused */
    configuration_approve(&rig.conf, false);
    reload(same);
    assert_false(rig.conf.held);
    assert_ptr_not_equal(rig.conf.now, was);
}

static void test_changed_file_settles(void **state)
{
    (void)state;
    configuration_reload(&rig.conf, 200);
    assert_false(configuration_due(&rig.conf));
    assert_int_equal(rig.env.due_ms, rig.env.mono_ms + 200);
    rig_pass(200);
    assert_true(configuration_due(&rig.conf));
    assert_false(configuration_due(&rig.conf)); /* once for each */
}

/* ---- requests */

static void test_request_expires(void **state)
{
    struct command cmd = rig_put("me", "GPU", 1);

    (void)state;
    cmd.expires_ms = rig.env.now_ms + 1000;
    requests_fold(&rig.requests, &cmd);
    requests_done(&cmd);
    arena_done(&cmd.arena);
    requests_expire(&rig.requests);
    assert_int_equal(rig.requests.all.n, 1);
    assert_int_equal(rig.env.due_ms, rig.env.mono_ms + 1001);
    rig_pass(1000);
    requests_expire(&rig.requests);
    assert_int_equal(rig.requests.all.n, 0);
}

static void test_request_is_refused(void **state)
{
    struct command cmd = rig_put("me", "GPU", 5000001);

    (void)state;
    requests_fold(&rig.requests, &cmd);
    requests_done(&cmd);
    assert_int_equal(cmd.status, ST_INVALID);
    assert_int_equal(rig.requests.all.n, 0);
    assert_string_equal(cmd.owner, "me");
    arena_done(&cmd.arena);
    cmd = rig_put("me", "GPU", 1);
    cmd.demand.queue = "none";
    requests_fold(&rig.requests, &cmd);
    requests_done(&cmd);
    assert_non_null(strstr(cmd.err.text, "has no queues"));
    arena_done(&cmd.arena);
}

/* While the first alternative is had, the times of the others begin anew. */
static void test_fallback(void **state)
{
    struct request q = {0}, *asked[] = {&q};
    struct snap_alt alts[] = {{.after_ms = 0}, {.after_ms = 500}};
    struct snap_bundle bundle = {.alts = alts, .n_alts = 2, .count = 1};
    const struct pb_alt pb_alts[] = {{0, 0}, {0, 500}};
    const struct pb_bundle pb_bundle = {.n_alts = 2, .count = 1};
    struct pb_demand demand = {.n_bundles = 1, .since_ms = rig.env.now_ms};
    struct pb_node node = {.state = STATE_READY};
    const struct plan_placement placed = {0, 0, 1};
    struct plan_node plan_node = {0};
    struct problem now = {.bundles = &pb_bundle,
                          .n_bundles = 1,
                          .alts = pb_alts,
                          .demands = &demand,
                          .n_demands = 1,
                          .nodes = &node,
                          .n_nodes = 1};
    struct plan plan = {.nodes = &plan_node, .placements = &placed};

    (void)state;
    q.demand = (struct snap_demand){.bundles = &bundle, .n_bundles = 1};
    requests_fallback(&rig.env, &now, &plan, asked, 1);
    assert_int_equal(q.demand.since_ms, 0);
    assert_int_equal(rig.env.due_ms, rig.env.mono_ms + 501);
    plan_node.n_placements = 1;
    requests_fallback(&rig.env, &now, &plan, asked, 1);
    assert_int_equal(q.demand.since_ms, rig.env.now_ms);
}

/* ---- what waits is told once */

static void test_unplaced(void **state)
{
    static struct unplaced u;
    const char *str[] = {"", "me"};
    const struct pb_demand demand = {.owner = 1};
    const struct pb_bundle bundle = {.count = 1};
    struct plan_bundle planned = {.waiting = 1};
    struct problem now = {.str = str,
                          .demands = &demand,
                          .n_demands = 1,
                          .bundles = &bundle,
                          .n_bundles = 1};
    const struct snap_demand told = {.said = "0/3 nodes are available"};
    const struct snapshot snapshot = {.demands = &told, .n_demands = 1};
    struct plan plan = {.bundles = &planned};
    struct status_page page = {
        .now = &now, .plan = &plan, .snapshot = &snapshot};
    struct buf text;
    int64_t before;

    (void)state;
    buf_init(&text, 1000);
    unplaced_obstacles(&page, 0, &text);
    assert_string_equal(text.s, "no node type could hold it; the scheduler "
                                "says: 0/3 nodes are available");
    buf_done(&text);
    u = (struct unplaced){.env = &rig.env};
    unplaced_emit(&u, &page);
    assert_false(rig_emitted("demand.waits"));
    rig_pass(2000);
    unplaced_emit(&u, &page);
    assert_true(rig_emitted("demand.waits"));
    /* However long it waits, it is told once. */
    before = rig.env.events.next_id;
    rig_pass(3600000);
    unplaced_emit(&u, &page);
    assert_int_equal(rig.env.events.next_id, before);
    /* A view that lacks it for a moment is no end. */
    planned.waiting = 0;
    unplaced_emit(&u, &page);
    rig_pass(3000);
    planned.waiting = 1;
    unplaced_emit(&u, &page);
    rig_pass(3000);
    planned.waiting = 0;
    unplaced_emit(&u, &page);
    assert_false(rig_emitted("demand.placed"));
    rig_pass(5000);
    unplaced_emit(&u, &page);
    assert_true(rig_emitted("demand.placed"));
}

/* That a second look follows is no obstacle, and yet it waits. */
static void test_unconfirmed_is_not_told(void **state)
{
    static struct unplaced u;
    const char *str[] = {"", "me"};
    const struct pb_demand demand = {.owner = 1};
    const struct pb_bundle bundle = {.count = 1};
    struct plan_refusal why = {.why = REASON_MAX_TYPE};
    struct plan_bundle planned = {.waiting = 1, .n_refusals = 1};
    struct problem now = {.str = str,
                          .demands = &demand,
                          .n_demands = 1,
                          .bundles = &bundle,
                          .n_bundles = 1};
    const struct snap_demand told = {.said = NULL};
    const struct snapshot snapshot = {.demands = &told, .n_demands = 1};
    struct plan plan = {.bundles = &planned, .refusals = &why};
    struct status_page page = {
        .now = &now, .plan = &plan, .snapshot = &snapshot};

    (void)state;
    u = (struct unplaced){.env = &rig.env};
    unplaced_emit(&u, &page);
    rig_pass(2000);
    unplaced_emit(&u, &page);
    assert_true(rig_emitted("demand.waits"));
    why.why = REASON_UNCONFIRMED;
    for (int i = 0; i < 4; i++) {
        unplaced_emit(&u, &page);
        rig_pass(3000);
    }
    assert_false(rig_emitted("demand.placed"));
    for (uint32_t i = 0; i < u.n; i++)
        assert_true(u.notes[i].why != REASON_UNCONFIRMED ||
                    !u.notes[i].emitted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
        TEST(test_late_machine),
        TEST(test_each_step_counts_once),
        TEST(test_the_way_has_an_end),
        TEST(test_unseen_is_not_late),
        TEST(test_unsent_intent),
        TEST(test_unanswered_and_unsent),
        TEST(test_unanswered_and_not_needed),
        TEST(test_command_is_answered_at_the_end),
        TEST(test_protect),
        TEST(test_lost_launch_is_ours),
        TEST(test_younger_copy_is_told),
        TEST(test_copy_in_the_second_of_the_start),
        TEST(test_elder_copy_stands),
        TEST(test_reload),
        TEST(test_reload_refused),
        TEST(test_reload_held),
        TEST(test_a_later_file_stays_held),
        TEST(test_a_reload_keeps_a_release),
        TEST(test_unanswered_stays_where_it_is),
        TEST(test_changed_file_settles),
        TEST(test_request_expires),
        TEST(test_request_is_refused),
        TEST(test_fallback),
        TEST(test_unplaced),
        TEST(test_unconfirmed_is_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
