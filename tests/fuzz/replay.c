/*
 * replay.c - a fuzz target without libFuzzer: runs each file once, then
 * mutations of them by a printed seed.
 *
 *   SEED=n FUZZ_ROUNDS=n fuzz_x FILE...
 *
 * Mutations: a byte changed, a piece cut out, doubled, or put in from another
 * file, so that words of the language meet where nobody put them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FILES_MAX = 512, SIZE_MAX_ = 1 << 20, PIECE_MAX = 64 };

static struct {
    uint8_t *data;
    size_t n;
} files[FILES_MAX];
static size_t n_files;
static uint64_t state;

static size_t below(size_t n)
{
    state = state * UINT64_C(6364136223846793005) +
            UINT64_C(1442695040888963407);
    return n ? (size_t)(state >> 33) % n : 0;
}

static void run(const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1); /* exact: reading past it is seen */

    if (!copy)
        abort();
    memcpy(copy, data, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static size_t splice(uint8_t *to, size_t n, size_t at, const uint8_t *piece,
                     size_t len)
{
    if (n + len > SIZE_MAX_)
        return n;
    memmove(to + at + len, to + at, n - at);
    memcpy(to + at, piece, len);
    return n + len;
}

static size_t mutate(uint8_t *to, size_t n)
{
    uint8_t piece[PIECE_MAX];
    size_t at = below(n + 1), len = below(PIECE_MAX), other, from;

    switch (below(4)) {
    case 0:
        if (at < n)
            to[at] = (uint8_t)below(256);
        return n;
    case 1:
        len = len < n - at ? len : n - at;
        memmove(to + at, to + at + len, n - at - len);
        return n - len;
    case 2:
        len = len < n - at ? len : n - at;
        memcpy(piece, to + at, len);
        return splice(to, n, at, piece, len);
    default:
        other = below(n_files);
        from = below(files[other].n);
        len = len < files[other].n - from ? len : files[other].n - from;
        memcpy(piece, files[other].data + from, len);
        return splice(to, n, at, piece, len);
    }
}

static void load(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(SIZE_MAX_);

    if (!f || !data || n_files == FILES_MAX) {
        perror(path);
        exit(2);
    }
    files[n_files].n = fread(data, 1, SIZE_MAX_, f);
    files[n_files++].data = data;
    fclose(f);
}

int main(int argc, char **argv)
{
    const char *rounds = getenv("FUZZ_ROUNDS");
    long n_rounds = rounds ? strtol(rounds, NULL, 10) : 5000;
    uint8_t *work = malloc(SIZE_MAX_);

    if (!work || argc < 2) {
        fprintf(stderr, "usage: %s FILE...\n", argv[0]);
        return 2;
    }
    state = seed_of(0);
    for (int i = 1; i < argc; i++) {
        load(argv[i]);
        run(files[n_files - 1].data, files[n_files - 1].n);
    }
    for (long r = 0; r < n_rounds; r++) {
        size_t k = below(n_files), n = files[k].n;
        memcpy(work, files[k].data, n);
        for (size_t m = 1 + below(4); m > 0; m--)
            n = mutate(work, n);
        run(work, n);
    }
    for (size_t i = 0; i < n_files; i++)
        free(files[i].data);
    free(work);
    printf("%zu files and %ld mutations: 1 passed, 0 failed\n", n_files,
           n_rounds);
    return 0;
}
