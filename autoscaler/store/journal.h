/*
 * journal.h - what must survive: requests, machines, events, boot times,
 * and a little history.
 *
 * One SQLite file (WAL, synchronous=FULL), written by the control thread only, but
 * for the commit: that may take as long as a disk does, so a worker runs it, and
 * nobody else touches the journal meanwhile.
 * Intent before effect: what a batch holds is on disk when journal_commit()
 * returns OK, and nothing leaves the process before.  A second daemon on the
 * same file is refused at open (an exclusive lock beside it, held for life).
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include "../base/arena.h"
#include "../model/fleet.h"

struct journal;

/* The path of a journal that is in no file: what is kept of it is a copy
 * elsewhere (mirror.h). */
#define JOURNAL_IN_MEMORY ":memory:"

/* Creates the file when missing and adds what an older version's lacks; what a
 * later one has added is left alone.  INVALID when it is not ours, is damaged
 * or has a later schema; RETRY when another process holds it.
 * vfs: the name of the SQLite VFS that is the file system, NULL: the real one;
 * all that this journal reads and writes goes through it. */
enum status journal_open(const char *path, const char *vfs,
                         struct journal **ret, struct err *err);
void journal_close(struct journal *j);

/* Writes collect in one transaction until commit.  After a failed write or
 * commit the batch is rolled back and the error returned: do not act on it.
 * A batch with a failed write takes no more of them, and its commit returns
 * that first error again, so that checking the commit alone is enough. */
enum status journal_commit(struct journal *j, struct err *err);

/* Is there a batch?  Else a commit has nothing to do. */
bool journal_in_batch(const struct journal *j);

/* Around a commit by another thread, called by the one that writes: in between no
 * other call is allowed, but for journal_commit() and journal_keep() by that
 * thread.  Asserted. */
void journal_lend(struct journal *j);
void journal_return(struct journal *j);

enum status journal_put_machine(struct journal *j, const struct machine *m,
                                struct err *err); /* GONE removes it */
/* A state, reason or error that this version does not know (a later one wrote
 * it) reads as READY and `unread`, NONE, BROKEN, and is written back unchanged
 * until it changes.  A row that cannot be read at all stays in the journal and
 * is not in the fleet.  Both are odd: see journal_odds(). */
enum status journal_load_fleet(struct journal *j, struct fleet *f,
                               struct err *err);

/* What was read otherwise than it is written, or not at all. */
struct journal_odd {
    char kind[16], id[64]; /* "machine", "request" or "boot", and its key */
    char text[160];        /* what is odd */
};
/* How many there are since the journal was opened; the first *n of them. */
uint32_t journal_odds(const struct journal *j, const struct journal_odd **ret,
                      uint32_t *n);

/* Removes every machine that could be read, and every request: for a writer
 * whose batches failed, and who then writes all of memory again in the same
 * batch. */
enum status journal_forget(struct journal *j, struct err *err);

struct journal_request {
    const char *owner, *body; /* body: the canonical JSON of the request */
    int64_t created_ms, expires_ms; /* 0: never */
};
enum status journal_put_request(struct journal *j,
                                const struct journal_request *r,
                                struct err *err);
enum status journal_drop_request(struct journal *j, const char *owner,
                                 struct err *err);
enum status journal_load_requests(struct journal *j, struct arena *arena,
                                  struct journal_request **ret, uint32_t *n,
                                  struct err *err);

/* Events: a ring of the newest JOURNAL_EVENTS rows; id grows for ever. */
#define JOURNAL_EVENTS 10000
struct journal_event {
    int64_t id, at_ms;
    const char *kind, *subject, *reason, *text, *data; /* data: JSON or "" */
};
/* An id of 0 is set to the next one; any other must be above all before. */
enum status journal_put_event(struct journal *j, struct journal_event *e,
                              struct err *err);
int64_t journal_next_event(const struct journal *j); /* id of the next one */
/* Up to max events with id > after_id, oldest first. */
enum status journal_load_events(struct journal *j, int64_t after_id,
                                uint32_t max, struct arena *arena,
                                struct journal_event **ret, uint32_t *n,
                                struct err *err);

/* Single facts by name: whose journal it is, of which place.  "": it goes. */
enum status journal_put_value(struct journal *j, const char *key,
                              const char *value, struct err *err);
/* "" when there is none. */
enum status journal_value(struct journal *j, const char *key,
                          struct arena *arena, const char **ret,
                          struct err *err);

/* Drops those whose name is this text and an owner of no request. */
enum status journal_sweep_values(struct journal *j, const char *before,
                                 struct err *err);

/* What a stretch of time came to, for charts. */
struct history_slot {
    int64_t at_s;    /* its beginning, wall; 0: nothing is known of it */
    int64_t seen_ms; /* of it, a daemon ran and saw */
    int64_t spent;   /* meanwhile, micro-dollars */
    uint32_t nodes, waiting; /* the most at any moment: nodes that are paid, and
                               * bundles without a place */
    uint32_t launched, ended; /* machines */
};
/* place: below the ring's size, which is the caller's; what was there is
 * replaced. */
enum status journal_put_history(struct journal *j, uint32_t step_s,
                                uint32_t place, const struct history_slot *h,
                                struct err *err);
/* Each at at_s / step_s % n; the others are left alone. */
enum status journal_load_history(struct journal *j, uint32_t step_s,
                                 struct history_slot *ret, uint32_t n,
                                 struct err *err);

/* How long machines of a type took from launch to ready: exponential mean. */
enum status journal_put_boot(struct journal *j, const char *type,
                             int64_t took_ms, struct err *err);
/* -1 when never seen. */
int64_t journal_boot(struct journal *j, const char *type);

#endif
