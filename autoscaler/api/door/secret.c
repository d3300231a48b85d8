/*
 * secret.c - see secret.h.
 */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <unistd.h>

struct stamp stamp_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return (struct stamp){0};
    return (struct stamp){.dev = st.st_dev,
                          .ino = st.st_ino,
                          .size = st.st_size,
                          .changed = st.st_mtim,
                          .meta = st.st_ctim,
                          .mode = st.st_mode,
                          .owner = st.st_uid};
}

static bool at_once(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Who writes a file in place may set its time back, but not its ctime. */
bool stamp_same(const struct stamp *a, const struct stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mode == b->mode && a->owner == b->owner &&
           at_once(a->changed, b->changed) && at_once(a->meta, b->meta);
}

/* Is what was opened fit to be trusted? */
static enum status check(const struct stat *st, const char *path,
                         const char *key, bool secret, struct err *err)
{
    if (!S_ISREG(st->st_mode))
        return err_set(err, ST_INVALID, "%s: %s is no file", key, path);
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return err_set(
            err, ST_INVALID,
            "%s: %s belongs to user %u: it must belong to us or root", key,
            path, (unsigned)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ST_INVALID,
                       "%s: %s may be written by others (mode %04o); chmod "
                       "go-w",
                       key, path, (unsigned)(st->st_mode & 07777));
    if (secret && st->st_mode & S_IRWXO)
        return err_set(err, ST_INVALID,
                       "%s: %s may be read by everybody on this machine (mode "
                       "%04o); chmod 0600 it, and make a new one if somebody "
                       "could have read it. In Kubernetes: defaultMode: 0440 "
                       "of the volume, with fsGroup",
                       key, path, (unsigned)(st->st_mode & 07777));
    return ST_OK;
}

enum status secret_read(const char *path, const char *key, bool secret,
                        size_t max, struct buf *ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    enum status s = ST_OK;
    struct stat st;
    char part[4096];
    ssize_t n = -1;

    buf_init(ret, max);
    if (fd < 0 || fstat(fd, &st) != 0)
        s = err_set(err, ST_INVALID, "%s: cannot read %s: %s", key, path,
                    strerror(errno));
    if (s == ST_OK)
        s = check(&st, path, key, secret, err);
    while (s == ST_OK && (n = read(fd, part, sizeof part)) > 0)
        buf_add(ret, part, (size_t)n);
    OPENSSL_cleanse(part, sizeof part);
    if (s == ST_OK && (n < 0 || ret->full))
        s = err_set(err, ST_INVALID, "%s: %s %s", key, path,
                    n < 0 ? "cannot be read" : "is too large");
    if (fd >= 0)
        close(fd);
    if (s != ST_OK)
        secret_done(ret);
    return s;
}

void secret_done(struct buf *b)
{
    if (b->cap)
        OPENSSL_cleanse(b->s, b->cap);
    buf_done(b);
}
