/*
 * room.c - fitting shapes into what is free on a node.
 *
 * Everything is counted for `count` equal bundles at once: the cost does not
 * depend on how many there are.
 */
#include "room.h"

#include <assert.h>
#include <string.h>

struct needs needs_make(const struct problem *s, const int64_t *row,
                        struct arena *arena)
{
    struct needs r = {.never_column = NONE};
    struct need *v = ARENA_ARRAY(arena, struct need, s->n_columns);

    /* Whole devices first (few nodes have them), then sums, then parts. */
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t c = 0; c < s->n_columns; c++) {
            bool part = s->columns[c].device && row[c] < AMOUNT_ONE;

            if (row[c] > 0 && pass == (part ? 2 : s->columns[c].device ? 0 : 1))
                v[r.n++] = (struct need){c, row[c]};
        }
        if (pass == 1)
            r.n_whole = r.n;
    }
    for (uint32_t c = 0; c < s->n_columns && !r.never; c++)
        if (s->columns[c].device && row[c] > 0 && row[c] % AMOUNT_ONE != 0 &&
            (row[c] > AMOUNT_ONE || !s->columns[c].fractions)) {
            r.never = true;
            r.never_column = c;
        }
    r.v = v;
    return r;
}

struct room room_of_row(const struct problem *s, const int64_t *row,
                        struct arena *arena)
{
    struct room r = {0};
    int64_t *copy = arena_copy(arena, row, sizeof *row * s->n_columns);

    for (uint32_t c = 0; c < s->n_columns; c++)
        if (s->columns[c].device)
            copy[c] -= copy[c] % AMOUNT_ONE;
    r.row = copy;
    return r;
}

static void part_insert(struct part *v, uint32_t n, struct part p)
{
    for (; n > 0 && (v[n - 1].column > p.column ||
                     (v[n - 1].column == p.column && v[n - 1].free > p.free));
         n--)
        v[n] = v[n - 1];
    v[n] = p;
}

struct room room_of_node(const struct problem *s, const struct pb_node *n,
                         struct arena *arena)
{
    struct room r = {0};
    const int64_t *row = pb_row(s, n->available);
    int64_t *copy = arena_copy(arena, row, sizeof *row * s->n_columns);
    struct part *parts = ARENA_ARRAY(arena, struct part, n->n_devices);

    for (uint32_t c = 0; c < s->n_columns; c++)
        if (s->columns[c].device)
            copy[c] = 0;
    for (uint32_t i = 0; i < n->n_devices; i++) {
        const struct pb_device *d = &s->devices[n->first_device + i];

        if (d->free >= AMOUNT_ONE)
            copy[d->column] += AMOUNT_ONE;
        else if (d->free > 0)
            part_insert(parts, r.n_parts++, (struct part){d->column, d->free});
    }
    r.row = copy;
    r.parts = parts;
    return r;
}

static inline bool is_part(const struct problem *s, const struct need *need)
{
    return s->columns[need->column].device && need->amount < AMOUNT_ONE;
}

static uint64_t fit_parts(const struct room *room, const struct need *need)
{
    uint64_t n = (uint64_t)(room->row[need->column] / AMOUNT_ONE) *
                 (uint64_t)(AMOUNT_ONE / need->amount);

    for (uint32_t i = 0; i < room->n_parts; i++)
        if (room->parts[i].column == need->column)
            n += (uint64_t)(room->parts[i].free / need->amount);
    return n;
}

uint32_t room_fit(const struct problem *s, const struct room *room,
                  const struct needs *needs, uint32_t limit)
{
    uint64_t most = limit;

    if (needs->never)
        return 0;
    for (uint32_t i = 0; i < needs->n && most > 0; i++) {
        const struct need *need = &needs->v[i];
        uint64_t n;

        if (is_part(s, need)) {
            n = fit_parts(room, need);
        } else {
            if (room->row[need->column] < need->amount)
                return 0;
            n = (uint64_t)(room->row[need->column] / need->amount);
        }
        if (n < most)
            most = n;
    }
    return (uint32_t)most;
}

/* Fills devices that are used in part, the fullest that will do first, then
 * opens whole ones, one after the other. */
static uint32_t take_parts(int64_t *row, struct part *parts, uint32_t n_parts,
                           const struct need *need, uint32_t count)
{
    struct part rest[1];
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_parts; i++) {
        struct part p = parts[i];

        if (p.column == need->column && count > 0) {
            uint32_t k = (uint32_t)(p.free / need->amount);

            k = k < count ? k : count;
            p.free -= (int32_t)(need->amount * k);
            count -= k;
        }
        if (p.free > 0)
            part_insert(parts, n++, p);
    }
    while (count > 0) {
        uint32_t k = (uint32_t)(AMOUNT_ONE / need->amount);

        k = k < count ? k : count;
        assert(row[need->column] >= AMOUNT_ONE);
        row[need->column] -= AMOUNT_ONE;
        count -= k;
        rest[0] = (struct part){need->column,
                                (int32_t)(AMOUNT_ONE - need->amount * k)};
        if (rest[0].free > 0)
            part_insert(parts, n++, rest[0]);
    }
    return n;
}

struct room room_take(const struct problem *s, const struct room *room,
                      const struct needs *needs, uint32_t count,
                      struct arena *arena)
{
    struct room r = *room;
    int64_t *row = arena_copy(arena, room->row, sizeof *row * s->n_columns);

    for (uint32_t i = 0; i < needs->n; i++) {
        const struct need *need = &needs->v[i];

        if (is_part(s, need)) {
            /* every whole device that is opened may leave one part */
            uint64_t opened = (uint64_t)(row[need->column] / AMOUNT_ONE);
            struct part *parts;

            if (opened > count)
                opened = count;
            parts = ARENA_ARRAY(arena, struct part, r.n_parts + opened);
            if (r.n_parts > 0)
                memcpy(parts, r.parts, sizeof *parts * r.n_parts);
            r.n_parts = take_parts(row, parts, r.n_parts, need, count);
            r.parts = parts;
        } else {
            row[need->column] -= need->amount * count;
            assert(row[need->column] >= 0);
        }
    }
    r.row = row;
    return r;
}

uint32_t room_lacks(const struct problem *s, const struct room *room,
                    const struct needs *needs, int64_t *ret_has)
{
    uint32_t column = NONE;

    for (uint32_t i = 0; i < needs->n; i++) {
        const struct need *need = &needs->v[i];
        int64_t has = room->row[need->column];

        if (is_part(s, need)) {
            has = has > 0 ? AMOUNT_ONE : 0;
            for (uint32_t k = 0; k < room->n_parts; k++)
                if (room->parts[k].column == need->column &&
                    room->parts[k].free > has)
                    has = room->parts[k].free;
        }
        if (has >= need->amount)
            continue;
        /* A missing device says more than too little memory. */
        if (column == NONE ||
            (s->columns[need->column].device && !s->columns[column].device)) {
            column = need->column;
            *ret_has = has;
        }
    }
    return column;
}

int room_compare(const struct problem *s, const struct room *a,
                 const struct room *b)
{
    if (a->row != b->row)
        for (uint32_t c = 0; c < s->n_columns; c++)
            if (a->row[c] != b->row[c])
                return a->row[c] < b->row[c] ? -1 : 1;
    if (a->n_parts != b->n_parts)
        return a->n_parts < b->n_parts ? -1 : 1;
    for (uint32_t i = 0; i < a->n_parts; i++) {
        if (a->parts[i].column != b->parts[i].column)
            return a->parts[i].column < b->parts[i].column ? -1 : 1;
        if (a->parts[i].free != b->parts[i].free)
            return a->parts[i].free < b->parts[i].free ? -1 : 1;
    }
    return 0;
}
