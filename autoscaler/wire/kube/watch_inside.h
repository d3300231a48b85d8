/*
 * watch_inside.h - what watch.c (the thread) and watch_read.c (one list, one
 * watch) share; nobody else includes it.
 */
#ifndef WIRE_KUBE_WATCH_INSIDE_H
#define WIRE_KUBE_WATCH_INSIDE_H

#include <pthread.h>

#include "split.h"
#include "watch.h"

enum { MAX_VERSION = 64, MAX_CONTINUE = 8192 };

struct kube_watch {
    struct kube_watch_opts o;
    struct kube *kube;
    struct arena scratch; /* of one exchange */
    struct kube_split split;
    struct err err;            /* of the exchange under way */
    char version[MAX_VERSION]; /* where to watch from; "" : list first */
    char next[MAX_CONTINUE];   /* of a paged list */
    bool expired, whole_version;
    uint64_t got; /* events of this watch */
    unsigned seed;
    uint32_t failures; /* in a row */

    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    atomic_bool stop;
    struct kube_watch_state state;
};

/* ---- watch.c */
void watch_is_good(struct kube_watch *w);
void watch_count(struct kube_watch *w, uint64_t *which, uint64_t n);
bool watch_stopped(const struct kube_watch *w);

/* ---- watch_read.c; w->err says what went wrong */

/* The whole list; w->version is where to go on from, "" after a failure. */
enum status watch_list(struct kube_watch *w);
/* Follows until it ends; w->expired: the version is too old. */
enum status watch_follow(struct kube_watch *w);

#endif
