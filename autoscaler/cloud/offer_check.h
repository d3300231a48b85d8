/*
 * offer_check.h - is a machine what the configuration says of its type?
 *
 * A type whose machines have less, or a taint or label that the configuration
 * does not know, makes Davit buy what cannot hold the work it is bought for.
 * Providers say with each offer what they know of its machines: each difference
 * becomes a text that says what to do.  Pure.  Thread: any.
 */
#ifndef CLOUD_OFFER_CHECK_H
#define CLOUD_OFFER_CHECK_H

#include "cloud.h"

/* Each difference once per type.  The text lies in the arena. */
void offers_check(const struct config *c, const char *provider,
                  const struct call_offer *v, uint32_t n, struct arena *a,
                  void (*each)(void *arg, const char *type, const char *text),
                  void *arg);

/* Those of the offer's taints that the type's own do not have. */
struct taints offer_more_taints(const struct snap_type *t,
                                struct taints offered, struct arena *a);

#endif
