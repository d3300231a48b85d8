/*
 * journal_path.c - where the journal lies: beside the configuration file.
 *
 * Earlier versions put it where they were started: a daemon that was started
 * elsewhere had an empty one, found its machines again without their requests,
 * and ended them.  A journal that lies there is still used.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grammar.h"

static bool is_there(const char *path, struct stat *ret)
{
    return stat(path, ret) == 0;
}

/* The file's own folder; "" for what was read from elsewhere, such as a
 * RayCluster, whose name looks like a path. */
static const char *folder(struct arena *a, const struct config *c)
{
    const char *slash = strrchr(c->path, '/');
    struct stat st;

    if (!slash || !is_there(c->path, &st))
        return "";
    return slash == c->path
               ? "/"
               : arena_strndup(a, c->path, (size_t)(slash - c->path));
}

static const char *whole(struct arena *a, const char *path)
{
    char *real = realpath(path, NULL);
    const char *ret = arena_strdup(a, real ? real : path);

    free(real);
    return ret;
}

static bool is_whole(const char *path)
{
    return *path == '/' || strncmp(path, "~/", 2) == 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

enum status config_journal_path(const struct config *c, struct arena *a,
                                const char **ret, const char **elsewhere,
                                struct err *err)
{
    const char *base = folder(a, c), *beside = path_resolve(a, base, c->state);
    bool old, now;
    struct stat here, there;

    *elsewhere = "";
    *ret = c->ha ? c->state : beside;
    if (c->ha || !*base || is_whole(c->state))
        return ST_OK;
    old = is_there(c->state, &here);
    now = is_there(beside, &there);
    if (old && now && !same_file(&here, &there))
        return err_set(err, ST_INVALID,
                       "state: there are two journals, %s beside the "
                       "configuration and %s where davit is started; write the "
                       "whole path of the right one, or move the other away",
                       whole(a, beside), whole(a, c->state));
    if (old && !now)
        *elsewhere = "there is none beside the configuration";
    else if (!now && access(base, W_OK) != 0 && access(".", W_OK) == 0)
        *elsewhere = "the configuration's folder cannot be written to";
    if (**elsewhere)
        *ret = c->state;
    return ST_OK;
}
