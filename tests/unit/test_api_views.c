/*
 * test_api_views.c - what the API tells of a page, checked value by value.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "api/page/overview.h"
#include "api/request.h"
#include "api/view.h"
#include "api_world.h"

/* ---- a page and its views as jansson values */

static struct status_page *page;

static struct snapshot *fresh(void)
{
    struct snapshot *f;

    status_unref(page);
    page = world_page_new();
    f = world_snapshot(&page->arena);
    page->snapshot = f;
    return f;
}

typedef void write_fn(struct out *o, struct view *v, const void *arg);

static json_t *render(write_fn *fn, const void *arg)
{
    struct view v;
    struct buf b;
    struct out o;
    json_error_t e;
    json_t *root;

    view_open(&v, page);
    buf_init(&b, 64 << 20);
    out_init(&o, &b);
    fn(&o, &v, arg);
    view_done(&v);
    assert_int_equal(o.depth, 0);
    root = json_loads(b.s, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        fail_msg("not JSON: %s at %d in %s", e.text, e.position, b.s);
    buf_done(&b);
    return root;
}

static void do_status(struct out *o, struct view *v, const void *arg)
{
    (void)arg;
    status_write(o, v);
}

static void do_nodes(struct out *o, struct view *v, const void *arg)
{
    node_list_write(o, v, &(struct node_query){.type = arg, .limit = -1});
}

static void do_reply(struct out *o, struct view *v, const void *arg)
{
    outcome_write(o, NULL, v, arg, false, 0);
}

static void do_why(struct out *o, struct view *v, const void *arg)
{
    static struct event_ring nothing; /* has happened */

    if (!why_write(o, v, &nothing, arg)) {
        out_object(o, NULL);
        out_close(o);
    }
}

/* "plan.launches.0.type" */
static json_t *at(json_t *root, const char *path)
{
    char part[64];
    json_t *v = root;

    while (*path && v) {
        size_t n = strcspn(path, ".");

        snprintf(part, sizeof part, "%.*s", (int)n, path);
        path += n + (path[n] == '.');
        v = json_is_array(v) ? json_array_get(v, (size_t)atoi(part))
                             : json_object_get(v, part);
    }
    if (!v)
        fail_msg("nothing at %s", path);
    return v;
}

static const char *text_at(json_t *root, const char *path)
{
    const char *s = json_string_value(at(root, path));

    if (!s)
        fail_msg("no text at %s", path);
    return s;
}

#define ints(root, path, want) \
    assert_int_equal(json_integer_value(at(root, path)), want)
#define texts(root, path, want) assert_string_equal(text_at(root, path), want)
#define has(text, part) \
    do { \
        const char *t_ = (text); \
        if (!strstr(t_, part)) \
            fail_msg("\"%s\" lacks \"%s\"", t_, part); \
    } while (0)

/* ---- tests */

static void decimals(void **state)
{
    char t[32];

    (void)state;
    assert_string_equal(out_decimal(350000, 1000000, t), "0.35");
    assert_string_equal(out_decimal(1, 1000000, t), "0.000001");
    assert_string_equal(out_decimal(-1500, 1000, t), "-1.5");
    assert_string_equal(out_decimal(20000, 10000, t), "2");
    assert_string_equal(out_decimal(0, 1000, t), "0");
    assert_string_equal(out_decimal(INT64_MIN, 1000, t),
                        "-9223372036854775.808");
}

static void strings_are_json(void **state)
{
    static const char *const bad[] = {"a\"b\\c\n\t\x01",
                                      "\xff",
                                      "\xc0\xaf",
                                      "\xed\xa0\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xe2\x82",
                                      "ok \xe2\x82\xac \xf0\x9f\x98\x80",
                                      "\xc3",
                                      ""};
    struct buf b;
    struct out o;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *v;

        buf_init(&b, 4096);
        out_init(&o, &b);
        out_array(&o, NULL);
        out_str(&o, NULL, bad[i]);
        out_close(&o);
        v = json_loads(b.s, 0, NULL);
        assert_non_null(v);
        if (i == 0 || i == 6)
            assert_string_equal(json_string_value(json_array_get(v, 0)),
                                bad[i]);
        if (i == 1)
            assert_string_equal(json_string_value(json_array_get(v, 0)),
                                "\xef\xbf\xbd");
        json_decref(v);
        buf_done(&b);
    }
}

static void do_overview(struct out *o, struct view *v, const void *arg)
{
    static struct env env;
    struct history h;

    (void)arg;
    history_init(&h, &env);
    overview_write(o, v, &h);
    history_done(&h);
}

/* However many ask: the lists are cut, and say by how much. */
static void overview_is_short(void **state)
{
    enum { OWNERS = 150 };
    struct snapshot *f = fresh();
    double paid = 0;
    json_t *r, *e;
    size_t i;

    (void)state;
    for (int k = 0; k < OWNERS; k++) {
        char owner[16], body[96];

        snprintf(owner, sizeof owner, "o%03d", k);
        snprintf(body, sizeof body, "{\"bundles\":[{\"GPU\":%d}]}",
                 k == 7 ? 999 : 1);
        world_ask(&page->arena, f, owner, body);
    }
    world_plan(page);
    r = render(do_overview, NULL);
    assert_int_equal(json_array_size(at(r, "owners")), OWNERS_MAX);
    ints(r, "owners_more", OWNERS - OWNERS_MAX);
    assert_int_equal(json_array_size(at(r, "waiting")), WAITING_MAX);
    assert_true(json_integer_value(at(r, "waiting_more")) > 0);
    texts(r, "waiting.0.owner", "o007"); /* what can never be comes first */
    assert_true(json_is_true(at(r, "waiting.0.infeasible")));
    ints(r, "demand.bundles", OWNERS);
    json_array_foreach(at(r, "owners"), i, e)
        paid += json_number_value(json_object_get(e, "cost_per_hour"));
    assert_true(paid > 0);
    assert_true(paid + json_number_value(at(r, "cost.idle_per_hour")) +
                    json_number_value(at(r, "cost.unowned_per_hour")) <
                json_number_value(at(r, "cost.now_per_hour")) + 1e-6);
    json_decref(r);
}

static void status_counts(void **state)
{
    struct snapshot *f = fresh();
    json_t *r;

    (void)state;
    world_ask(&page->arena, f, "train",
              "{\"bundles\":[{\"GPU\":1,"
              "\"accelerator_type\":\"T4\",\"count\":2}]}");
    world_plan(page);
    r = render(do_status, NULL);
    ints(r, "nodes.total", 3);
    ints(r, "nodes.ready", 2);
    ints(r, "nodes.starting", 1);
    ints(r, "nodes.idle", 1);
    ints(r, "nodes.held", 1);
    texts(r, "types.1.name", "t4");
    ints(r, "types.1.nodes", 2);
    ints(r, "types.1.by_state.starting", 1);
    ints(r, "types.1.max", 2);
    assert_true(json_is_null(at(r, "types.2.max")));
    assert_true(json_is_null(at(r, "types.2.boot_s")));
    assert_true(json_real_value(at(r, "types.1.price_per_hour")) == 0.73);
    ints(r, "resources.GPU.total", 1);
    ints(r, "resources.CPU.total", 24);
    ints(r, "demand.bundles", 2);
    ints(r, "demand.placed", 2);
    texts(r, "demand.owners.0.owner", "train");
    assert_true(json_is_true(at(r, "ready")));
    assert_int_equal(json_array_size(at(r, "problems")), 0);
    assert_int_equal(json_array_size(at(r, "pending")), 0);
    assert_true(json_number_value(at(r, "cost.now_per_hour")) == 1.73);
    ints(r, "uptime_s", 3600);
    texts(r, "at", "2026-09-21T14:13:20.000Z");
    json_decref(r);
}

static void status_tells_problems(void **state)
{
    struct status_provider pr = {
        .name = "sim", .plugin = "sim", .version = "1", .problem = "no quota"};
    json_t *r;

    (void)state;
    fresh();
    page->ray_address = "127.0.0.1:6379";
    page->ray_problem = "connection refused";
    page->providers = &pr;
    page->n_providers = 1;
    page->journal_ok = false;
    page->config_problem = "davit.yaml:3:1: no";
    world_plan(page);
    r = render(do_status, NULL);
    assert_false(json_is_true(at(r, "ready")));
    assert_int_equal(json_array_size(at(r, "problems")), 4);
    has(text_at(r, "problems.0"), "connection refused");
    has(text_at(r, "problems.1"), "no quota");
    page->n_providers = 0;
    json_decref(r);
}

static void satisfied_and_coming(void **state)
{
    struct snapshot *f = fresh();
    json_t *r;

    (void)state;
    world_ask(&page->arena, f, "one", "{\"bundles\":[{\"GPU\":1}]}");
    world_plan(page);
    r = render(do_reply, "one");
    assert_true(json_is_true(at(r, "satisfied")));
    assert_true(json_is_true(at(r, "feasible")));
    ints(r, "placed", 1);
    ints(r, "eta_s", 0);
    has(text_at(r, "text"), "satisfied");
    json_decref(r);

    f = fresh();
    world_ask(&page->arena, f, "two",
              "{\"bundles\":[{\"GPU\":1,\"count\":2,"
              "\"accelerator_type\":\"T4\"}]}");
    world_plan(page);
    r = render(do_reply, "two");
    assert_false(json_is_true(at(r, "satisfied")));
    ints(r, "placed", 2);
    ints(r, "eta_s", 60); /* boots in 90 s, since 30 s */
    has(text_at(r, "text"), "on their way");
    json_decref(r);
}

static void do_requests(struct out *o, struct view *v, const void *arg)
{
    (void)arg;
    request_list_write(o, v);
}

/* CPU ms of the least of three lists of so many requests. */
static double list_ms(uint32_t n)
{
    struct snapshot *f = fresh();
    struct status_request *v = ARENA_ARRAY(&page->arena, struct status_request,
                                           n);
    struct snap_demand *d = ARENA_ARRAY(&page->arena, struct snap_demand, n);
    double least = 1e9;

    world_ask(&page->arena, f, "o", "{\"bundles\":[{\"CPU\":1}]}");
    for (uint32_t i = 0; i < n; i++) {
        d[i] = f->demands[0];
        d[i].owner = arena_printf(&page->arena, "o-%u", i);
        v[i] = (struct status_request){.owner = d[i].owner, .body = "{}"};
    }
    f->demands = d;
    f->n_demands = n;
    world_plan(page);
    page->requests = v;
    page->n_requests = n;
    for (int k = 0; k < 3; k++) {
        clock_t began = clock();
        json_t *r = render(do_requests, NULL);
        double ms = (double)(clock() - began) * 1e3 / CLOCKS_PER_SEC;

        assert_int_equal(json_array_size(at(r, "requests")), n);
        json_decref(r);
        least = ms < least ? ms : least;
    }
    return least;
}

/* Eight times as many cost eight times as much, and not 64 times. */
static void a_list_costs_what_it_is_long(void **state)
{
    double few = list_ms(2000), many = list_ms(16000);

    (void)state;
    print_message("2,000 requests %.0f ms, 16,000 %.0f ms\n", few, many);
    assert_true(many < 16 * (few > 10 ? few : 10));
}

static void launches_are_told(void **state)
{
    struct snapshot *f = fresh();
    json_t *r;

    (void)state;
    world_ask(&page->arena, f, "many",
              "{\"bundles\":[{\"GPU\":1,\"count\":4}]}");
    world_plan(page);
    r = render(do_reply, "many");
    assert_true(json_is_true(at(r, "feasible")));
    assert_false(json_is_true(at(r, "satisfied")));
    ints(r, "placed", 2);
    ints(r, "launched", 2);
    texts(r, "launches.0.type", "k80");
    ints(r, "launches.0.count", 2);
    texts(r, "launches.0.reason", "request");
    has(text_at(r, "launches.0.why"), "many");
    assert_true(json_number_value(at(r, "cost_per_hour")) == 1.8);
    /* the boot time of k80 is not known */
    assert_true(json_is_null(at(r, "eta_s")));
    has(text_at(r, "text"),
        "2 of 4 bundles on 2 new nodes (2 x k80) for 1.8 $/h");
    json_decref(r);
}

static void infeasible_names_the_nearest(void **state)
{
    struct snapshot *f = fresh();
    json_t *r;

    (void)state;
    world_ask(&page->arena, f, "big",
              "{\"bundles\":[{\"GPU\":8,\"CPU\":2},"
              "{\"GPU\":1,\"accelerator_type\":\"V100\"},{\"CPU\":1}]}");
    world_plan(page);
    r = render(do_reply, "big");
    assert_false(json_is_true(at(r, "feasible")));
    assert_false(json_is_true(at(r, "satisfied")));
    ints(r, "placed", 1);
    assert_int_equal(json_array_size(at(r, "infeasible")), 2);
    texts(r, "infeasible.0.nearest.lacks.0.resource", "GPU");
    ints(r, "infeasible.0.nearest.lacks.0.needs", 8);
    ints(r, "infeasible.0.nearest.lacks.0.has", 1);
    texts(r, "infeasible.1.bundle.accelerator_type", "V100");
    texts(r, "infeasible.1.nearest.mismatches.0.label", ACCEL_LABEL);
    texts(r, "infeasible.1.nearest.mismatches.0.wanted", "V100");
    has(text_at(r, "text"),
        "2 of 3 can never be placed, the first (2 CPU, 8 GPU)");
    has(text_at(r, "text"), "GPU (8 needed, 1 there)");
    assert_true(json_is_null(at(r, "eta_s")));
    assert_true(json_array_size(at(r, "infeasible.0.reasons")) >= 3);
    json_decref(r);
}

/* A node could hold either bundle: what cannot be is the two together. */
static void a_gang_that_fits_nowhere(void **state)
{
    struct snapshot *f = fresh();
    json_t *r;

    (void)state;
    world_ask(&page->arena, f, "two",
              "{\"bundles\":[{\"resources\":{\"GPU\":"
              "1,\"CPU\":1},\"count\":40}],\"strategy\":\"STRICT_PACK\"}");
    world_plan(page);
    r = render(do_reply, "two");
    assert_false(json_is_true(at(r, "feasible")));
    has(text_at(r, "infeasible.0.nearest.text"), "not all together");
    has(text_at(r, "text"), "STRICT_PACK");
    json_decref(r);
}

static void waiting_names_the_limit(void **state)
{
    struct snapshot *f = fresh();
    json_t *r;

    (void)state;
    world_ask(&page->arena, f, "t4s",
              "{\"bundles\":[{\"GPU\":1,\"count\":5,"
              "\"accelerator_type\":\"T4\"}]}");
    world_plan(page);
    r = render(do_reply, "t4s");
    assert_true(json_is_true(at(r, "feasible")));
    ints(r, "waiting", 3);
    has(text_at(r, "waiting_for.0.text"), "t4 is at its max of 2");
    has(text_at(r, "text"),
        "3 of 5 waiting (1 GPU, accelerator_type=T4): t4 is at its max of 2");
    json_decref(r);
}

static void nodes_say_why(void **state)
{
    struct snapshot *f = fresh();
    json_t *r, *n;

    (void)state;
    world_ask(&page->arena, f, "train", "{\"bundles\":[{\"GPU\":1}]}");
    world_plan(page);
    r = render(do_nodes, NULL);
    assert_int_equal(json_array_size(at(r, "nodes")), 4);
    n = at(r, "nodes.0");
    texts(n, "why.reason", "head");
    n = at(r, "nodes.1");
    texts(n, "why.reason", "idle_wait");
    ints(n, "idle_ms", 12000);
    has(text_at(n, "why.text"), "idle for 12 s");
    assert_true(json_is_string(at(n, "why.until")));
    n = at(r, "nodes.2");
    texts(n, "why.reason", "needed_by_request");
    has(text_at(n, "why.text"), "train");
    texts(n, "for.0.owner", "train");
    ints(n, "for.0.bundle.resources.GPU", 1);
    assert_true(json_number_value(at(n, "price_per_hour")) == 0.73);
    n = at(r, "nodes.3");
    has(text_at(n, "note"), "booting \"quoted\" \xef\xbf\xbd\x01 end");
    ints(n, "total.GPU", 1); /* the type's, before it joined */
    assert_true(json_is_null(at(n, "idle_ms")));
    json_decref(r);
    r = render(do_nodes, "t4");
    assert_int_equal(json_array_size(at(r, "nodes")), 2);
    ints(r, "total", 4);
    json_decref(r);
}

static void names_of_accelerators_are_guessed(void **state)
{
    static const char *const cases[][2] = {
        {"{\"bundles\":[{\"GPU\":1,\"accelerator_type\":\"T44\"}]}",
         "did you mean T4?"},
        {"{\"bundles\":[{\"T4\":1}]}",
         "did you mean GPU with accelerator_type=T4?"},
        {"{\"bundles\":[{\"GPU\":9,\"accelerator_type\":\"T4\"}]}",
         "t4 lacks GPU (9 needed, 1 there)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct snapshot *f = fresh();
        json_t *r;

        world_ask(&page->arena, f, "u", cases[i][0]);
        world_plan(page);
        r = render(do_reply, "u");
        has(text_at(r, "infeasible.0.text"), cases[i][1]);
        json_decref(r);
    }
}

/* It says when it goes, or what keeps it, and never a time at which it stays. */
static void idle_nodes_say_when_they_go(void **state)
{
    static const struct {
        int64_t timeout_ms;
        enum reason hold;
        int64_t hold_until_ms;
        const char *text;
        bool goes;
    } cases[] = {
        {60000, REASON_NONE, 0, "idle for 12 s, may be ended at ", true},
        {60000, REASON_KEEP_PROTECTED, 0, "not ended: a user protected it",
         false},
        {60000, REASON_KEEP_HELD, 0, "not ended: it may belong to another",
         false},
        {60000, REASON_KEEP_REFUSED, WORLD_NOW + 900000, "may be ended at ",
         true},
        {INT64_C(36500) * 86400000, REASON_NONE, 0, "never ends", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct snapshot *f = fresh();
        struct snap_node *n = (struct snap_node *)&f->nodes[1];
        json_t *r;

        ((struct snap_type *)f->types)[0].idle_timeout_ms = cases[i].timeout_ms;
        n->hold = cases[i].hold;
        n->hold_until_ms = cases[i].hold_until_ms;
        world_plan(page);
        r = render(do_nodes, NULL);
        has(text_at(r, "nodes.1.why.text"), cases[i].text);
        assert_int_equal(json_is_string(at(r, "nodes.1.why.until")),
                         cases[i].goes);
        json_decref(r);
    }
}

static void why_finds_both_kinds(void **state)
{
    struct snapshot *f = fresh();
    json_t *r;

    (void)state;
    world_ask(&page->arena, f, "t4-1", "{\"bundles\":[{\"GPU\":9}]}");
    world_plan(page);
    r = render(do_why, "t4-1");
    texts(r, "node.id", "t4-1");
    texts(r, "owner.owner", "t4-1");
    texts(r, "owner.demands.0.bundles.0.nearest.lacks.0.resource", "GPU");
    has(text_at(r, "text.0"), "t4-1 (t4) is ready");
    json_decref(r);
    r = render(do_why, "ddeeff");
    texts(r, "node.id", "t4-1");
    assert_null(json_object_get(r, "owner"));
    json_decref(r);
    r = render(do_why, "nobody");
    assert_int_equal(json_object_size(r), 0);
    json_decref(r);
}

/* Pods by their own name and by the controller that made them; node types. */
static void why_of_pods_and_types(void **state)
{
    static const struct {
        const char *id, *name;
        bool found;
    } pods[] = {
        {"Pod/default/web", "web", true},
        {"Pod/default/web", "default/web", true},
        {"Pod/default/web", "Pod/default/web", true},
        {"Pod/default/web#0badcafe", "default/web", true},
        {"ReplicaSet/default/web-7d9f", "web-7d9f-x2x4q", true},
        {"ReplicaSet/default/web-7d9f#1", "default/web-7d9f-x2x4q", true},
        {"ReplicaSet/default/web-7d9f", "other/web-7d9f-x2x4q", false},
        {"Pod/default/web", "other/web", false},
        {"Pod/default/web", "eb", false},
        {"Pod/default/web", "webx", false},
        {"", "default", false},
    };
    json_t *r;

    (void)state;
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        struct snapshot *f = fresh();

        world_ask(&page->arena, f, "kubernetes", "{\"bundles\":[{\"GPU\":9}]}");
        ((struct snap_demand *)f->demands)->source = SOURCE_POD;
        ((struct snap_demand *)f->demands)->id = pods[i].id;
        world_plan(page);
        r = render(do_why, pods[i].name);
        if (pods[i].found != (json_object_size(r) > 0))
            fail_msg("%s of %s", pods[i].name, pods[i].id);
        if (pods[i].found)
            has(text_at(r, "text.0"), "can never be placed");
        json_decref(r);
    }
    r = render(do_why, "t4");
    has(text_at(r, "type.0"), "t4 (provider sim): 2 nodes, min 0, max 2");
    has(text_at(r, "type.1"), "it is at its max of 2");
    has(text_at(r, "type.2"), "t4 lacks GPU: 9 needed, 1 there");
    json_decref(r);
}

/* What a new node of a type will be, who says so, and what differs by zone. */
static void why_of_what_a_new_node_will_be(void **state)
{
    static const struct taint less[] = {
        {"davit.io/less-room-t4-z-b", "", EFFECT_NO_SCHEDULE}};
    static const struct qty taken[] = {{"CPU", 2 * AMOUNT_ONE}};
    static const struct pair from[] = {{"CPU", "its provider"}};
    static const char *const says[] = {
        "A new node has 8 CPU for pods, by its provider.",
        "A new node in z-a has the label topology.kubernetes.io/zone=z-a, by "
        "its offer.",
        "A new node in z-b has the label topology.kubernetes.io/zone=z-b, by "
        "its offer.",
        "A new node in z-b has 2 CPU less for pods, by the DaemonSets of that "
        "zone."};
    struct snapshot *f = fresh();
    struct snap_type *t = (struct snap_type *)(uintptr_t)&f->types[1];
    struct snap_offer *o = ARENA_ARRAY(&page->arena, struct snap_offer, 3);
    json_t *r, *lines;

    (void)state;
    for (int i = 0; i < 3; i++) {
        o[i] = t->offers[0];
        o[i].zone = i < 2 ? "z-a" : "z-b";
        o[i].spot = i == 1;
    }
    o[2].less = (struct qtys){taken, 1};
    o[2].taints = (struct taints){less, 1};
    t->offers = o;
    t->n_offers = 3;
    t->origins = (struct pairs){from, 1};
    world_plan(page);
    r = render(do_why, "t4");
    lines = json_object_get(r, "type");
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        assert_string_equal(json_string_value(json_array_get(
                                lines, json_array_size(lines) - 4 + i)),
                            says[i]);
    json_decref(r);
}

/* The first tick may have no plan: nothing may break. */
static void page_without_plan(void **state)
{
    json_t *r;

    (void)state;
    fresh();
    r = render(do_status, NULL);
    ints(r, "nodes.total", 3);
    json_decref(r);
    json_decref(render(do_nodes, NULL));
    json_decref(render(do_why, "t4-1"));
    json_decref(render(do_reply, "x"));
}

static void metrics_have_their_names(void **state)
{
    static const char *const want[] = {
        "davit_launches_total 3\n",
        "davit_nodes{type=\"t4\",state=\"ready\"} 1\n",
        "davit_bundles{source=\"request\",place=\"infeasible\"} 1\n",
        "autoscaler_active_nodes{NodeType=\"t4\",SessionName=\"a\\\"b\"} 1\n",
        "autoscaler_pending_nodes{NodeType=\"t4\",SessionName=\"a\\\"b\"} 1\n",
        "autoscaler_started_nodes_total{SessionName=\"a\\\"b\"} 3\n",
        "autoscaler_cluster_resources{resource=\"GPU\",SessionName=\"a\\\"b\"} 1\n",
        "davit_cost_per_hour_dollars 1.73\n",
        "davit_fleet_cost_per_hour_dollars ",
        "davit_fleet_bound_per_hour_dollars ",
        "process_resident_memory_bytes "};
    struct snapshot *f = fresh();
    struct metrics m = {0};
    struct view v;
    struct buf b;

    (void)state;
    world_ask(&page->arena, f, "big", "{\"bundles\":[{\"GPU\":8}]}");
    world_plan(page);
    page->ray_session = "a\"b";
    atomic_store(&m.launches, 3);
    buf_init(&b, 1 << 20);
    view_open(&v, page);
    metrics_write(&b, &v, &m);
    view_done(&v);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        if (!strstr(b.s, want[i]))
            fail_msg("no %s in\n%s", want[i], b.s);
    buf_done(&b);
}

/* Two offers of one type are one series; only what fails makes us not ready. */
static void stops_are_shown(void **state)
{
    static const struct status_stop stops[] = {
        {"type_refused", "t4", "t4 in a is refused", false},
        {"machines_held", "sim", "3 machines may not be ours", false},
        {"type_refused", "t4", "t4 in b is refused", false},
        {"provider_auth", "sim", "our credentials are refused", true}};
    static const char *const want[] = {
        "davit_stops{kind=\"type_refused\",subject=\"t4\"} 2\n",
        "davit_stops{kind=\"machines_held\",subject=\"sim\"} 1\n",
        "davit_stops{kind=\"provider_auth\",subject=\"sim\"} 1\n",
        "davit_ready 0\n",
        "davit_config_held 1\n",
        "davit_config_refused 0\n"};
    struct metrics m = {0};
    const char *first;
    struct view v;
    struct buf b;
    json_t *j;

    (void)state;
    fresh();
    world_plan(page);
    page->stops = stops;
    page->n_stops = 3;
    page->config_problem = "it would end 7 machines";
    page->config_held = true;
    view_open(&v, page);
    assert_true(view_ready(&v));
    page->n_stops = 4;
    assert_false(view_ready(&v));
    buf_init(&b, 1 << 20);
    metrics_write(&b, &v, &m);
    view_done(&v);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        if (!strstr(b.s, want[i]))
            fail_msg("no %s in\n%s", want[i], b.s);
    first = strstr(b.s, "davit_stops{kind=\"type_refused\"");
    assert_null(strstr(first + 1, "davit_stops{kind=\"type_refused\""));
    buf_done(&b);
    j = render(do_status, NULL);
    assert_int_equal(json_array_size(json_object_get(j, "stops")), 4);
    assert_int_equal(json_array_size(json_object_get(j, "problems")), 5);
    assert_true(
        json_is_true(json_object_get(json_object_get(j, "config"), "held")));
    json_decref(j);
}

/* ---- requests */

static enum status read_body(const char *text, struct request_in *r,
                             struct arena *a, struct err *err)
{
    json_t *v = NULL;
    enum status s = codec_parse(text, strlen(text), &v, err);

    if (s == ST_OK)
        s = request_read(v, "default", WORLD_NOW, a, r, err);
    json_decref(v);
    return s;
}

static void requests_become_canonical(void **state)
{
    static const char *const in[][2] = {
        {"{\"bundles\":[{\"GPU\":1},{\"GPU\":1}],\"num_cpus\":8}",
         "{\"bundles\":[{\"resources\":{\"GPU\":1},\"count\":2},"
         "{\"resources\":{\"CPU\":1},\"count\":8}]}"},
        {"{\"owner\":\"a.b:c@d-e_f\",\"num_cpus\":1,\"bundles\":null,"
         "\"strategy\":\"SPREAD\",\"priority\":5,\"ttl\":\"30m\"}",
         "{\"bundles\":[{\"resources\":{\"CPU\":1}}],"
         "\"strategy\":\"SPREAD\",\"priority\":5}"},
        {"{\"bundles\":[{\"GPU\":1}],\"bundle_label_selectors\":"
         "[{\"zone\":\"a\"}],\"strategy\":\"\"}",
         "{\"bundles\":[{\"resources\":{\"GPU\":1},"
         "\"labels\":{\"zone\":\"a\"}}]}"}};
    struct arena a = {0};
    struct request_in r;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        json_t *x, *y;

        if (read_body(in[i][0], &r, &a, &err) != ST_OK)
            fail_msg("%s: %s", in[i][0], err.text);
        x = json_loads(r.body, 0, NULL);
        y = json_loads(in[i][1], 0, NULL);
        if (!json_equal(x, y)) {
            /* a count of 1 may be said */
            json_object_del(json_array_get(json_object_get(x, "bundles"), 0),
                            "count");
            if (!json_equal(x, y))
                fail_msg("%s became %s", in[i][0], r.body);
        }
        assert_false(r.clear);
        json_decref(x);
        json_decref(y);
        if (i == 1)
            assert_int_equal(r.ttl_ms, 30 * 60000);
    }
    arena_done(&a);
}

static void requests_that_clear(void **state)
{
    static const char *const in[] = {
        "{\"bundles\":[]}", "{\"num_cpus\":0}",
        "{\"owner\":\"x\",\"bundles\":[],\"num_cpus\":0}"};
    struct arena a = {0};
    struct request_in r;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        assert_int_equal(read_body(in[i], &r, &a, &err), ST_OK);
        assert_true(r.clear);
    }
    arena_done(&a);
}

static void requests_that_are_wrong(void **state)
{
    static const char *const in[][2] = {
        {"{}", "bundles"},
        {"[]", "object"},
        {"3", "JSON"},
        {"{\"bundle\":[{\"GPU\":1}]}", "bundles"},
        {"{\"bundles\":{\"GPU\":1}}", "list"},
        {"{\"bundles\":[3]}", "bundles[0]"},
        {"{\"bundles\":[{\"GPU\":-1}]}", "bundles[0]"},
        {"{\"bundles\":[{\"GPU\":1e300}]}", "bundles[0]"},
        {"{\"bundles\":[{\"GPU\":NaN}]}", ""},
        {"{\"bundles\":[{\"GPU\":1,\"count\":99999999999}]}", "bundles[0]"},
        {"{\"bundles\":[{\"GPU\":1}],\"owner\":\"ray\"}", "owner: "},
        {"{\"bundles\":[{\"GPU\":1}],\"owner\":\"a b\"}", "owner: "},
        {"{\"bundles\":[{\"GPU\":1}],\"owner\":\"\"}", "owner: "},
        {"{\"bundles\":[{\"GPU\":1}],\"owner\":3}", "owner: "},
        {"{\"bundles\":[{\"GPU\":1}],\"ttl\":\"soon\"}", "ttl: "},
        {"{\"bundles\":[{\"GPU\":1}],\"ttl\":-3}", "ttl: "},
        {"{\"bundles\":[{\"GPU\":1}],\"ttl\":0}", "ttl: "},
        {"{\"bundles\":[{\"GPU\":1}],\"ttl\":1e18}", "ttl: "},
        {"{\"bundles\":[{\"GPU\":1}],\"ttl\":true}", "ttl: "},
        {"{\"bundles\":[{\"GPU\":1}],\"strategy\":\"PAKC\"}", "strategy"},
        {"{\"num_cpus\":-1}", "num_cpus"},
        {"{\"num_cpus\":\"8\"}", "num_cpus"},
        {"{\"num_cpus\":1e99}", "num_cpus"},
        {"{\"bundles\":[{\"GPU\":1}],\"bundle_label_selectors\":[]}",
         "bundle_label_selectors: "},
        {"{\"bundles\":[{\"GPU\":1}],\"bundle_label_selectors\":[3]}",
         "bundle_label_selectors[0]: "},
        {"{\"bundles\":[{\"GPU\":1}],\"bundles\":[]}", ""},
    };
    struct arena a = {0};
    struct request_in r;

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        struct err err = {0};

        if (read_body(in[i][0], &r, &a, &err) != ST_INVALID)
            fail_msg("%s was taken", in[i][0]);
        if (!strstr(err.text, in[i][1]))
            fail_msg("%s: \"%s\" lacks \"%s\"", in[i][0], err.text, in[i][1]);
    }
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals),
        cmocka_unit_test(strings_are_json),
        cmocka_unit_test(overview_is_short),
        cmocka_unit_test(status_counts),
        cmocka_unit_test(status_tells_problems),
        cmocka_unit_test(satisfied_and_coming),
        cmocka_unit_test(a_list_costs_what_it_is_long),
        cmocka_unit_test(launches_are_told),
        cmocka_unit_test(infeasible_names_the_nearest),
        cmocka_unit_test(a_gang_that_fits_nowhere),
        cmocka_unit_test(waiting_names_the_limit),
        cmocka_unit_test(nodes_say_why),
        cmocka_unit_test(names_of_accelerators_are_guessed),
        cmocka_unit_test(idle_nodes_say_when_they_go),
        cmocka_unit_test(why_finds_both_kinds),
        cmocka_unit_test(page_without_plan),
        cmocka_unit_test(metrics_have_their_names),
        cmocka_unit_test(stops_are_shown),
        cmocka_unit_test(why_of_pods_and_types),
        cmocka_unit_test(why_of_what_a_new_node_will_be),
        cmocka_unit_test(requests_become_canonical),
        cmocka_unit_test(requests_that_clear),
        cmocka_unit_test(requests_that_are_wrong),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    status_unref(page);
    return rc;
}
