/*
 * files.c - see files.h.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"

static const char *const names[] = {"ca", "cert", "key", "token"};

struct folder {
    char *dir;
    bool made;
    struct arena *arena;
    struct err *err;
};

static const char *write_out(struct folder *m, const char *name,
                             const void *data, size_t n)
{
    const char *path;
    size_t done = 0;
    int fd;

    if (!m->made && !mkdtemp(m->dir)) {
        err_set(m->err, ST_INVALID, "%s: %s", m->dir, strerror(errno));
        return NULL;
    }
    m->made = true;
    path = arena_printf(m->arena, "%s/%s", m->dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    while (fd >= 0 && done < n) {
        ssize_t k = write(fd, (const char *)data + done, n - done);
        if (k < 0 && errno != EINTR)
            break;
        done += k > 0 ? (size_t)k : 0;
    }
    if (fd < 0 || done < n) {
        err_set(m->err, ST_INVALID, "%s: %s", path, strerror(errno));
        path = NULL;
    }
    if (fd >= 0)
        close(fd);
    return path;
}

static const char *file_of(struct folder *m, const char *file, const char *name,
                           const struct http_blob *b)
{
    if (file)
        return arena_strdup(m->arena, file);
    return b->n ? write_out(m, name, b->p, b->n) : "";
}

enum status kube_files_make(const struct kube_access *a, char *dir,
                            struct arena *arena, struct kube_files *ret,
                            struct err *err)
{
    struct folder m = {dir, false, arena, err};

    if (a->tls.insecure || a->tls.server_name || (a->proxy && *a->proxy))
        return err_set(err, ST_UNSUPPORTED,
                       "%s: insecure-skip-tls-verify, tls-server-name and "
                       "proxy-url are not for worker groups; run davit in the "
                       "cluster, or use a context with a CA",
                       a->source);
    ret->server = arena_strdup(arena, a->server);
    ret->ca = file_of(&m, a->ca_file, names[0], &a->tls.ca);
    ret->cert = file_of(&m, a->cert_file, names[1], &a->tls.cert);
    ret->key = file_of(&m, a->key_file, names[2], &a->tls.key);
    ret->token = a->token_file ? arena_strdup(arena, a->token_file)
                 : a->token
                     ? write_out(&m, names[3], a->token, strlen(a->token))
                     : "";
    if (ret->ca && ret->cert && ret->key && ret->token)
        return ST_OK;
    if (m.made)
        kube_files_remove(dir);
    return ST_INVALID;
}

void kube_files_remove(const char *dir)
{
    char path[1100];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.1000s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

bool kube_access_is_pod(const struct kube_access *a)
{
    return strcmp(a->source, "service account of this pod") == 0;
}
