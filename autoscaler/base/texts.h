/*
 * texts.h - texts that never change, shared by records and by who reads them.
 *
 * Equal texts are one (texts_share()), as long as it is not of one record alone
 * (texts_own()).  A reader may keep pointers to them without a copy: what is
 * dropped stays until every reader that may have seen it has ended.
 *
 * Thread: the owner's; a reader may end on any.
 */
#ifndef BASE_TEXTS_H
#define BASE_TEXTS_H

#include <stddef.h>

struct texts;
struct texts_age;

struct texts *texts_new(void);
/* All texts were dropped; those that are read stay until then. */
void texts_free(struct texts *t); /* NULL is fine */

/* The n first bytes of s; without any it is "", of which there is only one. */
const char *texts_share(struct texts *t, const char *s, size_t n);
const char *texts_own(struct texts *t, const char *s, size_t n);
void texts_drop(struct texts *t, const char *text);
/* Likewise for what lies on the heap, is no text, and may be read too. */
void texts_retire(struct texts *t, void *heap);

/* A reader begins: what is there now stays until texts_read_end(). */
struct texts_age *texts_read(struct texts *t);
void texts_read_end(struct texts_age *a);

#endif
