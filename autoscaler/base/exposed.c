/*
 * exposed.c - see exposed.h.
 */
#include "exposed.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

struct note {
    char path[1024];
    const char *what;
    bool secret;
    mode_t mode; /* st_mode, if others may; 0: they may not */
    uid_t owner;
};

static struct note notes[EXPOSED_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *sentence(const struct note *n, struct arena *a)
{
    bool reads, writes;

    if (S_ISDIR(n->mode))
        return arena_printf(
            a,
            "%s %s (mode %04o, of the user %u) lets others of this machine "
            "replace what is in it: use one of Davit's own user, with mode "
            "0700",
            n->what, n->path, (unsigned)n->mode & 07777, (unsigned)n->owner);
    reads = n->secret && n->mode & S_IROTH;
    writes = n->mode & S_IWOTH;
    return arena_printf(
        a,
        "%s %s may be %s by every user of this machine (mode %04o): chmod "
        "o-rwx it%s",
        n->what, n->path,
        reads && writes ? "read and written"
        : writes        ? "written"
                        : "read",
        (unsigned)n->mode & 07777,
        reads ? ", and replace the secrets in it if others could have read "
                "them"
              : "");
}

/* The place of this path, or a free one, or that of one which is closed; NULL: there is
 * none. */
static struct note *place(const char *path)
{
    struct note *free_one = NULL;

    for (int i = 0; i < EXPOSED_MAX; i++) {
        if (notes[i].path[0] && strcmp(notes[i].path, path) == 0)
            return &notes[i];
        if (!free_one || (free_one->path[0] && !notes[i].path[0]))
            free_one = notes[i].mode ? free_one : &notes[i];
    }
    return free_one;
}

static bool folder_open(const struct stat *st)
{
    mode_t bad = S_IWOTH | (st->st_gid != getegid() ? S_IWGRP : 0u);

    return (st->st_uid != geteuid() && st->st_uid != 0) ||
           (st->st_mode & bad && !(st->st_mode & S_ISVTX));
}

/* As it is now: true if others may. */
static bool is_open(struct note *n)
{
    mode_t bad = S_IWOTH | (n->secret ? S_IROTH : 0u);
    struct stat st;

    n->mode = 0;
    if (stat(n->path, &st) != 0)
        return false;
    if (S_ISREG(st.st_mode) ? st.st_mode & bad
                            : S_ISDIR(st.st_mode) && folder_open(&st))
        n->mode = st.st_mode;
    n->owner = st.st_uid;
    return n->mode;
}

void exposed_look(const char *path, const char *what, bool secret)
{
    struct note now = {.what = what, .secret = secret}, *n;
    struct arena a = {0};
    bool fresh = false;

    if (strlen(path) >= sizeof now.path)
        return;
    memcpy(now.path, path, strlen(path) + 1);
    is_open(&now);
    pthread_mutex_lock(&lock);
    n = place(path);
    if (n) {
        fresh = now.mode && now.mode != n->mode;
        *n = now;
    }
    pthread_mutex_unlock(&lock);
    if (fresh)
        log_warn("%s", sentence(&now, &a));
    arena_done(&a);
}

void exposed_folder(const char *file, const char *what)
{
    const char *slash = strrchr(file, '/');
    struct arena a = {0};

    exposed_look(!slash ? "."
                 : slash == file
                     ? "/"
                     : arena_strndup(&a, file, (size_t)(slash - file)),
                 what, false);
    arena_done(&a);
}

uint32_t exposed_list(struct arena *a, const char *ret[EXPOSED_MAX])
{
    uint32_t n = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < EXPOSED_MAX; i++) {
        const mode_t was = notes[i].mode;

        if (!notes[i].path[0] || !is_open(&notes[i]))
            continue;
        ret[n++] = sentence(&notes[i], a);
        if (!was)
            log_warn("%s", ret[n - 1]);
    }
    pthread_mutex_unlock(&lock);
    return n;
}
