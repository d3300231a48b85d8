/*
 * ha.h - one leader among several daemons, and its memory in the cluster.
 *
 * Who leads holds a Lease; what must survive is in ConfigMaps (kube_state.h).
 * A standby waits in ha_lead() with nothing open; a leader that loses its
 * lease ends its process at once, as Kubernetes' own controllers do: what it
 * was about to do is written down, and the next one goes on with it.
 */
#ifndef CONTROL_HA_H
#define CONTROL_HA_H

#include <stdatomic.h>

#include "../../base/worker.h"
#include "../../config/config.h"
#include "../../store/mirror.h"

struct ha;

/* What a Lease and its ConfigMaps do: those of Kubernetes (lease.c), or of
 * whoever plays them.  Errors as in kube_state.h. */
struct ha_ops {
    /* What the last leader knew: from then on no earlier one can write. */
    enum status (*read)(struct ha *h, struct arena *arena,
                        struct mirror_row **ret, uint32_t *n, struct err *err);
    /* Blocks, on a worker; one at a time. */
    enum status (*write)(struct ha *h, const struct mirror_row *rows,
                         uint32_t n, struct err *err);
    /* Is the copy as we left it?  As kube_state_check(); on a worker. */
    enum status (*check)(struct ha *h, bool *ret_lacks, struct err *err);
    unsigned (*percent)(const struct ha *h);
    bool (*leads)(struct ha *h); /* ha_leads() */
    /* Another one leads: this process ends.  Where it is played it may return,
     * and nothing leaves any more. */
    void (*deposed)(struct ha *h, const char *why);
    struct workers *(*workers)(struct ha *h, struct mailbox *answers); /* one */
};

/* Of any kind: each has this first, with ops, space and name set. */
struct ha {
    const struct ha_ops *ops;
    const char *space, *name; /* of the Lease */
    /* copy.c's; control thread */
    struct workers *worker;
    bool writing;
    atomic_ullong pulse;                /* so often the loop went round */
    unsigned percent;                   /* after the last write */
    int64_t due_mono_ms, check_mono_ms; /* it is looked at then */
    bool lacked; /* somebody changed it: all is written again; not told yet */
};

/* ---- lease.c */

/* NULL in *ret when the configuration does not ask for it. */
enum status ha_open(const struct config *c, struct ha **ret, struct err *err);
/* What the Lease is called, and the ConfigMaps before "-0" to "-15". */
void ha_name(const struct config *c, char *s, size_t n);
/* Returns once this daemon leads; then the lease is kept by a thread.  waits
 * is called with what is waited for whenever that changes. */
void ha_lead(struct ha *h, void (*waits)(void *arg, const char *text),
             void *arg);
/* Stops the thread and gives the lease up. */
void ha_close(struct ha *h);

/* ---- copy.c, for control/ only; control thread */

/* A fresh journal gets what the last leader knew; from now on its changes are
 * noted. */
enum status ha_restore(struct ha *h, struct journal *j, struct mailbox *answers,
                       struct err *err);
/* Sends what committed batches changed, unless it is being sent.  Returns the
 * mono time to be called again at, or INT64_MAX. */
int64_t ha_push(struct ha *h, struct journal *j);
/* n bytes, at most 8, that every leader of this lease makes the same. */
void ha_digest(const struct ha *h, unsigned char *ret, size_t n);
/* No more writes are sent.  False: one hangs, nothing of it may be freed. */
bool ha_stop(struct ha *h);
/* After that: writes what is committed and not in the copy yet.  Blocks. */
void ha_copy_rest(struct ha *h, struct journal *j);
/* A finished write, MAIL_HA.  False and the reason in err: it failed and is
 * run again. */
bool ha_fold(struct ha *h, struct journal *j, struct mail *mail,
             struct err *err);
/* Is the lease ours at this moment, by this computer's clocks?  Not for a moment
 * after it slept, or its clock was set: whatever leaves waits until the lease is
 * renewed, or this process ends. */
bool ha_leads(struct ha *h);
/* The loop goes round: who leads and does not gives the lease up. */
void ha_pulse(struct ha *h);
/* How full the ConfigMaps are, of all there can be: see kube_state.h. */
unsigned ha_percent(const struct ha *h);
enum { HA_MAIL = 4, HA_FILLING_PERCENT = 80 /* worth a warning */ };

#endif
