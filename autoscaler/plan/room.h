/*
 * room.h - what is free on one node, device by device.
 *
 * A room is a value: its arrays never change, taking from it makes another
 * room.  That makes undo free (keep the old one) and lets equal nodes share
 * one.  In a device column row[] counts the wholly free devices only; devices
 * that are used in part are in parts[], smallest rest first, so that one
 * device is filled before the next is opened.
 */
#ifndef PLAN_ROOM_H
#define PLAN_ROOM_H

#include "../model/amount.h"
#include "../model/problem.h"

struct part {
    uint32_t column;
    int32_t free;
}; /* 0 < free < AMOUNT_ONE */

struct room {
    const int64_t *row;
    const struct part *parts; /* by column, then free */
    uint32_t n_parts;
};

/* What a shape asks for, without the columns it does not ask for. */
struct need {
    uint32_t column;
    int64_t amount;
};
struct needs {
    const struct need *v; /* parts of devices last */
    uint32_t n, n_whole;  /* n_whole: those before the parts */
    bool never; /* no node can hold it: part of a device that cannot be
                 * shared, or 1.5 devices */
    uint32_t never_column;
};

struct needs needs_make(const struct problem *s, const int64_t *row,
                        struct arena *arena);

/* All of a row, as a new node of that row offers it. */
struct room room_of_row(const struct problem *s, const int64_t *row,
                        struct arena *arena);
/* What is free on a node that is there. */
struct room room_of_node(const struct problem *s, const struct pb_node *n,
                         struct arena *arena);

/* How many of these fit, at most `limit`. */
uint32_t room_fit(const struct problem *s, const struct room *room,
                  const struct needs *needs, uint32_t limit);

/* Does one fit, or can it at least not be ruled out at a glance?  For loops
 * over many rooms; room_fit() is what counts. */
static inline bool room_might(const struct room *room,
                              const struct needs *needs)
{
    for (uint32_t i = 0; i < needs->n_whole; i++)
        if (room->row[needs->v[i].column] < needs->v[i].amount)
            return false;
    return true;
}

/* room_fit() of one, in less time. */
static inline bool room_holds(const struct room *room,
                              const struct needs *needs)
{
    if (needs->never || !room_might(room, needs))
        return false;
    for (uint32_t i = needs->n_whole; i < needs->n; i++) {
        const struct need *need = &needs->v[i];
        bool holds = room->row[need->column] >= AMOUNT_ONE;

        for (uint32_t p = 0; p < room->n_parts && !holds; p++)
            holds = room->parts[p].column == need->column &&
                    room->parts[p].free >= need->amount;
        if (!holds)
            return false;
    }
    return true;
}

/* The room left after taking `count`, which must fit. */
struct room room_take(const struct problem *s, const struct room *room,
                      const struct needs *needs, uint32_t count,
                      struct arena *arena);

/* The first column that is too small for one, and how much there is: for a
 * part of a device, the largest free part.  NONE when one fits. */
uint32_t room_lacks(const struct problem *s, const struct room *room,
                    const struct needs *needs, int64_t *ret_has);

/* A total order over contents; 0 when equal. */
int room_compare(const struct problem *s, const struct room *a,
                 const struct room *b);

#endif
