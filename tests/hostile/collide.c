/* collide.c N - N texts of 16 printable bytes that have one hash in Davit's tables up to
 * commit f3a6bcfb: FNV-like words of 8 bytes, without a key.  One a line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:;,+*/=()[]{}<>|~^!?#$%&@ '`";

int main(int argc, char **argv)
{
    const uint64_t seed = UINT64_C(0xcbf29ce484222325) ^ 17; /* with its NUL */
    uint64_t x = UINT64_C(0x9e3779b97f4a7c15),
             target = UINT64_C(0x4142434445464748);
    long left = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    char in[256] = {0}, text[17] = {0};

    for (const char *p = letters; *p; p++)
        in[(unsigned char)*p] = 1;
    while (left > 0) {
        uint64_t w, h;
        int good = 1;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        for (int i = 0; i < 8; i++)
            text[i] = letters[(x >> 8 * i & 255) % (sizeof letters - 1)];
        memcpy(&w, text, 8);
        h = (seed ^ w) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
        w = h ^
            target; /* so that what comes out of the second word is the same */
        memcpy(text + 8, &w, 8);
        for (int i = 8; i < 16 && good; i++)
            good = in[(unsigned char)text[i]];
        if (!good)
            continue;
        puts(text);
        left--;
    }
    return 0;
}
