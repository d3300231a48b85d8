/*
 * text.h - words that came from outside, made fit for logs and JSON.
 *
 * protobuf-c does not check that a string is UTF-8, and jansson refuses one
 * that is not.  Thread: any.
 */
#ifndef WIRE_TEXT_H
#define WIRE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Every byte that is not part of valid UTF-8, and every control character,
 * becomes '?'.  Returns whether something was changed. */
bool text_utf8(char *s, size_t n);

#endif
