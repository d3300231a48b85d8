/*
 * cloud_inside.h - what the files of the played cloud share.
 *
 * cloud.c is its machines and what befalls them, cloud_calls.c the provider that
 * daemons call.
 */
#ifndef PLAYED_CLOUD_INSIDE_H
#define PLAYED_CLOUD_INSIDE_H

#include "cloud.h"

struct vm {
    struct cloud_machine m; /* first */
    struct cloud *cloud;
    struct vm *next; /* of the same launch */
    struct due *up, *gone;
    bool joined; /* the head was told of it */
};

struct request { /* a launch that came in; for ever */
    char id[48];
    struct vm *machines;
};

struct cloud {
    struct player *player;
    struct cloud_opts opts;
    struct cloud_watch watch;
    struct cloud_weather weather, spoil;
    const struct cloud_weather *meets; /* one of the two: of this call */
    uint32_t spoil_at;                 /* the number of that call; 0 none */
    struct arena arena;                /* of types */
    VEC(struct cloud_machine *) there;
    VEC(struct vm *) all; /* ever */
    VEC(struct request *) requests;
    struct hash by_request, by_id;
    struct asked *late; /* requests that are still to come in */
    uint32_t calls, changes;
    int64_t unread_ms;
    uint64_t faults;
};

/* A machine is to be, as an order says. */
struct order {
    const char *request_id, *type, *zone, *cluster, *owner;
    bool spot, added; /* added: by a person */
    uint32_t daemon;
    struct head_machine node; /* lives as long as the cloud */
};
struct vm *vm_new(struct cloud *c, const struct order *o);
/* An end of it was accepted. */
void vm_end(struct vm *vm);
struct cloud *cloud_named(const char *name); /* or NULL */

/* ---- cloud_calls.c */
void asked_free(struct asked *a);
const struct davit_provider *cloud_provider(void);

#endif
