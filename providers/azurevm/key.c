/*
 * key.c - the SSH key that Azure wants of every Linux machine without a
 * password.  Davit needs none: without one in the configuration it makes a pair
 * and forgets the private half, so that nobody can log in
 * (RFC 8709: the form of an Ed25519 key).
 */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "azurevm.h"

#define ALGORITHM "ssh-ed25519"
#define RAW_SIZE 32

static int make(char **ret, struct davit_error *e)
{
    unsigned char raw[RAW_SIZE], blob[4 + sizeof ALGORITHM - 1 + 4 + RAW_SIZE];
    char text[4 * ((sizeof blob + 2) / 3) + 1];
    size_t n = sizeof raw, at = 4;
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    bool good = key && EVP_PKEY_get_raw_public_key(key, raw, &n) == 1 &&
                n == sizeof raw;
    EVP_PKEY_free(key);
    if (!good)
        return kit_error(e, DAVIT_BROKEN, "NoKey", "no SSH key could be made");
    memset(blob, 0, sizeof blob);
    blob[3] = sizeof ALGORITHM - 1;
    memcpy(blob + at, ALGORITHM, sizeof ALGORITHM - 1);
    at += sizeof ALGORITHM - 1;
    blob[at + 3] = RAW_SIZE;
    memcpy(blob + at + 4, raw, RAW_SIZE);
    EVP_EncodeBlock((unsigned char *)text, blob, sizeof blob);
    *ret = kit_print("%s %s davit: nobody has its private half", ALGORITHM,
                     text);
    return DAVIT_OK;
}

int key_text(const struct vm_type *t, char **ret, struct davit_error *e)
{
    if (!t->key)
        return make(ret, e);
    if (t->key[0] != '/' && t->key[0] != '~') {
        *ret = kit_copy(t->key);
        return DAVIT_OK;
    }
    const char *home = getenv("HOME");
    char *path = t->key[0] == '~'
                     ? kit_print("%s%s", home ? home : "", t->key + 1)
                     : kit_copy(t->key);
    int st = kit_file_read(path, "ssh_public_key", ret, e);
    free(path);
    return st == DAVIT_OK ? st : DAVIT_INVALID;
}
