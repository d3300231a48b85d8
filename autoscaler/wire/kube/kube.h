/*
 * kube.h - a Kubernetes API server: how to reach it, and one request to it.
 *
 * kube_access is found once and shared by all threads (it locks what changes:
 * the token).  A struct kube is one connection and serves one thread at a
 * time.  Watches are in watch.h.
 */
#ifndef WIRE_KUBE_H
#define WIRE_KUBE_H

#include <jansson.h>
#include <stdatomic.h>

#include "../../base/arena.h"
#include "../../base/err.h"

struct kube_access;

struct kube_access_opts {
    const char *kubeconfig;  /* "" or NULL: look for it */
    const char *context;     /* "" or NULL: the file's current one */
    const char *cluster_dir; /* NULL: /var/run/secrets/kubernetes.io/
                              * serviceaccount, $DAVIT_SERVICEACCOUNT_DIR */
};

/* An explicit kubeconfig; else in a pod (KUBERNETES_SERVICE_HOST) its service
 * account; else $KUBECONFIG (its first file that is there), ~/.kube/config.
 * Reads files, asks nobody.  INVALID says what is wrong with which file. */
enum status kube_access_find(const struct kube_access_opts *o,
                             struct kube_access **ret, struct err *err);
void kube_access_free(struct kube_access *a); /* after all its kubes */

/* The server's certificate is not checked (insecure-skip-tls-verify). */
bool kube_access_is_insecure(const struct kube_access *a);
/* Was such an access found in this process, ever?  Thread: any. */
bool kube_access_was_insecure(void);
const char *kube_access_server(const struct kube_access *a); /* URL */
/* The pod's own or the context's namespace; "default" when neither says. */
const char *kube_access_namespace(const struct kube_access *a);
/* "service account of this pod", "context prod of /home/u/.kube/config" */
const char *kube_access_source(const struct kube_access *a);

struct kube;
struct kube *kube_new(struct kube_access *a);
void kube_free(struct kube *k);

#define KUBE_JSON "application/json"
/* Of an object its metadata alone; from who cannot, all of it. */
#define KUBE_METADATA \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," KUBE_JSON
#define KUBE_MERGE_PATCH "application/merge-patch+json"

struct kube_call {
    const char *method;        /* NULL: GET */
    const char *path;          /* "/api/v1/nodes/x?limit=1" */
    const char *content_type;  /* NULL: KUBE_JSON, when there is a body */
    const char *accept;        /* NULL: KUBE_JSON */
    const char *body;          /* JSON text, NULL: none */
    int64_t deadline_mono_ms;  /* 0: 10 s from now */
    const atomic_bool *cancel; /* NULL: none */
    /* the answer */
    int code;          /* of HTTP; 0: there was none */
    int64_t server_ms; /* wall, of the server: the answer's Date; 0: none */
    json_t *reply;     /* NULL: none; the caller's to decref, also
                        * after a failure (the Status object) */
};

/* OK for 2xx.  Otherwise err->code is the Status' reason ("Forbidden",
 * "Conflict", "AlreadyExists", "Expired", "TooManyRequests") and err->text
 * is the server's message:
 *   AUTH       401, 403 (the verb and resource, and the rule that is missing)
 *   NOT_FOUND  404
 *   INVALID    400, 422: the same request will not do later either
 *   UNSUPPORTED 405, 406, 415
 *   RETRY      409 (err->code says which), 410, 429 (retry_after_ms), 5xx, no
 *              connection, time over, an answer that is no JSON */
enum status kube_do(struct kube *k, struct kube_call *call, struct err *err);

/* A whole file, NUL-terminated, in the arena; NULL with err filled. */
char *kube_slurp(struct arena *a, const char *path, size_t *ret_n,
                 struct err *err);
/* A file or a ConfigMap's value that is YAML, its first document; NULL: err says
 * where it is none.  The caller's to decref. */
json_t *kube_yaml(const char *text, size_t n, struct err *err);

/* For watch.c and tests. */
struct http_client;
struct http_exchange;
struct http_client *kube_http(struct kube *k);
/* Fills url, headers, TLS and label; what it points to is in the arena or
 * lives as long as k. */
void kube_exchange(struct kube *k, const char *path, struct arena *arena,
                   struct http_exchange *x);
/* The token was refused: true when another one is there now. */
bool kube_token_again(struct kube *k);
/* A reply that is no 2xx to a status; method and path for the message. */
enum status kube_refused(const struct kube *k, const char *method,
                         const char *path, const struct http_exchange *x,
                         const json_t *reply, struct err *err);

#endif
