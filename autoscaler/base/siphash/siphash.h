/* What siphash.c shows; whose it is, and the licence: there, and LICENSE_CC0. */

#include <inttypes.h>
#include <string.h>

int siphash(const void *in, const size_t inlen, const void *k, uint8_t *out,
            const size_t outlen);
