/*
 * digest.c - see digest.h.
 */
#include "digest.h"

#include <string.h>

uint64_t digest_text(uint64_t h, const char *s)
{
    do {
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    } while (*s++);
    return h;
}

uint64_t digest_number(uint64_t h, uint64_t x)
{
    h = ((h << 13 | h >> 51) ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

uint64_t digest_bytes(uint64_t h, const void *p, size_t n)
{
    const unsigned char *b = p;
    uint64_t w;

    h ^= n;
    for (; n >= 8; n -= 8, b += 8) {
        memcpy(&w, b, 8);
        h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    if (n > 0) {
        w = 0;
        memcpy(&w, b, n);
        h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
        h ^= h >> 29;
    }
    return h;
}
