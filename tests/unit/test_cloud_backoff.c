/*
 * test_cloud_backoff.c - the table of delays, whom a failure touches, and what
 * ends a back-off.
 */
#include "cloud_rig.h"

#define NOW INT64_C(1700000000000)

static struct offer_key key(const char *type, const char *zone)
{
    return (struct offer_key){"gke", type, zone, false};
}

static struct offer_key provider(const char *name)
{
    return (struct offer_key){name, "", "", false};
}

static const struct backoff *note(struct backoffs *r, const char *type,
                                  const char *zone, enum status s, int64_t now)
{
    struct err e = {.status = s};
    snprintf(e.text, sizeof e.text, "said %s", status_name(s));
    return backoffs_note_launch(r, key(type, zone), 0, 0, &e, now);
}

static const struct backoff *find(struct backoffs *r, const char *type,
                                  const char *zone, int64_t now)
{
    return backoffs_find(r, key(type, zone), now);
}

struct row {
    enum status status;
    int64_t seconds[8];
};

static void test_delays(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {ST_STOCKOUT, {60, 120, 240, 480, 960, 1800, 1800, 1800}},
        {ST_QUOTA, {120, 240, 480, 960, 1920, 3600, 3600, 3600}},
        {ST_RETRY, {1, 2, 4, 8, 16, 32, 60, 60}},
        {ST_BROKEN, {1, 2, 4, 8, 16, 32, 60, 60}},
        {ST_THROTTLED, {2, 4, 8, 16, 32, 64, 120, 120}}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct backoffs *r = backoffs_new();
        int64_t now = NOW;
        for (uint32_t i = 0; i < 8; i++) {
            const struct backoff *t = note(r, "t4", "a", rows[k].status, now);
            int64_t want = rows[k].seconds[i] * 1000;
            assert_non_null(t);
            assert_int_equal(t->failures, i + 1);
            assert_int_equal(t->why, rows[k].status);
            assert_has(t->text, status_name(rows[k].status));
            if (rows[k].status == ST_THROTTLED)
                assert_in_range(t->delay_ms, want, want + want / 8);
            else
                assert_int_equal(t->delay_ms, want);
            assert_int_equal(t->until_ms, now + t->delay_ms);
            assert_int_equal(t->room,
                             rows[k].status == ST_QUOTA ? 0 : UNLIMITED);
            assert_ptr_equal(find(r, "t4", "a", t->until_ms - 1), t);
            assert_null(find(r, "t4", "a", t->until_ms));
            now = t->until_ms;
        }
        backoffs_free(r);
    }
}

static void test_whom(void **state)
{
    (void)state;
    /* type/zone as failed, then asked for: itself, other zone, other type */
    static const struct {
        enum status s;
        const char *type;
        int hit[3];
    } rows[] = {{ST_STOCKOUT, "t4", {1, 0, 0}},   {ST_QUOTA, "t4", {1, 0, 0}},
                {ST_RETRY, "t4", {1, 0, 0}},      {ST_RETRY, "", {1, 1, 1}},
                {ST_INVALID, "t4", {1, 1, 0}},    {ST_INVALID, "", {1, 1, 1}},
                {ST_BROKEN, "t4", {1, 1, 1}},     {ST_AUTH, "t4", {1, 1, 1}},
                {ST_THROTTLED, "t4", {1, 1, 1}},  {ST_STOCKOUT, "", {1, 1, 1}},
                {ST_NOT_FOUND, "t4", {1, 0, 0}},  {ST_CANCELLED, "", {0, 0, 0}},
                {ST_UNSUPPORTED, "t4", {1, 0, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct backoffs *r = backoffs_new();
        struct offer_key spot = {"gke", "t4", "a", true};
        struct offer_key eks = {"eks", "t4", "a", false};
        note(r, rows[i].type, *rows[i].type ? "a" : "", rows[i].s, NOW);
        if ((find(r, "t4", "a", NOW) != NULL) != rows[i].hit[0] ||
            (find(r, "t4", "b", NOW) != NULL) != rows[i].hit[1] ||
            (find(r, "k80", "a", NOW) != NULL) != rows[i].hit[2])
            fail_msg("%s of \"%s\" hits the wrong ones", status_name(rows[i].s),
                     rows[i].type);
        assert_int_equal(
            backoffs_find(r, spot, NOW) ? 1 : 0,
            rows[i].hit[1] || rows[i].hit[2]); /* the other market */
        assert_null(backoffs_find(r, eks, NOW));
        /* Every one ends by itself: the next launch is a probe. */
        assert_null(find(r, "t4", "a", NOW + 3600000));
        backoffs_forget_all(r);
        assert_null(find(r, "t4", "a", NOW));
        backoffs_free(r);
    }
}

/* One that made nothing is not asked again at once, whatever it was told. */
static void test_every_refusal(void **state)
{
    (void)state;
    for (enum status s = ST_OK + 1; s < ST_COUNT; s++) {
        struct backoffs *r = backoffs_new();
        if (s != ST_CANCELLED) {
            assert_non_null(note(r, "t4", "a", s, NOW));
            assert_non_null(find(r, "t4", "a", NOW));
        }
        backoffs_free(r);
    }
}

/* gardener#370: A,B,A,B and never C, because one success forgave all. */
static void test_success(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    note(r, "t4", "a", ST_STOCKOUT, NOW);
    note(r, "t4", "b", ST_STOCKOUT, NOW);
    /* A yes to what was launched before it was told that there is none. */
    note(r, "t4", "a", ST_OK, NOW + 1000);
    assert_non_null(find(r, "t4", "a", NOW + 1000));
    backoffs_joined(r, key("t4", "a"), NOW + 1000, NOW + 31000);
    assert_null(find(r, "t4", "a", NOW + 31000));
    assert_non_null(find(r, "t4", "b", NOW + 31000));
    backoffs_joined(r, key("t4", "b"), NOW, NOW + 31000);
    const struct backoff *t = note(r, "t4", "a", ST_STOCKOUT, NOW + 61000);
    assert_int_equal(t->delay_ms, 60000); /* from the start again */
    t = note(r, "t4", "b", ST_STOCKOUT, NOW + 61000);
    assert_int_equal(t->delay_ms, 120000); /* goes on: launched before */
    backoffs_free(r);
}

/* A cloud that says yes to each launch and tells a minute later that there is
 * none is asked ever more seldom. */
static void test_yes_and_no(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    static const int64_t seconds[] = {60, 120, 240, 480};
    int64_t now = NOW;
    for (int i = 0; i < 4; i++) {
        note(r, "t4", "a", ST_OK, now);
        now += 60000;
        const struct backoff *t = note(r, "t4", "a", ST_STOCKOUT, now);
        assert_int_equal(t->delay_ms, seconds[i] * 1000);
        now = t->until_ms;
    }
    backoffs_free(r);
}

static int64_t failed(struct backoffs *r, const char *zone, int64_t now)
{
    return backoffs_failed_ms(r, key("t4", zone), now);
}

/* That it failed is told for longer than it rests. */
static void test_failed(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    struct err quota = {.status = ST_QUOTA};
    assert_int_equal(failed(r, "a", NOW), 0);
    note(r, "t4", "a", ST_RETRY, NOW);
    assert_null(find(r, "t4", "a", NOW + 1001));
    assert_int_equal(failed(r, "a", NOW + 1001), NOW);
    assert_int_equal(failed(r, "b", NOW + 1001), 0);
    note(r, "t4", "a", ST_OK, NOW + 2000);
    assert_int_equal(failed(r, "a", NOW + 2000), NOW);
    backoffs_joined(r, key("t4", "a"), NOW, NOW + 3000);
    assert_int_equal(failed(r, "a", NOW + 3000), NOW);
    backoffs_joined(r, key("t4", "a"), NOW + 2000, NOW + 3000);
    assert_int_equal(failed(r, "a", NOW + 3000), 0);
    note(r, "t4", "a", ST_STOCKOUT, NOW);
    note(r, "t4", "a", ST_STOCKOUT, NOW + 9); /* the same event, but later */
    assert_int_equal(failed(r, "a", NOW + 3600008), NOW + 9);
    assert_int_equal(failed(r, "a", NOW + 3600009), 0);
    backoffs_note_launch(r, key("t4", "c"), 8, 0, &quota, NOW);
    assert_int_equal(failed(r, "c", NOW), 0); /* four may go at once */
    backoffs_note_launch(r, key("t4", "c"), 1, 0, &quota, NOW + 5);
    assert_int_equal(failed(r, "c", NOW + 5), NOW + 5);
    backoffs_free(r);
}

/* Five launches under way when the stock runs out are one stockout. */
static void test_together(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    const struct backoff *t = NULL;
    for (int i = 0; i < 5; i++)
        t = note(r, "t4", "a", ST_STOCKOUT, NOW + i);
    assert_int_equal(t->failures, 1);
    assert_int_equal(t->until_ms, NOW + 60000);
    /* A worse one meanwhile counts at once, a lesser one changes nothing. */
    note(r, "k80", "a", ST_RETRY, NOW);
    t = note(r, "k80", "a", ST_STOCKOUT, NOW + 10);
    assert_int_equal(t->until_ms, NOW + 10 + 60000);
    t = note(r, "k80", "a", ST_RETRY, NOW + 20);
    assert_int_equal(t->until_ms, NOW + 10 + 60000);
    t = note(r, "", "", ST_THROTTLED, NOW);
    t = note(r, "", "", ST_AUTH, NOW + 1);
    assert_int_equal(t->until_ms, NOW + 1 + 30000);
    t = note(r, "", "", ST_BROKEN, NOW + 2);
    assert_int_equal(t->until_ms, NOW + 1 + 30000);
    assert_int_equal(t->why, ST_AUTH);
    backoffs_free(r);
}

static void test_throttled(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    struct err e = {.status = ST_THROTTLED, .retry_after_ms = 30000};
    const struct backoff *t = backoffs_note_launch(r, key("", ""), 0, 0, &e,
                                                   NOW);
    assert_in_range(t->delay_ms, 30000, 33750);
    int64_t until = t->until_ms;
    /* Lists that go well while it rests, or just after, forgive nothing. */
    note(r, "", "", ST_OK, NOW + 1000);
    assert_non_null(find(r, "t4", "a", NOW + 1000));
    note(r, "", "", ST_OK, until + 10);
    e.retry_after_ms = 0;
    t = backoffs_note_launch(r, key("", ""), 0, 0, &e, until + 20);
    assert_int_equal(t->failures, 2);
    assert_in_range(t->delay_ms, 4000, 4500);
    note(r, "", "", ST_OK, t->until_ms + t->delay_ms);
    t = backoffs_note_launch(r, key("", ""), 0, 0, &e, until + 100000);
    assert_int_equal(t->failures, 1);
    /* A day is not believed; the same failures rest the same on every run. */
    e.retry_after_ms = 86400 * 1000;
    t = backoffs_note_launch(r, key("", ""), 0, 0, &e, until + 300000);
    assert_in_range(t->delay_ms, 3600000, 4050000);
    struct backoffs *q = backoffs_new();
    e.retry_after_ms = 0;
    int64_t once =
        backoffs_note_launch(q, provider("a"), 0, 0, &e, NOW)->delay_ms;
    backoffs_forget_all(q);
    assert_int_equal(
        backoffs_note_launch(q, provider("a"), 0, 0, &e, NOW)->delay_ms, once);
    uint32_t parted = 0;
    for (char name[] = "b"; name[0] < 'z'; name[0]++)
        parted +=
            backoffs_note_launch(q, provider(name), 0, 0, &e, NOW)->delay_ms !=
            once;
    assert_true(parted >= 20);
    backoffs_free(q);
    backoffs_free(r);
}

/* One that joins ends no row: it may die at once.  One that lives does. */
static void test_lives(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    struct err e = {.status = ST_BROKEN};
    int64_t now = NOW;
    for (int64_t delay = 10000; delay <= 640000; delay *= 4) {
        const struct backoff *t = backoffs_note_life(r, key("t4", "a"), &e,
                                                     now);
        assert_int_equal(t->delay_ms, delay);
        now = t->until_ms + 1000;
        backoffs_joined(r, key("t4", "a"), now, now + 500);
        now += 1000;
    }
    /* Two of one launch die together: that is one. */
    assert_int_equal(backoffs_note_life(r, key("t4", "b"), &e, NOW)->delay_ms,
                     10000);
    assert_int_equal(backoffs_note_life(r, key("t4", "b"), &e, NOW)->delay_ms,
                     10000);
    /* Launched before the last of them ended, it proves nothing. */
    backoffs_lived(r, key("t4", "a"), NOW);
    assert_true(backoffs_note_life(r, key("t4", "a"), &e, now)->delay_ms >
                640000);
    backoffs_lived(r, key("t4", "a"), now + 1);
    now += 24 * 3600000;
    assert_int_equal(backoffs_note_life(r, key("t4", "a"), &e, now)->delay_ms,
                     10000);
    backoffs_free(r);
}

/* What a load of the configuration forgets. */
static void test_forgetting(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    struct err sold = {.status = ST_STOCKOUT}, no = {.status = ST_AUTH};
    struct err died = {.status = ST_BROKEN};
    backoffs_note_launch(r, key("t4", "a"), 1, 0, &sold, NOW);
    backoffs_note_launch(r, key("v100", "a"), 1, 0, &no, NOW);
    backoffs_note_life(r, key("l4", "a"), &died, NOW);
    backoffs_forget(r,
                    &(struct backoffs_forgotten){.auth = true, .lives = true});
    assert_non_null(find(r, "t4", "a", NOW + 1));
    assert_non_null(find(r, "l4", "a", NOW + 1));
    assert_null(find(r, "v100", "a", NOW + 1)); /* its provider's */
    backoffs_forget(r, &(struct backoffs_forgotten){0});
    assert_null(find(r, "t4", "a", NOW + 1));
    assert_non_null(find(r, "l4", "a", NOW + 1));
    backoffs_forget(
        r, &(struct backoffs_forgotten){.provider = "other", .lives = true});
    assert_non_null(find(r, "l4", "a", NOW + 1));
    backoffs_forget(r, &(struct backoffs_forgotten){.lives = true});
    assert_null(find(r, "l4", "a", NOW + 1));
    backoffs_free(r);
}

static const struct backoff *asked(struct backoffs *r, uint32_t n, uint32_t got,
                                   int64_t now)
{
    struct err e = {.status = ST_QUOTA};
    return backoffs_note_launch(r, key("t4", "a"), n, got, &e, now);
}

/* k/autoscaler#2607: a quota with room for one refused eight, for ever. */
static void test_quota_room(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    static const uint32_t rooms[] = {4, 2, 1, 0};
    uint32_t n = 8;
    for (int i = 0; i < 4; i++) {
        const struct backoff *t = asked(r, n, 0, NOW + i);
        assert_int_equal(t->room, rooms[i]);
        assert_int_equal(t->until_ms > NOW + i, i == 3);
        assert_ptr_equal(find(r, "t4", "a", NOW + i), t);
        n = t->room;
    }
    assert_null(find(r, "t4", "a", NOW + 3 + 120000));
    /* The next round starts from what is asked then, and rests longer. */
    int64_t now = NOW + 130000;
    assert_int_equal(asked(r, 8, 0, now)->room, 4);
    assert_int_equal(asked(r, 8, 0, now)->room, 4); /* was under way */
    assert_int_equal(asked(r, 1, 0, now)->delay_ms, 240000);
    backoffs_forget_all(r);
    /* Some came: the cap is where we are. */
    const struct backoff *t = asked(r, 8, 3, NOW);
    assert_int_equal(t->room, 0);
    assert_int_equal(t->until_ms, NOW + 120000);
    backoffs_forget_all(r);
    /* The smaller launch went well: the next does not start from above. */
    asked(r, 8, 0, NOW);
    note(r, "t4", "a", ST_OK, NOW + 1);
    assert_int_equal(find(r, "t4", "a", NOW + 1)->room, 4);
    assert_int_equal(asked(r, 4, 0, NOW + 2)->room, 2);
    backoffs_forget_all(r);
    /* A lowered room is forgotten after a while. */
    asked(r, 8, 0, NOW);
    assert_non_null(find(r, "t4", "a", NOW + 599999));
    assert_null(find(r, "t4", "a", NOW + 600000));
    backoffs_joined(r, key("t4", "a"), NOW + 1, NOW + 600000);
    assert_int_equal(asked(r, 1, 0, NOW + 600001)->failures, 1);
    backoffs_free(r);
}

static void show(void *arg, const struct backoff *t)
{
    char *said = arg;
    sprintf(said + strlen(said), "%s/%s/%s ", t->of.provider, t->of.type,
            t->of.zone);
}

static void test_each(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    char said[200] = "";
    note(r, "t4", "a", ST_STOCKOUT, NOW);
    note(r, "t4", "b", ST_RETRY, NOW);
    note(r, "k80", "a", ST_INVALID, NOW);
    asked(r, 8, 0, NOW); /* of t4/a */
    note(r, "", "", ST_BROKEN, NOW);
    backoffs_each(r, NOW, show, said);
    assert_string_equal(said, "gke/t4/a gke/t4/b gke/k80/ gke// ");
    said[0] = '\0';
    backoffs_each(r, NOW + 5000, show, said);
    assert_string_equal(said, "gke/t4/a gke/k80/ ");
    backoffs_free(r);
}

static void test_many(void **state)
{
    (void)state;
    struct backoffs *r = backoffs_new();
    char zone[80];
    for (int i = 0; i < 3000; i++) {
        snprintf(zone, sizeof zone, "zone-%d", i);
        assert_non_null(note(r, "t4", zone, ST_STOCKOUT, NOW + i));
        assert_non_null(find(r, "t4", zone, NOW + i));
    }
    memset(zone, 'x', sizeof zone - 1);
    zone[sizeof zone - 1] = '\0';
    note(r, "t4", zone, ST_STOCKOUT, NOW);
    assert_int_equal(note(r, "t4", zone, ST_STOCKOUT, NOW + 90000)->failures,
                     2);
    backoffs_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delays),        cmocka_unit_test(test_whom),
        cmocka_unit_test(test_every_refusal), cmocka_unit_test(test_success),
        cmocka_unit_test(test_yes_and_no),    cmocka_unit_test(test_failed),
        cmocka_unit_test(test_together),      cmocka_unit_test(test_throttled),
        cmocka_unit_test(test_quota_room),    cmocka_unit_test(test_each),
        cmocka_unit_test(test_lives),         cmocka_unit_test(test_forgetting),
        cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
