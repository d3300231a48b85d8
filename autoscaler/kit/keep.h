/*
 * keep.h - memory that is freed all at once: what a plug-in remembers of its
 * configuration lives as long as its handle.
 *
 * Start with {0}.  Everything is zeroed when it is given and wiped before it is
 * freed, since secrets are among it.  Never fails.  Thread: the owner's.
 */
#ifndef KIT_KEEP_H
#define KIT_KEEP_H

#include <stddef.h>

struct kit_keep {
    struct kit_kept *last;
};

void *kit_keep(struct kit_keep *k, size_t size);
/* Room for the n-th element (from 0) of an array that grows; use the pointer
 * that comes back.  n counts up by one each time. */
void *kit_keep_more(struct kit_keep *k, void *array, size_t n, size_t size);
char *kit_keep_text(struct kit_keep *k, const char *text);
char *kit_keep_print(struct kit_keep *k, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Texts in a row, as execve() wants them: v[n] is NULL once there is one. */
struct kit_list {
    char **v;
    size_t n;
};
void kit_list_add(struct kit_keep *k, struct kit_list *l, const char *text);

void kit_keep_done(struct kit_keep *k);

#endif
