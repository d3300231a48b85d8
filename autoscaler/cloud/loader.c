/*
 * loader.c - from a path to a plug-in's checked table.
 *
 * dlopen() says little about a file that is no plug-in, maps a truncated one
 * happily to die of SIGBUS later, and runs constructors; so the file is judged
 * first, and what was judged is loaded, by its descriptor.  A .so is never
 * unloaded: its threads and atexit handlers would outlive it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "inside.h"

#define ABI_NOW 1
#define ABI_LOOKED_FOR 32
#define TABLE_MAX 65536
#define PLUGINS_MAX 256
#define BUILTINS_MAX 8

uint32_t plugin_dirs(const char *dir, struct arena *a,
                     const char *ret_dirs[PLUGIN_DIRS])
{
    uint32_t n = 0;
    if (dir && dir[0] != '\0')
        ret_dirs[n++] = arena_strdup(a, dir);
    const char *env = getenv("DAVIT_PLUGIN_DIR");
    if (env && env[0] != '\0')
        ret_dirs[n++] = arena_strdup(a, env);
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = '\0'; /* "/usr/bin" */
        ret_dirs[n++] = arena_printf(a, "%s/plugins", self);
        slash = strrchr(self, '/');
    }
    if (slash)
        ret_dirs[n++] = arena_printf(a, "%.*s/lib/davit", (int)(slash - self),
                                     self);
    ret_dirs[n++] = PLUGIN_DIR;
    return n;
}

/* The file by its descriptor, looked at once: what is judged is what is loaded,
 * whatever happens to the path meanwhile. */
static enum status file_open(const char *path, int *ret_fd, struct err *err)
{
    /* O_NONBLOCK: a FIFO of that name must not hold us up. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum status s;

    if (fd < 0 && errno == ENOENT)
        return err_set(err, ST_NOT_FOUND, "%s does not exist", path);
    if (fd < 0)
        return err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    s = elf_check(fd, path, err);
    if (s == ST_OK)
        s = plugin_trust(fd, path, err);
    if (s != ST_OK) {
        close(fd);
        return s;
    }
    *ret_fd = fd;
    return ST_OK;
}

/* By the symbol table, for dlopen() runs constructors. */
static enum status abi_check(int fd, const char *path, struct err *err)
{
    char symbol[40];

    for (int v = 0; v <= ABI_LOOKED_FOR; v++) {
        int abi = v == 0 ? ABI_NOW : v <= ABI_NOW ? v - 1 : v; /* ours first */

        snprintf(symbol, sizeof symbol, "davit_provider_v%d", abi);
        if (!elf_exports(fd, symbol))
            continue;
        if (abi == ABI_NOW)
            return ST_OK;
        return err_set(err, ST_INVALID,
                       "%s is built for plug-in ABI v%d, this daemon speaks "
                       "v%d: %s",
                       path, abi, ABI_NOW,
                       abi < ABI_NOW ? "build it again with today's provider.h"
                                     : "use a newer davit or an older plug-in");
    }
    return err_set(err, ST_INVALID,
                   "%s is a shared object but not a Davit plug-in: it does not "
                   "export davit_provider_v%d()",
                   path, ABI_NOW);
}

static enum status options_check(const struct davit_provider *t,
                                 const char *path, struct err *err)
{
    if (!t->options)
        return ST_OK;
    for (uint32_t n = 0; t->options[n].key; n++) {
        const struct davit_kv *o = &t->options[n];
        if (n >= 512 || !plugin_text_ok(o->key, 128) || o->key[0] == '\0')
            return err_set(err, ST_INVALID,
                           "%s: its option table is damaged at entry %u; it "
                           "must end with {0}",
                           path, n);
        if (!o->value || !plugin_text_ok(o->value, 400))
            return err_set(err, ST_INVALID,
                           "%s: its option %s has no help line", path, o->key);
    }
    return ST_OK;
}

/* Mandatory is what a fleet cannot do without; the rest may be absent. */
static enum status table_check(const struct davit_provider *t, const char *path,
                               struct err *err)
{
    if (!t)
        return err_set(err, ST_INVALID,
                       "%s: davit_provider_v%d() returned no table", path,
                       ABI_NOW);
    if (!DAVIT_HAS(t, struct davit_provider, terminate) || t->size > TABLE_MAX)
        return err_set(
            err, ST_INVALID,
            "%s: its table says size %u; at least %zu is needed (up to "
            "terminate): set .size = sizeof(struct davit_provider)",
            path, t->size,
            offsetof(struct davit_provider, terminate) + sizeof t->terminate);
    if (!t->name || t->name[0] == '\0' || !plugin_text_ok(t->name, 31) ||
        !t->version || !plugin_text_ok(t->version, 63))
        return err_set(err, ST_INVALID,
                       "%s: its name (1 to 31 bytes) or version (up to 63) is "
                       "missing or not printable",
                       path);
    const char *lacks = !t->open        ? "open"
                        : !t->close     ? "close"
                        : !t->list      ? "list"
                        : !t->launch    ? "launch"
                        : !t->terminate ? "terminate"
                                        : NULL;
    if (lacks)
        return err_set(err, ST_INVALID, "%s: its table has no %s()", path,
                       lacks);
    if ((t->caps & DAVIT_CAP_OFFERS) != 0 &&
        (!DAVIT_HAS(t, struct davit_provider, offers) || !t->offers))
        return err_set(err, ST_INVALID,
                       "%s: it claims DAVIT_CAP_OFFERS but has no offers()",
                       path);
    return options_check(t, path, err);
}

/* ---- what is loaded: a descriptor stays open with its .so, so that its path
 * below /proc/self/fd, by which the loader knows it, never means another */

static struct loaded {
    dev_t dev;
    ino_t ino;
    void *so;
} loaded[PLUGINS_MAX];
static uint32_t n_loaded;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static enum status so_open(int fd, const char *path, void **ret,
                           struct err *err)
{
    char at[40], clean[300];
    const char *why;

    snprintf(at, sizeof at, "/proc/self/fd/%d", fd);
    *ret = dlopen(at, RTLD_NOW | RTLD_LOCAL);
    if (*ret)
        return ST_OK;
    why = dlerror();
    /* The loader repeats the path first. */
    if (why && strncmp(why, at, strlen(at)) == 0 &&
        strncmp(why + strlen(at), ": ", 2) == 0)
        why += strlen(at) + 2;
    plugin_text_clean(why ? why : "?", why ? strlen(why) : 1, clean,
                      sizeof clean);
    return err_set(err, ST_INVALID, "%s cannot be loaded: %s%s", path, clean,
                   strstr(clean, "undefined symbol")
                       ? " (a plug-in must not use the daemon's symbols; "
                         "link with -Wl,--no-undefined)"
                       : "");
}

/* Takes the descriptor. */
static enum status so_find(int fd, const char *path, void **ret,
                           struct err *err)
{
    enum status s = ST_OK;
    struct stat st;

    *ret = NULL;
    if (fstat(fd, &st) != 0)
        s = err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    for (uint32_t i = 0; s == ST_OK && i < n_loaded; i++)
        if (loaded[i].dev == st.st_dev && loaded[i].ino == st.st_ino)
            *ret = loaded[i].so;
    if (s == ST_OK && !*ret && n_loaded == PLUGINS_MAX)
        s = err_set(err, ST_INVALID, "%s: %d plug-ins are loaded already", path,
                    PLUGINS_MAX);
    if (s != ST_OK || *ret) {
        close(fd);
        return s;
    }
    s = so_open(fd, path, ret, err);
    if (s == ST_OK)
        loaded[n_loaded++] = (struct loaded){st.st_dev, st.st_ino, *ret};
    else
        close(fd);
    return s;
}

enum status plugin_load(const char *path, const struct davit_provider **ret,
                        struct err *err)
{
    const struct davit_provider *(*entry)(void), *t;
    char symbol[40];
    void *so, *found;
    enum status s;
    int fd = -1;

    *ret = NULL;
    s = file_open(path, &fd, err);
    if (s != ST_OK)
        return s;
    s = abi_check(fd, path, err);
    if (s != ST_OK) {
        close(fd);
        return s;
    }
    pthread_mutex_lock(&loading);
    s = so_find(fd, path, &so, err);
    pthread_mutex_unlock(&loading);
    if (s != ST_OK)
        return s;
    snprintf(symbol, sizeof symbol, "davit_provider_v%d", ABI_NOW);
    found = dlsym(so, symbol);
    if (!found)
        return err_set(err, ST_INVALID, "%s: the loader finds no %s()", path,
                       symbol);
    memcpy(&entry, &found, sizeof entry);
    t = entry();
    s = table_check(t, path, err);
    if (s == ST_OK)
        *ret = t;
    return s;
}

static const struct davit_provider *builtins[BUILTINS_MAX];

void plugin_builtin(const struct davit_provider *table)
{
    struct err err;

    if (table_check(table, "a built-in plug-in", &err) != ST_OK)
        abort();
    for (uint32_t i = 0; i < BUILTINS_MAX; i++)
        if (!builtins[i] || strcmp(builtins[i]->name, table->name) == 0) {
            builtins[i] = table;
            return;
        }
    abort();
}

const struct davit_provider *plugin_builtin_find(const char *name)
{
    for (uint32_t i = 0; i < BUILTINS_MAX && builtins[i]; i++)
        if (strcmp(builtins[i]->name, name) == 0)
            return builtins[i];
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of davit-*.so in a directory, sorted; their number. */
static uint32_t dir_plugins(const char *dir, struct arena *a,
                            const char *ret[PLUGINS_MAX])
{
    DIR *d = opendir(dir);
    uint32_t n = 0;
    if (!d)
        return 0;
    for (struct dirent *e; n < PLUGINS_MAX && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len > 9 && strncmp(e->d_name, "davit-", 6) == 0 &&
            strcmp(e->d_name + len - 3, ".so") == 0)
            ret[n++] = arena_strdup(a, e->d_name);
    }
    closedir(d);
    qsort(ret, n, sizeof ret[0], by_name);
    return n;
}

void plugins_each(const char *dir,
                  void (*each)(void *arg, const struct plugin_info *info,
                               const char *path, const char *problem),
                  void *arg)
{
    struct arena a = {0};
    const char *dirs[PLUGIN_DIRS];
    VEC(const char *) seen = {0};
    uint32_t n_dirs = plugin_dirs(dir, &a, dirs);
    for (uint32_t i = 0; i < n_dirs; i++) {
        const char *names[PLUGINS_MAX];
        uint32_t n = dir_plugins(dirs[i], &a, names);
        for (uint32_t k = 0; k < n; k++) {
            bool hidden = false; /* by one of the same name found earlier */
            for (uint32_t j = 0; !hidden && j < seen.n; j++)
                hidden = strcmp(seen.v[j], names[k]) == 0;
            if (hidden)
                continue;
            VEC_PUSH(&a, &seen, names[k]);
            const char *path = arena_printf(&a, "%s/%s", dirs[i], names[k]);
            const struct davit_provider *t;
            struct err err = {0};
            if (plugin_load(path, &t, &err) != ST_OK) {
                each(arg, NULL, path, err.text);
                continue;
            }
            static const struct davit_kv none[1];
            struct plugin_info info = {
                .name = t->name,
                .version = t->version,
                .path = path,
                .caps = t->caps,
                .options = t->options ? t->options : none};
            each(arg, &info, path, NULL);
        }
    }
    arena_done(&a);
}
