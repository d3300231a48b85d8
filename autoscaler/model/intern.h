/*
 * intern.h - equal byte strings get equal small numbers, inside one arena.
 *
 * problem_make() interns names, rows and selectors with it.  Numbers are given
 * first come, first served; intern_rank() then renumbers by content, so that
 * nothing made from it depends on the order of the input or on the hash.
 */
#ifndef MODEL_INTERN_H
#define MODEL_INTERN_H

#include "../base/hash.h"

struct intern_item {
    const void *p;
    uint32_t n, id;
};

struct intern {
    struct arena *arena;
    struct arena *copies;      /* where copied bytes go, if not there; NULL */
    struct intern_item *items; /* by number; after intern_rank() by rank */
    uint32_t n, cap;
    struct hash table; /* of numbers */
    uint32_t *rank;    /* number -> rank, after intern_rank() */
};

void intern_init(struct intern *t, struct arena *arena, uint32_t expected);
/* The number of these bytes; they are copied when new and copy is non-zero,
 * else they must stay where they are. */
uint32_t intern_add(struct intern *t, const void *p, size_t n, int copy);
/* Sorts the items; rank[] and intern_find() answer from then on, and nothing
 * may be added any more.  first: the 64 bits that decide first, compare: the
 * whole order. */
void intern_rank(struct intern *t,
                 uint64_t (*first)(const struct intern_item *),
                 int (*compare)(const struct intern_item *,
                                const struct intern_item *));
/* The same for items that are texts, with the NUL at the end, by strcmp(). */
void intern_rank_texts(struct intern *t);
/* The same for items that are rows of uint32_t: by these, the shorter first. */
void intern_rank_words(struct intern *t);
/* The rank, or UINT32_MAX. */
uint32_t intern_find(const struct intern *t, const void *p, size_t n);

#endif
