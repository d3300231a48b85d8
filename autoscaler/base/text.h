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

/* The same, and also 0 for what changes how the text beside it is shown: marks
 * of direction (Unicode, UAX 9: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066
 * to U+2069), line and paragraph separators.  For every exit: terminal, log,
 * page. */
size_t text_plain(const char *s, size_t n);
/* How the first character is shown where it is not plain: "\\u001b", the same
 * in JSON and for people, or U+FFFD for what is no UTF-8.  Returns how many
 * bytes of s that stands for; n at least 1. */
size_t text_escape(const char *s, size_t n, char ret[8]);

/* Percent-encoded as RFC 3986 has it: all but letters, digits and "-_.~". */
char *text_encode(struct arena *a, const char *s);
/* %XX back to bytes, *ret_n of them (NULL: not wanted); what is no such thing
 * stays as it is. */
char *text_decode(struct arena *a, const char *s, size_t n, size_t *ret_n);

#endif
