/*
 * access.c - the address of the API server and our credentials.
 *
 * Certificates that lie in files are handed to curl as files, which reads them
 * for each new connection: a rotated one needs no restart.  A token that lies
 * in a file is read again when it is a minute old or was refused.
 */
#include "access.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/alloc.h"
#include "../../base/clock.h"
#include "../../base/log.h"

static atomic_bool was_insecure;

#define CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

char *kube_slurp(struct arena *a, const char *path, size_t *ret_n,
                 struct err *err)
{
    FILE *f = fopen(path, "rbe");
    size_t n = 0, cap = 8192;
    char *s = NULL, *copy = NULL;

    if (!f) {
        err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
        return NULL;
    }
    for (;;) {
        s = mem_resize(s, cap, 1);
        n += fread(s + n, 1, cap - n, f);
        if (n < cap)
            break;
        if (cap >= KUBE_MAX_FILE)
            break;
        cap *= 2;
    }
    if (ferror(f))
        err_set(err, ST_INVALID, "%s: %s", path, strerror(errno));
    else if (n >= KUBE_MAX_FILE)
        err_set(err, ST_INVALID, "%s is larger than %zu bytes", path,
                KUBE_MAX_FILE);
    else
        copy = arena_strndup(a, s, n);
    /* a token may be in it */
    explicit_bzero(s, n);
    free(s);
    fclose(f);
    *ret_n = n;
    return copy;
}

/* ---- the token */

bool kube_token_read(struct kube_access *a, struct err *err)
{
    struct arena scratch = {0};
    size_t n = 0;
    char *text = kube_slurp(&scratch, a->token_file, &n, err), *from = text;
    bool changed = false;

    if (text) {
        while (isspace((unsigned char)*from))
            from++;
        for (n = strlen(from); n && isspace((unsigned char)from[n - 1]);)
            from[--n] = '\0';
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)from[i] <= ' ' || from[i] == 0x7f)
                n = 0;
        if (!n)
            err_set(err, ST_INVALID, "%s holds no token", a->token_file);
        changed = n && (!a->token || strcmp(a->token, from) != 0);
    }
    if (changed) {
        free(a->token);
        a->token = mem_strdup(from);
    }
    if (text)
        explicit_bzero(text, strlen(text));
    a->token_mono_ms = clock_mono_ms();
    arena_done(&scratch);
    return changed;
}

/* ---- in a pod */

static enum status cluster_read(struct kube_access *a, const char *dir,
                                struct err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    bool v6 = strchr(host, ':');
    struct err ignored = {0};
    size_t n;
    char *space;

    a->server = arena_printf(&a->arena, "https://%s%s%s:%s", v6 ? "[" : "",
                             host, v6 ? "]" : "", port && *port ? port : "443");
    a->token_file = arena_printf(&a->arena, "%s/token", dir);
    a->ca_file = arena_printf(&a->arena, "%s/ca.crt", dir);
    if (access(a->ca_file, R_OK) != 0)
        return err_set(err, ST_INVALID,
                       "%s: %s; it is what the API server's certificate is "
                       "checked by",
                       a->ca_file, strerror(errno));
    if (!kube_token_read(a, err))
        return err_prefix(err, "the service account of this pod "
                               "(automountServiceAccountToken?)");
    space = kube_slurp(&a->arena, arena_printf(&a->arena, "%s/namespace", dir),
                       &n, &ignored);
    if (space) {
        space[strcspn(space, " \r\n\t")] = '\0';
        if (*space)
            a->space = space;
    }
    a->source = "service account of this pod";
    return ST_OK;
}

/* ---- which of them */

static const char *home_config(struct arena *a)
{
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");

    while (list && *list) {
        size_t n = strcspn(list, ":");
        const char *path = arena_strndup(a, list, n);
        if (n && access(path, F_OK) == 0)
            return path;
        list += n + (list[n] == ':');
    }
    if (!home || !*home)
        return NULL;
    home = arena_printf(a, "%s/.kube/config", home);
    return access(home, F_OK) == 0 ? home : NULL;
}

static enum status access_read(struct kube_access *a,
                               const struct kube_access_opts *o,
                               struct err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *dir = o->cluster_dir, *path = o->kubeconfig;
    const char *context = o->context && *o->context ? o->context : NULL;

    if (!dir || !*dir)
        dir = getenv("DAVIT_SERVICEACCOUNT_DIR");
    if (!dir || !*dir)
        dir = CLUSTER_DIR;
    if (path && *path)
        return kube_config_read(a, path, context, err);
    if (!context && host && *host)
        return cluster_read(a, dir, err);
    path = home_config(&a->arena);
    if (path)
        return kube_config_read(a, path, context, err);
    return err_set(err, ST_INVALID,
                   "no way to a Kubernetes API server: not in a pod "
                   "(KUBERNETES_SERVICE_HOST is not set), and neither "
                   "$KUBECONFIG nor ~/.kube/config is there; name a file with "
                   "kubeconfig");
}

enum status kube_access_find(const struct kube_access_opts *o,
                             struct kube_access **ret, struct err *err)
{
    struct kube_access *a = MEM_NEW(struct kube_access);
    enum status s;

    pthread_mutex_init(&a->lock, NULL);
    a->space = "default";
    s = access_read(a, o, err);
    if (s != ST_OK) {
        kube_access_free(a);
        a = NULL;
    } else if (a->tls.insecure) {
        atomic_store(&was_insecure, true);
        log_warn("%s: insecure-skip-tls-verify: the API server's certificate "
                 "is not checked",
                 a->source);
    }
    *ret = a;
    return s;
}

void kube_access_free(struct kube_access *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    if (a->token)
        explicit_bzero(a->token, strlen(a->token));
    free(a->token);
    arena_done(&a->arena);
    free(a);
}

bool kube_access_is_insecure(const struct kube_access *a)
{
    return a->tls.insecure;
}

bool kube_access_was_insecure(void)
{
    return atomic_load(&was_insecure);
}

const char *kube_access_server(const struct kube_access *a)
{
    return a->server;
}

const char *kube_access_namespace(const struct kube_access *a)
{
    return a->space;
}

const char *kube_access_source(const struct kube_access *a)
{
    return a->source;
}
