/*
 * shares.c - GPUs that are cut into shares: MIG instances, time slices, MPS.
 *
 * Sugar for resources under the names of NVIDIA's device plug-in: each GPU of
 * the machine becomes so many nvidia.com/mig-* or nvidia.com/gpu.shared, and
 * the machine has no whole GPU any more.
 */
#include <stdlib.h>
#include <string.h>

#include "../model/accel.h"
#include "../model/amount.h"
#include "extras.h"

enum { MOST_SHARES = 128, MIG_SLICES = 7 };

/* "mig-3g.20gb", "mig-1g.5gb.me", also with "nvidia.com/": slices of a GPU, 0
 * when it is no such name. */
static long mig_slices(const char *name)
{
    char *end;
    long slices, memory;

    if (strncmp(name, "mig-", 4) != 0)
        return 0;
    slices = strtol(name + 4, &end, 10);
    if (end == name + 4 || strncmp(end, "g.", 2) != 0 || slices < 1 ||
        slices > MIG_SLICES)
        return 0;
    name = end + 2;
    memory = strtol(name, &end, 10);
    if (end == name || memory < 1 || memory > 10000 ||
        strncmp(end, "gb", 2) != 0)
        return 0;
    return end[2] == '\0' || strcmp(end + 2, ".me") == 0 ? slices : 0;
}

void shares_read(struct reader *r, const struct ynode *v, const char *where,
                 void *target)
{
    struct raw_type *t = target;
    long slices = 0;
    bool plain = false, mig = false;

    if (v->kind != YNODE_MAP || v->n == 0) {
        diag_add(
            r->diag, v,
            "%s must say into what each GPU is cut, such as {mig-1g.5gb: 7} or "
            "{time_slicing: 4}, got %s",
            where, v->kind == YNODE_MAP ? "nothing" : ynode_shown(r->arena, v));
        return;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        const struct ynode *key = v->pairs[i].key, *value = v->pairs[i].value;
        const struct key count = {
            .type = KEY_COUNT, .min = 1, .max = MOST_SHARES};
        const char *name = strncmp(key->text, "nvidia.com/", 11) == 0
                               ? key->text + 11
                               : key->text;
        const char *at = grammar_where(r, where, key->text);
        const bool whole = strcmp(name, "time_slicing") == 0 ||
                           strcmp(name, "mps") == 0;
        uint32_t n = 0;
        struct qty q = {
            .name = whole ? "nvidia.com/gpu.shared"
                          : arena_printf(r->arena, "nvidia.com/%s", name)};

        if (!whole && !mig_slices(name)) {
            diag_add(r->diag, key,
                     "%s: unknown share; allowed: time_slicing, mps, or a MIG "
                     "profile such as mig-1g.5gb",
                     at);
            continue;
        }
        grammar_value(r, &count, value, at, &n);
        if (n == 0)
            continue; /* reported, or null */
        if ((whole && (plain || mig)) || (!whole && plain)) {
            diag_add(r->diag, key,
                     "%s: a GPU is cut in one way: time_slicing, mps or MIG "
                     "profiles",
                     where);
            return;
        }
        plain = plain || whole;
        mig = mig || !whole;
        slices += whole ? 0 : mig_slices(name) * (long)n;
        q.amount = n * AMOUNT_ONE;
        VEC_PUSH(r->arena, &t->shares, q);
    }
    if (slices > MIG_SLICES)
        diag_add(r->diag, v, "%s: a GPU has %d slices, this needs %ld", where,
                 MIG_SLICES, slices);
}

struct qtys shares_apply(struct raw *d, const struct raw_type *t,
                         struct qtys resources)
{
    VEC(struct qty) out = {0};
    int64_t gpus = 0;

    if (t->shares.n == 0)
        return resources;
    for (uint32_t i = 0; i < resources.n; i++)
        if (strcmp(resources.v[i].name, "GPU") == 0)
            gpus = resources.v[i].amount / AMOUNT_ONE;
        else
            VEC_PUSH(d->r.arena, &out, resources.v[i]);
    if (gpus == 0)
        diag_add(d->r.diag, raw_at(t, "shares"),
                 "%s.shares: it has no GPU to cut", t->where);
    for (uint32_t i = 0; i < t->shares.n; i++) {
        struct qty q = t->shares.v[i];

        q.amount *= gpus;
        for (uint32_t j = 0; j < resources.n; j++)
            if (strcmp(resources.v[j].name, q.name) == 0)
                diag_add(d->r.diag, raw_at(t, "shares"),
                         "%s: %s is given in resources and by shares", t->where,
                         q.name);
        VEC_PUSH(d->r.arena, &out, q);
    }
    return (struct qtys){out.v, out.n};
}
