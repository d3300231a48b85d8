/*
 * bundle.h - two bundles compared by all that they ask for, and hashed by it.
 *
 * Their counts are no part of it.  Resources, conditions and tolerations are
 * compared as sets, since their order means nothing; alternatives in theirs.
 */
#ifndef MODEL_BUNDLE_H
#define MODEL_BUNDLE_H

#include "snapshot.h"

bool bundle_equal(const struct snap_bundle *a, const struct snap_bundle *b);
/* Goes on from h; see base/hash.h.  Equal bundles have the same. */
uint64_t bundle_hash(uint64_t h, const struct snap_bundle *b);

#endif
