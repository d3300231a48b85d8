/*
 * exposed.c - see exposed.h.
 */
#include "exposed.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"

struct note {
    char path[1024];
    const char *what;
    bool secret;
    mode_t mode; /* of others, and of all; 0: there is none here */
};

static struct note notes[EXPOSED_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *sentence(const struct note *n, struct arena *a)
{
    bool reads = n->secret && n->mode & S_IROTH, writes = n->mode & S_IWOTH;

    return arena_printf(
        a,
        "%s %s may be %s by every user of this machine (mode %04o): chmod "
        "o-rwx it%s",
        n->what, n->path,
        reads && writes ? "read and written"
        : writes        ? "written"
                        : "read",
        (unsigned)n->mode,
        reads ? ", and replace the secrets in it if others could have read "
                "them"
              : "");
}

/* The place of this path, or a free one; NULL: all are taken. */
static struct note *place(const char *path)
{
    struct note *free_one = NULL;

    for (int i = 0; i < EXPOSED_MAX; i++) {
        if (notes[i].mode && strcmp(notes[i].path, path) == 0)
            return &notes[i];
        if (!notes[i].mode && !free_one)
            free_one = &notes[i];
    }
    return free_one;
}

/* True: it is told for the first time. */
static bool note_put(const char *path, const char *what, bool secret,
                     mode_t mode, struct note *ret)
{
    struct note *n;
    bool fresh = false;

    pthread_mutex_lock(&lock);
    n = place(path);
    if (n) {
        fresh = mode && mode != n->mode;
        snprintf(n->path, sizeof n->path, "%s", path);
        n->what = what;
        n->secret = secret;
        n->mode = mode;
        *ret = *n;
    }
    pthread_mutex_unlock(&lock);
    return fresh;
}

/* As it is now; 0: others may not, or there is no such file. */
static mode_t mode_of(const char *path, bool secret)
{
    mode_t bad = S_IWOTH | (secret ? S_IROTH : 0u);
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    return st.st_mode & bad ? st.st_mode & 07777 : 0;
}

void exposed_look(const char *path, const char *what, bool secret)
{
    struct arena a = {0};
    struct note n;
    mode_t mode;

    if (strlen(path) >= sizeof n.path)
        return;
    mode = mode_of(path, secret);
    if (note_put(path, what, secret, mode, &n))
        log_warn("%s", sentence(&n, &a));
    arena_done(&a);
}

uint32_t exposed_list(struct arena *a, const char *ret[EXPOSED_MAX])
{
    uint32_t n = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < EXPOSED_MAX; i++) {
        if (notes[i].mode)
            notes[i].mode = mode_of(notes[i].path, notes[i].secret);
        if (notes[i].mode)
            ret[n++] = sentence(&notes[i], a);
    }
    pthread_mutex_unlock(&lock);
    return n;
}
