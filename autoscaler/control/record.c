/*
 * record.c - see record.h.
 */
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/alloc.h"
#include "../base/clock.h"
#include "../base/ending.h"
#include "../base/log.h"
#include "../base/outfile.h"
#include "../base/thread.h"
#include "../codec/codec.h"

#define BYTES_MAX (INT64_C(256) << 20)
enum { FILES_MAX = 1000, QUEUE_MAX = 16, NAME_MAX_ = 64 };

/* One of our files; `when` is the part of its name after the tick. */
struct kept {
    char name[NAME_MAX_];
    int64_t bytes;
};

struct record {
    char *dir;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct status_page *queue[QUEUE_MAX];
    uint32_t n_queue;
    uint64_t dropped; /* pages, logged once in a row */
    bool stop;
    /* the thread's own: */
    VEC(struct kept) files; /* the oldest first */
    int64_t bytes;
    bool failing; /* logged, until a write is good again */
};

/* ---- the ring */

/* "42-20261121T101112.345.json", or nothing of ours. */
static bool is_ours(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    const char *time = name + digits + 1;

    return digits > 0 && digits <= 20 && name[digits] == '-' &&
           strlen(name) < NAME_MAX_ && strlen(time) == 24 &&
           strspn(time, "0123456789T.") >= 19 &&
           strcmp(time + 19, ".json") == 0;
}

static const char *when(const struct kept *k)
{
    return strchr(k->name, '-');
}

static int by_time(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    int c = strcmp(when(x), when(y));

    return c ? c : strcmp(x->name, y->name);
}

static void kept_add(struct record *r, const char *name, int64_t bytes)
{
    struct kept k = {.bytes = bytes};

    snprintf(k.name, sizeof k.name, "%s", name);
    VEC_PUSH(NULL, &r->files, k);
    r->bytes += bytes;
}

static char *path_of(const struct record *r, const char *name, char *buf,
                     size_t n)
{
    snprintf(buf, n, "%s/%s", r->dir, name);
    return buf;
}

static void prune(struct record *r)
{
    char path[4096];
    uint32_t n = 0;

    while (n + 1 < r->files.n &&
           (r->files.n - n > FILES_MAX || r->bytes > BYTES_MAX)) {
        unlink(path_of(r, r->files.v[n].name, path, sizeof path));
        r->bytes -= r->files.v[n].bytes;
        n++;
    }
    memmove(r->files.v, r->files.v + n, (r->files.n - n) * sizeof *r->files.v);
    r->files.n -= n;
}

static enum status files_find(struct record *r, struct err *err)
{
    DIR *d = opendir(r->dir);
    const struct dirent *e;
    struct stat st;
    char path[4096];

    if (!d)
        return err_set(err, ST_INVALID, "%s: %s", r->dir, strerror(errno));
    while ((e = readdir(d)))
        if (is_ours(e->d_name) &&
            stat(path_of(r, e->d_name, path, sizeof path), &st) == 0 &&
            S_ISREG(st.st_mode))
            kept_add(r, e->d_name, st.st_size);
    closedir(d);
    if (r->files.n > 1)
        qsort(r->files.v, r->files.n, sizeof *r->files.v, by_time);
    return ST_OK;
}

/* ---- one page */

static char *page_text(const struct status_page *p)
{
    json_t *o = codec_snapshot_write(p->snapshot);
    char at[32], *text;

    json_object_set_new(
        o, "recorded",
        json_pack("{s:s,s:I,s:s}", "version", p->version, "tick",
                  (json_int_t)p->tick, "at",
                  clock_iso(p->snapshot->now_ms, at, sizeof at)));
    json_object_set_new(o, "plan", codec_plan_write(p->now, p->plan));
    text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(o);
    return text;
}

/* "20261121T101112.345", UTC: sorts by time, and is a file name everywhere. */
static void name_make(const struct status_page *p, char *buf, size_t n)
{
    char iso[32], plain[32], *to = plain;

    clock_iso(p->snapshot->now_ms, iso, sizeof iso);
    for (const char *s = iso; *s; s++)
        if (!strchr("-:Z", *s))
            *to++ = *s;
    *to = '\0';
    snprintf(buf, n, "%llu-%s.json", (unsigned long long)p->tick, plain);
}

static bool text_write(const char *path, const char *text, size_t n)
{
    struct err err;
    int fd = outfile_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600, &err), e;
    bool good = fd >= 0 && outfile_put(fd, text, n);

    if (fd < 0)
        return false;
    e = errno;
    if (close(fd) != 0 && good)
        return false;
    errno = e;
    return good;
}

static void page_write(struct record *r, const struct status_page *p)
{
    char name[NAME_MAX_], path[4096], part[4096];
    char *text = page_text(p);
    size_t n = text ? strlen(text) : 0;
    bool good;

    name_make(p, name, sizeof name);
    path_of(r, name, path, sizeof path);
    path_of(r, ".part", part, sizeof part);
    good = text && text_write(part, text, n) && rename(part, path) == 0;
    if (good)
        kept_add(r, name, (int64_t)n);
    else if (!r->failing)
        log_error("record: %s: %s", path, text ? strerror(errno) : "no memory");
    r->failing = !good;
    free(text);
    prune(r);
}

static void *thread_main(void *arg)
{
    struct record *r = arg;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        struct status_page *p;

        while (r->n_queue == 0 && !r->stop)
            pthread_cond_wait(&r->wake, &r->lock); /* one waits */
        if (r->n_queue == 0)
            break;
        p = r->queue[0];
        memmove(r->queue, r->queue + 1, --r->n_queue * sizeof *r->queue);
        pthread_mutex_unlock(&r->lock);
        page_write(r, p);
        status_unref(p);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- the control thread's side */

static bool asks(const struct status_page *p)
{
    if (p->plan->n_launches > 0)
        return true;
    for (uint32_t i = 0; i < p->now->n_nodes; i++)
        if (p->plan->nodes[i].action != NODE_KEEP)
            return true;
    return false;
}

enum status record_open(const char *dir, struct record **ret, struct err *err)
{
    struct record *r = MEM_NEW(struct record);
    enum status s;

    r->dir = mem_strdup(dir);
    if (strlen(dir) > 3900)
        s = err_set(err, ST_INVALID, "the path is too long");
    else if ((s = outfile_folder(dir, err)) == ST_OK &&
             (s = files_find(r, err)) == ST_OK && access(dir, W_OK | X_OK) != 0)
        s = err_set(err, ST_INVALID, "%s: %s", dir, strerror(errno));
    if (s != ST_OK) {
        free(r->files.v);
        free(r->dir);
        free(r);
        return s;
    }
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->wake, NULL);
    if (pthread_create(&r->thread, NULL, thread_main, r) != 0)
        abort();
    *ret = r;
    return ST_OK;
}

void record_put(struct record *r, struct status_page *page)
{
    bool dropped = false;

    if (!asks(page))
        return;
    pthread_mutex_lock(&r->lock);
    if (r->n_queue == QUEUE_MAX) {
        dropped = r->dropped++ == 0;
    } else {
        r->dropped = 0;
        atomic_fetch_add(&page->refs, 1);
        r->queue[r->n_queue++] = page;
        pthread_cond_signal(&r->wake);
    }
    pthread_mutex_unlock(&r->lock);
    if (dropped)
        log_warn("record: %s is slower than plans come: some are left out",
                 r->dir);
}

void record_close(struct record *r)
{
    if (!r)
        return;
    ending_waits("the last plans, to be kept in %s", r->dir);
    thread_stop(r->thread, &r->lock, &r->wake, &r->stop);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r->files.v);
    free(r->dir);
    free(r);
}
