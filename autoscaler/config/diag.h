/*
 * diag.h - the mistakes and warnings of one file, gathered before they are
 * reported, so that a user sees all of them at once and in the file's order.
 *
 * Lives in an arena.  Thread: the one that reads the file.
 */
#ifndef CONFIG_DIAG_H
#define CONFIG_DIAG_H

#include "../base/arena.h"
#include "../base/buf.h"

struct ynode;

struct diag_line {
    uint32_t line, column; /* from 1; 0: the file as a whole */
    uint32_t order;        /* of reporting */
    const char *text;
};

struct diag_lines {
    struct diag_line *v;
    uint32_t n, cap;
};

struct diag {
    struct arena *arena;
    const char *path; /* as the user wrote it, for messages only */
    struct diag_lines mistakes, warnings;
};

/* at may be NULL: the file as a whole. */
void diag_add(struct diag *d, const struct ynode *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void diag_warn(struct diag *d, const struct ynode *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void diag_add_at(struct diag *d, uint32_t line, uint32_t column,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* One line a mistake, sorted by place, each once. */
void diag_write(struct diag *d, struct buf *errors);
/* The warnings as lines of their own, in the arena. */
const char *const *diag_warnings(struct diag *d, uint32_t *ret_n);

/* "text" in quotes, shortened, control characters escaped: what a user wrote
 * never breaks the line it is reported on. */
const char *diag_quote(struct arena *arena, const char *text);

#endif
