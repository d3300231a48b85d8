/*
 * hash.h - a hash table of items that belong to someone else.
 *
 * The table keeps an item and its 64-bit hash; the caller makes the hash and
 * compares what has the same one, so a key may be anything:
 *
 *     for (uint32_t at = 0; (x = hash_next(&t, h, &at));)
 *         if (strcmp(x->key, key) == 0)
 *             return x;
 *
 * An item is a pointer or, with the functions named _index, a number.  Several
 * items may have one hash; they come in no order to rely on.  Slots are in an
 * arena or on the heap; an adding may move them, a removing does not.  Thread:
 * the owner's.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>

#include "arena.h"

struct hash_slot;

struct hash {            /* zero-initialised is valid: empty, on the heap */
    struct arena *arena; /* of the slots; NULL: the heap */
    struct hash_slot *slots;
    uint32_t size;  /* of slots: 0 or a power of two */
    uint32_t n;     /* items */
    uint32_t taken; /* slots that are not free: items and gaps */
};

/* With room for this many items before it grows (0: some). */
void hash_init(struct hash *t, struct arena *arena, uint32_t expected);
void hash_done(struct hash *t);  /* frees the slots; empty again */
void hash_clear(struct hash *t); /* keeps the slots */

/* item is not NULL.  Items are not compared: look before. */
void hash_add(struct hash *t, uint64_t h, void *item);
/* False: it was not there. */
bool hash_remove(struct hash *t, uint64_t h, const void *item);
/* The next item with this hash; NULL: no more.  *at is 0 at first. */
void *hash_next(const struct hash *t, uint64_t h, uint32_t *at);
/* The next item of all, likewise.  It, and no other, may be removed on the
 * way; nothing may be added. */
void *hash_each(const struct hash *t, uint32_t *at);

#define HASH_NONE UINT32_MAX /* no more numbers */
void hash_add_index(struct hash *t, uint64_t h, uint32_t i);
uint32_t hash_next_index(const struct hash *t, uint64_t h, uint32_t *at);

/* ---- hashes, keyed: SipHash-1-3 with a key of this process, so that nobody can
 * write texts that share one.  Never stored, shown or sent: see digest.h.  Begin
 * with HASH_SEED, go on with what came back. */

#define HASH_SEED UINT64_C(0)

/* A key of chance; before that it is a fixed one, for simulations and tests.
 * Only while there are no tables and no other thread. */
void hash_key_random(void);

uint64_t hash_bytes(uint64_t h, const void *p, size_t n);
uint64_t hash_text(uint64_t h, const char *s); /* the NUL included */
uint64_t hash_number(uint64_t h, uint64_t x);
uint64_t hash_name(const char *s); /* the key of a table of names */

#endif
