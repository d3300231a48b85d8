/*
 * audit.c - see audit.h.
 */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/log.h"
#include "../../base/outbox.h"
#include "../../base/outfile.h"

enum { RING = 1024, OLD_FILES = 4 };
#define ROTATE ((off_t)16 << 20)
#define TAIL ((off_t)1 << 20)
enum { WAITING_MOST = 4 << 20, STUCK_MS = 10000, GOODBYE_MS = 2000 };

struct audit {
    pthread_mutex_t lock;
    char *path;
    struct outbox *box; /* to the file; NULL: there is none */
    /* its thread's: */
    int fd; /* -1: no file */
    off_t size;
    /* under the lock: */
    int64_t next_id;
    char *lines[RING]; /* by id; heap or NULL */
    int64_t first_id;  /* the oldest that is kept */
    char problem[300];
};

/* ---- the file */

static int file_open(const char *path, struct err *err)
{
    return outfile_open(path, O_WRONLY | O_APPEND | O_CREAT, 0600, err);
}

static void rotate(struct audit *a)
{
    struct arena s = {0};

    for (int i = OLD_FILES - 1; i >= 0; i--)
        rename(i ? arena_printf(&s, "%s.%d", a->path, i) : a->path,
               arena_printf(&s, "%s.%d", a->path, i + 1));
    arena_done(&s);
    close(a->fd);
    a->fd = file_open(a->path, NULL);
    a->size = 0;
}

/* "": all is well. */
static void problem_set(struct audit *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void problem_set(struct audit *a, const char *fmt, ...)
{
    char text[sizeof a->problem];
    bool news;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&a->lock);
    news = *text && !*a->problem;
    snprintf(a->problem, sizeof a->problem, "%s", text);
    pthread_mutex_unlock(&a->lock);
    if (news)
        log_error("%s", text);
}

/* May block, as disks do: on the outbox' thread. */
static void file_write(void *arg, const char *line, size_t n)
{
    struct audit *a = arg;

    if (a->size > ROTATE)
        rotate(a);
    if (a->fd < 0)
        a->fd = file_open(a->path, NULL);
    if (a->fd < 0 || write(a->fd, line, n) != (ssize_t)n) {
        problem_set(a, "api.audit: cannot write %.200s: %s", a->path,
                    strerror(errno));
        return;
    }
    problem_set(a, "%s", "");
    a->size += (off_t)n;
}

/* ---- the ring */

static void keep(struct audit *a, int64_t id, const char *line, size_t n)
{
    char **at = &a->lines[id % RING];

    if (id != a->next_id)
        a->first_id = 0; /* what is not in the file is not there */
    free(*at);
    *at = mem_strndup(line, n);
    if (a->first_id == 0 || id - a->first_id >= RING)
        a->first_id = a->first_id == 0 ? id : id - RING + 1;
    a->next_id = id + 1;
}

/* The newest lines of what was written before. */
static void tail_read(struct audit *a, int fd)
{
    off_t from = a->size > TAIL ? a->size - TAIL : 0;
    char *text = mem_alloc((size_t)(a->size - from) + 1);
    ssize_t n = pread(fd, text, (size_t)(a->size - from), from);
    char *p = text;

    if (n > 0)
        text[n] = '\0';
    if (n > 0 && from > 0)
        p += strcspn(p, "\n") + 1;
    while (n > 0 && p < text + n) {
        size_t len = strcspn(p, "\n");
        long long id = 0;

        if (p[len] && sscanf(p, "{\"id\":%lld,", &id) == 1 && id >= a->next_id)
            keep(a, id, p, len);
        p += len + 1;
    }
    free(text);
}

enum status audit_open(const char *path, struct audit **ret, struct err *err)
{
    struct audit *a = MEM_NEW(struct audit);
    struct stat st = {0};
    bool bad = false;
    int fd;

    pthread_mutex_init(&a->lock, NULL);
    a->path = mem_strdup(path);
    a->next_id = 1;
    a->fd = -1;
    *ret = a;
    if (!*path)
        return ST_OK;
    a->fd = file_open(path, err);
    if (a->fd < 0) {
        err_prefix(err, "api.audit");
        bad = true;
    } else if (fstat(a->fd, &st) != 0 || fchmod(a->fd, 0600) != 0) {
        err_set(err, ST_INVALID, "api.audit: cannot write %s: %s", path,
                strerror(errno));
        bad = true;
    }
    if (bad) {
        audit_close(a);
        *ret = NULL;
        return ST_INVALID;
    }
    a->size = st.st_size;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        tail_read(a, fd);
        close(fd);
    }
    a->box = outbox_new(WAITING_MOST,
                        &(struct outbox_ops){.put = file_write, .arg = a});
    return ST_OK;
}

void audit_close(struct audit *a)
{
    if (!a || (a->box && !outbox_free(a->box, GOODBYE_MS)))
        return; /* its file blocks: the end of the process frees it */
    for (int i = 0; i < RING; i++)
        free(a->lines[i]);
    if (a->fd >= 0)
        close(a->fd);
    pthread_mutex_destroy(&a->lock);
    free(a->path);
    free(a);
}

void audit_add(struct audit *a, int64_t wall_ms, const char *fields)
{
    struct arena s = {0};
    char at[32];
    char *line;

    pthread_mutex_lock(&a->lock);
    line = arena_printf(&s, "{\"id\":%" PRId64 ",\"at\":\"%s\",%s}\n",
                        a->next_id, clock_iso(wall_ms, at, sizeof at), fields);
    if (a->box)
        outbox_add(a->box, line, strlen(line));
    keep(a, a->next_id, line, strlen(line) - 1);
    pthread_mutex_unlock(&a->lock);
    arena_done(&s);
}

uint32_t audit_read(struct audit *a, int64_t after, uint32_t max,
                    struct arena *arena, const char ***ret, int64_t *ret_next,
                    bool *ret_missed)
{
    const char **v = ARENA_ARRAY(arena, const char *, max < RING ? max : RING);
    uint32_t n = 0;
    int64_t id;

    pthread_mutex_lock(&a->lock);
    *ret_missed = a->first_id > 0 && after + 1 < a->first_id;
    id = after < a->first_id ? a->first_id : after + 1;
    *ret_next = after;
    for (; id > 0 && id < a->next_id && n < max && n < RING; id++) {
        v[n++] = arena_strdup(arena, a->lines[id % RING]);
        *ret_next = id;
    }
    pthread_mutex_unlock(&a->lock);
    *ret = v;
    return n;
}

uint64_t audit_dropped(struct audit *a)
{
    return a->box ? outbox_state(a->box).dropped : 0;
}

const char *audit_problem(struct audit *a, char *buf, size_t n)
{
    struct outbox_state s = {0};

    pthread_mutex_lock(&a->lock);
    if (a->box)
        s = outbox_state(a->box);
    if (s.stuck_ms >= STUCK_MS)
        snprintf(buf, n,
                 "api.audit: %.200s takes no line for %lld s; %ju entries were "
                 "dropped so far",
                 a->path, (long long)s.stuck_ms / 1000, (uintmax_t)s.dropped);
    else
        snprintf(buf, n, "%s", a->problem);
    pthread_mutex_unlock(&a->lock);
    return buf;
}
