/*
 * rules.h - conditions by domains that are no hosts: what is bought decides which
 * domains there are, so they are settled when node types are known (topology.c).
 */
#ifndef WIRE_PODS_RULES_H
#define WIRE_PODS_RULES_H

#include <stdbool.h>
#include <stdint.h>

#define NO_VALUE UINT32_MAX /* the node lacks the key */
struct topo_key {
    const char *key;
    const char **values; /* of living nodes */
    uint32_t n;
    uint32_t *of_node; /* by node of the view */
};
enum topo_kind {
    TOPO_OUT,      /* not where a value is listed */
    TOPO_IN,       /* only there */
    TOPO_ONE_EACH, /* at most one of those meant in each */
    TOPO_TOGETHER, /* all in one; key ON_HOST: on one host */
    TOPO_SPREAD,
};
struct topo_rule {
    enum topo_kind kind;
    uint32_t key, term;
    const bool *values; /* by value: listed; SPREAD: it is a domain */
    bool self;          /* SPREAD: its own pods count */
    uint32_t skew, domains;
};
struct topo_group { /* equal pods, one bundle of the view's demand */
    const struct topo_rule *rules;
    uint32_t n_rules;
    uint64_t meant; /* terms that mean them, a bit each */
};
struct topo_term {
    uint32_t key;
    const uint32_t *matched; /* by value */
};
struct topology {
    const struct topo_key *keys;
    uint32_t n_keys;
    const struct topo_term *terms;
    uint32_t n_terms;
    const struct topo_group *const *const *groups; /* by demand and bundle; NULL:
                                                    * it has no such rules */
    uint32_t n_demands;
};
#define ON_HOST UINT32_MAX

#endif
