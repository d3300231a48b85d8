/*
 * take.h - what take.c and take_nodes.c share; private to them.
 */
#ifndef CONTROL_TAKE_H
#define CONTROL_TAKE_H

#include "state.h"

struct qtys qtys_copy(struct arena *a, struct qtys q);
struct pairs pairs_copy(struct arena *a, struct pairs p);
struct taints taints_copy(struct arena *a, struct taints t);

/* take_nodes.c */
void nodes_take(struct control *c, struct arena *a, struct snapshot *f);

#endif
