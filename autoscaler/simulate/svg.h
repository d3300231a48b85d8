/*
 * svg.h - outcomes over time as a picture.
 */
#ifndef SIMULATE_SVG_H
#define SIMULATE_SVG_H

#include "settings.h"
#include "world.h"

/* Each column: machines by type, waiting tasks, cost.  All have the same
 * scales.  Text from outside is escaped. */
void svg_draw(const struct setting *s, const struct outcome *o, uint32_t n,
              struct buf *b);

#endif
