/*
 * state.c - see state.h.
 */
#include "state.h"

#include <string.h>

#define S_(name) (1u << STATE_##name)
#define NEXT_(name, code, next) next,
static const unsigned allowed[] = {STATE_MAP(NEXT_)};
#undef NEXT_
#undef S_
#define NAME_(name, code, next) code,
static const char *const names[] = {STATE_MAP(NAME_)};
#undef NAME_

bool state_may_move(enum machine_state from, enum machine_state to)
{
    return (unsigned)from < STATE_COUNT && (unsigned)to < STATE_COUNT &&
           (allowed[from] & (1u << to));
}

const char *state_name(enum machine_state s)
{
    return (unsigned)s < STATE_COUNT ? names[s] : "unknown";
}

enum machine_state state_from_name(const char *name)
{
    for (unsigned i = 0; i < STATE_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (enum machine_state)i;
    return STATE_COUNT;
}
