/*
 * kube_maps.h - which of several ConfigMaps holds which row, and how full each
 * is.  Only counts; kube_state.c reads and writes them.
 *
 * The first KUBE_MAPS_FIRST are always there, and 0.1 knows no others: a row
 * is in the one of its hash as long as there is room.  Then it goes to the
 * first map behind them that has some, or to a new one.  A row that outgrows
 * its map moves up, never down: of two copies the upper one holds.  Thread:
 * the owner's.
 */
#ifndef STORE_KUBE_MAPS_H
#define STORE_KUBE_MAPS_H

#include "../base/hash.h"

enum {
    KUBE_MAPS_FIRST = 16,
    KUBE_MAPS_MOST = 256,
    /* Of a map, with what its keys cost in metadata: the API server takes 1
     * MiB of values, etcd 1.5 MiB in all. */
    KUBE_MAP_BYTES = 900 << 10,
    /* Of one of the first, for machines: the rest is for requests. */
    KUBE_MAP_MACHINES = 256 << 10
};

struct kube_maps {
    struct hash at; /* struct kube_place */
    size_t used[KUBE_MAPS_MOST];
    unsigned n;    /* maps there are */
    unsigned from; /* the first behind the first that may have room */
};

struct kube_place {
    unsigned map;
    uint32_t bytes;
    char key[];
};

void kube_maps_init(struct kube_maps *m);
void kube_maps_done(struct kube_maps *m);

/* NULL: it is nowhere. */
struct kube_place *kube_maps_find(const struct kube_maps *m, const char *key);
/* It is in this map, with a value of n bytes; in place of where it was. */
void kube_maps_note(struct kube_maps *m, const char *key, unsigned map,
                    size_t n);
/* The same with what it costs, as a place has it. */
struct kube_place *kube_maps_put(struct kube_maps *m, const char *key,
                                 unsigned map, uint32_t bytes);
void kube_maps_drop(struct kube_maps *m, const char *key);
/* Where a value of n bytes goes, KUBE_MAPS_MOST: there is no room.  May be
 * m->n, a map that is not there yet. */
unsigned kube_maps_choose(struct kube_maps *m, const char *key, unsigned first,
                          size_t n);
/* How much of all there can be is used, in percent. */
unsigned kube_maps_percent(const struct kube_maps *m);

#endif
