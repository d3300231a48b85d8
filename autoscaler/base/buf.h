/*
 * buf.h - a growing byte string with a ceiling given at init.
 *
 * Past the ceiling it stops growing and remembers: check buf.full once at the
 * end.  Always NUL-terminated.  One owner at a time.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *s; /* heap; "" until something is added */
    size_t n, cap, max;
    bool full; /* something did not fit below max */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
void buf_clear(struct buf *b);
bool buf_add(struct buf *b, const void *p, size_t n);
bool buf_str(struct buf *b, const char *s);
bool buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *buf_take(struct buf *b); /* caller frees; the buffer is empty again */

/* Lines, or JSON of jansson: what text_plain() refuses, but for line ends and tabs, goes in
 * as text_escape() has it, which in JSON means the same character. */
bool buf_plain(struct buf *b, const char *s);

#endif
