/*
 * gangs.h - gangs in the fleet's program.
 *
 * Private to plan/fleet/.
 */
#ifndef PLAN_FLEET_GANGS_H
#define PLAN_FLEET_GANGS_H

#include "program.h"

/* Makes items of their own for gangs that the plan places whole: a STRICT_PACK gang is
 * one item, and of equal STRICT_SPREAD gangs a machine holds no more bundles than there
 * are gangs.  f->p is complete; its items are replaced, its columns may be more. */
void fleet_gangs_split(const struct candidate *best, struct fleet_program *f);

#endif
