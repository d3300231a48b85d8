/*
 * files.c - see files.h.
 */
#include "files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access.h"

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno != EINTR)
            return false;
        p += k > 0 ? (size_t)k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return true;
}

/* A path that the process itself can open; NULL with err filled. */
static const char *keep(struct kube_files *f, struct arena *arena,
                        const char *name, const void *data, size_t n,
                        struct err *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd < 0 || !write_all(fd, data, n)) {
        err_set(err, ST_INVALID, "no memory file for the API server's %s: %s",
                name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    f->fds[f->n_fds++] = fd;
    return arena_printf(arena, "/proc/self/fd/%d", fd);
}

static const char *file_of(struct kube_files *f, struct arena *arena,
                           const char *file, const char *name,
                           const struct http_blob *b, struct err *err)
{
    if (file)
        return arena_strdup(arena, file);
    return b->n ? keep(f, arena, name, b->p, b->n, err) : "";
}

enum status kube_files_make(const struct kube_access *a, struct arena *arena,
                            struct kube_files *ret, struct err *err)
{
    struct http_blob token = {a->token, a->token ? strlen(a->token) : 0};

    *ret = (struct kube_files){0};
    if (a->tls.insecure || a->tls.server_name || (a->proxy && *a->proxy))
        return err_set(err, ST_UNSUPPORTED,
                       "%s: insecure-skip-tls-verify, tls-server-name and "
                       "proxy-url are not for worker groups; run davit in the "
                       "cluster, or use a context with a CA",
                       a->source);
    ret->server = arena_strdup(arena, a->server);
    ret->ca = file_of(ret, arena, a->ca_file, "ca", &a->tls.ca, err);
    ret->cert = file_of(ret, arena, a->cert_file, "cert", &a->tls.cert, err);
    ret->key = file_of(ret, arena, a->key_file, "key", &a->tls.key, err);
    ret->token = file_of(ret, arena, a->token_file, "token", &token, err);
    if (ret->ca && ret->cert && ret->key && ret->token)
        return ST_OK;
    kube_files_close(ret);
    return ST_INVALID;
}

void kube_files_close(struct kube_files *f)
{
    while (f->n_fds)
        close(f->fds[--f->n_fds]);
}

bool kube_access_is_pod(const struct kube_access *a)
{
    return strcmp(a->source, "service account of this pod") == 0;
}
