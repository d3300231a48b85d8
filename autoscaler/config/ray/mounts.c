/*
 * mounts.c - see mounts.h.
 *
 * Mount i is "i/" in the archive: what a folder has in it, or the one file.  The
 * machine unpacks all into a folder of its own and copies each to where it
 * belongs, for only there the user's home is known.
 */
#include "mounts.h"

#include <errno.h>
#include <fts.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/digest.h"
#include "../../base/gzip.h"
#include "../file.h"
#include "exclude.h"
#include "script.h"
#include "tar.h"

#define MOST_BYTES 1048576 /* of all files: no user data takes more */
enum { MOST_ENTRIES = 4096, LINE = 57, OWNER_ONLY = 044 };

struct rule {
    const char *pattern;
    size_t root; /* where in a path it begins: behind its folder */
    int level;   /* of the folder that has it; 0: for all */
};

struct walk {
    struct raw *d;
    const struct ynode *at, *filters;
    VEC(struct rule) rules;
    struct buf tar, unpack;
    size_t bytes, entries;
    uint32_t mount; /* the one that is read */
    size_t root;    /* where, in a path, what is below the mount begins */
    bool bad;
};

static void mistake(struct walk *w, const char *path, const char *what)
{
    struct raw *d = w->d;

    w->bad = true;
    diag_add(d->r.diag, w->at,
             "%s of file_mounts or cluster_synced_files: %s; put it here, or "
             "take it out of the file",
             diag_quote(d->r.arena, path), what);
}

static void left_out(struct walk *w, const char *path, const char *why)
{
    diag_warn(w->d->r.diag, w->at, "%s is not copied: %s",
              diag_quote(w->d->r.arena, path), why);
}

/* ---- what is left out */

static void rules_add(struct walk *w, const struct ynode *list)
{
    for (uint32_t i = 0; list && list->kind == YNODE_LIST && i < list->n; i++) {
        struct rule r = {dialect_text(list->items[i]), 0, 0};
        VEC_PUSH(w->d->r.arena, &w->rules, r);
    }
}

/* The lines of a folder's .gitignore, say: each a pattern. */
static void filter_read(struct walk *w, const FTSENT *e, const char *name)
{
    struct arena *a = w->d->r.arena;
    struct err err;
    char *text, *rest = NULL;
    size_t n;

    if (!*name || strchr(name, '/') ||
        file_slurp(arena_printf(a, "%s/%s", e->fts_path, name), MOST_BYTES,
                   &text, &n, &err) != ST_OK)
        return;
    for (char *line = strtok_r(text, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        struct rule r = {arena_strdup(a, line), e->fts_pathlen + 1U,
                         e->fts_level + 1};
        if (*line != '#' && *line != ';')
            VEC_PUSH(a, &w->rules, r);
    }
    free(text);
}

static void filters_read(struct walk *w, const FTSENT *e)
{
    const struct ynode *list = w->filters;

    for (uint32_t i = 0; list && list->kind == YNODE_LIST && i < list->n; i++)
        filter_read(w, e, dialect_text(list->items[i]));
}

static void filters_drop(struct walk *w, const FTSENT *e)
{
    while (w->rules.n && w->rules.v[w->rules.n - 1].level > e->fts_level)
        w->rules.n--;
}

static bool excluded(const struct walk *w, const FTSENT *e)
{
    bool folder = e->fts_info == FTS_D;

    if (folder && e->fts_level == 0)
        return false;
    for (uint32_t i = 0; i < w->rules.n; i++) {
        const struct rule *r = &w->rules.v[i];
        size_t root = r->root > w->root ? r->root : w->root;
        if (exclude_fits(r->pattern, e->fts_path + root, folder))
            return true;
    }
    return false;
}

/* ---- one file, one folder, one link */

static void put(struct walk *w, const FTSENT *e, enum tar_kind kind,
                const char *data, size_t n)
{
    struct raw *d = w->d;
    const char *below = e->fts_pathlen > w->root ? e->fts_path + w->root : "";
    struct tar_entry t = {.kind = kind,
                          .name = arena_printf(d->r.arena, "%u%s%s", w->mount,
                                               *below ? "/" : "", below),
                          .mode = e->fts_statp->st_mode & 07777,
                          .data = data,
                          .n = n};

    if (!tar_add(&w->tar, &t))
        left_out(w, e->fts_path,
                 "its name, or where the link leads, is too long");
    w->entries++;
    w->bytes += n;
}

static void file_put(struct walk *w, const FTSENT *e)
{
    struct raw *d = w->d;
    struct err err;
    char *text;
    size_t n;

    if (w->bytes > MOST_BYTES)
        return;
    if (e->fts_statp->st_size > MOST_BYTES) { /* counted, not read */
        w->bytes += (size_t)e->fts_statp->st_size;
        return;
    }
    if (file_slurp(e->fts_accpath, MOST_BYTES, &text, &n, &err) != ST_OK) {
        mistake(w, e->fts_path, err.text);
        return;
    }
    if (!(e->fts_statp->st_mode & OWNER_ONLY))
        diag_warn(d->r.diag, w->at,
                  "%s can be read by its owner alone here, and will be in the "
                  "machines' user data, which others may read: keep secrets in "
                  "the cloud's own store and fetch them by setup_commands",
                  diag_quote(d->r.arena, e->fts_path));
    put(w, e, TAR_FILE, text, n);
    free(text);
}

static void link_put(struct walk *w, const FTSENT *e)
{
    char to[4096];
    ssize_t n = readlink(e->fts_accpath, to, sizeof to);

    if (n >= 0)
        put(w, e, TAR_LINK, to, (size_t)n);
}

static void entry(struct walk *w, FTS *f, FTSENT *e)
{
    switch (e->fts_info) {
    case FTS_D:
        put(w, e, TAR_FOLDER, "", 0);
        filters_read(w, e);
        break;
    case FTS_F: file_put(w, e); break;
    case FTS_SL:
    case FTS_SLNONE: link_put(w, e); break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: mistake(w, e->fts_path, strerror(e->fts_errno)); break;
    default: left_out(w, e->fts_path, "it is no file, folder or link");
    }
    if (w->entries > MOST_ENTRIES || w->bytes > MOST_BYTES)
        fts_set(f, e, FTS_SKIP);
}

/* ---- one mount */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Where the last name of a path begins. */
static size_t name_at(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash + 1 - path) : 0;
}

static void walk_path(struct walk *w, const char *path, bool folder)
{
    char *const roots[] = {arena_strdup(w->d->r.arena, path), NULL};
    FTS *f = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
                      by_name);
    FTSENT *e;

    w->root = folder ? strlen(path) + 1 : name_at(path);
    while (f && (e = fts_read(f))) {
        if (e->fts_info == FTS_DP)
            filters_drop(w, e);
        else if (w->entries > MOST_ENTRIES || w->bytes > MOST_BYTES ||
                 excluded(w, e))
            fts_set(f, e, FTS_SKIP);
        else
            entry(w, f, e);
    }
    if (f)
        fts_close(f);
}

static const char *here(struct walk *w, const char *path)
{
    struct arena *a = w->d->r.arena;
    const char *home = getenv("HOME");
    char *full;
    size_t n;

    if (*path == '~' && (!path[1] || path[1] == '/'))
        full = arena_printf(a, "%s%s", home ? home : "", path + 1);
    else if (*path == '/')
        full = arena_strdup(a, path);
    else
        full = arena_printf(a, "%s%s%s", w->d->r.base, *w->d->r.base ? "/" : "",
                            path);
    for (n = strlen(full); n > 1 && full[n - 1] == '/';)
        full[--n] = '\0';
    return full;
}

/* put WHAT WHERE, both as words of the shell. */
static void unpack_add(struct walk *w, const char *what, const char *remote,
                       bool folder)
{
    struct buf *b = &w->unpack;
    bool home = *remote == '~' && (!remote[1] || remote[1] == '/');

    buf_printf(b, "put %u/", w->mount);
    ray_script_quoted(b, what);
    buf_str(b, *remote == '/' ? " " : " \"$HOME\"/");
    ray_script_quoted(b, home ? remote + strspn(remote, "~/") : remote);
    buf_str(b, folder ? "/\n" : "\n");
}

static void mount_read(struct walk *w, const char *remote, const char *local,
                       bool may_miss)
{
    const char *path = here(w, local), *last = path + name_at(path);
    struct stat st;
    size_t before = w->entries;

    if (!*local || !*remote) {
        mistake(w, *local ? remote : local, "a path is empty");
        return;
    }
    if (stat(path, &st) < 0) {
        if (!may_miss || errno != ENOENT)
            mistake(w, path, strerror(errno));
        return;
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        left_out(w, path, "it is no file and no folder");
        return;
    }
    walk_path(w, path, S_ISDIR(st.st_mode));
    if (w->entries > before)
        unpack_add(w, S_ISDIR(st.st_mode) ? "." : last, remote,
                   S_ISDIR(st.st_mode));
    w->mount++;
}

/* ---- all of them */

static const char unpack_begin[] =
    "set -e\nat=$(mktemp -d)\n"
    "tar -xzpmf - --no-same-owner -C \"$at\"\n"
    "put() {\n"
    "case $2 in */) mkdir -p \"$2\" ;; *) mkdir -p \"$(dirname \"$2\")\" ;; "
    "esac\n"
    "cp -a \"$at/$1\" \"$2\"\n}\n";

/* gzip's bytes as lines of base64. */
static const char *lines_of(struct arena *a, const struct buf *gz)
{
    size_t lines = gz->n / LINE + 1;
    char *ret = arena_alloc(a, lines * (LINE / 3 * 4 + 1) + 1), *to = ret;

    for (size_t i = 0; i < gz->n; i += LINE) {
        size_t n = gz->n - i < LINE ? gz->n - i : LINE;
        to += EVP_EncodeBlock((unsigned char *)to,
                              (const unsigned char *)gz->s + i, (int)n);
        *to++ = '\n';
    }
    *to = '\0';
    return ret;
}

static void archive_make(struct walk *w, struct ray_mounts *ret)
{
    struct arena *a = w->d->r.arena;
    struct buf gz;

    tar_end(&w->tar);
    buf_str(&w->unpack, "rm -rf \"$at\" || true\n");
    buf_init(&gz, 2 * MOST_BYTES);
    if (w->entries > MOST_ENTRIES || w->bytes > MOST_BYTES || w->tar.full ||
        w->unpack.full || !gzip(w->tar.s, w->tar.n, 9, &gz))
        diag_warn(w->d->r.diag, w->at,
                  "file_mounts and cluster_synced_files are not copied: they "
                  "are more than %d bytes or %d files; bring them with the "
                  "image, or fetch them from a bucket by setup_commands",
                  MOST_BYTES, MOST_ENTRIES);
    else
        *ret = (struct ray_mounts){
            lines_of(a, &gz), arena_strdup(a, w->unpack.s), w->at, w->bytes};
    buf_done(&gz);
}

void ray_mounts_read(struct raw *d, const struct ynode *root,
                     struct ray_mounts *ret)
{
    const struct ynode *mounts = ynode_get(root, "file_mounts");
    const struct ynode *synced = ynode_get(root, "cluster_synced_files");
    struct walk w = {.d = d, .filters = ynode_get(root, "rsync_filter")};

    *ret = (struct ray_mounts){"", "", root, 0};
    rules_add(&w, ynode_get(root, "rsync_exclude"));
    buf_init(&w.tar, 4 * MOST_BYTES + MOST_ENTRIES * 1024);
    buf_init(&w.unpack, 65536);
    buf_str(&w.unpack, unpack_begin);
    for (uint32_t i = 0; mounts && mounts->kind == YNODE_MAP && i < mounts->n;
         i++) {
        w.at = mounts->pairs[i].key;
        mount_read(&w, w.at->text, dialect_text(mounts->pairs[i].value), false);
    }
    for (uint32_t i = 0; synced && synced->kind == YNODE_LIST && i < synced->n;
         i++) {
        w.at = synced->items[i];
        mount_read(&w, dialect_text(w.at), dialect_text(w.at), true);
    }
    w.at = mounts && mounts->n ? mounts : synced;
    if ((w.entries || w.bytes) && !w.bad)
        archive_make(&w, ret);
    buf_done(&w.tar);
    buf_done(&w.unpack);
    d->c->digest = digest_text(d->c->digest, ret->archive);
}
