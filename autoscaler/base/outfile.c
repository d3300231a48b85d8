/*
 * outfile.c - see outfile.h.
 */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "random.h"

enum { LOCK_MS = 10000, LOCK_LOOK_NS = 20000000 };

static const char *reason(int e)
{
    return e == ELOOP ? "it is a symbolic link; name the file that it leads to"
                      : strerror(e);
}

static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == 0;
}

/* "" when it may be written. */
static const char *fault(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "it is no regular file";
    if (!is_ours(st))
        return "it belongs to somebody else, who may have put it there";
    if (st->st_nlink > 1)
        return "it has another name too, a hard link";
    return "";
}

int outfile_open(const char *path, int flags, mode_t mode, struct err *err)
{
    const int guards = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
    int fd = open(path, (flags & ~O_TRUNC) | guards, mode);
    const char *why = "";
    struct stat st;

    if (fd < 0) {
        int e = errno;

        err_set(err, ST_INVALID, "%s: cannot be written: %s", path, reason(e));
        errno = e;
        return -1;
    }
    if (fstat(fd, &st) != 0 ||
        (flags & O_TRUNC && !*fault(&st) && ftruncate(fd, 0) != 0))
        why = strerror(errno);
    else
        why = fault(&st);
    if (*why) {
        err_set(err, ST_INVALID, "%s: cannot be written: %s", path, why);
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

enum status outfile_folder(const char *path, struct err *err)
{
    struct stat st;
    int fd;

    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_set(err, ST_INVALID, "%s: %s", path,
                errno == ENOTDIR || errno == ELOOP
                    ? "it is no folder, or a symbolic link"
                    : strerror(errno));
        if (fd >= 0)
            close(fd);
        return ST_INVALID;
    }
    close(fd);
    /* a user's own group is his alone, and often may write what he makes */
    if (is_ours(&st) && !(st.st_mode & 002) &&
        (!(st.st_mode & 020) || st.st_gid == getegid()))
        return ST_OK;
    return err_set(err, ST_INVALID,
                   "%s: %s could put links into it: make a folder of your own, "
                   "with mode 0700",
                   path, is_ours(&st) ? "others" : "somebody else");
}

bool outfile_put(int fd, const void *text, size_t n)
{
    const char *p = text;

    while (n > 0) {
        ssize_t put = write(fd, p, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            errno = put < 0 ? errno : ENOSPC;
            return false;
        }
        p += put;
        n -= (size_t)put;
    }
    return true;
}

static char *folder_of(const char *path)
{
    char *dir = mem_strdup(path), *slash = strrchr(dir, '/');

    if (slash) {
        slash[slash == dir] = '\0';
        return dir;
    }
    free(dir);
    return mem_strdup(".");
}

static void folder_sync(const char *path)
{
    char *dir = folder_of(path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(dir);
    if (fd < 0)
        return;
    fsync(fd); /* some file systems refuse */
    close(fd);
}

/* The file itself, which others cannot open; its folder, as long as there is no file. */
static int lock_open(const char *path, const char *dir)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    return fd < 0 && errno == ENOENT
               ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
               : fd;
}

/* Is it still what is there?  Who changes a file puts another one in its place. */
static bool lock_holds(int fd, const char *path)
{
    struct stat mine, now;

    if (fstat(fd, &mine) != 0)
        return false;
    if (lstat(path, &now) != 0)
        return S_ISDIR(mine.st_mode);
    return mine.st_dev == now.st_dev && mine.st_ino == now.st_ino;
}

int outfile_lock(const char *path, struct err *err)
{
    const int64_t until = clock_mono_ms() + LOCK_MS;
    const struct timespec pause = {0, LOCK_LOOK_NS};
    char *dir = folder_of(path);
    int fd;

    while ((fd = lock_open(path, dir)) >= 0) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && lock_holds(fd, path))
            break;
        close(fd);
        if (clock_mono_ms() >= until) {
            err_set(err, ST_RETRY,
                    "%s: another process has locked it, or its folder, for %d "
                    "s: lslocks names it",
                    path, LOCK_MS / 1000);
            free(dir);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    if (fd < 0)
        err_set(err, ST_INVALID, "%s: %s", path, reason(errno));
    free(dir);
    return fd;
}

/* As the file that it replaces: a daemon of another user goes on reading it. */
static bool likeness(int fd, const struct stat *old)
{
    struct stat now;

    return fstat(fd, &now) == 0 &&
           ((now.st_uid == old->st_uid && now.st_gid == old->st_gid) ||
            fchown(fd, old->st_uid, old->st_gid) == 0) &&
           fchmod(fd, old->st_mode & 07777) == 0;
}

enum status outfile_replace(const char *path, const void *text, size_t n,
                            struct err *err)
{
    struct stat old = {0};
    bool there = lstat(path, &old) == 0, done;
    char part[4096];
    uint64_t x;
    int fd;

    random_bytes(&x, sizeof x);
    if (there && !S_ISREG(old.st_mode))
        return err_set(err, ST_INVALID, "%s: cannot be written: %s", path,
                       reason(S_ISLNK(old.st_mode) ? ELOOP : EISDIR));
    if (snprintf(part, sizeof part, "%s.%016llx", path,
                 (unsigned long long)x) >= (int)sizeof part)
        return err_set(err, ST_INVALID, "%.80s...: the path is too long", path);
    fd = outfile_open(part, O_WRONLY | O_CREAT | O_EXCL, 0600, err);
    if (fd < 0)
        return ST_INVALID;
    if (there && !likeness(fd, &old)) {
        err_set(err, ST_INVALID,
                "%s: cannot be written with the owner, group and mode that it "
                "has: %s",
                path, strerror(errno));
        close(fd);
        unlink(part);
        return ST_INVALID;
    }
    done = outfile_put(fd, text, n) && fsync(fd) == 0 &&
           rename(part, path) == 0;
    if (!done)
        err_set(err, ST_INVALID, "%s: cannot be written: %s", path,
                strerror(errno));
    close(fd);
    if (!done) {
        unlink(part);
        return ST_INVALID;
    }
    folder_sync(path);
    return ST_OK;
}
