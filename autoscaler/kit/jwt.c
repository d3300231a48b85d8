/*
 * jwt.c - see jwt.h.
 */
#include "jwt.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

/* Base64url without padding; the caller frees it. */
static char *kit_base64url(const void *data, size_t n)
{
    static const char set[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *d = data;
    char *out = kit_alloc(n / 3 * 4 + 5), *o = out;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = (uint32_t)d[i] << 16;
        v |= left > 1 ? (uint32_t)d[i + 1] << 8 : 0;
        v |= left > 2 ? (uint32_t)d[i + 2] : 0;
        *o++ = set[v >> 18];
        *o++ = set[v >> 12 & 63];
        if (left > 1)
            *o++ = set[v >> 6 & 63];
        if (left > 2)
            *o++ = set[v & 63];
    }
    *o = '\0';
    return out;
}

static char *part(const json_t *j)
{
    char *text = kit_must(json_dumps(j, JSON_COMPACT));
    char *b64 = kit_base64url(text, strlen(text));
    free(text);
    return b64;
}

/* Without this OpenSSL would ask a terminal for the passphrase. */
static int no_passphrase(char *buf, int size, int rw, void *arg)
{
    (void)buf, (void)size, (void)rw, (void)arg;
    return 0;
}

static int sign(const char *text, const char *pem, unsigned char **ret,
                size_t *ret_n, struct davit_error *e)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    int s = DAVIT_OK;
    *ret = NULL;
    if (!key || EVP_PKEY_base_id(key) != EVP_PKEY_RSA)
        s = kit_error(e, DAVIT_AUTH, "BadKey",
                      "private_key is not an RSA key in PEM without a "
                      "passphrase");
    else if (EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, key) != 1 ||
             EVP_DigestSign(md, NULL, ret_n, (const unsigned char *)text,
                            strlen(text)) != 1 ||
             EVP_DigestSign(md, *ret = kit_alloc(*ret_n), ret_n,
                            (const unsigned char *)text, strlen(text)) != 1)
        s = kit_error(e, DAVIT_AUTH, "BadKey",
                      "OpenSSL cannot sign with the private_key");
    ERR_clear_error();
    EVP_MD_CTX_free(md);
    EVP_PKEY_free(key);
    BIO_free(bio);
    return s;
}

int kit_jwt_rs256(const json_t *header, const json_t *claims, const char *pem,
                  char **ret, struct davit_error *e)
{
    char *h = part(header), *c = part(claims);
    char *text = kit_print("%s.%s", h, c);
    unsigned char *sig = NULL;
    size_t sig_n = 0;
    *ret = NULL;
    int s = sign(text, pem, &sig, &sig_n, e);
    if (s == DAVIT_OK) {
        char *b64 = kit_base64url(sig, sig_n);
        *ret = kit_print("%s.%s", text, b64);
        free(b64);
    }
    free(sig);
    free(text);
    free(h);
    free(c);
    return s;
}
