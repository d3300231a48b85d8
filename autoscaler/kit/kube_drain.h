/*
 * kube_drain.h - draining a Kubernetes node: cordon, taint, evict, one step a
 * call.
 *
 * Nothing is kept between steps: the taint on the node says that a drain has
 * begun and when, so whoever comes after a restart goes on with it.  The host
 * and plug-ins share it; requests leave through struct kube_io.  It blocks for
 * its requests only, never to wait.
 */
#ifndef KIT_KUBE_DRAIN_H
#define KIT_KUBE_DRAIN_H

#include "../provider.h"
#include "kube_pod.h"

/* One request to the API server and what it answered. */
struct kube_ask {
    const char *method, *path; /* path from /api, with its query */
    const char *content_type;
    const json_t *body; /* NULL: none */
    /* the answer */
    int code;      /* of HTTP; 0: there was none, see text */
    json_t *reply; /* or NULL; the asker decrefs */
    uint32_t retry_after_ms;
    int64_t server_ms; /* wall, of the server: the answer's Date; 0: none */
    char text[208];    /* why there was no answer */
};
struct kube_io {
    void *ctx;
    void (*send)(void *ctx, struct kube_ask *ask);
};

enum kube_drained {
    KUBE_DRAIN_REFUSED,
    KUBE_DRAIN_WAITS,
    KUBE_DRAIN_ABSENT, /* who answered has no such node: not a word on its pods,
                        * as another cluster may have answered */
    KUBE_DRAIN_DONE
};

struct kube_drain {
    const char *node;     /* its name */
    const char *uid;      /* its metadata.uid; NULL or "": not known.  A node of
                           * its name with another one is not touched */
    int64_t now_wall_ms;  /* ours: for a server that tells no time */
    int64_t limit_ms;     /* duration, from the taint on: what will not
                           * go is then a refusal */
    int64_t settle_ms;    /* duration, from the taint on: no DONE before,
                           * for what the scheduler was about to bind */
    int64_t most_grace_s; /* longer grace periods are cut; 0: none is */
    bool wait;            /* wait for what is against it, up to the
                           * limit, instead of refusing at once */
    bool idle;            /* it goes as nothing runs there: a pod that came
                           * since is never evicted, it refuses */
    struct kube_pod_rules rules;
    /* what came of it */
    enum kube_drained got;
    bool begun;    /* the node is tainted */
    bool moved;    /* pods were evicted in this step, or are
                    * leaving */
    uint32_t left; /* pods that are still there */
    char why[208]; /* REFUSED, WAITS: for a person */
};

/* OK: see got.  Else the API server could not be asked or said no to all we
 * may do here; the node is as it is, and the step may be tried again (AUTH:
 * not before a right is given). */
enum davit_status kube_drain_step(const struct kube_io *io,
                                  struct kube_drain *d, struct davit_error *e);

/* Takes it back: the taint goes, and what we changed besides.  A node that we
 * do not drain, or that is not there, is left alone. */
enum davit_status kube_drain_undo(const struct kube_io *io, const char *node,
                                  struct davit_error *e);

/* Made unschedulable for a person, or given back: only if that was us.  A node
 * that is cordoned already, or not there, is left alone. */
#define KUBE_CORDON_NOTE "davit.io/cordoned-by-user"
enum davit_status kube_cordon(const struct kube_io *io, const char *node,
                              bool on, struct davit_error *e);

/* Deletes the Node object of a machine that has gone, as a cloud's controller
 * does.  RETRY while it is Ready: its kubelet was heard of within the last
 * minute, or it is another machine's.  Not when its providerID does not end
 * with `instance` ("": not compared). */
enum davit_status kube_node_forget(const struct kube_io *io, const char *node,
                                   const char *instance, bool *ret_deleted,
                                   struct davit_error *e);

#endif
