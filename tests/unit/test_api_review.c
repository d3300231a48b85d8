/*
 * test_api_review.c - what counts as a yes of the API server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../autoscaler/api/door/review.h"

#define USER(more) \
    "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true," more "}}"
#define NAMED(name) \
    "\"user\":{\"username\":\"" name "\"},\"audiences\":[\"davit\"]"

static void who_is(const char *text, const char *audience, enum status expect,
                   const char *name, const char *space)
{
    json_t *reply = json_loads(text, 0, NULL);
    struct reviewed who;
    struct arena a = {0};
    struct err err;

    assert_int_equal(review_user(reply, audience, &a, &who, &err), expect);
    if (name)
        assert_string_equal(who.user, name);
    else
        assert_null(who.user);
    assert_string_equal(who.space, space);
    assert_true(!who.spec == !name);
    json_decref(who.spec);
    json_decref(reply);
    arena_done(&a);
}

static void test_users(void **state)
{
    (void)state;
    who_is(USER(NAMED("system:serviceaccount:team-a:ci")), "davit", ST_OK,
           "system:serviceaccount:team-a:ci", "team-a");
    who_is(USER(NAMED("jane")), "davit", ST_OK, "jane", "");
    /* names that only look like a ServiceAccount's have no namespace */
    who_is(USER(NAMED("system:serviceaccount::ci")), "davit", ST_OK,
           "system:serviceaccount::ci", "");
    who_is(USER(NAMED("system:serviceaccount:a")), "davit", ST_OK,
           "system:serviceaccount:a", "");
    who_is(USER(NAMED("system:serviceaccount:a:b:c")), "davit", ST_OK,
           "system:serviceaccount:a:b:c", "");
    who_is(USER(NAMED("system:serviceaccount:*:b")), "davit", ST_OK,
           "system:serviceaccount:*:b", "");
    who_is(USER(NAMED("x:system:serviceaccount:a:b")), "davit", ST_OK,
           "x:system:serviceaccount:a:b", "");
    /* another audience, and a server that knows of none */
    who_is(USER(NAMED("jane")), "other", ST_OK, NULL, "");
    who_is(USER("\"user\":{\"username\":\"jane\"}"), "davit", ST_OK, NULL, "");
    who_is(USER("\"user\":{\"username\":\"jane\"}"), "", ST_OK, "jane", "");
    /* not exactly a yes */
    who_is("{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":\"true\","
           "\"user\":{\"username\":\"jane\"},\"audiences\":[\"davit\"]}}",
           "davit", ST_OK, NULL, "");
    who_is("{\"kind\":\"TokenReview\",\"status\":{\"user\":{\"username\":"
           "\"jane\"},\"audiences\":[\"davit\"]}}",
           "davit", ST_OK, NULL, "");
    who_is("{\"kind\":\"Status\",\"status\":\"Success\"}", "davit", ST_RETRY,
           NULL, "");
    who_is("{\"kind\":\"SubjectAccessReview\",\"status\":{\"authenticated\":"
           "true,\"user\":{\"username\":\"jane\"},\"audiences\":[\"davit\"]}}",
           "davit", ST_RETRY, NULL, "");
    who_is(USER("\"user\":{},\"audiences\":[\"davit\"]"), "davit", ST_RETRY,
           NULL, "");
    who_is(USER("\"user\":{\"username\":\"j\",\"groups\":[1]},\"audiences\":["
                "\"davit\"]"),
           "davit", ST_RETRY, NULL, "");
    /* would be told to a terminal */
    who_is(USER(NAMED("j\\u001bane")), "davit", ST_OK, NULL, "");
    who_is(USER(NAMED("j\\u202eane")), "davit", ST_OK, NULL, "");
}

static void allowed_is(const char *text, enum status expect, bool yes)
{
    json_t *reply = json_loads(text, 0, NULL);
    struct err err;
    bool got = !yes;

    assert_int_equal(review_allowed(reply, &got, &err), expect);
    assert_int_equal(got, yes);
    json_decref(reply);
}

static void test_rights(void **state)
{
#define RIGHT(s) "{\"kind\":\"SubjectAccessReview\",\"status\":{" s "}}"
    (void)state;
    allowed_is(RIGHT("\"allowed\":true"), ST_OK, true);
    allowed_is(RIGHT("\"allowed\":false"), ST_OK, false);
    allowed_is(RIGHT("\"allowed\":1"), ST_OK, false);
    allowed_is(RIGHT(""), ST_OK, false);
    allowed_is(RIGHT("\"allowed\":true,\"denied\":true"), ST_OK, false);
    /* it could not tell: neither a yes, nor a no to remember */
    allowed_is(RIGHT("\"allowed\":false,\"evaluationError\":\"webhook\""),
               ST_RETRY, false);
    allowed_is("{\"kind\":\"Status\"}", ST_RETRY, false);
    allowed_is("[]", ST_RETRY, false);
}

static void test_tokens(void **state)
{
    static const char *const no[] = {"",       "a",      "a.b",     ".b.c",
                                     "a..c",   "a.b.",   "a.b.c.d", "a b.c.d",
                                     "a.b.c=", "a.b\n.c"};
    char text[9000];

    (void)state;
    assert_true(review_takes("eyJh.eyJz-_.c2ln"));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(review_takes(no[i]));
    memset(text, 'a', sizeof text);
    text[1] = text[3] = '.';
    text[8192] = '\0';
    assert_true(review_takes(text));
    text[8192] = 'a';
    text[8193] = '\0';
    assert_false(review_takes(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests_name("api_review", tests, NULL, NULL);
}
