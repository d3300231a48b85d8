/*
 * fuzz_review.c - what a Kubernetes API server answers about a token.  Held:
 * only an exact yes is one, and a name that is let in is plain text; no token is
 * signed by chance.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../autoscaler/api/door/jwks.h"
#include "../../autoscaler/api/door/review.h"
#include "../../autoscaler/base/text.h"

static void user(const json_t *reply, const char *audience)
{
    struct reviewed who;
    struct arena a = {0};
    struct err err;
    const json_t *status = json_object_get(reply, "status");
    enum status s = review_user(reply, audience, &a, &who, &err);

    assert(s == ST_OK || s == ST_RETRY);
    if (s == ST_OK && who.user) {
        assert(json_is_true(json_object_get(status, "authenticated")));
        assert(*who.user && json_is_object(who.spec));
        assert(!*audience ||
               json_array_size(json_object_get(status, "audiences")) > 0);
        for (size_t n = strlen(who.user), i = 0, k; i < n; i += k)
            assert((k = text_plain(who.user + i, n - i)) > 0);
        assert(!strchr(who.space, ':') && !strchr(who.space, '*'));
    } else {
        assert(!who.spec);
    }
    json_decref(who.spec);
    arena_done(&a);
}

static void keys(const json_t *reply, const char *token)
{
    static const char known[] =
        "{\"keys\":[{\"kty\":\"EC\",\"kid\":\"e\",\"crv\":\"P-256\",\"x\":"
        "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":"
        "\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}"; /* RFC 7515 */
    json_t *set = json_loads(known, 0, NULL);
    struct jwks *k = jwks_new();
    char name[64] = "";
    struct err err;
    enum status s = jwks_take(k, set, &err);

    assert(s == ST_OK);
    assert(jwks_vouches(k, token, 0, name, sizeof name) != JWKS_YES && !*name);
    s = jwks_take(k, reply, &err);
    assert(s == ST_OK || s == ST_INVALID);
    jwks_free(k);
    json_decref(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    json_t *reply = json_loadb((const char *)data, n, 0, NULL);
    char *token = malloc(n + 1);
    struct err err;
    bool yes;

    memcpy(token, data, n);
    token[n] = '\0';
    review_takes(token);
    keys(reply, token);
    user(reply, "davit");
    user(reply, "");
    if (review_allowed(reply, &yes, &err) != ST_OK)
        assert(!yes);
    if (yes)
        assert(json_is_true(
            json_object_get(json_object_get(reply, "status"), "allowed")));
    json_decref(reply);
    free(token);
    return 0;
}
