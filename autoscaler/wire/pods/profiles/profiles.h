/*
 * profiles.h - kube-scheduler's own settings (KubeSchedulerConfiguration), by
 * the schedulerName of its profiles.
 *
 * Used: the default constraints of PodTopologySpread that refuse nodes
 * (DoNotSchedule), and whether NodeResourcesFit prefers full nodes or empty ones,
 * which decides where work goes that moves.  Whatever else changes which nodes a pod may go to is told
 * as a word: Davit plans without it.
 */
#ifndef WIRE_PODS_PROFILES_H
#define WIRE_PODS_PROFILES_H

#include <jansson.h>

#include "../../../base/arena.h"
#include "../../../model/snapshot.h"

struct spread_default {
    const char *key;
    uint32_t skew;
};
struct profile {
    const char *scheduler;
    const struct spread_default *spreads; /* DoNotSchedule ones */
    uint32_t n_spreads;
    bool packs; /* of several nodes with room it prefers the fullest */
};
struct profiles {
    struct arena arena;
    const struct profile *v;
    uint32_t n;
    struct names words; /* what is there and not followed, a sentence each */
    bool any_spreads;
};

/* A file's or a ConfigMap's text.  NULL: it is none, and err says where. */
struct profiles *profiles_read(const char *text, size_t n, struct err *err);
/* The first value of a ConfigMap that is such a text. */
struct profiles *profiles_of_map(const json_t *map, struct err *err);
void profiles_free(struct profiles *p); /* NULL is fine */
/* Does some scheduler of these prefer the emptiest node?  One of no profile does:
 * it is the default. */
bool profiles_spread(const struct profiles *p, const struct names *schedulers);
/* The one for pods of this schedulerName ("": default-scheduler); NULL: none. */
const struct profile *profile_of(const struct profiles *p,
                                 const char *scheduler);

#endif
