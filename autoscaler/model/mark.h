/*
 * mark.h - what a request id says, and so each machine that came of it.
 *
 * "davit-", six hexadecimal digits of the journal's owner, and fourteen that look
 * like chance: which start of a daemon on that journal made it (its incarnation),
 * and when.  In an id of an earlier version they are chance: who reads one asks
 * whether its time can be.
 */
#ifndef MODEL_MARK_H
#define MODEL_MARK_H

#include <stdbool.h>
#include <stdint.h>

#define MARK "davit-"
enum {
    MARK_OWNER = 6, /* digits */
    MARK_REST = 14,
    MARK_MAX = sizeof MARK + MARK_OWNER + MARK_REST,
};

struct incarnation {
    uint32_t starts; /* of daemons on its journal, modulo INCARNATION_STARTS */
    uint32_t chance; /* below INCARNATION_CHANCE */
};
enum { INCARNATION_STARTS = 1 << 9, INCARNATION_CHANCE = 1 << 10 };

struct request_mark {
    char owner[MARK_OWNER + 1];
    struct incarnation by;
    int64_t at_s; /* wall */
    uint32_t nth; /* of that second, below MARK_NTH */
};
enum { MARK_NTH = 1 << 7 };

/* No two marks that differ make the same id. */
void mark_write(const struct request_mark *m, char ret[MARK_MAX]);
/* False: it is no mark of a davit. */
bool mark_read(const char *request_id, struct request_mark *ret);

/* Did a begin after b?  Of two that differ one did; but where nobody can tell, each
 * began after the other.  The same one did not. */
bool incarnation_younger(struct incarnation a, struct incarnation b);

#endif
