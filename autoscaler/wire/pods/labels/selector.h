/*
 * selector.h - conditions on labels, by Kubernetes' rules.
 */
#ifndef WIRE_PODS_SELECTOR_H
#define WIRE_PODS_SELECTOR_H

#include <jansson.h>

#include "../../../base/arena.h"
#include "../../../model/snapshot.h"

enum req_op { REQ_IN, REQ_NOT_IN, REQ_EXISTS, REQ_ABSENT, REQ_GT, REQ_LT };
struct req {
    const char *key;
    enum req_op op;
    struct names values;
};
struct reqs {
    const struct req *v;
    uint32_t n;
}; /* all must hold */

/* matchExpressions behind what is in *to; false: one makes no sense. */
struct req_vec {
    VEC(struct req) all;
};
bool pods_expressions(const json_t *list, struct arena *a, struct req_vec *to);
/* nodeSelector, matchLabels: every pair must be there. */
bool pods_pairs(const json_t *map, struct arena *a, struct req_vec *to);
const char *pods_key_now(const char *key); /* of one that had another name */
bool pods_req_holds(const struct req *r, const struct pairs *labels);
bool pods_reqs_hold(const struct reqs *r, const struct pairs *labels);
/* "spot" or "on-demand" when a node's label says so as some cloud writes it;
 * else "". */
const char *pods_market(const char *key, const char *value);
/* The other way round: what that cloud's label says of a market; "": it tells of
 * none. */
const char *pods_market_value(const char *key, bool spot);
/* "nvidia.com/gpu.memory > 40000", for a person and as a label's key. */
const char *pods_req_text(const struct req *r, struct arena *a);
/* Is it the name of a GPU product, which types know by ACCEL_LABEL? */
bool pods_names_product(const char *key);
bool pods_tolerated(const struct tolerations *t, const struct taints *x);
bool pods_listed(const struct names *v, const char *s);

#endif
