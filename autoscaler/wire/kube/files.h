/*
 * files.h - access to an API server as texts and files, the only form that a
 * plug-in can be given.
 */
#ifndef WIRE_KUBE_FILES_H
#define WIRE_KUBE_FILES_H

#include "kube.h"

#define KUBE_FILES 4

struct kube_files { /* "" : there is none; owned by the arena given */
    const char *server, *ca, *cert, *key, *token;
    int fds[KUBE_FILES]; /* what the paths below /proc/self/fd stand for */
    uint32_t n_fds;
};

/* Existing files are named.  Data that is inside a kubeconfig goes into memory
 * files (memfd_create(2)), which this process alone reaches and which are gone
 * with it, however it ends.
 * UNSUPPORTED: something in the access has no form as a file. */
enum status kube_files_make(const struct kube_access *a, struct arena *arena,
                            struct kube_files *ret, struct err *err);
/* From then on the paths lead nowhere. */
void kube_files_close(struct kube_files *f);
/* This pod's own: a plug-in finds that by itself. */
bool kube_access_is_pod(const struct kube_access *a);

#endif
