/*
 * alloc.h - heap memory that cannot be refused, for plug-ins.
 *
 * Running out of memory ends the process by abort(), as everywhere in Davit
 * (base/alloc.h, which a plug-in cannot see): nothing here returns NULL.  The
 * caller owns what it gets and gives it back with free().  Thread: any.
 */
#ifndef KIT_ALLOC_H
#define KIT_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

/* One zeroed object; kit_zeroed() gives n of them, and n may be 0. */
#define KIT_NEW(type) ((type *)kit_zeroed(1, sizeof(type)))

void *kit_alloc(size_t bytes); /* not zeroed */
void *kit_zeroed(size_t n, size_t bytes);
/* What is new is not zeroed; p may be NULL, n not 0. */
void *kit_resize(void *p, size_t n, size_t bytes);
/* Texts, for free(); print fails only without memory. */
char *kit_copy(const char *text);
char *kit_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *kit_vprint(const char *fmt, va_list ap)
    __attribute__((format(printf, 1, 0)));

/* Returns p, which a library allocated (json_dumps(), XML_ParserCreate()) and
 * which is NULL only without memory. */
void *kit_must(void *p);
/* Wipes and frees a secret; NULL is fine. */
void kit_wipe(char *text);

#endif
