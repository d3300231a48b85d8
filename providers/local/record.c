/*
 * record.c - the directory of machines: our cloud's own memory.
 *
 * Everything here is small files, written whole and renamed, so that a daemon
 * killed at any moment leaves either the old or the new.  One flock(2) on
 * DIR/CLUSTER/lock orders daemons, handles and threads.
 */
#include "local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS_MAX = 4096, FILE_MAX = 16384, LOG_TAIL = 65536 };

static int fail_io(struct davit_error *e, const char *path)
{
    int saved = errno;
    int status = saved == EACCES || saved == EPERM || saved == EROFS ||
                         saved == ENOTDIR || saved == ENAMETOOLONG
                     ? DAVIT_AUTH /* no repeat helps until somebody acts */
                     : DAVIT_RETRY;

    return kit_error(e, status, "IO", "%.140s: %s", path, strerror(saved));
}

void record_path(const struct local *l, const struct record *r,
                 const char *file, char *buf, size_t n)
{
    snprintf(buf, n, "%s/%s%s%s", l->dir, r->id, file[0] != '\0' ? "/" : "",
             file);
}

static int make_dirs(const char *path, struct davit_error *e)
{
    char part[4096];

    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1;; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return fail_io(e, part);
        if (c == '\0')
            return DAVIT_OK;
        *p = c;
    }
}

int records_lock(const struct local *l, struct davit_call *call, int *ret_fd,
                 struct davit_error *e)
{
    char path[4096];
    int fd, status = make_dirs(l->dir, e);

    if (status != DAVIT_OK)
        return status;
    snprintf(path, sizeof path, "%s/lock", l->dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_io(e, path);
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if ((errno == EWOULDBLOCK || errno == EINTR) &&
            l->host->remaining_ms(call) > 0 && l->host->sleep(call, 10))
            continue;
        close(fd);
        return kit_error(e, DAVIT_RETRY, "BUSY",
                         "%.120s is held by another process", path);
    }
    *ret_fd = fd;
    return DAVIT_OK;
}

/* A whole small file, NUL-terminated, or NULL with errno. */
static char *slurp(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *text;
    ssize_t got;

    if (fd < 0)
        return NULL;
    text = kit_alloc(FILE_MAX + 1);
    got = read(fd, text, FILE_MAX);
    close(fd);
    if (got < 0) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    *n = (size_t)got;
    return text;
}

static bool get(const json_t *o, const char *key, char *buf, size_t n)
{
    const char *s = json_string_value(json_object_get(o, key));

    if (!s || strlen(s) >= n)
        return false;
    memcpy(buf, s, strlen(s) + 1);
    return true;
}

static bool parse(const char *text, size_t n, struct record *r)
{
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    bool good = get(o, "id", r->id, sizeof r->id) &&
                get(o, "request_id", r->request_id, sizeof r->request_id) &&
                get(o, "type", r->type, sizeof r->type) &&
                get(o, "zone", r->zone, sizeof r->zone) &&
                get(o, "address", r->address, sizeof r->address) &&
                get(o, "temp", r->temp, sizeof r->temp) &&
                get(o, "mark", r->mark, sizeof r->mark) &&
                get(o, "boot_id", r->boot_id, sizeof r->boot_id) &&
                strlen(r->mark) == sizeof r->mark - 1;

    r->spot = json_is_true(json_object_get(o, "spot"));
    r->stopping = json_is_true(json_object_get(o, "stopping"));
    r->created_ms = json_integer_value(json_object_get(o, "created_ms"));
    json_decref(o);
    return good;
}

static void read_pid(const struct local *l, struct record *r)
{
    char path[4096], *text;
    long pid;
    size_t n;

    record_path(l, r, "pid", path, sizeof path);
    text = slurp(path, &n);
    if (text && sscanf(text, "%ld %llu", &pid, &r->start) == 2 && pid > 1)
        r->pid = (pid_t)pid;
    free(text);
}

int records_read(const struct local *l, struct record **ret, size_t *n,
                 struct davit_error *e)
{
    DIR *d = opendir(l->dir);
    struct record *v = NULL;
    struct dirent *entry;
    size_t count = 0, cap = 0;
    int status = DAVIT_OK;

    *ret = NULL;
    *n = 0;
    if (!d)
        return errno == ENOENT ? DAVIT_OK : fail_io(e, l->dir);
    while (status == DAVIT_OK && (errno = 0, entry = readdir(d))) {
        struct record r = {.pid = 0};
        char path[4096], *text;
        size_t len;

        snprintf(path, sizeof path, "%s/%s/machine.json", l->dir,
                 entry->d_name);
        if (entry->d_name[0] == '.' || !(text = slurp(path, &len))) {
            /* A directory without a record was never promised to anybody. */
            if (entry->d_name[0] != '.' && errno != ENOENT && errno != ENOTDIR)
                status = fail_io(e, path);
            continue;
        }
        if (!parse(text, len, &r) || strcmp(r.id, entry->d_name) != 0)
            /* Guessing would lose a machine or make one up. */
            status = kit_error(
                e, DAVIT_BROKEN, "BAD_RECORD",
                "%.140s is no machine record; repair or remove it", path);
        free(text);
        if (status != DAVIT_OK || count == RECORDS_MAX)
            continue;
        read_pid(l, &r);
        if (count == cap) {
            cap = cap > 0 ? cap * 2 : 16;
            v = kit_resize(v, cap, sizeof *v);
        }
        v[count++] = r;
    }
    if (status == DAVIT_OK && errno != 0)
        status = fail_io(e, l->dir);
    closedir(d);
    if (status != DAVIT_OK) {
        free(v);
        return status;
    }
    *ret = v;
    *n = count;
    return DAVIT_OK;
}

static bool sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);

    if (fd >= 0)
        close(fd);
    return good;
}

int record_write(const struct local *l, const struct record *r,
                 struct davit_error *e)
{
    char dir[4096], path[4200], to[4200];
    json_t *o = json_pack("{ss ss ss ss ss ss ss ss sb sb sI}", "id", r->id,
                          "request_id", r->request_id, "type", r->type, "zone",
                          r->zone, "address", r->address, "temp", r->temp,
                          "mark", r->mark, "boot_id", r->boot_id, "spot",
                          r->spot, "stopping", r->stopping, "created_ms",
                          (json_int_t)r->created_ms);
    char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
    bool good;
    int fd;

    json_decref(o);
    if (!text)
        return kit_error(e, DAVIT_INVALID, "NOT_UTF8",
                         "node type \"%.60s\": a name is not UTF-8", r->type);
    record_path(l, r, "", dir, sizeof dir);
    snprintf(path, sizeof path, "%s/machine.json.new", dir);
    snprintf(to, sizeof to, "%s/machine.json", dir);
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        free(text);
        return fail_io(e, dir);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
              0600);
    good = fd >= 0 && kit_write_all(fd, text, strlen(text)) &&
           kit_write_all(fd, "\n", 1) && fsync(fd) == 0;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    free(text);
    if (!good || rename(path, to) != 0 || !sync_dir(dir) || !sync_dir(l->dir))
        return fail_io(e, to);
    return DAVIT_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path); /* what cannot go stays; the machine is gone all the same */
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void record_clean(const struct local *l, const struct record *r)
{
    char dir[4096];

    record_path(l, r, "", dir, sizeof dir);
    remove_tree(dir);
}

void record_remove(const struct local *l, const struct record *r)
{
    char dir[4096], path[4200];

    if (r->temp[0] == '/')
        remove_tree(r->temp);
    record_path(l, r, "", dir, sizeof dir);
    /* The record goes first: half a directory must not look like a machine. */
    snprintf(path, sizeof path, "%s/machine.json", dir);
    unlink(path);
    remove_tree(dir);
    sync_dir(l->dir);
}

/* Colours and other escapes become nothing, control characters blanks. */
static void clean(char *s)
{
    char *to = s;

    for (const char *p = s; *p != '\0'; p++) {
        if (*p == '\033' && p[1] == '[') {
            for (p += 2; *p != '\0' && !(*p >= '@' && *p <= '~');)
                p++;
            if (*p == '\0')
                break;
        } else {
            *to++ = *p > 0 && *p < ' ' && *p != '\n' ? ' ' : *p;
        }
    }
    *to = '\0';
}

/* The log's end, cleaned; "" when there is none.  To be freed. */
static char *read_tail(const char *path)
{
    char *tail = kit_alloc(LOG_TAIL + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    if (fd >= 0) {
        if (lseek(fd, -LOG_TAIL, SEEK_END) < 0)
            lseek(fd, 0, SEEK_SET);
        got = read(fd, tail, LOG_TAIL);
        close(fd);
    }
    for (ssize_t i = 0; i < got; i++)
        if (tail[i] == '\0')
            tail[i] = ' ';
    tail[got > 0 ? got : 0] = '\0';
    clean(tail);
    return tail;
}

void record_last_words(const struct local *l, const struct record *r, char *buf,
                       size_t n)
{
    static const char died[] = "exited unexpectedly";
    enum { LINES = 3 };
    char path[4096], *tail, *save, *last[LINES] = {NULL};
    bool named = false;
    size_t used = 0;

    buf[0] = '\0';
    record_path(l, r, "log", path, sizeof path);
    tail = read_tail(path);
    for (char *line = strtok_r(tail, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *end = line + strlen(line);

        while (end > line && end[-1] == ' ')
            *--end = '\0';
        line += strspn(line, " -=");
        if (*line == '\0')
            continue;
        memmove(last, last + 1, (LINES - 1) * sizeof last[0]);
        last[LINES - 1] = line;
        /* Ray names the process that died, then shows pages of its log. */
        if (named)
            break;
        named = strstr(line, died);
    }
    for (int i = named ? LINES - 1 : 0; i < LINES && used < n; i++)
        if (last[i])
            used += (size_t)snprintf(buf + used, n - used, "%s%s",
                                     used > 0 ? "; " : "", last[i]);
    free(tail);
}
