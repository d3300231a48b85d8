/*
 * jwks.c - see jwks.h.
 */
#include "jwks.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/log.h"
#include "../../base/text.h"

enum { KEYS_MAX = 32, PART_MAX = 6144 /* of a token of 8 KiB */ };

struct key {
    char *id;
    EVP_PKEY *key; /* RSA, or EC */
};

struct jwks {
    pthread_mutex_t lock; /* of all below */
    struct key v[KEYS_MAX];
    uint32_t n;
    bool wanted;
    int64_t asked_ms; /* mono; 0: never */
    bool told;        /* that they cannot be read */
};

/* ---- base64url, without padding */

static int digit(char c)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *p = c ? strchr(set, c) : NULL;

    return p ? (int)(p - set) : -1;
}

/* n characters; how many bytes they are, or 0: none, or too many for to. */
static size_t decode(const char *text, size_t n, unsigned char *to, size_t max)
{
    uint32_t bits = 0, have = 0;
    size_t ret = 0;

    if (n % 4 == 1)
        return 0;
    for (size_t i = 0; i < n; i++) {
        int d = digit(text[i]);

        if (d < 0)
            return 0;
        bits = (bits << 6 | (uint32_t)d) & 0xffffff;
        have += 6;
        if (have < 8)
            continue;
        if (ret == max)
            return 0;
        have -= 8;
        to[ret++] = (unsigned char)(bits >> have);
    }
    /* one text alone for the same bytes */
    return bits & ((1u << have) - 1) ? 0 : ret;
}

/* ---- keys */

static BIGNUM *number(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    unsigned char b[2048];
    size_t n = text ? decode(text, strlen(text), b, sizeof b) : 0;

    return n ? BN_bin2bn(b, (int)n, NULL) : NULL;
}

static EVP_PKEY *key_of(const char *kind, OSSL_PARAM_BLD *b)
{
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    OSSL_PARAM *p = OSSL_PARAM_BLD_to_param(b);
    EVP_PKEY *key = NULL;

    if (!c || !p || EVP_PKEY_fromdata_init(c) != 1 ||
        EVP_PKEY_fromdata(c, &key, EVP_PKEY_PUBLIC_KEY, p) != 1)
        key = NULL;
    OSSL_PARAM_free(p);
    EVP_PKEY_CTX_free(c);
    return key;
}

static EVP_PKEY *rsa_of(const json_t *o)
{
    BIGNUM *n = number(o, "n"), *e = number(o, "e");
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;

    /* what checks in microseconds */
    if (n && e && BN_num_bits(n) >= 2048 && BN_num_bits(n) <= 8192 &&
        BN_num_bits(e) <= 32 &&
        OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, e))
        key = key_of("RSA", b);
    OSSL_PARAM_BLD_free(b);
    BN_free(n);
    BN_free(e);
    return key;
}

/* RFC 7518, 6.2.1: the curve, and the bytes of a coordinate */
static const struct curve {
    const char *name, *ours, *alg, *digest;
    size_t n;
} curves[] = {{"P-256", "prime256v1", "ES256", "SHA256", 32},
              {"P-384", "secp384r1", "ES384", "SHA384", 48},
              {"P-521", "secp521r1", "ES512", "SHA512", 66}};
enum { CURVES = sizeof curves / sizeof *curves };

static EVP_PKEY *ec_of(const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "crv"));
    const char *x = json_string_value(json_object_get(o, "x"));
    const char *y = json_string_value(json_object_get(o, "y"));
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    unsigned char point[1 + 2 * 66] = {4};
    EVP_PKEY *key = NULL;

    for (int i = 0; i < CURVES && name && x && y; i++) {
        const struct curve *c = &curves[i];

        if (strcmp(c->name, name) != 0 ||
            decode(x, strlen(x), point + 1, c->n) != c->n ||
            decode(y, strlen(y), point + 1 + c->n, c->n) != c->n)
            continue;
        if (OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME,
                                            c->ours, 0) &&
            OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point,
                                             1 + 2 * c->n))
            key = key_of("EC", b);
    }
    OSSL_PARAM_BLD_free(b);
    return key;
}

static void keys_clear(struct key *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        free(v[i].id);
        EVP_PKEY_free(v[i].key);
    }
}

struct jwks *jwks_new(void)
{
    struct jwks *k = MEM_NEW(struct jwks);

    pthread_mutex_init(&k->lock, NULL);
    k->wanted = true;
    return k;
}

void jwks_free(struct jwks *k)
{
    if (!k)
        return;
    keys_clear(k->v, k->n);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

static EVP_PKEY *read_key(const json_t *o)
{
    const char *kind = json_string_value(json_object_get(o, "kty"));

    return !kind                      ? NULL
           : strcmp(kind, "RSA") == 0 ? rsa_of(o)
           : strcmp(kind, "EC") == 0  ? ec_of(o)
                                      : NULL;
}

enum status jwks_take(struct jwks *k, const json_t *reply, struct err *err)
{
    const json_t *keys = json_object_get(reply, "keys"), *o;
    struct key v[KEYS_MAX];
    uint32_t n = 0;
    size_t i;

    if (!json_is_array(keys))
        return err_set(err, ST_INVALID, "/openid/v1/jwks: has no keys");
    json_array_foreach(keys, i, o) {
        const char *id = json_string_value(json_object_get(o, "kid"));
        EVP_PKEY *key = id && n < KEYS_MAX ? read_key(o) : NULL;

        if (key)
            v[n++] = (struct key){mem_strdup(id), key};
    }
    pthread_mutex_lock(&k->lock);
    keys_clear(k->v, k->n);
    memcpy(k->v, v, n * sizeof *v);
    k->n = n;
    pthread_mutex_unlock(&k->lock);
    return ST_OK;
}

bool jwks_due(struct jwks *k)
{
    int64_t now = clock_mono_ms();
    bool due;

    pthread_mutex_lock(&k->lock);
    due = k->wanted && (!k->asked_ms || now - k->asked_ms >= JWKS_MS);
    if (due) {
        k->wanted = false;
        k->asked_ms = now;
    }
    pthread_mutex_unlock(&k->lock);
    return due;
}

void jwks_problem(struct jwks *k, const char *problem)
{
    bool told;

    pthread_mutex_lock(&k->lock);
    told = k->told;
    k->told = problem;
    pthread_mutex_unlock(&k->lock);
    if (problem && !told)
        log_warn(
            "api.kubernetes: the keys of the API server cannot be read, so "
            "ServiceAccounts that were never seen share what their "
            "address may ask: %s",
            problem);
}

/* A reference, or NULL: they are to be read again. */
static EVP_PKEY *find(struct jwks *k, const char *id)
{
    EVP_PKEY *key = NULL;

    pthread_mutex_lock(&k->lock);
    for (uint32_t i = 0; i < k->n && !key; i++)
        if (strcmp(k->v[i].id, id) == 0)
            key = k->v[i].key;
    if (key)
        EVP_PKEY_up_ref(key);
    k->wanted = k->wanted || !key;
    pthread_mutex_unlock(&k->lock);
    return key;
}

/* ---- tokens */

/* r and s beside each other, as RFC 7518 (3.4) writes them, as DER; NULL: no. */
static unsigned char *der_of(const unsigned char *sig, size_t n, int *ret_n)
{
    ECDSA_SIG *s = ECDSA_SIG_new();
    BIGNUM *a = BN_bin2bn(sig, (int)(n / 2), NULL);
    BIGNUM *b = BN_bin2bn(sig + n / 2, (int)(n / 2), NULL);
    unsigned char *der = NULL;

    if (!s || !a || !b || ECDSA_SIG_set0(s, a, b) != 1) {
        BN_free(a);
        BN_free(b);
        ECDSA_SIG_free(s);
        return NULL;
    }
    *ret_n = i2d_ECDSA_SIG(s, &der);
    ECDSA_SIG_free(s);
    return *ret_n > 0 ? der : NULL;
}

static bool check(EVP_PKEY *key, const char *digest, const unsigned char *sig,
                  size_t sig_n, const char *text, size_t n)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    bool good =
        c &&
        EVP_DigestVerifyInit_ex(c, NULL, digest, NULL, NULL, key, NULL) == 1 &&
        EVP_DigestVerify(c, sig, sig_n, (const unsigned char *)text, n) == 1;

    EVP_MD_CTX_free(c);
    return good;
}

static bool signed_by(EVP_PKEY *key, const char *alg, const unsigned char *sig,
                      size_t sig_n, const char *text, size_t n)
{
    static const char *const rsa[][2] = {
        {"RS256", "SHA256"}, {"RS384", "SHA384"}, {"RS512", "SHA512"}};
    bool good = false;

    for (size_t i = 0; i < sizeof rsa / sizeof *rsa; i++)
        if (EVP_PKEY_is_a(key, "RSA") && strcmp(alg, rsa[i][0]) == 0)
            return check(key, rsa[i][1], sig, sig_n, text, n);
    for (int i = 0; i < CURVES; i++)
        if (EVP_PKEY_is_a(key, "EC") && strcmp(alg, curves[i].alg) == 0 &&
            sig_n == 2 * curves[i].n) {
            int der_n = 0;
            unsigned char *der = der_of(sig, sig_n, &der_n);

            good = der &&
                   check(key, curves[i].digest, der, (size_t)der_n, text, n);
            OPENSSL_free(der);
        }
    return good;
}

static json_t *part(const char *text, size_t n)
{
    unsigned char b[PART_MAX];
    size_t got = decode(text, n, b, sizeof b);

    return got ? json_loadb((const char *)b, got, JSON_REJECT_DUPLICATES, NULL)
               : NULL;
}

/* Of a ServiceAccount, in its time. */
static bool name_of(const json_t *claims, int64_t wall_ms, char *buf, size_t n)
{
    static const char account[] = "system:serviceaccount:";
    const char *sub = json_string_value(json_object_get(claims, "sub"));
    json_int_t until = json_integer_value(json_object_get(claims, "exp"));

    if (!sub || strncmp(sub, account, sizeof account - 1) != 0 ||
        strlen(sub) >= n || until <= wall_ms / 1000)
        return false;
    memcpy(buf, sub, strlen(sub) + 1);
    text_clean(buf, strlen(buf));
    return true;
}

enum jwks_says jwks_vouches(struct jwks *k, const char *token, int64_t wall_ms,
                            char *buf, size_t n)
{
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;
    json_t *head = second ? part(token, (size_t)(first - token)) : NULL;
    const char *alg = json_string_value(json_object_get(head, "alg"));
    const char *id = json_string_value(json_object_get(head, "kid"));
    EVP_PKEY *key = alg && id ? find(k, id) : NULL;
    enum jwks_says says = alg && id && !key ? JWKS_NO_SUCH_KEY : JWKS_NO;
    unsigned char sig[1024];
    size_t sig_n = key ? decode(second + 1, strlen(second + 1), sig, sizeof sig)
                       : 0;

    if (sig_n &&
        signed_by(key, alg, sig, sig_n, token, (size_t)(second - token))) {
        json_t *claims = part(first + 1, (size_t)(second - first - 1));

        if (name_of(claims, wall_ms, buf, n))
            says = JWKS_YES;
        json_decref(claims);
    }
    EVP_PKEY_free(key);
    json_decref(head);
    return says;
}
