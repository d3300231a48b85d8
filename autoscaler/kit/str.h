/*
 * str.h - a growing string, for the bodies and URLs a plug-in writes.
 *
 * Start with {0}; kit_str_done() frees.  Never fails.  Thread: the owner's.
 */
#ifndef KIT_STR_H
#define KIT_STR_H

#include <stddef.h>

struct kit_str {
    char *p;
    size_t n, cap;
}; /* p is NULL or ends with NUL */

void kit_str_add(struct kit_str *s, const char *text, size_t n);
void kit_str_puts(struct kit_str *s, const char *text);
void kit_str_printf(struct kit_str *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Percent-encoded as RFC 3986 has it: all but letters, digits and "-_.~", and
 * but the characters in `also` (may be ""). */
void kit_str_encode(struct kit_str *s, const char *text, size_t n,
                    const char *also);
/* "name=value" of a form or query, both encoded, with '&' when not first. */
void kit_str_param(struct kit_str *s, const char *name, const char *value);
const char *kit_str_text(const struct kit_str *s); /* "" when empty */
void kit_str_clear(struct kit_str *s);             /* keeps the memory */
void kit_str_done(struct kit_str *s);

#endif
