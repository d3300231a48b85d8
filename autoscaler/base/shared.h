/*
 * shared.h - an arena that several owners keep; the last one frees it.
 *
 * Who makes it fills the arena; afterwards what is in it is read only.
 * Thread: references may be taken and given back on any; filling is the
 * maker's alone.
 */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include <stdatomic.h>

#include "arena.h"

struct shared {
    atomic_uint refs;
    struct arena arena;
};

struct shared *shared_new(void);             /* one reference, the caller's */
struct shared *shared_ref(struct shared *s); /* one more; returns s */
void shared_unref(struct shared *s);         /* NULL is fine */

#endif
