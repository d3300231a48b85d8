/*
 * test_store_kube_state.c - a journal's copy in ConfigMaps: as many as are
 * needed, none larger than an API server takes, every row in them once, and
 * nothing lost whichever request fails.
 *
 * The API server is played: kube_do() is this file's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "seed.h"
#include "store/kube_state.h"

/* ---- an API server that has ConfigMaps */

enum { MAP_MAX = 1 << 20, OBJECT_MAX = 3 << 19 }; /* values; all of it */

static json_t *maps; /* by name; metadata and data as sent */
static int version, requests, fail_at, fail_kind;
enum { FAIL_BEFORE = 1, FAIL_AFTER };

static enum status refuse(struct err *err, enum status s, const char *code)
{
    err_set(err, s, "played: %s", code);
    snprintf(err->code, sizeof err->code, "%s", code);
    return s;
}

static void merge(json_t *to, json_t *patch)
{
    const char *key;
    json_t *v;

    json_object_foreach(patch, key, v)
        if (json_is_null(v)) {
            json_object_del(to, key);
        } else if (json_is_object(v)) {
            if (!json_is_object(json_object_get(to, key)))
                json_object_set_new(to, key, json_object());
            merge(json_object_get(to, key), v);
        } else {
            json_object_set(to, key, v);
        }
}

/* As the API server's validation and etcd have it. */
static bool too_large(const json_t *map)
{
    size_t values = 0, all = 0;
    const char *key;
    json_t *v;

    json_object_foreach(json_object_get(map, "data"), key, v) {
        values += json_string_length(v);
        all += json_string_length(v) + 3 * strlen(key);
    }
    return values > MAP_MAX || all > OBJECT_MAX;
}

static const char *version_of(const json_t *o)
{
    const char *s = json_string_value(
        json_object_get(json_object_get(o, "metadata"), "resourceVersion"));

    return s ? s : "";
}

static enum status write_map(const char *name, json_t *body, struct err *err)
{
    json_t *old = json_object_get(maps, name), *now;
    char text[24];

    if (old && *version_of(body) &&
        strcmp(version_of(old), version_of(body)) != 0)
        return refuse(err, ST_RETRY, "Conflict");
    now = old ? json_deep_copy(old) : json_object();
    merge(now, body);
    snprintf(text, sizeof text, "%d", ++version);
    json_object_set_new(json_object_get(now, "metadata"), "resourceVersion",
                        json_string(text));
    if (too_large(now)) {
        json_decref(now);
        return refuse(err, ST_INVALID, "Invalid");
    }
    json_object_set_new(maps, name, now);
    return ST_OK;
}

static enum status serve(struct kube_call *c, struct err *err)
{
    json_t *body = c->body ? json_loads(c->body, 0, NULL) : NULL;
    const char *method = c->method ? c->method : "GET";
    bool post = strcmp(method, "POST") == 0;
    char name[200];
    enum status s = ST_OK;

    snprintf(name, sizeof name, "%s",
             post ? json_string_value(json_object_get(
                        json_object_get(body, "metadata"), "name"))
                  : strrchr(c->path, '/') + 1);
    if (post && json_object_get(maps, name))
        s = refuse(err, ST_RETRY, "AlreadyExists");
    else if (!post && !json_object_get(maps, name))
        s = refuse(err, ST_NOT_FOUND, "NotFound");
    else if (body)
        s = write_map(name, body, err);
    json_decref(body);
    if (s == ST_OK)
        c->reply = json_deep_copy(json_object_get(maps, name));
    return s;
}

enum status kube_do(struct kube *k, struct kube_call *c, struct err *err)
{
    enum status s;

    (void)k;
    if (++requests == fail_at && fail_kind == FAIL_BEFORE)
        return refuse(err, ST_RETRY, "no connection");
    s = serve(c, err);
    if (requests == fail_at && fail_kind == FAIL_AFTER) { /* a lost reply */
        json_decref(c->reply);
        c->reply = NULL;
        return refuse(err, ST_RETRY, "no reply");
    }
    return s;
}

static int start(void **state)
{
    (void)state;
    maps = json_object();
    version = requests = fail_at = 0;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    json_decref(maps);
    return 0;
}

/* ---- a leader */

static struct kube_state *lead(int64_t token, struct arena *a,
                               struct mirror_row **rows, uint32_t *n)
{
    struct kube_state *s = kube_state_new(NULL, "ns", "davit-c", token, "me");
    struct err e = {0};

    if (kube_state_open(s, a, rows, n, &e) != ST_OK)
        fail_msg("%s", e.text);
    for (uint32_t i = *n; i-- > 0;)
        if (!(*rows)[i].json) /* a copy that does not hold */
            (*rows)[i] = (*rows)[--*n];
    return s;
}

static void put(struct kube_state *s, const struct mirror_row *rows, uint32_t n)
{
    struct err e = {0};
    enum status st;

    do
        st = kube_state_write(s, rows, n, &e);
    while (st == ST_RETRY); /* as control/ha/ does */
    if (st != ST_OK)
        fail_msg("%s", e.text);
}

static size_t keys_of_all(void)
{
    const char *name;
    size_t n = 0;
    json_t *map;

    json_object_foreach(maps, name, map)
        n += json_object_size(json_object_get(map, "data"));
    return n;
}

/* ---- tests */

/* A fleet of 50,000 machines as the journal writes it, all in, all out. */
static void fifty_thousand_machines(void **state)
{
    enum { MACHINES = 50000, AT_ONCE = 4000 };
    static char previous[] =
        "[{\"source\":\"request\",\"owner\":\"team-a/train-17\","
        "\"shape\":\"476ef89541c92839\"}]";
    struct journal *j = NULL, *k = NULL;
    struct arena a = {0};
    struct mirror_row *rows;
    struct kube_state *s;
    struct err e = {0};
    size_t bytes = 0;
    struct fleet f;
    uint32_t n;

    (void)state;
    journal_open(JOURNAL_IN_MEMORY, NULL, &j, &e);
    assert_int_equal(mirror_begin(j, &e), ST_OK);
    for (int i = 0; i < MACHINES; i++) {
        char launch[40], cloud[64], address[32], node[64];
        struct machine m = {MACHINE_TEXTS,
                            .state = STATE_READY,
                            .why = REASON_FOR_REQUEST,
                            .created_ms = 1795346764651,
                            .since_ms = 1795346764651,
                            .ready_ms = 1795346764651,
                            .progress_ms = 1795346764651,
                            .seen_ms = 1795346764651,
                            .needed_ms = 1795346764651,
                            .price_micros_hour = 729998,
                            .launch_count = 8};

        snprintf(m.id, sizeof m.id, "a2-highgpu-8g-%08x-%d", i * 7919, i % 8);
        snprintf(launch, sizeof launch, "davit-%020d", i / 8);
        m.request_id = launch;
        m.previous = previous;
        m.provider = "gke-europe";
        m.type = "a2-highgpu-8g";
        m.zone = "europe-west4-b";
        snprintf(cloud, sizeof cloud, "gke-gpu-pool-%08x-%05d", i * 31, i);
        m.cloud_id = cloud;
        snprintf(address, sizeof address, "10.86.%d.%d", i / 256, i % 256);
        m.address = address;
        snprintf(node, sizeof node, "%056d", i);
        m.ray_id = node;
        m.config_hash = "9496cdc87cfdfd27";
        journal_put_machine(j, &m, NULL);
    }
    journal_put_request(
        j, &(struct journal_request){"me", "{\"bundles\":[]}", 1, 0}, NULL);
    assert_int_equal(journal_commit(j, &e), ST_OK);

    s = lead(1, &a, &rows, &n);
    assert_int_equal(n, 0);
    for (;;) {
        assert_int_equal(mirror_take(j, AT_ONCE, &a, &rows, &n, &e), ST_OK);
        if (!n)
            break;
        for (uint32_t i = 0; i < n; i++)
            bytes += strlen(rows[i].json);
        put(s, rows, n);
        mirror_written(j, rows, n, NULL);
    }
    print_message("%zu ConfigMaps, %zu bytes a row, %u %% of all there can "
                  "be\n",
                  json_object_size(maps), bytes / MACHINES,
                  kube_state_percent(s));
    assert_in_range(kube_state_percent(s), 1, 60);
    kube_state_free(s);

    s = lead(2, &a, &rows, &n);
    assert_int_equal(n, MACHINES + 1);
    journal_open(JOURNAL_IN_MEMORY, NULL, &k, &e);
    assert_int_equal(mirror_restore(k, rows, n, &e), ST_OK);
    fleet_init(&f);
    assert_int_equal(journal_load_fleet(k, &f, &e), ST_OK);
    assert_int_equal(f.n, MACHINES);
    assert_string_equal(f.v[49999]->ray_id + 51, "49999");
    assert_string_equal(f.v[49999]->previous, previous);
    assert_int_equal(f.v[49999]->hold_until_ms, 0);
    fleet_done(&f);
    kube_state_free(s);
    journal_close(j);
    journal_close(k);
    arena_done(&a);
}

static struct mirror_row row(struct arena *a, int id, size_t size, char c)
{
    char *text = arena_alloc(a, size + 1);

    memset(text, c, size);
    text[size] = '\0';
    return (struct mirror_row){"machine", arena_printf(a, "m-%d", id), text, 0};
}

/* What the rows should be, by a leader that reads them anew. */
static void check(char *const *expected, int n_ids, int64_t token)
{
    struct arena a = {0};
    struct mirror_row *rows;
    struct kube_state *s;
    uint32_t n, want = 0;

    s = lead(token, &a, &rows, &n);
    for (int i = 0; i < n_ids; i++) {
        char id[32];
        uint32_t k = 0;

        snprintf(id, sizeof id, "m-%d", i);
        while (k < n && strcmp(rows[k].id, id) != 0)
            k++;
        want += expected[i] != NULL;
        if (!expected[i]) {
            assert_int_equal(k, n);
            continue;
        }
        if (k == n)
            fail_msg("%s is lost", id);
        assert_string_equal(rows[k].json, expected[i]);
    }
    assert_int_equal(n, want);
    kube_state_free(s);
    arena_done(&a);
}

/* Rows come, grow out of their map, shrink and go, while requests fail before
 * or after their deed, and leaders change in between. */
static void whatever_fails_no_row_is_lost(void **state)
{
    enum { IDS = 400, ROUNDS = 60 };
    static char *expected[IDS];
    struct arena a = {0};
    unsigned seed = (unsigned)seed_of(0);
    struct kube_state *s;
    struct mirror_row *rows, batch[30];
    int64_t token = 1;
    uint32_t n;

    (void)state;
    s = lead(token, &a, &rows, &n);
    for (int round = 0; round < ROUNDS; round++) {
        struct err e;

        for (int i = 0; i < 30; i++) {
            int id = (int)(rand_r(&seed) % IDS);
            size_t size = rand_r(&seed) % 3 ? 500 : rand_r(&seed) % 200000;

            for (int k = 0; k < i; k++)
                if (atoi(batch[k].id + 2) == id) {
                    k = -1; /* a row is in a batch once */
                    id = (id + 1) % IDS;
                }
            batch[i] = row(&a, id, size, (char)('a' + round % 26));
            if (rand_r(&seed) % 4 == 0)
                batch[i].json = NULL;
            expected[id] = (char *)batch[i].json;
        }
        fail_at = requests + 1 + (int)(rand_r(&seed) % 25);
        fail_kind = 1 + (int)(rand_r(&seed) % 2);
        if (rand_r(&seed) % 3) {
            put(s, batch, 30);
        } else if (kube_state_write(s, batch, 30, &e) != ST_OK) {
            /* it dies: the next one gets the rest from its own list */
            kube_state_free(s);
            fail_at = 0;
            s = lead(++token, &a, &rows, &n);
            put(s, batch, 30);
        }
        fail_at = 0;
        if (round % 10 == 9) {
            kube_state_free(s);
            check(expected, IDS, ++token);
            s = lead(++token, &a, &rows, &n);
        }
    }
    print_message("%zu ConfigMaps, %d requests\n", json_object_size(maps),
                  requests);
    assert_true(json_object_size(maps) > 17); /* rows did move up */
    kube_state_free(s);
    check(expected, IDS, ++token);
    arena_done(&a);
}

/* Somebody deletes a map, prunes another and puts a row of his own into a third: it is
 * seen, whether a write meets it or not, and what is written then is all there is. */
static void what_others_do_is_seen(void **state)
{
    struct arena a = {0};
    struct mirror_row *rows, some[60];
    char *expected[60] = {0};
    struct kube_state *s;
    struct err e;
    bool lacks;
    uint32_t n;

    (void)state;
    s = lead(1, &a, &rows, &n);
    for (int i = 0; i < 60; i++) {
        some[i] = row(&a, i, 700, 'x');
        expected[i] = (char *)some[i].json;
    }
    put(s, some, 60);
    assert_int_equal(kube_state_check(s, &lacks, &e), ST_OK);
    assert_false(lacks);
    for (int met = 0; met < 2; met++) {
        const char *name;
        json_t *map;
        int at = 0;

        json_object_foreach(maps, name, map) {
            json_object_set_new(json_object_get(map, "metadata"),
                                "resourceVersion",
                                json_sprintf("%d", ++version));
            if (at == 1)
                json_object_clear(json_object_get(map, "data"));
            if (at++ == 2)
                json_object_set_new(json_object_get(map, "data"),
                                    "machine.of-another", json_string("{}"));
        }
        json_object_del(maps, met ? "davit-c-0" : "davit-c-9");
        if (met)
            put(s, some, 60);
        assert_int_equal(kube_state_check(s, &lacks, &e), ST_OK);
        assert_true(lacks);
        put(s, some, 60);
        assert_int_equal(kube_state_check(s, &lacks, &e), ST_OK);
        assert_false(lacks);
        assert_int_equal(keys_of_all(), 60);
    }
    kube_state_free(s);
    check(expected, 60, 2);
    arena_done(&a);
}

/* Of two copies of a row the upper one holds, and the lower one goes. */
static void a_move_cut_short_is_ended(void **state)
{
    struct arena a = {0};
    struct mirror_row one, *rows, fill[80];
    struct kube_state *s;
    struct err e;
    uint32_t n;

    (void)state;
    s = lead(1, &a, &rows, &n);
    for (int i = 0; i < 80; i++)
        fill[i] = row(&a, i, 200000, 'f'); /* four to a map */
    put(s, fill, 80);
    one = row(&a, 40, 500000, 'b');
    fail_at = requests + 3; /* its new map is written, the old one is not */
    fail_kind = FAIL_BEFORE;
    assert_int_equal(kube_state_write(s, &one, 1, &e), ST_RETRY);
    assert_int_equal(keys_of_all(), 81);
    kube_state_free(s);
    fail_at = 0;
    s = lead(2, &a, &rows, &n);
    assert_int_equal(n, 80);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(rows[i].id, "m-40") == 0)
            assert_int_equal(rows[i].json[0], 'b');
    put(s, fill, 1);
    assert_int_equal(keys_of_all(), 80);
    kube_state_free(s);
    arena_done(&a);
}

/* What 0.1 reads: 16 maps, and a row where its hash says. */
static void few_rows_lie_as_in_0_1(void **state)
{
    struct arena a = {0};
    struct mirror_row *rows, some[100];
    struct kube_state *s;
    uint32_t n;

    (void)state;
    s = lead(1, &a, &rows, &n);
    for (int i = 0; i < 100; i++)
        some[i] = row(&a, i, 700, 'x');
    put(s, some, 100);
    assert_int_equal(json_object_size(maps), 16);
    for (int i = 0; i < 100; i++) {
        char name[40], key[40];

        snprintf(name, sizeof name, "davit-c-%u",
                 kube_state_shard("machine", some[i].id));
        snprintf(key, sizeof key, "machine.%s", some[i].id);
        assert_non_null(json_object_get(
            json_object_get(json_object_get(maps, name), "data"), key));
    }
    kube_state_free(s);
    arena_done(&a);
}

static void a_replaced_leader_makes_no_map(void **state)
{
    struct arena a = {0};
    struct mirror_row *rows, fill[120];
    struct kube_state *s, *later;
    struct err e = {0};
    size_t before;
    uint32_t n;

    (void)state;
    s = lead(1, &a, &rows, &n);
    later = lead(2, &a, &rows, &n);
    before = json_object_size(maps);
    for (int i = 0; i < 120; i++)
        fill[i] = row(&a, i, 200000, 'f');
    assert_int_equal(kube_state_write(s, fill, 120, &e), ST_CANCELLED);
    assert_int_equal(json_object_size(maps), before);
    assert_int_equal(keys_of_all(), 0);
    kube_state_free(s);
    kube_state_free(later);
    arena_done(&a);
}

static void full_is_told(void **state)
{
    struct arena a = {0};
    struct mirror_row one = row(&a, 1, 1 << 20, 'x'), *rows;
    struct kube_maps m;
    struct kube_state *s;
    struct err e = {0};
    char key[32];
    int i = 0;
    uint32_t n;

    (void)state;
    s = lead(1, &a, &rows, &n);
    assert_int_equal(kube_state_write(s, &one, 1, &e), ST_INVALID);
    assert_non_null(strstr(e.text, "no room for the machine \"m-1\""));
    one = row(&a, 1, 100, 'x');
    put(s, &one, 1);
    kube_state_free(s);

    kube_maps_init(&m);
    for (;; i++) {
        unsigned map;

        snprintf(key, sizeof key, "machine.%d", i);
        map = kube_maps_choose(&m, key, (unsigned)i % 16, 50000);
        if (map == KUBE_MAPS_MOST)
            break;
        kube_maps_note(&m, key, map, 50000);
    }
    assert_int_equal(m.n, KUBE_MAPS_MOST);
    assert_in_range(kube_maps_percent(&m), 95, 100);
    /* room is found again */
    kube_maps_drop(&m, "machine.2000");
    assert_int_not_equal(kube_maps_choose(&m, key, 0, 50000), KUBE_MAPS_MOST);
    kube_maps_done(&m);
    arena_done(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fifty_thousand_machines),
        TEST(whatever_fails_no_row_is_lost),
        TEST(what_others_do_is_seen),
        TEST(a_move_cut_short_is_ended),
        TEST(few_rows_lie_as_in_0_1),
        TEST(a_replaced_leader_makes_no_map),
        TEST(full_is_told),
    };

    return cmocka_run_group_tests_name("store kube_state", tests, NULL, NULL);
}
