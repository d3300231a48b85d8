/*
 * loader.c - from a path to a plug-in's checked table.
 *
 * dlopen() says little about a file that is no plug-in, and maps a truncated
 * one happily to die of SIGBUS later; so the file is looked at first.  A .so
 * is never unloaded: its threads and atexit handlers would outlive it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"

#define ABI_NOW 1
#define ABI_LOOKED_FOR 32
#define TABLE_MAX 65536
#define PLUGINS_MAX 256
#define BUILTINS_MAX 8

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OUR_MACHINE EM_S390
#else
#error "add this machine's ELF number"
#endif

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
    if (len > 0) {
        self[len] = '\0';
        char *slash = strrchr(self, '/');
        if (slash)
            ret_dirs[n++] = arena_printf(a, "%.*s/plugins", (int)(slash - self),
                                         self);
    }
    ret_dirs[n++] = PLUGIN_DIR;
    return n;
}

static const char *machine_name(unsigned m)
{
    switch (m) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "arm64";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "POWER";
    case EM_S390: return "s390";
    case EM_386: return "32-bit x86";
    case EM_ARM: return "32-bit ARM";
    default: return "another machine";
    }
}

/* All segments must lie in the file, or touching them raises SIGBUS. */
static enum status elf_whole(int fd, const char *path, const Elf64_Ehdr *h,
                             off_t size, struct err *err)
{
    bool whole = h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum > 0;
    for (unsigned i = 0; whole && i < h->e_phnum; i++) {
        Elf64_Phdr ph;
        uint64_t at = h->e_phoff + (uint64_t)i * sizeof ph;
        whole = at <= (uint64_t)size &&
                pread(fd, &ph, sizeof ph, (off_t)at) == (ssize_t)sizeof ph &&
                ph.p_offset <= (uint64_t)size &&
                ph.p_filesz <= (uint64_t)size - ph.p_offset;
    }
    if (!whole)
        return err_set(err, ST_INVALID,
                       "%s is cut short or damaged: install it again", path);
    return ST_OK;
}

static enum status elf_check(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(err, ST_INVALID,
                       "%s is a directory; a plug-in is a .so file", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ST_INVALID,
                       "%s is not a regular file; a plug-in is a .so file",
                       path);
    Elf64_Ehdr h;
    ssize_t got = pread(fd, &h, sizeof h, 0);
    if (got < (ssize_t)SELFMAG || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, ST_INVALID,
                       "%s is not a shared object (no ELF header): a plug-in "
                       "is compiled with cc -shared -fPIC",
                       path);
    if (got < (ssize_t)sizeof h)
        return err_set(err, ST_INVALID,
                       "%s is cut short or damaged: install it again", path);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != OUR_MACHINE)
        return err_set(err, ST_INVALID, "%s is built for %s, this is %s", path,
                       machine_name(h.e_machine), machine_name(OUR_MACHINE));
    if (h.e_type != ET_DYN)
        return err_set(err, ST_INVALID,
                       "%s is ELF but not a shared object: a plug-in is linked "
                       "with cc -shared",
                       path);
    return elf_whole(fd, path, &h, st.st_size, err);
}

static enum status file_check(const char *path, struct err *err)
{
    /* O_NONBLOCK: a FIFO of that name must not hold us up. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ST_NOT_FOUND, "%s does not exist", path);
    if (fd < 0)
        return err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    enum status s = elf_check(fd, path, err);
    close(fd);
    return s;
}

static enum status wrong_abi(void *so, const char *path, struct err *err)
{
    for (int v = 0; v <= ABI_LOOKED_FOR; v++) {
        char symbol[40];
        snprintf(symbol, sizeof symbol, "davit_provider_v%d", v);
        if (v == ABI_NOW || !dlsym(so, symbol))
            continue;
        return err_set(err, ST_INVALID,
                       "%s is built for plug-in ABI v%d, this daemon speaks "
                       "v%d: %s",
                       path, v, ABI_NOW,
                       v < ABI_NOW ? "build it again with today's provider.h"
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

enum status plugin_load(const char *path, const struct davit_provider **ret,
                        struct err *err)
{
    *ret = NULL;
    enum status s = file_check(path, err);
    if (s != ST_OK)
        return s;
    /* Without a slash dlopen() would search elsewhere. */
    char at[PATH_MAX];
    if (snprintf(at, sizeof at, "%s%s", strchr(path, '/') ? "" : "./", path) >=
        (int)sizeof at)
        return err_set(err, ST_INVALID, "the path of a plug-in is too long");
    void *so = dlopen(at, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        const char *why = dlerror();
        /* The loader repeats the path first; say it once. */
        if (why && strncmp(why, at, strlen(at)) == 0 &&
            strncmp(why + strlen(at), ": ", 2) == 0)
            why += strlen(at) + 2;
        char clean[300];
        plugin_text_clean(why ? why : "?", why ? strlen(why) : 1, clean,
                          sizeof clean);
        return err_set(err, ST_INVALID, "%s cannot be loaded: %s%s", path,
                       clean,
                       strstr(clean, "undefined symbol")
                           ? " (a plug-in must not use the daemon's symbols; "
                             "link with -Wl,--no-undefined)"
                           : "");
    }
    char symbol[40];
    snprintf(symbol, sizeof symbol, "davit_provider_v%d", ABI_NOW);
    void *found = dlsym(so, symbol);
    if (!found)
        return wrong_abi(so, path, err);
    const struct davit_provider *(*entry)(void);
    memcpy(&entry, &found, sizeof entry);
    const struct davit_provider *t = entry();
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
