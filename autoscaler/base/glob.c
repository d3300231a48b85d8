/*
 * glob.c - see glob.h.
 */
#include "glob.h"

#include <stddef.h>

/* Greedy with one way back: each star takes as little as it can. */
bool glob_fits(const char *pattern, const char *s)
{
    const char *star = NULL, *back = s;

    while (*s) {
        if (*pattern == '*') {
            star = ++pattern;
            back = s;
        } else if (*pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star;
            s = ++back;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
