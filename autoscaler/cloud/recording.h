/*
 * recording.h - what a provider's cloud was asked and answered, kept in a file,
 * and answered again from there.
 *
 * One file per provider, NAME.jsonl: an exchange a line, without its secrets.
 * Played back, an exchange is answered by the recorded one with the same
 * method, path, query and body.  Time in a recording passes with its writes: a
 * read is answered by what was seen after the latest write that was made and
 * before the next one, and when it asks more often than was recorded, by the
 * last of these; a write is answered once for each time it was recorded.  An
 * operation that repeats a recorded one (a launch by its id, any other from its
 * first write on) reads what that one read.  Tokens are read freely.  What is
 * not there is INVALID, and says what comes closest.
 * Thread: any, but for opening and freeing.
 */
#ifndef CLOUD_RECORDING_H
#define CLOUD_RECORDING_H

#include "../model/offer.h"
#include "../wire/http.h"

struct recording;

/* Appends to DIR/NAME.jsonl; the folder is made. */
enum status recording_open(const char *dir, const char *name,
                           struct recording **ret, struct err *err);
enum status recording_replay(const char *dir, const char *name,
                             struct recording **ret, struct err *err);
void recording_free(struct recording *t);

/* The operation that exchanges are part of; texts "" when it is no launch. */
struct recording_call {
    const char *request_id, *type, *zone;
    bool spot;
    uint64_t id;      /* from recording_call_id() */
    uint64_t follows; /* the recorded operation it repeats; 0: none
                       * yet.  Set by replaying */
};
uint64_t recording_call_id(void);

/* As http_do(). */
enum status recording_do(struct recording *t, struct recording_call *call,
                         struct http_client *c, struct http_exchange *x,
                         struct arena *arena, struct err *err);
/* How far the recording's clock is behind ours; 0 while recording. */
int64_t recording_behind_ms(struct recording *t);
/* The request id of the next recorded launch of this offer that was not given
 * out yet: then the plug-in says the same as it did.  NULL: there is none. */
const char *recording_request_id(struct recording *t, struct offer_key offer);

#endif
