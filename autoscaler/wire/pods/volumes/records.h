/*
 * records.h - records of the API's objects, and those of volumes: claims,
 * classes and what nodes can attach.  See inside.h.
 */
#ifndef WIRE_PODS_RECORDS_H
#define WIRE_PODS_RECORDS_H

#include "../../../base/arena.h"
#include "../labels/selector.h"

struct item { /* first member of a record */
    const char *id;
    uint32_t mark; /* of the list it was in last */
};

/* A record whose strings are in an arena of its own. */
struct object {
    struct item item;
    struct arena arena;
};
struct volume { /* a PersistentVolume */
    struct object object;
    const struct reqs *alts; /* where it can be used; n_alts 0: anywhere */
    uint32_t n_alts;
    const char *class, *driver; /* "" */
    const char *claim;          /* "space/name" it is bound to, or kept for */
    struct pairs labels;
    int64_t size;
    uint32_t modes; /* a bit each */
    bool of_host;   /* on one host: no new node helps */
    bool free, block;
};
enum { MODE_ONE_POD = 8 };
struct claim {
    struct object object; /* id: "space/name" */
    const char *volume;   /* its name; "" */
    const char *class;    /* "" */
    struct reqs reqs;     /* on the volume's labels */
    int64_t size;
    uint32_t modes;
    bool ending, lost, block, selects;
};
struct storage_class {
    struct object object;
    const char *driver;
    const struct reqs *alts; /* allowedTopologies; n_alts 0: anywhere */
    uint32_t n_alts;
    bool waits; /* for its first consumer */
    bool provisions;
};
struct csi_node {
    struct object object; /* id: the node's name */
    struct qtys limits;   /* by driver */
};
/* What the claims of a pod ask of its node, in a view. */
struct pod_volumes {
    const char *key;         /* the same: the same conditions */
    const struct reqs *alts; /* beside the shape's; one with n 0: anywhere */
    uint32_t n_alts;
    struct qtys needs;       /* attachments, by driver */
    const char *code, *text; /* why no new node helps; NULL: one does */
};

#endif
