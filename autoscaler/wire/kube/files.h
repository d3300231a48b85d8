/*
 * files.h - access to an API server as texts and files, the only form that a
 * plug-in can be given.
 */
#ifndef WIRE_KUBE_FILES_H
#define WIRE_KUBE_FILES_H

#include "kube.h"

struct kube_files { /* "" : there is none; owned by the arena given */
    const char *server, *ca, *cert, *key, *token;
};

/* Existing files are named; data that is inside a kubeconfig is written into
 * dir (mode 0600), a template for mkdtemp(), which is made when it is needed.
 * UNSUPPORTED: something in the access has no form as a file. */
enum status kube_files_make(const struct kube_access *a, char *dir,
                            struct arena *arena, struct kube_files *ret,
                            struct err *err);
/* Removes what was written. */
void kube_files_remove(const char *dir);
/* This pod's own: a plug-in finds that by itself. */
bool kube_access_is_pod(const struct kube_access *a);

#endif
