/*
 * files.h - an access to an API server as plain texts and files, for a
 * plug-in, which can take nothing else.
 */
#ifndef WIRE_KUBE_FILES_H
#define WIRE_KUBE_FILES_H

#include "kube.h"

struct kube_files { /* "" : there is none; owned by the arena given */
    const char *server, *ca, *cert, *key, *token;
};

/* What lies in files already is named, what a kubeconfig holds in itself is
 * written into dir (mode 0600), which is made when it is needed; it is a
 * template for mkdtemp().  UNSUPPORTED: cannot be said in files. */
enum status kube_files_make(const struct kube_access *a, char *dir,
                            struct arena *arena, struct kube_files *ret,
                            struct err *err);
/* Removes what was written. */
void kube_files_remove(const char *dir);
/* This pod's own: a plug-in finds that by itself. */
bool kube_access_is_pod(const struct kube_access *a);

#endif
