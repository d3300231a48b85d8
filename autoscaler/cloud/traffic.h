/*
 * traffic.h - what passes between providers and their clouds: counted, and
 * recorded or played back when that is wanted.
 *
 * One for the life of the daemon, by the providers' names, so that counts and
 * recordings go on over a reload.  Thread: lines are joined, read and freed by
 * the owner; exchanges are noted by workers.
 */
#ifndef CLOUD_TRAFFIC_H
#define CLOUD_TRAFFIC_H

#include "../base/arena.h"
#include "../base/err.h"
#include "recording.h"

struct provider;
struct traffic;

enum traffic_mode { TRAFFIC_LIVE, TRAFFIC_RECORD, TRAFFIC_REPLAY };

/* dir: of the recordings; NULL when live. */
struct traffic *traffic_new(enum traffic_mode mode, const char *dir);
void traffic_free(struct traffic *t); /* no provider is open any more */

/* Before a provider's first call.  INVALID: the recording cannot be had. */
enum status traffic_join(struct traffic *t, struct provider *p,
                         struct err *err);

struct traffic_count {
    const char *method;
    int code;
    uint64_t n;
};
struct traffic_sum {
    const struct traffic_count *counts; /* code 0: no reply; in the arena */
    uint32_t n_counts;
    uint32_t last_minute, most_a_minute; /* exchanges */
};
void traffic_sum(struct traffic *t, const char *provider, struct arena *a,
                 struct traffic_sum *ret);

/* While replaying: see recording_request_id(). */
const char *traffic_request_id(struct traffic *t, struct offer_key offer);

/* ---- for host.c */
struct traffic_line;
enum status traffic_do(struct traffic_line *l, struct recording_call *call,
                       struct http_client *c, struct http_exchange *x,
                       struct arena *arena, struct err *err);
/* One exchange took place, however. */
void traffic_note(struct traffic_line *l, const char *method, int code);
int64_t traffic_behind_ms(const struct traffic_line *l);

#endif
