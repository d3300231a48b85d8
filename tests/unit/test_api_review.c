/*
 * test_api_review.c - what counts as a yes of the API server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <cmocka.h>

#include "../../autoscaler/api/door/jwks.h"
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

/* ---- the API server's keys */

static void base64url(const unsigned char *b, size_t n, char *to)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789-_";

    for (size_t i = 0; i < n * 8; i += 6) {
        unsigned two = (unsigned)b[i / 8] << 8 |
                       (i / 8 + 1 < n ? b[i / 8 + 1] : 0u);

        *to++ = set[two >> (10 - i % 8) & 63];
    }
    *to = '\0';
}

static void number_of(EVP_PKEY *key, const char *what, size_t n, json_t *o,
                      const char *name)
{
    unsigned char b[1024];
    BIGNUM *v = NULL;
    char text[2048];

    assert_int_equal(EVP_PKEY_get_bn_param(key, what, &v), 1);
    n = n ? n : (size_t)BN_num_bytes(v);
    assert_int_equal(BN_bn2binpad(v, b, (int)n), (int)n);
    base64url(b, n, text);
    json_object_set_new(o, name, json_string(text));
    BN_free(v);
}

static json_t *shown(EVP_PKEY *key, const char *id)
{
    json_t *o = json_pack("{s:s,s:s}", "kid", id, "use", "sig");

    if (EVP_PKEY_is_a(key, "RSA")) {
        json_object_set_new(o, "kty", json_string("RSA"));
        number_of(key, OSSL_PKEY_PARAM_RSA_N, 0, o, "n");
        number_of(key, OSSL_PKEY_PARAM_RSA_E, 0, o, "e");
    } else {
        json_object_set_new(o, "kty", json_string("EC"));
        json_object_set_new(o, "crv", json_string("P-256"));
        number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, 32, o, "x");
        number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32, o, "y");
    }
    return o;
}

/* What ECDSA signs is DER; a token has r and s beside each other. */
static size_t flat(unsigned char *sig, size_t n)
{
    const unsigned char *p = sig;
    ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &p, (long)n);

    assert_non_null(s);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(s), sig, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(s), sig + 32, 32), 32);
    ECDSA_SIG_free(s);
    return 64;
}

static const char *signed_with(EVP_PKEY *key, const char *head,
                               const char *claims)
{
    static char text[4096];
    unsigned char sig[512];
    size_t n = sizeof sig;
    EVP_MD_CTX *c = EVP_MD_CTX_new();

    base64url((const unsigned char *)head, strlen(head), text);
    strcat(text, ".");
    base64url((const unsigned char *)claims, strlen(claims),
              text + strlen(text));
    assert_int_equal(
        EVP_DigestSignInit_ex(c, NULL, "SHA256", NULL, NULL, key, NULL), 1);
    assert_int_equal(
        EVP_DigestSign(c, sig, &n, (const unsigned char *)text, strlen(text)),
        1);
    EVP_MD_CTX_free(c);
    if (EVP_PKEY_is_a(key, "EC"))
        n = flat(sig, n);
    strcat(text, ".");
    base64url(sig, n, text + strlen(text));
    return text;
}

#define HEAD(alg, kid) "{\"alg\":\"" alg "\",\"kid\":\"" kid "\"}"
#define CLAIMS(sub, exp) "{\"sub\":\"" sub "\",\"exp\":" exp "}"
#define CI "system:serviceaccount:team-a:ci"

static void says(struct jwks *k, const char *token, enum jwks_says expect)
{
    char name[384] = "";

    assert_true(review_takes(token));
    assert_int_equal(jwks_vouches(k, token, 1000000, name, sizeof name),
                     expect);
    assert_string_equal(name, expect == JWKS_YES ? CI : "");
}

static void test_keys(void **state)
{
    EVP_PKEY *rsa = EVP_RSA_gen(2048), *other = EVP_RSA_gen(2048);
    EVP_PKEY *ec = EVP_EC_gen("P-256");
    struct jwks *k = jwks_new();
    json_t *set = json_pack("{s:[o,o,{s:s,s:s},n,{}]}", "keys", shown(rsa, "r"),
                            shown(ec, "e"), "kty", "OKP", "kid", "o");
    char token[4096];
    struct err err;

    (void)state;
    assert_true(jwks_due(k) && !jwks_due(k)); /* at the start, once */
    says(k, signed_with(rsa, HEAD("RS256", "r"), CLAIMS(CI, "1001")),
         JWKS_NO_SUCH_KEY);
    assert_int_equal(jwks_take(k, set, &err), ST_OK);
    assert_int_equal(jwks_take(k, NULL, &err), ST_INVALID);
    says(k, signed_with(rsa, HEAD("RS256", "r"), CLAIMS(CI, "1001")), JWKS_YES);
    says(k, signed_with(ec, HEAD("ES256", "e"), CLAIMS(CI, "1001")), JWKS_YES);
    /* by another key, with another's name, by another rule, too late */
    says(k, signed_with(other, HEAD("RS256", "r"), CLAIMS(CI, "1001")),
         JWKS_NO);
    says(k, signed_with(rsa, HEAD("RS256", "e"), CLAIMS(CI, "1001")), JWKS_NO);
    says(k, signed_with(ec, HEAD("RS256", "r"), CLAIMS(CI, "1001")), JWKS_NO);
    says(k, signed_with(rsa, HEAD("HS256", "r"), CLAIMS(CI, "1001")), JWKS_NO);
    says(k, signed_with(rsa, HEAD("none", "r"), CLAIMS(CI, "1001")), JWKS_NO);
    says(k, signed_with(rsa, HEAD("RS256", "r"), CLAIMS(CI, "1000")), JWKS_NO);
    says(k, signed_with(rsa, HEAD("RS256", "r"), CLAIMS("jane", "1001")),
         JWKS_NO);
    says(k, signed_with(rsa, HEAD("RS256", "x"), CLAIMS(CI, "1001")),
         JWKS_NO_SUCH_KEY);
    says(k, "eyJh.eyJz-_.c2ln", JWKS_NO);
    snprintf(token, sizeof token, "%s",
             signed_with(rsa, HEAD("RS256", "r"), CLAIMS(CI, "1001")));
    for (size_t i = strcspn(token, "."), n = strlen(token); i < n; i += 7) {
        char was = token[i];

        token[i] = was == '.' ? '.' : was == 'A' ? 'Q' : 'A';
        if (token[i] != was)
            says(k, token, JWKS_NO);
        token[i] = was;
    }
    says(k, token, JWKS_YES);
    json_decref(set);
    jwks_free(k);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(other);
    EVP_PKEY_free(ec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests_name("api_review", tests, NULL, NULL);
}
