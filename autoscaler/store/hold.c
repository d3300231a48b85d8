/*
 * hold.c - one process has a journal, and nobody else may read it.
 *
 * The lock is flock(2) on "<path>.lock": the kernel drops it however the holder
 * dies, and the pid written in it lets the refusal name the holder.  The lock
 * file itself stays.  Who deletes it lets nobody in: the journal has a lock too, of
 * its own kind, on a byte that SQLite knows nothing of.  On a file system that is an
 * SQLite VFS, it is that one's lock on "<path>.lock".
 */
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/outfile.h"

/* A daemon that was killed may have left a child between fork and exec, which
 * still has its lock: wait for it, but only when the holder is dead. */
enum { ORPHAN_STEPS = 500, ORPHAN_STEP_MS = 10, FOUND_MAX = 100 };

static const char *const beside[] = {"", "-wal", "-shm"};
enum { FILES = sizeof beside / sizeof *beside };

/* Where no journal comes to, and no lock of SQLite's. */
static const off_t HOLD_BYTE = INT64_C(1) << 62;

struct hold {
    int fd; /* -1: none */
    /* The journal, locked; -1: none.  To close one takes SQLite's own locks on that
     * file away from the process: only when it is not in use any more. */
    int file;
    VEC(int) before; /* likewise, of files that were at the path; heap */
    bool used;       /* SQLite has opened that which file is of */
    sqlite3 *db;     /* of a VFS: in an exclusive transaction for life */
    struct stat files[FILES]; /* st_ino 0: not seen yet */
    struct stat put;          /* by hold_put(); st_ino 0: nothing */
};

/* Is the process that the lock file names still there? */
static bool holder_lives(int fd, char *holder, size_t n)
{
    ssize_t got = pread(fd, holder, n - 1, 0);
    long pid;

    holder[got > 0 ? got : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    pid = strtol(holder, NULL, 10);
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH);
}

static enum status held_already(const char *path, const char *holder,
                                struct err *err)
{
    return err_set(err, ST_RETRY,
                   "%s: another davit uses it already (process %s); two on one "
                   "journal would launch everything twice",
                   path, *holder ? holder : "unknown");
}

/* Of the file at name, which is the journal or will be.  The caller's; -1. */
static int journal_lock(const char *path, const char *name, struct err *err)
{
    struct flock l = {.l_type = F_WRLCK, .l_start = HOLD_BYTE, .l_len = 1};
    int fd = outfile_open(name, O_RDWR, 0600, err), step = 0;

    while (fd >= 0 && fcntl(fd, F_OFD_SETLK, &l) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN && errno != EACCES)
            return fd; /* a file system without: the other lock holds */
        if (step++ < ORPHAN_STEPS) {
            clock_sleep_ms(ORPHAN_STEP_MS);
            continue;
        }
        held_already(path, "", err);
        close(fd);
        return -1;
    }
    return fd;
}

static enum status file_lock(struct hold *h, const char *path, const char *name,
                             struct err *err)
{
    char holder[32] = "";
    int n;

    h->fd = outfile_open(name, O_RDWR | O_CREAT, 0600, err);
    if (h->fd < 0 && (errno == ENOENT || errno == EACCES || errno == EROFS))
        return err_set(err, ST_INVALID,
                       "%s: cannot be created: %s; `state:` needs a directory "
                       "that exists and may be written",
                       name, strerror(errno));
    if (h->fd < 0)
        return ST_INVALID;
    for (int step = 0; flock(h->fd, LOCK_EX | LOCK_NB) != 0;) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return err_set(err, ST_INVALID, "%s: cannot be locked: %s", name,
                           strerror(errno));
        if (!holder_lives(h->fd, holder, sizeof holder) &&
            step++ < ORPHAN_STEPS) {
            clock_sleep_ms(ORPHAN_STEP_MS);
            continue;
        }
        return held_already(path, holder, err);
    }
    n = snprintf(holder, sizeof holder, "%ld\n", (long)getpid());
    /* The text only helps people: failing to write it is no failure. */
    if (ftruncate(h->fd, 0) != 0 || pwrite(h->fd, holder, (size_t)n, 0) != n)
        return ST_OK;
    return ST_OK;
}

/* Ours to read alone, whoever made it and however: there are requests and
 * owners in it.  A symbolic link could lead a daemon of root anywhere. */
static enum status file_secure(const char *path, int flags, struct err *err)
{
    int fd = outfile_open(path, O_RDWR | flags, 0600, err);
    enum status s = ST_OK;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT && !flags ? ST_OK : ST_INVALID;
    if (fstat(fd, &st) != 0 || (st.st_mode & 077 && fchmod(fd, 0600) != 0))
        s = err_set(err, ST_INVALID,
                    "%s: others may read it, and its mode cannot be changed: "
                    "%s",
                    path, strerror(errno));
    close(fd);
    return s;
}

static void folder_sync(const char *path)
{
    char *dir = mem_strdup(path), *slash = strrchr(dir, '/');
    int fd;

    if (slash)
        slash[slash == dir ? 1 : 0] = '\0';
    fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    if (fd >= 0) {
        fsync(fd); /* some file systems refuse; SQLite itself goes on too */
        close(fd);
    }
}

/* A journal of Davit's has a log (WAL) from its first table on, so a rollback journal
 * beside it is somebody's: SQLite would play it back, and delete what it names. */
static enum status rollback_refuse(const char *path, struct err *err)
{
    unsigned char head[20] = {0};
    char name[4096];
    struct stat st;
    int fd;
    bool is_wal;

    snprintf(name, sizeof name, "%s-journal", path);
    if (lstat(name, &st) != 0)
        return ST_OK;
    fd = outfile_open(path, O_RDONLY, 0600, err);
    if (fd < 0)
        return ST_INVALID;
    is_wal = pread(fd, head, sizeof head, 0) == sizeof head && head[18] == 2;
    close(fd);
    if (is_wal || st.st_uid != geteuid() || !S_ISREG(st.st_mode))
        return err_set(err, ST_INVALID,
                       "%s: Davit makes no such file beside its journal, and "
                       "what is in it would be played back: look whose it is, "
                       "and move it away",
                       name);
    return ST_OK;
}

/* Makes the file, and its name durable; ours alone. */
static enum status file_create(struct hold *h, const char *path,
                               struct err *err)
{
    enum status s = ST_OK;
    char name[4096];

    for (size_t i = 0; s == ST_OK && i < FILES; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        s = file_secure(name, i ? 0 : O_CREAT, err);
    }
    if (s == ST_OK)
        s = rollback_refuse(path, err);
    if (s == ST_OK)
        folder_sync(path);
    if (s == ST_OK && (h->file = journal_lock(path, path, err)) < 0)
        s = err ? err->status : ST_RETRY;
    return s;
}

static enum status vfs_lock(struct hold *h, const char *path, const char *name,
                            const char *vfs, struct err *err)
{
    int rc = sqlite3_open_v2(
        name, &h->db,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(h->db, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return ST_OK;
    if (rc == SQLITE_BUSY)
        return held_already(path, "", err);
    return err_set(err, ST_INVALID, "%s: cannot be locked in %s: %s", name, vfs,
                   sqlite3_errstr(rc));
}

enum status hold_take(const char *path, const char *vfs, struct hold **ret,
                      struct err *err)
{
    struct hold *h = MEM_NEW(struct hold);
    char name[4096];
    enum status s;

    *ret = h;
    h->fd = h->file = -1;
    if (snprintf(name, sizeof name, "%s.lock", path) >= (int)sizeof name)
        return err_set(err, ST_INVALID, "%.80s...: the path is too long", path);
    if (vfs)
        return vfs_lock(h, path, name, vfs, err);
    s = file_lock(h, path, name, err);
    return s == ST_OK ? file_create(h, path, err) : s;
}

/* ---- are they still what was opened? */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

void hold_note(struct hold *h, const char *path)
{
    char name[4096];

    h->used = true;
    for (size_t i = 0; i < FILES && h->fd >= 0; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        if (lstat(name, &h->files[i]) != 0)
            h->files[i].st_ino = 0;
    }
}

static bool has_lock(const struct hold *h, const char *path)
{
    struct stat now, mine;
    char name[4096];

    snprintf(name, sizeof name, "%s.lock", path);
    return fstat(h->fd, &mine) == 0 && lstat(name, &now) == 0 &&
           same_file(&mine, &now);
}

/* Its number may be another file's by now. */
static bool is_put(const struct hold *h, const char *path)
{
    struct stat now;

    return h->put.st_ino && lstat(path, &now) == 0 &&
           same_file(&now, &h->put) &&
           now.st_ctim.tv_sec == h->put.st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == h->put.st_ctim.tv_nsec;
}

bool hold_has_put(const struct hold *h, const char *path)
{
    return is_put(h, path) && has_lock(h, path);
}

bool hold_lost(struct hold *h, const char *path)
{
    struct stat now;
    char name[4096];

    if (h->fd < 0)
        return false;
    for (size_t i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        if (h->files[i].st_ino &&
            (lstat(name, &now) != 0 || !same_file(&now, &h->files[i])))
            return true;
    }
    return !has_lock(h, path);
}

static enum status lock_again(struct hold *h, const char *path, struct err *err)
{
    struct hold now = {.fd = -1, .file = -1};
    char name[4096];
    enum status s;

    if (has_lock(h, path))
        return ST_OK;
    snprintf(name, sizeof name, "%s.lock", path);
    s = file_lock(&now, path, name, err);
    if (s != ST_OK) {
        if (now.fd >= 0)
            close(now.fd);
        return s;
    }
    close(h->fd);
    h->fd = now.fd;
    return ST_OK;
}

/* What was put, and comes to be replaced, has a log of its own. */
static void put_log_remove(const char *path)
{
    char name[4096];

    for (size_t i = 1; i < FILES; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        unlink(name);
    }
}

/* Is one of the names with that number taken, by whatever it is? */
static bool found_taken(const char *path, int n)
{
    char name[4300];
    struct stat st;

    for (size_t i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s.found-%d%s", path, n, beside[i]);
        if (lstat(name, &st) == 0)
            return true;
    }
    return false;
}

/* To the first free name, or over the last: who puts a file there each minute does not
 * fill the disk.  What is at the path itself stays there too, where the file system can
 * do that: a crash leaves a journal there in any case.  Its log goes first: it would be
 * taken for the new one's. */
static enum status found_move(const char *path, struct err *err)
{
    char from[4096], to[4300];
    int n = 1;

    while (n < FOUND_MAX && found_taken(path, n))
        n++;
    for (size_t i = FILES; i-- > 0;) {
        snprintf(from, sizeof from, "%s%s", path, beside[i]);
        snprintf(to, sizeof to, "%s.found-%d%s", path, n, beside[i]);
        unlink(to);
        if (i == 0 && link(from, to) == 0)
            continue;
        if (rename(from, to) != 0 && errno != ENOENT)
            return err_set(err, ST_RETRY, "%s: cannot be moved away: %s", from,
                           strerror(errno));
    }
    return ST_OK;
}

/* The file at fd is at the path from now on.  That of before is SQLite's still. */
static void file_is(struct hold *h, int fd)
{
    if (h->file >= 0 && h->used)
        VEC_PUSH(NULL, &h->before, h->file);
    else if (h->file >= 0)
        close(h->file);
    h->file = fd;
    h->used = false;
}

enum status hold_put(struct hold *h, const char *path, const char *made,
                     struct err *err)
{
    enum status s = lock_again(h, path, err);
    bool was_put = is_put(h, path);
    int fd = -1;

    if (s == ST_OK && (fd = journal_lock(path, made, err)) < 0)
        s = err ? err->status : ST_RETRY;
    if (s == ST_OK && (fchmod(fd, 0600) != 0 || fsync(fd) != 0))
        s = err_set(err, ST_RETRY, "%s: cannot be written: %s", made,
                    strerror(errno));
    if (s == ST_OK && was_put)
        put_log_remove(path);
    else if (s == ST_OK)
        s = found_move(path, err);
    if (s == ST_OK && rename(made, path) != 0)
        s = err_set(err, ST_RETRY, "%s: cannot be put back: %s", path,
                    strerror(errno));
    if (s != ST_OK) {
        if (fd >= 0)
            close(fd);
        return s;
    }
    if (stat(path, &h->put) != 0)
        h->put.st_ino = 0;
    folder_sync(path);
    file_is(h, fd);
    return ST_OK;
}

void hold_release(struct hold *h)
{
    if (!h)
        return;
    sqlite3_close(h->db);
    if (h->file >= 0)
        close(h->file);
    if (h->fd >= 0)
        close(h->fd);
    for (uint32_t i = 0; i < h->before.n; i++)
        close(h->before.v[i]);
    free(h->before.v);
    free(h);
}
