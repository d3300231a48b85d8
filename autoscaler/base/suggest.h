/*
 * suggest.h - "did you mean ...": the nearest of the allowed names.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

/* The choice with the smallest edit distance to word (letters swapped count
 * one, case does not count), or the only one that is a part of it or the other way
 * round, or what another program's word for it is here; NULL when none is meant. */
const char *suggest(const char *word, const char *const *choices, size_t n);
/* The same with at most so many slips. */
const char *suggest_within(const char *word, const char *const *choices,
                           size_t n, unsigned most);

#endif
