/*
 * reason.c - see reason.h.
 */
#include "reason.h"

#include <string.h>

#define CODE_(name, code, text) code,
static const char *const codes[] = {REASON_MAP(CODE_)};
#undef CODE_
#define TEXT_(name, code, text) text,
static const char *const texts[] = {REASON_MAP(TEXT_)};
#undef TEXT_

const char *reason_code(enum reason r)
{
    return (unsigned)r < REASON_COUNT ? codes[r] : "unknown";
}

const char *reason_text(enum reason r)
{
    return (unsigned)r < REASON_COUNT ? texts[r] : "unknown";
}

enum reason reason_from_code(const char *code)
{
    for (unsigned i = 0; i < REASON_COUNT; i++)
        if (strcmp(codes[i], code) == 0)
            return (enum reason)i;
    return REASON_COUNT;
}
