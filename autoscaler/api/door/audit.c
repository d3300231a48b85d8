/*
 * audit.c - see audit.h.
 */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
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
#include "access.h"

enum { RING = 1024, OLD_FILES = 4 };
/* Of one caller: so many lines at once, and after that one each so often.  More are
 * counted, and told in one line each so often. */
enum { BURST = 300, EACH_MS = 500, TELL_MS = 10000, WRITERS_MAX = 4096 };
#define ROTATE ((off_t)16 << 20)
#define TAIL ((off_t)1 << 20)
enum { WAITING_MOST = 4 << 20, STUCK_MS = 10000, GOODBYE_MS = 2000 };

/* Somebody of whom there are lines, or were a while ago. */
struct writer {
    struct writer *next;
    char *name;
    uint32_t kept;    /* lines in the ring */
    int64_t debt_ms;  /* mono: then all that he wrote is forgotten */
    int64_t since_ms; /* mono: of the first that is not told */
    uint32_t untold;
    char *fields; /* of the last of these */
    int64_t wall_ms;
};

struct entry {
    int64_t id;
    char *line;
    struct writer *by;
};

struct audit {
    pthread_mutex_t lock;
    char *path;
    struct outbox *box; /* to the file; NULL: there is none */
    /* its thread's: */
    int fd; /* -1: no file */
    off_t size;
    bool torn;          /* it may end within a line */
    uint32_t untold;    /* lines that it did not take, and does not tell of */
    atomic_ullong lost; /* such lines so far; any thread */
    /* under the lock: */
    int64_t next_id;
    struct entry ring[RING]; /* the newest last */
    uint32_t n;
    int64_t gone_id; /* the newest that is not kept any more */
    struct writer *writers;
    uint32_t n_writers;
    char problem[300];
};

/* ---- the file */

/* What a crash or a full disk cut off in a line ends there: the next one is whole. */
static void tail_end(struct audit *a)
{
    struct stat st;
    char last;

    if (fstat(a->fd, &st) != 0)
        return;
    a->size = st.st_size;
    a->torn = a->size > 0 &&
              (pread(a->fd, &last, 1, a->size - 1) != 1 || last != '\n');
    if (a->torn && outfile_put(a->fd, "\n", 1)) {
        a->torn = false;
        a->size++;
    }
}

static bool file_open(struct audit *a, struct err *err)
{
    a->fd = outfile_open(a->path, O_RDWR | O_APPEND | O_CREAT, 0600, err);
    a->size = 0;
    if (a->fd >= 0)
        tail_end(a);
    return a->fd >= 0;
}

static void rotate(struct audit *a)
{
    struct arena s = {0};

    for (int i = OLD_FILES - 1; i >= 0; i--)
        rename(i ? arena_printf(&s, "%s.%d", a->path, i) : a->path,
               arena_printf(&s, "%s.%d", a->path, i + 1));
    arena_done(&s);
    close(a->fd);
    file_open(a, NULL);
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

/* Somebody may have moved it away: his are the lines of before, not those of now. */
static bool is_at_its_path(const struct audit *a)
{
    struct stat ours, there;

    return fstat(a->fd, &ours) == 0 && lstat(a->path, &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* As it should be for the next line. */
static void file_ready(struct audit *a)
{
    if (a->fd >= 0 && a->size > ROTATE)
        rotate(a);
    if (a->fd >= 0 && !is_at_its_path(a)) {
        close(a->fd);
        a->fd = -1;
    }
    if (a->fd < 0)
        file_open(a, NULL);
    else if (a->torn)
        tail_end(a);
}

static bool put(struct audit *a, const char *line, size_t n)
{
    a->torn = !outfile_put(a->fd, line, n);
    a->size += a->torn ? 0 : (off_t)n;
    return !a->torn;
}

/* A line of the file for those that it did not take. */
static bool losses_put(struct audit *a)
{
    char line[40];

    snprintf(line, sizeof line, "{\"lost\":%u}\n", a->untold);
    if (a->untold && !put(a, line, strlen(line)))
        return false;
    a->untold = 0;
    return true;
}

/* May block, as disks do: on the outbox' thread. */
static void file_write(void *arg, const char *line, size_t n)
{
    struct audit *a = arg;

    file_ready(a);
    if (a->fd < 0 || a->torn || !losses_put(a) || !put(a, line, n)) {
        a->untold++;
        atomic_fetch_add(&a->lost, 1);
        problem_set(a, "api.audit: cannot write %.200s: %s", a->path,
                    strerror(errno));
        return;
    }
    problem_set(a, "%s", "");
}

/* ---- the ring */

static void writer_free(struct writer *w)
{
    free(w->name);
    free(w->fields);
    free(w);
}

/* Those of whom there is nothing to remember go. */
static void writers_sweep(struct audit *a, int64_t now_ms)
{
    for (struct writer **at = &a->writers; *at;) {
        struct writer *w = *at;

        if (w->kept || w->untold || w->debt_ms > now_ms) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        a->n_writers--;
        writer_free(w);
    }
}

/* When there are very many, those who come later are one. */
static struct writer *writer_get(struct audit *a, const char *name)
{
    struct writer *w = a->writers;

    while (w && strcmp(w->name, name) != 0)
        w = w->next;
    if (w)
        return w;
    if (a->n_writers >= WRITERS_MAX && *name)
        return writer_get(a, "");
    w = MEM_NEW(struct writer);
    w->name = mem_strdup(name);
    w->next = a->writers;
    a->writers = w;
    a->n_writers++;
    return w;
}

/* The oldest of who has the most: nobody pushes out what others did. */
static void make_room(struct audit *a)
{
    struct writer *most = a->writers;
    uint32_t i = 0;

    for (struct writer *w = a->writers; w; w = w->next)
        if (w->kept > most->kept)
            most = w;
    while (a->ring[i].by != most)
        i++;
    if (a->ring[i].id > a->gone_id)
        a->gone_id = a->ring[i].id;
    most->kept--;
    free(a->ring[i].line);
    a->n--;
    memmove(&a->ring[i], &a->ring[i + 1], (a->n - i) * sizeof a->ring[0]);
}

static void keep(struct audit *a, struct writer *by, int64_t id,
                 const char *line, size_t n)
{
    if (id != a->next_id)
        a->gone_id = id - 1; /* what is not in the file is not there */
    if (a->n == RING)
        make_room(a);
    a->ring[a->n++] = (struct entry){id, mem_strndup(line, n), by};
    by->kept++;
    a->next_id = id + 1;
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));

    return text ? text : "";
}

/* A line of the file; what is none, or is out of order, is not kept. */
static void line_read(struct audit *a, const char *p, size_t n)
{
    json_t *line = json_loadb(p, n, 0, NULL);
    int64_t id = json_integer_value(json_object_get(line, "id"));
    char who[400];

    if (json_is_object(line) && id >= a->next_id && id < INT64_MAX)
        keep(a,
             writer_get(a,
                        share_of(text_of(line, "via"), text_of(line, "caller"),
                                 text_of(line, "from"), who, sizeof who)),
             id, p, n);
    json_decref(line);
}

/* The newest lines of what was written before. */
static void tail_read(struct audit *a)
{
    off_t from = a->size > TAIL ? a->size - TAIL : 0;
    char *text = mem_alloc((size_t)(a->size - from) + 1);
    ssize_t n = pread(a->fd, text, (size_t)(a->size - from), from);
    const char *p = text, *end = text + (n > 0 ? n : 0), *next;

    for (bool whole = from == 0;
         p < end && (next = memchr(p, '\n', (size_t)(end - p)));
         whole = true, p = next + 1)
        if (whole)
            line_read(a, p, (size_t)(next - p));
    free(text);
}

enum status audit_open(const char *path, struct audit **ret, struct err *err)
{
    struct audit *a = MEM_NEW(struct audit);
    bool bad = false;

    pthread_mutex_init(&a->lock, NULL);
    a->path = mem_strdup(path);
    a->next_id = 1;
    a->fd = -1;
    *ret = a;
    if (!*path)
        return ST_OK;
    if (!file_open(a, err)) {
        err_prefix(err, "api.audit");
        bad = true;
    } else if (fchmod(a->fd, 0600) != 0) {
        err_set(err, ST_INVALID, "api.audit: cannot write %s: %s", path,
                strerror(errno));
        bad = true;
    }
    if (bad) {
        audit_close(a);
        *ret = NULL;
        return ST_INVALID;
    }
    tail_read(a);
    a->box = outbox_new(WAITING_MOST,
                        &(struct outbox_ops){.put = file_write, .arg = a});
    return ST_OK;
}

/* more: so many of him, the last of which has these fields; 0: it is one. */
static void line_add(struct audit *a, struct writer *by, int64_t wall_ms,
                     const char *fields, uint32_t more)
{
    struct arena s = {0};
    char at[32], count[40] = "";
    char *line;

    if (more)
        snprintf(count, sizeof count, ",\"more\":%u", more);
    line = arena_printf(&s, "{\"id\":%" PRId64 ",\"at\":\"%s\",%s%s}\n",
                        a->next_id, clock_iso(wall_ms, at, sizeof at), fields,
                        count);
    if (a->box)
        outbox_add(a->box, line, strlen(line));
    keep(a, by, a->next_id, line, strlen(line) - 1);
    arena_done(&s);
}

/* What was counted since before then, a line for each. */
static void tell(struct audit *a, int64_t before_ms)
{
    for (struct writer *w = a->writers; w; w = w->next)
        if (w->untold && w->since_ms <= before_ms) {
            uint32_t n = w->untold;

            w->untold = 0;
            line_add(a, w, w->wall_ms, w->fields, n);
        }
}

void audit_close(struct audit *a)
{
    if (a)
        tell(a, INT64_MAX);
    if (!a || (a->box && !outbox_free(a->box, GOODBYE_MS)))
        return; /* its file blocks: the end of the process frees it */
    for (uint32_t i = 0; i < a->n; i++)
        free(a->ring[i].line);
    while (a->writers) {
        struct writer *w = a->writers;

        a->writers = w->next;
        writer_free(w);
    }
    if (a->fd >= 0)
        close(a->fd);
    pthread_mutex_destroy(&a->lock);
    free(a->path);
    free(a);
}

void audit_add(struct audit *a, int64_t wall_ms, const char *who,
               const char *fields)
{
    int64_t now = clock_mono_ms();
    struct writer *w;

    pthread_mutex_lock(&a->lock);
    writers_sweep(a, now);
    w = writer_get(a, who);
    if (w->debt_ms - now < BURST * EACH_MS) {
        w->debt_ms = (w->debt_ms > now ? w->debt_ms : now) + EACH_MS;
        line_add(a, w, wall_ms, fields, 0);
    } else {
        if (!w->untold++)
            w->since_ms = now;
        free(w->fields);
        w->fields = mem_strdup(fields);
        w->wall_ms = wall_ms;
    }
    tell(a, now - TELL_MS);
    pthread_mutex_unlock(&a->lock);
}

uint32_t audit_read(struct audit *a, int64_t after, uint32_t max,
                    struct arena *arena, const char ***ret, int64_t *ret_next,
                    bool *ret_missed)
{
    const char **v = ARENA_ARRAY(arena, const char *, max < RING ? max : RING);
    uint32_t n = 0;

    pthread_mutex_lock(&a->lock);
    tell(a, INT64_MAX);
    *ret_missed = after < a->gone_id;
    *ret_next = after;
    for (uint32_t i = 0; i < a->n && n < max; i++) {
        if (a->ring[i].id <= after)
            continue;
        v[n++] = arena_strdup(arena, a->ring[i].line);
        *ret_next = a->ring[i].id;
    }
    pthread_mutex_unlock(&a->lock);
    *ret = v;
    return n;
}

uint64_t audit_dropped(struct audit *a)
{
    return a->box ? outbox_state(a->box).dropped + atomic_load(&a->lost) : 0;
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
