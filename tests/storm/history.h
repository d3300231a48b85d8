/*
 * history.h - what was so when a launch left: a law is held against that, not
 * against all that ever was.
 */
#ifndef STORM_HISTORY_H
#define STORM_HISTORY_H

#include "world.h"

/* So long a thread may take to begin what it was given.  Nobody can call that back. */
enum { THREAD_MS = 20 };

/* A launch leaves; again, for all we know.  It counts from when a thread was given
 * it. */
void history_sent(struct world *w, const char *request_id);
/* When it left first; now, if it never did. */
int64_t history_first(const struct world *w, const char *request_id);

/* A file was saved; the daemon has taken over the last one. */
void history_saved(struct world *w, struct config *conf);
void history_taken(struct world *w);
/* May that file have been in force at any time since then? */
bool history_in_force(const struct world *w, uint32_t file, int64_t since_ms);
/* Do both files say the same of that cloud: its provider's name and options, and
 * what its node types are made of? */
bool history_same(const struct world *w, uint32_t file, uint32_t other,
                  const char *cloud);

/* So many machines are asked for from now on; the most at any time since. */
void history_needed(struct world *w, uint32_t n);
uint32_t history_most_needed(const struct world *w, int64_t since_ms);

void history_free(struct world *w);

#endif
