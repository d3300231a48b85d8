/*
 * kube_state.h - the journal's copy in the cluster (state: kubernetes).
 *
 * Rows lie in ConfigMaps "NAME-0", "NAME-1" ...: one JSON text a row, so that
 * kubectl shows them; 16, and more when these are full (kube_maps.h).  Each carries the fencing token of its writer (the
 * Lease's leaseTransitions) and every write is guarded by resourceVersion: a
 * leader that was replaced while it slept cannot write, and since nothing
 * leaves before it is written, cannot launch either.  Blocking; one thread at
 * a time.
 */
#ifndef STORE_KUBE_STATE_H
#define STORE_KUBE_STATE_H

#include "../wire/kube/kube.h"
#include "kube_maps.h"
#include "mirror.h"

/* Which of the first holds this row as long as there is room. */
unsigned kube_state_shard(const char *kind, const char *id);

/* The highest token that has written here; 0: none has. */
enum status kube_state_fence(struct kube *k, const char *space,
                             const char *name, int64_t *ret, struct err *err);

struct kube_state;
struct kube_state *kube_state_new(struct kube *k, const char *space,
                                  const char *name, int64_t token,
                                  const char *identity);
void kube_state_free(struct kube_state *s);

/* Makes the ConfigMaps ours (creates the missing ones) and reads them: after
 * this no earlier leader can write.  CANCELLED: a later one has them. */
enum status kube_state_open(struct kube_state *s, struct arena *arena,
                            struct mirror_row **ret, uint32_t *n,
                            struct err *err);

/* All of the rows, or an error: RETRY to do the same again later, CANCELLED
 * when a later leader has taken over, INVALID when all maps are full. */
enum status kube_state_write(struct kube_state *s,
                             const struct mirror_row *rows, uint32_t n,
                             struct err *err);
/* Are they as this leader left them?  Where somebody has deleted one, or changed it
 * (pruned, edited, put an older one back): *ret_lacks, and all rows are to be written
 * again; what he put there that is not ours goes with that.  Errors as above. */
enum status kube_state_check(struct kube_state *s, bool *ret_lacks,
                             struct err *err);
/* How full they are: past 100 a row has no place. */
unsigned kube_state_percent(const struct kube_state *s);

#endif
