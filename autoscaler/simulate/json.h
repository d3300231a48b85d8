/*
 * json.h - outcomes as JSON: docs/simulate.md has the fields.
 */
#ifndef SIMULATE_JSON_H
#define SIMULATE_JSON_H

#include <jansson.h>

#include "settings.h"
#include "world.h"

/* One column.  The caller's reference. */
json_t *outcome_json(const struct setting *s, const struct outcome *o);
json_t *trace_json(const struct trace *t);

#endif
