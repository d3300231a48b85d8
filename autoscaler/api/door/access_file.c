/*
 * access_file.c - the lines of api.tokens, from one file or all of a folder.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/digest.h"
#include "../../base/log.h"
#include "access.h"
#include "secret.h"

#define FILE_MAX ((size_t)4 << 20)
enum {
    FILES_MAX = 256,
    PRINCIPALS_MAX = 10000,
    PATTERNS_MAX = 64,
    PRIORITY_MOST = 1000000 /* as the codec has it */
};

struct place {
    struct arena *a;
    const char *file;
    uint32_t line;
    struct err *err;
};

static bool bad(const struct place *at, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool bad(const struct place *at, const char *fmt, ...)
{
    char text[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(at->err, ST_INVALID, "%s:%u: %s", at->file, at->line, text);
    return false;
}

/* ---- one line */

static bool name_read(const struct place *at, const char *text,
                      struct principal *p)
{
    size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "abcdefghijklmnopqrstuvwxyz0123456789._:@-");

    if (!*text || text[n] || n >= ACCESS_NAME_MAX)
        return bad(at,
                   "the name must have 1 to %d of the letters A-Z a-z 0-9 "
                   ". _ : @ -",
                   ACCESS_NAME_MAX - 1);
    p->name = arena_strdup(at->a, text);
    return true;
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool digest_read(const struct place *at, const char *text,
                        struct principal *p)
{
    if (strlen(text) != 2 * ACCESS_DIGEST)
        return bad(at, "sha256: must be followed by 64 hexadecimal digits; "
                       "`davit token new` writes such a line");
    for (int i = 0; i < ACCESS_DIGEST; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return bad(at, "sha256: must be followed by 64 hexadecimal digits");
        p->digest[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static bool user_read(const struct place *at, const char *text,
                      struct principal *p)
{
    char buf[4096], *end;
    struct passwd pw, *found = NULL;
    unsigned long uid = strtoul(text, &end, 10);

    p->kind = ACCESS_USER;
    if (*text && !*end && isdigit((unsigned char)*text) && uid < UINT32_MAX) {
        p->uid = (uid_t)uid;
        return true;
    }
    if (getpwnam_r(text, &pw, buf, sizeof buf, &found) != 0 || !found)
        return bad(at, "there is no user \"%.64s\" on this machine", text);
    p->uid = found->pw_uid;
    return true;
}

/* "front.example" and "dns:front.example" are DNS names, the first also a common
 * name; "uri:spiffe://x/y", "email:a@b", "cn:front". */
static bool cert_read(const struct place *at, const char *text,
                      struct principal *p)
{
    p->kind = ACCESS_CERT;
    p->cert_kinds = 1u << CERT_DNS | 1u << CERT_CN;
    for (unsigned k = 0; k < CERT_KINDS; k++) {
        size_t n = strlen(cert_kinds[k]);

        if (strncmp(text, cert_kinds[k], n) != 0 || text[n] != ':')
            continue;
        p->cert_kinds = 1u << k;
        text += n + 1;
        break;
    }
    if (!*text)
        return bad(at, "a pattern is missing behind the colon");
    p->cert = arena_strdup(at->a, text);
    return true;
}

static bool credential_read(const struct place *at, const char *text,
                            struct principal *p)
{
    if (strncmp(text, "sha256:", 7) == 0)
        return digest_read(at, text + 7, p);
    if (strncmp(text, "user:", 5) == 0)
        return user_read(at, text + 5, p);
    if (strncmp(text, "cert:", 5) == 0 && text[5])
        return cert_read(at, text + 5, p);
    return bad(at, "after the name comes sha256:DIGEST of a token, user:NAME, "
                   "or cert:NAME, cert:uri:NAME, cert:email:NAME of a "
                   "certificate; never the token itself");
}

static bool patterns_read(const struct place *at, const char *text,
                          struct patterns *ret)
{
    const char **v = ARENA_ARRAY(at->a, const char *, PATTERNS_MAX);
    uint32_t n = 0;

    while (*text) {
        size_t len = strcspn(text, ",");

        if (len == 0 || n == PATTERNS_MAX)
            return bad(at,
                       "a list has 1 to %d patterns, with commas between "
                       "them",
                       PATTERNS_MAX);
        v[n++] = arena_strndup(at->a, text, len);
        text += len + (text[len] == ',');
    }
    if (n == 0)
        return bad(at, "a pattern is missing behind the colon");
    *ret = (struct patterns){v, n};
    return true;
}

/* "2027-01-31": to the end of that day; or a whole time. */
static bool until_read(const struct place *at, const char *text,
                       struct principal *p)
{
    char day[40];

    snprintf(day, sizeof day, "%.24sT23:59:59Z", text);
    p->until_ms = clock_from_iso(strchr(text, 'T') ? text : day);
    return p->until_ms > 0 ||
           bad(at, "until: must be followed by a day such as 2027-01-31");
}

/* "10": at most, of each request. */
static bool priority_read(const struct place *at, const char *text,
                          struct principal *p)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end || n < -PRIORITY_MOST || n > PRIORITY_MOST)
        return bad(at,
                   "priority: must be followed by a whole number between -%d "
                   "and %d",
                   PRIORITY_MOST, PRIORITY_MOST);
    p->has_priority = true;
    p->priority_max = (int32_t)n;
    return true;
}

/* It is no owner's name that anybody could ask with. */
static bool owners_read(const struct place *at, const char *text,
                        struct principal *p)
{
    if (!patterns_read(at, text, &p->owners))
        return false;
    for (uint32_t i = 0; i < p->owners.n; i++)
        if (owner_of_source(p->owners.v[i]))
            return bad(at, "request:%s: %s; who may see it has read",
                       p->owners.v[i], owner_of_source(p->owners.v[i]));
    return true;
}

static bool right_read(const struct place *at, const char *text,
                       struct principal *p)
{
    if (strcmp(text, "read") == 0)
        return p->read = true;
    if (strcmp(text, "admin") == 0)
        return p->admin = true;
    if (strncmp(text, "request:", 8) == 0)
        return owners_read(at, text + 8, p);
    if (strncmp(text, "queues:", 7) == 0)
        return patterns_read(at, text + 7, &p->queues);
    if (strncmp(text, "priority:", 9) == 0)
        return priority_read(at, text + 9, p);
    if (strncmp(text, "until:", 6) == 0)
        return until_read(at, text + 6, p);
    return bad(at,
               "\"%.64s\" is no right: there are read, admin, "
               "request:OWNERS, queues:QUEUES, priority:MOST and until:DAY",
               text);
}

static bool line_read(const struct place *at, char *line, struct principal *p)
{
    char *rest = NULL, *word = strtok_r(line, " \t\r", &rest);
    uint32_t i = 0;

    *p = (struct principal){.file = at->file, .line = at->line};
    for (; word; word = strtok_r(NULL, " \t\r", &rest), i++)
        if (!(i == 0   ? name_read(at, word, p)
              : i == 1 ? credential_read(at, word, p)
                       : right_read(at, word, p)))
            return false;
    if (i < 3)
        return bad(at, "a line has a name, a credential and rights");
    if (p->queues.n && !p->owners.n)
        return bad(at, "queues: goes with request:");
    if (p->has_priority && !p->owners.n)
        return bad(at, "priority: goes with request:");
    if (!p->read && !p->admin && !p->owners.n)
        return bad(at, "there is no right: read, admin or request:OWNERS");
    return true;
}

static bool is_new(const struct place *at, const struct access_list *all,
                   const struct principal *p)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (strcmp(all->v[i].name, p->name) == 0)
            return bad(at, "\"%s\" is at %s:%u already", p->name,
                       all->v[i].file, all->v[i].line);
    return all->n < PRINCIPALS_MAX ||
           bad(at, "more than %d lines", PRINCIPALS_MAX);
}

enum status access_parse(struct arena *a, const char *file, const char *text,
                         struct access_list *ret, struct err *err)
{
    struct place at = {a, arena_strdup(a, file), 0, err};

    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = arena_strndup(a, text, n);
        struct principal p;

        at.line++;
        text += n + (text[n] == '\n');
        line[strcspn(line, "#")] = '\0';
        if (!line[strspn(line, " \t\r")])
            continue;
        if (!line_read(&at, line, &p) || !is_new(&at, ret, &p))
            return ST_INVALID;
        VEC_PUSH(a, ret, p);
    }
    return ST_OK;
}

/* ---- the files */

static enum status file_read(const char *path, struct arena *a,
                             struct access_list *ret, struct err *err)
{
    struct buf text;
    enum status s = secret_read(path, "api.tokens", true, FILE_MAX, &text, err);

    if (s != ST_OK)
        return s;
    s = strlen(text.s) != text.n
            ? err_set(err, ST_INVALID, "%s: there is a NUL in it", path)
            : access_parse(a, path, text.s, ret, err);
    secret_done(&text);
    if (s != ST_OK)
        err_prefix(err, "api.tokens");
    return s;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Its files in order; hidden ones (Kubernetes' "..data") are not looked at. */
static enum status names_read(const char *path, struct arena *a,
                              const char **names, uint32_t *ret_n,
                              struct err *err)
{
    DIR *d = opendir(path);
    struct dirent *e;
    uint32_t n = 0;

    if (!d)
        return err_set(err, ST_INVALID, "api.tokens: cannot read %s: %s", path,
                       strerror(errno));
    while ((e = readdir(d)) && n < FILES_MAX)
        if (e->d_name[0] != '.')
            names[n++] = arena_printf(a, "%s/%s", path, e->d_name);
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    *ret_n = n;
    return n < FILES_MAX ? ST_OK
                         : err_set(err, ST_INVALID,
                                   "api.tokens: %s has more than %d files",
                                   path, FILES_MAX - 1);
}

enum status access_read(const char *path, struct arena *a,
                        struct access_list *ret, struct err *err)
{
    const char **names = ARENA_ARRAY(a, const char *, FILES_MAX);
    enum status s = ST_OK;
    struct stat st;
    uint32_t n = 1;

    names[0] = path;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        s = names_read(path, a, names, &n, err);
    for (uint32_t i = 0; s == ST_OK && i < n; i++)
        s = file_read(names[i], a, ret, err);
    return s;
}

/* ---- as they are now */

struct access_store {
    char *path;
    uint64_t seen; /* what the files looked like when they were read */
    pthread_mutex_t lock;
    struct access *now;
    char problem[432];
};

static uint64_t mixed(uint64_t h, const struct stamp *s)
{
    const uint64_t parts[] = {(uint64_t)s->dev,
                              (uint64_t)s->ino,
                              (uint64_t)s->size,
                              (uint64_t)s->mode,
                              (uint64_t)s->changed.tv_sec,
                              (uint64_t)s->changed.tv_nsec};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        h = digest_number(h, parts[i]);
    return h;
}

static uint64_t look(const char *path)
{
    const char *names[FILES_MAX];
    struct stamp top = stamp_of(path);
    uint64_t h = mixed(DIGEST_SEED, &top);
    struct arena a = {0};
    uint32_t n = 0;

    if (S_ISDIR(top.mode))
        names_read(path, &a, names, &n, NULL);
    for (uint32_t i = 0; i < n; i++) {
        struct stamp s = stamp_of(names[i]);

        h = mixed(h, &s);
    }
    arena_done(&a);
    return h;
}

static enum status state_read(const char *path, struct access **ret,
                              struct err *err)
{
    struct access *x = MEM_NEW(struct access);
    struct access_list list = {0};
    enum status s = access_read(path, &x->arena, &list, err);

    x->refs = 1;
    x->v = list.v;
    x->n = list.n;
    if (s != ST_OK)
        access_unref(x);
    else
        *ret = x;
    return s;
}

enum status access_open(const char *path, struct access_store **ret,
                        struct err *err)
{
    uint64_t seen = look(path);
    struct access *now;
    enum status s = state_read(path, &now, err);

    if (s != ST_OK)
        return s;
    *ret = MEM_NEW(struct access_store);
    (*ret)->path = mem_strdup(path);
    (*ret)->seen = seen;
    (*ret)->now = now;
    pthread_mutex_init(&(*ret)->lock, NULL);
    return ST_OK;
}

void access_close(struct access_store *s)
{
    if (!s)
        return;
    access_unref(s->now);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s);
}

void access_refresh(struct access_store *s)
{
    uint64_t seen = look(s->path);
    struct access *now, *old = NULL;
    struct err err;

    if (seen == s->seen)
        return;
    s->seen = seen;
    if (state_read(s->path, &now, &err) == ST_OK) {
        pthread_mutex_lock(&s->lock);
        old = s->now;
        s->now = now;
        s->problem[0] = '\0';
        pthread_mutex_unlock(&s->lock);
        log_info("api.tokens: %u lines of %s are in force", now->n, s->path);
    } else {
        pthread_mutex_lock(&s->lock);
        snprintf(s->problem, sizeof s->problem, "%s", err.text);
        pthread_mutex_unlock(&s->lock);
        log_error("%s; the tokens before stay in force", err.text);
    }
    access_unref(old);
}

const char *access_problem(struct access_store *s, char *buf, size_t n)
{
    pthread_mutex_lock(&s->lock);
    snprintf(buf, n, "%s", s->problem);
    pthread_mutex_unlock(&s->lock);
    return buf;
}

struct access *access_get(struct access_store *s)
{
    struct access *x;

    pthread_mutex_lock(&s->lock);
    x = s->now;
    access_ref(x);
    pthread_mutex_unlock(&s->lock);
    return x;
}

void access_ref(struct access *a)
{
    __atomic_add_fetch(&a->refs, 1, __ATOMIC_RELAXED);
}

void access_unref(struct access *a)
{
    if (!a || __atomic_sub_fetch(&a->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    arena_done(&a->arena);
    free(a);
}
