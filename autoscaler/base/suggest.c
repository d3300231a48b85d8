/*
 * suggest.c - see suggest.h.  Damerau-Levenshtein over three rows.
 */
#include "suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 64, PART_LEAST = 4 };

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

/* Does one of the two begin or end with all of the other, at its "_"?  "max_cost" of
 * "max_cost_per_hour", "pool" of "nodepool". */
static bool is_part(const char *a, const char *b)
{
    const char *longer = strlen(a) > strlen(b) ? a : b;
    const char *part = longer == a ? b : a;
    size_t n = strlen(longer), m = strlen(part);

    return m >= PART_LEAST && m < n &&
           ((strncasecmp(longer, part, m) == 0 && longer[m] == '_') ||
            strcasecmp(longer + n - m, part) == 0);
}

/* Words of others for the same. */
static const char *other_word(const char *word)
{
    static const char *const same[][2] = {
        {"region", "location"},       {"instance_type", "machine"},
        {"machine_type", "machine"},  {"gpu_type", "accelerator_type"},
        {"max_workers", "max"},       {"min_workers", "min"},
        {"max_size", "max"},          {"min_size", "min"},
        {"maxSize", "max"},           {"minSize", "min"},
        {"max_count", "max"},         {"min_count", "min"},
        {"maxReplicas", "max"},       {"minReplicas", "min"},
        {"preemptible", "market"},    {"accelerator", "accelerator_type"},
        {"accelerators", "resources"}};

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcasecmp(same[i][0], word) == 0)
            return same[i][1];
    return NULL;
}

const char *suggest(const char *word, const char *const *choices, size_t n)
{
    const char *near = suggest_within(word, choices, n,
                                      (unsigned)strlen(word) / 3 + 1);
    const char *other = other_word(word), *found = NULL;
    size_t parts = 0;

    for (size_t i = 0; i < n && other; i++)
        if (strcmp(choices[i], other) == 0)
            return choices[i];
    for (size_t i = 0; i < n && !near; i++)
        if (is_part(word, choices[i])) {
            found = choices[i];
            parts++;
        }
    return near ? near : parts == 1 ? found : NULL;
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
