/*
 * inside.h - what the files of shadow/ share; private to them.
 */
#ifndef CONTROL_SHADOW_INSIDE_H
#define CONTROL_SHADOW_INSIDE_H

#include <pthread.h>

#include "../../base/arena.h"
#include "shadow.h"

struct vm { /* a virtual machine; heap */
    char id[64], request_id[64], type[64], zone[48], provider[48];
    bool spot;
    bool drains;      /* as its source was asked */
    int64_t ready_ms; /* wall: it runs */
};

struct shadow {
    pthread_mutex_t lock; /* of all below */
    struct config *conf;  /* a reference; NULL before the first */
    int64_t boot_ms;
    VEC(struct vm *) vms;
    uint64_t version; /* grows with each that comes, drains or goes */
    struct shadow_now now;
    struct shadow_sum life[SHADOW_SIDES];   /* of this process */
    int64_t paid_ms;                        /* mono; 0: not yet */
    int64_t saved_ms;                       /* mono */
    struct shadow_hour hours[SHADOW_HOURS]; /* at hour % SHADOW_HOURS */
};

/* ---- cloud.c */
void shadow_cloud_register(struct shadow *s); /* the process's provider */
int64_t shadow_boot_of(const struct shadow *s, const char *type); /* locked */
void shadow_vm_add(struct shadow *s, const struct vm *vm);        /* locked */

/* ---- work.c: what runs, as bundles */

/* Shapes that were seen waiting: what runs is divided into them. */
struct shapes {
    struct arena arena;
    VEC(struct snap_bundle) all; /* their counts mean nothing */
};
void shapes_learn(struct shapes *s, const struct source_view *v);
/* The work of present nodes (their rows in v->nodes), in the arena. */
struct work_list {
    VEC(struct snap_bundle) all;
};
void work_of(const struct shapes *s, const struct config *conf,
             const struct source_node *n, struct arena *a,
             struct work_list *ret);

/* ---- match.c */
/* The node type that a present node is of, or NULL. */
const struct conf_type *match_type(const struct config *c,
                                   const struct source_node *n);
bool match_spot(const struct source_node *n);

#endif
