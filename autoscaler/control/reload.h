/*
 * reload.h - a new generation of settings, whole or not at all.
 *
 * SIGHUP, POST /v1/reload, a change of the file or of the RayCluster.
 * Everything is built and checked beside the old one; on any mistake the old
 * stays and the reason is reported.  What only a start can change is refused by
 * name.
 */
#ifndef CONTROL_RELOAD_H
#define CONTROL_RELOAD_H

#include "providers/providers.h"
#include "sources/sources.h"

/* Reads it when it is due, and puts the providers and sources on it. */
void reload_if_due(struct configuration *c, struct providers *p,
                   struct sources *s);

#endif
