/*
 * sides.c - see sides.h.
 */
#include "sides.h"

/* Columns, plain ones first: each leads to one that it is joined with, or to itself. */
static uint32_t root_of(const uint32_t *leads, uint32_t c)
{
    while (leads[c] != c)
        c = leads[c];
    return c;
}

static bool uses(const struct view *v, uint32_t item, uint32_t column)
{
    return column < v->n_plain
               ? view_need(v, item)[column] > 0
               : view_device_amount(v, item, column - v->n_plain) > 0;
}

/* Columns that lead to one another, and the items that need them. */
struct joined {
    uint32_t columns, items, side;
    bool device, numbered;
};

/* Joins the columns that the item needs; one of them, UINT32_MAX: it needs none. */
static uint32_t join(const struct view *v, uint32_t item, uint32_t *leads)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t c = 0; c < v->n_plain + v->n_dev; c++) {
        if (!uses(v, item, c))
            continue;
        if (first == UINT32_MAX)
            first = c;
        leads[root_of(leads, c)] = root_of(leads, first);
    }
    return first;
}

/* Is it worth a side of its own? */
static bool stands(const struct joined *x)
{
    return x->items > 1 || x->columns > 1 || x->device;
}

void sides_make(const struct view *v, struct sides *ret)
{
    struct arena *a = v->arena;
    const uint32_t columns = v->n_plain + v->n_dev;
    uint32_t *leads = ARENA_ARRAY(a, uint32_t, columns);
    uint32_t *column = ARENA_ARRAY(a, uint32_t, v->n_items); /* of each item */
    struct joined *all = ARENA_ARRAY(a, struct joined, columns); /* per root */
    uint32_t n = 0;

    ret->of_item = ARENA_ARRAY(a, uint32_t, v->n_items);
    ret->of_plain = ARENA_ARRAY(a, uint32_t, v->n_plain);
    for (uint32_t c = 0; c < columns; c++)
        leads[c] = c;
    for (uint32_t i = 0; i < v->n_items; i++)
        column[i] = join(v, i, leads);
    for (uint32_t c = 0; c < columns; c++) {
        all[root_of(leads, c)].columns++;
        all[root_of(leads, c)].device |= c >= v->n_plain;
    }
    for (uint32_t i = 0; i < v->n_items; i++)
        if (column[i] != UINT32_MAX)
            all[root_of(leads, column[i])].items++;
    for (uint32_t i = 0; i < v->n_items; i++) {
        struct joined *x;

        if (column[i] == UINT32_MAX)
            continue;
        x = &all[root_of(leads, column[i])];
        if (stands(x) && !x->numbered) {
            x->side = n++;
            x->numbered = true;
        }
        ret->of_item[i] = x->side;
    }
    for (uint32_t c = 0; c < v->n_plain; c++)
        ret->of_plain[c] = all[root_of(leads, c)].side;
    ret->n = n ? n : 1;
}
