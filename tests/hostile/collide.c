/* collide.c N [labels] - N texts that have one hash in Davit's tables up to commit
 * f3a6bcfb: FNV-like words of 8 bytes, without a key.  One a line.
 * Each is of 16 printable bytes; with "labels" of 48, which Kubernetes takes as the
 * value of a label, too: three parts, and any of each part's will do. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const char *letters = LABEL "-_.:;,+*/=()[]{}<>|~^!?#$%&@ '`";
static const uint64_t target = UINT64_C(0x4142434445464748);
enum { PART = 16, PARTS = 3 };

static uint64_t mixed(uint64_t h, uint64_t w)
{
    h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

/* Another part that leads from this state to mixed(target, 0). */
static void part_find(uint64_t state, char text[PART])
{
    static uint64_t x = UINT64_C(0x9e3779b97f4a7c15);
    const size_t n = strlen(letters);
    int good;

    do {
        uint64_t w;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        for (int i = 0; i < 8; i++)
            text[i] = letters[(x >> 8 * i & 255) % n];
        memcpy(&w, text, 8);
        w = mixed(state, w) ^ target; /* what comes out of it is the same */
        memcpy(text + 8, &w, 8);
        good = 1;
        for (int i = 8; i < PART && good; i++)
            good = text[i] && strchr(letters, text[i]);
    } while (!good);
}

static void labels_print(long left)
{
    static char parts[PARTS][64][PART];
    uint64_t state = UINT64_C(0xcbf29ce484222325) ^ (PARTS * PART + 1);
    int k = 1;

    while ((long)k * k * k < left)
        k++;
    for (int p = 0; p < PARTS; p++, state = mixed(target, 0))
        for (int i = 0; i < k; i++)
            part_find(state, parts[p][i]);
    for (int i = 0; i < k * k * k && left > 0; i++, left--)
        printf("%.16s%.16s%.16s\n", parts[0][i / k / k], parts[1][i / k % k],
               parts[2][i % k]);
}

int main(int argc, char **argv)
{
    long left = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    char text[PART];

    if (argc > 2) {
        letters = LABEL;
        labels_print(left < 262144 ? left : 262144);
        return 0;
    }
    for (; left > 0; left--) {
        part_find(UINT64_C(0xcbf29ce484222325) ^ (PART + 1), text);
        printf("%.16s\n", text);
    }
    return 0;
}
