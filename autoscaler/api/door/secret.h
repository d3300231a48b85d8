/*
 * secret.h - files that hold secrets, and whether they have changed.
 *
 * One that others than its owner and group may read is refused: who has found
 * it that way cannot know who has read it.  The group may, because a Kubernetes
 * Secret reaches a process without root only by its group.  Thread: any.
 */
#ifndef API_DOOR_SECRET_H
#define API_DOOR_SECRET_H

#include <sys/stat.h>

#include "../../base/buf.h"
#include "../../base/err.h"

/* What a file is: two of it differ when it was written or replaced. */
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed, meta; /* what is in it; what is said of it */
    mode_t mode;
    uid_t owner;
};
/* All zero when there is no such file. */
struct stamp stamp_of(const char *path);
bool stamp_same(const struct stamp *a, const struct stamp *b);

/* The text, at most max bytes, into ret (initialised here; wipe it with
 * secret_done()).  key names the setting in errors: INVALID.  secret: must not
 * be readable by others. */
enum status secret_read(const char *path, const char *key, bool secret,
                        size_t max, struct buf *ret, struct err *err);
void secret_done(struct buf *b);

#endif
