/*
 * digest.h - numbers made of texts, the same on every machine and in every version.
 *
 * For what is stored, shown or sent, and for chance that a replay has to repeat.
 * Anybody can write texts that share one: never the key of a table, see hash.h
 * (tests/lint/keyed.py).  Begin with DIGEST_SEED, go on with what came back.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SEED UINT64_C(0xcbf29ce484222325)

/* FNV-1a, the NUL included: "ab", "c" is not "a", "bc". */
uint64_t digest_text(uint64_t h, const char *s);
uint64_t digest_number(uint64_t h, uint64_t x);
/* Eight bytes at a time; depends on the machine's byte order: not stored. */
uint64_t digest_bytes(uint64_t h, const void *p, size_t n);

#endif
