/*
 * seed.h - the number that a random test draws from, for programs of C; those of
 * Python have tests/lib/seeds.py.
 */
#ifndef TEST_SEED_H
#define TEST_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* SEED of the environment, else the usual one; 0: another one in each run. */
static inline uint64_t seed_of(uint64_t usual)
{
    const char *given = getenv("SEED");
    uint64_t seed = given && *given ? strtoull(given, NULL, 0)
                    : usual         ? usual
                                    : (uint64_t)time(NULL);

    printf("SEED %llu\n", (unsigned long long)seed);
    fflush(stdout); /* a test may fork, or crash */
    return seed;
}

#endif
