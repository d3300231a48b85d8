/*
 * publish.h - what the world may see of this step.
 *
 * Reads every step's struct, changes none: it fills the page, which is
 * immutable from then on, and puts it on the board.
 */
#ifndef CONTROL_PUBLISH_H
#define CONTROL_PUBLISH_H

#include "snapshot_take.h"

/* The page has its snapshot, problem and plan. */
void publish(const struct known *k, struct status_board *board,
             struct status_page *page);

#endif
