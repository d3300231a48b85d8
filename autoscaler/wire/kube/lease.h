/*
 * lease.h - one leader among several, by a Lease of coordination.k8s.io.
 *
 * The rules are those of Kubernetes' own leader election (client-go,
 * tools/leaderelection): the holder renews renewTime; who has not seen it
 * change for leaseDurationSeconds by its own clock may take it, guarded by
 * resourceVersion; leaseTransitions grows with every new holder and is the
 * fencing token.  One thread at a time.
 */
#ifndef WIRE_KUBE_LEASE_H
#define WIRE_KUBE_LEASE_H

#include "kube.h"

struct kube_lease_opts {
    const char *space, *name; /* of the Lease object; made when missing */
    const char *identity;     /* ours: "pod_uid" or "host_pid" */
    int64_t duration_ms;      /* sent in whole seconds, rounded up */
};

struct kube_lease;
/* k is used by kube_lease_* calls only. */
struct kube_lease *kube_lease_new(const struct kube_lease_opts *o,
                                  struct kube *k);
void kube_lease_free(struct kube_lease *l);

/* One try: takes a free or expired lease, or renews ours.
 *   OK      it is ours until kube_lease_until()
 *   RETRY   err->code "Held": another's, its name in the text; otherwise the
 *           server could not be asked, and what we hold we hold until then
 *   AUTH, INVALID  as kube_do() */
enum status kube_lease_try(struct kube_lease *l, int64_t now_boot_ms,
                           struct err *err);
/* Boot time (clock.h), so that a computer that slept does not believe it still
 * has the lease; counted from before the renewing request left.  0: not ours. */
int64_t kube_lease_until(const struct kube_lease *l);
/* leaseTransitions of our tenure, at least 1. */
int64_t kube_lease_token(const struct kube_lease *l);
/* The same tenure under a higher token: somebody deleted the Lease, and with it
 * the count of holders.  RETRY "Conflict": it is not ours any more. */
enum status kube_lease_raise(struct kube_lease *l, int64_t token,
                             struct err *err);
const char *kube_lease_holder(const struct kube_lease *l); /* last seen, "" */
/* Gives it up, so that the next one need not wait. */
enum status kube_lease_release(struct kube_lease *l, struct err *err);

#endif
