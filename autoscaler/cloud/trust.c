/*
 * trust.c - whose code do we run?  Files of root and of who runs davit, in
 * folders of theirs, which nobody else can write.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"

static enum status judge(const struct stat *st, const char *path,
                         const char *what, const char *which, struct err *err)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return err_set(err, ST_INVALID,
                       "%s is not loaded: %s%s belongs to user %u; a plug-in "
                       "and its folder must belong to root or to who runs "
                       "davit (user %u)",
                       path, what, which, st->st_uid, geteuid());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ST_INVALID,
                       "%s is not loaded: %s%s can be written by others (mode "
                       "%04o); chmod go-w it",
                       path, what, which, st->st_mode & 07777u);
    return ST_OK;
}

enum status plugin_trust(int fd, const char *path, struct err *err)
{
    char link[40], real[PATH_MAX], *slash;
    struct stat st;
    enum status s;
    ssize_t n;

    if (fstat(fd, &st) != 0)
        return err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    s = judge(&st, path, "it", "", err);
    if (s != ST_OK)
        return s;
    /* The folder it lies in, links followed. */
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, real, sizeof real - 1);
    if (n < 0)
        return err_set(err, ST_INVALID, "%s: %s: %s", path, link,
                       strerror(errno));
    real[n] = '\0';
    slash = strrchr(real, '/');
    if (slash)
        slash[slash == real] = '\0';
    if (stat(slash ? real : "/", &st) != 0)
        return err_set(err, ST_INVALID, "%s: its folder %.100s: %s", path, real,
                       strerror(errno));
    return judge(&st, path, "its folder ", real, err);
}
