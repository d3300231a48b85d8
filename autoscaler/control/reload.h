/*
 * reload.h - a new generation of settings, whole or not at all.
 *
 * SIGHUP, POST /v1/reload, a change of the file or of the RayCluster.
 * Everything is built and checked beside the old one; on any mistake the old
 * stays and the reason is reported.  What only a start can change is refused by
 * name.  One that drops or moves a provider with machines, or whose first plan
 * would end more machines than limits.max_ends lets go at once, is held: the old
 * one stays in force until a person approves (`davit apply`) or the file changes
 * again.
 */
#ifndef CONTROL_RELOAD_H
#define CONTROL_RELOAD_H

#include "ends.h"
#include "snapshot_take.h"

struct reloading {
    struct configuration *conf;
    struct providers *providers;
    struct sources *sources;
    struct ends *ends;
    const struct known *known;
};

/* Reads it when it is due, and puts the providers and sources on it. */
void reload_if_due(const struct reloading *r);

#endif
