/*
 * show.h - the daemon's answers as tables on standard output.
 *
 * All return the number of lines they wrote, so that a view can be repainted.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <jansson.h>
#include <stdint.h>

#include "../base/arena.h"

/* "ready", "ready, 2 problems" or "not ready", and how old that is: what each screen
 * begins with.  Takes status, or what has its ready, problems and age_s. */
const char *health_text(const json_t *status, struct arena *a);
uint32_t problems_print(const json_t *status, uint32_t most);
uint32_t status_print(const json_t *status, struct arena *a);
/* "as of 40s ago" below what says nothing of it, on a terminal. */
uint32_t age_print(const json_t *reply, struct arena *a);
uint32_t nodes_print(const json_t *nodes, struct arena *a);
uint32_t why_print(const json_t *why, struct arena *a);

#endif
