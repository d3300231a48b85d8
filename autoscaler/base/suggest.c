/*
 * suggest.c - see suggest.h.  Damerau-Levenshtein over three rows.
 */
#include "suggest.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 64 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned distance(const char *a, const char *b)
{
    unsigned row[3][LONGEST + 1];
    unsigned *before = row[0], *last = row[1], *now = row[2], *spare;
    size_t n = strlen(a), m = strlen(b);

    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= m; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        int x = tolower((unsigned char)a[i - 1]);
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            int y = tolower((unsigned char)b[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1,
                           last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

const char *suggest(const char *word, const char *const *choices, size_t n)
{
    return suggest_within(word, choices, n, (unsigned)strlen(word) / 3 + 1);
}

const char *suggest_within(const char *word, const char *const *choices,
                           size_t n, unsigned most)
{
    unsigned best = most + 1;
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(word, choices[i]);
        if (d < best && d < strlen(choices[i])) {
            best = d;
            found = choices[i];
        }
    }
    return found;
}
