/*
 * meant.h - which resource a misspelt name means.
 *
 * Any name may be a resource of somebody's own, so nothing here is refused: a
 * name that nearly is a well-known one ("gpu", "memroy", "nvidia.com/gpus") is
 * one that no work ever asks for.  The names are Ray's (docs.ray.io, "Resources")
 * and those of the vendors' device plug-ins (accel.h).  Thread: any.
 */
#ifndef MODEL_MEANT_H
#define MODEL_MEANT_H

/* "GPU" for "gpus", NULL for a well-known name and for one that is near to
 * none.  Of names of three letters only their plural, other case and long forms
 * are taken for slips: an IPU is no misspelt GPU. */
const char *resource_meant(const char *name);
/* The same for the resources of a Kubernetes container, where cpu and memory
 * are the names: "memory" for "memroy", "nvidia.com/gpu" for "nvidia.com/gup". */
const char *k8s_meant(const char *name);

#endif
