/*
 * The kit that plug-ins are built with: settings as a table, where a secret may
 * go, texts and times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit/exchange.h"

struct thing {
    char *name, *file, *url;
    bool flag;
    uint32_t number, how;
    int64_t pause_ms;
    char seen[100];
};

static int take(struct kit_reading *r, const char *rest, const char *value)
{
    struct thing *t = r->into;
    size_t n = strlen(t->seen);

    if (strcmp(value, "bad") == 0)
        return kit_error(r->error, DAVIT_INVALID, "", "no bad ones");
    snprintf(t->seen + n, sizeof t->seen - n, "%s%s=%s", n ? " " : "", rest,
             value);
    return DAVIT_OK;
}

#define AT(field) KIT_AT(struct thing, field)
static const struct kit_option table[] = {
    {"name", "who", KIT_NAME, AT(name), .allowed = "a-z 0-9 -", .max = 8,
     .needed = true},
    {"file", "where", KIT_TEXT, AT(file), .env = "KIT_TEST_FILE",
     .instead = "name", .fallback = "f"},
    {"url", "whom to ask", KIT_URL, AT(url), .fallback = "https://a.example/"},
    {"flag", "yes or no", KIT_FLAG, AT(flag), .fallback = "true"},
    {"number", "how many", KIT_NUMBER, AT(number), .fallback = "3", .min = 1,
     .max = 10},
    {"pause", "how long", KIT_DURATION, AT(pause_ms), .fallback = "2s",
     .max = 60000},
    {"how", "which way", KIT_CHOICE, AT(how), .fallback = "fast",
     .allowed = "slow|fast|never"},
    {"some", "a list", KIT_READ, .read = take},
    {"map.*", "a map", KIT_READ, .read = take},
    {"types.number", "of a type", KIT_NUMBER, AT(number)},
    {0}};

static int given(struct thing *t, struct kit_keep *k, struct davit_error *e,
                 const char *key, const char *value)
{
    const struct davit_kv kv[] = {{"name", "abc"}, {key, value}};

    *t = (struct thing){.number = 77};
    *e = (struct davit_error){.size = sizeof *e};
    return kit_options_read(table, kv, key ? 2 : 1, NULL, t, k, e);
}

static void defaults_are_taken(void **state)
{
    struct kit_keep k = {0};
    struct davit_error e;
    struct thing t;

    (void)state;
    unsetenv("KIT_TEST_FILE");
    assert_int_equal(given(&t, &k, &e, NULL, NULL), DAVIT_OK);
    assert_string_equal(t.name, "abc");
    assert_string_equal(t.file, "abc"); /* the setting instead of it */
    assert_string_equal(t.url, "https://a.example");
    assert_true(t.flag);
    assert_int_equal(t.number, 3);
    assert_int_equal(t.pause_ms, 2000);
    assert_int_equal(t.how, 1);
    assert_string_equal(t.seen, "");
    const struct davit_kv own[] = {
        {"name", "x"},   {"file", ""},   {"how", "NEVER"}, {"some.0", "a"},
        {"some.1", "b"}, {"map.k", "v"}, {"some", "c"}};
    t = (struct thing){0};
    assert_int_equal(kit_options_read(table, own, 7, NULL, &t, &k, &e),
                     DAVIT_OK);
    assert_string_equal(t.file, "x"); /* empty is not given */
    assert_int_equal(t.how, 2);
    assert_string_equal(t.seen, "0=a 1=b =c k=v");
    setenv("KIT_TEST_FILE", "from-env", 1);
    const struct kit_option one[] = {{"file", "", KIT_TEXT, AT(file),
                                      .env = "KIT_TEST_FILE", .fallback = "f"},
                                     {0}};
    assert_int_equal(kit_options_read(one, NULL, 0, NULL, &t, &k, &e),
                     DAVIT_OK);
    assert_string_equal(t.file, "from-env");
    const struct kit_option may[] = {{"file", "\"\": none", KIT_TEXT, AT(file),
                                      .fallback = "f", .none = true},
                                     {0}};
    assert_int_equal(kit_options_read(may, NULL, 0, NULL, &t, &k, &e),
                     DAVIT_OK);
    assert_string_equal(t.file, "f");
    assert_int_equal(kit_options_read(may, &own[1], 1, NULL, &t, &k, &e),
                     DAVIT_OK);
    assert_string_equal(t.file, "");
    kit_keep_done(&k);
}

static void mistakes_name_their_setting(void **state)
{
    static const struct {
        const char *key, *value, *says;
    } bad[] = {{"url", "http://a.example", "url must be a URL: https://HOST"},
               {"flag", "maybe", "flag must be true or false, got \"maybe\""},
               {"number", "0", "number must be a whole number from 1 to 10"},
               {"number", "11", "number must be a whole number from 1 to 10"},
               {"number", "1x", "number must be a whole number from 1 to 10"},
               {"pause", "soon", "pause must be a duration such as"},
               {"pause", "2m", "pause must be between 0 and 1m"},
               {"how", "slowly", "how must be one of slow, fast, never"},
               {"some.2", "bad", "no bad ones"},
               {"map.x", "bad", "no bad ones"}};
    struct kit_keep k = {0};
    struct davit_error e;
    struct thing t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(given(&t, &k, &e, bad[i].key, bad[i].value),
                         DAVIT_INVALID);
        assert_string_equal(e.code, bad[i].key);
        if (!strstr(e.text, bad[i].says))
            fail_msg("%s: %s", bad[i].key, e.text);
    }
    const struct davit_kv names[] = {
        {"name", "Abc"}, {"name", "123456789"}, {"name", ""}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            kit_options_read(table, &names[i], 1, NULL, &t, &k, &e),
            DAVIT_INVALID);
        assert_string_equal(e.code, "name");
        assert_non_null(strstr(e.text, i < 2 ? "name must be 1 to 8 of a-z, "
                                               "0-9, -, got"
                                             : "name is needed: who"));
    }
    const struct kit_option two[] = {
        {"name", "who", KIT_TEXT, AT(name), .needed = true},
        {"file", "where", KIT_TEXT, AT(file), .needed = true},
        {0}};
    assert_int_equal(kit_options_read(two, NULL, 0, NULL, &t, &k, &e),
                     DAVIT_INVALID);
    assert_string_equal(e.code, "name");
    assert_string_equal(e.text, "name, file are needed");
    /* What is told may be the text that was there. */
    kit_error(&e, DAVIT_RETRY, "x", "no token (%s)", "the server is silent");
    kit_error(&e, DAVIT_RETRY, e.code, "%s: %s", "no credentials", e.text);
    assert_string_equal(e.code, "x");
    assert_string_equal(e.text,
                        "no credentials: no token (the server is silent)");
    const struct davit_node_type type = {.size = sizeof type, .name = "t4"};
    const struct davit_kv of_type = {"number", "x"};
    assert_int_equal(kit_options_read(table, &of_type, 1, &type, &t, &k, &e),
                     DAVIT_INVALID);
    assert_string_equal(e.code, "t4.number");
    assert_non_null(strstr(e.text, "node type t4: number must be"));
    kit_keep_done(&k);
}

static void the_help_is_made_of_the_table(void **state)
{
    const struct davit_kv *kv = kit_options_help(table);

    (void)state;
    assert_string_equal(kv[0].value, "who (needed)");
    assert_string_equal(kv[1].value,
                        "where (default: name:, else $KIT_TEST_FILE, else f)");
    assert_string_equal(kv[7].value, "a list");
    assert_string_equal(kv[9].key, "types.number");
    assert_null(kv[10].key);
}

static void secrets_stay_here_or_are_hidden(void **state)
{
    static const char *const good[] = {"https://a.example",
                                       "https://a.example:8443/x",
                                       "http://127.0.0.1:80",
                                       "http://127.1.2.3/",
                                       "http://localhost:8080/x",
                                       "http://[::1]:99",
                                       "http://169.254.169.254/latest",
                                       "http://[fd00:ec2::23]/v1"};
    static const char *const bad[] = {"http://a.example",
                                      "http://127.0.0.1.evil.example/",
                                      "http://localhost.evil.example",
                                      "http://127.evil.example",
                                      "https://",
                                      "https:///x",
                                      "ftp://127.0.0.1",
                                      "127.0.0.1",
                                      "",
                                      "http://127.0.0.1@evil.example/",
                                      "https://a@b.example",
                                      "http://10.0.0.1",
                                      "http://[::2]",
                                      "http://169.255.0.1",
                                      "http://169.254.1.1/",
                                      "http://127.0.0.1\\@evil.example/",
                                      "http://127.0.0.1:80@evil.example/",
                                      "http://[::1]evil.example/",
                                      "http://[::ffff:10.0.0.1]/"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!kit_url_safe(good[i]))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kit_url_safe(bad[i]))
            fail_msg("taken: %s", bad[i]);
}

static void links_are_followed_home_only(void **state)
{
    static const char *const good[] = {
        "https://arm.example/x?y", "https://ARM.example",
        "https://arm.example#x", "https://eu.arm.example/x"};
    static const char *const bad[] = {"http://arm.example/x",
                                      "https://evilarm.example/",
                                      "https://arm.example.evil/",
                                      "https://arm.example:444/",
                                      "https://arm.example@evil.example/",
                                      "https://evil.example/arm.example",
                                      "https://evil.example\\.arm.example/",
                                      "https://x@arm.example/",
                                      "https://evil.example?.arm.example",
                                      "//arm.example",
                                      ""};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!kit_url_below("https://arm.example", good[i]))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kit_url_below("https://arm.example", bad[i]))
            fail_msg("taken: %s", bad[i]);
    assert_true(kit_url_below("http://127.0.0.1:80/v1", "http://127.0.0.1:80"));
    assert_false(kit_url_below("nothing", "nothing"));
}

static void texts_and_times(void **state)
{
    char url[12] = "x?", text[] = "a%20b%zz%4", when[KIT_TIME_SIZE];
    const struct davit_kv kv[] = {{"a", "1 2"}, {"b&", "="}};
    char *form = kit_form(kv, 2);

    (void)state;
    assert_string_equal(form, "a=1%202&b%26=%3D");
    kit_wipe(form);
    assert_true(kit_url_append(url, sizeof url, "a/b"));
    assert_false(kit_url_append(url, sizeof url, "////"));
    assert_string_equal(url, "x?a%2Fb");
    kit_decode(text);
    assert_string_equal(text, "a b%zz%4");
    kit_time_text(1893456000999, when);
    assert_string_equal(when, "2030-01-01T00:00:00Z");
    assert_int_equal(kit_time_ms("2030-01-01T02:00:00.25+02:00"),
                     1893456000250);
    assert_int_equal(kit_date_ms("Tue, 01 Jan 2030 00:00:00 GMT"),
                     1893456000000);
    assert_int_equal(kit_date_ms("Tue, 01 Jan 2030"), -1);
}

static void what_is_kept_grows_and_goes_at_once(void **state)
{
    struct kit_keep k = {0};
    struct kit_list l = {0};
    int *v = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        v = kit_keep_more(&k, v, (size_t)i, sizeof *v);
        v[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v[i], i);
    for (int i = 0; i < 50; i++) {
        kit_list_add(&k, &l, kit_keep_print(&k, "n%d", i));
        assert_null(l.v[l.n]);
    }
    assert_string_equal(l.v[49], "n49");
    kit_keep_done(&k); /* the sanitizer finds what is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_taken),
        cmocka_unit_test(mistakes_name_their_setting),
        cmocka_unit_test(the_help_is_made_of_the_table),
        cmocka_unit_test(secrets_stay_here_or_are_hidden),
        cmocka_unit_test(links_are_followed_home_only),
        cmocka_unit_test(texts_and_times),
        cmocka_unit_test(what_is_kept_grows_and_goes_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
