/*
 * exposed.h - files that hold secrets, or tell where they go, and that other users of
 * this machine may read or write; folders in which they may replace what we write.
 *
 * They are told, and used all the same: other programs made them, with the mode that
 * they think is right.  (What Davit alone reads is refused: api/door/secret.h.)
 * Whoever reads such a file says so here each time.  Thread: any.
 */
#ifndef BASE_EXPOSED_H
#define BASE_EXPOSED_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

enum { EXPOSED_MAX = 16 };

/* secret: there is one in it; else only who may write it counts.  what: for people,
 * "the kubeconfig", which outlives all. */
void exposed_look(const char *path, const char *what, bool secret);
/* The folder of a file that we write, or go by: who else may put names into it, or owns
 * it, may replace the file.  Not where a sticky bit keeps each to his own, as in /tmp;
 * nor the group that Davit runs with. */
void exposed_folder(const char *file, const char *what);
/* One sentence for each that is so now, of all that were looked at. */
uint32_t exposed_list(struct arena *a, const char *ret[EXPOSED_MAX]);

#endif
