/*
 * outbox.h - lines that leave by a thread of their own: whoever takes them (a pipe
 * that nobody reads, a disk that stands still) may block for ever, and who has a
 * line to say must not.
 *
 * What does not fit is dropped and counted; lines keep their order.  Thread: add
 * from any.
 */
#ifndef BASE_OUTBOX_H
#define BASE_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outbox_ops {
    /* Takes one line; may block.  On the outbox' thread. */
    void (*put)(void *arg, const char *line, size_t n);
    /* NULL: there is a thread.  Else there is none: called when the first line
     * lies there, and who is called calls outbox_turn() until it says no. */
    void (*wake)(void *arg);
    void *arg;
};

struct outbox;
/* At most so many bytes wait. */
struct outbox *outbox_new(size_t most, const struct outbox_ops *ops);
/* Copies the line.  False: there was no room. */
bool outbox_add(struct outbox *o, const char *line, size_t n);
/* Puts the oldest line; false: there is none. */
bool outbox_turn(struct outbox *o);

struct outbox_state {
    uint64_t dropped;   /* so far */
    int64_t dropped_ms; /* mono, the last; 0 none */
    int64_t stuck_ms;   /* so long the line that is being put has taken; 0: none
                         * is */
};
struct outbox_state outbox_state(struct outbox *o);

/* Waits until all has left, for so long at most.  False: something is left, or
 * being put: then it stays as it is until the process ends. */
bool outbox_free(struct outbox *o, int64_t wait_ms);
/* The same wait, and nothing is freed: others may put something in still. */
bool outbox_wait(struct outbox *o, int64_t wait_ms);

#endif
