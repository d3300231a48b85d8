/*
 * arena.h - memory that belongs to a lifetime (a tick, a configuration
 * generation, a call) and is given back all at once.
 *
 * An arena is not thread-safe; it may be handed from one thread to another.
 * Running out of memory ends the process: nothing here returns NULL.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena { /* zero-initialised is valid and empty */
    struct arena_chunk *head;
    size_t used; /* bytes handed out since the last reset */
};

/* Zeroed, 16-byte aligned; n == 0 gives a valid unique-enough pointer. */
void *arena_alloc(struct arena *a, size_t n);
void *arena_copy(struct arena *a, const void *p, size_t n);
/* x's n_x elements, then y's, of so many bytes each. */
void *arena_join(struct arena *a, const void *x, size_t n_x, const void *y,
                 size_t n_y, size_t size);
char *arena_strdup(struct arena *a, const char *s); /* NULL gives "" */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A place to go back to: what is given out after it may be taken back together,
 * as long as nothing was reset. */
struct arena_mark {
    struct arena_chunk *head;
    size_t at, used;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark m);
void arena_reset(struct arena *a); /* keeps one chunk for reuse */
void arena_done(struct arena *a);  /* frees all; the arena is empty again */

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) \
    ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

/* A growing array, struct { T *v; uint32_t n, cap; }, inside an arena; with
 * NULL for it on the heap, and the owner frees v. */
void arena_grow_(struct arena *a, void **v, uint32_t *cap, uint32_t n,
                 size_t item);
#define VEC(type) \
    struct { \
        type *v; \
        uint32_t n, cap; \
    }
#define VEC_PUSH(a, vec, item) \
    do { \
        if ((vec)->n == (vec)->cap) \
            arena_grow_((a), (void **)&(vec)->v, &(vec)->cap, (vec)->n, \
                        sizeof *(vec)->v); \
        (vec)->v[(vec)->n++] = (item); \
    } while (0)

#endif
