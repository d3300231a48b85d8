/*
 * text.h - amounts of money, for people.
 *
 * Texts lie in the arena.  Thread: any.
 */
#ifndef CLI_LOOK_TEXT_H
#define CLI_LOOK_TEXT_H

#include "../../base/arena.h"

/* "$13,190", "$12.90", "$0.73", "$0.0042": never an exponent. */
char *dollars(struct arena *a, double v);

#endif
