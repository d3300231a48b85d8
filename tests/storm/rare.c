/*
 * rare.c - see rare.h.
 */
#include "rare.h"

#include <stdio.h>
#include <string.h>

/* Of 1,000 times: what is put off gets its turn, and a plan costs time. */
enum { SELDOM = 40, OFTEN = 600 };

static const char *const words[] = {
#define WORD_(name, word) word,
    RARE_MAP(WORD_)
#undef WORD_
};

static struct {
    struct rare_ways ways;
    uint64_t chance, count[RARES];
} now;

static uint64_t next(uint64_t *chance)
{
    uint64_t z = *chance += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rare_begin(const struct rare_ways *w, uint64_t seed)
{
    now.ways = w ? *w : (struct rare_ways){0};
    now.chance = ~seed;
}

bool rare_taken(enum rare way)
{
    if (!now.ways.of_1000[way] ||
        next(&now.chance) % 1000 >= now.ways.of_1000[way])
        return false;
    now.count[way]++;
    return true;
}

uint64_t rare_count(enum rare way)
{
    return now.count[way];
}

const char *rare_word(enum rare way)
{
    return words[way];
}

void rare_draw(struct rare_ways *w, uint64_t seed)
{
    uint64_t chance = seed ^ 0x72617265; /* "rare" */

    memset(w, 0, sizeof *w);
    if (next(&chance) % 2)
        return;
    for (int i = 0; i < RARES; i++)
        if (next(&chance) % 3 == 0)
            w->of_1000[i] = 1 +
                            (uint32_t)(next(&chance) %
                                       (next(&chance) % 8 ? SELDOM : OFTEN));
    /* At every second step it would be a tenth of all storms' time. */
    if (w->of_1000[RARE_PLAN_AGAIN] > SELDOM)
        w->of_1000[RARE_PLAN_AGAIN] = SELDOM;
}

void rare_write(const struct rare_ways *w, FILE *f)
{
    for (int i = 0; i < RARES; i++)
        if (w->of_1000[i])
            fprintf(f, "rare %s %u\n", words[i], w->of_1000[i]);
}

bool rare_read(struct rare_ways *w, const char *line)
{
    char word[32];
    uint32_t n;

    if (sscanf(line, "rare %31s %u", word, &n) != 2 || n >= 1000)
        return false;
    for (int i = 0; i < RARES; i++)
        if (strcmp(words[i], word) == 0) {
            w->of_1000[i] = n;
            return true;
        }
    return false;
}
