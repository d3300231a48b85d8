/*
 * access.h - what access.c, kubeconfig.c and request.c share; nobody
 * else includes it.
 */
#ifndef WIRE_KUBE_ACCESS_H
#define WIRE_KUBE_ACCESS_H

#include <pthread.h>

#include "../http.h"
#include "kube.h"

#define KUBE_MAX_FILE ((size_t)4 << 20) /* a kubeconfig, a token */

struct kube_access {
    struct arena arena; /* owns what is below but for the token */
    const char *server; /* "https://10.0.0.1:443", no '/' at the end */
    const char *space, *source;
    const char *ca_file, *cert_file, *key_file; /* NULL: none */
    struct http_tls tls;
    const char *proxy; /* NULL: as the environment says */
    const char *user_agent;
    const char *token_file; /* NULL: the token does not change */
    pthread_mutex_t lock;   /* of the token */
    char *token;            /* heap; NULL: none */
    int64_t token_mono_ms;  /* when it was read */
};

/* Reads the token file again; true when the token is another one now. */
bool kube_token_read(struct kube_access *a, struct err *err);

/* kubeconfig.c: one kubeconfig file into a; context NULL: the current one. */
enum status kube_config_read(struct kube_access *a, const char *path,
                             const char *context, struct err *err);

#endif
