/*
 * alloc.h - heap memory that cannot be refused.
 *
 * Running out of memory ends the process with one line on standard error and
 * abort(): nothing here returns NULL.  The caller owns what it gets and gives
 * it back with free().  Memory that shares a lifetime belongs in an arena
 * (arena.h).  Thread: any.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

/* One zeroed object, and n of them. */
#define MEM_NEW(type) ((type *)mem_zeroed(1, sizeof(type)))
#define MEM_ARRAY(type, n) ((type *)mem_zeroed((n), sizeof(type)))

/* n == 0 gives a pointer that may be freed. */
void *mem_alloc(size_t bytes); /* not zeroed */
void *mem_zeroed(size_t n, size_t bytes);
void *mem_resize(void *p, size_t n, size_t bytes); /* what is new is not
                                                    * zeroed; p may be NULL */
char *mem_strdup(const char *s);                   /* NULL gives "" */
char *mem_strndup(const char *s, size_t n);

/* Returns p, which a library allocated (json_dumps(), curl_easy_init()) and
 * which is NULL only without memory. */
void *mem_must(void *p);
/* For a library that says so in another way. */
_Noreturn void mem_out(void);

#endif
