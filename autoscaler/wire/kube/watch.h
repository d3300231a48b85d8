/*
 * watch.h - one resource kept up to date: list, then watch, for ever.
 *
 * A watch has its own thread, the only one that calls the callbacks.  The list
 * is read in pages and split as it comes, so that no more than one
 * object is in memory as JSON.  It resumes from the last resourceVersion or
 * bookmark, lists again after 410 Gone, backs off when refused, and never
 * calls a list complete that was not.
 */
#ifndef WIRE_KUBE_WATCH_H
#define WIRE_KUBE_WATCH_H

#include "kube.h"

struct kube_watch;

struct kube_watch_opts {
    struct kube_access *access; /* outlives the watch */
    const char *path;           /* "/api/v1/pods"; outlives the watch */
    const char *what;           /* "pods", for messages; outlives it too */
    bool optional;              /* 404 and 403 mean that the server has no
                                 * such kind: an empty list, asked for again
                                 * every 5 min */
    uint32_t page;              /* objects a page; 0: 500 */
    void *ctx;
    /* A list begins: what is not among the objects until list_end() is gone.
     * It may begin again before it ended. */
    void (*list_begin)(void *ctx);
    /* gone: DELETED.  The object is borrowed. */
    void (*object)(void *ctx, const json_t *object, bool gone);
    void (*list_end)(void *ctx);
    /* ok() changed, or the problem's text did; may be NULL */
    void (*changed)(void *ctx);
};

struct kube_watch_state {
    bool synced;               /* a list was complete, some time */
    bool ok;                   /* up to date as far as anybody knows */
    int64_t bad_since_mono_ms; /* 0: ok */
    int64_t again_mono_ms;     /* it pauses until then; 0: it does not */
    bool missing;              /* optional, and the server has no such kind or
                                * does not let us see it */
    bool hidden;               /* of these the latter */
    enum status status;        /* of the last failure; ST_OK when ok */
    char problem[448];         /* "" when ok */
    char code[48];             /* err.code of it */
    uint64_t lists, watches, events, bookmarks, gone; /* counted */
    uint64_t bytes;
};

struct kube_watch *kube_watch_new(const struct kube_watch_opts *o);
/* Stops its thread (within some ms) and frees it. */
void kube_watch_free(struct kube_watch *w);
void kube_watch_state(struct kube_watch *w, struct kube_watch_state *ret);

#endif
