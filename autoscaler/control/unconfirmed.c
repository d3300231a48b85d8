/*
 * unconfirmed.c - see unconfirmed.h.
 */
#include "unconfirmed.h"

#include <stdio.h>
#include <string.h>

static const struct source *source_two_looks(const struct sources *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->all[i].ops->two_looks)
            return &s->all[i];
    return NULL;
}

bool unconfirmed_needed(const struct sources *s, enum reason why)
{
    return (why == REASON_FOR_TASK || why == REASON_FOR_GANG) &&
           source_two_looks(s);
}

static struct unconfirmed_type *type_get(struct unconfirmed *u,
                                         const char *type, uint64_t view)
{
    struct unconfirmed_type new = {.view = view};

    for (uint32_t i = 0; i < u->all.n; i++)
        if (strcmp(u->all.v[i].type, type) == 0)
            return &u->all.v[i];
    snprintf(new.type, sizeof new.type, "%s", type);
    VEC_PUSH(NULL, &u->all, new);
    return &u->all.v[u->all.n - 1];
}

uint32_t unconfirmed_grant(struct unconfirmed *u, const struct sources *s,
                           const char *type, uint32_t n)
{
    uint64_t views = source_two_looks(s)->views;
    struct unconfirmed_type *t = type_get(u, type, views);
    uint32_t granted = 0;

    if (views > t->view) {
        granted = n < t->count ? n : t->count;
        t->view = views;
    }
    t->count = n - granted;
    t->tick = u->tick;
    return granted;
}

void unconfirmed_next(struct unconfirmed *u)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < u->all.n; i++)
        if (u->all.v[i].tick == u->tick && u->all.v[i].count)
            u->all.v[kept++] = u->all.v[i];
    u->all.n = kept;
    u->tick++;
}
