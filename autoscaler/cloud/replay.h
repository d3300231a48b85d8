/*
 * replay.h - which recorded exchange answers one that is made now.  For
 * recording.c alone, which holds its lock.  The rules are in recording.h.
 */
#ifndef CLOUD_REPLAY_H
#define CLOUD_REPLAY_H

#include <stdio.h>

#include "recording_format.h"

struct replay { /* zeroed: empty */
    struct arena arena;
    VEC(struct exchange) all; /* in the file's order */
    VEC(const char *) given;  /* request ids */
    uint32_t floor, barrier;  /* the latest write that was made, and the next
                               * after it that was not */
};

/* path: for messages.  INVALID: the line that is no exchange, or none is. */
enum status replay_load(struct replay *r, FILE *f, const char *path,
                        struct err *err);
void replay_done(struct replay *r);
/* See recording_request_id(). */
const char *replay_request_id(struct replay *r, struct offer_key offer);
/* NULL: none does.  One of this host is preferred. */
const struct exchange *replay_find(struct replay *r,
                                   struct recording_call *call, const char *key,
                                   const char *host);
/* INVALID "NotRecorded": says which recorded one comes closest to the key. */
enum status replay_missing(const struct replay *r, const char *file,
                           const char *key, struct err *err);

#endif
