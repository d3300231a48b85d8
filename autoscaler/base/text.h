/*
 * text.h - text that comes from outside or goes into a URL.
 *
 * protobuf-c does not check that a string is UTF-8, and jansson refuses one
 * that is not; a terminal obeys control characters.  So text is cleaned where
 * it enters.  Times as text: clock.h.  Thread: any.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>

#include "arena.h"

/* The length of the character that s, n bytes long, begins with; 0: it is no
 * valid UTF-8, or a control character. */
size_t text_char(const char *s, size_t n);
/* Every byte that is no part of such a character becomes '?'.  Returns whether
 * something was changed. */
bool text_clean(char *s, size_t n);

/* Percent-encoded as RFC 3986 has it: all but letters, digits and "-_.~". */
char *text_encode(struct arena *a, const char *s);
/* %XX back to bytes, *ret_n of them (NULL: not wanted); what is no such thing
 * stays as it is. */
char *text_decode(struct arena *a, const char *s, size_t n, size_t *ret_n);

#endif
