/*
 * split.h - splits a list or a watch into objects as its bytes come.
 *
 * Finds where each object begins and ends and hands over its text, so that a
 * list of 5,000 pods never lies in memory as a whole.  It looks at brackets
 * and strings only: whether an object is good JSON is for its parser.
 */
#ifndef WIRE_KUBE_SPLIT_H
#define WIRE_KUBE_SPLIT_H

#include "../../base/buf.h"
#include "../../base/err.h"

#define KUBE_MAX_OBJECT ((size_t)8 << 20) /* etcd takes 1.5 MiB */
#define KUBE_MAX_REST ((size_t)1 << 20)   /* of a list without its items */

enum kube_split_kind { SPLIT_LIST, SPLIT_WATCH };

struct kube_split {
    enum kube_split_kind kind;
    /* false ends it: feed() returns CANCELLED, err is not touched */
    bool (*object)(void *ctx, const char *text, size_t n);
    void *ctx;
    struct buf text; /* the object so far */
    struct buf rest; /* LIST: all but the items */
    uint32_t depth;
    bool in_object, in_items, in_string, escaped, key_next, in_key;
    char key[16]; /* the last one at depth 1 */
    uint32_t key_n;
    bool done; /* LIST: the outermost bracket is closed */
};

void kube_split_init(struct kube_split *s, enum kube_split_kind kind,
                     bool (*object)(void *ctx, const char *text, size_t n),
                     void *ctx);
void kube_split_done(struct kube_split *s);
/* BROKEN: this can be no such thing, or is larger than anybody needs. */
enum status kube_split_feed(struct kube_split *s, const char *p, size_t n,
                            struct err *err);
/* Is it between two objects (WATCH) or whole (LIST)? */
bool kube_split_whole(const struct kube_split *s);

#endif
