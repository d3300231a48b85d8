/*
 * disk.h - a played disk: an SQLite VFS in memory that knows what is synced.
 *
 * What was written and not synced is gone when the power is lost, or some of it
 * is not (whole sectors of any write, as on a real disk).  Every change (write,
 * truncate, sync, delete) has a number, and at any of them a fault can happen.
 * One thread.
 */
#ifndef PLAYED_DISK_H
#define PLAYED_DISK_H

#include <stdbool.h>
#include <stdint.h>

struct disk;

enum disk_fault {
    DISK_WELL,
    DISK_FAILS, /* this change fails (EIO), later ones work */
    DISK_DIES,  /* the power is lost just before this change */
};

/* Registers the VFS `name` (borrowed). */
struct disk *disk_new(const char *name);
void disk_free(struct disk *d); /* every file is closed */

uint64_t disk_changes(const struct disk *d); /* made so far: the first is 1 */
void disk_fault_at(struct disk *d, uint64_t change, enum disk_fault f);
void disk_full(struct disk *d, bool on);     /* no file can grow */
void disk_readonly(struct disk *d, bool on); /* no change at all */

/* Whatever takes its time in a sync: called in each; NULL: none takes any. */
void disk_waits(struct disk *d, void (*wait)(void *arg), void *arg);

/* What is not synced is lost; with a seed other than 0, a part of it.  Whoever
 * has a file open can do no more than close it, before the power is on again. */
void disk_power_loss(struct disk *d, uint64_t seed);
/* The processes are killed: what they wrote stays, synced or not.  Then as
 * after a loss of power. */
void disk_process_gone(struct disk *d);
/* Somebody deletes a file, and what SQLite has beside it, under who has it open: they
 * go on with it, and nobody else finds it. */
void disk_unlink(struct disk *d, const char *name);
/* A file, and its log, as they are now: also while somebody has them open, as a copy
 * of a whole disk has them.  False: there is no such file, or no room. */
bool disk_copy(struct disk *d, const char *from, const char *to);
/* One byte of a file is another; false: there is no such byte. */
bool disk_damage(struct disk *d, const char *name, int64_t at);
bool disk_is_bad(const struct disk *d);  /* full, read-only, about to fail
                                         * or just has */
bool disk_is_dead(const struct disk *d); /* DISK_DIES has come */
void disk_power_on(struct disk *d);

#endif
