/*
 * strings.c - what nodes.c and demand.c share: strings kept once, what a
 * resource's name means, sets in order.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/text.h"
#include "../../model/accel.h"
#include "../../model/amount.h"
#include "inside.h"

#define GROUP_ID_HEX 36u /* PlacementGroupID: 18 bytes */

/* ---- strings */

static bool is_plain(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s >= 0x7f || (unsigned char)*s < 0x20)
            return false;
    return true;
}

const char *ray_intern(struct ray_strings *t, const char *s)
{
    uint64_t hash;
    char *kept;

    if (!s || !*s)
        return "";
    if (!is_plain(s)) {
        char *copy = arena_strdup(t->scratch, s);

        text_clean(copy, strlen(copy));
        s = copy;
    }
    hash = hash_text(HASH_SEED, s);
    for (uint32_t at = 0; (kept = hash_next(&t->known, hash, &at));)
        if (strcmp(kept, s) == 0)
            return kept;
    kept = arena_strdup(t->arena, s);
    hash_add(&t->known, hash, kept);
    return kept;
}

/* ---- names of resources */

/* "CPU_group_<36 hex>" and "CPU_group_0_<36 hex>".  Ray's own pattern takes
 * any id; a user's "disk_group_a" is none of it. */
static bool is_group(const char *name)
{
    size_t n = strlen(name);
    if (n <= GROUP_ID_HEX)
        return false;
    const char *id = name + n - GROUP_ID_HEX, *p = id;
    if (strspn(id, "0123456789abcdef") != GROUP_ID_HEX || p[-1] != '_')
        return false;
    p--; /* at the '_' before the id */
    const char *digits = p;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits < p && digits > name && digits[-1] == '_')
        p = digits - 1;
    return p - name > 6 && memcmp(p - 6, "_group", 6) == 0;
}

enum ray_resource ray_resource_kind(const char *name)
{
    if (strncmp(name, "node:", 5) == 0)
        return RAY_NODE;
    if (accel_type_of_resource(name))
        return RAY_ACCEL;
    return is_group(name) ? RAY_GROUP : RAY_PLAIN;
}

/* ---- sets in order */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct qty *)a)->name, ((const struct qty *)b)->name);
}

struct qtys ray_sort_qtys(struct qty *v, uint32_t n)
{
    uint32_t to = 0;
    if (n > 1)
        qsort(v, n, sizeof *v, by_name);
    for (uint32_t i = 0; i < n; i++)
        if (to && strcmp(v[to - 1].name, v[i].name) == 0)
            v[to - 1].amount = amount_add(v[to - 1].amount, v[i].amount);
        else
            v[to++] = v[i];
    return (struct qtys){v, to};
}
