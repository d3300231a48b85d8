/*
 * simulate_show.h - `davit simulate` for people.
 */
#ifndef CLI_SIMULATE_SHOW_H
#define CLI_SIMULATE_SHOW_H

#include "../simulate/settings.h"
#include "../simulate/world.h"

/* What was played: in one line, and what of the trace was left out. */
void simulate_show_trace(const struct trace *t, uint64_t seed, int64_t boot_ms);
/* Side by side. */
void simulate_show(const struct setting *s, const struct outcome *o, uint32_t n,
                   struct arena *a);

#endif
